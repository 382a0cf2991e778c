/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How long it is worth polling before sleeping. Who sleeps pays a wake-up, so
 * polling for as long as that takes costs at most twice what knowing when the
 * next event comes would; half as long each time that it was in vain. When the
 * last event came soon, it is worth five wake-ups: the peer may have slept as
 * well, and to sleep then would have the two wake each other for ever; and an
 * event takes longer to wake a thread than the timers by which that is
 * measured. And when many came soon, one after the other, it is worth all that
 * the program allows: one that is late, as others have the processor for a
 * while, will come all the same.
 * Pure: the holder of an engine says what it saw (transport/core/engine.c). */
#ifndef VC_TRANSPORT_SPIN_H
#define VC_TRANSPORT_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/* What a wake-up is taken to cost: some 5 us on a machine, 100 to 250 in an
 * emulated one; more is the processor being busy, which is no reason to poll. */
#define VC__WAKEUP_MIN_US 10u
#define VC__WAKEUP_MAX_US 400u
/* An event came soon if within so many wake-ups. */
#define VC__SPIN_SOON 5u
/* After so many waits in a row that ended by a wake-up it is hardly polled. */
#define VC__SPIN_VAIN 8u
/* So many events that came soon and were polled for are steady traffic. */
#define VC__SPIN_STEADY 16u

struct vc__spin {
    uint32_t max_us;    /* the program's limit */
    uint32_t wakeup_us; /* times 64, smoothed */
    bool soon;          /* the last event came soon */
    uint8_t vain;       /* how many were not found by polling, the last ones */
    uint8_t steady;     /* how many came soon and were, in a row */
};

static inline uint32_t
vc__spin_clamp(uint64_t us)
{
    return us < VC__WAKEUP_MIN_US   ? VC__WAKEUP_MIN_US
           : us > VC__WAKEUP_MAX_US ? VC__WAKEUP_MAX_US
                                    : (uint32_t)us;
}

static inline void
vc__spin_init(struct vc__spin *s, uint32_t max_us, uint64_t wakeup_us)
{
    *s = (struct vc__spin){.max_us = max_us,
                           .wakeup_us = 64 * vc__spin_clamp(wakeup_us),
                           .soon = true};
}

static inline uint32_t
vc__spin_wakeup_us(const struct vc__spin *s)
{
    return s->wakeup_us / 64;
}

/* A thread woke up so long after it was to. One that was late may have found
 * the processor taken, so such ones count little. */
static inline void
vc__spin_woke(struct vc__spin *s, uint64_t late_us)
{
    uint32_t us = vc__spin_clamp(late_us), known = vc__spin_wakeup_us(s);

    if (us > known)
        s->wakeup_us += us < 2 * known ? us - known : known;
    else
        s->wakeup_us -= 8 * (known - us);
}

/* Traffic came so long after the wait for it began, polled for or not. */
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

/* For how long a wait polls. */
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
