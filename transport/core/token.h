/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The right to advance an engine: one thread holds the token at a time, and
 * others may wait for it, each with a waiter that it queues. To take a free
 * token, to leave one that no thread waits for, and to keep one for which only
 * deferred waiters wait (transport/core/tenure.h), is one locked operation
 * each.
 *
 * For any thread; only the holder drops or passes the token. Only the engine
 * uses a token.
 *
 * Called by: engine_open.c (init, fini, is_held), engine.c (try, drop, keep,
 * is_held, is_watched, enter, unqueue, notify, pass), token.c (try),
 * engine_queue.c (enter, yield, undefer, unqueue). */
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
/* The program watches the engine, and advances it by turns; once set the bit
 * stays so. */
#define VC__TOKEN_WATCHED 4u
#define VC__TOKEN_URGENT  8u /* exactly while a waiter is urgent */

struct vc__token {
    atomic_uint word; /* VC__TOKEN_* */
    pthread_mutex_t lock;
    struct cds_list_head waiters; /* lock */
    unsigned n, n_urgent;         /* lock: waiters; the urgent ones of them */
};

/* Make a token that no thread holds, and end it. Called by vc__engine_init()
 * and vc__engine_fini(), alone. */
void vc__token_init(struct vc__token *t);
void vc__token_fini(struct vc__token *t);

/* Takes the token if it is free: returns true if the caller is the holder now.
 * Called by threads that do not wait for it (vc__engine_settle() and
 * vc__engine_turn()), by engine_await() and vc__engine_catch_up() before they
 * wait, and by token.c. Acquire: pairs with the release of the former holder,
 * so that its work is seen. */
static inline bool
vc__token_try(struct vc__token *t)
{
    unsigned was = 0;

    /* The usual case first; also a token that is watched, or kept. */
    do {
        if (atomic_compare_exchange_strong_explicit(
                &t->word, &was, was | VC__TOKEN_HELD, memory_order_acquire,
                memory_order_relaxed))
            return true;
    } while (!(was & VC__TOKEN_HELD));
    return false;
}

/* Called by engine_leave(), on the holder. Leaves the token free and returns
 * true if no thread waits for it and the program does not watch the engine.
 * Otherwise returns false: the caller is still the holder, and must keep or pass
 * the token. */
static inline bool
vc__token_drop(struct vc__token *t)
{
    unsigned held = VC__TOKEN_HELD;

    return atomic_compare_exchange_strong_explicit(
        &t->word, &held, 0, memory_order_release, memory_order_relaxed);
}

/* The same if all waiters are deferred: they wait on, and any thread may take the
 * token. Not if the program watches the engine. Release as above. */
static inline bool
vc__token_keep(struct vc__token *t)
{
    unsigned held = VC__TOKEN_HELD | VC__TOKEN_AWAITED;

    return atomic_compare_exchange_strong_explicit(
        &t->word, &held, VC__TOKEN_AWAITED, memory_order_release,
        memory_order_relaxed);
}

/* True if any thread is the holder, at this moment. Any thread: called by
 * vc__engine_turn() before it tries to take the token, and by
 * vc__engine_fini(). */
static inline bool
vc__token_is_held(struct vc__token *t)
{
    return atomic_load(&t->word) & VC__TOKEN_HELD;
}

/* True if the program watches the engine. Called by engine_leave_to_others(), on
 * the holder. Relaxed: vc__engine_watch() kicks the engine after it has set the
 * bit, so the holder sees the bit in time. */
static inline bool
vc__token_is_watched(struct vc__token *t)
{
    return atomic_load_explicit(&t->word, memory_order_relaxed) &
           VC__TOKEN_WATCHED;
}

/* Enter, undefer and unqueue are called by a thread that wants the token, with a
 * waiter of its own, without locks: in vc__engine_queue() and, without undefer,
 * vc__engine_catch_up(). Enter returns true if the caller has the token, false
 * if w is queued for it; then vc__token_unqueue() must follow. */
bool vc__token_enter(struct vc__token *t, struct vc__waiter *w, bool deferred);

/* The same for the holder: hands the token to the next waiter, and queues w
 * after the others. Returns true if there are none: the caller still is the
 * holder. */
bool vc__token_yield(struct vc__token *t, struct vc__waiter *w, bool deferred,
                     _Atomic uint64_t *handovers);

/* Ends the deferral of w, which is queued: from now on it is notified at once
 * when it is done. Returns true if the token was free: the caller is the
 * holder, and w is not queued any more. */
bool vc__token_undefer(struct vc__token *t, struct vc__waiter *w);

/* Stops waiting for the token. Returns true if w was handed the token
 * meanwhile: the caller is the holder. False: w is not queued any more. */
bool vc__token_unqueue(struct vc__token *t, struct vc__waiter *w);

/* Wakes the deferred waiters that are done; with `all`, the others are urgent
 * from now on. On the holder: called by engine_tick(); with all by
 * engine_leave_to_others() and vc__engine_serve(). */
void vc__token_notify(struct vc__token *t, bool all);

/* Called by engine_leave_to_others(), on the holder, when vc__token_drop() was
 * not enough. Hands the token to the thread that waits longest among those whose
 * wait is not over, for they will use it, and those that are deferred, for it is
 * their turn. If all other waits are over, the thread that waits longest gets
 * it; without waiters it is left free. Adds 1 to *handovers before it hands the
 * token over. */
void vc__token_pass(struct vc__token *t, _Atomic uint64_t *handovers);

#endif
