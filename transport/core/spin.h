/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How long it is worth polling before sleeping. Who sleeps pays a wake-up, so
 * polling for as long as that takes costs at most twice what knowing when the
 * next event comes would; half as long each time that it was in vain. When the
 * last event came soon, it is worth five wake-ups: the peer may have slept as
 * well, and to sleep then would have the two wake each other for ever; and an
 * event takes longer to wake a thread than the timers by which that is
 * measured. What others want of the processor counts more: when they took it
 * from a thread that polled, polling is worth nothing for a millisecond, and
 * for up to eight when they did so again right after.
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
/* A thread that polls loses its processor for so long, and half a wake-up, to
 * the kernel's own work; for longer only to other threads. */
#define VC__KERNEL_US 50u
/* For how long others are taken to want the processor. */
#define VC__CROWDED_US     1000u
#define VC__CROWDED_MAX_US 8000u

struct vc__spin {
    uint32_t max_us;     /* the program's limit */
    uint32_t wakeup_us;  /* times 64, smoothed */
    bool soon;           /* the last event came soon */
    uint8_t vain;        /* how many were not found by polling, the last ones */
    uint64_t crowded;    /* until when others want the processor */
    uint32_t crowded_us; /* and for how long that was believed */
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
}

/* A thread that polls has read the clock so long before now. */
static inline void
vc__spin_gap(struct vc__spin *s, uint64_t us, uint64_t now)
{
    if (us <= vc__spin_wakeup_us(s) / 2 + VC__KERNEL_US)
        return;
    if (now > s->crowded + 2 * (uint64_t)s->crowded_us)
        s->crowded_us = VC__CROWDED_US;
    else if (now >= s->crowded && s->crowded_us < VC__CROWDED_MAX_US)
        s->crowded_us *= 2;
    s->crowded = now + s->crowded_us;
    s->soon = false;
}

/* For how long a wait polls. */
static inline uint64_t
vc__spin_us(const struct vc__spin *s, uint64_t now)
{
    uint64_t wakeup_us = vc__spin_wakeup_us(s);
    uint64_t us = s->soon ? VC__SPIN_SOON * wakeup_us : wakeup_us >> s->vain;

    if (now < s->crowded)
        return 0;
    return us < s->max_us ? us : s->max_us;
}

#endif
