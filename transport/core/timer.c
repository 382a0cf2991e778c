/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The heap of an engine's timers: heap[0] is the next one due, the children of
 * heap[i] are heap[2i + 1] and heap[2i + 2]. Each timer knows its place, so it
 * is stopped or moved in logarithmic time. Timers that were started in a row for
 * the same time, as those of many links are, form a ring. Only the first is in
 * the heap, so the others take constant time. There is no clock and no lock
 * here: static functions run on the holder, as all callers do. See
 * transport/core/timer.h. */
#include "transport/core/timer.h"

#include <stdlib.h>
#include <string.h>

#define TIMERS_FIRST 64 /* places in a heap when it is first needed */
/* `at` of a timer that has no place in the heap: another of its ring has. */
#define IN_RING SIZE_MAX

void
vc__timers_init(struct vc__timers *ts)
{
    memset(ts, 0, sizeof *ts);
}

void
vc__timers_fini(struct vc__timers *ts)
{
    while (ts->n > 0)
        vc__timer_stop(ts, ts->heap[ts->n - 1]);
    free(ts->heap);
    memset(ts, 0, sizeof *ts);
}

/* For timers_rise() and timers_settle(): true if a fires before b. */
static bool
timer_before(const struct vc__timer *a, const struct vc__timer *b)
{
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

/* For timers_rise() and timers_settle(): writes t to place i, and its place to
 * t. */
static void
timers_place(struct vc__timers *ts, size_t i, struct vc__timer *t)
{
    ts->heap[i] = t;
    t->at = i + 1;
}

/* For a timer that is started (vc__timer_start()), and timers_settle(): moves t
 * up from the free place i, to where it belongs. */
static void
timers_rise(struct vc__timers *ts, size_t i, struct vc__timer *t)
{
    while (i > 0) {
        size_t up = (i - 1) / 2;

        if (!timer_before(t, ts->heap[up]))
            break;
        timers_place(ts, i, ts->heap[up]);
        i = up;
    }
    timers_place(ts, i, t);
}

/* For heap_leave(), for the last one of the heap: moves t down from the free
 * place i, as far as needed, or up. */
static void
timers_settle(struct vc__timers *ts, size_t i, struct vc__timer *t)
{
    for (;;) {
        size_t down = 2 * i + 1;

        if (down + 1 < ts->n &&
            timer_before(ts->heap[down + 1], ts->heap[down]))
            down++;
        if (down >= ts->n || !timer_before(ts->heap[down], t))
            break;
        timers_place(ts, i, ts->heap[down]);
        i = down;
    }
    timers_rise(ts, i, t);
}

/* For vc__timer_start(): makes room for one more timer, in the heap even if all
 * rings come apart. True if there is room; false without memory. */
static bool
timers_reserve(struct vc__timers *ts)
{
    size_t cap = ts->cap == 0 ? TIMERS_FIRST : ts->cap * 2;
    struct vc__timer **heap;

    if (ts->running < ts->cap)
        return true;
    heap = realloc(ts->heap, cap * sizeof(struct vc__timer *));
    if (heap == NULL)
        return false;
    ts->heap = heap;
    ts->cap = cap;
    return true;
}

/* The timer was started right after others that are due at the same time: it
 * joins their ring, as its last. For vc__timer_start(). */
static void
ring_join(struct vc__timer *leader, struct vc__timer *t)
{
    t->at = IN_RING;
    t->next = leader;
    t->prev = leader->prev;
    leader->prev->next = t;
    leader->prev = t;
}

bool
vc__timer_start(struct vc__timers *ts, struct vc__timer *t, uint64_t due,
                void (*fire)(struct vc__timer *timer))
{
    if (!vc__timer_running(t) && !timers_reserve(ts))
        return false;
    vc__timer_stop(ts, t);
    ts->running++;

    /* While timers fire, an overdue timer counts as due now. So it comes after
     * all that were due before, and vc__timers_run() need not look past it. */
    t->due = due < ts->now ? ts->now : due;
    t->order = ts->order++;
    t->fire = fire;
    if (ts->last != NULL && ts->last->due == t->due) {
        ring_join(ts->last, t);
        return true;
    }
    t->next = t->prev = t;
    ts->last = t;
    timers_rise(ts, ts->n++, t);
    return true;
}

/* For vc__timer_stop(): takes a timer without a ring out of the heap. */
static void
heap_leave(struct vc__timers *ts, struct vc__timer *t)
{
    size_t i = t->at - 1;
    struct vc__timer *last = ts->heap[--ts->n];

    if (ts->last == t)
        ts->last = NULL;
    if (last != t)
        timers_settle(ts, i, last);
}

/* For vc__timer_stop(): takes a timer out of its ring. The next one takes its
 * place in the heap, if it has one: nothing else comes between the two. */
static void
ring_leave(struct vc__timers *ts, struct vc__timer *t)
{
    t->next->prev = t->prev;
    t->prev->next = t->next;
    if (t->at == IN_RING)
        return;
    timers_place(ts, t->at - 1, t->next);
    if (ts->last == t)
        ts->last = t->next;
}

void
vc__timer_stop(struct vc__timers *ts, struct vc__timer *t)
{
    if (!vc__timer_running(t))
        return;
    ts->running--;
    if (t->next == t)
        heap_leave(ts, t);
    else
        ring_leave(ts, t);
    t->at = 0;
}

void
vc__timers_run(struct vc__timers *ts, uint64_t now)
{
    uint64_t outer = ts->now; /* fire() may wait and so run timers itself */
    uint64_t begun = ts->order;

    ts->now = now;
    while (ts->n > 0 && ts->heap[0]->due <= now && ts->heap[0]->order < begun) {
        struct vc__timer *t = ts->heap[0];

        vc__timer_stop(ts, t);
        t->fire(t);
    }
    ts->now = outer;
}

uint64_t
vc__timers_next(const struct vc__timers *ts)
{
    return ts->n == 0 ? UINT64_MAX : ts->heap[0]->due;
}
