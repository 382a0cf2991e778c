/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether the handlers of a method tend to block. One that was taken over
 * (transport/core/handoff.h) says so of its method: then the next ones begin
 * on a thread of the crew, until some in a row were quick. Or it is said once
 * and for all. Also whether they tend to be taken over at all, as handlers do
 * that use the processor for long. Two bytes a method, written now and then,
 * read at each call. */
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

/* Relaxed: hints, no data hangs on them, and it is no matter when two threads
 * write at once. */
struct vc__habit {
    atomic_schar blocks;      /* how many quick runs must follow; or one of the
                              * two above, which stays */
    atomic_uchar long_lately; /* the same after a run that was taken over and
                              * used the processor, or blocked */
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

/* True when a run was taken over lately. Not for methods whose handlers may not
 * begin on the crew. */
static inline bool
vc__habit_is_long(const struct vc__habit *h)
{
    return atomic_load_explicit(&h->long_lately, memory_order_relaxed) > 0 &&
           atomic_load_explicit(&h->blocks, memory_order_relaxed) !=
               VC__HABIT_NEVER;
}

/* A run was taken over, whether it blocked or not. */
static inline void
vc__habit_was_long(struct vc__habit *h)
{
    atomic_store_explicit(&h->long_lately, VC__HABIT_RUNS,
                          memory_order_relaxed);
}

/* A run was quick, or at least not taken over. */
static inline void
vc__habit_was_quick(struct vc__habit *h)
{
    unsigned char left =
        atomic_load_explicit(&h->long_lately, memory_order_relaxed);

    if (left > 0)
        atomic_store_explicit(&h->long_lately, (unsigned char)(left - 1),
                              memory_order_relaxed);
}

/* A run was taken over, and blocked. */
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
