/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A session with calls in progress is to continue on a link, and there is no
 * memory for that. Its calls must not wait until by chance another link comes
 * up: the link is closed, and the calls go the way of those of any lost link.
 * See cm/pool/pool.h. */
#include "cm/pool/placement.h"
#include "cm/pool/pool.h"

/* For starved_link_any(), under the lock: the link that a session of this peer
 * was to continue on, if any session has calls in progress and no link. NULL:
 * no such session, or no link takes calls. */
static struct vc__pool_link *
starved_link(struct vc__peer *peer)
{
    const struct vc__session *s;

    cds_list_for_each_entry (s, &peer->loose, node) {
        if (s->n_busy > 0)
            return vc__placement_link(peer);
    }
    return NULL;
}

/* For pool_starved(), under the lock: the link to close, as starved_link()
 * finds it, of the present peer or else of a former one. NULL: none. */
static struct vc__pool_link *
starved_link_any(struct vc__pool *p)
{
    struct vc__pool_link *pl = p->peer != NULL ? starved_link(p->peer) : NULL;
    struct vc__peer *former;

    cds_list_for_each_entry (former, &p->former, node) {
        if (pl == NULL)
            pl = starved_link(former);
    }
    return pl;
}

/* A task, on the holder: posted by vc__pool_starve(). Closes one link. If the
 * sessions find no memory on the next one either, the task is posted again.
 * When several links in a row are lost so, the calls end. */
static void
pool_starved(struct vc__task *task)
{
    struct vc__pool *p = caa_container_of(task, struct vc__pool, starved);
    struct vc__pool_link *pl;

    vc__lock_take(&p->lock);
    p->starving = false;
    pl = starved_link_any(p);
    vc__lock_give(&p->lock);
    if (pl != NULL && !p->closing)
        vc__link_close(&pl->link, VC_RESOURCE_EXHAUSTED,
                       "%s: out of memory to go on with calls on this "
                       "connection",
                       vc__link_peer(&pl->link));
}

void
vc__pool_starve(struct vc__pool *p)
{
    if (p->starving || p->closed)
        return;
    p->starving = true;
    p->starved.run = pool_starved;
    vc__engine_post(p->engine, &p->starved);
}
