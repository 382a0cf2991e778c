/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether the handlers of a method tend to block. One that was taken over
 * (transport/core/takeover.h) says so of its method: then the next ones begin
 * on a thread of the crew, until some in a row were quick. Or it is said once
 * and for all. One byte a method, written now and then, read at each call. */
#ifndef VC_TRANSPORT_HABIT_H
#define VC_TRANSPORT_HABIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Quick runs on the crew, after which a method runs on the engine again. */
#define VC__HABIT_RUNS 4
/* What is quick: a handler that is taken over is at least as slow. */
#define VC__HABIT_QUICK_US 100u

#define VC__HABIT_ALWAYS ((signed char)127)
#define VC__HABIT_NEVER  ((signed char)-1)

/* How many quick runs must follow; or one of the two above, which stays.
 * Relaxed: a hint, no data hangs on it, and it is no matter when two threads
 * write at once. */
struct vc__habit {
    atomic_schar blocks;
};

/* Before the first run. */
static inline void
vc__habit_fix(struct vc__habit *h, signed char value)
{
    atomic_init(&h->blocks, value);
}

static inline bool
vc__habit_blocks(const struct vc__habit *h)
{
    return atomic_load_explicit(&h->blocks, memory_order_relaxed) > 0;
}

static inline bool
vc__habit_is_fixed(signed char blocks)
{
    return blocks == VC__HABIT_ALWAYS || blocks == VC__HABIT_NEVER;
}

/* A run was taken over. */
static inline void
vc__habit_blocked(struct vc__habit *h)
{
    signed char blocks = atomic_load_explicit(&h->blocks, memory_order_relaxed);

    if (!vc__habit_is_fixed(blocks))
        atomic_store_explicit(&h->blocks, VC__HABIT_RUNS, memory_order_relaxed);
}

/* A run on the crew took so long. */
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
