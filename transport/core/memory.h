/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory within a limit: a store, and the accounts of those who take from it.
 * Large blocks come from the system and go back to it (mmap(2)), so that what
 * was used once does not stay; a few are kept for a second, as pages that are
 * new must be zeroed first. Small ones are those of malloc(3), and count alike.
 *
 * May run together: everything, from any threads, but for init and fini. */
#ifndef VC_TRANSPORT_MEMORY_H
#define VC_TRANSPORT_MEMORY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of every address given. */
#define VC__MEMORY_ALIGN 16
/* For so long a large block is kept that nobody uses. */
#define VC__MEMORY_KEEP_US 1000000u

#include "transport/core/timer.h"

struct vc__block;

struct vc__store {
    size_t max;
    bool
        shared; /* among accounts: none gets more than seven times what is left */
    atomic_size_t used; /* bytes; over max when no more may be taken */
    atomic_size_t kept; /* bytes of blocks that nobody uses; not in used */
    pthread_mutex_t lock;
    struct vc__block *blocks; /* lock; those, the one given last first */
};

/* What one taker has of a store. */
struct vc__account {
    struct vc__store *store;
    atomic_size_t used;
};

void vc__store_init(struct vc__store *store, size_t max, bool shared);
/* All has been given back. */
void vc__store_fini(struct vc__store *store);

/* Gives blocks back to the system that nobody has used for a second. True: some
 * are left. */
bool vc__store_trim(struct vc__store *store, uint64_t now);

/* Trims a store a second after blocks were kept. One engine's: its holder. */
struct vc__trimmer {
    struct vc__store *store;
    struct vc__timers *timers;
    struct vc__timer timer;
    bool stopped; /* for good */
};

static inline void
vc__trimmer_init(struct vc__trimmer *t, struct vc__store *store,
                 struct vc__timers *timers)
{
    *t = (struct vc__trimmer){.store = store, .timers = timers};
}
void vc__trimmer_start(struct vc__trimmer *t);
void vc__trimmer_stop(struct vc__trimmer *t);

/* Blocks may have been given back. */
static inline void
vc__trimmer_note(struct vc__trimmer *t)
{
    if (atomic_load_explicit(&t->store->kept, memory_order_relaxed) > 0 &&
        !vc__timer_running(&t->timer))
        vc__trimmer_start(t);
}

static inline bool
vc__store_is_full(const struct vc__store *store)
{
    /* Relaxed: a hint; who takes finds out. */
    return atomic_load_explicit(&store->used, memory_order_relaxed) >=
           store->max;
}

/* Is more than half of it used? The same. */
static inline bool
vc__store_is_scarce(const struct vc__store *store)
{
    return atomic_load_explicit(&store->used, memory_order_relaxed) >
           store->max / 2;
}

/* Bytes that count, whether there is room for them or not. */
static inline void
vc__store_add(struct vc__store *store, size_t size)
{
    atomic_fetch_add_explicit(&store->used, size, memory_order_relaxed);
}

static inline void
vc__store_sub(struct vc__store *store, size_t size)
{
    atomic_fetch_sub_explicit(&store->used, size, memory_order_relaxed);
}

static inline void
vc__account_init(struct vc__account *account, struct vc__store *store)
{
    account->store = store;
    atomic_init(&account->used, 0);
}

/* size bytes, aligned for any type, not zeroed; NULL when the store has less, or
 * the system. account NULL: there is no limit. */
void *vc__memory_take(struct vc__account *account, size_t size);
/* With the size that it was taken with; NULL is fine. */
void vc__memory_give(struct vc__account *account, void *memory, size_t size);

/* The same of bytes that somebody else has, or that will be taken later. */
bool vc__memory_count(struct vc__account *account, size_t size);
void vc__memory_discount(struct vc__account *account, size_t size);

/* Counts them for something that has not begun: a quarter of the store is left
 * to what has, and of the rest no account gets more than seven times what is
 * left. */
bool vc__memory_reserve(struct vc__account *account, size_t size);

/* May so little more be had by one that has so much beside its account? */
bool vc__memory_may_have(const struct vc__account *account, size_t beside);

#endif
