/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether a greedy session starves others on the same link, with a pool_server.
 * `pool_fair TARGET SECONDS` lets 99 sessions make small calls, first alone,
 * then beside a greedy session. That one keeps 8 calls under way, whose
 * messages are the largest that fit in one packet. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "bench.vc.h"
#include "bench/bench.h"
#include "examples/kv/histogram.h"
#include "examples/kv/number.h"

#define SMALL   99u
#define THREADS 9u /* of the small calls, 11 sessions each */
#define GREEDY  8u /* threads, each with one call under way */
#define LARGE   8100u
/* Both measurements run in so many parts, in turn, so that other load on the
 * machine affects both alike. */
#define PARTS 4u

struct fair {
    struct vc_channel *small[SMALL], *large;
    atomic_bool stop;
    atomic_ulong large_calls;
};

struct worker {
    struct fair *f;
    unsigned first;
    bool good;
    struct histogram times;
};

static bool
fail(void)
{
    fprintf(stderr, "pool_fair: %s\n", vc_error());
    return false;
}

static bool
small_call(struct worker *w, unsigned session)
{
    Bench__Payload request = BENCH__PAYLOAD__INIT;
    Bench__Payload *reply;
    char text[64] = {0};
    double start = now_us();
    bool good;

    snprintf(text, sizeof text, "session %u at %.3f", session, start);
    request.data.data = (uint8_t *)text;
    request.data.len = sizeof text;
    if (bench_echo_call(w->f->small[session], &request, NULL, &reply) != VC_OK)
        return fail();
    histogram_record(&w->times, (uint64_t)((now_us() - start) * 1e3));
    good = reply->data.len == sizeof text &&
           memcmp(reply->data.data, text, sizeof text) == 0;
    if (!good)
        fprintf(stderr, "pool_fair: a reply was wrong\n");
    vc_message_free(reply);
    return good;
}

static void *
small_run(void *arg)
{
    struct worker *w = arg;

    for (unsigned i = w->first; w->good && !atomic_load(&w->f->stop);
         i = i + THREADS < SMALL ? i + THREADS : w->first)
        w->good = small_call(w, i);
    return NULL;
}

static void *
large_run(void *arg)
{
    static uint8_t data[LARGE];
    struct worker *w = arg;
    Bench__Payload request = BENCH__PAYLOAD__INIT;
    Bench__Payload *reply;

    request.data.data = data;
    request.data.len = sizeof data;
    while (w->good && !atomic_load(&w->f->stop)) {
        if (bench_host_drop(w->f->large, &request, NULL, &reply) == VC_OK)
            vc_message_free(reply);
        else
            w->good = fail();
        atomic_fetch_add(&w->f->large_calls, 1);
    }
    return NULL;
}

/* Merges the times of small calls into *times. */
static bool
run(struct fair *f, unsigned n_greedy, double seconds, struct histogram *times)
{
    static struct worker workers[THREADS + GREEDY];
    pthread_t threads[THREADS + GREEDY];
    unsigned n, all = THREADS + n_greedy;
    struct timespec time = {.tv_sec = (time_t)seconds};
    bool good;

    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    memset(workers, 0, sizeof workers);
    atomic_store(&f->stop, false);
    for (n = 0; n < all; n++) {
        workers[n].f = f;
        workers[n].first = n;
        workers[n].good = true;
        if (pthread_create(&threads[n], NULL,
                           n < THREADS ? small_run : large_run,
                           &workers[n]) != 0)
            break;
    }
    good = n == all;
    if (!good)
        fprintf(stderr, "pool_fair: no thread\n");
    else
        nanosleep(&time, NULL);
    atomic_store(&f->stop, true);
    while (n-- > 0) {
        pthread_join(threads[n], NULL);
        good = good && workers[n].good;
        if (n < THREADS)
            histogram_merge(times, &workers[n].times);
    }
    return good;
}

static bool
measure(struct fair *f, unsigned seconds)
{
    static struct histogram warm_up, alone, beside;
    double part = seconds / (2.0 * PARTS);
    double before, after;

    if (!run(f, GREEDY, 0.3, &warm_up))
        return false;
    atomic_store(&f->large_calls, 0);
    for (unsigned n = 0; n < PARTS; n++)
        if (!run(f, 0, part, &alone) || !run(f, GREEDY, part, &beside))
            return false;
    before = (double)histogram_quantile(&alone, 990) / 1e3;
    after = (double)histogram_quantile(&beside, 990) / 1e3;
    printf("fair_p99_alone_us %.1f\nfair_p99_us %.1f\nfair_p99_ratio %.3f\n",
           before, after, after / before);
    printf("fair_p50_ratio %.3f\nfair_small_calls_per_s %.0f\n"
           "fair_greedy_mib_per_s %.1f\n",
           (double)histogram_quantile(&beside, 500) /
               (double)histogram_quantile(&alone, 500),
           (double)beside.count / (part * PARTS),
           (double)atomic_load(&f->large_calls) * LARGE / (part * PARTS) /
               1048576);
    return true;
}

static bool
fair(struct vc_runtime *runtime, const char *target, unsigned seconds)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    static struct fair f;
    bool good;

    opts.max_links = 1;
    good = vc_channel_open(runtime, target, &opts, &f.large) == VC_OK;
    for (unsigned i = 0; i < SMALL && good; i++)
        good = vc_channel_open(runtime, target, &opts, &f.small[i]) == VC_OK;
    good = good ? measure(&f, seconds) : fail();
    for (unsigned i = 0; i < SMALL; i++)
        vc_channel_close(f.small[i]);
    vc_channel_close(f.large);
    return good;
}

int
main(int argc, char **argv)
{
    struct vc_runtime *runtime = NULL;
    uint64_t seconds;
    bool good;

    if (argc != 3 || !number_parse(argv[2], 1, 3600, &seconds)) {
        fprintf(stderr, "usage: pool_fair TARGET SECONDS\n");
        return 2;
    }
    if (vc_runtime_new(NULL, &runtime) != VC_OK)
        return fail() ? 0 : 1;
    good = fair(runtime, argv[1], (unsigned)seconds);
    vc_runtime_free(runtime);
    return good ? 0 : 1;
}
