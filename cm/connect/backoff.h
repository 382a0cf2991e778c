/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The backoff between one whole attempt to connect and the next: 50 ms, doubled
 * by each failure up to 5 s. A random 20 % more or less is applied, so that
 * clients which lost the same server do not reconnect all at once. A pool has
 * two, under its lock: that of its attempts, and one of connections that were
 * lost soon (cm/pool/pool_ahead.h). Pure.
 *
 * Called by: cm/pool/pool.c (init, failed), cm/pool/pool_ahead.c (failed,
 * reset), cm/pool/pool_link.c (reset), cm/pool/pool_nowhere.c (reset). */
#ifndef VC_CM_BACKOFF_H
#define VC_CM_BACKOFF_H

#include <stdint.h>

#define VC__BACKOFF_MIN_US UINT64_C(50000)
#define VC__BACKOFF_MAX_US UINT64_C(5000000)

struct vc__backoff {
    uint64_t seed;
    unsigned failures; /* since the last success */
};

/* Called by vc__pool_init(), on any thread. */
static inline void
vc__backoff_init(struct vc__backoff *b, uint64_t seed)
{
    b->seed = seed;
    b->failures = 0;
}

/* Records a failed attempt, or a lost connection. Returns the microseconds
 * until the next attempt. Called by vc__pool_failed(), on the holder, and by
 * vc__pool_ahead_follow(), on the thread that publishes the pool's health. */
uint64_t vc__backoff_failed(struct vc__backoff *b);

/* Records a successful attempt: the next failure waits the shortest time again.
 * Called when a link has joined the pool, and by nowhere_recall() of
 * cm/pool/pool_nowhere.c, on the holder; and by vc__pool_ahead_follow(), when a
 * connection was lost that had been up for long. */
static inline void
vc__backoff_reset(struct vc__backoff *b)
{
    b->failures = 0;
}

#endif
