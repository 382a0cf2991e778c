/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Handlers that block and start at the same time: run
 *     blocking TARGET CALLS MS TIMES
 * against `prompt server`. The program prints the time until all handlers have
 * replied (the median of TIMES), and how long a quick call takes alone and
 * beside them. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <verbcall/async.h>

#include "bench.vc.h"
#include "bench/bench.h"
#include "examples/kv/number.h"

#define TIMES_MOST  100u
#define QUICK_MOST  20000u
#define QUICK_ALONE 2000u

struct plan {
    uint64_t calls, ms, times;
};

/* A thread that makes quick calls until `stop` is set. */
struct quick {
    struct vc_channel *channel;
    atomic_bool stop;
    double us[QUICK_MOST];
    size_t n;
    enum vc_status status;
};

static int
fail(const char *what)
{
    fprintf(stderr, "blocking: %s: %s\n", what, vc_error());
    return 1;
}

static enum vc_status
echo(struct vc_channel *channel, double *us)
{
    Bench__Payload request = BENCH__PAYLOAD__INIT, *reply;
    uint8_t data[64] = {0};
    double since = now_us();
    enum vc_status status;

    request.data.data = data;
    request.data.len = sizeof data;
    status = bench_patience_echo(channel, &request, NULL, &reply);
    *us = now_us() - since;
    if (status == VC_OK)
        vc_message_free(reply);
    return status;
}

static void *
quick_run(void *arg)
{
    struct quick *q = arg;

    while (!atomic_load(&q->stop) && q->n < QUICK_MOST && q->status == VC_OK)
        q->status = echo(q->channel, &q->us[q->n++]);
    return NULL;
}

static sem_t answered;
static atomic_uint bad;

static void
on_answer(enum vc_status status, Bench__Payload *reply, void *arg)
{
    (void)arg;
    if (status != VC_OK)
        atomic_fetch_add(&bad, 1);
    vc_message_free(reply);
    sem_post(&answered);
}

/* Starts all calls at once; *ms is the time until the last reply. */
static enum vc_status
sleep_all(struct vc_channel *channel, const struct plan *p, double *ms)
{
    Bench__SleepRequest request = BENCH__SLEEP_REQUEST__INIT;
    double since = now_us();

    request.ms = (uint32_t)p->ms;
    for (uint64_t i = 0; i < p->calls; i++) {
        enum vc_status status = bench_patience_sleep_async(
            channel, &request, NULL, on_answer, NULL, NULL);

        if (status != VC_OK)
            return status;
    }
    for (uint64_t i = 0; i < p->calls; i++)
        while (sem_wait(&answered) != 0)
            continue;
    *ms = (now_us() - since) / 1e3;
    return atomic_load(&bad) == 0 ? VC_OK : VC_UNKNOWN;
}

/* Returns the 99th percentile of times in any order; sorts them. */
static double
p99(double *us, size_t n)
{
    median(us, n);
    return us[n - 1 - n / 100];
}

static int
measure(struct vc_channel *channel, const struct plan *p)
{
    static struct quick alone, beside;
    double ms[TIMES_MOST];
    pthread_t thread;

    alone.channel = beside.channel = channel;
    while (alone.n < QUICK_ALONE && alone.status == VC_OK)
        alone.status = echo(channel, &alone.us[alone.n++]);
    for (unsigned i = 0; i < p->times; i++)
        if (sleep_all(channel, p, &ms[i]) != VC_OK)
            return fail("a call that sleeps");
    if (pthread_create(&thread, NULL, quick_run, &beside) != 0)
        return fail("a thread");
    for (unsigned i = 0; i < p->times; i++) {
        double unused;

        if (sleep_all(channel, p, &unused) != VC_OK)
            return fail("a call that sleeps");
    }
    atomic_store(&beside.stop, true);
    pthread_join(thread, NULL);
    if (alone.status != VC_OK || beside.status != VC_OK)
        return fail("a quick call");
    printf("blocking_%ux%u_ms %.1f\n", (unsigned)p->calls, (unsigned)p->ms,
           median(ms, p->times));
    printf("blocking_%u_quick_alone_p99_us %.0f\n", (unsigned)p->calls,
           p99(alone.us, alone.n));
    printf("blocking_%u_quick_beside_p99_us %.0f\n", (unsigned)p->calls,
           p99(beside.us, beside.n));
    return 0;
}

int
main(int argc, char **argv)
{
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    struct plan p;
    int result;

    if (argc != 5 || !number_parse(argv[2], 1, 4096, &p.calls) ||
        !number_parse(argv[3], 0, 10000, &p.ms) ||
        !number_parse(argv[4], 1, TIMES_MOST, &p.times)) {
        fprintf(stderr, "usage: blocking TARGET CALLS MS TIMES\n");
        return 2;
    }
    sem_init(&answered, 0, 0);
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_runtime_start(runtime) != VC_OK ||
        vc_channel_open(runtime, argv[1], NULL, &channel) != VC_OK)
        result = fail("no channel");
    else
        result = measure(channel, &p);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return result;
}
