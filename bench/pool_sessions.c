/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Many sessions on few links, with a pool_server. `pool_sessions many TARGET
 * SESSIONS` opens them and calls in each. It prints how many QPs carry them,
 * and how much memory an idle session takes at either end. `pool_sessions open
 * TARGET COUNT` prints how long opening a session takes, next to a call and
 * next to connecting. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.vc.h"
#include "bench/bench.h"
#include "examples/kv/number.h"

#define LINKS    8
#define THREADS  4u
#define CALLS    10u   /* in each session */
#define MAX_MANY 16000 /* a server allows 16384 sessions a client */
#define MAX_OPEN 10000
/* At most so many calls until all links are up. */
#define LINK_CALLS 20000
/* One new connection for every so many new sessions. */
#define COLD_EVERY 20

static bool
fail(void)
{
    fprintf(stderr, "pool_sessions: %s\n", vc_error());
    return false;
}

static bool
say(const char *what)
{
    fprintf(stderr, "pool_sessions: %s\n", what);
    return false;
}

/* --- a call ---------------------------------------------------------------- */

/* Makes a call with a text of its own, 64 bytes long, and checks the reply. */
static bool
call_check(struct vc_channel *channel, size_t session, unsigned n,
           atomic_ulong *wrong)
{
    Bench__Payload request = BENCH__PAYLOAD__INIT;
    Bench__Payload *reply;
    char text[65];

    snprintf(text, sizeof text, "%-32zu%32u", session, n);
    request.data.data = (uint8_t *)text;
    request.data.len = sizeof text - 1;
    if (bench_echo_call(channel, &request, NULL, &reply) != VC_OK)
        return fail();
    if (reply->data.len != request.data.len ||
        memcmp(reply->data.data, text, request.data.len) != 0)
        atomic_fetch_add(wrong, 1);
    vc_message_free(reply);
    return true;
}

static bool
server_heap(struct vc_channel *channel, uint64_t *bytes)
{
    Bench__Payload request = BENCH__PAYLOAD__INIT;
    Bench__MemoryReply *reply;

    if (bench_host_memory(channel, &request, NULL, &reply) != VC_OK)
        return fail();
    *bytes = reply->heap;
    vc_message_free(reply);
    return true;
}

/* --- many ------------------------------------------------------------------ */

struct many {
    struct vc_runtime *runtime;
    struct vc_channel **channels;
    const char *target;
    size_t n;
    struct vc_channel_opts opts;
    atomic_ulong wrong;
    struct vc_channel *host; /* to ask the server for its memory */
};

struct worker {
    struct many *m;
    size_t from, to;
    bool good;
};

/* Returns the connected QPs of this process; 0 when rdma(8) does
 * not list them. */
static unsigned
links_used(void)
{
    FILE *qps = popen("rdma resource show qp", "r");
    unsigned n = 0;
    char line[512], pid[32];

    snprintf(pid, sizeof pid, " pid %d ", (int)getpid());
    while (qps != NULL && fgets(line, sizeof line, qps) != NULL)
        n += strstr(line, pid) != NULL && strstr(line, " RTS ") != NULL;
    if (qps != NULL)
        pclose(qps);
    return n;
}

static void *
worker_run(void *arg)
{
    struct worker *w = arg;
    struct many *m = w->m;

    w->good = true;
    for (size_t i = w->from; i < w->to && w->good; i++)
        w->good = vc_channel_open(m->runtime, m->target, &m->opts,
                                  &m->channels[i]) == VC_OK ||
                  fail();
    for (unsigned n = 0; n < CALLS && w->good; n++)
        for (size_t i = w->from; i < w->to && w->good; i++)
            w->good = call_check(m->channels[i], i, n, &m->wrong);
    return NULL;
}

/* Opens sessions 1 and up, from a few threads. */
static bool
workers_run(struct many *m)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    bool good = true;
    unsigned n;

    for (n = 0; n < THREADS; n++) {
        workers[n] = (struct worker){.m = m,
                                     .from = 1 + (m->n - 1) * n / THREADS,
                                     .to = 1 + (m->n - 1) * (n + 1) / THREADS};
        if (pthread_create(&threads[n], NULL, worker_run, &workers[n]) != 0)
            break;
    }
    if (n < THREADS)
        good = say("no thread");
    while (n-- > 0) {
        pthread_join(threads[n], NULL);
        good = good && workers[n].good;
    }
    return good;
}

/* Opens the first session, and everything that is created only once. */
static bool
first_open(struct many *m)
{
    unsigned n = 0;

    if (vc_channel_open(m->runtime, m->target, &m->opts, &m->channels[0]) !=
            VC_OK ||
        vc_channel_open(m->runtime, m->target, &m->opts, &m->host) != VC_OK)
        return fail();
    while (n % 1000 != CALLS || links_used() < LINKS) {
        if (!call_check(m->channels[0], 0, n, &m->wrong))
            return false;
        if (n++ == LINK_CALLS)
            return say("not all links came up, or `rdma resource show qp` "
                       "does not tell of them");
    }
    return true;
}

static bool
many_measure(struct many *m)
{
    uint64_t client[2], server[2] = {0, 0};
    double rest = (double)(m->n - 1);

    if (!first_open(m) || !server_heap(m->host, &server[0]))
        return false;
    client[0] = heap_bytes();
    if (!workers_run(m) || !server_heap(m->host, &server[1]))
        return false;
    client[1] = heap_bytes();
    printf("sessions %zu\nlinks_used %u\nwrong %lu\n", m->n, links_used(),
           atomic_load(&m->wrong));
    printf("session_bytes_client %.1f\nsession_bytes_server %.1f\n",
           ((double)client[1] - (double)client[0]) / rest,
           ((double)server[1] - (double)server[0]) / rest);
    return atomic_load(&m->wrong) == 0 || say("replies were wrong");
}

static bool
many(struct vc_runtime *runtime, const char *target, size_t n)
{
    struct many m = {.runtime = runtime,
                     .target = target,
                     .n = n,
                     .opts = VC_CHANNEL_OPTS_INIT};
    bool good;

    m.opts.min_links = m.opts.max_links = LINKS;
    m.channels = calloc(n, sizeof(struct vc_channel *));
    if (m.channels == NULL)
        return say("no memory");
    good = many_measure(&m);
    for (size_t i = 0; i < n; i++)
        vc_channel_close(m.channels[i]);
    vc_channel_close(m.host);
    free(m.channels);
    return good;
}

/* --- open ------------------------------------------------------------------ */

struct opening {
    struct vc_runtime *runtime, *cold_runtime;
    const char *target;
    struct vc_channel *old, **channels, **cold_channels;
    double *calls, *opens, *first, *connects;
    size_t n, n_cold;
    atomic_ulong wrong;
};

static bool
cold_connect(struct opening *o, size_t i)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    double start = now_us();

    opts.connect_timeout_ms = 10000 + (uint32_t)i; /* shares no link */
    if (vc_channel_open(o->cold_runtime, o->target, &opts,
                        &o->cold_channels[i]) != VC_OK ||
        vc_channel_connect(o->cold_channels[i], &bench_echo_service) != VC_OK)
        return fail();
    if (!call_check(o->cold_channels[i], i, 0, &o->wrong))
        return false;
    o->connects[i] = now_us() - start;
    return true;
}

static bool
session_open(struct opening *o, size_t i)
{
    double start = now_us();

    if (!call_check(o->channels[i], i, 0, &o->wrong))
        return false;
    o->first[i] = now_us() - start;
    return true;
}

/* Opens a channel: no packet is sent. */
static bool
channel_open(struct opening *o, size_t i)
{
    double start = now_us();

    if (vc_channel_open(o->runtime, o->target, NULL, &o->channels[i]) != VC_OK)
        return fail();
    o->opens[i] = now_us() - start;
    return true;
}

static bool
old_call(struct opening *o, size_t i)
{
    double start = now_us();

    if (!call_check(o->old, i, 1, &o->wrong))
        return false;
    o->calls[i] = now_us() - start;
    return true;
}

/* Before each new session there are calls of an old one, so that both are timed
 * under the same conditions: after a pause the server polls less often. */
static bool
opening_measure(struct opening *o)
{
    for (size_t i = 0; i < o->n; i++) {
        if (i % COLD_EVERY == 0 && !cold_connect(o, i / COLD_EVERY))
            return false;
        if (!channel_open(o, i))
            return false;
        for (unsigned settle = 0; settle < 3; settle++)
            if (!old_call(o, i))
                return false;
        if (!session_open(o, i) || !old_call(o, i) || !old_call(o, i))
            return false;
    }
    return atomic_load(&o->wrong) == 0 || say("replies were wrong");
}

static void
opening_print(struct opening *o)
{
    double call = median(o->calls, o->n);
    double open = median(o->opens, o->n), first = median(o->first, o->n);
    double connect = median(o->connects, o->n_cold);

    /* The first call opens the session. Its channel is only a handle, which is
     * created without the network. */
    printf("pool_call_us %.2f\nsession_open_us %.2f\n"
           "channel_open_us %.2f\nconnect_cold_us %.1f\n"
           "session_open_over_call %.3f\nconnect_over_session_open %.2f\n",
           call, first, open, connect, first / call, connect / first);
}

static bool
opening_init(struct opening *o)
{
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;
    unsigned long calls = 0;

    opts.warm_qps = VC_WARM_NONE;
    o->channels = calloc(o->n, sizeof(struct vc_channel *));
    o->cold_channels = calloc(o->n_cold, sizeof(struct vc_channel *));
    o->calls = calloc(o->n, sizeof *o->calls);
    o->opens = calloc(o->n, sizeof *o->opens);
    o->first = calloc(o->n, sizeof *o->first);
    o->connects = calloc(o->n_cold, sizeof *o->connects);
    if (o->channels == NULL || o->cold_channels == NULL || o->calls == NULL ||
        o->opens == NULL || o->first == NULL || o->connects == NULL)
        return say("no memory");
    if (vc_runtime_new(&opts, &o->cold_runtime) != VC_OK ||
        vc_channel_open(o->runtime, o->target, NULL, &o->old) != VC_OK)
        return fail();
    while (calls++ < 1000) /* caches, credits and polling settle */
        if (!call_check(o->old, 0, 0, &o->wrong))
            return false;
    return true;
}

static void
opening_fini(struct opening *o)
{
    for (size_t i = 0; o->channels != NULL && i < o->n; i++)
        vc_channel_close(o->channels[i]);
    for (size_t i = 0; o->cold_channels != NULL && i < o->n_cold; i++)
        vc_channel_close(o->cold_channels[i]);
    vc_channel_close(o->old);
    vc_runtime_free(o->cold_runtime);
    free(o->channels);
    free(o->cold_channels);
    free(o->calls);
    free(o->opens);
    free(o->first);
    free(o->connects);
}

static bool
opening(struct vc_runtime *runtime, const char *target, size_t n)
{
    struct opening o = {.runtime = runtime,
                        .target = target,
                        .n = n,
                        .n_cold = (n + COLD_EVERY - 1) / COLD_EVERY};
    bool good = opening_init(&o) && opening_measure(&o);

    if (good)
        opening_print(&o);
    opening_fini(&o);
    return good;
}

int
main(int argc, char **argv)
{
    struct vc_runtime *runtime = NULL;
    bool is_many = argc == 4 && strcmp(argv[1], "many") == 0, good;
    uint64_t n;

    if (argc != 4 || (!is_many && strcmp(argv[1], "open") != 0) ||
        !number_parse(argv[3], 2, is_many ? MAX_MANY : MAX_OPEN, &n)) {
        fprintf(stderr, "usage: pool_sessions many TARGET SESSIONS\n"
                        "       pool_sessions open TARGET COUNT\n");
        return 2;
    }
    if (vc_runtime_new(NULL, &runtime) != VC_OK)
        return fail() ? 0 : 1;
    good = (is_many ? many : opening)(runtime, argv[2], n);
    vc_runtime_free(runtime);
    return good ? 0 : 1;
}
