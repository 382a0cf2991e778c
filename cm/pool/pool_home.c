/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A pool whose server has sent it elsewhere (cm/connect/dial.h, "moved") stays
 * there until it is lost, or vc__pool_go_home(): then the target is tried
 * again, beside the links that there are. If another server answers, new calls
 * go there, and the former peer ends its own; else nothing changes. See
 * cm/pool/pool.h, "home". On the holder, under the lock, unless a comment says
 * otherwise. */
#include <string.h>

#include "cm/pool/client.h"
#include "cm/pool/pool.h"

/* For vc__pool_part(): sessions with calls in progress finish them at this
 * peer; idle ones are freed at once. */
static void
sessions_detach(struct vc__pool *p, struct vc__peer *peer)
{
    struct vc__client *c;

    cds_list_for_each_entry (c, &p->clients, node) {
        struct vc__session *s = c->session;

        if (s == NULL || s->peer != peer)
            continue;
        c->session = NULL;
        if (s->n_busy == 0)
            vc__session_free(s);
    }
}

void
vc__pool_part(struct vc__pool *p)
{
    struct vc__peer *peer = p->peer;

    p->peer = NULL;
    p->attempting = p->homing = false;
    cds_list_add(&peer->node, &p->former);
    sessions_detach(p, peer);
    vc__pool_health_update(p);
}

/* For pool_home(): the peer has no links, and nothing to resume: it is
 * forgotten, and the next link leads to the target. */
static void
pool_peer_forget(struct vc__pool *p)
{
    CDS_LIST_HEAD(unknown); /* stays empty: the peer is not busy */

    vc__pool_peer_drop(p->peer, &unknown);
    p->peer = NULL;
}

/* A task, without the lock: posted by vc__pool_home_post(). Begins an attempt
 * that leads to the target, or forgets a peer without links and calls, if a
 * server has sent the pool there. An attempt that is being made may lead
 * anywhere, so this waits for its end. */
static void
pool_home(struct vc__task *task)
{
    struct vc__pool *p = caa_container_of(task, struct vc__pool, home);

    vc__lock_take(&p->lock);
    p->home_posted = false;
    if (p->closed || p->peer == NULL || !p->peer->moved) {
        p->home_due = false;
    } else if (!p->attempting) {
        p->home_due = false;
        if (p->peer->n_links > 0) {
            p->homing = true;
            vc__pool_attempt(p);
        } else if (!vc__peer_is_busy(p->peer)) {
            pool_peer_forget(p);
        }
    }
    vc__lock_give(&p->lock);
}

void
vc__pool_home_post(struct vc__pool *p)
{
    if (p->home_posted || p->closed)
        return;
    p->home_posted = true;
    p->home.run = pool_home;
    vc__engine_post(p->engine, &p->home);
}

void
vc__pool_go_home(struct vc__pool *p)
{
    vc__lock_take(&p->lock);
    if (p->peer != NULL && p->peer->moved) {
        p->home_due = true;
        vc__pool_home_post(p);
    }
    vc__lock_give(&p->lock);
}

void
vc__pool_home_hello(const struct vc__pool *p, struct vc__hello *h)
{
    h->flags = 0;
    h->pool_token = 0;
    h->service = p->asked;
}

/* For vc__pool_home_enter(): true if the link leads to where the peer is. An
 * instance may have several servers, so the address must be the same, too. */
static bool
is_same_place(const struct vc__peer *peer, const struct vc__link *link)
{
    return memcmp(peer->instance, link->accept.instance,
                  sizeof peer->instance) == 0 &&
           memcmp(&peer->home, &link->wire->peer, sizeof peer->home) == 0;
}

bool
vc__pool_home_enter(struct vc__pool *p, struct vc__pool_link *pl,
                    struct vc__error *error)
{
    const struct vc__peer *peer = p->peer;

    if (!p->homing || pl->try.dial_run != &p->attempt.dial_run)
        return true;
    p->homing = false;
    if (is_same_place(peer, &pl->link)) {
        vc__error_put(error, VC_UNAVAILABLE,
                      "the server at the target still redirects its clients to "
                      "%s, where this one is connected",
                      vc__link_peer(&pl->link));
        return false;
    }
    if (peer->n_links > 0)
        vc__pool_part(p);
    return true;
}

bool
vc__pool_is_moved(const struct vc__pool *p, const struct vc__pool_link *pl)
{
    const struct vc__peer *former = p->peer;

    return pl->try.moved || (former != NULL && former->moved &&
                             memcmp(&former->home, &pl->link.wire->peer,
                                    sizeof former->home) == 0);
}
