/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the adapter says of the QPs of a connection, at both ends. */
#ifndef VC_TESTS_SUITE_CONNECTED_H
#define VC_TESTS_SUITE_CONNECTED_H

#include "tests/suite/fixture.h"
#include "tests/suite/rdma_links.h"
#include "transport/rdma/device.h"

/* False when the adapter does not say. */
bool connected_query(struct ibv_qp *qp, struct ibv_qp_attr *attr);

/* Of a channel that is connected. */
struct vc__link *connected_link(struct vc_channel *channel);

/* The server's end of this QP's connection, which has carried an answer; and
 * this process's own. */
struct ibv_qp_attr connected_server(struct fixture *f,
                                    const struct ibv_qp *client);
struct ibv_qp_attr connected_own(struct ibv_qp *qp);

uint8_t connected_least(unsigned a, unsigned b);

/* So many READs from the peer, and to it. */
void connected_has_reads(struct ibv_qp_attr attr, uint8_t in, uint8_t out);

#endif
