/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The attributes of a connection's QPs at both ends, as the adapter reports
 * them. */
#ifndef VC_TESTS_SUITE_CONNECTED_H
#define VC_TESTS_SUITE_CONNECTED_H

#include "tests/suite/fixture.h"
#include "tests/suite/rdma_links.h"
#include "transport/rdma/device.h"

/* False when ibv_query_qp() fails. */
bool connected_query(struct ibv_qp *qp, struct ibv_qp_attr *attr);

/* The link of a channel that is connected. */
struct vc__link *connected_link(struct vc_channel *channel);

/* The attributes of the server's QP that is connected to `client`, after that
 * connection has carried a reply; and of this process's own QP. */
struct ibv_qp_attr connected_server(struct fixture *f,
                                    const struct ibv_qp *client);
struct ibv_qp_attr connected_own(struct ibv_qp *qp);

uint8_t connected_least(unsigned a, unsigned b);

/* Asserts the QP's limits of outstanding RDMA READs: `in` from the peer, `out`
 * to the peer. */
void connected_has_reads(struct ibv_qp_attr attr, uint8_t in, uint8_t out);

#endif
