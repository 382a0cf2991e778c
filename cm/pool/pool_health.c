/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a pool publishes for those who choose among several. See cm/pool/pool.h,
 * "health". Any thread. */
#include "cm/pool/gate.h"
#include "cm/pool/placement.h"
#include "cm/pool/pool.h"

const char *
vc__pool_health_name(const struct vc__pool *p)
{
    static const char *const names[] = {
        [VC__POOL_IDLE] = "idle",
        [VC__POOL_CONNECTING] = "connecting",
        [VC__POOL_READY] = "ready",
        [VC__POOL_FAILING] = "failing",
    };

    return names[vc__pool_health(p)];
}

/* How long no policy has a server connected that does not serve what it was
 * asked for. */
#define REFUSED_US UINT64_C(1000000)

bool
vc__pool_is_busy(const struct vc__pool *p)
{
    return p->attempting || (p->peer != NULL && p->peer->n_links > 0);
}

/* For vc__pool_health_update(), under the lock. As in gRPC a pool that failed
 * to connect is failing until a link is up, also while it tries again. */
static enum vc__pool_health
health_of(const struct vc__pool *p)
{
    if (p->peer != NULL && vc__placement_link(p->peer) != NULL)
        return VC__POOL_READY;
    if (p->failing)
        return VC__POOL_FAILING;
    return vc__pool_is_busy(p) ? VC__POOL_CONNECTING : VC__POOL_IDLE;
}

void
vc__pool_health_update(struct vc__pool *p)
{
    uint64_t at =
        p->not_before > p->refused_until ? p->not_before : p->refused_until;
    enum vc__pool_health health = health_of(p), former = vc__pool_health(p);

    /* Relaxed: only the number matters. */
    if (health == VC__POOL_READY && former != VC__POOL_READY)
        atomic_fetch_add_explicit(&p->readied, 1, memory_order_relaxed);
    vc__gates_follow(p, health == VC__POOL_READY);
    if (p->home_due && !p->attempting)
        vc__pool_home_post(p);
    /* Relaxed: a choice by a former state is only a worse one. */
    atomic_store_explicit(&p->prompt_at, vc__pool_is_busy(p) ? UINT64_MAX : at,
                          memory_order_relaxed);
    atomic_store_explicit(&p->health, health, memory_order_relaxed);
    if (p->opts.ahead != NULL)
        vc__pool_ahead_follow(p, former == VC__POOL_READY,
                              health == VC__POOL_READY);
}

void
vc__pool_health_refused(struct vc__pool *p)
{
    p->failing = true;
    p->refused_until = vc__now() + REFUSED_US;
}

void
vc__pool_prompt_now(struct vc__pool *p, const struct vc_service *service)
{
    vc__lock_take(&p->lock);
    if (!vc__pool_is_busy(p))
        vc__pool_attempt_for(p, service);
    vc__lock_give(&p->lock);
}
