/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Cancels calls that this process makes. A call can be cancelled by the
 * program's canceller, or by its parent: the server's call whose handler makes
 * it (vc_call_opts.parent). The call joins both when it starts and leaves both
 * before it is freed (a blocking call for each attempt, and for each pause
 * between two); in between its cancel() may run at any moment.
 *
 * Any thread may call any of these functions, unless its comment says
 * otherwise. Lock order: a canceller's lock before a pool's lock.
 *
 * Called by: rpc/client/async.c (cancelling_begin, cancelling_join,
 * cancelling_end), rpc/client/call.c (cancelling_begin, cancelling_join,
 * cancelling_end), rpc/client/stream_client.c (cancelling_begin,
 * cancelling_end), rpc/client/stream_open.c (cancelling_join),
 * rpc/client/attempts.c (parent_children, put, hold),
 * rpc/server/server_cancel.c (parent_cancel, parent_cancel_children),
 * canceller.c (parent_ask, make, put, hold), rpc/server/server_call.c
 * (parent_ask), rpc/server/server_deadline.c (parent_ask),
 * rpc/server/server_handler.c (parent_end). */
#ifndef VC_RPC_CANCELLER_H
#define VC_RPC_CANCELLER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <urcu/list.h>

#include <verbcall/cancel.h>

#include "transport/core/handle.h"

struct vc_canceller {
    struct vc__handle handle;
    atomic_uint refs;
    atomic_bool cancelled;      /* set under the lock */
    pthread_mutex_t lock;       /* held while calls are cancelled */
    struct cds_list_head calls; /* lock; of struct vc__cancellable */
};

/* The part of a server's call that is used by the calls whose parent it is
 * (vc_call_opts.parent): they are cancelled with it. The first member of struct
 * vc_call. */
struct vc__parent {
    uint64_t due;          /* deadline, by vc__now() */
    uint32_t priority;     /* enum vc_priority */
    atomic_bool cancelled; /* by its client, by the end of its session, or by
                            * its deadline if vc_call_on_cancel() was called */
    atomic_bool asked;     /* true once the handler has read its deadline, made
                            * a call of which this is the parent, or uses a
                            * stream: its run time then says nothing about other
                            * runs */
    _Atomic(struct vc_canceller *) children; /* the canceller of its handler's
                                              * calls; or NULL */
};

struct vc__cancelling;

/* A call's entry in the list of one canceller. */
struct vc__cancellable {
    struct vc_canceller *canceller; /* holds a reference; or NULL */
    struct cds_list_head node;      /* canceller->lock */
    struct vc__cancelling *call;
};

/* A call's entries in the lists of all cancellers that may cancel it. */
struct vc__cancelling {
    struct vc__cancellable own, parent;
    /* Cancels the call, unless it has ended. Called under a canceller's lock,
     * at most once for each entry: by vc_cancel() and place_join(), on any
     * thread. */
    void (*cancel)(struct vc__cancelling *c);
};

/* Called before an attempt or a pause of a blocking call (rpc/client/call.c),
 * or before an asynchronous call or a stream starts, on its caller's thread.
 * canceller and parent may be NULL. Returns VC_OK, having taken references to
 * both, and vc__cancelling_end() must follow; or VC_CANCELLED, which is then
 * this thread's last error, if one is cancelled already: the call must not
 * start, and vc__cancelling_end() must not be called. */
enum vc_status vc__cancelling_begin(struct vc__cancelling *c,
                                    struct vc_canceller *canceller,
                                    struct vc_canceller *parent,
                                    void (*cancel)(struct vc__cancelling *c));

/* Adds the call to the lists of its cancellers. Called on the same thread when
 * the call, attempt or pause starts: of an attempt just after, of a pause or
 * another call just before. cancel() may run before this returns, also on this
 * thread if a canceller is cancelled already. */
void vc__cancelling_join(struct vc__cancelling *c);

/* Takes the call out of the lists, and drops the references. Called when the
 * call, attempt or pause ends: of a blocking call on its thread; of an
 * asynchronous call or a stream mostly on the holder. Without the lock of a
 * canceller. After this cancel() does not run and will not. */
void vc__cancelling_end(struct vc__cancelling *c);

/* Returns the canceller that calls with this parent join, made at first use,
 * and cancelled if the parent is; NULL if memory is short. Those calls take the
 * parent's deadline into account themselves. Called by parent_join()
 * (rpc/client/attempts.c) when such a call begins, on any thread, while the
 * parent has not ended. The caller takes a reference of its own. */
struct vc_canceller *vc__parent_children(struct vc__parent *p);

/* Marks the parent as cancelled; returns true the first time. The caller then
 * cancels the children with vc__parent_cancel_children(), which must not run
 * together with vc__parent_end(). Both are called by call_tell()
 * (rpc/server/server_cancel.c), on the holder. */
bool vc__parent_cancel(struct vc__parent *p);
void vc__parent_cancel_children(struct vc__parent *p);

/* For vc__parent_end(), if the parent has a canceller for its children: drops
 * the parent's reference. */
void vc__parent_drop(struct vc__parent *p);

/* Sets p->asked. Called by vc__parent_children(), by vc_call_deadline_us() on
 * any thread that has the call, and on the holder when a stream is opened. */
static inline void
vc__parent_ask(struct vc__parent *p)
{
    /* Relaxed: a hint, ordered by the handler thread's next synchronisation. */
    atomic_store_explicit(&p->asked, true, memory_order_relaxed);
}

/* Called by call_end() (rpc/server/server_handler.c) on the holder, when the
 * handler's call ends. Its children are not cancelled by this. */
static inline void
vc__parent_end(struct vc__parent *p)
{
    /* Relaxed: no thread makes children any more. */
    if (atomic_load_explicit(&p->children, memory_order_relaxed) != NULL)
        vc__parent_drop(p);
}

/* Creates a canceller, with one reference: for vc_canceller_new(), and in
 * vc__parent_children(). NULL if memory is short. */
struct vc_canceller *vc__canceller_make(void);
/* Drops a reference; the last frees the canceller. NULL is allowed. Called by
 * vc_canceller_free(), when a call or its parent ends, after
 * vc__canceller_hold(), and by vc__parent_children() if another thread has made
 * the canceller first. */
void vc__canceller_put(struct vc_canceller *canceller);

/* Takes a reference. Called by cancellers_join() (rpc/client/attempts.c) when a
 * call begins, and by vc__parent_cancel_children() while it cancels. */
static inline void
vc__canceller_hold(struct vc_canceller *canceller)
{
    atomic_fetch_add(&canceller->refs, 1);
}

#endif
