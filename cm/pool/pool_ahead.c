/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See cm/pool/pool_ahead.h. */
#include "cm/pool/pool.h"
#include "transport/core/log.h"

/* A connection that was up for so long was a success. */
#define STEADY_US VC__BACKOFF_MAX_US

static void ahead_on_timer(struct vc__timer *timer);

/* For ahead_turn(), on the holder: waits for the next attempt. Without memory
 * for the timer, logs that a call must begin it. */
static void
ahead_wait(struct vc__pool *p, uint64_t due)
{
    char target[VC__TARGET_TEXT];

    if (vc__timer_start(&p->engine->timers, &p->ahead.timer, due,
                        ahead_on_timer))
        return;
    vc__target_text(&p->opts.target, target);
    vc__log(p->engine->log, VC__LOG_FAILING,
            "server %s is not connected until a call needs it: out of memory",
            target);
}

/* For ahead_turn(), on the holder, under the lock: when the next attempt is
 * due; VC__FOREVER if none is needed. */
static uint64_t
ahead_due(const struct vc__pool *p)
{
    uint64_t at = p->ahead.at;

    if (p->closed || vc__pool_is_busy(p))
        return VC__FOREVER;
    if (at < p->not_before)
        at = p->not_before;
    return at < p->refused_until ? p->refused_until : at;
}

/* Begins an attempt, or waits until it is due; does nothing if none is needed.
 * On the holder, for the task and the timer. */
static void
ahead_turn(struct vc__pool *p)
{
    uint64_t due;

    vc__lock_take(&p->lock);
    due = ahead_due(p);
    vc__lock_give(&p->lock);
    if (due <= vc__now())
        vc__pool_prompt_now(p, p->opts.ahead);
    else if (due != VC__FOREVER)
        ahead_wait(p, due);
}

/* The timer: a backoff is over, on the holder. */
static void
ahead_on_timer(struct vc__timer *timer)
{
    ahead_turn(caa_container_of(timer, struct vc__pool, ahead.timer));
}

/* A task, on the holder: posted by ahead_post(). */
static void
pool_ahead(struct vc__task *task)
{
    struct vc__pool *p = caa_container_of(task, struct vc__pool, ahead.task);

    vc__lock_take(&p->lock);
    p->ahead.posted = false;
    vc__lock_give(&p->lock);
    ahead_turn(p);
}

/* Has pool_ahead() run. Under the lock, any thread, for
 * vc__pool_ahead_begin() and vc__pool_ahead_follow(). */
static void
ahead_post(struct vc__pool *p)
{
    if (p->ahead.posted || p->closed)
        return;
    p->ahead.posted = true;
    p->ahead.task.run = pool_ahead;
    vc__engine_post(p->engine, &p->ahead.task);
}

void
vc__pool_ahead_begin(struct vc__pool *p)
{
    if (p->opts.ahead == NULL)
        return;
    vc__lock_take(&p->lock);
    if (!vc__pool_is_busy(p))
        ahead_post(p);
    vc__lock_give(&p->lock);
}

void
vc__pool_ahead_follow(struct vc__pool *p, bool was, bool is)
{
    uint64_t now = vc__now();

    if (!was && is)
        p->ahead.since = now;
    if (was && !is) {
        if (now - p->ahead.since >= STEADY_US)
            vc__backoff_reset(&p->ahead.backoff);
        p->ahead.at = now + vc__backoff_failed(&p->ahead.backoff);
    }
    if (!vc__pool_is_busy(p))
        ahead_post(p);
}

void
vc__pool_ahead_stop(struct vc__pool *p)
{
    vc__timer_stop(&p->engine->timers, &p->ahead.timer);
}
