/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What ends calls of ours from outside: a program's canceller, or the call that
 * they are made for. A call joins both when it has been started, and leaves
 * before it is gone; until then its cancel() may run at any moment.
 *
 * May run together: everything, from any threads. A canceller's lock is taken
 * before that of a pool. */
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

/* A call of a server, as those see it that its handler makes: they end with it.
 * The first member of struct vc_call. */
struct vc__parent {
    uint64_t due;          /* by vc__now() */
    uint32_t priority;     /* enum vc_priority */
    atomic_bool cancelled; /* by its client, or by its deadline */
    atomic_bool asked;     /* its handler goes by its deadline: so how long that
                            * runs says nothing of others */
    _Atomic(struct vc_canceller *) children; /* NULL: none were made */
};

struct vc__cancelling;

/* A call's place in a canceller. */
struct vc__cancellable {
    struct vc_canceller *canceller; /* held; NULL: none */
    struct cds_list_head node;      /* canceller->lock */
    struct vc__cancelling *call;
};

/* A call's places in all that may end it. */
struct vc__cancelling {
    struct vc__cancellable own, parent;
    /* Ends it, unless it has ended. Under a canceller's lock; once for each
     * place at most. */
    void (*cancel)(struct vc__cancelling *c);
};

/* Before the call is started; canceller and parent may be NULL.
 * VC_CANCELLED: it need not be started, and there is nothing to end. */
enum vc_status vc__cancelling_begin(struct vc__cancelling *c,
                                    struct vc_canceller *canceller,
                                    struct vc_canceller *parent,
                                    void (*cancel)(struct vc__cancelling *c));

/* It has been started. cancel() may run inside of this, too. */
void vc__cancelling_join(struct vc__cancelling *c);

/* It has ended: cancel() does not run and will not. */
void vc__cancelling_end(struct vc__cancelling *c);

/* What its children join, made for the first of them; NULL without memory. Of
 * its deadline they know themselves. Any thread while it has not ended. */
struct vc_canceller *vc__parent_children(struct vc__parent *p);

/* True for the first time; then its children are cancelled by
 * vc__parent_cancel_children(), which must not run together with the end. */
bool vc__parent_cancel(struct vc__parent *p);
void vc__parent_cancel_children(struct vc__parent *p);

/* It has ended. */
void vc__parent_drop(struct vc__parent *p);

/* Any of its threads. */
static inline void
vc__parent_ask(struct vc__parent *p)
{
    /* Relaxed: a hint, which the next word of the handler's thread orders. */
    atomic_store_explicit(&p->asked, true, memory_order_relaxed);
}

static inline void
vc__parent_end(struct vc__parent *p)
{
    /* Relaxed: nobody makes children any more. */
    if (atomic_load_explicit(&p->children, memory_order_relaxed) != NULL)
        vc__parent_drop(p);
}

/* A canceller without a program; NULL without memory. */
struct vc_canceller *vc__canceller_make(void);
void vc__canceller_put(struct vc_canceller *canceller);

static inline void
vc__canceller_hold(struct vc_canceller *canceller)
{
    atomic_fetch_add(&canceller->refs, 1);
}

#endif
