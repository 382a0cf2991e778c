/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Gets a link up: the name is looked up, and its addresses are tried by each
 * transport that may lead there (cm/pool/dial_run.h). After a failure the next
 * attempt waits for the backoff. See cm/pool/pool.h. All of this file runs on
 * the holder of the engine, without the pool's lock, except
 * vc__pool_attempt_init(). Functions named pool_connect_on_ are callbacks of
 * the attempt's dial run. */
#include <string.h>

#include "cm/pool/pool.h"
#include "transport/core/words.h"

/* The pool that this dial run, a callback's argument, belongs to. */
static struct vc__pool *
pool_connect_of_dial_run(struct vc__dial_run *d)
{
    return caa_container_of(d, struct vc__pool, attempt.dial_run);
}

/* A first link names its service. A further link names the peer. A link that
 * resumes a lost one names both. Called for each link that a dial run makes.
 * Takes the lock itself. */
void
vc__pool_attempt_hello(struct vc__pool *p, struct vc__hello *h)
{
    h->version_min = VC__VERSION_MIN;
    h->version_max = VC__VERSION_MAX;
    h->sessions = 1;
    memcpy(h->instance, p->instance, sizeof h->instance);
    pthread_mutex_lock(&p->lock);
    h->service = p->asked->id;
    h->fingerprint = p->asked->fingerprint;
    if (p->peer != NULL) {
        h->flags = p->peer->n_links > 0 ? VC__HELLO_POOL : VC__HELLO_RESUME;
        h->pool_token = p->peer->token;
        h->pool_index = (uint16_t)p->peer->n_links;
    }
    pthread_mutex_unlock(&p->lock);
    if (h->flags & VC__HELLO_POOL)
        h->service = 0;
}

/* ops->link_new: the plan tries a way. Returns the new link's try; NULL, with
 * vc__error_last(), if none can be made. pool_link_on_gone() frees the link. */
static struct vc__try *
pool_connect_on_link_new(struct vc__dial_run *d,
                         const struct vc__transport *transport, uint32_t ms)
{
    struct vc__pool *p = pool_connect_of_dial_run(d);
    struct vc__pool_link *pl = vc__pool_link_new(p, transport, ms);

    if (pl == NULL)
        return NULL;
    pl->link.said_ms = p->attempt.ms;
    vc__pool_attempt_hello(p, &pl->link.hello);
    return &pl->try;
}

/* ops->failed: no address could be connected to. */
static void
pool_connect_on_failed(struct vc__dial_run *d, const struct vc__error *error)
{
    vc__pool_failed(pool_connect_of_dial_run(d), error);
}

/* ops->missed: one way has failed; others may succeed. */
static void
pool_connect_on_missed(struct vc__dial_run *d,
                       const struct vc__transport *transport,
                       const struct vc__error *error)
{
    vc__pool_missed(pool_connect_of_dial_run(d), transport, error);
}

static const struct vc__dial_run_ops dial_run_ops = {
    .link_new = pool_connect_on_link_new,
    .missed = pool_connect_on_missed,
    .failed = pool_connect_on_failed};

/* Any thread: the pool is being made. */
void
vc__pool_attempt_init(struct vc__pool *p)
{
    vc__dial_run_init(&p->attempt.dial_run, p->engine, &dial_run_ops,
                      &p->opts.source);
}

/* For pool_connect_dial(): the seed of the plan's random choices. */
static uint64_t
pool_connect_chance(const struct vc__pool *p)
{
    uint64_t seed;

    memcpy(&seed, p->instance, sizeof seed);
    return seed ^ vc__now();
}

/* Called when a dial run starts: an attempt's, or one for a better
 * transport. */
struct vc__dial_offer
vc__pool_attempt_offer(const struct vc__pool *p)
{
    const struct vc__transport *shm = vc__transport_find("shm", 3);
    struct vc__dial_offer offer = {.features = VC__FEATURES_OURS,
                                   .credits = VC__WINDOW_MAX,
                                   .log2_eager = VC__PACKET_LOG2,
                                   .log2_message = p->opts.log2_message};

    /* All links of a pool offer the same. */
    if (p->opts.target.transport == NULL &&
        vc__choice_has(&p->opts.choice, shm))
        offer.features |= VC__FEATURE_LOCAL;
    return offer;
}

/* Where a link may lead. */
struct ways {
    const struct vc__transport *carriers[VC__DIAL_CARRIERS];
    unsigned n_carriers;
    struct vc__place places[VC__DIAL_CARRIERS * VC__DIAL_TOLD_MAX];
    unsigned n_places;
};

/* For ways_find(): adds a place to which a link may lead. */
static void
ways_add(struct ways *w, const struct sockaddr_storage *addr,
         const struct vc__transport *transport)
{
    w->places[w->n_places].transport = transport;
    w->places[w->n_places++].addr = *addr;
}

/* For attempt_now() and pool_connect_dial(): finds the transports by which the
 * target's addresses are tried, and that this machine has. Returns false, with
 * vc__error_last(), if there are none. */
static bool
carriers_find(struct vc__pool *p, struct ways *w)
{
    const struct vc__choice *choice = &p->opts.choice;
    struct vc__context *context;

    for (unsigned i = 0; i < choice->n; i++) {
        const struct vc__transport *t = choice->best[i];

        if (t->local && p->opts.target.transport == NULL)
            continue; /* found by an accept: cm/pool/upgrade.c */
        if (vc__cm_open(p->cm, t, &context) == VC_OK)
            w->carriers[w->n_carriers++] = t;
        else
            vc__pool_missed(p, t, vc__error_last());
    }
    return w->n_carriers > 0;
}

/* For pool_connect_dial(): a further link must lead to the peer's present
 * place. A link that resumes tries the peer's first address before the
 * others. */
static void
ways_find(struct vc__pool *p, const struct vc__addrs *addrs, struct ways *w)
{
    const struct vc__peer *peer = p->peer;

    if (peer != NULL && peer->n_links > 0) {
        ways_add(w, &peer->place.addr, peer->place.transport);
        return;
    }
    for (unsigned c = 0; peer != NULL && c < w->n_carriers; c++)
        ways_add(w, &peer->home, w->carriers[c]);
    for (unsigned c = 0; c < w->n_carriers; c++) {
        for (unsigned i = 0; i < addrs->n; i++)
            ways_add(w, &addrs->addr[i], w->carriers[c]);
    }
}

/* The addresses are known, at once (attempt_now()) or by a lookup
 * (on_lookup()): starts the dial run. The attempt fails if no transport can be
 * used. */
static void
pool_connect_dial(struct vc__pool *p, const struct vc__addrs *addrs)
{
    struct ways ways = {.n_places = 0};
    struct vc__dial_opts opts = {.places = ways.places,
                                 .carriers = ways.carriers,
                                 .due = p->attempt.due,
                                 .seed = pool_connect_chance(p),
                                 .offer = vc__pool_attempt_offer(p)};

    if (!carriers_find(p, &ways)) {
        vc__pool_failed(p, vc__error_last());
        return;
    }
    ways_find(p, addrs, &ways);
    opts.n_places = ways.n_places;
    opts.n_carriers = ways.n_carriers;
    vc__dial_run_start(&p->attempt.dial_run, &opts);
}

/* --- names ------------------------------------------------------------- */

/* The timer of lookup_begin(): the name lookup has taken all of the attempt's
 * time. */
static void
on_lookup_timer(struct vc__timer *timer)
{
    struct vc__pool *p =
        caa_container_of(timer, struct vc__pool, attempt.timer);
    struct vc__error error;

    vc__lookup_cancel(p->attempt.lookup);
    p->attempt.lookup = NULL;
    vc__error_put(&error, VC_UNAVAILABLE,
                  "the name %s was not resolved within the connect timeout of "
                  "%u ms: see that the name servers answer",
                  p->opts.target.host, p->attempt.ms);
    vc__pool_failed(p, &error);
}

/* lookup->done: the name lookup has finished, with addresses or without. */
static void
on_lookup(struct vc__lookup *lookup)
{
    struct vc__pool *p = lookup->owner;
    struct vc__addrs addrs = lookup->addrs;
    struct vc__error error;

    vc__timer_stop(&p->engine->timers, &p->attempt.timer);
    p->attempt.lookup = NULL;
    vc__error_put(&error, VC_UNAVAILABLE,
                  "no address of %s (%s): see that the name is right and that "
                  "`getent hosts` knows it",
                  p->opts.target.host, lookup->text);
    vc__lookup_free(lookup);
    if (addrs.n == 0)
        vc__pool_failed(p, &error);
    else
        pool_connect_dial(p, &addrs);
}

/* The attempt fails, as there is no memory for its lookup or timer. */
static void
pool_connect_fail_memory(struct vc__pool *p)
{
    struct vc__error error;

    vc__error_put(&error, VC_RESOURCE_EXHAUSTED, "out of memory");
    vc__pool_failed(p, &error);
}

/* For attempt_now(): starts the name lookup, and its timer. The attempt fails
 * if out of memory or threads. */
static void
lookup_begin(struct vc__pool *p)
{
    struct vc__pool_attempt *a = &p->attempt;

    a->lookup = vc__lookup_start(p->engine, &p->opts.target, on_lookup, p);
    if (a->lookup != NULL &&
        vc__timer_start(&p->engine->timers, &a->timer, a->due, on_lookup_timer))
        return;
    if (a->lookup != NULL)
        vc__lookup_cancel(a->lookup);
    a->lookup = NULL;
    pool_connect_fail_memory(p);
}

/* --- the attempt ------------------------------------------------------- */

/* For connect_time_ms(): true if calls in progress wait for the attempt, or
 * will when the peer's last link is lost meanwhile. Only the holder changes the
 * peer and its links; calls come and go on any thread. */
static bool
is_to_resume(struct vc__pool *p)
{
    bool busy;

    if (p->peer == NULL || p->peer->n_links > 0)
        return p->peer != NULL;
    pthread_mutex_lock(&p->lock);
    busy = vc__peer_is_busy(p->peer);
    pthread_mutex_unlock(&p->lock);
    return busy;
}

/* For attempt_now(): the time for an attempt. Calls in progress wait for a link
 * that resumes them no longer than keepalive waits for a silent peer. */
static uint32_t
connect_time_ms(struct vc__pool *p)
{
    uint32_t ms = p->opts.connect_ms, keepalive = p->opts.keepalive_ms;

    return keepalive != 0 && keepalive < ms && is_to_resume(p) ? keepalive : ms;
}

/* For attempt_now(): true if the process may have no more links; the attempt
 * has then failed. */
static bool
is_capped(struct vc__pool *p)
{
    struct vc__error error;

    if (atomic_load(&p->cap->n) < p->cap->max)
        return false;
    vc__error_put(&error, VC_RESOURCE_EXHAUSTED,
                  "this process has %u connection%s to servers, the limit "
                  "max_links of its runtime: close channels, or raise it",
                  p->cap->max, vc__plural(p->cap->max));
    vc__pool_failed(p, &error);
    return true;
}

/* Begins an attempt when no backoff is left: called by
 * vc__pool_attempt_begin(), and by on_later(). */
static void
attempt_now(struct vc__pool *p)
{
    struct vc__addrs addrs;
    struct ways ways = {.n_carriers = 0};

    if (is_capped(p))
        return;
    if (!carriers_find(p, &ways)) {
        vc__pool_failed(p, vc__error_last());
        return;
    }
    /* Counted from here, because a transport's first use takes time. */
    p->attempt.ms = connect_time_ms(p);
    p->attempt.due = vc__after_ms(vc__now(), p->attempt.ms);
    if (vc__target_numeric(&p->opts.target, &addrs))
        pool_connect_dial(p, &addrs);
    else
        lookup_begin(p);
}

/* The timer of vc__pool_attempt_begin(): the backoff is over. */
static void
on_later(struct vc__timer *timer)
{
    attempt_now(caa_container_of(timer, struct vc__pool, attempt.timer));
}

void
vc__pool_attempt_begin(struct vc__pool *p)
{
    uint64_t at;

    pthread_mutex_lock(&p->lock);
    at = p->not_before;
    pthread_mutex_unlock(&p->lock);
    vc__timer_stop(&p->engine->timers, &p->attempt.timer);
    if (at <= vc__now())
        attempt_now(p);
    else if (!vc__timer_start(&p->engine->timers, &p->attempt.timer, at,
                              on_later))
        pool_connect_fail_memory(p);
}

bool
vc__pool_attempt_is_under_way(const struct vc__pool *p)
{
    return p->attempt.dial_run.active || p->attempt.lookup != NULL;
}

void
vc__pool_attempt_cancel(struct vc__pool *p)
{
    struct vc__pool_attempt *a = &p->attempt;

    if (a->lookup != NULL)
        vc__lookup_cancel(a->lookup);
    a->lookup = NULL;
    vc__timer_stop(&p->engine->timers, &a->timer);
    vc__dial_run_stop(&a->dial_run);
}
