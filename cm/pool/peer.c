/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Spreads sessions over the links to one peer. See cm/pool/peer.h, also for the
 * lock and the threads. */
#include "cm/pool/peer.h"

#include <stdlib.h>
#include <string.h>

#include "cm/pool/placement.h"
#include "cm/pool/pool.h"

#define SEATS_FIRST 4u

void
vc__peer_place(struct vc__peer *peer, const struct vc__link *link)
{
    peer->place.transport = link->wire->transport;
    peer->place.addr = link->wire->peer;
    if (link->features & VC__FEATURE_LOCAL) {
        peer->has_local = true;
        peer->local = link->accept.local;
    }
}

struct vc__peer *
vc__peer_new(struct vc__pool *pool, const struct vc__link *link)
{
    const struct vc__accept *a = &link->accept;
    struct vc__peer *peer = calloc(1, sizeof *peer);

    if (peer == NULL)
        return NULL;
    peer->pool = pool;
    peer->token = a->pool_token;
    peer->max_sessions = a->max_sessions;
    peer->max_slots =
        a->max_slots == UINT16_MAX ? UINT16_MAX - 1 : a->max_slots;
    memcpy(peer->instance, a->instance, sizeof peer->instance);
    peer->home = link->wire->peer;
    vc__peer_place(peer, link);
    CDS_INIT_LIST_HEAD(&peer->node);
    CDS_INIT_LIST_HEAD(&peer->links);
    CDS_INIT_LIST_HEAD(&peer->loose);
    return peer;
}

void
vc__peer_free(struct vc__peer *peer)
{
    struct vc__session *s, *next;

    cds_list_for_each_entry_safe (s, next, &peer->loose, node)
        vc__session_free(s);
    cds_list_del(&peer->node);
    free(peer->seats);
    free(peer);
}

bool
vc__peer_is(const struct vc__peer *peer, const struct vc__link *link)
{
    return peer->token == link->accept.pool_token && peer->token != 0 &&
           memcmp(peer->instance, link->accept.instance,
                  sizeof peer->instance) == 0;
}

/* --- links ------------------------------------------------------------- */

/* For vc__peer_join() and vc__peer_leave(): the sessions without a link that
 * have calls in progress, or are to be closed, are bound to the peer's links;
 * the others wait for their next call. The pool's health is published. Without
 * memory for a session's calls a link is closed soon (pool_starved.c). */
static void
peer_loose_bind(struct vc__peer *peer)
{
    struct vc__session *s, *next;
    CDS_LIST_HEAD(loose); /* sessions that find no memory become loose again */

    cds_list_splice(&peer->loose, &loose);
    CDS_INIT_LIST_HEAD(&peer->loose);
    cds_list_for_each_entry_safe (s, next, &loose, node) {
        struct vc__pool_link *pl = vc__placement_link(peer);

        cds_list_del(&s->node);
        cds_list_add_tail(&s->node, &peer->loose);
        if (pl != NULL && (s->n_busy > 0 || s->client == NULL) &&
            !vc__session_bind(s, pl) && s->n_busy > 0)
            vc__pool_starve(peer->pool);
    }
    vc__pool_health_update(peer->pool);
}

void
vc__peer_join(struct vc__peer *peer, struct vc__pool_link *pl)
{
    pl->peer = peer;
    cds_list_add_tail(&pl->node, &peer->links);
    peer->n_links++;
    peer_loose_bind(peer);
}

void
vc__peer_leave(struct vc__peer *peer, struct vc__pool_link *pl)
{
    struct vc__session *s, *next;

    cds_list_del(&pl->node);
    peer->n_links--;
    /* Messages appended since it went down will never be sent. */
    vc__link_close_io(&pl->link);
    cds_list_for_each_entry_safe (s, next, &pl->sessions, node)
        vc__session_unbind(s);
    peer_loose_bind(peer);
}

bool
vc__peer_is_busy(const struct vc__peer *peer)
{
    const struct vc__pool_link *pl;
    const struct vc__session *s;

    cds_list_for_each_entry (pl, &peer->links, node) {
        if (pl->n_busy > 0)
            return true;
    }
    cds_list_for_each_entry (s, &peer->loose, node) {
        if (s->n_busy > 0)
            return true;
    }
    return false;
}

void
vc__peer_push(struct vc__peer *peer)
{
    struct vc__pool_link *pl;

    cds_list_for_each_entry (pl, &peer->links, node)
        vc__link_push(&pl->link);
}

/* --- numbers ----------------------------------------------------------- */

/* For vc__peer_seat(): makes the first seats, or doubles them. False if out of
 * memory. */
static bool
seats_grow(struct vc__peer *peer)
{
    uint32_t n = peer->n_seats == 0 ? SEATS_FIRST : peer->n_seats * 2;
    struct vc__session **seats = realloc(peer->seats, n * sizeof(*seats));

    if (seats == NULL)
        return false;
    memset(seats + peer->n_seats, 0, (n - peer->n_seats) * sizeof(*seats));
    peer->seats = seats;
    peer->n_seats = n;
    return true;
}

bool
vc__peer_seat(struct vc__peer *peer, struct vc__session *s, bool *full)
{
    uint32_t i = peer->free_seat;

    *full = peer->n_sessions >= peer->max_sessions;
    if (*full)
        return false;
    while (i < peer->n_seats && peer->seats[i] != NULL)
        i++;
    if (i == peer->n_seats && !seats_grow(peer))
        return false;
    peer->seats[i] = s;
    peer->free_seat = i + 1;
    peer->n_sessions++;
    s->number = i + 1;
    return true;
}

void
vc__peer_unseat(struct vc__peer *peer, struct vc__session *s)
{
    uint32_t i = s->number - 1;

    peer->seats[i] = NULL;
    if (i < peer->free_seat)
        peer->free_seat = i;
    peer->n_sessions--;
}

void
vc__peer_reseat(struct vc__peer *peer, uint32_t number, struct vc__session *s)
{
    static struct vc__session nobody;

    peer->seats[number - 1] = s != NULL ? s : &nobody;
}

uint32_t
vc__peer_binding(struct vc__peer *peer)
{
    if (++peer->bindings == 0)
        peer->bindings++;
    return peer->bindings;
}
