/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A reliable connected QP: its send queue with the account of what is
 * outstanding, and the transitions that rdma_cm would make for us if it owned
 * the QP. Posting and retiring are serialised by the owner (the link's lock);
 * the rest belongs to the holder of the engine. */
#ifndef VC_TRANSPORT_RDMA_QP_H
#define VC_TRANSPORT_RDMA_QP_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include <verbcall/status.h>

#include "transport/rdma/buffer.h"
#include "transport/rdma/qp_cache.h"
#include "transport/transport.h"

struct vc__device;
struct vc__qp;

/* Bytes that we ask an adapter to send inline; it may do fewer. */
#define VC__INLINE_MAX 256u

/* What comes up, on the holder of the engine. */
struct vc__qp_ops {
    /* A packet; data holds until the function returns. */
    void (*received)(struct vc__qp *qp, const uint8_t *data, uint32_t len);
    /* Sends up to this number are done: hand it to vc__qp_retire(). */
    void (*sent)(struct vc__qp *qp, uint32_t number);
    /* The QP is of no use any more. May come several times. */
    void (*failed)(struct vc__qp *qp, enum ibv_wc_status why);
};

struct vc__qp {
    struct ibv_qp *qp;
    struct vc__warm_qp *warm; /* qp beyond this use of it */
    bool ill;                 /* it failed by itself: not to be used again */
    struct vc__device *device;
    const struct vc__qp_ops *ops;
    uint32_t max_inline;

    /* The send queue. Work requests are numbered; those between retired and
     * posted may still be in the queue. */
    uint32_t depth;
    uint32_t posted, retired, signalled;

    /* Send buffers, used in turn. A bit for each work request says whether it
     * took one. */
    struct vc__buffer **buffers;
    uint32_t n_buffers;
    uint32_t buffers_used, buffers_back, buffers_signalled;
    bool *took; /* depth entries */
};

/* wr_id: an odd number is a send, an even one a receive buffer's address. */
static inline bool
vc__qp_is_send(uint64_t wr_id)
{
    return wr_id & 1;
}

static inline uint32_t
vc__qp_send_number(uint64_t wr_id)
{
    return (uint32_t)(wr_id >> 1);
}

/* A QP, new or used before, with room for depth sends, n_buffers (1..) of them
 * at a time longer than max_inline. Errors as vc__device_grant() and
 * ibv_create_qp(3). */
enum vc_status vc__qp_init(struct vc__qp *qp, struct vc__device *device,
                           const struct vc__qp_ops *ops, uint32_t depth,
                           uint32_t n_buffers);

/* Gives it up; nothing comes up any more. Not from one of its callbacks. A
 * zeroed one is fine. It may be used again, by another connection, when no
 * peer can take it for connected still: then it is kept if the device wants
 * it, otherwise it is destroyed. */
void vc__qp_fini(struct vc__qp *qp, bool again);

/* Destroys those that are kept. */
void vc__qps_forget(struct vc__qp_cache *cache);

/* Moves it to INIT, RTR, or RTS with the attributes that id knows of the
 * connection, but for what opts say; RDMA READs as both ends agree. 0, or an
 * errno. */
int vc__qp_to_init(struct vc__qp *qp, struct rdma_cm_id *id);
int vc__qp_to_rtr(struct vc__qp *qp, struct rdma_cm_id *id,
                  const struct vc__wire_opts *opts);
int vc__qp_to_rts(struct vc__qp *qp, struct rdma_cm_id *id,
                  const struct vc__wire_opts *opts);

/* Moves it to ERR: everything outstanding comes back flushed. */
void vc__qp_to_error(struct vc__qp *qp);

/* May a packet be posted now: one that is inline, or any? */
bool vc__qp_has_room(const struct vc__qp *qp);
bool vc__qp_has_buffer(const struct vc__qp *qp);

/* Where to write the next packet that is not inline: VC__BUFFER_SIZE bytes.
 * Only when vc__qp_has_buffer(). */
uint8_t *vc__qp_buffer(struct vc__qp *qp);

/* Posts len bytes: from data, inline, when len <= max_inline; else from
 * vc__qp_buffer(), and data is that. 0, or an errno. */
int vc__qp_send(struct vc__qp *qp, const uint8_t *data, uint32_t len);

/* Posts an RDMA WRITE of no bytes, which the peer's adapter acknowledges
 * without its process: it is done when vc__qp_retire() has come to the number
 * that `posted` has then. Only when vc__qp_has_room(). 0, or an errno. */
int vc__qp_probe(struct vc__qp *qp);

/* Takes the account of ops->sent(). */
void vc__qp_retire(struct vc__qp *qp, uint32_t number);

#endif
