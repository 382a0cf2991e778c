/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/pause.h. */
#include "rpc/client/pause.h"

void
vc__pauses_init(struct vc__pauses *ps)
{
    pthread_mutex_init(&ps->lock, NULL);
    CDS_INIT_LIST_HEAD(&ps->list);
    ps->ended = false;
}

void
vc__pauses_fini(struct vc__pauses *ps)
{
    pthread_mutex_destroy(&ps->lock);
}

void
vc__pauses_break(struct vc__pauses *ps)
{
    struct vc__pause *p;

    pthread_mutex_lock(&ps->lock);
    ps->ended = true;
    cds_list_for_each_entry (p, &ps->list, node)
        p->broken(p);
    pthread_mutex_unlock(&ps->lock);
}

bool
vc__pause_begin(struct vc__pauses *ps, struct vc__pause *p)
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
vc__pause_end(struct vc__pauses *ps, struct vc__pause *p)
{
    pthread_mutex_lock(&ps->lock);
    cds_list_del(&p->node);
    pthread_mutex_unlock(&ps->lock);
}
