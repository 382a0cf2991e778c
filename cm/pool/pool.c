/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The requests of a pool, and what happens to them without a link. The life of
 * its links is in pool_link.c, getting a link up in pool_connect.c. See
 * cm/pool/pool.h. Static functions, tasks among them, run on the holder of the
 * engine, except pool_opts_take(), which runs on the thread that makes the
 * pool. */
#include "cm/pool/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/pool/client.h"
#include "cm/pool/placement.h"
#include "transport/core/invariant.h"
#include "transport/core/le.h"

/* The longest that a call waits for the next attempt to connect after the last
 * have failed; if that is further off, the call fails at once. */
#define PATIENCE_US 300000u

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

/* For vc__pool_refuse(), without locks: fails streams whose link was lost, with
 * the reason for that. */
static void
streams_fail(struct cds_list_head *broken, const struct vc__error *why)
{
    CDS_LIST_HEAD(unknown);
    CDS_LIST_HEAD(unsent);
    struct vc__error error;

    while (!cds_list_empty(broken)) {
        struct vc__request *r =
            cds_list_entry(broken->next, struct vc__request, node);

        cds_list_del(&r->node);
        cds_list_add_tail(&r->node, r->exposed ? &unknown : &unsent);
    }
    vc__error_put(&error, VC_UNAVAILABLE,
                  "the connection that carried the stream was lost: %s",
                  why->text);
    vc__requests_fail(&unknown, &error, VC_OUTCOME_UNKNOWN);
    vc__requests_fail(&unsent, &error, VC_OUTCOME_NOT_EXECUTED);
}

void
vc__pool_refuse(struct vc__pool *p)
{
    CDS_LIST_HEAD(refused);
    CDS_LIST_HEAD(broken);
    struct vc__error error, broken_by;

    vc__lock_take(&p->lock);
    broken_by = p->broken_by;
    cds_list_splice(&p->refused, &refused);
    CDS_INIT_LIST_HEAD(&p->refused);
    cds_list_splice(&p->broken, &broken);
    CDS_INIT_LIST_HEAD(&p->broken);
    vc__lock_give(&p->lock);
    streams_fail(&broken, &broken_by);
    if (cds_list_empty(&refused))
        return;
    vc__error_put(
        &error, VC_RESOURCE_EXHAUSTED,
        "out of memory, or the client has reached the server's limit of "
        "sessions (max_sessions of its options): close channels, or raise it");
    vc__requests_fail(&refused, &error, VC_OUTCOME_NOT_EXECUTED);
}

/* A task: posted by vc__pool_refuse_soon(). Calls vc__pool_refuse(). */
static void
pool_refuse(struct vc__task *task)
{
    struct vc__pool *p = caa_container_of(task, struct vc__pool, refuse);

    vc__lock_take(&p->lock);
    p->refusing = false;
    vc__lock_give(&p->lock);
    vc__pool_refuse(p);
}

void
vc__pool_refuse_soon(struct vc__pool *p)
{
    if (p->refusing || cds_list_empty(&p->refused))
        return;
    p->refusing = true;
    vc__engine_post(p->engine, &p->refuse);
}

void
vc__pool_waiters_wake(struct cds_list_head *waiters,
                      const struct vc__error *error)
{
    while (!cds_list_empty(waiters)) {
        struct vc__pool_waiter *w =
            cds_list_entry(waiters->next, struct vc__pool_waiter, node);

        cds_list_del_init(&w->node);
        w->error = *error;
        vc__waiter_done(&w->waiter);
    }
}

void
vc__pool_waiters_take(struct vc__pool *p, struct cds_list_head *out)
{
    struct vc__pool_waiter *w;

    cds_list_for_each_entry (w, &p->connecting, node)
        w->taken = true;
    cds_list_splice(&p->connecting, out);
    CDS_INIT_LIST_HEAD(&p->connecting);
}

/* For vc__pool_peer_drop(): requests that the peer may have seen end, the
 * others wait again. */
static void
session_drop(struct vc__session *s, struct cds_list_head *unknown)
{
    struct vc__client *c = s->client;
    struct vc__request *r;

    while ((r = vc__session_take(s)) != NULL) {
        if (vc__request_is_exposed(r)) {
            vc__request_complete(c->pool, r);
            cds_list_add_tail(&r->node, unknown);
        } else {
            r->state = VC__REQUEST_WAITING;
            vc__pool_count(c->pool, VC__POOL_CALLS_WAITING, 1);
            cds_list_add_tail(&r->node, &c->waiting);
        }
    }
    if (c != NULL && c->session == s)
        c->session = NULL;
}

void
vc__pool_peer_drop(struct vc__peer *peer, struct cds_list_head *unknown)
{
    struct vc__session *s;

    cds_list_for_each_entry (s, &peer->loose, node)
        session_drop(s, unknown);
    vc__peer_free(peer);
}

void
vc__pool_push(struct vc__pool *p)
{
    if (p->peer != NULL)
        vc__peer_push(p->peer);
    vc__pool_refuse(p);
}

void
vc__pool_launch(struct vc__pool *p)
{
    struct vc__client *c;

    cds_list_for_each_entry (c, &p->clients, node)
        vc__client_launch(c);
}

/* For peer_give_up(): joins why the peer was lost and is not resumed. */
static void
error_join(struct vc__error *error, const struct vc__error *lost)
{
    char again[sizeof error->text];

    memcpy(again, error->text, sizeof again);
    snprintf(error->text, sizeof error->text, "%.120s; then %.120s", lost->text,
             again);
}

/* For service_refused(), under the lock: the next service that a request or
 * waiter needs; NULL if none. */
static const struct vc_service *
service_next(struct vc__pool *p)
{
    struct vc__client *c;

    cds_list_for_each_entry (c, &p->clients, node) {
        if (!cds_list_empty(&c->waiting))
            return c->service;
    }
    if (cds_list_empty(&p->connecting))
        return NULL;
    return cds_list_entry(p->connecting.next, struct vc__pool_waiter, node)
        ->service;
}

/* For pool_refused(), under the lock: takes out requests and waiters of the
 * service of the hello, and has a hello for the next service sent. */
static void
service_refused(struct vc__pool *p, struct cds_list_head *waiting,
                struct cds_list_head *connecting)
{
    struct vc__pool_waiter *w, *next;
    struct vc__client *c;

    cds_list_for_each_entry (c, &p->clients, node) {
        if (c->service->id == p->asked)
            vc__client_take(c, waiting);
    }
    cds_list_for_each_entry_safe (w, next, &p->connecting, node) {
        if (w->service->id == p->asked) {
            cds_list_del(&w->node);
            cds_list_add_tail(&w->node, connecting);
        }
    }
    if (service_next(p) == NULL)
        return;
    vc__pool_attempt_for(p, service_next(p));
}

/* For pool_refused() and pool_failed(), under the lock: the lost peer, if there
 * is one, cannot be reached again. Drops it, and takes out requests that it may
 * have seen; *error then also says how it was lost. */
static void
peer_give_up(struct vc__pool *p, struct cds_list_head *unknown,
             struct vc__error *error)
{
    if (p->peer != NULL && p->lost.status != VC_OK)
        error_join(error, &p->lost);
    p->lost.status = VC_OK;
    if (p->peer != NULL)
        vc__pool_peer_drop(p->peer, unknown);
    p->peer = NULL;
}

/* The requests and waiters that end, and their errors. */
struct endings {
    struct cds_list_head unknown, waiting, connecting;
    struct vc__error lost; /* for requests of unknown outcome */
    struct vc__error error;
};

/* For vc__pool_failed(): nothing ends yet; both errors are `why`. */
static void
endings_init(struct endings *e, const struct vc__error *why)
{
    CDS_INIT_LIST_HEAD(&e->unknown);
    CDS_INIT_LIST_HEAD(&e->waiting);
    CDS_INIT_LIST_HEAD(&e->connecting);
    e->lost = e->error = *why;
}

/* For vc__pool_failed(), without locks: ends what was taken out. */
static void
endings_tell(struct endings *e)
{
    vc__requests_fail(&e->unknown, &e->lost, VC_OUTCOME_UNKNOWN);
    vc__requests_fail(&e->waiting, &e->error, VC_OUTCOME_NOT_EXECUTED);
    vc__pool_waiters_wake(&e->connecting, &e->error);
}

/* For vc__pool_failed(), under the lock: a server refuses the service of the
 * hello, maybe in place of one that did. Waiting requests end with that
 * error. Requests that the former server has seen may have been executed. */
static void
pool_refused(struct vc__pool *p, struct endings *e)
{
    e->lost.status = VC_UNAVAILABLE;
    peer_give_up(p, &e->unknown, &e->lost);
    service_refused(p, &e->waiting, &e->connecting);
}

/* For vc__pool_failed(), under the lock: no server is reached, and everything
 * that waits ends. */
static void
pool_failed(struct vc__pool *p, struct endings *e)
{
    struct vc__client *c;

    peer_give_up(p, &e->unknown, &e->lost);
    e->error = e->lost;
    cds_list_for_each_entry (c, &p->clients, node)
        vc__client_take(c, &e->waiting);
    vc__pool_waiters_take(p, &e->connecting);
}

/* For vc__pool_failed(): true if a server refuses only the service of the
 * hello: it lacks that, or by a reject says that it has another schema of
 * it. */
static bool
is_of_service(const struct vc__pool *p, enum vc_status status)
{
    return status == VC_UNIMPLEMENTED || p->attempt.refused;
}

void
vc__pool_failed(struct vc__pool *p, const struct vc__error *why)
{
    struct endings e;
    bool further, fails;

    endings_init(&e, why);
    vc__lock_take(&p->lock);
    p->attempting = p->homing = false;
    further = p->peer != NULL && p->peer->n_links > 0;
    if (is_of_service(p, why->status) && !further && !p->closed) {
        vc__pool_health_refused(p);
        pool_refused(p, &e);
    } else {
        p->not_before = vc__now() + vc__backoff_failed(&p->backoff);
        p->failure = *why;
        p->failing |= !further;
        if (!further)
            pool_failed(p, &e);
    }
    vc__pool_health_update(p);
    fails = vc__pool_health(p) == VC__POOL_FAILING && !p->closed;
    vc__lock_give(&p->lock);
    if (fails && !p->opts.nowhere)
        vc__pool_log_failing(p, why);
    endings_tell(&e);
}

/* --- wanting a link ---------------------------------------------------- */

bool
vc__pool_is_wanted(struct vc__pool *p)
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

void
vc__pool_attempt(struct vc__pool *p)
{
    if (p->attempting || p->closed)
        return;
    p->attempting = true;
    vc__pool_health_update(p);
    if (!p->posted)
        vc__engine_post(p->engine, &p->connect);
    p->posted = true;
}

void
vc__pool_attempt_for(struct vc__pool *p, const struct vc_service *service)
{
    p->asked = service->id;
    p->asked_fingerprint = service->fingerprint;
    vc__pool_attempt(p);
}

void
vc__pool_hurry(struct vc__pool *p)
{
    if (p->opts.nowhere)
        return;
    p->not_before = 0;
    vc__pool_health_update(p);
    if (!p->attempting || p->posted || p->closed)
        return;
    vc__engine_post(p->engine, &p->connect);
    p->posted = true;
}

/* --- leaving former peers ----------------------------------------------- */

void
vc__pool_tidy(struct vc__pool *p, const struct vc__peer *peer)
{
    if (peer == p->peer || p->tidying || p->closed)
        return;
    p->tidying = true;
    vc__engine_post(p->engine, &p->tidy);
}

/* A task: posted by vc__pool_tidy(). Closes the links of former peers at which
 * no call and no CLOSE is in progress, unless the pool closes. */
static void
pool_tidy(struct vc__task *task)
{
    struct vc__pool *p = caa_container_of(task, struct vc__pool, tidy);

    vc__lock_take(&p->lock);
    p->tidying = false;
    vc__lock_give(&p->lock);
    if (!p->closing)
        vc__pool_former_check(p);
}

/* --- connecting -------------------------------------------------------- */

/* A task: posted by vc__pool_attempt(), vc__pool_hurry() and
 * vc__pool_nowhere_fail(). Begins an attempt, or, of one that waits, ends the
 * backoff. Does nothing if no link is wanted any more, or connections are tried
 * already. A pool that leads nowhere ends its calls instead. */
static void
pool_connect(struct vc__task *task)
{
    struct vc__pool *p = caa_container_of(task, struct vc__pool, connect);

    bool wanted;

    vc__lock_take(&p->lock);
    p->posted = false;
    wanted = p->attempting;
    vc__lock_give(&p->lock);
    if (p->opts.nowhere) {
        vc__pool_nowhere_end(p);
        return;
    }
    if (p->closing || !wanted || vc__pool_attempt_is_under_way(p))
        return;
    if (!vc__timer_running(&p->look))
        vc__pool_look(p);
    vc__pool_attempt_begin(p);
}

bool
vc__pool_want(struct vc__pool *p, const struct vc_service *service,
              struct vc__error *error)
{
    uint64_t now;

    if (p->attempting || (p->peer != NULL && p->peer->n_links > 0))
        return true;
    now = vc__now();
    if (p->not_before > now + PATIENCE_US) {
        *error = p->failure;
        error->outcome = VC_OUTCOME_NOT_EXECUTED;
        return false;
    }
    vc__pool_attempt_for(p, service);
    return true;
}

void
vc__pool_grow(struct vc__pool *p)
{
    if (p->peer != NULL && p->peer->token != 0 &&
        p->peer->n_links < p->opts.max_links)
        vc__pool_attempt(p);
}

void
vc__pool_cancel(struct vc__pool *p, const void *owner)
{
    struct vc__pool_waiter *w, *next;
    CDS_LIST_HEAD(cancelled);
    struct vc__error error;

    vc__error_put(&error, VC_CANCELLED, "the channel was closed");
    vc__lock_take(&p->lock);
    cds_list_for_each_entry_safe (w, next, &p->connecting, node) {
        if (w->owner == owner) {
            w->taken = true;
            cds_list_del(&w->node);
            cds_list_add(&w->node, &cancelled);
        }
    }
    vc__lock_give(&p->lock);
    vc__pool_waiters_wake(&cancelled, &error);
    vc__engine_kick(p->engine); /* one may be the sleeping holder */
}

/* --- birth ------------------------------------------------------------- */

/* For vc__pool_init(): copies the options, and makes what depends on their
 * target. Returns false if out of memory. */
static bool
pool_opts_take(struct vc__pool *p, const struct vc__pool_opts *opts)
{
    const struct vc__target *target = &opts->target;

    p->opts = *opts;
    if (opts->nowhere)
        p->opts.ahead = NULL;
    if (target->all != NULL)
        p->opts.target.all = p->addresses = strdup(target->all);
    if (target->transport == NULL)
        p->missed = calloc(VC__TRANSPORTS_MAX, sizeof *p->missed);
    if ((target->all == NULL || p->addresses != NULL) &&
        (target->transport != NULL || p->missed != NULL))
        return true;
    free(p->addresses);
    free(p->missed);
    return false;
}

bool
vc__pool_init(struct vc__pool *p, struct vc__cm *cm, struct vc__link_cap *cap,
              const struct vc__pool_opts *opts,
              const uint8_t instance[VC__ID_SIZE])
{
    memset(p, 0, sizeof *p);
    if (!pool_opts_take(p, opts))
        return false;
    p->cm = cm;
    p->engine = cm->engine;
    p->cap = cap;
    memcpy(p->instance, instance, sizeof p->instance);
    vc__backoff_init(&p->backoff, vc__get64(instance) ^ vc__now());
    vc__backoff_init(&p->ahead.backoff, ~vc__get64(instance) ^ vc__now());
    vc__pool_attempt_init(p);
    vc__upgrade_init(p);
    vc__store_init(&p->store, VC__REPLY_BUDGET, false);
    vc__account_init(&p->replies, &p->store);
    vc__trimmer_init(&p->trimmer, &p->store, &p->engine->timers);
    vc__pool_tally_open(p);
    p->connect.run = pool_connect;
    p->refuse.run = pool_refuse;
    p->tidy.run = pool_tidy;
    vc__lock_init(&p->lock);
    CDS_INIT_LIST_HEAD(&p->former);
    CDS_INIT_LIST_HEAD(&p->clients);
    CDS_INIT_LIST_HEAD(&p->gates);
    CDS_INIT_LIST_HEAD(&p->refused);
    CDS_INIT_LIST_HEAD(&p->broken);
    CDS_INIT_LIST_HEAD(&p->connecting);
    if (opts->nowhere)
        vc__pool_nowhere_init(p);
    return true;
}
