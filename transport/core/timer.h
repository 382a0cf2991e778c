/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Timers of one engine: a binary heap ordered by due time, ties by start order;
 * those started in a row for the same time share a place (timer.c).
 * The timer lives in its owner's structure; starting allocates only when the
 * heap must grow, stopping never. The clock is the caller's: now is a
 * parameter, in microseconds. The holder of the engine only; vc__timer_beat()
 * is pure. A timer's owner starts and stops it: a link, pool, call, stream,
 * server part, resolver, ear or the like. fire() runs on the holder, inside
 * vc__timers_run().
 *
 * Called by: engine_open.c (timers_init, timers_fini), engine.c (timers_run,
 * timers_next), cm/link/keepalive.c (beat), cm/pool/pool_link.c (beat),
 * cm/pool/upgrade.c (beat), many files (start, stop, running). */
#ifndef VC_TRANSPORT_TIMER_H
#define VC_TRANSPORT_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vc__timer {
    uint64_t due;
    uint64_t order;
    size_t at; /* 1 + index in the heap; 0 while stopped; or IN_RING */
    void (*fire)(struct vc__timer *timer);
    struct vc__timer *next, *prev; /* while it runs: the ring */
};

struct vc__timers {
    struct vc__timer **heap;
    size_t n, cap;  /* in the heap; places there */
    size_t running; /* timers, also in rings */
    uint64_t order;
    uint64_t now; /* of the run in progress, else 0 */
    /* The timer in the heap whose ring the next one may join: the one started
     * last, or its successor; or NULL. */
    struct vc__timer *last;
};

/* Makes an empty heap, without memory of its own. Called by
 * vc__engine_init(). */
void vc__timers_init(struct vc__timers *ts);

/* Stops all timers that still run, without firing them. Called by
 * vc__engine_fini(), alone. */
void vc__timers_fini(struct vc__timers *ts);

/* Starts a timer, or moves a running one. A zeroed timer is a stopped one.
 * Returns false if out of memory; the timer is unchanged. */
bool vc__timer_start(struct vc__timers *ts, struct vc__timer *t, uint64_t due,
                     void (*fire)(struct vc__timer *timer));

/* Stops a timer; does nothing to a stopped one. Called by its owner, and by
 * vc__timers_run() before it fires. */
void vc__timer_stop(struct vc__timers *ts, struct vc__timer *t);

/* True if the timer was started, and has neither fired nor been stopped
 * since. */
static inline bool
vc__timer_running(const struct vc__timer *t)
{
    return t->at != 0;
}

/* Fires all timers that are due at now, in order. Called by
 * engine_run_timers(). Each is stopped before its fire() runs. fire() may
 * start, stop and free any timer, also its own, and may run timers itself. A
 * timer that is started while they fire, with due <= now, counts as due now and
 * waits for the next run. */
void vc__timers_run(struct vc__timers *ts, uint64_t now);

/* When a timer that fires once a period fires next. All timers with one period
 * fire together, whenever they began, so that an otherwise idle process wakes
 * up for all of them at once. Called by keepalive and pools. */
static inline uint64_t
vc__timer_beat(uint64_t now, uint64_t period)
{
    return (now / period + 1) * period;
}

/* When the next timer is due; UINT64_MAX if none runs. Called by
 * engine_run_timers(), engine_sleep(), and engine_park() before the engine is
 * left to the program's loop. */
uint64_t vc__timers_next(const struct vc__timers *ts);

#endif
