/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_adapt.h, also for the threads. */
#include "rpc/server/server_adapt.h"

/* Adds n to the client's runs that count; returns how many there were before.
 * Relaxed: the data that it guards is under the lock. Called by all functions
 * of this file, on their threads. */
static unsigned
adapting_add(struct vc_call *call, int n)
{
    return atomic_fetch_add_explicit(&call->site.session->peer->adapting,
                                     (unsigned)n, memory_order_relaxed);
}

bool
vc__adapt_take(struct vc_call *call)
{
    struct vc__adaptive *a = call->state->adaptive;
    unsigned has, left;

    call->adapts = a != NULL && call->site.kind == 0;
    if (!call->adapts)
        return true;
    has = adapting_add(call, 1);
    pthread_mutex_lock(&a->lock);
    left = vc__gradient_left(&a->gradient, call->parent.priority, has == 0);
    call->adapts = vc__share_is_fair(has, left);
    if (call->adapts)
        call->round = vc__gradient_begin(&a->gradient, vc__now());
    else
        vc__gradient_turned_down(&a->gradient, vc__now());
    pthread_mutex_unlock(&a->lock);
    if (!call->adapts)
        adapting_add(call, -1);
    return call->adapts;
}

void
vc__adapt_ran(struct vc_call *call, uint64_t us)
{
    struct vc__adaptive *a = call->state->adaptive;

    if (!call->adapts)
        return;
    pthread_mutex_lock(&a->lock);
    vc__gradient_ran(&a->gradient, vc__now(), call->round, us);
    pthread_mutex_unlock(&a->lock);
    adapting_add(call, -1);
    call->adapts = false;
}

void
vc__adapt_forget(struct vc_call *call)
{
    struct vc__adaptive *a = call->state->adaptive;

    if (!call->adapts)
        return;
    pthread_mutex_lock(&a->lock);
    vc__gradient_forget(&a->gradient, vc__now(), call->round);
    pthread_mutex_unlock(&a->lock);
    adapting_add(call, -1);
    call->adapts = false;
}
