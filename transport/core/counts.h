/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The counters of include/verbcall/counters.h. Counting takes no lock and no
 * locked instruction: each word has one writer at a time, by a lock or token
 * that the writer holds anyway. Other threads read the word at any time.
 *
 * The holder of an engine counts in the engine's ledger. A thread that has some
 * other lock counts beside that lock, in a tally. The ledger lists the open
 * tallies and keeps the sum of the closed ones.
 *
 * A gauge is lowered by adding a negative number, modulo 2^64. It goes up and
 * down in the same word, so no sum is ever seen below 0.
 *
 * vc__count() and vc__count_now() are for the holder, vc__tally_add() and
 * vc__tally_set() for the thread with the tally's lock. All else: any
 * thread.
 *
 * Called by: engine_open.c (ledger_init, ledger_fini), rpc/counters.c
 * (ledger_sum), cm/link/link.c (tally_open, tally_close), cm/pool/pool_counts.c
 * (tally_open, tally_set), rpc/client/publisher.c (tally_open, tally_close,
 * tally_add), cm/pool/pool_close.c (tally_close), token.c (count_add),
 * rpc/server/server_handler.c (count_get), rpc/server/server_counts.h
 * (count_now), transport/rdma/device.c (count_now), transport/ud/port.c
 * (count_now), cm/link/link_send.c (tally_add), cm/pool/pool.h (tally_add),
 * counts.c (tally_set), many files (count). */
#ifndef VC_TRANSPORT_COUNTS_H
#define VC_TRANSPORT_COUNTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <urcu/list.h>

#include <verbcall/counters.h>

enum vc__count {
#define VC__COUNT_ENUM(name, kind, unit, what) VC__COUNT_##name,
    VC_COUNTERS(VC__COUNT_ENUM)
#undef VC__COUNT_ENUM
    VC__COUNTS
};

#define VC__TALLY_MAX 16

/* Some of the counters; embedded in their owner. */
struct vc__tally {
    struct cds_list_head node; /* in ledger->tallies */
    const uint8_t *which;      /* enum vc__count of each value */
    unsigned n;
    _Atomic uint64_t value[VC__TALLY_MAX];
};

/* All counters of an engine. */
struct vc__ledger {
    pthread_mutex_t lock;
    struct cds_list_head tallies; /* lock */
    uint64_t past[VC__COUNTS];    /* lock; of closed tallies */
    _Atomic uint64_t held[VC__COUNTS];
};

/* Make a ledger without tallies, all counters 0, and free it. Called by
 * vc__engine_init() and vc__engine_fini(), alone. */
void vc__ledger_init(struct vc__ledger *l);
void vc__ledger_fini(struct vc__ledger *l);

/* Adds each counter to its place in sum. Called by rpc/counters.c for each
 * engine when the program reads the counters, on any thread; takes the ledger's
 * lock. */
void vc__ledger_sum(struct vc__ledger *l, uint64_t sum[VC__COUNTS]);

/* Opens a tally of the n counters `which`, from 0. Called by vc__link_init()
 * and vc__pool_tally_open(), before another thread knows the owner. No thread
 * may count in a tally after it was closed. */
void vc__tally_open(struct vc__tally *t, struct vc__ledger *l,
                    const uint8_t *which, unsigned n);
/* Adds the tally's counters to the sum of the closed ones. Called by
 * vc__link_fini() and vc__pool_fini(), when no thread counts in it any more. */
void vc__tally_close(struct vc__tally *t, struct vc__ledger *l);

/* Adds n to a word that the calling thread may write. Called by the functions
 * below, and by waiter_hand() (token.c) for handovers. Relaxed, and not one
 * atomic step: there is one writer, and readers want the number only. */
static inline void
vc__count_add(_Atomic uint64_t *count, uint64_t n)
{
    atomic_store_explicit(count,
                          atomic_load_explicit(count, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* Adds n, which may be negative for a gauge, to a counter of the engine. Called
 * by all floors where an event is counted, on the holder. */
static inline void
vc__count(struct vc__ledger *l, enum vc__count which, int64_t n)
{
    vc__count_add(&l->held[which], (uint64_t)n);
}

/* Reads a counter of the engine. Any thread may; called by handlers_begun() of
 * rpc/server/server_handler.c, on the holder. */
static inline uint64_t
vc__count_get(const struct vc__ledger *l, enum vc__count which)
{
    return atomic_load_explicit(&l->held[which], memory_order_relaxed);
}

/* Sets a gauge to `now`; `*last` is its previous value and is updated. Called
 * on the holder by transport/ud/port.c and transport/rdma/device.c (when a
 * device is closed with its context, by the thread that does that), and by
 * rpc/server/server_counts.h, each with its own part of a gauge. */
static inline void
vc__count_now(struct vc__ledger *l, enum vc__count which, uint64_t *last,
              uint64_t now)
{
    if (now != *last)
        vc__count_add(&l->held[which], now - *last);
    *last = now;
}

/* Adds n to a counter of the tally; i is an index into `which`. Called by
 * cm/link/link_send.c under the link's lock, and vc__pool_count() under the
 * pool's. */
static inline void
vc__tally_add(struct vc__tally *t, unsigned i, int64_t n)
{
    vc__count_add(&t->value[i], (uint64_t)n);
}

/* Sets a gauge of the tally; i as above. Called by vc__pool_count_replies(),
 * under the pool's lock, and by vc__tally_open(). */
static inline void
vc__tally_set(struct vc__tally *t, unsigned i, uint64_t n)
{
    atomic_store_explicit(&t->value[i], n, memory_order_relaxed);
}

#endif
