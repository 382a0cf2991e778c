/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread that waits for an event, or for an engine's token
 * (transport/core/engine.h). A waiter mostly lives on its thread's stack.
 *
 * May run together: done and is_done from any threads. Await and sleep are for
 * the waiter's own thread; for hand and take see their comments.
 *
 * Called by: rpc/client/call.c (done_in_turn), rpc/server/server_op.c
 * (is_done), rpc/stream/stream.c (is_done), engine.c (is_done), token.c
 * (is_done, defer, is_deferred, undefer, notify, hand, take), waiter.c
 * (is_done, undefer, sleep), rpc/client/channel.c (await),
 * rpc/server/server_cancel.c (await), rpc/server/server_close.c (await), crew.c
 * (hand, take, sleep), hand.c (hand), engine_queue.c (sleep), many files (init,
 * done). */
#ifndef VC_TRANSPORT_WAITER_H
#define VC_TRANSPORT_WAITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <urcu/list.h>

/* Bits of a waiter's word. */
#define VC__WAITER_DONE   1u /* what it waits for has happened */
#define VC__WAITER_TOKEN  2u /* it was handed the token; the crew: woken */
#define VC__WAITER_ASLEEP 4u /* it sleeps in the kernel, or is about to */
/* It is queued for a token, and is notified in its turn that it is done. */
#define VC__WAITER_DEFERRED 8u

struct vc__waiter {
    atomic_uint word;
    struct cds_list_head node; /* in token->waiters */
    unsigned ahead;            /* waiters before it, when it was queued */
    bool urgent;               /* under the token's lock: not for its turn */
};

/* Called by the thread that will wait, or the maker of the waiter's owner,
 * before another thread knows the waiter. */
static inline void
vc__waiter_init(struct vc__waiter *w)
{
    atomic_init(&w->word, 0);
}

/* The event has happened: w's thread returns from vc__engine_wait() or
 * vc__waiter_await(). A holder that sleeps in epoll is not woken by this:
 * vc__engine_kick() or _stir() does that. Called by whatever ends the wait, as
 * a callback on the holder or a thread that cancels; the caller may have any
 * lock. It must not touch the waiter afterwards. */
void vc__waiter_done(struct vc__waiter *w);

/* The same for a reply: a deferred waiter is not woken. It finds out when it
 * gets the token, when vc__token_notify() wakes it, or when its deferral ends.
 * Called by call_on_ended() (rpc/client/call.c). */
void vc__waiter_done_in_turn(struct vc__waiter *w);

/* True if the event has happened. Then the caller sees all that was written
 * before vc__waiter_done(). Called by the waiter's own thread, and by token.c
 * under the token's lock. */
static inline bool
vc__waiter_is_done(struct vc__waiter *w)
{
    /* Acquire: pairs with the release in waiter_tell(). */
    return atomic_load_explicit(&w->word, memory_order_acquire) &
           VC__WAITER_DONE;
}

/* Waits until w is done, without advancing an engine: for what other threads do
 * by themselves. Called by vc_channel_close() and vc_server_free() for
 * functions that other threads are still in, and by rpc/server/server_cancel.c.
 * A sleeping holder would not notice it, and after done() no thread may touch
 * the engine to wake it. */
void vc__waiter_await(struct vc__waiter *w);

/* Deferral. All under the token's lock: called by token.c, which queues w. */
static inline void
vc__waiter_defer(struct vc__waiter *w)
{
    atomic_fetch_or(&w->word, VC__WAITER_DEFERRED);
}

static inline bool
vc__waiter_is_deferred(struct vc__waiter *w)
{
    return atomic_load(&w->word) & VC__WAITER_DEFERRED;
}

/* Ends the deferral of w, and returns how its word was. Its thread is not
 * woken. */
static inline unsigned
vc__waiter_undefer(struct vc__waiter *w)
{
    return atomic_fetch_and(&w->word, ~VC__WAITER_DEFERRED);
}

/* The same, and wakes the thread if w is done. */
void vc__waiter_notify(struct vc__waiter *w);

/* Hands w the token, or wakes a thread of the crew. Any thread: called by
 * vc__token_pass(), and by crew.c and hand.c for a hand's order, or to rouse or
 * stop the watcher. w may no longer exist afterwards unless the token's lock is
 * held. */
void vc__waiter_hand(struct vc__waiter *w);

/* Returns true if w had been handed the token, or was woken; takes it from w.
 * The waiter's own thread: in vc__token_unqueue(), a hand's loop and the
 * watcher's. */
bool vc__waiter_take(struct vc__waiter *w);

/* Sleeps in the kernel until w is done, has the token or was woken, or the
 * clock passes `until`. The waiter's own thread, without locks: in
 * vc__engine_queue(), vc__waiter_await(), a hand's loop and the watcher's. */
void vc__waiter_sleep(struct vc__waiter *w, uint64_t until);

#endif
