/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/retry_wait.h. */
#include "rpc/client/retry_wait.h"

void
vc__retry_waits_init(struct vc__retry_waits *ps)
{
    pthread_mutex_init(&ps->lock, NULL);
    CDS_INIT_LIST_HEAD(&ps->list);
    ps->ended = false;
}

void
vc__retry_waits_fini(struct vc__retry_waits *ps)
{
    pthread_mutex_destroy(&ps->lock);
}

void
vc__retry_waits_break(struct vc__retry_waits *ps)
{
    struct vc__retry_wait *p;

    pthread_mutex_lock(&ps->lock);
    ps->ended = true;
    cds_list_for_each_entry (p, &ps->list, node)
        p->broken(p);
    pthread_mutex_unlock(&ps->lock);
}

bool
vc__retry_wait_begin(struct vc__retry_waits *ps, struct vc__retry_wait *p)
{
    bool may;

    pthread_mutex_lock(&ps->lock);
    may = !ps->ended;
    if (may)
        cds_list_add_tail(&p->node, &ps->list);
    pthread_mutex_unlock(&ps->lock);
    return may;
}

void
vc__retry_wait_end(struct vc__retry_waits *ps, struct vc__retry_wait *p)
{
    pthread_mutex_lock(&ps->lock);
    cds_list_del(&p->node);
    pthread_mutex_unlock(&ps->lock);
}
