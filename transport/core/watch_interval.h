/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How often the watcher looks at handlers (transport/core/crew.h). Each look
 * wakes a thread, which costs the machine about as long as the thread wakes up
 * late: some 10 us on a machine, 100 us and more on an emulated one. There, a
 * look each millisecond made calls a seventh slower. So the watcher takes a
 * 64th of the time, and looks each millisecond where wake-ups are cheap. Pure;
 * called by crew_pause() only, on the watcher's thread.
 *
 * Called by: crew.c (all). */
#ifndef VC_TRANSPORT_WATCH_INTERVAL_H
#define VC_TRANSPORT_WATCH_INTERVAL_H

#include <stdint.h>

#define VC__WATCH_MIN_US 900  /* with a look 100 us later: a millisecond */
#define VC__WATCH_MAX_US 8000 /* however late the thread wakes up */

struct vc__watch_interval {
    uint64_t late_us; /* times 8, smoothed */
};

/* Called after waking up, at `now`, from a sleep that was to end at `due`:
 * learns how late that was. */
static inline void
vc__watch_interval_woke(struct vc__watch_interval *p, uint64_t due,
                        uint64_t now)
{
    uint64_t late = now > due ? now - due : 0;

    /* Bounded: something else may have had the processor. */
    if (late > VC__WATCH_MAX_US / 64)
        late = VC__WATCH_MAX_US / 64;
    p->late_us = p->late_us - p->late_us / 8 + late;
}

/* Microseconds from one look to the next. */
static inline uint64_t
vc__watch_interval_us(const struct vc__watch_interval *p)
{
    uint64_t us = p->late_us / 8 * 64;

    return us < VC__WATCH_MIN_US ? VC__WATCH_MIN_US : us;
}

#endif
