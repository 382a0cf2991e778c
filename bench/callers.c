/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocking callers of 64 bytes, many or few: run
 *     callers [-n] TARGET NAME PROCESSES THREADS MS RATE
 * against a pool_server. Each of PROCESSES has one channel and THREADS threads
 * that call. The threads of a process make RATE calls a second in all; with
 * RATE 0 they call as fast as they can. -n: the clients never spin. The program
 * prints lines whose names begin with NAME. They give the rate of all callers,
 * the slowest thread's part of an equal share, percentiles of the process in
 * which they are worst, and the processor time of both ends. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <verbcall/counters.h>

#include "bench.vc.h"
#include "bench/bench.h"
#include "examples/kv/number.h"

#define PROCESSES_MOST 16u
#define THREADS_MOST   64u
#define WARM_UP_US     200e3
/* Calls recorded in a process: more than any machine reaches. */
#define CALLS_MOST (1u << 22)

struct plan {
    const char *target, *name;
    uint64_t processes, threads, ms, rate;
    bool never_spin;
};

/* The results of one process, shared with its parent. */
struct result {
    double from, to; /* the measured interval */
    double cpu_us;
    uint64_t calls, least; /* of all threads; of the slowest thread */
    double median, p99, p999;
};

static struct shared {
    pthread_barrier_t begin;
    struct result results[PROCESSES_MOST];
} * shared;

struct caller {
    pthread_t thread;
    const struct plan *plan;
    struct vc_channel *channel;
    double from, to;
    double *us; /* the time of each call */
    size_t n, room;
    enum vc_status status;
};

static int
failed(const char *what)
{
    fprintf(stderr, "callers: %s: %s\n", what, vc_error());
    return 1;
}

static double
cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static enum vc_status
call(struct vc_channel *channel)
{
    Bench__Payload request = BENCH__PAYLOAD__INIT, *reply;
    uint8_t data[64] = {0};
    enum vc_status status;

    request.data.data = data;
    request.data.len = sizeof data;
    status = bench_echo_call(channel, &request, NULL, &reply);
    if (status == VC_OK)
        vc_message_free(reply);
    return status;
}

static void
sleep_until(double due)
{
    struct timespec t = {.tv_sec = (time_t)(due / 1e6)};

    t.tv_nsec = (long)((due - (double)t.tv_sec * 1e6) * 1e3);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void *
caller_run(void *arg)
{
    struct caller *c = arg;
    double every = c->plan->rate == 0
                       ? 0
                       : 1e6 * (double)c->plan->threads / (double)c->plan->rate;
    double due = now_us(), since;

    for (since = due; since < c->to && c->status == VC_OK; since = now_us()) {
        double took;

        c->status = call(c->channel);
        took = now_us() - since;
        if (since >= c->from && c->n < c->room)
            c->us[c->n++] = took;
        due += every;
        if (every > 0 && due > now_us())
            sleep_until(due);
    }
    return NULL;
}

/* Of all threads of a process; sorts the times. */
static void
percentiles(struct result *r, double *us)
{
    r->median = median(us, r->calls);
    r->p99 = us[r->calls - 1 - r->calls / 100];
    r->p999 = us[r->calls - 1 - r->calls / 1000];
}

static int
process_measure(const struct plan *p, struct vc_channel *channel,
                struct result *r)
{
    size_t room = CALLS_MOST / p->threads;
    double *us = malloc(CALLS_MOST * sizeof *us);
    struct caller callers[THREADS_MOST];

    if (us == NULL || call(channel) != VC_OK)
        return failed("the server does not answer");
    pthread_barrier_wait(&shared->begin);
    r->from = now_us() + WARM_UP_US;
    r->to = r->from + (double)p->ms * 1e3;
    for (uint64_t i = 0; i < p->threads; i++) {
        callers[i] = (struct caller){.plan = p,
                                     .channel = channel,
                                     .from = r->from,
                                     .to = r->to,
                                     .us = us + i * room,
                                     .room = room};
        if (pthread_create(&callers[i].thread, NULL, caller_run, &callers[i]) !=
            0)
            return failed("a thread");
    }
    sleep_until(r->from);
    r->cpu_us = -cpu_us();
    sleep_until(r->to);
    r->cpu_us += cpu_us();
    r->least = UINT64_MAX;
    for (uint64_t i = 0; i < p->threads; i++) {
        struct caller *c = &callers[i];

        pthread_join(c->thread, NULL);
        if (c->status != VC_OK)
            return failed("a call");
        memmove(us + r->calls, c->us, c->n * sizeof *us);
        r->calls += c->n;
        r->least = c->n < r->least ? c->n : r->least;
    }
    if (r->calls > 0)
        percentiles(r, us);
    free(us);
    return r->calls == 0;
}

static int
process_run(const struct plan *p, struct result *r)
{
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    int result;

    if (p->never_spin)
        opts.spin_us = VC_SPIN_NEVER;
    if (vc_runtime_new(&opts, &runtime) != VC_OK ||
        vc_channel_open(runtime, p->target, NULL, &channel) != VC_OK)
        result = failed("no channel");
    else
        result = process_measure(p, channel, r);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return result;
}

/* Asks the server for the processor time that it has used so far. */
static int
servers_cpu_us(struct vc_channel *channel, double *us)
{
    Bench__Payload request = BENCH__PAYLOAD__INIT;
    Bench__WorkReply *reply;

    if (bench_host_work(channel, &request, NULL, &reply) != VC_OK)
        return failed("the server does not answer");
    *us = (double)reply->cpu_us;
    vc_message_free(reply);
    return 0;
}

static void
tell(const struct plan *p, double server_us)
{
    struct result all = {.least = UINT64_MAX};
    double us = (double)p->ms * 1e3;
    uint64_t threads = p->processes * p->threads;

    for (uint64_t i = 0; i < p->processes; i++) {
        const struct result *r = &shared->results[i];

        all.calls += r->calls;
        all.cpu_us += r->cpu_us;
        all.least = r->least < all.least ? r->least : all.least;
        all.median = r->median > all.median ? r->median : all.median;
        all.p99 = r->p99 > all.p99 ? r->p99 : all.p99;
        all.p999 = r->p999 > all.p999 ? r->p999 : all.p999;
    }
    printf("%s_calls_per_second %.0f\n", p->name, (double)all.calls * 1e6 / us);
    printf("%s_least_share %.2f\n", p->name,
           (double)(all.least * threads) / (double)all.calls);
    printf("%s_median_us %.0f\n", p->name, all.median);
    printf("%s_p99_us %.0f\n", p->name, all.p99);
    printf("%s_p999_us %.0f\n", p->name, all.p999);
    printf("%s_cpu_percent_client %.1f\n", p->name, all.cpu_us * 100 / us);
    printf("%s_cpu_percent_server %.1f\n", p->name, server_us * 100 / us);
}

/* The measured time lies between two queries of the server's processor time.
 * The calls of these queries fall before and after it. */
static int
measure(const struct plan *p, struct vc_channel *channel)
{
    double from, to, begun;
    int bad = servers_cpu_us(channel, &from), status;

    pthread_barrier_wait(&shared->begin);
    begun = now_us() + WARM_UP_US;
    sleep_until(begun);
    bad |= servers_cpu_us(channel, &from);
    sleep_until(begun + (double)p->ms * 1e3);
    bad |= servers_cpu_us(channel, &to);
    for (uint64_t i = 0; i < p->processes; i++)
        if (wait(&status) < 0 || status != 0)
            bad = 1;
    if (bad == 0)
        tell(p, to - from);
    return bad;
}

static int
run(const struct plan *p)
{
    struct vc_runtime *runtime = NULL;
    struct vc_channel *channel = NULL;
    pthread_barrierattr_t attr;
    int result;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return failed("no memory");
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->begin, &attr, (unsigned)p->processes + 1);
    for (uint64_t i = 0; i < p->processes; i++)
        if (fork() == 0)
            _exit(process_run(p, &shared->results[i]));
    if (vc_runtime_new(NULL, &runtime) != VC_OK ||
        vc_channel_open(runtime, p->target, NULL, &channel) != VC_OK)
        result = failed("no channel");
    else
        result = measure(p, channel);
    vc_channel_close(channel);
    vc_runtime_free(runtime);
    return result;
}

int
main(int argc, char **argv)
{
    struct plan p = {.never_spin = argc > 1 && strcmp(argv[1], "-n") == 0};

    argv += p.never_spin;
    argc -= p.never_spin;
    if (argc == 7 && number_parse(argv[3], 1, PROCESSES_MOST, &p.processes) &&
        number_parse(argv[4], 1, THREADS_MOST, &p.threads) &&
        number_parse(argv[5], 1, 60000, &p.ms) &&
        number_parse(argv[6], 0, 1000000, &p.rate)) {
        p.target = argv[1];
        p.name = argv[2];
        return run(&p);
    }
    fprintf(stderr, "usage: callers [-n] TARGET NAME PROCESSES THREADS MS "
                    "RATE\n");
    return 2;
}
