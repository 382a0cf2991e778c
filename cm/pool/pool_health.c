/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a pool publishes for those who choose among several. See cm/pool/pool.h,
 * "health". Any thread. */
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

/* For vc__pool_health_update(), under the lock. As in gRPC a pool that failed
 * to connect is failing until a link is up, also while it tries again. */
static enum vc__pool_health
health_of(const struct vc__pool *p)
{
    if (p->peer != NULL && vc__placement_link(p->peer) != NULL)
        return VC__POOL_READY;
    if (p->failure.status != VC_OK)
        return VC__POOL_FAILING;
    return p->attempting ? VC__POOL_CONNECTING : VC__POOL_IDLE;
}

void
vc__pool_health_update(struct vc__pool *p)
{
    enum vc__pool_health health = health_of(p);
    bool waits = health == VC__POOL_READY || p->attempting;

    /* Relaxed: a choice by a former state is only a worse one. */
    atomic_store_explicit(&p->prompt_at, waits ? UINT64_MAX : p->not_before,
                          memory_order_relaxed);
    atomic_store_explicit(&p->health, health, memory_order_relaxed);
}

void
vc__pool_prompt_now(struct vc__pool *p, const struct vc_service *service)
{
    pthread_mutex_lock(&p->lock);
    if (health_of(p) != VC__POOL_READY && !p->attempting) {
        p->asked = service;
        vc__pool_attempt(p);
    }
    pthread_mutex_unlock(&p->lock);
}
