/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A shared object for LD_PRELOAD, under `valgrind --tool=callgrind
 * --collect-atstart=no`: it makes the number of instructions of a call exact.
 * bench/compare_inside.sh compiles and uses it.
 *
 * How often a thread polls without success before a packet arrives, and the time on its
 * clock, depend on the host. So once there is traffic, a polling thread gets
 * one completion at a time, then one empty turn (in which the library gives
 * buffers back to the adapter). The next poll waits for a completion. Neither
 * the wait nor the provider's own polling is counted. On the thread's clock
 * each wait takes WAIT_NS. Only threads that poll are counted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

/* Completions of a queue before counting begins: connecting has ended, and the
 * first buffers are allocated. */
#define TRAFFIC 200
/* The length of a wait on the clock of the waiting thread. */
#define WAIT_NS 10000
/* A wait without a completion ends after this real time with an empty turn, as
 * the peer may wait for something that this end sends by a timer only; after so
 * many in a row no calls are left. */
#define WAIT_S     1
#define LAST_WAITS 3
#define QUEUES     8

/* A completion queue, polled by one thread at a time. */
struct queue {
    struct ibv_cq *cq;
    unsigned found; /* completions before TRAFFIC */
    bool is_over;
    bool was_empty; /* the previous turn was empty */
    unsigned vain;  /* waits without a completion, in a row */
};

static struct queue queues[QUEUES];
static int (*real_poll)(struct ibv_cq *, int, struct ibv_wc *);

/* The thread's clock in nanoseconds once it is counted, otherwise 0. */
static _Thread_local uint64_t clock_ns;

static int
real_clock(clockid_t id, struct timespec *t)
{
    static int (*real)(clockid_t, struct timespec *);

    if (real == NULL)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT,
                                                            "clock_gettime");
    return real(id, t);
}

int
clock_gettime(clockid_t id, struct timespec *t)
{
    if (clock_ns == 0 || id != CLOCK_MONOTONIC)
        return real_clock(id, t);
    t->tv_sec = (time_t)(clock_ns / 1000000000u);
    t->tv_nsec = (long)(clock_ns % 1000000000u);
    return 0;
}

static uint64_t
real_now(void)
{
    struct timespec t;

    real_clock(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
count_begin(void)
{
    clock_ns = real_now();
    CALLGRIND_TOGGLE_COLLECT;
}

/* Sets the thread's clock back to the real one, which is later. */
static void
count_end(struct queue *q)
{
    q->is_over = true;
    clock_ns = 0;
    CALLGRIND_TOGGLE_COLLECT;
}

static int
wait_for_one(struct queue *q, struct ibv_wc *wc)
{
    uint64_t end = real_now() + (uint64_t)WAIT_S * 1000000000u;
    int n;

    while ((n = real_poll(q->cq, 1, wc)) == 0 && real_now() < end)
        usleep(10); /* the peer needs the processor more */
    return n;
}

/* One turn of a thread that is counted; begins counting if necessary. */
static int
steady_poll(struct queue *q, struct ibv_wc *wc)
{
    int n;

    if (!q->was_empty) {
        q->was_empty = true;
        return 0;
    }
    q->was_empty = false;
    if (clock_ns == 0)
        count_begin();
    CALLGRIND_TOGGLE_COLLECT;
    n = wait_for_one(q, wc);
    CALLGRIND_TOGGLE_COLLECT;
    clock_ns += WAIT_NS;
    q->vain = n == 0 ? q->vain + 1 : 0;
    if (q->vain == LAST_WAITS)
        count_end(q);
    return n;
}

static struct queue *
queue_of(const struct ibv_cq *cq)
{
    for (unsigned i = 0; i < QUEUES; i++) {
        if (queues[i].cq == cq)
            return &queues[i];
    }
    abort(); /* created before us, by another provider, or a CQ too many */
}

static int
poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    struct queue *q = queue_of(cq);
    int n;

    if (q->found >= TRAFFIC && !q->is_over)
        return steady_poll(q, wc);
    n = real_poll(cq, most, wc);
    if (n > 0)
        q->found += (unsigned)n;
    return n;
}

struct ibv_cq *
ibv_create_cq(struct ibv_context *context, int size, void *cq_context,
              struct ibv_comp_channel *channel, int vector)
{
    static struct ibv_cq *(*real)(struct ibv_context *, int, void *,
                                  struct ibv_comp_channel *, int);
    static unsigned n;
    struct ibv_cq *cq;

    if (real == NULL)
        real = (struct ibv_cq * (*)(struct ibv_context *, int, void *,
                                    struct ibv_comp_channel *, int))
            dlvsym(RTLD_NEXT, "ibv_create_cq", "IBVERBS_1.1");
    cq = real(context, size, cq_context, channel, vector);
    if (cq == NULL || n == QUEUES)
        return cq;
    if (context->ops.poll_cq != poll_cq)
        real_poll = context->ops.poll_cq;
    context->ops.poll_cq = poll_cq;
    queues[n++].cq = cq;
    return cq;
}
