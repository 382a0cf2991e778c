/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The end of a pool. See cm/pool/pool.h. On the holder, unless a comment says
 * otherwise. */
#include "cm/pool/pool.h"

#include <stdlib.h>

#include "transport/core/invariant.h"

void
vc__pool_shut(struct vc__pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->closed = true;
    pthread_mutex_unlock(&p->lock);
}

/* A task: posted by vc__pool_close_check(). Calls closed(), which may free the
 * pool. */
static void
pool_closed(struct vc__task *task)
{
    struct vc__pool *p = caa_container_of(task, struct vc__pool, close);

    p->closed_call(p);
}

void
vc__pool_close_check(struct vc__pool *p)
{
    if (!p->closing || p->ending || p->n_links > 0)
        return;
    p->ending = true;
    p->close.run = pool_closed;
    vc__engine_post(p->engine, &p->close);
}

/* For pool_close(): closes all links; each leaves the peer as it closes. */
static void
peer_close(struct vc__peer *peer)
{
    for (unsigned n = peer->n_links; n > 0; n--) {
        struct vc__pool_link *pl =
            cds_list_entry(peer->links.next, struct vc__pool_link, node);

        vc__link_close(&pl->link, VC_CANCELLED, "the channel was closed");
    }
}

/* A task: posted by vc__pool_close(). Stops attempts and timers, closes all
 * links, and ends what waits for one. No other thread uses the pool now, so
 * former peers are dropped without the lock. */
static void
pool_close(struct vc__task *task)
{
    struct vc__pool *p = caa_container_of(task, struct vc__pool, close);
    struct vc__peer *former, *next;
    CDS_LIST_HEAD(none); /* the clients are closed */
    struct vc__error error;

    p->closing = true;
    vc__pool_attempt_cancel(p);
    vc__upgrade_cancel(p);
    vc__timer_stop(&p->engine->timers, &p->look);
    vc__trimmer_stop(&p->trimmer);
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
    pthread_mutex_destroy(&p->lock);
}
