/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The send queue of a QP keeps its own account. Real adapters refuse further
 * sends when the queue is full of unsignalled ones (Soft-RoCE retires them
 * silently). So every n-th send is signalled, and its completion retires all
 * before it. Static functions run on the thread of their caller. See
 * transport/rdma/qp.h. */
#include "transport/rdma/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/core/error.h"
#include "transport/rdma/context.h"
#include "transport/rdma/device_queues.h"

/* Allows the peer's vc__qp_probe(). The peer still cannot write to our memory:
 * a WRITE with bytes needs an rkey of memory that was registered with
 * IBV_ACCESS_REMOTE_WRITE, and we register none with it. */
#define ACCESS IBV_ACCESS_REMOTE_WRITE

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

/* True if the next send must be signalled: it fills half of the queue, or of
 * the buffers, with sends since the last signalled one. Called by
 * vc__qp_send(). */
static bool
signal_due(const struct vc__qp *qp, bool takes)
{
    return qp->posted + 1 - qp->signalled >= qp->depth / 2 ||
           (takes && qp->buffers_used + 1 - qp->buffers_signalled >=
                         (qp->n_buffers + 1) / 2);
}

/* Accounts for a work request that was posted. Called by vc__qp_send() and
 * vc__qp_probe(). */
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

/* The rkey and address are 0: a responder ignores them when there are no bytes
 * (Soft-RoCE: check_rkey() in rxe_resp.c; tests/fake/faithful.c, "a write of
 * nothing"). */
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

    if (err == 0) {
        sent_account(qp, false, true);
        qp->probe = qp->posted;
    }
    return err;
}

/* Makes signal_due() true, which costs other sends nothing. */
uint32_t
vc__qp_mark(struct vc__qp *qp)
{
    qp->signalled = qp->posted - qp->depth;
    return qp->posted + 1;
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

/* Gets the attributes that id has for the transition to `state`. 0, or an
 * errno. Called for the transitions below. */
static int
attr_of(struct rdma_cm_id *id, enum ibv_qp_state state,
        struct ibv_qp_attr *attr, int *mask)
{
    memset(attr, 0, sizeof *attr);
    attr->qp_state = state;
    return vc__rdma_errno(rdma_init_qp_attr(id, attr, mask));
}

int
vc__qp_to_init(struct vc__qp *qp, struct rdma_cm_id *id)
{
    struct vc__warm_qp *w = qp->warm;
    struct ibv_qp_attr attr;
    int mask;
    int err = attr_of(id, IBV_QPS_INIT, &attr, &mask);

    if (err != 0)
        return err;
    /* warm_init() has already moved the QP to INIT with these values. */
    if (w->port == attr.port_num && w->pkey_index == attr.pkey_index)
        return 0;
    attr.qp_access_flags = ACCESS;
    err = ibv_modify_qp(qp->qp, &attr, mask);
    if (err == 0) {
        w->port = attr.port_num;
        w->pkey_index = attr.pkey_index;
    }
    return err;
}

int
vc__qp_to_rtr(struct vc__qp *qp, struct rdma_cm_id *id,
              const struct vc__wire_opts *opts)
{
    struct ibv_qp_attr attr;
    int mask;
    int err = attr_of(id, IBV_QPS_RTR, &attr, &mask);

    if (err != 0)
        return err;
    attr.max_dest_rd_atomic = opts->reads_in;
    attr.min_rnr_timer = opts->rnr_timer;
    if (opts->tos != 0) /* 0: the client's, from the path */
        attr.ah_attr.grh.traffic_class = opts->tos;
    mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    return ibv_modify_qp(qp->qp, &attr, mask);
}

int
vc__qp_to_rts(struct vc__qp *qp, struct rdma_cm_id *id,
              const struct vc__wire_opts *opts)
{
    struct ibv_qp_attr attr;
    int mask;
    int err = attr_of(id, IBV_QPS_RTS, &attr, &mask);

    if (err != 0)
        return err;
    attr.timeout = opts->ack_timeout;
    attr.retry_cnt = opts->retries;
    attr.rnr_retry = opts->rnr_retries;
    attr.max_rd_atomic = opts->reads_out;
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
            IBV_QP_MAX_QP_RD_ATOMIC;
    return ibv_modify_qp(qp->qp, &attr, mask);
}

void
vc__qp_to_error(struct vc__qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    /* Fails only when the device is removed; then the QP is in error anyway. */
    ibv_modify_qp(qp->qp, &attr, IBV_QP_STATE);
}

/* --- creation and destruction ------------------------------------------ */

/* Takes n send buffers for a QP that is set up. Errors as
 * vc__buffers_reserve(). Called by vc__qp_init(). */
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

/* Destroys a QP that is not in the cache. Called when it cannot be kept, or the
 * device is closed. */
static void
warm_destroy(struct vc__qp_cache *cache, struct vc__warm_qp *w)
{
    ibv_destroy_qp(w->qp);
    cache->stats.destroyed++;
    free(w);
}

void
vc__qps_forget(struct vc__qp_cache *cache)
{
    struct vc__warm_qp *w;

    while ((w = vc__qp_cache_pop(cache)) != NULL)
        warm_destroy(cache, w);
}

/* Bytes of inline data to ask for, in this order. Adapters refuse a size over
 * their limit and report the limit nowhere. Sizes of mlx5 grow by 64 bytes,
 * less 4 for a header; adapters that keep inline data in place of 16-byte sges
 * have 28, 60, 92, 124 or 220. */
static const uint16_t inline_steps[] = {
    VC__INLINE_MAX, 220, 124, 92, 60, 28, 0};
#define INLINE_STEPS (sizeof inline_steps / sizeof inline_steps[0])

/* Creates a QP. NULL and errno when the adapter refuses; *max_inline is the
 * size that it granted. Called by qp_create(). */
static struct ibv_qp *
qp_create_with(const struct vc__device *d, uint32_t depth, uint32_t wanted,
               uint32_t *max_inline)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = d->cq,
        .recv_cq = d->cq,
        .srq = d->srq,
        .cap = {.max_send_wr = depth,
                .max_send_sge = 1,
                .max_inline_data = wanted},
        .qp_type = IBV_QPT_RC,
    };
    struct ibv_qp *qp = ibv_create_qp(d->pd, &attr);

    *max_inline = attr.cap.max_inline_data < VC__INLINE_MAX
                      ? attr.cap.max_inline_data
                      : VC__INLINE_MAX;
    return qp;
}

/* Creates a QP with as many inline bytes as the adapter grants. NULL and errno
 * on failure. Called by warm_make(). */
static struct ibv_qp *
qp_create(const struct vc__device *d, uint32_t depth, uint32_t *max_inline)
{
    struct ibv_qp *qp = NULL;

    for (unsigned i = 0; qp == NULL && i < INLINE_STEPS; i++)
        qp = qp_create_with(d, depth, inline_steps[i], max_inline);
    return qp;
}

/* Creates a QP that is not in the cache. NULL and vc__error_last() on failure.
 * Called by warm_take(). */
static struct vc__warm_qp *
warm_make(struct vc__device *d, uint32_t depth)
{
    struct vc__warm_qp *w = calloc(1, sizeof *w);

    if (w == NULL) {
        vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
        return NULL;
    }
    w->depth = depth;
    w->qp = qp_create(d, depth, &w->max_inline);
    if (w->qp == NULL) {
        vc__device_fail(d, "a QP", errno);
        free(w);
        return NULL;
    }
    d->warm.stats.made++;
    return w;
}

/* Takes a QP from the cache, or creates one, and puts it into the device's
 * table. Called by vc__qp_init(), whose errors it returns. */
static enum vc_status
warm_take(struct vc__qp *qp)
{
    struct vc__warm_qp *w = vc__qp_cache_take(&qp->device->warm, qp->depth);
    enum vc_status status;

    if (w == NULL)
        w = warm_make(qp->device, qp->depth);
    if (w == NULL)
        return vc__error_last()->status;
    qp->warm = w;
    qp->qp = w->qp;
    qp->max_inline = w->max_inline;
    status = vc__device_add_qp(qp->device, qp);
    if (status == VC_OK) {
        w->qp->qp_context = qp;
        return VC_OK;
    }
    warm_destroy(&qp->device->warm, w);
    qp->qp = NULL;
    return status;
}

/* Moves the QP to RESET, and returns true. False: the adapter refuses; the QP
 * is to be destroyed. Called by warm_give(). */
static bool
warm_reset(struct vc__warm_qp *w)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

    return ibv_modify_qp(w->qp, &attr, IBV_QP_STATE) == 0;
}

/* Moves the QP to INIT now, when no connection waits for it: its next
 * connection most likely uses the same port. True if that is done, or the QP
 * has had no port. False: the adapter refuses. Called by warm_give(). */
static bool
warm_init(struct vc__warm_qp *w)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = w->port,
                               .pkey_index = w->pkey_index,
                               .qp_access_flags = ACCESS};

    return w->port == 0 ||
           ibv_modify_qp(w->qp, &attr,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                             IBV_QP_ACCESS_FLAGS) == 0;
}

/* Releases the QP to the cache, or destroys it. After RESET or destruction, the
 * device creates no more completions or events for the QP. The earlier ones are
 * drained here, while the QP is in no table and its qp_context is NULL. So none
 * of them can reach the next user of the QP or of its number. The first drain
 * recovers the flushed receives: some devices drop their completions on a
 * reset. */
static void
warm_give(struct vc__qp *qp, bool again)
{
    struct vc__device *d = qp->device;
    struct vc__warm_qp *w = qp->warm;

    vc__device_del_qp(d, qp);
    w->qp->qp_context = NULL;
    vc__device_drain(d);
    if (!again || qp->ill || !warm_reset(w) || !warm_init(w)) {
        warm_destroy(&d->warm, w);
        w = NULL;
    }
    vc__device_drain(d);
    if (w == NULL)
        return;
    w = vc__qp_cache_put(&d->warm, w);
    if (w != NULL)
        warm_destroy(&d->warm, w);
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
        status = warm_take(qp);
    vc__device_account(device);
    if (status != VC_OK)
        vc__qp_fini(qp, false);
    return status;
}

void
vc__qp_fini(struct vc__qp *qp, bool again)
{
    if (qp->qp != NULL)
        warm_give(qp, again);
    if (qp->device != NULL)
        vc__device_account(qp->device);
    while (qp->n_buffers > 0)
        vc__buffers_give(&qp->device->send, qp->buffers[--qp->n_buffers]);
    if (qp->depth > 0)
        vc__device_cq_less(qp->device, qp->depth);
    free(qp->buffers);
    free(qp->took);
    memset(qp, 0, sizeof *qp);
}
