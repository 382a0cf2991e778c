/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The clock of timers and waits, in microseconds. Any thread, under any lock.
 *
 * Called by: cm/link/link_send.c (now_rough), rpc/client/attempts.c
 * (now_rough), rpc/server/server_deadline.c (now_rough), engine_open.c
 * (rough_us), rpc/runtime_loop.c (ms_left), engine.c (ms_left), many files
 * (now, after_ms, due). */
#ifndef VC_TRANSPORT_CLOCK_H
#define VC_TRANSPORT_CLOCK_H

#include <limits.h>
#include <stdint.h>
#include <time.h>

#define VC__FOREVER UINT64_MAX

/* Microseconds of the monotonic clock. Called by all floors, wherever a time is
 * measured or a timer is started. */
static inline uint64_t
vc__now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

/* The clock at one of the kernel's last ticks (CLOCK_MONOTONIC_COARSE of
 * clock_gettime(2)), which is read in a fifth of the time: up to vc__rough_us()
 * late. For deadlines that are at least VC__FAR_US away: when a call begins,
 * waits to be sent, or comes. */
static inline uint64_t
vc__now_rough(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

#define VC__FAR_US 5000000u

/* Three ticks: 3 to 30 ms. The kernel counts whole ticks, each when the next
 * one comes, so two were measured; the third is for a tick that comes late.
 * Called by vc__engine_init(). */
static inline uint32_t
vc__rough_us(void)
{
    struct timespec tick = {.tv_nsec = 10000000};

    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    return (uint32_t)(((uint64_t)tick.tv_nsec * 3 + 999) / 1000u);
}

/* Timer slack: the kernel may let a thread sleep for so many microseconds
 * longer. */
#define VC__SLACK_US 50u

/* now + ms; VC__FOREVER if that would overflow. For timers and pauses of the
 * library's own. */
static inline uint64_t
vc__after_ms(uint64_t now, uint64_t ms)
{
    return ms > (UINT64_MAX - now) / 1000u ? VC__FOREVER : now + ms * 1000u;
}

/* now + ms for a timeout of the public interface, where UINT32_MAX is none:
 * VC__FOREVER. Called when such a function begins; for an operation of a server
 * by its task on engine 0 (server_op_timer_set()). */
static inline uint64_t
vc__due(uint64_t now, uint32_t ms)
{
    return ms == UINT32_MAX ? VC__FOREVER : vc__after_ms(now, ms);
}

/* Milliseconds left until `until`, rounded up, as the timeout of a system call;
 * -1 is for ever, 0 if it has passed. For epoll_wait(2) in engine_sleep() and
 * vc_runtime_poll(). */
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
