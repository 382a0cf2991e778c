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

#include <urcu/list.h>

#include <verbcall/cancel.h>

struct vc_canceller {
    atomic_uint refs;
    atomic_bool cancelled;      /* set under the lock */
    pthread_mutex_t lock;       /* held while calls are cancelled */
    struct cds_list_head calls; /* lock; of struct vc__cancellable */
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

/* A canceller without a program; NULL without memory. */
struct vc_canceller *vc__canceller_make(void);
void vc__canceller_put(struct vc_canceller *canceller);

static inline void
vc__canceller_hold(struct vc_canceller *canceller)
{
    atomic_fetch_add(&canceller->refs, 1);
}

#endif
