/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/connected.h. */
#include "tests/suite/connected.h"

#include <string.h>

#include "cm/pool/pool.h"
#include "rpc/client/channel.h"
#include "rpc/server/server.h"
#include "rpc/server/server_link.h"

bool
connected_query(struct ibv_qp *qp, struct ibv_qp_attr *attr)
{
    const int mask = IBV_QP_STATE | IBV_QP_DEST_QPN | IBV_QP_TIMEOUT |
                     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                     IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_QP_RD_ATOMIC |
                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_AV;
    struct ibv_qp_init_attr init;

    memset(attr, 0, sizeof *attr);
    return ibv_query_qp(qp, attr, mask, &init) == 0;
}

struct vc__link *
connected_link(struct vc_channel *channel)
{
    struct vc__pool *p = channel->servers.only->pool;
    struct vc__link *link;

    vc__lock_take(&p->lock);
    assert_false(cds_list_empty(&p->peer->links));
    link =
        &cds_list_entry(p->peer->links.next, struct vc__pool_link, node)->link;
    vc__lock_give(&p->lock);
    return link;
}

/* Searches the server's links for a QP, on the holder of their engine. */
struct search {
    struct vc__task task;
    struct vc__waiter over;
    struct vc__server_part *part;
    uint32_t peer; /* number of the QP at the other end */
    bool found;
    struct ibv_qp_attr attr;
};

static void
search_run(struct vc__task *task)
{
    struct search *s = caa_container_of(task, struct search, task);
    struct vc__server_link *sl;

    cds_list_for_each_entry (sl, &s->part->links, node) {
        s->found = connected_query(link_qp(&sl->link)->qp, &s->attr) &&
                   s->attr.dest_qp_num == s->peer;
        if (s->found)
            break;
    }
    vc__waiter_done(&s->over);
}

struct ibv_qp_attr
connected_server(struct fixture *f, const struct ibv_qp *client)
{
    struct search s = {.task.run = search_run,
                       .part = &f->server->parts[0],
                       .peer = client->qp_num};

    vc__waiter_init(&s.over);
    vc__engine_post(&s.part->progress->engine, &s.task);
    vc__waiter_await(&s.over);
    assert_true(s.found);
    return s.attr;
}

struct ibv_qp_attr
connected_own(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr;

    assert_true(connected_query(qp, &attr));
    return attr;
}

uint8_t
connected_least(unsigned a, unsigned b)
{
    return (uint8_t)(a < b ? a : b);
}

void
connected_has_reads(struct ibv_qp_attr attr, uint8_t in, uint8_t out)
{
    assert_int_equal(in, attr.max_dest_rd_atomic);
    assert_int_equal(out, attr.max_rd_atomic);
}
