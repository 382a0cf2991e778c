/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/reach.h. */
#include "tests/suite/reach.h"

#include "tests/suite/rdma_links.h"
#include "transport/rdma/buffer.h"

/* The server's last send buffer: buffers are used in turn, so it is not used
 * for the first packets. */
static void
link_buffer(struct vc__link *link, void *arg)
{
    const struct vc__buffer *b =
        link_qp(link)->buffers[link_qp(link)->n_buffers - 1];

    *(struct reach_buffer *)arg =
        (struct reach_buffer){.data = b->data, .key = b->lkey};
}

struct reach_buffer
reach_server_buffer(struct fixture *f)
{
    struct reach_buffer b = {.data = NULL};

    hostile_links_visit(f, link_buffer, &b);
    assert_non_null(b.data);
    return b;
}

int
reach_post(struct raw *r, enum ibv_wr_opcode opcode,
           const struct reach_buffer *there, uint8_t ours[8])
{
    struct ibv_sge sge = {.addr = (uintptr_t)ours,
                          .length = 8,
                          .lkey = raw_verbs_of(r)->mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = opcode};

    if (opcode == IBV_WR_SEND_WITH_INV) {
        wr.invalidate_rkey = there->key;
    } else if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.rkey = there->key;
        wr.wr.atomic.remote_addr = (uintptr_t)there->data;
        wr.wr.atomic.compare_add = 1;
    } else {
        wr.wr.rdma.rkey = there->key;
        wr.wr.rdma.remote_addr = (uintptr_t)there->data;
    }
    return raw_post(r, &wr);
}
