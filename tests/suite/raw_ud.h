/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A raw client over datagrams (doc/wire.md, 2.12): a UD QP of its own, whose
 * datagrams the test may write byte by byte. By default it keeps the rules,
 * except that it sends nothing again. For a struct raw whose `ops` is set to
 * &raw_ud_ops before it connects; its `end` is a struct raw_ud. */
#ifndef VC_TESTS_SUITE_RAW_UD_H
#define VC_TESTS_SUITE_RAW_UD_H

#include <rdma/rdma_cma.h>

#include "tests/suite/raw_ops.h"
#include "transport/ud/datagram.h"

#define RAW_UD_DATA (VC__DATAGRAM_MTU - VC__DATAGRAM_HEADER)

struct raw_ud {
    struct rdma_event_channel *events;
    struct rdma_cm_id *id;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    uint8_t *memory;
    struct ibv_qp *qp;
    struct ibv_qp *other; /* of nobody: the peer does not know it */
    struct ibv_ah *ah;
    unsigned sent;
    struct vc__intro ours, theirs;
    uint32_t next;     /* sequence of our next datagram with data */
    uint32_t acked;    /* the peer's last acknowledgement */
    uint32_t sack;     /* and what came with it */
    uint32_t expected; /* of the peer's datagrams */
    unsigned copies;   /* datagrams with data received, each time */
    unsigned resets;   /* RESETs received, for any key */
    uint32_t reset_key;
    bool closed; /* the peer has sent a CLOSE, or a RESET for our key */
    bool silent; /* true: the peer's datagrams are not acknowledged */
    uint8_t assembly[RAW_SIZE];
    uint32_t assembled;
};

static inline struct raw_ud *
raw_ud_of(const struct raw *r)
{
    return r->end;
}

extern const struct raw_ops raw_ud_ops;

/* Asks for a connection with these bytes as private data. Returns the event, as
 * raw_connect() does; close it by raw_close(). */
int raw_ud_ask(struct raw *r, const char *target, const void *bytes,
               size_t len);

/* The head of the next datagram with data; it counts as sent. */
struct vc__datagram raw_ud_next(struct raw *r);

/* Sends a datagram, with data unless len is 0. */
void raw_ud_send(struct raw *r, const struct vc__datagram *d, const void *data,
                 size_t len);

/* Sends any bytes; from the other QP if `stranger`. */
void raw_ud_send_bytes(struct raw *r, const void *bytes, size_t len,
                       bool stranger);

/* Handles what arrives until all that was sent is acknowledged; false: not in
 * time, or the connection has ended. */
bool raw_ud_await_acked(struct raw *r, int ms);

#endif
