/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A pool that leads nowhere: calls wait in it until a resolver has found the
 * servers of their channel. See cm/pool/pool.h, "nowhere". Such a pool seems to
 * be connecting; the holder is never asked to connect. */
#include "cm/pool/pool.h"

void
vc__pool_nowhere_init(struct vc__pool *p)
{
    p->attempting = true;
    atomic_store_explicit(&p->health, VC__POOL_CONNECTING,
                          memory_order_relaxed); /* nobody else knows it yet */
    atomic_store_explicit(&p->prompt_at, UINT64_MAX, memory_order_relaxed);
}

void
vc__pool_nowhere_fail(struct vc__pool *p, const struct vc__error *why)
{
    pthread_mutex_lock(&p->lock);
    p->attempting = false;
    p->not_before = UINT64_MAX; /* so later calls fail at once */
    p->failure = *why;
    p->failing = true;
    if (!p->posted && !p->closed)
        vc__engine_post(p->engine, &p->connect);
    p->posted = true;
    atomic_store_explicit(&p->health, VC__POOL_FAILING, memory_order_relaxed);
    pthread_mutex_unlock(&p->lock);
}

void
vc__pool_nowhere_end(struct vc__pool *p)
{
    struct vc__error why;

    if (p->closing)
        return;
    pthread_mutex_lock(&p->lock);
    why = p->failure;
    pthread_mutex_unlock(&p->lock);
    vc__pool_failed(p, &why);
    pthread_mutex_lock(&p->lock);
    p->not_before = UINT64_MAX;
    pthread_mutex_unlock(&p->lock);
}
