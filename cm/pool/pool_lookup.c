/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Finds out the addresses of a pool's target for an attempt to connect. Those
 * that are names are looked up, one after the other. See cm/pool/pool.h. All of
 * this file runs on the holder of the engine, without the pool's lock. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cm/connect/addresses.h"
#include "cm/pool/pool.h"

/* What is known so far. */
struct vc__pool_found {
    struct vc__target targets[VC__ADDRESSES_MAX];
    unsigned n_targets;
    unsigned at; /* the target that is looked up now or next */
    struct vc__place places[VC__TARGET_ADDRS];
    unsigned n_places;
    struct vc__error error; /* why the first name that has no address has none;
                               or VC_OK */
};

static void lookup_next(struct vc__pool *p);

/* Adds the addresses of the target. Of several targets each gets an equal share
 * of the room. For lookup_next() and on_lookup(). */
static void
lookup_add(struct vc__pool_found *f, const struct vc__addrs *addrs)
{
    unsigned share = VC__TARGET_ADDRS / f->n_targets;

    for (unsigned i = 0; i < addrs->n && i < share; i++) {
        f->places[f->n_places].transport = f->targets[f->at].transport;
        f->places[f->n_places++].addr = addrs->addr[i];
    }
}

/* The target that was looked up has no address, for this reason. For
 * on_lookup() and on_lookup_timer(). */
static void __attribute__((format(printf, 2, 3)))
lookup_miss(struct vc__pool_found *f, const char *format, ...)
{
    char text[VC_ERROR_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (f->error.status == VC_OK)
        vc__error_put(&f->error, VC_UNAVAILABLE, "%s", text);
}

/* The timer of lookup_begin(): the lookup has taken all of its time. Cancels
 * it, and goes on with the next target. */
static void
on_lookup_timer(struct vc__timer *timer)
{
    struct vc__pool *p =
        caa_container_of(timer, struct vc__pool, attempt.timer);
    struct vc__pool_found *f = p->attempt.found;

    vc__lookup_cancel(p->attempt.lookup);
    p->attempt.lookup = NULL;
    lookup_miss(f,
                "the name %s was not resolved within %s of %u ms: see that the "
                "name servers answer",
                f->targets[f->at].host,
                f->n_targets == 1 ? "the connect timeout"
                                  : "its part of the connect timeout",
                p->attempt.ms);
    f->at++;
    lookup_next(p);
}

/* lookup->done: the name lookup has finished, with addresses or without. Goes
 * on with the next target. */
static void
on_lookup(struct vc__lookup *lookup)
{
    struct vc__pool *p = lookup->owner;
    struct vc__pool_found *f = p->attempt.found;

    vc__timer_stop(&p->engine->timers, &p->attempt.timer);
    p->attempt.lookup = NULL;
    if (lookup->addrs.n == 0)
        lookup_miss(
            f,
            "no address of %s (%s): see that the name is right and that "
            "`getent hosts` knows it",
            lookup->target.host, lookup->text);
    lookup_add(f, &lookup->addrs);
    vc__lookup_free(lookup);
    f->at++;
    lookup_next(p);
}

/* The attempt fails, as there is no memory. For lookup_begin() and
 * vc__pool_lookup(). */
static void
lookup_fail_memory(struct vc__pool *p)
{
    struct vc__error error;

    vc__pool_lookup_cancel(p);
    vc__error_put(&error, VC_RESOURCE_EXHAUSTED, "out of memory");
    vc__pool_failed(p, &error);
}

/* For lookup_next(): starts the lookup of a name, and its timer. While the
 * server has further addresses, a name has half of the time left. The attempt
 * fails if out of memory or threads. */
static void
lookup_begin(struct vc__pool *p)
{
    struct vc__pool_attempt *a = &p->attempt;
    const struct vc__target *target = &a->found->targets[a->found->at];
    uint64_t until = a->due, now = vc__now();

    if (a->found->n_targets > 1 && now < until)
        until = now + (until - now) / 2;
    a->lookup = vc__lookup_start(p->engine, target, on_lookup, p);
    if (a->lookup == NULL ||
        !vc__timer_start(&p->engine->timers, &a->timer, until, on_lookup_timer))
        lookup_fail_memory(p);
}

/* For lookup_next(): all that can be known is known. Connects to the addresses,
 * or, without any, fails the attempt. */
static void
lookup_end(struct vc__pool *p)
{
    struct vc__pool_found *f = p->attempt.found;

    p->attempt.found = NULL;
    vc__addresses_interleave(f->places, f->n_places);
    if (f->n_places > 0)
        vc__pool_attempt_dial(p, f->places, f->n_places);
    else
        vc__pool_failed(p, &f->error);
    free(f);
}

/* Goes on with the target found->at. Called at the beginning, and after each
 * lookup. */
static void
lookup_next(struct vc__pool *p)
{
    struct vc__pool_found *f = p->attempt.found;
    struct vc__addrs addrs;

    for (; f->at < f->n_targets; f->at++) {
        if (!vc__target_numeric(&f->targets[f->at], &addrs)) {
            lookup_begin(p);
            return;
        }
        lookup_add(f, &addrs);
    }
    lookup_end(p);
}

void
vc__pool_lookup(struct vc__pool *p)
{
    const struct vc__target *target = &p->opts.target;
    struct vc__pool_found *f = calloc(1, sizeof *f);

    p->attempt.found = f;
    if (f == NULL) {
        lookup_fail_memory(p);
        return;
    }
    if (target->all != NULL) { /* it was parsed before, so this succeeds */
        vc__addresses_parse(f->targets, &f->n_targets, target->all);
    } else {
        f->targets[0] = *target;
        f->n_targets = 1;
    }
    lookup_next(p);
}

void
vc__pool_lookup_cancel(struct vc__pool *p)
{
    struct vc__pool_attempt *a = &p->attempt;

    if (a->lookup != NULL)
        vc__lookup_cancel(a->lookup);
    a->lookup = NULL;
    free(a->found);
    a->found = NULL;
}
