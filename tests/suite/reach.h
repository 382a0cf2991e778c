/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A raw client that accesses the server's memory by verbs, over RDMA. */
#ifndef VC_TESTS_SUITE_REACH_H
#define VC_TESTS_SUITE_REACH_H

#include "tests/suite/hostile.h"
#include "tests/suite/raw_rdma.h"

/* Memory that the server has registered for sending to a raw client, and does
 * not use yet: its address at the server, and its key. */
struct reach_buffer {
    const uint8_t *data;
    uint32_t key;
};
struct reach_buffer reach_server_buffer(struct fixture *f);

/* Posts an operation on that memory by its key, with r's eight bytes as the
 * local buffer. Keys are no secret, as adapters assign them by counting up.
 * Returns as raw_post() does. */
int reach_post(struct raw *r, enum ibv_wr_opcode opcode,
               const struct reach_buffer *there, uint8_t ours[8]);

#endif
