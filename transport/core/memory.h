/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory within a limit: a store, and the accounts of its users. Large blocks
 * come from the system and go back to it (mmap(2)), so that memory that was
 * used once does not stay. A few unused ones are kept for a second, as new
 * pages must be zeroed first. Small blocks come from aligned_alloc(3), and
 * count alike. What is taken without an account comes from there, too, whatever
 * its size, and is not counted.
 *
 * May run together: everything, from any threads, except init and fini. But a
 * trimmer belongs to the holder of its engine.
 *
 * Called by: cm/pool/pool.c (store_init, trimmer_init, account_init),
 * rpc/server/server.c (store_init, store_fini, trimmer_init), spare.c
 * (store_init, store_fini, store_trim, store_take, store_give),
 * cm/pool/pool_close.c (store_fini, trimmer_stop), memory.c (store_trim,
 * trimmer_start, store_take, store_give, count, discount),
 * rpc/server/server_close.c (trimmer_stop), cm/pool/pool_link.c (trimmer_note),
 * rpc/server/server_arrival.c (trimmer_note, store_is_scarce, discount,
 * reserve), rpc/server/server_call.c (trimmer_note, store_is_scarce, store_add,
 * store_sub, give, may_have), rpc/server/server_begin.c (store_is_scarce),
 * rpc/server/server_peer.c (account_init), rpc/codec/arena.c (take, give),
 * rpc/server/server_reply.c (take), rpc/stream/stream.c (take, give),
 * rpc/stream/stream_send.c (take, give), transport/wire/assembly.c (take,
 * give). */
#ifndef VC_TRANSPORT_MEMORY_H
#define VC_TRANSPORT_MEMORY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Alignment of every address returned. */
#define VC__MEMORY_ALIGN 16
/* An unused large block is kept for so long. */
#define VC__MEMORY_KEEP_US 1000000u

#include "transport/core/timer.h"

struct vc__block;

struct vc__store {
    size_t max;
    bool shared;        /* no account gets more than seven times what is left */
    atomic_size_t used; /* bytes; may exceed max: nothing more is given then */
    atomic_size_t kept; /* bytes of unused blocks; not in used */
    pthread_mutex_t lock;
    struct vc__block *blocks; /* lock; unused ones, the last given back first */
};

/* What one user has of a store. */
struct vc__account {
    struct vc__store *store;
    atomic_size_t used;
};

/* Makes an empty store of at most max bytes. Called when a server is made
 * (`shared`: by its clients), or a pool, whose store has one account: that of
 * the replies that arrive. Init runs on the thread that makes these. Fini runs
 * on the thread that frees a server, or on the holder for a pool that has
 * closed. */
void vc__store_init(struct vc__store *store, size_t max, bool shared);
/* All memory must have been given back. */
void vc__store_fini(struct vc__store *store);

/* Returns blocks to the system that were unused for a second; also younger
 * ones, if one was given back after `now` was read. Returns true if some are
 * left. Called by the trimmer's timer. */
bool vc__store_trim(struct vc__store *store, uint64_t now);

/* Trims a store a second after blocks were kept. Belongs to one engine. */
struct vc__trimmer {
    struct vc__store *store;
    struct vc__timers *timers;
    struct vc__timer timer;
    bool stopped; /* for good */
};

/* Makes a trimmer whose timer does not run. Called by vc__pool_init(), and
 * parts_make() for each engine of a server, on the thread that makes these. */
static inline void
vc__trimmer_init(struct vc__trimmer *t, struct vc__store *store,
                 struct vc__timers *timers)
{
    *t = (struct vc__trimmer){.store = store, .timers = timers};
}
/* Starts the timer, unless the trimmer was stopped. Called on the holder by
 * vc__trimmer_note(), and by the timer itself while blocks are left. */
void vc__trimmer_start(struct vc__trimmer *t);
/* Stops the timer for good; called when its owner is closed: by part_close()
 * (rpc/server/server_close.c) and pool_close() (cm/pool/pool_close.c). */
void vc__trimmer_stop(struct vc__trimmer *t);

/* Called on the holder when blocks may have been given back: by a server when a
 * call, its long reply or an arrival ends, by a pool when a reply was handled.
 * Starts the timer if it does not run and blocks are kept. */
static inline void
vc__trimmer_note(struct vc__trimmer *t)
{
    if (atomic_load_explicit(&t->store->kept, memory_order_relaxed) > 0 &&
        !vc__timer_running(&t->timer))
        vc__trimmer_start(t);
}

/* True if no byte is left. Only tests/unit/test_memory.c asks. */
static inline bool
vc__store_is_full(const struct vc__store *store)
{
    /* Relaxed: a hint; vc__memory_count() decides. */
    return atomic_load_explicit(&store->used, memory_order_relaxed) >=
           store->max;
}

/* True if more than half of the store is used. Also a hint. Asked by a server,
 * on the holder, before it admits a call, keeps an ended one for the next,
 * waits longer for stalled requests and messages, or drops these for a new long
 * one. */
static inline bool
vc__store_is_scarce(const struct vc__store *store)
{
    return atomic_load_explicit(&store->used, memory_order_relaxed) >
           store->max / 2;
}

/* Counts bytes, whether there is room for them or not. Called by call_make()
 * (rpc/server/server_call.c) for the memory of a call itself. */
static inline void
vc__store_add(struct vc__store *store, size_t size)
{
    atomic_fetch_add_explicit(&store->used, size, memory_order_relaxed);
}

/* Undoes vc__store_add(); called by call_destroy(). */
static inline void
vc__store_sub(struct vc__store *store, size_t size)
{
    atomic_fetch_sub_explicit(&store->used, size, memory_order_relaxed);
}

/* Makes an empty account of the store: of a client at a server
 * (vc__server_peer_new(), on the holder), or of a pool's replies
 * (vc__pool_init()). */
static inline void
vc__account_init(struct vc__account *account, struct vc__store *store)
{
    account->store = store;
    atomic_init(&account->used, 0);
}

/* Returns size bytes, aligned for any type, not zeroed; NULL if the store or
 * the system has less, or the account may have no more. account NULL: there is
 * no limit but the system's. Called for arenas, messages of streams, replies
 * that are packed apart, and messages that arrive in parts; on any thread,
 * under any lock. */
void *vc__memory_take(struct vc__account *account, size_t size);
/* Gives memory back. size: as it was taken with. memory may be NULL. Called by
 * the modules that take, and for a reply that was packed apart by
 * rpc/server/server_call.c, when it is not needed any more; any thread. */
void vc__memory_give(struct vc__account *account, void *memory, size_t size);

/* The same for memory that is not counted: the store only keeps large blocks of
 * it. Give returns true if it has kept the block. Called by the two functions
 * above, and by transport/core/spare.c, on any thread. */
void *vc__store_take(struct vc__store *store, size_t size);
bool vc__store_give(struct vc__store *store, void *memory, size_t size);

/* Counts bytes that another allocator owns, or that will be taken later, and
 * takes no memory. Returns true if they are counted, false if the store has
 * less, or the account as much as it may. Called by memory.c. */
bool vc__memory_count(struct vc__account *account, size_t size);
/* Undoes vc__memory_count() or vc__memory_reserve(), or part of it. Called by
 * memory.c, and on the holder by rpc/server/server_arrival.c, when a message
 * takes its memory or is not kept, is lost, is about to be unpacked, or its
 * arrival ends. */
void vc__memory_discount(struct vc__account *account, size_t size);

/* Counts bytes for work that has not begun. A quarter of the store is left to
 * work that has; of the rest no account gets more than seven times what is
 * left. Returns true if they are counted, else false. Called on the holder for
 * a long request or message of a stream whose first part has come
 * (rpc/server/server_arrival.c). */
bool vc__memory_reserve(struct vc__account *account, size_t size);

/* True if a user that has `beside` bytes besides those of its account may have
 * a little more. Called by vc__call_may_begin() on the holder, before one more
 * call of a client begins. */
bool vc__memory_may_have(const struct vc__account *account, size_t beside);

#endif
