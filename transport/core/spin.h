/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How long it is worth polling before sleeping. A thread that sleeps pays for a
 * wake-up. So polling for as long as a wake-up takes costs at most twice what
 * knowing the time of the next event would. That time is halved each time that
 * polling found nothing.
 *
 * If the last event came soon, polling is worth five wake-ups. The peer may
 * have slept as well, and if this end slept then, the two would wake each other
 * for ever. Besides, an event takes longer to wake a thread than the timers by
 * which wake-ups are measured.
 *
 * If many events came soon, one after the other, polling is worth all that the
 * program allows: a late event will come all the same, when other threads have
 * the processor for a while.
 *
 * Pure: the holder of an engine calls all of this, and reports what it saw
 * (transport/core/engine.c), except where it says otherwise.
 *
 * Called by: rpc/runtime.c (init), engine_open.c (init), engine.c (wakeup_us,
 * woke, came, us). */
#ifndef VC_TRANSPORT_SPIN_H
#define VC_TRANSPORT_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/* Bounds of what a wake-up is taken to cost: some 5 us on a machine, 100 to 250
 * us on an emulated one. If it takes more, the processor is busy, which is no
 * reason to poll. */
#define VC__WAKEUP_MIN_US 10u
#define VC__WAKEUP_MAX_US 400u
/* An event came soon if it came within so many wake-ups. */
#define VC__SPIN_SOON 5u
/* After so many waits in a row that ended by a wake-up there is hardly any
 * polling. */
#define VC__SPIN_VAIN 8u
/* So many events in a row that came soon and were found by polling are steady
 * traffic. */
#define VC__SPIN_STEADY 16u

struct vc__spin {
    uint32_t max_us;    /* the program's limit */
    uint32_t wakeup_us; /* a wake-up's cost, times 64, smoothed */
    bool soon;          /* the last event came soon */
    uint8_t vain;       /* last events in a row not found by polling */
    uint8_t steady;     /* last ones in a row that came soon and were found */
};

/* The time, or the nearest bound of what a wake-up is taken to cost. For this
 * header. */
static inline uint32_t
vc__spin_clamp(uint64_t us)
{
    return us < VC__WAKEUP_MIN_US   ? VC__WAKEUP_MIN_US
           : us > VC__WAKEUP_MAX_US ? VC__WAKEUP_MAX_US
                                    : (uint32_t)us;
}

/* Called by vc__engine_init(), and once more by progress_init() (rpc/runtime.c)
 * with a measured wakeup_us, or 0 if the program allows no polling, on the
 * thread of vc_runtime_new(). max_us: the program's option spin_us. */
static inline void
vc__spin_init(struct vc__spin *s, uint32_t max_us, uint64_t wakeup_us)
{
    *s = (struct vc__spin){.max_us = max_us,
                           .wakeup_us = 64 * vc__spin_clamp(wakeup_us),
                           .soon = true};
}

/* What a wake-up costs, in microseconds. For engine_expects() and this
 * header. */
static inline uint32_t
vc__spin_wakeup_us(const struct vc__spin *s)
{
    return s->wakeup_us / 64;
}

/* Learns what a wake-up costs: a thread woke up late_us after it should have.
 * Called by wakeup_learn(), when the holder's sleep has ended. A late one may
 * have found the processor busy, so late ones count little. */
static inline void
vc__spin_woke(struct vc__spin *s, uint64_t late_us)
{
    uint32_t us = vc__spin_clamp(late_us), known = vc__spin_wakeup_us(s);

    if (us > known)
        s->wakeup_us += us < 2 * known ? us - known : known;
    else
        s->wakeup_us -= 8 * (known - us);
}

/* Records that traffic came waited_us after the wait for it began; `polled`:
 * polling found it. Called by engine_note_traffic(). */
static inline void
vc__spin_came(struct vc__spin *s, uint64_t waited_us, bool polled)
{
    if (polled)
        s->vain = 0;
    else if (s->vain < VC__SPIN_VAIN)
        s->vain++;
    s->soon = waited_us <= (uint64_t)VC__SPIN_SOON * vc__spin_wakeup_us(s);
    if (!s->soon || !polled)
        s->steady = 0;
    else if (s->steady < VC__SPIN_STEADY)
        s->steady++;
}

/* Microseconds for which a wait polls. Called by engine_hopes(), when polling
 * has found nothing yet. */
static inline uint64_t
vc__spin_us(const struct vc__spin *s)
{
    uint64_t wakeup_us = vc__spin_wakeup_us(s);
    uint64_t us = s->soon ? VC__SPIN_SOON * wakeup_us : wakeup_us >> s->vain;

    if (s->steady == VC__SPIN_STEADY)
        return s->max_us;
    return us < s->max_us ? us : s->max_us;
}

#endif
