/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The heap of an engine's timers: heap[0] is the next one due, the children of
 * heap[i] are heap[2i + 1] and heap[2i + 2]. Each timer knows its place, so it
 * is stopped or moved in logarithmic time. There is no clock and no lock here:
 * static functions run on the holder, as all callers do. See
 * transport/core/timer.h. */
#include "transport/core/timer.h"

#include <stdlib.h>
#include <string.h>

#define TIMERS_FIRST 64 /* places in a heap when it is first needed */

void
vc__timers_init(struct vc__timers *ts)
{
    memset(ts, 0, sizeof *ts);
}

void
vc__timers_fini(struct vc__timers *ts)
{
    for (size_t i = 0; i < ts->n; i++)
        ts->heap[i]->at = 0;
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

/* For vc__timer_start() of a running timer, and for the last one of the heap
 * when another is stopped: moves t down from the free place i, as far as
 * needed, or up. */
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

/* For vc__timer_start(): makes room for one more timer. True if there is room;
 * false without memory. */
static bool
timers_reserve(struct vc__timers *ts)
{
    size_t cap = ts->cap == 0 ? TIMERS_FIRST : ts->cap * 2;
    struct vc__timer **heap;

    if (ts->n < ts->cap)
        return true;
    heap = realloc(ts->heap, cap * sizeof(struct vc__timer *));
    if (heap == NULL)
        return false;
    ts->heap = heap;
    ts->cap = cap;
    return true;
}

bool
vc__timer_start(struct vc__timers *ts, struct vc__timer *t, uint64_t due,
                void (*fire)(struct vc__timer *timer))
{
    if (!vc__timer_running(t) && !timers_reserve(ts))
        return false;

    /* While timers fire, an overdue timer counts as due now. So it comes after
     * all that were due before, and vc__timers_run() need not look past it. */
    t->due = due < ts->now ? ts->now : due;
    t->order = ts->order++;
    t->fire = fire;
    if (vc__timer_running(t))
        timers_settle(ts, t->at - 1, t);
    else
        timers_rise(ts, ts->n++, t);
    return true;
}

void
vc__timer_stop(struct vc__timers *ts, struct vc__timer *t)
{
    size_t i = t->at - 1;
    struct vc__timer *last;

    if (!vc__timer_running(t))
        return;
    t->at = 0;
    last = ts->heap[--ts->n];
    if (last != t)
        timers_settle(ts, i, last);
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
