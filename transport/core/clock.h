/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The clock that timers and waits go by. */
#ifndef VC_TRANSPORT_CLOCK_H
#define VC_TRANSPORT_CLOCK_H

#include <limits.h>
#include <stdint.h>
#include <time.h>

#define VC__FOREVER UINT64_MAX

/* Microseconds of a clock that only goes forward. */
static inline uint64_t
vc__now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

/* The kernel may let a thread sleep for so much longer, on purpose. */
#define VC__SLACK_US 50u

/* now + ms, without wrapping. */
static inline uint64_t
vc__after_ms(uint64_t now, uint64_t ms)
{
    return ms > (UINT64_MAX - now) / 1000u ? VC__FOREVER : now + ms * 1000u;
}

/* The same for a limit of the public interface, in which UINT32_MAX is none. */
static inline uint64_t
vc__due(uint64_t now, uint32_t ms)
{
    return ms == UINT32_MAX ? VC__FOREVER : vc__after_ms(now, ms);
}

/* What is left until then, for a call of the system that waits: -1 is for ever. */
static inline int
vc__ms_left(uint64_t now, uint64_t until)
{
    uint64_t ms;

    if (until == VC__FOREVER)
        return -1;
    ms = until > now ? (until - now + 999) / 1000 : 0;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

#endif
