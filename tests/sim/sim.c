/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/sim.h. */
#include "tests/sim/sim.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TRIES       4
#define PATIENCE    10000000u /* us */
#define LOOK_US     200u
#define LONG_ONE_IN 8
#define FOREVER     UINT64_C(100000000000000) /* us: three years */
#define SIZE_MAX_   ((size_t)1 << 20)

atomic_uint sim_ran[SIM_TAGS];

/* liburcu's own code allocates memory that the world does not see. In a process
 * that was killed it is never freed. */
const char *__lsan_default_suppressions(void);

const char *
__lsan_default_suppressions(void)
{
    return "leak:liburcu-cds\n";
}

/* Sanitizers make worlds slow. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define ONE_IN 5u
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ONE_IN 5u
#endif
#ifndef ONE_IN
#define ONE_IN 1u
#endif

static bool
is_long(void)
{
    const char *value = getenv("VC_TEST_LONG");

    return value != NULL && strcmp(value, "1") == 0;
}

uint64_t
sim_many(uint64_t n)
{
    return is_long() ? 20 * n : n;
}

static unsigned
one_in(unsigned by, unsigned n)
{
    const char *value = getenv("VC_TEST_SHARE");

    if (value != NULL)
        by = (unsigned)atoi(value);
    return by > 1 ? (n + by - 1) / by : n;
}

unsigned
sim_few(unsigned n)
{
    return one_in(1, n);
}

unsigned
sim_share(unsigned n)
{
    return one_in(ONE_IN, n);
}

void
sim_begin(uint64_t seed, unsigned switch_every, bool trace)
{
    const struct fake_opts opts = {.seed = seed,
                                   .profile =
                                       seed % 2 == 0 ? FAKE_STRICT : FAKE_RXE,
                                   .switch_every = switch_every,
                                   .trace = trace};

    fake_begin(&opts);
    for (unsigned i = 0; i < SIM_TAGS; i++)
        atomic_store_explicit(&sim_ran[i], 0, memory_order_relaxed);
}

void
sim_target(const char *addr, char target[80])
{
    snprintf(target, 80, "rdma://%s:%u", addr, SIM_PORT);
}

/* --- the log ----------------------------------------------------------- */

static _Atomic(sim_log_see *) log_see;

void
sim_log_to(sim_log_see *see)
{
    atomic_store(&log_see, see);
}

static void
log_line(enum vc_log_level level, const char *line, void *arg)
{
    sim_log_see *see = atomic_load(&log_see);

    (void)arg;
    if (see != NULL)
        see(fake_process_name(fake_process_self()), level, line);
}

void
sim_log_opts(struct vc_runtime_opts *opts)
{
    opts->log = log_line;
    opts->log_level = VC_LOG_DEBUG;
}

/* --- runtimes ---------------------------------------------------------- */

enum vc_status
sim_runtime_of(struct vc_runtime **runtime, unsigned threads,
               size_t memory_limit)
{
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;

    opts.threads = threads;
    opts.spin_us = VC_SPIN_NEVER;
    opts.memory_limit = memory_limit;
    sim_log_opts(&opts);
    return vc_runtime_new(&opts, runtime);
}

enum vc_status
sim_runtime(struct vc_runtime **runtime, unsigned threads)
{
    return sim_runtime_of(runtime, threads, 0);
}

/* --- counters ---------------------------------------------------------- */

const char *
sim_counters_fault(const struct vc_counters *c)
{
    if (c->links_connecting + c->links_up + c->links_leaving != 0 ||
        c->links_client + c->links_server != 0)
        return "links are counted that are gone";
    if (c->links_started != c->links_made + c->links_refused + c->links_failed)
        return "links that began are not those that came up or did not";
    if (c->links_made != c->links_closed + c->links_left + c->links_lost)
        return "links that came up are not those that went down";
    if (c->qps_in_use != 0 || c->receives_promised != 0)
        return "QPs or receives are counted for links that are gone";
    if (c->qps_made != c->qps_warm + c->qps_destroyed)
        return "QPs that were made are not those that wait or are destroyed";
    if (c->qps_recycled < c->qps_warm + c->qps_reused + c->qps_evicted)
        return "more QPs wait or were used again than were put to wait";
    if (c->sessions_client + c->sessions_server != 0)
        return "sessions are counted that are closed";
    if (c->calls_started != c->calls_ended || c->calls_waiting != 0)
        return "calls that began are not those that ended";
    if (c->streams_client + c->streams_server != 0)
        return "streams are counted that have ended";
    if (c->hedges_won > c->hedges_started ||
        c->streams_client_opened > c->calls_started)
        return "more hedges or streams are counted than there can have been";
    if (c->handlers_running + c->replies_kept != 0 ||
        c->handlers_started > c->calls_received)
        return "calls are counted at a server that are over";
    if (c->requests_arriving + c->replies_arriving != 0)
        return "long messages are counted that are over";
    if (c->memory_receive > c->memory_receive_limit ||
        c->memory_send > c->memory_send_limit)
        return "more memory is pinned than may be";
    return NULL;
}

/* --- servers ----------------------------------------------------------- */

static enum vc_status
echo(struct vc_call *call, const Suite__EchoRequest *request,
     Suite__EchoReply *reply, void *arg)
{
    struct sim_server *s = arg;
    unsigned us = s->long_us > 0 && request->tag % LONG_ONE_IN == 0
                      ? s->long_us
                      : s->sleep_us;

    atomic_fetch_add(&sim_ran[request->tag % SIM_TAGS], 1);
    if (s->handle != NULL)
        return s->handle(s, call, request, reply);
    if (us > 0)
        fake_sleep_us(us);
    if (s->inside != NULL)
        s->inside(s);
    reply->tag = request->tag;
    reply->payload = request->payload;
    return s->finish != NULL ? s->finish(s, call, request->tag) : VC_OK;
}

static enum vc_status
on_fail(struct vc_call *call, const Suite__FailRequest *request,
        Suite__Empty *reply, void *arg)
{
    struct sim_server *s = arg;

    (void)reply;
    atomic_fetch_add(&s->failed, 1);
    return vc_call_fail(call, (enum vc_status)request->status, "%s",
                        request->text);
}

static enum vc_status
server_open(struct sim_server *s, struct vc_runtime **runtime,
            struct vc_server **server)
{
    const struct suite_probe_methods methods = {.echo = echo, .fail = on_fail};
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    enum vc_status status =
        sim_runtime_of(runtime, s->threads, s->memory_limit);

    if (s->opts != NULL)
        opts = *s->opts;
    if (s->keepalive_ms != 0)
        opts.keepalive_ms = s->keepalive_ms;
    s->self = NULL;
    if (status == VC_OK && s->calls_itself)
        status = vc_channel_open(*runtime, s->target, NULL, &s->self);
    if (status == VC_OK)
        status = vc_server_new(*runtime, &opts, server);
    if (status == VC_OK)
        status = vc_server_add(
            *server, s->service != NULL ? s->service : &suite_probe_service,
            &methods, sizeof methods, s);
    if (status == VC_OK && s->add != NULL)
        status = s->add(*server, s);
    if (status == VC_OK)
        status = vc_server_listen(*server, s->target);
    return status;
}

void
sim_tell(atomic_uint *word)
{
    atomic_store(word, 1);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

bool
sim_await(atomic_uint *word, uint64_t us)
{
    const struct timespec t = {.tv_sec = (time_t)(us / 1000000),
                               .tv_nsec = (long)(us % 1000000) * 1000};
    uint64_t until = fake_now_us() + us;

    while (atomic_load(word) == 0 && fake_now_us() < until)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
    return atomic_load(word) != 0;
}

static bool
server_run(struct sim_server *s)
{
    struct vc_runtime *runtime = NULL;
    struct vc_server *server = NULL;
    enum vc_status status;

    if (s->begin != NULL)
        s->begin(s);
    status = server_open(s, &runtime, &server);
    s->server = server;
    atomic_store(&s->runtime, runtime);
    atomic_store(&s->serves, status == VC_OK);
    if (status == VC_OK)
        sim_await(&s->close, FOREVER);
    vc_server_free(server);
    if (s->end != NULL)
        s->end(s);
    vc_channel_close(s->self);
    if (s->closed != NULL)
        s->closed(s);
    atomic_store(&s->runtime, NULL);
    if (runtime != NULL)
        vc_runtime_counters(runtime, &s->last);
    vc_runtime_free(runtime);
    if (status == VC_OK)
        sim_await(&s->stop, FOREVER);
    return status == VC_OK;
}

static void
server_main(void *arg)
{
    struct sim_server *s = arg;

    for (unsigned i = 0; i < TRIES && !server_run(s); i++)
        atomic_fetch_add(&s->failures, 1);
}

void
sim_server_start(struct sim_server *s, struct fake_host *host, unsigned threads)
{
    s->host = host;
    s->last = (struct vc_counters)VC_COUNTERS_INIT;
    s->threads = threads;
    atomic_store(&s->serves, false);
    atomic_store(&s->stop, 0);
    atomic_store(&s->close, 0);
    atomic_store(&s->failures, 0);
    atomic_store(&s->failed, 0);
    s->process = fake_process_start(host, "server", server_main, s);
}

bool
sim_server_await(struct sim_server *s)
{
    uint64_t until = fake_now_us() + PATIENCE;

    while (!atomic_load(&s->serves) && !fake_process_ended(s->process) &&
           fake_now_us() < until)
        fake_sleep_us(LOOK_US);
    return atomic_load(&s->serves);
}

bool
sim_server_stop(struct sim_server *s)
{
    sim_tell(&s->stop);
    sim_tell(&s->close);
    return fake_process_wait(s->process, PATIENCE);
}

void
sim_server_close(struct sim_server *s)
{
    sim_tell(&s->close);
}

void
sim_service(struct vc_service *service, struct vc_method methods[16],
            uint32_t flags)
{
    *service = suite_probe_service;
    assert_true(service->n_methods <= 16);
    for (unsigned i = 0; i < service->n_methods; i++) {
        methods[i] = suite_probe_service.methods[i];
        methods[i].flags |= flags;
    }
    service->methods = methods;
}

/* --- calls ------------------------------------------------------------- */

static enum vc_status
reply_check(const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    bool good = reply->tag == request->tag &&
                reply->payload.len == request->payload.len &&
                (request->payload.len == 0 ||
                 memcmp(reply->payload.data, request->payload.data,
                        request->payload.len) == 0);

    vc_message_free(reply);
    return good ? VC_OK : VC_DATA_LOSS;
}

enum vc_status
sim_echo_opts(struct vc_channel *channel, size_t size, unsigned tag,
              const struct vc_call_opts *opts, enum vc_outcome *outcome)
{
    static const uint8_t zeros[SIZE_MAX_];
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;
    enum vc_status status;

    request.tag = tag;
    request.payload.len = size;
    request.payload.data = (uint8_t *)zeros;
    status = suite_probe_echo(channel, &request, opts, &reply);
    if (outcome != NULL)
        *outcome = status == VC_OK ? VC_OUTCOME_EXECUTED : vc_error_outcome();
    return status == VC_OK ? reply_check(&request, reply) : status;
}

enum vc_status
sim_echo(struct vc_channel *channel, size_t size, unsigned tag,
         unsigned timeout_ms, enum vc_outcome *outcome)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.timeout_ms = timeout_ms;
    return sim_echo_opts(channel, size, tag, &opts, outcome);
}
