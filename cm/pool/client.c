/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How requests get into a session. See cm/pool/client.h. Any thread: one that
 * starts or abandons calls, uses streams or closes a channel, or the
 * holder when a link comes up or goes down, a gate opens or is shut, or a reply
 * frees a slot. Static functions run under the pool's lock. */
#include "cm/pool/client.h"

#include "cm/pool/gate.h"
#include "cm/pool/peer.h"
#include "cm/pool/placement.h"
#include "cm/pool/pool.h"

void
vc__client_init(struct vc__client *c, struct vc__pool *pool,
                const struct vc_service *service, uint32_t weight,
                uint32_t quota)
{
    c->pool = pool;
    c->service = service;
    c->session = NULL;
    c->weight = weight;
    c->quota = quota;
    c->gate = NULL;
    c->closed = c->held = c->own_used = false;
    CDS_INIT_LIST_HEAD(&c->waiting);
    vc__lock_take(&pool->lock);
    cds_list_add_tail(&c->node, &pool->clients);
    vc__lock_give(&pool->lock);
}

/* --- placing ----------------------------------------------------------- */

enum launch {
    LAUNCH_GONE, /* sent, or queued in the link; of session_need() and
                  * link_need(): there is one */
    LAUNCH_WAIT, /* for a link or a slot */
    LAUNCH_FULL, /* the peer allows no more sessions */
    LAUNCH_NO_MEMORY,
};

/* For client_launch(): makes sure that the client has a session at the present
 * peer. LAUNCH_GONE: it has one. LAUNCH_WAIT: there is no link. Else none can
 * be made. */
static enum launch
session_need(struct vc__client *c)
{
    struct vc__peer *peer = c->pool->peer;
    bool full;

    if (c->session != NULL)
        return LAUNCH_GONE;
    if (peer == NULL || peer->n_links == 0)
        return LAUNCH_WAIT;
    c->session = vc__session_new(peer, c, &full);
    if (c->session != NULL)
        return LAUNCH_GONE;
    return full ? LAUNCH_FULL : LAUNCH_NO_MEMORY;
}

/* For link_need(): true if the session stays on its link without a look at the
 * others. It has calls in progress there, or the link is neither busy nor to be
 * closed. */
static bool
link_will_do(const struct vc__session *s)
{
    const struct vc__pool_link *pl = s->link;

    return pl != NULL &&
           (s->n_busy > 0 || (pl->n_busy < VC__LINK_BUSY && !pl->leaving));
}

/* For client_launch(): makes sure that a session is bound to a link that takes
 * calls. An idle session leaves a link that is to be closed, or is busy and has
 * more than twice the calls of another. LAUNCH_WAIT: no link takes calls.
 * LAUNCH_NO_MEMORY: it is unbound. */
static enum launch
link_need(struct vc__session *s)
{
    struct vc__pool_link *best;

    if (link_will_do(s))
        return LAUNCH_GONE;
    best = vc__placement_link(s->peer);
    if (best == NULL)
        return LAUNCH_WAIT;
    if (s->link != NULL && !s->link->leaving &&
        best->n_busy >= s->link->n_busy / 2)
        return LAUNCH_GONE;
    if (s->link != NULL) {
        /* Its OPEN may wait there for a credit. */
        vc__link_drop(&s->link->link, &s->flow);
        vc__session_unbind(s);
    }
    return vc__session_bind(s, best) ? LAUNCH_GONE : LAUNCH_NO_MEMORY;
}

/* Called by vc__client_launch() and client_request_take(): appends a request to
 * its link, or returns why it cannot be sent now. LAUNCH_GONE: the caller
 * pushes the link. Has another link made if this one is busy. entered: as for
 * vc__session_launch(). */
static enum launch
client_launch(struct vc__client *c, struct vc__request *r, bool *entered)
{
    enum launch got = session_need(c);

    if (got == LAUNCH_GONE)
        got = link_need(c->session);
    if (got == LAUNCH_GONE && !vc__session_launch(c->session, r, entered))
        got = LAUNCH_WAIT;
    if (got == LAUNCH_GONE && c->session->link->n_busy >= VC__LINK_BUSY)
        vc__pool_grow(c->pool);
    return got;
}

void
vc__client_launch(struct vc__client *c)
{
    while (!cds_list_empty(&c->waiting)) {
        struct vc__request *r =
            cds_list_entry(c->waiting.next, struct vc__request, node);

        enum launch got;

        if (c->held)
            return;
        cds_list_del(&r->node);
        r->send->fresh = false;
        got = client_launch(c, r, NULL);
        if (got == LAUNCH_WAIT) {
            cds_list_add(&r->node, &c->waiting);
            return;
        }
        if (got == LAUNCH_GONE) {
            vc__pool_count(c->pool, VC__POOL_CALLS_WAITING, -1);
            continue;
        }
        /* Fail it: no event would retry it. */
        vc__request_complete(c->pool, r);
        cds_list_add_tail(&r->node, &c->pool->refused);
    }
}

/* --- requests ---------------------------------------------------------- */

/* For client_request_take() and held_take(): fills *error, and returns
 * false. */
static bool
fail_with(struct vc__error *error, enum vc_status status, const char *text)
{
    vc__error_put(error, status, "%s", text);
    error->outcome = VC_OUTCOME_NOT_EXECUTED;
    return false;
}

/* For client_request_take(): no request of the client is sent now. False with
 * *error if it ends; true: it waits. */
__attribute__((cold)) static bool
held_take(const struct vc__client *c, struct vc__error *error)
{
    if (c->closed || c->pool->closed)
        return fail_with(error, VC_CANCELLED, "the channel was closed");
    return !vc__gate_refuses(c, error);
}

/* For vc__client_start(): sends or queues a new request. Returns false with
 * *error if it cannot be accepted. *entered: true if this thread has the lock of
 * the session's link. */
static bool
client_request_take(struct vc__client *c, struct vc__request *r,
                    struct vc__error *error, bool *entered)
{
    enum launch got = LAUNCH_WAIT;

    r->state = VC__REQUEST_WAITING;
    r->exposed = false;
    if (c->held || c->pool->closed) {
        if (!held_take(c, error))
            return false;
    } else if (cds_list_empty(&c->waiting)) {
        got = client_launch(c, r, entered);
    }
    if (got == LAUNCH_FULL)
        return fail_with(
            error, VC_RESOURCE_EXHAUSTED,
            "the client has reached the server's limit of sessions "
            "(max_sessions of its options): close channels, or raise it");
    if (got == LAUNCH_NO_MEMORY)
        return fail_with(error, VC_RESOURCE_EXHAUSTED, "out of memory");
    if (got == LAUNCH_WAIT && !vc__pool_want(c->pool, c->service, error))
        return false;
    if (got == LAUNCH_WAIT) {
        cds_list_add_tail(&r->node, &c->waiting);
        vc__pool_count(c->pool, VC__POOL_CALLS_WAITING, 1);
    }
    return true;
}

/* Returns the session's link for the caller to push without the lock, and keeps
 * it alive until vc__link_push_held(). NULL: no session, or it has no link. For
 * vc__client_start(), vc__client_abandon() and sent_abandon(). */
static struct vc__link *
link_hold(const struct vc__session *s)
{
    struct vc__link *link;

    if (s == NULL || s->link == NULL)
        return NULL;
    link = &s->link->link;
    vc__link_hold(link);
    return link;
}

/* For vc__client_start(): counts a request, also one that fails there. */
static void
start_count(struct vc__pool *pool, const struct vc__request *r)
{
    if (r->message != NULL) {
        if (r->own)
            return;
        vc__pool_count(pool, VC__POOL_STREAMS, 1);
        vc__pool_count(pool, VC__POOL_STREAMS_OPENED, 1);
    }
    vc__pool_count(pool, VC__POOL_CALLS_STARTED, 1);
}

void
vc__client_start(struct vc__client *c, struct vc__request *r)
{
    struct vc__link *link;
    struct vc__error error;
    bool good, entered = false;

    vc__lock_take(&c->pool->lock);
    good = client_request_take(c, r, &error, &entered);
    if (!good)
        r->state = VC__REQUEST_COMPLETING;
    start_count(c->pool, r);
    if (!good)
        vc__request_count_end(c->pool, r);
    link = link_hold(c->session);
    vc__lock_give(&c->pool->lock);
    if (link != NULL)
        vc__link_push_held(link, entered);
    if (!good)
        r->failed(r, &error);
}

/* For vc__client_abandon(): abandons a request that is in a slot, maybe of a
 * session at a former peer. Sends waiting requests if the slot is free. Returns
 * whether it may have been executed. *cancel is the session's link, held for
 * the caller to push, or NULL. */
static enum vc_outcome
sent_abandon(struct vc__client *c, struct vc__request *r,
             struct vc__link **cancel)
{
    struct vc__session *s = r->session;
    enum vc_outcome outcome = vc__session_abandon(s, r);

    *cancel = link_hold(s);
    vc__client_launch(c);
    return outcome;
}

void
vc__client_move(struct vc__client *to, struct vc__request *r)
{
    struct vc__client *from = r->client;

    if (from != NULL)
        vc__lock_take(&from->pool->lock);
    r->client = to;
    if (from != NULL)
        vc__lock_give(&from->pool->lock);
}

bool
vc__client_add(struct vc__client *c, struct vc__request *r,
               struct vc__send *send)
{
    struct vc__link *link = NULL;
    bool good = true;

    vc__lock_take(&c->pool->lock);
    switch (r->client == c ? r->state : VC__REQUEST_COMPLETING) {
    case VC__REQUEST_WAITING:
        cds_list_add_tail(&send->node, &r->queued);
        break;
    case VC__REQUEST_SENT:
        vc__session_add(r->session, r, send);
        link = &r->session->link->link;
        vc__link_hold(link);
        break;
    case VC__REQUEST_COMPLETING:
        good = false;
        break;
    }
    vc__lock_give(&c->pool->lock);
    if (link != NULL)
        vc__link_push_held(link, false);
    return good;
}

bool
vc__client_abandon(struct vc__client *c, struct vc__request *r,
                   enum vc_outcome *outcome)
{
    struct vc__link *link, *cancel = NULL;
    bool mine = true;

    vc__lock_take(&c->pool->lock);
    switch (r->state) {
    case VC__REQUEST_WAITING:
        cds_list_del(&r->node);
        vc__pool_count(c->pool, VC__POOL_CALLS_WAITING, -1);
        *outcome = r->exposed ? VC_OUTCOME_UNKNOWN : VC_OUTCOME_NOT_EXECUTED;
        break;
    case VC__REQUEST_SENT:
        *outcome = sent_abandon(c, r, &cancel);
        break;
    case VC__REQUEST_COMPLETING:
        mine = false;
        break;
    }
    if (mine) {
        r->state = VC__REQUEST_COMPLETING; /* in case of a second call */
        if (r->message == NULL || !r->own)
            vc__pool_count(c->pool, VC__POOL_CALLS_GIVEN_UP, 1);
        vc__request_count_end(c->pool, r);
    }
    link = link_hold(c->session);
    vc__pool_refuse_soon(c->pool);
    vc__lock_give(&c->pool->lock);
    if (cancel != NULL)
        vc__link_push_held(cancel, false);
    if (link != NULL)
        vc__link_push_held(link, false);
    return mine;
}

void
vc__client_take(struct vc__client *c, struct cds_list_head *out)
{
    while (!cds_list_empty(&c->waiting)) {
        struct vc__request *r =
            cds_list_entry(c->waiting.next, struct vc__request, node);

        vc__request_complete(c->pool, r);
        cds_list_del(&r->node);
        cds_list_add_tail(&r->node, out);
    }
}

/* --- closing ----------------------------------------------------------- */

/* For sessions_take(): takes all requests in progress of this session, to
 * `unknown` if the peer may have seen them. Afterwards none of its messages is
 * in its link's queue. */
static void
client_session_take(struct vc__session *s, struct cds_list_head *unknown,
                    struct cds_list_head *unsent)
{
    struct vc__request *r;

    if (s->link != NULL && vc__link_drop(&s->link->link, &s->flow))
        s->open_here = false;
    while ((r = vc__session_take(s)) != NULL) {
        vc__request_complete(s->peer->pool, r);
        cds_list_add_tail(&r->node,
                          vc__request_is_exposed(r) ? unknown : unsent);
    }
}

/* For session_any() and sessions_take(), when the client is closed: its session
 * at this peer, where it has one at most. NULL: none. */
static struct vc__session *
session_at(const struct vc__client *c, const struct vc__peer *peer)
{
    for (uint32_t i = 0; i < peer->n_seats; i++) {
        if (peer->seats[i] != NULL && peer->seats[i]->client == c)
            return peer->seats[i];
    }
    return NULL;
}

/* For sessions_close(): the client's session at the present peer, or at a
 * former one where calls still run. NULL: none is left. */
static struct vc__session *
session_any(const struct vc__client *c)
{
    struct vc__session *s = c->session;
    struct vc__peer *peer;

    cds_list_for_each_entry (peer, &c->pool->former, node) {
        if (s == NULL)
            s = session_at(c, peer);
    }
    return s;
}

/* For vc__client_close(): takes all requests in progress, also at former
 * peers. */
static void
sessions_take(struct vc__client *c, struct cds_list_head *unknown,
              struct cds_list_head *unsent)
{
    struct vc__peer *peer;
    struct vc__session *s;

    if (c->session != NULL)
        client_session_take(c->session, unknown, unsent);
    cds_list_for_each_entry (peer, &c->pool->former, node) {
        s = session_at(c, peer);
        if (s != NULL)
            client_session_take(s, unknown, unsent);
    }
}

/* For vc__client_close(): closes all sessions. Under the lock, which is
 * released to notify a peer. Meanwhile the other sessions may change: none of
 * them has requests. */
static void
sessions_close(struct vc__client *c)
{
    struct vc__session *s;
    struct vc__link *link;

    while ((s = session_any(c)) != NULL) {
        c->session = NULL;
        link = vc__session_close(s);
        if (link == NULL)
            continue;
        vc__link_hold(link);
        vc__lock_give(&c->pool->lock);
        vc__link_push_held(link, false);
        vc__lock_take(&c->pool->lock);
    }
}

void
vc__client_close(struct vc__client *c)
{
    CDS_LIST_HEAD(unknown);
    CDS_LIST_HEAD(unsent);
    struct vc__error error;

    vc__error_put(&error, VC_CANCELLED, "the channel was closed");
    vc__lock_take(&c->pool->lock);
    if (c->closed) {
        vc__lock_give(&c->pool->lock);
        return;
    }
    c->closed = c->held = true;
    vc__client_take(c, &unsent);
    sessions_take(c, &unknown, &unsent);
    cds_list_del(&c->node);
    sessions_close(c);
    vc__lock_give(&c->pool->lock);
    vc__requests_fail(&unknown, &error, VC_OUTCOME_UNKNOWN);
    vc__requests_fail(&unsent, &error, VC_OUTCOME_NOT_EXECUTED);
}
