/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See cm/pool/dial_run.h. All of this file runs on the holder of the engine,
 * except vc__dial_run_init(). */
#include "cm/pool/dial_run.h"

#include <stdlib.h>
#include <string.h>

static void dial_run_advance(struct vc__dial_run *d);

void
vc__dial_run_init(struct vc__dial_run *d, struct vc__engine *engine,
                  const struct vc__dial_run_ops *ops,
                  const struct sockaddr_storage *source)
{
    memset(d, 0, sizeof *d);
    d->ops = ops;
    d->engine = engine;
    if (source != NULL)
        d->source = *source;
    CDS_INIT_LIST_HEAD(&d->tries);
}

/* The try has ended, by its own end or by the dial run's: its link no longer
 * counts as trying. Called by vc__dial_run_stop(), vc__dial_run_up() and
 * vc__dial_run_down(). */
static void
try_remove(struct vc__try *t)
{
    t->under_way = false;
    cds_list_del(&t->node);
}

void
vc__dial_run_stop(struct vc__dial_run *d)
{
    d->active = false;
    vc__timer_stop(&d->engine->timers, &d->timer);
    while (!cds_list_empty(&d->tries)) {
        struct vc__try *t = cds_list_entry(d->tries.next, struct vc__try, node);

        try_remove(t); /* before its down(), which is then no failure */
        vc__link_close(t->link, VC_CANCELLED,
                       "the connection attempt is no longer needed");
    }
    /* A try that fails while it begins may end here; then begin_all() still
     * reads the plan. */
    if (d->advancing)
        return;
    free(d->plan);
    d->plan = NULL;
}

/* For dial_run_advance() and dial_run_fail_memory(): ends the run, and then
 * reports the failure by ops->failed(). */
static void
dial_run_fail(struct vc__dial_run *d, const struct vc__error *why)
{
    const struct vc__error error = *why; /* may be the plan's own */

    vc__dial_run_stop(d);
    d->ops->failed(d, &error);
}

/* dial_run_fail() where there is no memory for the plan or the timer. For
 * vc__dial_run_start() and wait_until(). */
static void
dial_run_fail_memory(struct vc__dial_run *d)
{
    struct vc__error error;

    vc__error_put(&error, VC_RESOURCE_EXHAUSTED, "out of memory");
    dial_run_fail(d, &error);
}

/* A way has failed: reports it, and has the plan decide. Called when its link
 * could not be made (try_begin()), or went down (vc__dial_run_down()). */
static void
dial_run_missed(struct vc__dial_run *d, unsigned which,
                const struct vc__dial_failure *f)
{
    if (d->ops->missed != NULL)
        d->ops->missed(d, d->plan->ways[which].to.transport, f->error);
    vc__dial_failed(d->plan, which, vc__now(), f);
}

/* For begin_all(): makes a link for this step of the plan, and connects it. If
 * none can be made, the way has failed. */
static void
try_begin(struct vc__dial_run *d, const struct vc__dial_step *step,
          uint64_t now)
{
    uint64_t left_ms = (d->plan->due - now + 999) / 1000;
    const struct vc__dial_offer *offer = &step->way->offer;
    struct vc__try *t =
        d->ops->link_new(d, step->way->to.transport, (uint32_t)left_ms);

    if (t == NULL) { /* other tries may be in progress */
        const struct vc__error error = *vc__error_last();
        const struct vc__dial_failure failure = {.error = &error};

        dial_run_missed(d, step->which, &failure);
        return;
    }
    t->dial_run = d;
    t->which = step->which;
    t->under_way = true;
    t->moved = step->way->move > 0;
    t->link->hello.features = offer->features;
    t->link->hello.log2_message = offer->log2_message;
    t->link->credits_max = offer->credits;
    t->link->wire->source = d->source;
    cds_list_add_tail(&t->node, &d->tries);
    vc__link_connect(t->link, (const struct sockaddr *)&step->way->to.addr);
}

/* The timer of wait_until() fires: the next address is due, or the time for all
 * of them is over. Does what the plan says now. */
static void
dial_run_on_timer(struct vc__timer *timer)
{
    dial_run_advance(caa_container_of(timer, struct vc__dial_run, timer));
}

/* For dial_run_advance(): starts the timer. The run fails without memory. */
static void
wait_until(struct vc__dial_run *d, uint64_t at)
{
    if (!vc__timer_start(&d->engine->timers, &d->timer, at, dial_run_on_timer))
        dial_run_fail_memory(d);
}

/* For dial_run_advance(): begins all tries that can begin now; returns what to
 * do next. If a callback has stopped the run, the result means nothing. */
static enum vc__dial_what
begin_all(struct vc__dial_run *d, struct vc__dial_step *step)
{
    uint64_t now = vc__now();
    enum vc__dial_what what = vc__dial_next(d->plan, now, step);

    while (d->active && what == VC__DIAL_TRY) {
        try_begin(d, step, now);
        now = vc__now();
        what = vc__dial_next(d->plan, now, step);
    }
    return what;
}

/* Does what the plan says. Called at the start, after each failed try, and when
 * the timer fires. If tries are just being begun, that goes on instead. */
static void
dial_run_advance(struct vc__dial_run *d)
{
    struct vc__dial_step step;
    enum vc__dial_what what;

    if (!d->active || d->advancing)
        return;
    d->advancing = true;
    what = begin_all(d, &step);
    d->advancing = false;
    if (!d->active) { /* stopped meanwhile */
        vc__dial_run_stop(d);
        return;
    }
    switch (what) {
    case VC__DIAL_WAIT:
        wait_until(d, step.at);
        break;
    case VC__DIAL_FAIL:
        dial_run_fail(d, &d->plan->error);
        break;
    case VC__DIAL_TRY: /* all of them have begun */
    case VC__DIAL_NOTHING:
        vc__timer_stop(&d->engine->timers, &d->timer);
        break;
    }
}

void
vc__dial_run_start(struct vc__dial_run *d, const struct vc__dial_opts *opts)
{
    struct vc__dial_opts own = *opts;

    if (d->plan == NULL) /* else it was stopped while beginning tries */
        d->plan = malloc(sizeof *d->plan);
    if (d->plan == NULL) {
        dial_run_fail_memory(d);
        return;
    }
    own.family = d->source.ss_family;
    vc__dial_begin(d->plan, &own);
    d->active = true;
    dial_run_advance(d);
}

void
vc__dial_run_up(struct vc__try *t)
{
    if (t->under_way) {
        try_remove(t);
        vc__dial_run_stop(t->dial_run);
    }
}

bool
vc__dial_run_down(struct vc__try *t)
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
    dial_run_missed(t->dial_run, t->which, &failure);
    dial_run_advance(t->dial_run);
    return true;
}
