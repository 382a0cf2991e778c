/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The end of a pool. See cm/pool/pool.h. On the holder, unless a comment says
 * otherwise. */
#include "cm/pool/pool.h"

#include <stdlib.h>

#include "transport/core/invariant.h"

/* Time for the servers to confirm that sessions are closed. */
#define ANSWER_US UINT64_C(200000)

void
vc__pool_shut(struct vc__pool *p)
{
    vc__lock_take(&p->lock);
    p->closed = true;
    vc__lock_give(&p->lock);
}

/* A task: posted by vc__pool_close_check(). Calls closed(), which may free the
 * pool. */
static void
pool_closed(struct vc__task *task)
{
    struct vc__pool *p = caa_container_of(task, struct vc__pool, close);

    p->closed_call(p);
}

/* For vc__pool_close_check() and pool_close(): true while a server that has
 * links has not confirmed the CLOSE of a session. */
static bool
pool_awaits_answers(const struct vc__pool *p)
{
    const struct vc__peer *former;

    if (p->peer != NULL && p->peer->n_links > 0 && p->peer->n_sessions > 0)
        return true;
    cds_list_for_each_entry (former, &p->former, node) {
        if (former->n_links > 0 && former->n_sessions > 0)
            return true;
    }
    return false;
}

/* For pool_leave(): closes all links; each leaves the peer as it closes. */
static void
peer_close(struct vc__peer *peer)
{
    for (unsigned n = peer->n_links; n > 0; n--) {
        struct vc__pool_link *pl =
            cds_list_entry(peer->links.next, struct vc__pool_link, node);

        vc__link_close(&pl->link, VC_CANCELLED, "the channel was closed");
    }
}

/* Closes all links. The timer p->look fires: the servers have confirmed each
 * CLOSE, or had ANSWER_US for it; or called by pool_close(). No other thread
 * uses the pool now, so former peers are dropped without the lock. */
static void
pool_leave(struct vc__timer *look)
{
    struct vc__pool *p = caa_container_of(look, struct vc__pool, look);
    struct vc__peer *former, *next;
    CDS_LIST_HEAD(none); /* the clients are closed */
    struct vc__error error;

    p->leaving = true;
    cds_list_for_each_entry_safe (former, next, &p->former, node) {
        peer_close(former);
        vc__pool_peer_drop(former, &none);
    }
    if (p->peer != NULL)
        peer_close(p->peer);
    vc__error_put(&error, VC_CANCELLED, "the channel was closed");
    vc__pool_failed(p, &error);
    vc__pool_close_check(p);
}

void
vc__pool_close_check(struct vc__pool *p)
{
    if (!p->closing || p->ending)
        return;
    if (!p->leaving) { /* the timer runs: it is only moved */
        if (!pool_awaits_answers(p))
            vc__timer_start(&p->engine->timers, &p->look, vc__now(),
                            pool_leave);
        return;
    }
    if (p->n_links > 0)
        return;
    p->ending = true;
    p->close.run = pool_closed;
    vc__engine_post(p->engine, &p->close);
}

/* A task: posted by vc__pool_close(). Stops attempts. The sessions' CLOSEs are
 * on their way: without them the servers would run the calls, and keep the
 * sessions, until these may not be resumed any more. */
static void
pool_close(struct vc__task *task)
{
    struct vc__pool *p = caa_container_of(task, struct vc__pool, close);
    struct vc__timers *timers = &p->engine->timers;

    p->closing = true;
    vc__pool_attempt_cancel(p);
    vc__upgrade_cancel(p);
    vc__pool_ahead_stop(p);
    vc__timer_stop(timers, &p->look);
    vc__trimmer_stop(&p->trimmer);
    if (!pool_awaits_answers(p) ||
        !vc__timer_start(timers, &p->look, vc__now() + ANSWER_US, pool_leave))
        pool_leave(&p->look);
}

void
vc__pool_close(struct vc__pool *p, void (*closed)(struct vc__pool *p))
{
    p->closed_call = closed;
    p->close.run = pool_close;
    vc__engine_post(p->engine, &p->close);
}

void
vc__pool_fini(struct vc__pool *p)
{
    vc__invariant(p->peer == NULL && cds_list_empty(&p->former) &&
                  cds_list_empty(&p->clients) &&
                  cds_list_empty(&p->connecting));
    vc__tally_close(&p->tally, &p->engine->ledger);
    vc__store_fini(&p->store);
    free(atomic_load(&p->spare));
    free(p->missed);
    free(p->addresses);
}
