/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Getting a link up: the name is looked up, its addresses are tried
 * (cm/pool/dialer.h). After a failure the next attempt waits for a while. */
#include <string.h>

#include "cm/pool/pool.h"

static struct vc__pool *
pool_of_dialer(struct vc__dialer *d)
{
    return caa_container_of(d, struct vc__pool, attempt.dialer);
}

/* A first link names its service; a further one, or one that is to take up
 * what a lost one had, names the peer. */
static void
hello_fill(struct vc__pool *p, struct vc__hello *h)
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

static struct vc__try *
on_link_new(struct vc__dialer *d, uint32_t ms)
{
    struct vc__pool *p = pool_of_dialer(d);
    struct vc__pool_link *pl = vc__pool_link_new(p, ms);

    if (pl == NULL)
        return NULL;
    hello_fill(p, &pl->link.hello);
    return &pl->try;
}

static void
on_failed(struct vc__dialer *d, const struct vc__error *error)
{
    vc__pool_failed(pool_of_dialer(d), error);
}

static const struct vc__dialer_ops dialer_ops = {.link_new = on_link_new,
                                                 .failed = on_failed};

void
vc__attempt_init(struct vc__pool *p)
{
    vc__dialer_init(&p->attempt.dialer, p->engine, &dialer_ops,
                    &p->opts.source);
}

static uint64_t
chance(const struct vc__pool *p)
{
    uint64_t seed;

    memcpy(&seed, p->instance, sizeof seed);
    return seed ^ vc__now();
}

/* A peer is where it was: a further link must lead there, and one that resumes
 * had better. */
static void
peer_first(struct vc__pool *p, struct vc__addrs *addrs)
{
    if (p->peer == NULL)
        return;
    if (p->peer->n_links > 0)
        addrs->n = 0;
    if (addrs->n == VC__TARGET_ADDRS)
        addrs->n--;
    memmove(&addrs->addr[1], &addrs->addr[0], addrs->n * sizeof addrs->addr[0]);
    addrs->addr[0] = p->peer->addr;
    addrs->n++;
}

static void
dial(struct vc__pool *p, struct vc__addrs *addrs)
{
    const struct vc__dial_opts opts = {
        .addrs = addrs,
        .due = p->attempt.due,
        .seed = chance(p),
        .offer = {.features = VC__FEATURES_OURS,
                  .credits = VC__WINDOW_MAX,
                  .log2_eager = VC__PACKET_LOG2,
                  .log2_message = p->opts.log2_message}};

    peer_first(p, addrs);
    vc__dialer_start(&p->attempt.dialer, &opts);
}

/* --- names ------------------------------------------------------------- */

static void
on_lookup_timer(struct vc__timer *timer)
{
    struct vc__pool *p =
        caa_container_of(timer, struct vc__pool, attempt.timer);
    struct vc__error error;

    vc__lookup_cancel(p->attempt.lookup);
    p->attempt.lookup = NULL;
    vc__error_put(&error, VC_UNAVAILABLE,
                  "no name server told the address of %s within the connect "
                  "timeout of %u ms",
                  p->opts.target.host, p->opts.connect_ms);
    vc__pool_failed(p, &error);
}

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
        dial(p, &addrs);
}

static void
fail_memory(struct vc__pool *p)
{
    struct vc__error error;

    vc__error_put(&error, VC_RESOURCE_EXHAUSTED, "out of memory");
    vc__pool_failed(p, &error);
}

static void
lookup_begin(struct vc__pool *p)
{
    struct vc__attempt *a = &p->attempt;

    a->lookup = vc__lookup_start(p->engine, &p->opts.target, on_lookup, p);
    if (a->lookup != NULL &&
        vc__timer_start(&p->engine->timers, &a->timer, a->due, on_lookup_timer))
        return;
    if (a->lookup != NULL)
        vc__lookup_cancel(a->lookup);
    a->lookup = NULL;
    fail_memory(p);
}

/* --- the attempt ------------------------------------------------------- */

/* Calls in flight wait for a link that resumes them no longer than for a word
 * of a peer that is silent. */
static uint32_t
patience_ms(const struct vc__pool *p)
{
    uint32_t ms = p->opts.connect_ms;

    return p->peer != NULL && p->opts.keepalive_ms != 0 &&
                   p->opts.keepalive_ms < ms
               ? p->opts.keepalive_ms
               : ms;
}

/* True when the process has no room for another link. */
static bool
is_capped(struct vc__pool *p)
{
    struct vc__error error;

    if (atomic_load(&p->cap->n) < p->cap->max)
        return false;
    vc__error_put(&error, VC_RESOURCE_EXHAUSTED,
                  "this process has %u connections to servers, as many as "
                  "max_links of its runtime allows: close channels, or allow "
                  "more",
                  p->cap->max);
    vc__pool_failed(p, &error);
    return true;
}

static void
attempt_now(struct vc__pool *p)
{
    struct vc__addrs addrs;

    if (is_capped(p))
        return;
    if (vc__cm_open(p->cm, p->opts.target.transport, &p->context) != VC_OK) {
        vc__pool_failed(p, vc__error_last());
        return;
    }
    /* From here, for a transport's first use takes its time. */
    p->attempt.due = vc__after_ms(vc__now(), patience_ms(p));
    if (vc__target_numeric(&p->opts.target, &addrs))
        dial(p, &addrs);
    else
        lookup_begin(p);
}

static void
on_later(struct vc__timer *timer)
{
    attempt_now(caa_container_of(timer, struct vc__pool, attempt.timer));
}

void
vc__attempt_begin(struct vc__pool *p)
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
        fail_memory(p);
}

bool
vc__attempt_is_under_way(const struct vc__pool *p)
{
    return p->attempt.dialer.active || p->attempt.lookup != NULL;
}

void
vc__attempt_cancel(struct vc__pool *p)
{
    struct vc__attempt *a = &p->attempt;

    if (a->lookup != NULL)
        vc__lookup_cancel(a->lookup);
    a->lookup = NULL;
    vc__timer_stop(&p->engine->timers, &a->timer);
    vc__dialer_stop(&a->dialer);
}
