/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Getting a link up: the name is looked up, its addresses are tried. */
#include <string.h>

#include "cm/pool.h"

/* Refusals for a stale QP number that are tried again with another one. */
#define STALE_RETRIES 4

/* A first link names its service; a further one, or one that is to take up
 * what a lost one had, names the peer. */
static void
hello_fill(struct vc__pool *p, struct vc__hello *h)
{
    h->version_min = VC__VERSION_MIN;
    h->version_max = VC__VERSION_MAX;
    h->log2_message = p->opts.log2_message;
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

static void
fail_memory(struct vc__pool *p)
{
    struct vc__error error;

    vc__error_put(&error, VC_RESOURCE_EXHAUSTED, "out of memory");
    vc__pool_failed(p, &error);
}

/* Connects to the next address in what time is left. */
static void
attempt_try(struct vc__pool *p)
{
    struct vc__attempt *a = &p->attempt;
    uint64_t now = vc__now();
    uint64_t left_ms = a->due > now ? (a->due - now + 999) / 1000 : 1;
    struct vc__pool_link *pl = vc__pool_link_new(p, (uint32_t)left_ms);

    if (pl == NULL) {
        fail_memory(p);
        return;
    }
    hello_fill(p, &pl->link.hello);
    a->link = pl;
    vc__link_connect(&pl->link,
                     (struct sockaddr *)&a->addrs.addr[a->next_addr++]);
}

bool
vc__attempt_goes_on(struct vc__pool *p, const struct vc__link *link)
{
    struct vc__attempt *a = &p->attempt;

    a->link = NULL;
    if (vc__now() >= a->due || link->error.status != VC_UNAVAILABLE)
        return false;
    if (link->stale && a->retries < STALE_RETRIES) {
        a->retries++;
        a->next_addr--;
    } else if (a->next_addr >= a->addrs.n) {
        return false;
    }
    attempt_try(p);
    return true;
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
    struct vc__error error;

    vc__timer_stop(&p->cm->engine->timers, &p->attempt.timer);
    p->attempt.lookup = NULL;
    p->attempt.addrs = lookup->addrs;
    vc__error_put(&error, VC_UNAVAILABLE,
                  "no address of %s (%s): see that the name is right and that "
                  "`getent hosts` knows it",
                  p->opts.target.host, lookup->text);
    vc__lookup_free(lookup);
    if (p->attempt.addrs.n == 0)
        vc__pool_failed(p, &error);
    else
        attempt_try(p);
}

static void
lookup_begin(struct vc__pool *p)
{
    struct vc__attempt *a = &p->attempt;

    a->lookup = vc__lookup_start(p->cm->engine, &p->opts.target, on_lookup, p);
    if (a->lookup != NULL && vc__timer_start(&p->cm->engine->timers, &a->timer,
                                             a->due, on_lookup_timer))
        return;
    if (a->lookup != NULL)
        vc__lookup_cancel(a->lookup);
    a->lookup = NULL;
    fail_memory(p);
}

void
vc__attempt_begin(struct vc__pool *p)
{
    struct vc__attempt *a = &p->attempt;

    a->due = vc__after_ms(vc__now(), p->opts.connect_ms);
    a->next_addr = 0;
    a->retries = 0;
    if (vc__target_numeric(&p->opts.target, &a->addrs))
        attempt_try(p);
    else
        lookup_begin(p);
}

void
vc__attempt_cancel(struct vc__pool *p)
{
    struct vc__attempt *a = &p->attempt;

    if (a->lookup != NULL)
        vc__lookup_cancel(a->lookup);
    a->lookup = NULL;
    vc__timer_stop(&p->cm->engine->timers, &a->timer);
    if (a->link != NULL)
        vc__link_close(&a->link->link, VC_CANCELLED, "closed");
    a->link = NULL;
}
