/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The base of all other files: random numbers, memory of the world, and events.
 * Static functions run on the thread of their caller: one thread of the world
 * runs at a time (world.h). */
#include <stdlib.h>
#include <string.h>

#include "real.h"

struct event {
    uint64_t at, order;
    void (*fn)(void *obj, uint64_t n);
    void *obj;
    uint64_t n;
};

struct block {
    struct block *next;
    max_align_t data[];
};

struct fake__world fake__world;

static struct {
    struct event *events; /* a binary heap */
    size_t n_events, room;
    uint64_t order, random;
    struct block *blocks;
} B;

/* --- random numbers ---------------------------------------------------- */

/* splitmix64. Called by fake__random(). */
static uint64_t
random_next(void)
{
    uint64_t z = B.random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Called in most files of the fake. */
uint64_t
fake__random(uint64_t n)
{
    return n < 2 ? 0 : random_next() % n;
}

/* Called in cm.c, cm_wire.c and qp_wire.c. */
uint64_t
fake__latency(void)
{
    return 3 * FAKE__US + fake__random(5 * FAKE__US);
}

/* FNV-1a, by words. Called by trace_line() (note.c) and task_next()
 * (sched.c). */
void
fake__record(uint64_t what)
{
    fake__world.fingerprint =
        (fake__world.fingerprint ^ what) * UINT64_C(0x100000001b3);
}

uint64_t
fake_fingerprint(void)
{
    return fake__world.fingerprint;
}

/* --- memory of the world ----------------------------------------------- */

/* Called in most files of the fake. */
void *
fake__alloc(size_t size)
{
    struct block *b = __real_calloc(1, sizeof *b + size);

    if (b == NULL)
        abort();
    b->next = B.blocks;
    B.blocks = b;
    return b->data;
}

/* Called by qp_new() (qp.c) and in mr.c. */
void *
fake__table_grow(void *table, unsigned n, unsigned *size)
{
    void *larger;

    if (n < *size)
        return table;
    *size = *size == 0 ? 64 : *size * 2;
    larger = fake__alloc(*size * sizeof(void *));
    if (n > 0)
        memcpy(larger, table, n * sizeof(void *));
    return larger;
}

/* Called in most files of the fake. */
void *
fake__handle_new(size_t size)
{
    void *p = __real_calloc(1, size);

    if (p == NULL)
        abort();
    return p;
}

/* Called in cm.c, cm_event.c and verbs.c. */
void
fake__handle_free(void *handle)
{
    __real_free(handle);
}

/* --- events ------------------------------------------------------------ */

/* Called by fake__after() and event_take(). */
static bool
sooner(const struct event *a, const struct event *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

/* Called by fake__after() and event_take(). */
static void
events_swap(size_t i, size_t j)
{
    struct event e = B.events[i];

    B.events[i] = B.events[j];
    B.events[j] = e;
}

/* Called in most files of the fake. */
void
fake__after(uint64_t delay, void (*fn)(void *obj, uint64_t n), void *obj,
            uint64_t n)
{
    size_t i = B.n_events++;

    if (i == B.room) {
        B.room = B.room == 0 ? 64 : B.room * 2;
        B.events = __real_realloc(B.events, B.room * sizeof *B.events);
        if (B.events == NULL)
            abort();
    }
    B.events[i] =
        (struct event){fake__world.now + delay, B.order++, fn, obj, n};
    for (; i > 0 && sooner(&B.events[i], &B.events[(i - 1) / 2]);
         i = (i - 1) / 2)
        events_swap(i, (i - 1) / 2);
}

/* Called by fake__events_run(). */
static struct event
event_take(void)
{
    struct event first = B.events[0];
    size_t i = 0, child;

    B.events[0] = B.events[--B.n_events];
    while ((child = 2 * i + 1) < B.n_events) {
        if (child + 1 < B.n_events &&
            sooner(&B.events[child + 1], &B.events[child]))
            child++;
        if (!sooner(&B.events[child], &B.events[i]))
            break;
        events_swap(i, child);
        i = child;
    }
    return first;
}

/* Called by fake__events_run() and next_moment() (sched.c). */
uint64_t
fake__events_next(void)
{
    return B.n_events > 0 ? B.events[0].at : FAKE__FOREVER;
}

/* Called by run_due() (sched.c). */
bool
fake__events_run(void)
{
    bool any = false;

    for (; fake__events_next() <= fake__world.now; any = true) {
        struct event e = event_take();

        e.fn(e.obj, e.n);
    }
    return any;
}

/* Called by fake_begin() (process.c). */
void
fake__base_begin(uint64_t seed)
{
    memset(&B, 0, sizeof B);
    B.random = seed;
}

/* Called by world_free() (process.c). */
void
fake__base_end(void)
{
    while (B.blocks != NULL) {
        struct block *b = B.blocks;

        B.blocks = b->next;
        __real_free(b);
    }
    __real_free(B.events);
    memset(&B, 0, sizeof B);
}
