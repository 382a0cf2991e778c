/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether the handlers of a method tend to block. One that was taken over
 * (transport/core/takeover.h) says so of its method: then the next ones begin
 * on a thread of the crew, until some in a row were quick. One byte a method,
 * written now and then, read at each call. */
#ifndef VC_TRANSPORT_HABIT_H
#define VC_TRANSPORT_HABIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Quick runs on the crew, after which a method runs on the engine again. */
#define VC__HABIT_RUNS 4u
/* What is quick: a handler that is taken over is at least as slow. */
#define VC__HABIT_QUICK_US 100u

/* Of quick runs, how many must follow. Relaxed: a hint, no data hangs on it,
 * and it is no matter when two threads write at once. */
struct vc__habit {
    atomic_uchar blocks;
};

static inline bool
vc__habit_blocks(const struct vc__habit *h)
{
    return atomic_load_explicit(&h->blocks, memory_order_relaxed) > 0;
}

static inline void
vc__habit_blocked(struct vc__habit *h)
{
    atomic_store_explicit(&h->blocks, VC__HABIT_RUNS, memory_order_relaxed);
}

/* A run on the crew took so long. */
static inline void
vc__habit_ran(struct vc__habit *h, uint64_t us)
{
    unsigned blocks = atomic_load_explicit(&h->blocks, memory_order_relaxed);

    if (us >= VC__HABIT_QUICK_US)
        vc__habit_blocked(h);
    else if (blocks > 0)
        atomic_store_explicit(&h->blocks, (unsigned char)(blocks - 1),
                              memory_order_relaxed);
}

#endif
