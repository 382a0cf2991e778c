/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Gets a link up: the addresses are found out (pool_lookup.c), and tried by
 * each transport that may lead there (cm/pool/dial_run.h). After a failure the
 * next attempt waits for the backoff, except when the server only lacks the
 * service of the hello; vc__pool_hurry() ends the wait. See cm/pool/pool.h. All
 * of this file runs on the holder of the engine, without the pool's lock,
 * except vc__pool_attempt_init(). Functions named pool_connect_on_ are
 * callbacks of the attempt's dial run. */
#include <string.h>

#include "cm/pool/pool.h"
#include "transport/core/words.h"

/* For the callbacks: the pool that this dial run, their argument, belongs
 * to. */
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
    memcpy(h->instance, p->instance, sizeof h->instance);
    vc__lock_take(&p->lock);
    h->service = p->asked;
    h->fingerprint = p->asked_fingerprint;
    if (p->peer != NULL) {
        h->flags = p->peer->n_links > 0 ? VC__HELLO_POOL : VC__HELLO_RESUME;
        h->pool_token = p->peer->token;
    }
    vc__lock_give(&p->lock);
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
    if (p->homing)
        vc__pool_home_hello(p, &pl->link.hello);
    return &pl->try;
}

/* ops->failed: the run has ended without a link, so the attempt has failed.
 * Only the reject "schema" has the status VC_FAILED_PRECONDITION. */
static void
pool_connect_on_failed(struct vc__dial_run *d, const struct vc__error *error)
{
    struct vc__pool *p = pool_connect_of_dial_run(d);

    p->attempt.refused = error->status == VC_FAILED_PRECONDITION;
    vc__pool_failed(p, error);
}

/* ops->missed: one way has failed; others may succeed. Keeps its error for
 * descriptions. */
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

/* For vc__pool_attempt_dial(): the seed of the plan's random choices. */
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

/* For connect_time_ms() and is_home_first(): true if calls in progress wait for
 * the attempt, or will when the peer's last link is lost meanwhile. Only the
 * holder changes the peer and its links; calls come and go on any thread. */
static bool
is_to_resume(struct vc__pool *p)
{
    bool busy;

    if (p->peer == NULL || p->peer->n_links > 0)
        return p->peer != NULL;
    vc__lock_take(&p->lock);
    busy = vc__peer_is_busy(p->peer);
    vc__lock_give(&p->lock);
    return busy;
}

/* --- where a link may lead --------------------------------------------- */

struct ways {
    const struct vc__transport *carriers[VC__DIAL_CARRIERS];
    unsigned n_carriers; /* 0: each place has its own transport */
    struct vc__place places[VC__DIAL_CARRIERS * VC__DIAL_TOLD_MAX];
    unsigned n_places;
};

/* For ways_find() and the functions that it calls: adds a place to which a link
 * may lead. */
static void
ways_add(struct ways *w, const struct sockaddr_storage *addr,
         const struct vc__transport *transport)
{
    w->places[w->n_places].transport = transport;
    w->places[w->n_places++].addr = *addr;
}

/* For attempt_now() and vc__pool_attempt_dial(): finds the transports by which
 * the target's addresses are tried, and that this machine has. Returns false,
 * with vc__error_last(), if there are none. */
static bool
carriers_find(struct vc__pool *p, struct ways *w)
{
    const struct vc__choice *choice = &p->opts.choice;
    bool is_named = p->opts.target.transport != NULL, found = false;
    struct vc__context *context;

    for (unsigned i = 0; i < choice->n; i++) {
        const struct vc__transport *t = choice->best[i];

        if (t->local && !is_named)
            continue; /* found by an accept: cm/pool/upgrade.c */
        if (vc__cm_open(p->cm, t, &context) != VC_OK) {
            vc__pool_missed(p, t, vc__error_last());
            continue;
        }
        found = true;
        if (!is_named || choice->n == 1)
            w->carriers[w->n_carriers++] = t;
    }
    return found;
}

/* For ways_find(): true if the place where the peer was is tried before all
 * others. False if there is no peer; also if the target has several addresses
 * and there is nothing to resume: then they are tried in their order. */
static bool
is_home_first(struct vc__pool *p)
{
    return p->peer != NULL && (p->opts.target.all == NULL || is_to_resume(p));
}

/* For ways_find(): adds the place where the peer was. */
static void
ways_add_home(struct ways *w, const struct vc__peer *peer)
{
    for (unsigned c = 0; c < w->n_carriers; c++)
        ways_add(w, &peer->home, w->carriers[c]);
    if (w->n_carriers == 0)
        ways_add(w, &peer->place.addr, peer->place.transport);
}

/* For ways_add_all(): true if the ways lead to this place by this transport. */
static bool
ways_have(const struct ways *w, const struct sockaddr_storage *addr,
          const struct vc__transport *transport)
{
    for (unsigned i = 0; i < w->n_places; i++) {
        if (w->places[i].transport == transport &&
            memcmp(&w->places[i].addr, addr, sizeof *addr) == 0)
            return true;
    }
    return false;
}

/* For ways_find(): adds the places, by each carrier. once: not those that the
 * ways lead to already. */
static void
ways_add_all(struct ways *w, const struct vc__place *places, unsigned n,
             bool once)
{
    unsigned c = 0;

    do {
        for (unsigned i = 0; i < n; i++) {
            const struct vc__transport *t =
                w->n_carriers > 0 ? w->carriers[c] : places[i].transport;

            if (!once || !ways_have(w, &places[i].addr, t))
                ways_add(w, &places[i].addr, t);
        }
    } while (++c < w->n_carriers);
}

/* For vc__pool_attempt_dial(): fills w with the ways, in the order in which
 * they are tried. A further link must lead to the peer's present place, unless
 * the pool goes home. */
static void
ways_find(struct vc__pool *p, const struct vc__place *places, unsigned n,
          struct ways *w)
{
    const struct vc__peer *peer = p->peer;
    bool further = peer != NULL && peer->n_links > 0;

    if (further && !p->homing) {
        ways_add(w, &peer->place.addr, peer->place.transport);
        return;
    }
    if (!further && is_home_first(p))
        ways_add_home(w, peer);
    ways_add_all(w, places, n, p->opts.target.all != NULL);
}

void
vc__pool_attempt_dial(struct vc__pool *p, const struct vc__place *places,
                      unsigned n)
{
    struct ways ways = {.n_places = 0};
    struct vc__dial_opts opts = {.places = ways.places,
                                 .carriers = ways.carriers,
                                 .due = p->attempt.due,
                                 .seed = pool_connect_chance(p),
                                 .head_start_ms = p->opts.head_start_ms,
                                 .offer = vc__pool_attempt_offer(p)};

    if (!carriers_find(p, &ways)) {
        vc__pool_failed(p, vc__error_last());
        return;
    }
    ways_find(p, places, n, &ways);
    opts.n_places = ways.n_places;
    opts.n_carriers = ways.n_carriers;
    vc__dial_run_start(&p->attempt.dial_run, &opts);
}

/* --- the attempt ------------------------------------------------------- */

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
    struct ways ways = {.n_carriers = 0};

    p->attempt.refused = false;
    if (is_capped(p))
        return;
    if (!carriers_find(p, &ways)) {
        vc__pool_failed(p, vc__error_last());
        return;
    }
    /* Counted from here, because a transport's first use takes time. */
    p->attempt.ms = connect_time_ms(p);
    p->attempt.due = vc__after_ms(vc__now(), p->attempt.ms);
    vc__pool_lookup(p);
}

/* The timer of vc__pool_attempt_begin(): the backoff is over. */
static void
on_later(struct vc__timer *timer)
{
    attempt_now(caa_container_of(timer, struct vc__pool, attempt.timer));
}

/* For vc__pool_attempt_begin(): the attempt fails, as there is no memory for
 * its timer. */
static void
pool_connect_fail_memory(struct vc__pool *p)
{
    struct vc__error error;

    vc__error_put(&error, VC_RESOURCE_EXHAUSTED, "out of memory");
    vc__pool_failed(p, &error);
}

void
vc__pool_attempt_begin(struct vc__pool *p)
{
    uint64_t at;

    vc__lock_take(&p->lock);
    at = p->not_before;
    vc__lock_give(&p->lock);
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

    vc__pool_lookup_cancel(p);
    vc__timer_stop(&p->engine->timers, &a->timer);
    vc__dial_run_stop(&a->dial_run);
}
