/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Records whether the handlers of a method tend to block. After a handler
 * blocked and was taken over (transport/core/handoff.h), the next ones of its
 * method begin on a thread of the crew, until some in a row were quick. This
 * may also be fixed once and for all. A second hint says whether handlers tend
 * to be taken over at all, as handlers do that use the processor for long, or
 * to lend the engine while they wait. Two
 * bytes per method, written now and then, read at each call. Any thread:
 *
 * - the holder asks (blocks, is_long) before it begins a handler, and records
 *   one that has returned and still had its engine (was_quick);
 * - the watcher, under the crew's lock, records a handler that it takes the
 *   engine from (was_long, blocked); and the thread of a handler that waits one
 *   that lends the engine (was_long);
 * - the thread of a handler that began on the crew records it when it has
 *   returned (ran, was_quick).
 *
 * Called by: rpc/server/service.c (fix), rpc/server/server_handler.c (blocks,
 * is_long, was_quick, ran), crew.c (was_long, blocked), engine.c (was_long). */
#ifndef VC_TRANSPORT_HABIT_H
#define VC_TRANSPORT_HABIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* After so many quick runs on the crew a method runs on the engine again. */
#define VC__HABIT_RUNS 4
/* A run shorter than this is quick. A handler that is taken over takes at least
 * as long. */
#define VC__HABIT_QUICK_US 100u

#define VC__HABIT_ALWAYS ((signed char)127)
#define VC__HABIT_NEVER  ((signed char)-1)

/* Relaxed: these are hints, no data depends on them, and two threads may write
 * at once. */
struct vc__habit {
    atomic_schar blocks;      /* quick runs that must follow; or one of the two
                               * values above, which stays */
    atomic_uchar long_lately; /* the same after a run that was taken over, for
                              * any reason, or lent the engine */
};

/* Fixes VC__HABIT_ALWAYS or VC__HABIT_NEVER. Called by method_init() for a
 * method that needs it, when the service is added, on the program's thread,
 * before the first run. */
static inline void
vc__habit_fix(struct vc__habit *h, signed char value)
{
    atomic_init(&h->blocks, value);
}

/* True if the next run is to begin on the crew. */
static inline bool
vc__habit_blocks(const struct vc__habit *h)
{
    return atomic_load_explicit(&h->blocks, memory_order_relaxed) > 0;
}

/* True if the value stays, whatever the runs do. For this header. */
static inline bool
vc__habit_is_fixed(signed char blocks)
{
    return blocks == VC__HABIT_ALWAYS || blocks == VC__HABIT_NEVER;
}

/* True if a run was taken over, or lent the engine, lately. False for methods
 * whose handlers may not begin on the crew. */
static inline bool
vc__habit_is_long(const struct vc__habit *h)
{
    return atomic_load_explicit(&h->long_lately, memory_order_relaxed) > 0 &&
           atomic_load_explicit(&h->blocks, memory_order_relaxed) !=
               VC__HABIT_NEVER;
}

/* Records a run that was taken over, whether it blocked or not, or that lends
 * the engine. */
static inline void
vc__habit_was_long(struct vc__habit *h)
{
    atomic_store_explicit(&h->long_lately, VC__HABIT_RUNS,
                          memory_order_relaxed);
}

/* Records a run that was quick, or at least not taken over. */
static inline void
vc__habit_was_quick(struct vc__habit *h)
{
    unsigned char left =
        atomic_load_explicit(&h->long_lately, memory_order_relaxed);

    if (left > 0)
        atomic_store_explicit(&h->long_lately, (unsigned char)(left - 1),
                              memory_order_relaxed);
}

/* Records a run that blocked: the watcher one that it takes the engine from,
 * vc__habit_ran() a long one on the crew. */
static inline void
vc__habit_blocked(struct vc__habit *h)
{
    signed char blocks = atomic_load_explicit(&h->blocks, memory_order_relaxed);

    if (!vc__habit_is_fixed(blocks))
        atomic_store_explicit(&h->blocks, VC__HABIT_RUNS, memory_order_relaxed);
}

/* Records how long a run on the crew took; us 0: it never waited. */
static inline void
vc__habit_ran(struct vc__habit *h, uint64_t us)
{
    signed char blocks = atomic_load_explicit(&h->blocks, memory_order_relaxed);

    if (us >= VC__HABIT_QUICK_US)
        vc__habit_blocked(h);
    else if (blocks > 0 && !vc__habit_is_fixed(blocks))
        atomic_store_explicit(&h->blocks, (signed char)(blocks - 1),
                              memory_order_relaxed);
}

#endif
