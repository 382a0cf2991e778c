/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The send queue of a QP keeps its own account: real adapters refuse a send
 * queue that is full of unsignalled sends (Soft-RoCE retires them silently),
 * so every n-th send is signalled, and its completion retires all before. */
#include "transport/rdma/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/error.h"
#include "transport/rdma/device.h"

#define INLINE_WANTED 256u

/* --- sending ----------------------------------------------------------- */

bool
vc__qp_has_room(const struct vc__qp *qp)
{
    return qp->posted - qp->retired < qp->depth;
}

bool
vc__qp_has_buffer(const struct vc__qp *qp)
{
    return qp->buffers_used - qp->buffers_back < qp->n_buffers;
}

uint8_t *
vc__qp_buffer(struct vc__qp *qp)
{
    return qp->buffers[qp->buffers_used % qp->n_buffers]->data;
}

/* Half of the queue, or of the buffers, may go without a signal. */
static bool
signal_due(const struct vc__qp *qp, bool takes)
{
    return qp->posted + 1 - qp->signalled >= qp->depth / 2 ||
           (takes && qp->buffers_used + 1 - qp->buffers_signalled >=
                         (qp->n_buffers + 1) / 2);
}

static void
sent_account(struct vc__qp *qp, bool takes, bool signal)
{
    qp->took[qp->posted % qp->depth] = takes;
    qp->posted++;
    qp->buffers_used += takes;
    if (signal) {
        qp->signalled = qp->posted;
        qp->buffers_signalled = qp->buffers_used;
    }
}

int
vc__qp_send(struct vc__qp *qp, const uint8_t *data, uint32_t len)
{
    bool takes = len > qp->max_inline;
    bool signal = signal_due(qp, takes);
    struct ibv_sge sge = {.addr = (uintptr_t)data, .length = len};
    struct ibv_send_wr wr = {
        .wr_id = (uint64_t)(qp->posted + 1) << 1 | 1,
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = IBV_WR_SEND,
    };
    struct ibv_send_wr *bad;
    int err;

    if (takes)
        sge.lkey = qp->buffers[qp->buffers_used % qp->n_buffers]->lkey;
    else
        wr.send_flags |= IBV_SEND_INLINE;
    if (signal)
        wr.send_flags |= IBV_SEND_SIGNALED;
    err = ibv_post_send(qp->qp, &wr, &bad);
    if (err == 0)
        sent_account(qp, takes, signal);
    return err;
}

/* Its key and address are 0: a responder does not look at them when there are
 * no bytes (Soft-RoCE: check_rkey() in rxe_resp.c; tests/fake/faithful.c, "a
 * write of nothing"). */
int
vc__qp_probe(struct vc__qp *qp)
{
    struct ibv_send_wr wr = {
        .wr_id = (uint64_t)(qp->posted + 1) << 1 | 1,
        .opcode = IBV_WR_RDMA_WRITE,
        .send_flags = IBV_SEND_SIGNALED,
    };
    struct ibv_send_wr *bad;
    int err = ibv_post_send(qp->qp, &wr, &bad);

    if (err == 0)
        sent_account(qp, false, true);
    return err;
}

void
vc__qp_retire(struct vc__qp *qp, uint32_t number)
{
    while (qp->retired != number) {
        qp->buffers_back += qp->took[qp->retired % qp->depth];
        qp->retired++;
    }
}

/* --- transitions ------------------------------------------------------- */

/* What id knows of the way to `state`. */
static int
attr_of(struct rdma_cm_id *id, enum ibv_qp_state state,
        struct ibv_qp_attr *attr, int *mask)
{
    memset(attr, 0, sizeof *attr);
    attr->qp_state = state;
    return rdma_init_qp_attr(id, attr, mask) == 0 ? 0 : errno;
}

int
vc__qp_to_init(struct vc__qp *qp, struct rdma_cm_id *id)
{
    struct ibv_qp_attr attr;
    int mask;
    int err = attr_of(id, IBV_QPS_INIT, &attr, &mask);

    if (err != 0)
        return err;
    /* For the peer's vc__qp_probe(). Nothing of ours is open to it all the
     * same: a WRITE of bytes needs a key of memory that was registered with
     * IBV_ACCESS_REMOTE_WRITE, and we register none so. */
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    return ibv_modify_qp(qp->qp, &attr, mask);
}

static int
to_rtr(struct vc__qp *qp, struct rdma_cm_id *id, uint8_t reads_in)
{
    struct ibv_qp_attr attr;
    int mask;
    int err = attr_of(id, IBV_QPS_RTR, &attr, &mask);

    if (err != 0)
        return err;
    attr.max_dest_rd_atomic = reads_in;
    attr.min_rnr_timer = VC__MIN_RNR_TIMER;
    mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    return ibv_modify_qp(qp->qp, &attr, mask);
}

int
vc__qp_to_rts(struct vc__qp *qp, struct rdma_cm_id *id, uint8_t reads_in,
              uint8_t reads_out)
{
    struct ibv_qp_attr attr;
    int mask;
    int err = to_rtr(qp, id, reads_in);

    if (err == 0)
        err = attr_of(id, IBV_QPS_RTS, &attr, &mask);
    if (err != 0)
        return err;
    attr.timeout = VC__ACK_TIMEOUT;
    attr.retry_cnt = VC__RETRY_COUNT;
    attr.rnr_retry = VC__RNR_RETRY_COUNT;
    attr.max_rd_atomic = reads_out;
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
            IBV_QP_MAX_QP_RD_ATOMIC;
    return ibv_modify_qp(qp->qp, &attr, mask);
}

void
vc__qp_to_error(struct vc__qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    /* It fails only when the device is gone, and then it is in error. */
    ibv_modify_qp(qp->qp, &attr, IBV_QP_STATE);
}

/* --- birth and death --------------------------------------------------- */

static enum vc_status
buffers_take(struct vc__qp *qp, uint32_t n)
{
    struct vc__buffers *pool = &qp->device->send;
    enum vc_status status = vc__buffers_reserve(pool, n);

    if (status != VC_OK)
        return status;
    while (qp->n_buffers < n)
        qp->buffers[qp->n_buffers++] = vc__buffers_take(pool);
    return VC_OK;
}

static enum vc_status
qp_create(struct vc__qp *qp)
{
    struct ibv_qp_init_attr attr = {
        .qp_context = qp,
        .send_cq = qp->device->cq,
        .recv_cq = qp->device->cq,
        .srq = qp->device->srq,
        .cap = {.max_send_wr = qp->depth,
                .max_send_sge = 1,
                .max_inline_data = INLINE_WANTED},
        .qp_type = IBV_QPT_RC,
    };

    qp->qp = ibv_create_qp(qp->device->pd, &attr);
    if (qp->qp == NULL) { /* perhaps a device with less inline */
        attr.cap.max_inline_data = 0;
        qp->qp = ibv_create_qp(qp->device->pd, &attr);
    }
    if (qp->qp == NULL)
        return vc__fail(
            vc__status_of_errno(errno), "%s: cannot create a QP: %s",
            ibv_get_device_name(qp->device->verbs->device), strerror(errno));
    qp->max_inline = attr.cap.max_inline_data < INLINE_WANTED
                         ? attr.cap.max_inline_data
                         : INLINE_WANTED;
    return VC_OK;
}

enum vc_status
vc__qp_init(struct vc__qp *qp, struct vc__device *device,
            const struct vc__qp_ops *ops, uint32_t depth, uint32_t n_buffers)
{
    enum vc_status status;

    memset(qp, 0, sizeof *qp);
    qp->device = device;
    qp->ops = ops;
    status = vc__device_cq_more(device, depth);
    if (status != VC_OK)
        return status;
    qp->depth = depth;
    qp->took = calloc(depth, sizeof *qp->took);
    qp->buffers = calloc(n_buffers, sizeof(struct vc__buffer *));
    if (qp->took == NULL || qp->buffers == NULL)
        status = vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    if (status == VC_OK)
        status = buffers_take(qp, n_buffers);
    if (status == VC_OK)
        status = qp_create(qp);
    if (status == VC_OK) {
        status = vc__device_add_qp(device, qp);
        if (status != VC_OK) {
            ibv_destroy_qp(qp->qp);
            qp->qp = NULL;
        }
    }
    if (status != VC_OK)
        vc__qp_fini(qp);
    return status;
}

void
vc__qp_fini(struct vc__qp *qp)
{
    if (qp->qp != NULL) {
        vc__device_del_qp(qp->device, qp);
        ibv_destroy_qp(qp->qp);
        /* Its completions that are still queued find no QP, and must be gone
         * before the number is used again. */
        vc__device_drain(qp->device);
    }
    while (qp->n_buffers > 0)
        vc__buffers_give(&qp->device->send, qp->buffers[--qp->n_buffers]);
    if (qp->depth > 0)
        vc__device_cq_less(qp->device, qp->depth);
    free(qp->buffers);
    free(qp->took);
    memset(qp, 0, sizeof *qp);
}
