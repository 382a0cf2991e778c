/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The links of a pool: they come up, deliver frames, go down, and are closed
 * when they are idle. See cm/pool/pool.h. All of this file runs on the holder
 * of the engine, without the pool's lock unless a comment says otherwise.
 * Functions in pool_link_ops are callbacks of links; pool_link_on_frame() calls
 * those named on_. */
#include <stdlib.h>
#include <string.h>

#include "cm/pool/client.h"
#include "cm/pool/pool.h"
#include "transport/core/random.h"

/* Looks at links in the time after which an idle one is closed. */
#define IDLE_LOOKS 4u
/* Links in a row that may be lost without a reply, before calls fail. */
#define UNANSWERED_MAX 3u

/* --- a link comes up --------------------------------------------------- */

/* For the callbacks of links: the pool's link that contains this one. */
static struct vc__pool_link *
pool_link_of(struct vc__link *link)
{
    return caa_container_of(link, struct vc__pool_link, link);
}

/* For link_join(), under the lock: the peer that this link joins: the present
 * one; or a new one, if that has no links, or was left for this link. NULL with
 * *error. `unknown`: requests that the former peer may have seen. */
static struct vc__peer *
peer_for(struct vc__pool *p, struct vc__link *link,
         struct cds_list_head *unknown, struct vc__error *error)
{
    struct vc__peer *peer = p->peer;

    if (peer != NULL && vc__peer_is(peer, link))
        return peer;
    if (!vc__pool_home_enter(p, pool_link_of(link), error))
        return NULL;
    peer = p->peer;
    if (peer != NULL && peer->n_links > 0) {
        vc__error_put(error, VC_UNAVAILABLE,
                      "another server has taken the place of the one at %s",
                      vc__link_peer(link));
        return NULL;
    }
    peer = vc__peer_new(p, link);
    if (peer == NULL) {
        vc__error_put(error, VC_RESOURCE_EXHAUSTED, "out of memory");
        return NULL;
    }
    peer->moved = vc__pool_is_moved(p, pool_link_of(link));
    if (p->peer != NULL)
        vc__pool_peer_drop(p->peer, unknown);
    p->peer = peer;
    p->n_unanswered = 0;
    return peer;
}

/* For pool_link_on_up(), under the lock: adds a link to its peer, and appends
 * what waits. Returns false with *error. */
static bool
link_join(struct vc__pool *p, struct vc__pool_link *pl,
          struct cds_list_head *unknown, struct vc__error *error)
{
    struct vc__peer *peer = peer_for(p, &pl->link, unknown, error);

    if (peer == NULL)
        return false;
    p->attempting = p->failing = false;
    vc__backoff_reset(&p->backoff);
    p->lost.status = p->failure.status = VC_OK;
    atomic_store_explicit(&p->peer_message_max,
                          1u << pl->link.accept.log2_message,
                          memory_order_relaxed);
    pl->scout = pl->leaving = !vc__upgrade_suits(p, pl->link.wire->transport);
    vc__peer_join(peer, pl);
    vc__pool_launch(p);
    if (peer->n_links < p->opts.min_links && !pl->scout)
        vc__pool_grow(p);
    return true;
}

/* For pool_link_on_up(): the requests that the former server had are lost. */
static void
forgotten_fail(struct vc__link *link, struct cds_list_head *requests)
{
    struct vc__error error;

    if (cds_list_empty(requests))
        return;
    vc__error_put(&error, VC_UNAVAILABLE,
                  "%s has restarted, or has dropped this client's state: the "
                  "calls that it had received are lost",
                  vc__link_peer(link));
    vc__requests_fail(requests, &error, VC_OUTCOME_UNKNOWN);
}

/* ops->up: the link joins its peer and wakes waiters, or is closed. */
static void
pool_link_on_up(struct vc__link *link)
{
    struct vc__pool_link *pl = pool_link_of(link);
    struct vc__pool *p = pl->pool;
    const struct vc__error ok = {.status = VC_OK};
    struct vc__error error;
    CDS_LIST_HEAD(connecting);
    CDS_LIST_HEAD(unknown);
    bool good;

    vc__dial_run_up(&pl->try);
    vc__lock_take(&p->lock);
    good = !p->closed && link_join(p, pl, &unknown, &error);
    if (p->closed)
        vc__error_put(&error, VC_CANCELLED, "the channel was closed");
    if (good && !pl->scout)
        vc__pool_waiters_take(p, &connecting);
    vc__lock_give(&p->lock);
    if (!good) {
        vc__link_close(link, error.status, "%s", error.text);
        return;
    }
    forgotten_fail(link, &unknown);
    vc__pool_push(p);
    vc__pool_waiters_wake(&connecting, &ok);
    vc__upgrade_joined(p, pl);
    vc__pool_former_check(p); /* one that vc__pool_home_enter() has left */
}

/* --- frames ------------------------------------------------------------ */

/* For on_closed() and on_reply(), under the lock. NULL if the link has no peer
 * yet, the peer no such session, or the session is not bound to this link. */
static struct vc__session *
session_find(const struct vc__pool_link *pl, uint32_t number)
{
    const struct vc__peer *peer = pl->peer;
    struct vc__session *s;

    if (peer == NULL || number < 1 || number > peer->n_seats)
        return NULL;
    s = peer->seats[number - 1];
    return s != NULL && s->link == pl ? s : NULL;
}

/* Under former_link()'s lock: true if not even a CLOSE is in progress. */
static bool
peer_is_done(const struct vc__peer *peer)
{
    const struct vc__pool_link *pl;
    const struct vc__session *s;

    cds_list_for_each_entry (pl, &peer->links, node) {
        cds_list_for_each_entry (s, &pl->sessions, node) {
            if (s->client == NULL)
                return false;
        }
    }
    return !vc__peer_is_busy(peer);
}

/* For vc__pool_former_check(): a link of a former peer that is done, or
 * NULL. */
static struct vc__link *
former_link(struct vc__pool *p)
{
    struct vc__peer *peer;
    struct vc__link *link = NULL;

    vc__lock_take(&p->lock);
    cds_list_for_each_entry (peer, &p->former, node) {
        if (peer->n_links > 0 && peer_is_done(peer))
            link = &cds_list_entry(peer->links.next, struct vc__pool_link, node)
                        ->link;
    }
    vc__lock_give(&p->lock);
    return link;
}

void
vc__pool_former_check(struct vc__pool *p)
{
    struct vc__link *link;

    while ((link = former_link(p)) != NULL)
        vc__link_close(link, VC_UNAVAILABLE, "the server is draining");
}

/* Handles a CLOSE frame: the peer's answer to ours. False if it fits none. */
static bool
on_closed(struct vc__pool_link *pl, const struct vc__frame *f)
{
    struct vc__pool *p = pl->pool;
    struct vc__session *s;
    bool good;

    vc__lock_take(&p->lock);
    s = session_find(pl, f->session);
    good = s != NULL && vc__session_closed(s, f);
    vc__lock_give(&p->lock);
    if (!good)
        vc__link_breach(&pl->link, "an answer without a CLOSE");
    if (good && pl->peer != p->peer)
        vc__pool_former_check(p);
    if (good)
        vc__pool_close_check(p);
    return good;
}

/* Handles a REPLY, MESSAGE, WINDOW or DATA frame. Sends requests that waited
 * for a slot, and runs replied() without locks. False ends the link. */
static bool
on_reply(struct vc__pool_link *pl, const struct vc__frame *f)
{
    struct vc__pool *p = pl->pool;
    struct vc__assembly done = {0};
    struct vc__reply_frame reply;
    struct vc__request *r = NULL;
    struct vc__pool_link *other = NULL;
    struct vc__session *s;
    bool good, refused;

    vc__lock_take(&p->lock);
    s = session_find(pl, f->session);
    if (s != NULL)
        good = vc__session_reply(s, f, &r, &reply, &done);
    else
        good = p->closed ||
               vc__link_breach(&pl->link, "a frame of a session that is not "
                                          "open");
    /* A slot is free: waiting requests can be sent. They are pushed after the
     * packet was handled, unless the session has moved to another link for
     * them. */
    if (good && s != NULL && s->client != NULL && s->client->session == s) {
        vc__client_launch(s->client);
        other = s->link;
    }
    refused = !cds_list_empty(&p->refused) || !cds_list_empty(&p->broken);
    vc__lock_give(&p->lock);
    if (other != NULL && other != pl)
        vc__link_push(&other->link);
    if (refused)
        vc__pool_refuse(p);
    if (good) {
        pl->useful = true;
        p->n_unanswered = 0;
    }
    if (r != NULL)
        r->replied(r, &reply);
    if (done.total != 0) {
        vc__lock_take(&p->lock);
        vc__assembly_end(&done);
        vc__pool_count_replies(p);
        vc__lock_give(&p->lock);
    }
    vc__trimmer_note(&p->trimmer);
    /* The peer changes on this thread only. */
    if (good && pl->peer != p->peer)
        vc__pool_former_check(p);
    return good;
}

/* ops->busy, for keepalive: true if a call is in progress on the link. */
static bool
pool_link_on_busy(struct vc__link *link)
{
    const struct vc__pool_link *pl = pool_link_of(link);
    bool busy;

    vc__lock_take(&pl->pool->lock);
    busy = pl->n_busy > 0;
    vc__lock_give(&pl->pool->lock);
    return busy;
}

/* For on_goaway() and link_broken(): ends attempts to make further links. */
static void
attempts_cancel(struct vc__pool *p)
{
    vc__pool_attempt_cancel(p);
    vc__upgrade_cancel(p);
}

/* Handles a GOAWAY: new calls use the next peer; an attempt to reach it begins
 * if any wait. False if pl has no peer. */
static bool
on_goaway(struct vc__pool_link *pl)
{
    struct vc__pool *p = pl->pool;
    struct vc__peer *peer = pl->peer;

    if (peer == NULL)
        return vc__link_breach(&pl->link,
                               "a GOAWAY of a link that is not used");
    if (peer == p->peer) {
        attempts_cancel(p); /* a further link would lead to that peer */
        vc__lock_take(&p->lock);
        vc__pool_part(p);
        if (vc__pool_is_wanted(p))
            vc__pool_attempt(p);
        vc__lock_give(&p->lock);
    }
    vc__pool_former_check(p);
    return true;
}

/* ops->frame: false ends the link: a breach of the protocol, or no memory. */
static bool
pool_link_on_frame(struct vc__link *link, const struct vc__frame *f)
{
    struct vc__pool_link *pl = pool_link_of(link);

    if (f->type == VC__FRAME_GOAWAY)
        return on_goaway(pl);
    if (f->type == VC__FRAME_CLOSE)
        return on_closed(pl, f);
    if (f->type == VC__FRAME_REPLY || f->type == VC__FRAME_MESSAGE ||
        f->type == VC__FRAME_WINDOW ||
        (f->type == VC__FRAME_DATA && f->flags & VC__FRAME_OF_REPLY))
        return on_reply(pl, f);
    return vc__link_breach(link, "a frame that no server sends");
}

/* --- a link goes down -------------------------------------------------- */

/* For link_lost() and link_broken(): drops a lost former peer. Its calls that
 * it may have seen end; the others go to the present one. */
static void
former_lost(struct vc__pool *p, struct vc__peer *peer, struct vc__error error)
{
    CDS_LIST_HEAD(unknown);

    vc__lock_take(&p->lock);
    vc__pool_peer_drop(peer, &unknown);
    vc__pool_launch(p);
    vc__lock_give(&p->lock);
    vc__pool_push(p);
    vc__requests_fail(&unknown, &error, VC_OUTCOME_UNKNOWN);
}

/* For pool_link_on_down(): a link is down that is to be replaced. Its sessions
 * continue on other links or wait; another link is made if it is needed. A
 * former peer without links is dropped. */
static void
link_lost(struct vc__pool *p, struct vc__pool_link *pl)
{
    struct vc__peer *peer = pl->peer;
    bool former;

    if (!pl->leaving)
        vc__pool_missed(p, pl->link.wire->transport, &pl->link.error);
    vc__lock_take(&p->lock);
    former = peer != p->peer;
    if (!former)
        vc__upgrade_lose(p, pl);
    vc__peer_leave(peer, pl);
    if (!former && peer->n_links == 0) {
        p->lost = pl->link.error;
        if (vc__pool_is_wanted(p))
            vc__pool_attempt(p);
        vc__pool_hurry(p);
    } else if (!former && peer->n_links < p->opts.min_links) {
        vc__pool_grow(p);
    }
    vc__pool_launch(p);
    vc__lock_give(&p->lock);
    vc__upgrade_log(p);
    if (former)
        vc__peer_push(peer); /* sessions moved to its other links */
    vc__pool_push(p);
    if (former && peer->n_links == 0)
        former_lost(p, peer, pl->link.error);
}

/* A link is down, and so will be all others of its peer: that is not resumed,
 * or the pool closes. Called by pool_link_on_down() and link_broken(). */
static void
link_closed(struct vc__pool *p, struct vc__pool_link *pl)
{
    vc__lock_take(&p->lock);
    vc__peer_leave(pl->peer, pl);
    vc__lock_give(&p->lock);
    vc__pool_refuse(p);
}

/* For pool_link_on_down(): the peer is not to be resumed. Closes all its links,
 * one after the other; with the last all calls end. */
static void
link_broken(struct vc__pool *p, struct vc__pool_link *pl)
{
    struct vc__peer *peer = pl->peer;
    const struct vc__error *why = &pl->link.error;

    link_closed(p, pl);
    peer->breaking = true;
    while (peer->n_links > 0)
        vc__link_close(
            &cds_list_entry(peer->links.next, struct vc__pool_link, node)->link,
            why->status, "%s", why->text);
    if (peer != p->peer) {
        former_lost(p, peer, *why);
        return;
    }
    /* A further link would lead to the abandoned peer. */
    attempts_cancel(p);
    vc__pool_failed(p, why);
}

/* For is_resumable(): true if keepalive has found the peer dead. A silent host
 * may be reached by another transport, with vc://, or at another address. */
static bool
is_dead(const struct vc__pool *p, const struct vc__link *link)
{
    return link->silent && (link->stopped || !vc__pool_has_ways(p));
}

/* For pool_link_on_down(): true if a lost link is to be replaced: unless the
 * peer broke the protocol or is dead, or no reply came by several links in a
 * row. Links that were idle or to be closed, or of a former peer, are not
 * counted. A link ends as RESOURCE_EXHAUSTED when this end has no memory for a
 * frame or a timer. */
static bool
is_resumable(struct vc__pool *p, const struct vc__pool_link *pl)
{
    enum vc_status end = pl->link.error.status;

    if (pl->peer == p->peer && pl->idle_looks < IDLE_LOOKS && !pl->leaving)
        p->n_unanswered = pl->useful ? 0 : p->n_unanswered + 1;
    return (end == VC_UNAVAILABLE || end == VC_RESOURCE_EXHAUSTED) &&
           !is_dead(p, &pl->link) && p->n_unanswered < UNANSWERED_MAX;
}

/* For pool_link_on_down(): a link was up but could not join, so its attempt has
 * failed. A link that the dial run no longer needed is ignored. */
static void
link_unused(struct vc__pool *p, const struct vc__pool_link *pl)
{
    const struct vc__link *link = &pl->link;
    bool waits, closed;

    if (link->error.status == VC_CANCELLED)
        return;
    vc__lock_take(&p->lock);
    closed = p->closed;
    waits = p->attempting && !p->attempt.dial_run.active && !closed;
    vc__lock_give(&p->lock);
    if (pl->try.dial_run == &p->attempt.dial_run && waits)
        vc__pool_failed(p, &link->error);
    else if (pl->try.dial_run == &p->upgrade.dial_run && !closed)
        vc__upgrade_unused(p);
}

/* ops->down: the link has failed to come up, was lost, or was closed. Has the
 * dial run or one of the functions before handle that. */
static void
pool_link_on_down(struct vc__link *link)
{
    struct vc__pool_link *pl = pool_link_of(link);
    struct vc__pool *p = pl->pool;

    if (vc__dial_run_down(&pl->try))
        return;
    if (pl->peer == NULL)
        link_unused(p, pl);
    else if (p->closing || pl->peer->breaking)
        link_closed(p, pl);
    else if (is_resumable(p, pl))
        link_lost(p, pl);
    else
        link_broken(p, pl);
}

/* ops->gone: the link's last callback, which frees it. */
static void
pool_link_on_gone(struct vc__link *link)
{
    struct vc__pool_link *pl = pool_link_of(link);
    struct vc__pool *p = pl->pool;

    vc__link_fini(link);
    free(pl);
    p->n_links--;
    atomic_fetch_sub(&p->cap->n, 1);
    vc__pool_close_check(p);
}

static const struct vc__link_ops pool_link_ops = {.up = pool_link_on_up,
                                                  .frame = pool_link_on_frame,
                                                  .busy = pool_link_on_busy,
                                                  .down = pool_link_on_down,
                                                  .gone = pool_link_on_gone};

/* For vc__pool_link_new(): returns 0 or 1. Some links live a look longer than
 * others, so that links that fall idle together are not closed together. nth: a
 * new number. */
static unsigned
jitter_draw(const struct vc__pool *p, unsigned nth)
{
    uint64_t seed;

    memcpy(&seed, p->instance, sizeof seed);
    seed ^= (uint64_t)nth << 32;
    return vc__random_below(&seed, 2);
}

struct vc__pool_link *
vc__pool_link_new(struct vc__pool *p, const struct vc__transport *transport,
                  uint32_t timeout_ms)
{
    struct vc__context *context;
    struct vc__pool_link *pl;

    if (vc__cm_open(p->cm, transport, &context) != VC_OK)
        return NULL;
    pl = calloc(1, sizeof *pl + transport->wire_size);
    if (pl == NULL) {
        vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
        return NULL;
    }
    pl->pool = p;
    pl->try.link = &pl->link;
    CDS_INIT_LIST_HEAD(&pl->sessions);
    vc__link_init(&pl->link, context, pl + 1, &pool_link_ops, timeout_ms);
    pl->link.said_ms = p->opts.connect_ms;
    pl->link.wire->opts = p->opts.wire;
    vc__link_keepalive_set(&pl->link, p->opts.keepalive_ms);
    p->n_links++;
    pl->jitter = jitter_draw(p, atomic_fetch_add(&p->cap->n, 1));
    return pl;
}

/* --- idle links -------------------------------------------------------- */

/* For idle_find(), under the lock: true if the link has carried no call for the
 * idle time, IDLE_LOOKS looks after the first that found it idle, or a look
 * more (pl->jitter). */
static bool
link_is_idle(struct vc__pool_link *pl)
{
    if (pl->n_busy > 0)
        pl->idle_looks = 0;
    else if (pl->n_calls != pl->seen_calls)
        pl->idle_looks = 1;
    else
        pl->idle_looks++;
    pl->seen_calls = pl->n_calls;
    return pl->idle_looks > IDLE_LOOKS + pl->jitter;
}

/* For pool_link_on_look(): an idle link to be closed, on which no call begins
 * from now on. NULL if there is none. */
static struct vc__pool_link *
idle_find(struct vc__pool *p)
{
    struct vc__pool_link *pl, *idle = NULL;

    vc__lock_take(&p->lock);
    if (p->peer != NULL) {
        cds_list_for_each_entry (pl, &p->peer->links, node) {
            if (link_is_idle(pl) && p->peer->n_links > p->opts.min_links)
                idle = pl;
        }
    }
    if (idle != NULL)
        idle->leaving = true;
    vc__lock_give(&p->lock);
    return idle;
}

/* The timer p->look fires: closes one idle link, and looks again later while
 * there are links. */
static void
pool_link_on_look(struct vc__timer *timer)
{
    struct vc__pool *p = caa_container_of(timer, struct vc__pool, look);
    struct vc__pool_link *idle = idle_find(p);

    if (idle != NULL)
        vc__link_close(&idle->link, VC_UNAVAILABLE, "the connection was idle");
    if (p->n_links > 0)
        vc__pool_look(p);
}

void
vc__pool_look(struct vc__pool *p)
{
    uint64_t us = (uint64_t)p->opts.idle_ms * 1000 / IDLE_LOOKS;

    /* If out of memory for the timer, idle links stay. */
    vc__timer_start(&p->engine->timers, &p->look, vc__timer_beat(vc__now(), us),
                    pool_link_on_look);
}
