/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/rdma/qp_cache.h. There are few depths and few idle QPs, so one
 * list in the order of last use is enough. */
#include "transport/rdma/qp_cache.h"

#include <stddef.h>
#include <string.h>

void
vc__qp_cache_init(struct vc__qp_cache *c, unsigned max)
{
    memset(c, 0, sizeof *c);
    c->max = max;
    CDS_INIT_LIST_HEAD(&c->idle);
}

/* Takes w out of the cache, and returns it; it is the caller's now. Called by
 * take and pop. */
static struct vc__warm_qp *
idle_remove(struct vc__qp_cache *c, struct vc__warm_qp *w)
{
    cds_list_del(&w->node);
    c->stats.idle--;
    return w;
}

struct vc__warm_qp *
vc__qp_cache_pop(struct vc__qp_cache *c)
{
    if (cds_list_empty(&c->idle))
        return NULL;
    return idle_remove(c,
                       cds_list_entry(c->idle.next, struct vc__warm_qp, node));
}

struct vc__warm_qp *
vc__qp_cache_take(struct vc__qp_cache *c, uint32_t depth)
{
    struct vc__warm_qp *w;

    cds_list_for_each_entry (w, &c->idle, node) {
        if (w->depth == depth) {
            c->stats.reused++;
            return idle_remove(c, w);
        }
    }
    return NULL;
}

struct vc__warm_qp *
vc__qp_cache_put(struct vc__qp_cache *c, struct vc__warm_qp *w)
{
    struct vc__warm_qp *out = NULL;

    if (c->max == 0)
        return w;
    if (c->stats.idle >= c->max) {
        out = vc__qp_cache_pop(c);
        c->stats.evicted++;
    }
    cds_list_add_tail(&w->node, &c->idle);
    c->stats.recycled++;
    c->stats.idle++;
    return out;
}
