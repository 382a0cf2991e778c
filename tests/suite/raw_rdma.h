/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A raw end over RDMA: a connection of rdma_cm with its own RC QP and buffers.
 * For tests that are about verbs themselves. */
#ifndef VC_TESTS_SUITE_RAW_RDMA_H
#define VC_TESTS_SUITE_RAW_RDMA_H

#include <rdma/rdma_cma.h>

#include "tests/suite/raw.h"

struct raw_verbs {
    struct rdma_event_channel *events;
    struct rdma_cm_id *id;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    uint8_t *memory;
    unsigned posted, done; /* sends */
    enum ibv_wc_status wc; /* the first status other than success */
};

static inline struct raw_verbs *
raw_verbs_of(const struct raw *r)
{
    return r->end;
}

/* Registered memory of a packet's size; valid until the next packet is sent. */
uint8_t *raw_room(struct raw *r);

/* Posts any work request on r's QP and waits for its completion. Returns its
 * status, or RAW_NOTHING. */
int raw_post(struct raw *r, struct ibv_send_wr *wr);

/* Accepts the request without parameters (conn_param NULL), as a server without
 * a protocol of its own may. Does not wait for the connection. */
bool raw_accept_bare(struct raw *r);

#endif
