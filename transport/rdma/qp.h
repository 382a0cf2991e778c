/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A reliable connected (RC) QP: its send queue, with the account of outstanding
 * work requests, and the transitions that rdma_cm would make if it owned the
 * QP. The owner (the link's lock) serialises posting and retiring; all else is
 * for the holder of the engine.
 *
 * Called by: device.c (is_send, send_number), wire.c (init, fini, to_error,
 * has_room, has_buffer, buffer, send, probe, mark, retire), qp.c (fini),
 * device_queues.c (qps_forget), wire_connect.c (to_init, to_rtr, to_rts). */
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

/* Inline bytes that we ask an adapter for; it may grant fewer. */
#define VC__INLINE_MAX 256u

/* Callbacks to the owner, the wire (wire.c sets them), on the holder of the
 * engine. Called by device.c for completions and asynchronous events. */
struct vc__qp_ops {
    /* A packet was received; data is valid until the function returns. */
    void (*received)(struct vc__qp *qp, const uint8_t *data, uint32_t len);
    /* Sends up to this number have completed: pass it to vc__qp_retire(). */
    void (*sent)(struct vc__qp *qp, uint32_t number);
    /* The QP has failed. May come several times. */
    void (*failed)(struct vc__qp *qp, enum ibv_wc_status why);
    /* The peer's adapter has acknowledged all sends before the probe, but not
     * the probe; failed() follows. */
    void (*probe_lost)(struct vc__qp *qp);
};

struct vc__qp {
    struct ibv_qp *qp;
    struct vc__warm_qp *warm; /* qp across all its uses */
    bool ill;                 /* got a fatal event: must not be reused */
    struct vc__device *device;
    const struct vc__qp_ops *ops;
    uint32_t max_inline;

    /* The send queue. Work requests are numbered; those between retired and
     * posted may still be in the queue. signalled is the last signalled one,
     * but between vc__qp_mark() and the next send. */
    uint32_t depth;
    uint32_t posted, retired, signalled;
    uint32_t probe; /* number of the last probe; 0: none yet */

    /* Send buffers, used in turn. took[] says for each work request whether it
     * uses one. */
    struct vc__buffer **buffers;
    uint32_t n_buffers;
    uint32_t buffers_used, buffers_back, buffers_signalled;
    bool *took; /* depth entries */
};

/* For completion_handle() (device.c): true if the work request with this wr_id
 * is a send. An odd wr_id is a send, an even one a receive buffer's address. */
static inline bool
vc__qp_is_send(uint64_t wr_id)
{
    return wr_id & 1;
}

/* For completion_handle(): the number of this send. */
static inline uint32_t
vc__qp_send_number(uint64_t wr_id)
{
    return (uint32_t)(wr_id >> 1);
}

/* Called when a wire is prepared (wire.c).
 * Sets up a QP, new or reused, with room for depth sends. Up to n_buffers (1..)
 * of them at a time may be longer than max_inline. Errors as vc__device_grant()
 * and ibv_create_qp(3). */
enum vc_status vc__qp_init(struct vc__qp *qp, struct vc__device *device,
                           const struct vc__qp_ops *ops, uint32_t depth,
                           uint32_t n_buffers);

/* Called when a wire is freed or its preparation fails, and by a vc__qp_init()
 * that fails. Releases the QP; no callbacks follow. Must not be called from one
 * of its callbacks. A zeroed struct is allowed. again: no peer can still take
 * the QP for connected, so another connection may reuse it. Then the device's
 * cache keeps the QP, if it keeps any; otherwise the QP is destroyed. */
void vc__qp_fini(struct vc__qp *qp, bool again);

/* Destroys all QPs in the cache. Called when the device is closed, by the
 * thread that closes it. */
void vc__qps_forget(struct vc__qp_cache *cache);

/* Moves the QP to INIT, RTR, or RTS with the attributes that id has for the
 * connection, except those that opts set; RDMA READs as both ends agreed.
 * Returns 0, or an errno. Called by wire_connect.c: INIT before the request or
 * the accept is sent, RTR and RTS in confirm(), but RTR of the passive side in
 * accept(). */
int vc__qp_to_init(struct vc__qp *qp, struct rdma_cm_id *id);
int vc__qp_to_rtr(struct vc__qp *qp, struct rdma_cm_id *id,
                  const struct vc__wire_opts *opts);
int vc__qp_to_rts(struct vc__qp *qp, struct rdma_cm_id *id,
                  const struct vc__wire_opts *opts);

/* Moves the QP to ERR: all outstanding work requests complete as flushed.
 * Called when the wire leaves. */
void vc__qp_to_error(struct vc__qp *qp);

/* From here on, wire.c calls for the operations of the wire, under the link's
 * lock: on any thread, but probe and retire on the holder of the engine. */

/* True if a packet can be posted now: has_room, for one that is sent inline;
 * has_buffer, with has_room, for any. */
bool vc__qp_has_room(const struct vc__qp *qp);
bool vc__qp_has_buffer(const struct vc__qp *qp);

/* The buffer for the next packet that is not inline: VC__BUFFER_SIZE bytes.
 * Only when vc__qp_has_buffer(). */
uint8_t *vc__qp_buffer(struct vc__qp *qp);

/* Posts a packet of len bytes. If len <= max_inline, data is sent inline; else
 * data must be vc__qp_buffer(). 0, or an errno. */
int vc__qp_send(struct vc__qp *qp, const uint8_t *data, uint32_t len);

/* Posts an RDMA WRITE of no bytes, which the peer's adapter acknowledges
 * without the peer's process. It has completed when vc__qp_retire() has reached
 * the value that `posted` has after this call. Only when vc__qp_has_room(). 0,
 * or an errno. */
int vc__qp_probe(struct vc__qp *qp);

/* Has the completion of the next send reported; returns its number. Called by
 * mark() of the wire; a send must follow. */
uint32_t vc__qp_mark(struct vc__qp *qp);

/* Retires all sends up to the number from ops->sent(). The link does so when
 * the wire reports writable(). */
void vc__qp_retire(struct vc__qp *qp, uint32_t number);

#endif
