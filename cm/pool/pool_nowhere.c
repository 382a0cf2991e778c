/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A pool that leads nowhere: calls wait in it until a resolver has found the
 * servers of their channel, or, if it recalls them, until they are to choose a
 * server again. See cm/pool/pool.h, "nowhere". While calls wait, such a pool
 * seems to be connecting; it never makes a link. */
#include "cm/pool/pool.h"

#define RECALL_US UINT64_C(10000)

void
vc__pool_nowhere_init(struct vc__pool *p)
{
    if (p->opts.recalls)
        return; /* the first call that waits begins an attempt */
    p->attempting = true;
    atomic_store_explicit(&p->health, VC__POOL_CONNECTING,
                          memory_order_relaxed); /* nobody else knows it yet */
    atomic_store_explicit(&p->prompt_at, UINT64_MAX, memory_order_relaxed);
}

void
vc__pool_nowhere_fail(struct vc__pool *p, const struct vc__error *why)
{
    vc__lock_take(&p->lock);
    p->attempting = false;
    p->not_before = UINT64_MAX; /* so later calls fail at once */
    p->failure = *why;
    p->failing = true;
    if (!p->posted && !p->closed)
        vc__engine_post(p->engine, &p->connect);
    p->posted = true;
    atomic_store_explicit(&p->health, VC__POOL_FAILING, memory_order_relaxed);
    vc__lock_give(&p->lock);
}

/* Ends the calls that wait, on the holder; those that come later wait again.
 * For nowhere_wait() and nowhere_on_timer(). */
static void
nowhere_recall(struct vc__pool *p)
{
    struct vc__error why;

    vc__error_put(&why, VC_UNAVAILABLE,
                  "the channel's policy had no server for it");
    vc__pool_failed(p, &why);
    vc__lock_take(&p->lock);
    /* Else later ones fail at once, when the backoff is long. */
    vc__backoff_reset(&p->backoff);
    vc__lock_give(&p->lock);
}

/* The timer of nowhere_wait() fires, on the holder: ends the calls that
 * wait. */
static void
nowhere_on_timer(struct vc__timer *timer)
{
    nowhere_recall(caa_container_of(timer, struct vc__pool, attempt.timer));
}

/* For vc__pool_nowhere_end(), on the holder: a call has begun to wait. Starts
 * the timer that ends it; without memory ends it at once. */
static void
nowhere_wait(struct vc__pool *p)
{
    if (!vc__timer_start(&p->engine->timers, &p->attempt.timer,
                         vc__now() + RECALL_US, nowhere_on_timer))
        nowhere_recall(p); /* no memory: at once */
}

void
vc__pool_nowhere_end(struct vc__pool *p)
{
    struct vc__error why;

    if (p->closing)
        return;
    if (p->opts.recalls) {
        nowhere_wait(p);
        return;
    }
    vc__lock_take(&p->lock);
    why = p->failure;
    vc__lock_give(&p->lock);
    vc__pool_failed(p, &why);
    vc__lock_take(&p->lock);
    p->not_before = UINT64_MAX;
    vc__lock_give(&p->lock);
}
