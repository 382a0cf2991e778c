/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The right to advance an engine: one thread has it at a time, and others may
 * wait for it, each with a waiter that it queues. To take a free one and to
 * leave one that nobody waits for is one locked operation each.
 *
 * Of any thread; what is left, passed or handed over is the holder's. */
#ifndef VC_TRANSPORT_TOKEN_H
#define VC_TRANSPORT_TOKEN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <urcu/list.h>

#include "transport/core/waiter.h"

#define VC__TOKEN_HELD    1u
#define VC__TOKEN_AWAITED 2u /* exactly while `waiters` is not empty */
/* The engine's program watches it, and advances it by turns; once set it stays
 * so. */
#define VC__TOKEN_WATCHED 4u

struct vc__token {
    atomic_uint word; /* VC__TOKEN_* */
    pthread_mutex_t lock;
    struct cds_list_head waiters; /* lock */
};

void vc__token_init(struct vc__token *t);
void vc__token_fini(struct vc__token *t);

/* Takes it if it is free. Acquire: pairs with the release of who left it, so
 * that the former holder's work is seen. */
static inline bool
vc__token_try(struct vc__token *t)
{
    unsigned is_free = 0;

    if (atomic_compare_exchange_strong_explicit(
            &t->word, &is_free, VC__TOKEN_HELD, memory_order_acquire,
            memory_order_relaxed))
        return true;
    return is_free == VC__TOKEN_WATCHED &&
           atomic_compare_exchange_strong_explicit(
               &t->word, &is_free, VC__TOKEN_WATCHED | VC__TOKEN_HELD,
               memory_order_acquire, memory_order_relaxed);
}

/* Leaves it free if nobody waits for it and nobody watches the engine. */
static inline bool
vc__token_drop(struct vc__token *t)
{
    unsigned held = VC__TOKEN_HELD;

    return atomic_compare_exchange_strong_explicit(
        &t->word, &held, 0, memory_order_release, memory_order_relaxed);
}

static inline bool
vc__token_is_held(struct vc__token *t)
{
    return atomic_load(&t->word) & VC__TOKEN_HELD;
}

/* Relaxed: whether it is watched is seen in time by who began to watch it, as
 * that kicks the engine. */
static inline bool
vc__token_is_watched(struct vc__token *t)
{
    return atomic_load_explicit(&t->word, memory_order_relaxed) &
           VC__TOKEN_WATCHED;
}

/* True: it is ours. False: w is queued for it. */
bool vc__token_enter(struct vc__token *t, struct vc__waiter *w);

/* Stops waiting for it. True when it was handed over meanwhile. */
bool vc__token_unqueue(struct vc__token *t, struct vc__waiter *w);

/* Hands it to who waits longest of those whose wait is not over, for they will
 * make something of it; or to who waits longest; or leaves it free. Before it
 * hands it over it counts that. */
void vc__token_pass(struct vc__token *t, _Atomic uint64_t *handovers);

#endif
