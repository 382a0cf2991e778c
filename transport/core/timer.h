/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Timers of one engine: a binary heap ordered by due time, ties by start
 * order. The timer lives in its owner's structure; starting and stopping
 * allocate only when the heap must grow. The clock is the caller's: now is a
 * parameter, in microseconds. One thread at a time. */
#ifndef VC_TRANSPORT_TIMER_H
#define VC_TRANSPORT_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vc__timer {
    uint64_t due;
    uint64_t order;
    size_t at; /* 1 + index in the heap; 0 while stopped */
    void (*fire)(struct vc__timer *timer);
};

struct vc__timers {
    struct vc__timer **heap;
    size_t n, cap;
    uint64_t order;
    uint64_t now; /* of the run that is under way, else 0 */
};

void vc__timers_init(struct vc__timers *ts);

/* Stops all that still run. */
void vc__timers_fini(struct vc__timers *ts);

/* Starts, or moves a running one. A zeroed timer is a stopped one. False: no
 * memory, and the timer is as it was. */
bool vc__timer_start(struct vc__timers *ts, struct vc__timer *t, uint64_t due,
                     void (*fire)(struct vc__timer *timer));

/* Stops; does nothing to a stopped one. */
void vc__timer_stop(struct vc__timers *ts, struct vc__timer *t);

static inline bool
vc__timer_running(const struct vc__timer *t)
{
    return t->at != 0;
}

/* Fires all that are due at now, in order; each is stopped before its fire()
 * runs, which may start, stop and free any timer, also its own, and may run
 * timers itself. One that is started while they fire with due <= now counts
 * as due now and waits for the next run. */
void vc__timers_run(struct vc__timers *ts, uint64_t now);

/* When a timer that fires once a period fires next. All with one period fire
 * together, whenever they began, so that a process which has nothing else to do
 * wakes up for all of them at once. */
static inline uint64_t
vc__timer_beat(uint64_t now, uint64_t period)
{
    return (now / period + 1) * period;
}

/* When the next is due; UINT64_MAX when none runs. */
uint64_t vc__timers_next(const struct vc__timers *ts);

#endif
