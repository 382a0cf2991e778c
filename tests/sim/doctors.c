/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/sim/doctors.h. */
#include "tests/sim/doctors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/server.h>

#include "tests/suite/streams.h"

struct doctors doctors;

/* --- the health service ------------------------------------------------------- */

typedef struct grpc_health_v1_health_watch_server_stream server_stream;

static enum vc_status
word_send(struct doctor *d, server_stream *stream, unsigned word)
{
    Grpc__Health__V1__HealthCheckResponse said =
        GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;

    said.status = word;
    atomic_fetch_add(&d->sent, 1);
    return grpc_health_v1_health_watch_server_send(stream, &said);
}

/* The service's reply has the type of its request: a text in field 1. */
static enum vc_status
babble_send(server_stream *stream)
{
    Grpc__Health__V1__HealthCheckRequest said =
        GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;

    said.service = (char *)"SERVING";
    return vc_stream_send((struct vc_stream *)stream, &said);
}

/* Sends each word until the client is gone, or the habit changes. */
static enum vc_status
words_send(struct doctor *d, struct vc_call *call, server_stream *stream)
{
    unsigned word, last = UINT32_MAX;
    enum vc_status status = VC_OK;

    while (status == VC_OK && !vc_call_is_cancelled(call) &&
           !atomic_exchange(&d->ends, false) &&
           (atomic_load(&d->habit) == ANSWERS ||
            atomic_load(&d->habit) == HANGS)) {
        word = atomic_load(&d->word);
        if (atomic_load(&d->habit) == ANSWERS && word != last) {
            status = word_send(d, stream, word);
            last = word;
        }
        fake_sleep_us(MS);
    }
    return VC_UNAVAILABLE;
}

static enum vc_status
flood_send(struct doctor *d, struct vc_call *call, server_stream *stream)
{
    enum vc_status status = VC_OK;

    for (unsigned i = 0; status == VC_OK && !vc_call_is_cancelled(call) &&
                         atomic_load(&d->habit) == FLOODS;
         i++)
        status = word_send(d, stream,
                           i % 2 == 0 ? WORD(NOT_SERVING) : WORD(SERVING));
    return VC_UNAVAILABLE;
}

static enum vc_status
watch_serve(struct doctor *d, struct vc_call *call, server_stream *stream)
{
    switch ((enum habit)atomic_load(&d->habit)) {
    case LACKS:
    case ABSENT:
        atomic_store(&d->lacked, true);
        return vc_call_fail(call, VC_UNIMPLEMENTED, "there is no Watch");
    case FAILS:
        return vc_call_fail(call, VC_INTERNAL, "the doctor is out");
    case ENDS:
        word_send(d, stream, atomic_load(&d->word));
        return vc_call_fail(call, VC_UNAVAILABLE, "that was all");
    case BABBLES:
        babble_send(stream);
        return words_send(d, call, stream);
    case FLOODS:
        return flood_send(d, call, stream);
    case ANSWERS:
    case HANGS:
        break;
    }
    return words_send(d, call, stream);
}

static enum vc_status
on_watch(struct vc_call *call,
         const Grpc__Health__V1__HealthCheckRequest *request,
         server_stream *stream, void *arg)
{
    struct doctor *d = arg;
    enum vc_status status;

    if (strcmp(request->service, "sim") != 0)
        atomic_store(&d->misnamed, true);
    atomic_fetch_add(&d->watches, 1);
    atomic_fetch_add(&d->watching, 1);
    status = watch_serve(d, call, stream);
    atomic_fetch_sub(&d->watching, 1);
    return status;
}

static const struct grpc_health_v1_health_methods health_methods = {
    .watch = on_watch,
};

/* add() of a server. */
static enum vc_status
services_add(struct vc_server *server, struct sim_server *s)
{
    struct doctor *d = s->arg;

    if (suite_streams_add(server, &streams_methods, NULL) != VC_OK)
        return VC_INTERNAL;
    if (atomic_load(&d->habit) == ABSENT)
        return VC_OK;
    d->service = grpc_health_v1_health_service;
    assert_true(d->service.n_methods <= 4);
    memcpy(d->methods, d->service.methods,
           d->service.n_methods * sizeof d->methods[0]);
    if (atomic_load(&d->habit) == BABBLES)
        d->methods[GRPC_HEALTH_V1_HEALTH_WATCH].reply =
            d->methods[GRPC_HEALTH_V1_HEALTH_WATCH].request;
    d->service.methods = d->methods;
    return vc_server_add(server, &d->service, &health_methods,
                         sizeof health_methods, d);
}

/* finish() of Echo. */
static enum vc_status
echo_count(struct sim_server *s, struct vc_call *call, uint64_t tag)
{
    struct doctor *d = s->arg;

    (void)call;
    (void)tag;
    atomic_fetch_add(&d->calls, 1);
    if (atomic_load(&d->word) != WORD(SERVING) && !atomic_load(&d->lacked) &&
        fake_now_us() > atomic_load(&d->since_us) + S)
        atomic_fetch_add(&d->wrong, 1);
    return VC_OK;
}

void
doctors_word(unsigned i, unsigned word)
{
    atomic_store(&doctors.of[i].since_us, fake_now_us());
    atomic_store(&doctors.of[i].word, word);
}

/* --- the world ---------------------------------------------------------------- */

static void
see_line(const char *process, enum vc_log_level level, const char *line)
{
    (void)level;
    if (strcmp(process, "main") != 0)
        return;
    if (strstr(line, "is unhealthy: ") != NULL)
        atomic_fetch_add(&doctors.lines_bad, 1);
    if (strstr(line, "is healthy again") != NULL)
        atomic_fetch_add(&doctors.lines_good, 1);
    if (strstr(line, "does not serve grpc.health.v1.Health.Watch") != NULL)
        atomic_fetch_add(&doctors.lines_none, 1);
}

void
doctors_server_start(unsigned i)
{
    struct sim_server *s = &doctors.servers[i];

    memset(s, 0, sizeof *s);
    atomic_store(&doctors.of[i].lacked, false);
    s->add = services_add;
    s->finish = echo_count;
    s->arg = &doctors.of[i];
    snprintf(s->target, sizeof s->target, "rdma://10.9.0.%u:7471", 10 + i);
    sim_server_start(s, doctors.hosts[i], 1);
    assert_true(sim_server_await(s));
    doctors.killed[i] = false;
}

void
doctors_server_kill(unsigned i)
{
    fake_process_kill(doctors.servers[i].process);
    atomic_store(&doctors.of[i].watching, 0);
    doctors.killed[i] = true;
}

void
doctors_begin(uint64_t seed, unsigned n, const char *policy,
              const enum habit *habits)
{
    char target[SERVERS * 30] = "list:";
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    memset(&doctors, 0, sizeof doctors);
    doctors.dice = seed;
    sim_begin(seed, 1 + (unsigned)(seed % 5) * 3, getenv("TRACE") != NULL);
    sim_log_to(see_line);
    doctors.n = n;
    for (unsigned i = 0; i < n; i++) {
        char name[20], addr[20];

        snprintf(name, sizeof name, "server%u", i);
        snprintf(addr, sizeof addr, "10.9.0.%u", 10 + i);
        doctors.hosts[i] = fake_host_new(name, addr);
        doctors_word(i, WORD(SERVING));
        if (habits != NULL)
            atomic_store(&doctors.of[i].habit, habits[i]);
        doctors_server_start(i);
        snprintf(target + strlen(target), sizeof target - strlen(target),
                 "%srdma://%s:7471", i > 0 ? "," : "", addr);
    }
    opts.policy = policy;
    opts.health_service = "sim";
    assert_int_equal(VC_OK, sim_runtime(&doctors.runtime, 1));
    assert_int_equal(VC_OK, vc_channel_open(doctors.runtime,
                                            n > 1 ? target : target + 5, &opts,
                                            &doctors.channel));
    assert_int_equal(VC_OK, vc_runtime_start(doctors.runtime));
}

void
doctors_end(void)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_channel_close(doctors.channel);
    vc_runtime_counters(doctors.runtime, &c);
    assert_null(sim_counters_fault(&c));
    assert_int_equal(0, c.streams_client);
    vc_runtime_free(doctors.runtime);
    for (unsigned i = 0; i < doctors.n; i++)
        assert_true(doctors.killed[i] || sim_server_stop(&doctors.servers[i]));
    sim_log_to(NULL);
    if (getenv("TRACE") != NULL)
        fputs(fake_trace(), stderr);
    assert_int_equal(0, fake_end());
}

enum vc_status
doctors_call(unsigned timeout_ms)
{
    return sim_echo(doctors.channel, 64, doctors.tag++ % SIM_TAGS, timeout_ms,
                    NULL);
}

void
doctors_calls_good(unsigned n)
{
    for (unsigned i = 0; i < doctors.n; i++)
        atomic_store(&doctors.of[i].calls, 0);
    for (unsigned i = 0; i < n; i++) {
        if (doctors_call(20000) != VC_OK)
            fail_msg("call %u: %s", i, vc_error());
    }
}

unsigned
doctors_got(unsigned i)
{
    return atomic_load(&doctors.of[i].calls);
}

bool
doctors_describes(const char *text)
{
    char all[4000];

    assert_true(vc_channel_describe(doctors.channel, all, sizeof all) <
                sizeof all);
    return strstr(all, text) != NULL;
}

void
doctors_described_await(const char *text)
{
    uint64_t until = fake_now_us() + 300 * S;

    while (!doctors_describes(text)) {
        if (fake_now_us() > until)
            fail_msg("never described as %s", text);
        fake_sleep_us(MS);
    }
}

void
doctors_settled(void)
{
    doctors_calls_good(20);
    fake_sleep_us(RTT);
    doctors_calls_good(20);
}

struct vc_counters
doctors_counters(void)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(doctors.runtime, &c);
    return c;
}
