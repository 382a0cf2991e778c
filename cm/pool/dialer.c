/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See cm/pool/dialer.h. */
#include "cm/pool/dialer.h"

#include <string.h>

static void advance(struct vc__dialer *d);

void
vc__dialer_init(struct vc__dialer *d, struct vc__engine *engine,
                const struct vc__dialer_ops *ops,
                const struct sockaddr_storage *source)
{
    memset(d, 0, sizeof *d);
    d->ops = ops;
    d->engine = engine;
    if (source != NULL)
        d->source = *source;
    CDS_INIT_LIST_HEAD(&d->tries);
}

static void
try_remove(struct vc__try *t)
{
    t->under_way = false;
    cds_list_del(&t->node);
}

void
vc__dialer_stop(struct vc__dialer *d)
{
    d->active = false;
    vc__timer_stop(&d->engine->timers, &d->timer);
    while (!cds_list_empty(&d->tries)) {
        struct vc__try *t = cds_list_entry(d->tries.next, struct vc__try, node);

        try_remove(t); /* before it goes down, which is not its failure */
        vc__link_close(t->link, VC_CANCELLED, "not needed any more");
    }
}

static void
dialer_fail(struct vc__dialer *d)
{
    const struct vc__error error = d->plan.error;

    vc__dialer_stop(d);
    d->ops->failed(d, &error);
}

static void
fail_memory(struct vc__dialer *d)
{
    vc__error_put(&d->plan.error, VC_RESOURCE_EXHAUSTED, "out of memory");
    dialer_fail(d);
}

static void
way_fail_memory(struct vc__dialer *d, unsigned which, uint64_t now)
{
    struct vc__error error;
    const struct vc__dial_failure failure = {.error = &error};

    vc__error_put(&error, VC_RESOURCE_EXHAUSTED, "out of memory");
    vc__dial_failed(&d->plan, which, now, &failure);
}

static void
try_begin(struct vc__dialer *d, const struct vc__dial_step *step, uint64_t now)
{
    uint64_t left_ms = (d->plan.due - now + 999) / 1000;
    const struct vc__dial_offer *offer = &step->way->offer;
    struct vc__try *t = d->ops->link_new(d, (uint32_t)left_ms);

    if (t == NULL) { /* others may be under way */
        way_fail_memory(d, step->which, now);
        return;
    }
    t->which = step->which;
    t->under_way = true;
    t->link->hello.features = offer->features;
    t->link->hello.log2_message = offer->log2_message;
    t->link->credits_max = offer->credits;
    t->link->wire->source = d->source;
    cds_list_add_tail(&t->node, &d->tries);
    vc__link_connect(t->link, (const struct sockaddr *)&step->way->addr);
}

static void
on_timer(struct vc__timer *timer)
{
    advance(caa_container_of(timer, struct vc__dialer, timer));
}

static void
wait_until(struct vc__dialer *d, uint64_t at)
{
    if (!vc__timer_start(&d->engine->timers, &d->timer, at, on_timer))
        fail_memory(d);
}

/* What is next, once all that can begin now has begun. */
static enum vc__dial_what
begin_all(struct vc__dialer *d, struct vc__dial_step *step)
{
    uint64_t now = vc__now();
    enum vc__dial_what what = vc__dial_next(&d->plan, now, step);

    while (what == VC__DIAL_TRY) {
        try_begin(d, step, now);
        now = vc__now();
        what = vc__dial_next(&d->plan, now, step);
    }
    return what;
}

static void
advance(struct vc__dialer *d)
{
    struct vc__dial_step step;
    enum vc__dial_what what;

    if (!d->active || d->advancing)
        return;
    d->advancing = true;
    what = begin_all(d, &step);
    d->advancing = false;
    switch (what) {
    case VC__DIAL_WAIT:
        wait_until(d, step.at);
        break;
    case VC__DIAL_FAIL:
        dialer_fail(d);
        break;
    case VC__DIAL_TRY: /* all of them have begun */
    case VC__DIAL_NOTHING:
        vc__timer_stop(&d->engine->timers, &d->timer);
        break;
    }
}

void
vc__dialer_start(struct vc__dialer *d, const struct vc__dial_opts *opts)
{
    struct vc__dial_opts own = *opts;

    own.family = d->source.ss_family;
    vc__dial_begin(&d->plan, &own);
    d->active = true;
    advance(d);
}

void
vc__dialer_up(struct vc__dialer *d, struct vc__try *t)
{
    if (t->under_way) {
        try_remove(t);
        vc__dialer_stop(d);
    }
}

bool
vc__dialer_down(struct vc__dialer *d, struct vc__try *t)
{
    const struct vc__link *link = t->link;
    const struct vc__dial_failure failure = {
        .error = &link->error,
        .reject = link->has_reject ? &link->reject : NULL,
        .stale = link->stale,
        .heard = link->heard,
    };

    if (!t->under_way)
        return false;
    try_remove(t);
    vc__dial_failed(&d->plan, t->which, vc__now(), &failure);
    advance(d);
    return true;
}
