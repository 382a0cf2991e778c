/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/crowd.h. */
#include "tests/suite/crowd.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/suite/noise.h"

#define PROCESSES_MOST 8u
#define STACK          ((size_t)256 << 10)

/* A crowd that connects at once waits for itself. */
#define CONNECT_MS   120000u
#define KEEPALIVE_MS 60000u
#define CALL_MS      240000u
#define RUN_MS       540000u
#define SHED_US      200000u /* until a shed call is made again */

#define SIZE_MOST 9000u
static const size_t sizes[] = {0, 40, 700, 1500, 100, 3000, 10, SIZE_MOST};
#define SIZES (sizeof sizes / sizeof sizes[0])

#define NOISE 65536u
static uint8_t noise[NOISE + SIZE_MOST];

struct crowd {
    struct crowd_opts opts;
    pthread_barrier_t start, connected, served, leave; /* of all clients */
    atomic_uint resent;
    struct crowd_end ends[CROWD_CLIENTS];
};

/* --- one client -------------------------------------------------------- */

struct client {
    struct crowd *crowd;
    unsigned i;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    pthread_t thread;
};

/* Fills in the request of this tag. */
static void
request_make(uint64_t tag, Suite__EchoRequest *request)
{
    suite__echo_request__init(request);
    request->tag = tag;
    request->payload.data = noise + tag * 31 % NOISE;
    request->payload.len = sizes[tag % SIZES];
}

static bool
reply_good(const Suite__EchoRequest *request, const Suite__EchoReply *reply)
{
    return reply->tag == request->tag &&
           reply->payload.len == request->payload.len &&
           (reply->payload.len == 0 ||
            memcmp(reply->payload.data, request->payload.data,
                   reply->payload.len) == 0);
}

/* Makes a call. A crowd is more than some machines can serve at a time: a call
 * that was shed is made again, like any program would. */
static enum vc_status
shed_call(struct client *c, const Suite__EchoRequest *request,
          Suite__EchoReply **reply)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    enum vc_status status;

    opts.timeout_ms = CALL_MS;
    while ((status = suite_probe_echo(c->channel, request, &opts, reply)) ==
               VC_RESOURCE_EXHAUSTED &&
           vc_error_outcome() == VC_OUTCOME_NOT_EXECUTED) {
        c->crowd->ends[c->i].shed++;
        usleep(SHED_US);
    }
    return status;
}

/* Makes call n of the client; false: it failed. */
static bool
client_call(struct client *c, unsigned n)
{
    struct crowd_end *end = &c->crowd->ends[c->i];
    Suite__EchoRequest request;
    Suite__EchoReply *reply;

    request_make(c->crowd->opts.tag_base + CROWD_TAG(c->i, n), &request);
    if (shed_call(c, &request, &reply) != VC_OK) {
        snprintf(end->error, sizeof end->error, "call %u: %s", n, vc_error());
        return false;
    }
    if (reply_good(&request, reply))
        end->good++;
    else
        end->wrong++;
    vc_message_free(reply);
    return true;
}

/* Connects, at the same time as all others; false: it failed. */
static bool
client_connect(struct client *c)
{
    struct crowd_end *end = &c->crowd->ends[c->i];
    uint64_t began = fixture_ms();

    if (vc_channel_connect(c->channel, &suite_probe_service) != VC_OK) {
        snprintf(end->error, sizeof end->error, "connecting: %s", vc_error());
        return false;
    }
    end->connect_ms = (unsigned)(fixture_ms() - began);
    return true;
}

static void
client_calls(struct client *c)
{
    struct crowd_end *end = &c->crowd->ends[c->i];
    uint64_t began = fixture_ms();

    for (unsigned n = 0; n < CROWD_CALLS && client_call(c, n); n++) {
        unsigned took = (unsigned)(fixture_ms() - began);

        if (took > end->longest_ms)
            end->longest_ms = took;
        began = fixture_ms();
    }
}

static void
client_open(struct client *c)
{
    struct vc_runtime_opts runtime_opts = VC_RUNTIME_OPTS_INIT;
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    runtime_opts.spin_us = VC_SPIN_NEVER;
    opts.connect_timeout_ms = CONNECT_MS;
    opts.keepalive_ms = KEEPALIVE_MS;
    opts.max_links = 1;
    assert_status(VC_OK, vc_runtime_new(&runtime_opts, &c->runtime));
    if (c->crowd->opts.threads)
        assert_status(VC_OK, vc_runtime_start(c->runtime));
    assert_status(VC_OK, vc_channel_open(c->runtime, c->crowd->opts.target,
                                         &opts, &c->channel));
}

/* Frees the client, and adds what it has sent again to the crowd's. */
static void
client_close(struct client *c)
{
    struct vc_counters counters = VC_COUNTERS_INIT;

    vc_runtime_counters(c->runtime, &counters);
    atomic_fetch_add(&c->crowd->resent, (unsigned)counters.datagrams_resent);
    vc_channel_close(c->channel);
    vc_runtime_free(c->runtime);
}

static void *
client_run(void *arg)
{
    struct client *c = arg;
    struct crowd *crowd = c->crowd;
    const struct crowd_opts *opts = &crowd->opts;
    bool connected;

    if (c->i == 0 && opts->before != NULL)
        opts->before(c->channel);
    pthread_barrier_wait(&crowd->start);
    connected = client_connect(c);
    pthread_barrier_wait(&crowd->connected);
    if (connected)
        client_calls(c);
    pthread_barrier_wait(&crowd->served);
    if (c->i == 0 && opts->after != NULL)
        opts->after(c->channel);
    pthread_barrier_wait(&crowd->leave);
    client_close(c);
    return NULL;
}

/* --- a process --------------------------------------------------------- */

/* Each runtime has about ten descriptors. */
static void
descriptors_allow(void)
{
    struct rlimit limit;

    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &limit));
}

/* Runs clients from..to-1, each on a thread of its own. */
static void
clients_run(struct crowd *crowd, unsigned from, unsigned to)
{
    struct client *clients = calloc(to - from, sizeof *clients);
    pthread_attr_t attr;

    assert_non_null(clients);
    noise_make(noise, sizeof noise);
    descriptors_allow();
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    for (unsigned i = from; i < to; i++) {
        struct client *c = &clients[i - from];

        *c = (struct client){.crowd = crowd, .i = i};
        client_open(c);
        assert_int_equal(0, pthread_create(&c->thread, &attr, client_run, c));
    }
    pthread_attr_destroy(&attr);
    for (unsigned i = from; i < to; i++)
        pthread_join(clients[i - from].thread, NULL);
    free(clients);
}

struct part {
    struct crowd *crowd;
    unsigned from, to;
};

static int
part_run(void *arg, int ready)
{
    const struct part *part = arg;

    if (write(ready, "r", 1) != 1)
        return 1;
    clients_run(part->crowd, part->from, part->to);
    return 0;
}

/* --- the crowd --------------------------------------------------------- */

static void
barrier_make(pthread_barrier_t *barrier, unsigned n)
{
    pthread_barrierattr_t shared;

    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    assert_int_equal(0, pthread_barrier_init(barrier, &shared, n));
    pthread_barrierattr_destroy(&shared);
}

struct crowd *
crowd_new(const struct crowd_opts *opts)
{
    struct crowd *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0); /* zeroed */

    assert_true(c != MAP_FAILED);
    assert_in_range(opts->clients, 1, CROWD_CLIENTS);
    c->opts = *opts;
    barrier_make(&c->start, opts->clients);
    barrier_make(&c->connected, opts->clients);
    barrier_make(&c->served, opts->clients);
    barrier_make(&c->leave, opts->clients);
    return c;
}

void
crowd_free(struct crowd *c)
{
    munmap(c, sizeof *c);
}

void
crowd_run_here(struct crowd *c)
{
    clients_run(c, 0, c->opts.clients);
}

void
crowd_run_forked(struct crowd *c, unsigned processes)
{
    struct part parts[PROCESSES_MOST];
    pid_t children[PROCESSES_MOST];

    assert_in_range(processes, 1, PROCESSES_MOST);
    for (unsigned i = 0; i < processes; i++) {
        parts[i] = (struct part){.crowd = c,
                                 .from = c->opts.clients * i / processes,
                                 .to = c->opts.clients * (i + 1) / processes};
        children[i] = fixture_fork(part_run, &parts[i]);
    }
    for (unsigned i = 0; i < processes; i++)
        assert_int_equal(0, fixture_wait_ms(children[i], RUN_MS));
}

unsigned
crowd_check(const struct crowd *c)
{
    unsigned good = 0, wrong = 0, failed = 0, shed = 0;
    unsigned connect_ms = 0, longest_ms = 0;

    for (unsigned i = 0; i < c->opts.clients; i++) {
        const struct crowd_end *end = &c->ends[i];

        good += end->good;
        wrong += end->wrong;
        shed += end->shed;
        if (end->connect_ms > connect_ms)
            connect_ms = end->connect_ms;
        if (end->longest_ms > longest_ms)
            longest_ms = end->longest_ms;
        if (end->error[0] != '\0' && failed++ < 5)
            print_error("client %u, %s\n", i, end->error);
    }
    printf("# %u clients: %u calls good, %u wrong, %u shed before; %u clients "
           "failed; all "
           "connected after %u ms, the longest call took %u ms; clients sent "
           "%u datagrams again\n",
           c->opts.clients, good, wrong, shed, failed, connect_ms, longest_ms,
           atomic_load(&c->resent));
    assert_int_equal(0, wrong);
    assert_int_equal(0, failed);
    assert_int_equal(c->opts.clients * CROWD_CALLS, good);
    return atomic_load(&c->resent);
}
