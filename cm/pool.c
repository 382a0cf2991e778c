/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Links that come up and go down, and what becomes of the requests then. */
#include "cm/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/client.h"

/* Bytes of long replies that may be arriving at a time. */
#define REPLY_BUDGET ((size_t)1 << 30)
/* How often links are looked at in the time after which an idle one is
 * closed. */
#define IDLE_LOOKS 4u
/* Links in a row that may be lost without a reply before calls end. */
#define BARREN_MAX 3u

/* --- requests that end ------------------------------------------------- */

void
vc__requests_fail(struct cds_list_head *requests, struct vc__error *error,
                  enum vc_outcome outcome)
{
    error->outcome = outcome;
    while (!cds_list_empty(requests)) {
        struct vc__request *r =
            cds_list_entry(requests->next, struct vc__request, node);

        cds_list_del(&r->node);
        r->failed(r, error);
    }
}

static void
wake_connecting(struct cds_list_head *waiters, const struct vc__error *error)
{
    while (!cds_list_empty(waiters)) {
        struct vc__pool_waiter *w =
            cds_list_entry(waiters->next, struct vc__pool_waiter, node);

        cds_list_del_init(&w->node);
        w->error = *error;
        vc__waiter_done(&w->waiter);
    }
}

static void
connecting_take(struct vc__pool *p, struct cds_list_head *out)
{
    cds_list_splice(&p->connecting, out);
    CDS_INIT_LIST_HEAD(&p->connecting);
}

/* A session's peer is lost. What the peer may have seen ends; what it has not
 * waits again. */
static void
session_drop(struct vc__session *s, struct cds_list_head *unknown)
{
    struct vc__client *c = s->client;
    struct vc__request *r;

    while ((r = vc__session_take(s)) != NULL) {
        if (vc__request_is_exposed(r)) {
            r->state = VC__REQUEST_COMPLETING;
            cds_list_add_tail(&r->node, unknown);
        } else {
            r->state = VC__REQUEST_WAITING;
            cds_list_add_tail(&r->node, &c->waiting);
        }
    }
    if (c != NULL && c->session == s)
        c->session = NULL;
}

/* A peer without links that will not come back. */
static void
peer_drop(struct vc__peer *peer, struct cds_list_head *unknown)
{
    struct vc__session *s;

    cds_list_for_each_entry (s, &peer->loose, node)
        session_drop(s, unknown);
    vc__peer_free(peer);
}

/* What was appended under the lock goes without it. The peer and its links
 * change on this thread only. */
static void
pool_push(struct vc__pool *p)
{
    if (p->peer != NULL)
        vc__peer_push(p->peer);
}

static void
clients_launch(struct vc__pool *p)
{
    struct vc__client *c;

    cds_list_for_each_entry (c, &p->clients, node)
        vc__client_launch(c);
}

/* What was lost, and why it cannot be had again. */
static void
error_join(struct vc__error *error, const struct vc__error *lost)
{
    char again[sizeof error->text];

    memcpy(again, error->text, sizeof again);
    snprintf(error->text, sizeof error->text, "%.120s; then %.120s", lost->text,
             again);
}

/* There is no link and none can be had: all that waits for one, or was under
 * way on one that was lost, ends. */
void
vc__pool_failed(struct vc__pool *p, const struct vc__error *why)
{
    CDS_LIST_HEAD(unknown);
    CDS_LIST_HEAD(waiting);
    CDS_LIST_HEAD(connecting);
    struct vc__error error = *why;
    struct vc__client *c;

    pthread_mutex_lock(&p->lock);
    p->attempting = false;
    p->not_before = vc__now() + vc__backoff_failed(&p->backoff);
    if (p->peer != NULL && p->peer->n_links > 0) { /* it was a further one */
        pthread_mutex_unlock(&p->lock);
        return;
    }
    if (p->peer != NULL) {
        if (p->lost.status != VC_OK)
            error_join(&error, &p->lost);
        peer_drop(p->peer, &unknown);
    }
    p->peer = NULL;
    p->lost.status = VC_OK;
    cds_list_for_each_entry (c, &p->clients, node)
        vc__client_take(c, &waiting);
    connecting_take(p, &connecting);
    pthread_mutex_unlock(&p->lock);
    vc__requests_fail(&unknown, &error, VC_OUTCOME_UNKNOWN);
    vc__requests_fail(&waiting, &error, VC_OUTCOME_NOT_EXECUTED);
    wake_connecting(&connecting, &error);
}

/* --- a link comes up --------------------------------------------------- */

static struct vc__pool_link *
pool_link_of(struct vc__link *link)
{
    return caa_container_of(link, struct vc__pool_link, link);
}

/* The peer that this link is to join: the one we have, or a new one, whose
 * predecessor is lost. NULL with *error. Under the lock. */
static struct vc__peer *
peer_for(struct vc__pool *p, const struct vc__link *link,
         struct cds_list_head *unknown, struct vc__error *error)
{
    struct vc__peer *peer = p->peer;

    if (peer != NULL && vc__peer_is(peer, link))
        return peer;
    if (peer != NULL && peer->n_links > 0) {
        vc__error_put(error, VC_UNAVAILABLE, "%s is another server by now",
                      link->peer);
        return NULL;
    }
    peer = vc__peer_new(p, link);
    if (peer == NULL) {
        vc__error_put(error, VC_RESOURCE_EXHAUSTED, "out of memory");
        return NULL;
    }
    if (p->peer != NULL)
        peer_drop(p->peer, unknown);
    p->peer = peer;
    return peer;
}

/* Under the lock. False with *error. */
static bool
link_join(struct vc__pool *p, struct vc__pool_link *pl,
          struct cds_list_head *unknown, struct vc__error *error)
{
    struct vc__peer *peer = peer_for(p, &pl->link, unknown, error);

    if (peer == NULL)
        return false;
    p->attempting = false;
    vc__backoff_reset(&p->backoff);
    p->lost.status = VC_OK;
    atomic_store_explicit(&p->peer_message_max,
                          1u << pl->link.accept.log2_message,
                          memory_order_relaxed);
    vc__peer_join(peer, pl);
    clients_launch(p);
    if (peer->n_links < p->opts.min_links)
        vc__pool_grow(p);
    return true;
}

static void
on_up(struct vc__link *link)
{
    struct vc__pool_link *pl = pool_link_of(link);
    struct vc__pool *p = pl->pool;
    const struct vc__error ok = {.status = VC_OK};
    struct vc__error error;
    CDS_LIST_HEAD(connecting);
    CDS_LIST_HEAD(unknown);
    bool good;

    vc__dialer_up(&p->attempt.dialer, &pl->try);
    pthread_mutex_lock(&p->lock);
    good = !p->closed && link_join(p, pl, &unknown, &error);
    if (p->closed)
        vc__error_put(&error, VC_CANCELLED, "closed");
    if (good)
        connecting_take(p, &connecting);
    pthread_mutex_unlock(&p->lock);
    if (!good) {
        vc__link_close(link, error.status, "%s", error.text);
        return;
    }
    vc__error_put(&error, VC_UNAVAILABLE,
                  "%s was started anew, or has forgotten this client: calls "
                  "that it had are lost",
                  link->peer);
    vc__requests_fail(&unknown, &error, VC_OUTCOME_UNKNOWN);
    pool_push(p);
    wake_connecting(&connecting, &ok);
}

/* --- frames ------------------------------------------------------------ */

/* Under the lock. */
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

static bool
on_closed(struct vc__pool_link *pl, const struct vc__frame *f)
{
    struct vc__pool *p = pl->pool;
    struct vc__session *s;
    bool good;

    pthread_mutex_lock(&p->lock);
    s = session_find(pl, f->session);
    good = s != NULL && vc__session_closed(s, f);
    pthread_mutex_unlock(&p->lock);
    return good;
}

static bool
on_reply(struct vc__pool_link *pl, const struct vc__frame *f)
{
    struct vc__pool *p = pl->pool;
    struct vc__assembly done = {0};
    struct vc__reply_frame reply;
    struct vc__request *r = NULL;
    struct vc__session *s;
    bool good;

    pthread_mutex_lock(&p->lock);
    s = session_find(pl, f->session);
    good = s != NULL ? vc__session_reply(s, f, &r, &reply, &done) : p->closed;
    /* A slot is free. What goes now is pushed when the packet was handled. */
    if (good && s != NULL && s->client != NULL && s->client->session == s)
        vc__client_launch(s->client);
    pthread_mutex_unlock(&p->lock);
    pl->useful |= good;
    if (r != NULL)
        r->replied(r, &reply);
    if (done.total != 0) {
        pthread_mutex_lock(&p->lock);
        vc__assembly_end(&done, &p->budget);
        pthread_mutex_unlock(&p->lock);
    }
    return good;
}

static bool
on_busy(struct vc__link *link)
{
    const struct vc__pool_link *pl = pool_link_of(link);
    bool busy;

    pthread_mutex_lock(&pl->pool->lock);
    busy = pl->n_busy > 0;
    pthread_mutex_unlock(&pl->pool->lock);
    return busy;
}

static bool
on_frame(struct vc__link *link, const struct vc__frame *f)
{
    struct vc__pool_link *pl = pool_link_of(link);

    if (f->type == VC__FRAME_CLOSE)
        return on_closed(pl, f);
    return (f->type == VC__FRAME_REPLY ||
            (f->type == VC__FRAME_DATA && f->flags & VC__FRAME_OF_REPLY)) &&
           on_reply(pl, f);
}

/* --- a link goes down -------------------------------------------------- */

/* Is there anything that wants a link? Under the lock. */
static bool
pool_is_wanted(struct vc__pool *p)
{
    struct vc__client *c;

    if (p->peer != NULL && vc__peer_is_busy(p->peer))
        return true;
    cds_list_for_each_entry (c, &p->clients, node) {
        if (!cds_list_empty(&c->waiting))
            return true;
    }
    return !cds_list_empty(&p->connecting);
}

/* Under the lock. */
static void
attempt_post(struct vc__pool *p)
{
    if (p->attempting || p->closed)
        return;
    p->attempting = true;
    vc__engine_post(p->cm->engine, &p->connect);
}

/* A peer that calls only still ran at has lost its last link. */
static void
former_lost(struct vc__pool *p, struct vc__peer *peer, struct vc__error error)
{
    CDS_LIST_HEAD(unknown);

    pthread_mutex_lock(&p->lock);
    peer_drop(peer, &unknown);
    clients_launch(p);
    pthread_mutex_unlock(&p->lock);
    pool_push(p);
    vc__requests_fail(&unknown, &error, VC_OUTCOME_UNKNOWN);
}

static void
link_lost(struct vc__pool *p, struct vc__pool_link *pl)
{
    struct vc__peer *peer = pl->peer;
    bool former;

    pthread_mutex_lock(&p->lock);
    vc__peer_leave(peer, pl);
    former = peer != p->peer;
    if (!former && peer->n_links == 0) {
        p->lost = pl->link.error;
        if (pool_is_wanted(p))
            attempt_post(p);
    }
    clients_launch(p);
    pthread_mutex_unlock(&p->lock);
    pool_push(p);
    if (former && peer->n_links == 0)
        former_lost(p, peer, pl->link.error);
}

/* A peer that is not to be resumed: all its links go, one after the other, and
 * with the last all calls end. While the pool closes, peer_close() has the next
 * one in hand. */
static void
link_broken(struct vc__pool *p, struct vc__pool_link *pl)
{
    struct vc__peer *peer = pl->peer;
    const struct vc__error *why = &pl->link.error;

    pthread_mutex_lock(&p->lock);
    vc__peer_leave(peer, pl);
    pthread_mutex_unlock(&p->lock);
    if (peer->n_links > 0 && p->closer != NULL)
        return;
    if (peer->n_links > 0)
        vc__link_close(
            &cds_list_entry(peer->links.next, struct vc__pool_link, node)->link,
            why->status, "%s", why->text);
    else if (peer == p->peer)
        vc__pool_failed(p, why);
    else
        former_lost(p, peer, *why);
}

/* A lost link is made up for by another, unless the peer broke the protocol or
 * has been silent for too long, or several in a row brought no reply. */
static bool
is_resumable(struct vc__pool *p, const struct vc__pool_link *pl)
{
    p->barren = pl->useful ? 0 : p->barren + 1;
    return pl->link.error.status == VC_UNAVAILABLE && !pl->link.silent &&
           p->barren < BARREN_MAX;
}

/* It was up and could not join: the attempt has failed all the same. One that
 * the dialer did not need any more is of no interest. */
static void
link_unused(struct vc__pool *p, const struct vc__link *link)
{
    bool waits;

    pthread_mutex_lock(&p->lock);
    waits = p->attempting && !p->attempt.dialer.active && !p->closed;
    pthread_mutex_unlock(&p->lock);
    if (waits && link->error.status != VC_CANCELLED)
        vc__pool_failed(p, &link->error);
}

static void
on_down(struct vc__link *link)
{
    struct vc__pool_link *pl = pool_link_of(link);
    struct vc__pool *p = pl->pool;

    if (vc__dialer_down(&p->attempt.dialer, &pl->try))
        return;
    if (pl->peer == NULL)
        link_unused(p, link);
    else if (is_resumable(p, pl))
        link_lost(p, pl);
    else
        link_broken(p, pl);
}

static void
close_check(struct vc__pool *p)
{
    if (p->closer != NULL && p->n_links == 0)
        vc__waiter_done(p->closer);
}

static void
on_gone(struct vc__link *link)
{
    struct vc__pool_link *pl = pool_link_of(link);
    struct vc__pool *p = pl->pool;

    vc__link_fini(link);
    free(pl);
    p->n_links--;
    close_check(p);
}

static const struct vc__link_ops pool_link_ops = {.up = on_up,
                                                  .frame = on_frame,
                                                  .busy = on_busy,
                                                  .down = on_down,
                                                  .gone = on_gone};

struct vc__pool_link *
vc__pool_link_new(struct vc__pool *p, uint32_t timeout_ms)
{
    struct vc__pool_link *pl = calloc(1, sizeof *pl);

    if (pl == NULL)
        return NULL;
    pl->pool = p;
    pl->try.link = &pl->link;
    CDS_INIT_LIST_HEAD(&pl->sessions);
    vc__link_init(&pl->link, p->cm, &pool_link_ops, timeout_ms);
    vc__link_keepalive_set(&pl->link, p->opts.keepalive_ms);
    p->n_links++;
    return pl;
}

/* --- idle links -------------------------------------------------------- */

/* Has it carried no call for as long as idle links may live? Some looks more
 * or less, so that not all go at once. */
static bool
link_is_idle(struct vc__pool_link *pl)
{
    unsigned jitter = (unsigned)((uintptr_t)pl >> 6) % 2;

    if (pl->n_busy > 0 || pl->n_calls != pl->seen_calls)
        pl->idle_looks = 0;
    else
        pl->idle_looks++;
    pl->seen_calls = pl->n_calls;
    return pl->idle_looks >= IDLE_LOOKS + jitter;
}

/* One that is idle and may go; NULL when there is none. */
static struct vc__pool_link *
idle_find(struct vc__pool *p)
{
    struct vc__pool_link *pl, *idle = NULL;

    pthread_mutex_lock(&p->lock);
    if (p->peer != NULL) {
        cds_list_for_each_entry (pl, &p->peer->links, node) {
            if (link_is_idle(pl) && p->peer->n_links > p->opts.min_links)
                idle = pl;
        }
    }
    pthread_mutex_unlock(&p->lock);
    return idle;
}

static void on_look(struct vc__timer *timer);

static void
look_start(struct vc__pool *p)
{
    uint32_t ms = p->opts.idle_ms / IDLE_LOOKS;

    /* Without memory for a timer idle links stay. */
    vc__timer_start(&p->cm->engine->timers, &p->look,
                    vc__after_ms(vc__now(), ms > 0 ? ms : 1), on_look);
}

static void
on_look(struct vc__timer *timer)
{
    struct vc__pool *p = caa_container_of(timer, struct vc__pool, look);
    struct vc__pool_link *idle = idle_find(p);

    if (idle != NULL)
        vc__link_close(&idle->link, VC_UNAVAILABLE, "it was idle");
    if (p->n_links > 0)
        look_start(p);
}

/* --- connecting -------------------------------------------------------- */

static void
pool_connect(struct vc__task *task)
{
    struct vc__pool *p = caa_container_of(task, struct vc__pool, connect);

    if (p->closer != NULL)
        return;
    if (!vc__timer_running(&p->look))
        look_start(p);
    vc__attempt_begin(p);
}

void
vc__pool_want(struct vc__pool *p, const struct vc_service *service)
{
    if (p->peer != NULL && p->peer->n_links > 0)
        return;
    if (!p->attempting)
        p->asked = service;
    attempt_post(p);
}

void
vc__pool_grow(struct vc__pool *p)
{
    if (p->peer != NULL && p->peer->token != 0 &&
        p->peer->n_links < p->opts.max_links)
        attempt_post(p);
}

static bool
connect_join(struct vc__pool *p, const struct vc_service *service,
             struct vc__pool_waiter *w)
{
    bool wait = false;

    pthread_mutex_lock(&p->lock);
    if (p->closed) {
        vc__error_put(&w->error, VC_CANCELLED, "the channel is closed");
    } else if (p->peer == NULL || p->peer->n_links == 0) {
        cds_list_add_tail(&w->node, &p->connecting);
        p->not_before = 0; /* somebody wants to know now */
        vc__pool_want(p, service);
        wait = true;
    }
    pthread_mutex_unlock(&p->lock);
    return wait;
}

enum vc_status
vc__pool_connect(struct vc__pool *p, const struct vc_service *service,
                 const void *owner)
{
    struct vc__pool_waiter w = {.owner = owner, .error = {.status = VC_OK}};

    vc__engine_catch_up(p->cm->engine, vc__now());
    vc__waiter_init(&w.waiter);
    /* Every way that connecting ends is on a timer of its own. */
    if (connect_join(p, service, &w))
        vc__engine_wait(p->cm->engine, &w.waiter, VC__FOREVER);
    return w.error.status == VC_OK ? VC_OK : vc__error_raise(&w.error);
}

void
vc__pool_cancel(struct vc__pool *p, const void *owner)
{
    struct vc__pool_waiter *w, *next;
    CDS_LIST_HEAD(cancelled);
    struct vc__error error;

    vc__error_put(&error, VC_CANCELLED, "the channel was closed");
    pthread_mutex_lock(&p->lock);
    cds_list_for_each_entry_safe (w, next, &p->connecting, node) {
        if (w->owner == owner) {
            cds_list_del(&w->node);
            cds_list_add(&w->node, &cancelled);
        }
    }
    pthread_mutex_unlock(&p->lock);
    wake_connecting(&cancelled, &error);
    vc__engine_kick(p->cm->engine); /* one may be the holder, asleep */
}

/* --- birth and death --------------------------------------------------- */

static void
peer_close(struct vc__peer *peer)
{
    /* A former peer is freed with its last link. */
    for (unsigned n = peer->n_links; n > 0; n--) {
        struct vc__pool_link *pl =
            cds_list_entry(peer->links.next, struct vc__pool_link, node);

        vc__link_close(&pl->link, VC_CANCELLED, "closed");
    }
}

static void
pool_close(struct vc__task *task)
{
    struct vc__pool *p = caa_container_of(task, struct vc__pool, close);
    struct vc__peer *former, *next;
    struct vc__error error;

    p->closer = p->closing;
    vc__attempt_cancel(p);
    vc__timer_stop(&p->cm->engine->timers, &p->look);
    cds_list_for_each_entry_safe (former, next, &p->former, node)
        peer_close(former);
    if (p->peer != NULL)
        peer_close(p->peer);
    vc__error_put(&error, VC_CANCELLED, "the channel was closed");
    vc__pool_failed(p, &error);
    close_check(p);
}

void
vc__pool_init(struct vc__pool *p, struct vc__cm *cm,
              const struct vc__pool_opts *opts,
              const uint8_t instance[VC__ID_SIZE])
{
    memset(p, 0, sizeof *p);
    p->cm = cm;
    p->opts = *opts;
    memcpy(p->instance, instance, sizeof p->instance);
    vc__backoff_init(&p->backoff, (uint64_t)(uintptr_t)p ^ vc__now());
    vc__attempt_init(p);
    p->budget = REPLY_BUDGET;
    p->connect.run = pool_connect;
    p->close.run = pool_close;
    pthread_mutex_init(&p->lock, NULL);
    CDS_INIT_LIST_HEAD(&p->former);
    CDS_INIT_LIST_HEAD(&p->clients);
    CDS_INIT_LIST_HEAD(&p->connecting);
}

void
vc__pool_shut(struct vc__pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->closed = true;
    pthread_mutex_unlock(&p->lock);
}

void
vc__pool_fini(struct vc__pool *p)
{
    struct vc__waiter waiter;

    vc__waiter_init(&waiter);
    p->closing = &waiter;
    vc__engine_post(p->cm->engine, &p->close);
    /* Ends with the handshake of disconnecting, which has a timer. */
    vc__engine_wait(p->cm->engine, &waiter, VC__FOREVER);
    pthread_mutex_destroy(&p->lock);
}
