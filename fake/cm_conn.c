/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The calls of librdmacm that make and end connections, and the QPs that
 * librdmacm moves on the way, as the library and the kernel's ucma implement
 * them together: what they check, in which order, and which state the objects
 * have after. Static functions run on the thread of their caller: one thread of
 * the world runs at a time (world.h). */
#include <errno.h>
#include <string.h>

#include "fake/cm.h"
#include "real.h"

#define PORT_ONE 1

/* --- connecting -------------------------------------------------------- */

/* Called by param_is_good(). */
static bool
depth_is_good(uint8_t depth, uint8_t most)
{
    return depth <= most || depth == RDMA_MAX_RESP_RES;
}

/* librdmacm's own check, before it calls the kernel: without parameters the id
 * must have a QP. (The accept of librdmacm 44 crashes before this check.)
 * Called by rdma_connect() and rdma_accept(). */
static bool
param_is_good(const struct fake__id *k, const struct rdma_conn_param *param)
{
    const struct fake_host *host = fake__id_device(k);

    if (k->ps != RDMA_PS_TCP)
        return true;
    if (param == NULL)
        return k->handle->qp != NULL;
    return depth_is_good(param->responder_resources, host->reads_in) &&
           depth_is_good(param->initiator_depth, host->reads_out);
}

/* Called by depths_take(). */
static uint8_t
depth_of(uint8_t wish, uint8_t most)
{
    return wish == RDMA_MAX_RESP_RES ? most : wish;
}

/* Called by rdma_connect() and accept_send(). */
static uint8_t
clamp7(uint8_t n)
{
    return n > 7 ? 7 : n;
}

/* Called by rdma_connect() and accept_send(). */
static void
data_take(struct fake__id *k, const struct rdma_conn_param *param)
{
    memset(k->data, 0, sizeof k->data);
    if (param != NULL && param->private_data_len > 0)
        memcpy(k->data, param->private_data, param->private_data_len);
}

/* Called by rdma_connect() and accept_send(). */
static void
qp_take(struct fake__id *k, const struct rdma_conn_param *param)
{
    const struct ibv_qp *qp = k->handle->qp;

    k->flow_control = param != NULL && param->flow_control != 0;
    k->qpn = qp != NULL ? qp->qp_num : param != NULL ? param->qp_num : 0;
    k->srq = qp != NULL ? qp->srq != NULL : param != NULL && param->srq;
}

/* Called by depths_take() and answer_depths_take(). */
static uint8_t
lesser(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* Sets the depths of the request or the answer. "As many as possible", which is
 * also the default without parameters, is as many as the device can, and at
 * most so many. Called by rdma_connect() and answer_depths_take(). */
static void
depths_take(struct fake__id *k, const struct rdma_conn_param *param,
            uint8_t responder_most, uint8_t initiator_most)
{
    const struct fake_host *host = fake__id_device(k);
    uint8_t responder = RDMA_MAX_RESP_RES, initiator = RDMA_MAX_INIT_DEPTH;

    if (param != NULL) {
        responder = param->responder_resources;
        initiator = param->initiator_depth;
    }
    k->responder = depth_of(responder, lesser(responder_most, host->reads_in));
    k->initiator = depth_of(initiator, lesser(initiator_most, host->reads_out));
}

/* Sets the depths of the answer. "As many as possible" means those of the
 * request, adjusted down to the device. Called by rdma_accept(). */
static void
answer_depths_take(struct fake__id *k, const struct rdma_conn_param *param)
{
    const struct fake_host *host = fake__id_device(k);

    depths_take(k, param, lesser(k->responder, host->reads_in),
                lesser(k->initiator, host->reads_out));
}

/* Called by rdma_connect() and accept_send(). */
static bool
data_fits(const struct rdma_conn_param *param, unsigned most)
{
    return param == NULL || param->private_data_len <= most;
}

int
rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
{
    FAKE_CALL("rdma_connect");
    struct fake__id *k = fake__id_of(id);

    if (call.err != 0)
        return fake__fail(call.err);
    if (k->removed)
        return fake__fail(ENODEV);
    if (!param_is_good(k, conn_param) || k->state != FAKE__ROUTE_RESOLVED ||
        k->remote == NULL || /* a group */
        !data_fits(conn_param, fake__id_is_ud(k) ? 180 : 56))
        return fake__fail(EINVAL);
    depths_take(k, conn_param, RDMA_MAX_RESP_RES, RDMA_MAX_INIT_DEPTH);
    data_take(k, conn_param);
    qp_take(k, conn_param);
    k->retry = conn_param == NULL ? 7 : clamp7(conn_param->retry_count);
    k->own_rnr = conn_param == NULL ? 7 : clamp7(conn_param->rnr_retry_count);
    fake__publish(k);
    fake__wire_connect(k);
    return fake__sync_complete(k);
}

/* --- the QP ------------------------------------------------------------ */

/* Called by attr_of(). */
static int
attr_init(const struct fake__id *k, struct ibv_qp_attr *attr, int *mask)
{
    *mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    attr->pkey_index = 0;
    attr->port_num = PORT_ONE;
    if (k->state == FAKE__TIMEWAIT || k->state == FAKE__ENDED)
        return EINVAL;
    *mask |= IBV_QP_ACCESS_FLAGS;
    attr->qp_access_flags = 0;
    if (k->state >= FAKE__REQ_SENT)
        attr->qp_access_flags |= IBV_ACCESS_REMOTE_WRITE;
    if (k->state >= FAKE__REQ_SENT && k->responder > 0)
        attr->qp_access_flags |=
            IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    return 0;
}

/* The same for each state: librdmacm knows what else a state needs. Called by
 * attr_of(). */
static int
attr_ud(const struct fake__id *k, struct ibv_qp_attr *attr, int *mask)
{
    *mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
    attr->pkey_index = 0;
    attr->port_num = PORT_ONE;
    attr->qkey = RDMA_UDP_QKEY;
    if (attr->qp_state == IBV_QPS_RTR)
        attr->rq_psn = k->psn;
    return 0;
}

/* Called by attr_rtr() and attr_rts(). */
static bool
peer_is_known(const struct fake__id *k)
{
    return k->state >= FAKE__REQ_RCVD && k->state <= FAKE__ESTABLISHED;
}

/* Called by attr_of(). */
static int
attr_rtr(const struct fake__id *k, struct ibv_qp_attr *attr, int *mask)
{
    if (!peer_is_known(k))
        return EINVAL;
    *mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    memset(&attr->ah_attr, 0, sizeof attr->ah_attr);
    attr->ah_attr.is_global = 1;
    attr->ah_attr.port_num = PORT_ONE;
    attr->ah_attr.grh.sgid_index = 1;
    attr->ah_attr.grh.hop_limit = 64;
    attr->ah_attr.grh.traffic_class = k->path_tos;
    fake__gid_of(k->remote, &attr->ah_attr.grh.dgid);
    attr->path_mtu = IBV_MTU_1024;
    attr->dest_qp_num = k->peer_qpn;
    attr->rq_psn = k->psn;
    attr->max_dest_rd_atomic = k->responder;
    attr->min_rnr_timer = 0;
    return 0;
}

/* Called by attr_of(). */
static int
attr_rts(const struct fake__id *k, struct ibv_qp_attr *attr, int *mask)
{
    if (!peer_is_known(k))
        return EINVAL;
    *mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
            IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
    attr->timeout = k->ack_timeout != 0 ? k->ack_timeout : 19;
    attr->retry_cnt = k->retry;
    attr->rnr_retry = k->rnr;
    attr->sq_psn = k->peer_psn;
    attr->max_rd_atomic = k->initiator;
    return 0;
}

/* Called by rdma_init_qp_attr() and qp_move(). */
static int
attr_of(const struct fake__id *k, struct ibv_qp_attr *attr, int *mask)
{
    if (k->removed)
        return ENODEV;
    if (fake__id_is_ud(k))
        return attr_ud(k, attr, mask);
    switch (attr->qp_state) {
    case IBV_QPS_INIT:
        return attr_init(k, attr, mask);
    case IBV_QPS_RTR:
        return attr_rtr(k, attr, mask);
    case IBV_QPS_RTS:
        return attr_rts(k, attr, mask);
    default:
        return EINVAL;
    }
}

int
rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *qp_attr,
                  int *qp_attr_mask)
{
    FAKE_CALL("rdma_init_qp_attr");

    if (call.err != 0)
        return fake__fail(call.err);
    return fake__result(attr_of(fake__id_of(id), qp_attr, qp_attr_mask));
}

/* Moves the QP to `state`, with the kernel's attributes. Called by
 * qp_connect(), qp_ready_ud() and rdma_create_qp(). */
static int
qp_move(struct fake__id *k, enum ibv_qp_state state)
{
    struct ibv_qp_attr attr = {.qp_state = state};
    int mask, err = attr_of(k, &attr, &mask);

    return err != 0 ? err : ibv_modify_qp(k->handle->qp, &attr, mask);
}

/* Moves the QP to INIT once more, like librdmacm: only now are the depths
 * known, and with them the access flags. Called by fake__conn_response() and
 * rdma_accept(). */
static int
qp_connect(struct fake__id *k)
{
    int err = qp_move(k, IBV_QPS_INIT);

    if (err == 0)
        err = qp_move(k, IBV_QPS_RTR);
    return err != 0 ? err : qp_move(k, IBV_QPS_RTS);
}

/* Called in cm.c and this file. */
void
fake__conn_qp_error(struct fake__id *k)
{
    struct ibv_qp *qp = k->handle->qp;

    if (qp == NULL)
        return;
    fake__qp_error(fake__qp_of(qp));
    qp->state = IBV_QPS_ERR;
}

/* Called by event_process() (cm.c). */
bool
fake__conn_response(struct fake__id *k)
{
    fake__publish(k);
    if (qp_connect(k) == 0 && fake__wire_establish(k))
        return true;
    fake__conn_qp_error(k);
    return false;
}

/* Moves a datagram QP to RTS at once. Called by rdma_create_qp(). */
static int
qp_ready_ud(struct fake__id *k)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
    int err = qp_move(k, IBV_QPS_INIT);

    if (err == 0)
        err = ibv_modify_qp(k->handle->qp, &attr, IBV_QP_STATE);
    if (err != 0)
        return err;
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = 0;
    return ibv_modify_qp(k->handle->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

int
rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
               struct ibv_qp_init_attr *qp_init_attr)
{
    FAKE_CALL("rdma_create_qp");
    struct fake__id *k = fake__id_of(id);
    int err;

    if (call.err != 0)
        return fake__fail(call.err);
    /* librdmacm's own PD and CQs are not simulated. */
    if (id->qp != NULL || pd == NULL || id->verbs != pd->context ||
        qp_init_attr->send_cq == NULL || qp_init_attr->recv_cq == NULL)
        return fake__fail(EINVAL);
    id->qp = ibv_create_qp(pd, qp_init_attr);
    if (id->qp == NULL)
        return -1;
    err = fake__id_is_ud(k) ? qp_ready_ud(k) : qp_move(k, IBV_QPS_INIT);
    if (err != 0) {
        ibv_destroy_qp(id->qp);
        id->qp = NULL;
        return fake__fail(err);
    }
    id->pd = pd;
    id->send_cq = qp_init_attr->send_cq;
    id->recv_cq = qp_init_attr->recv_cq;
    id->srq = qp_init_attr->srq;
    return 0;
}

void
rdma_destroy_qp(struct rdma_cm_id *id)
{
    FAKE_CALL_SAFE("rdma_destroy_qp");

    ibv_destroy_qp(id->qp);
    id->qp = NULL;
    id->send_cq = NULL;
    id->recv_cq = NULL;
    id->srq = NULL;
}

/* --- answering --------------------------------------------------------- */

/* Called by accept_send() and rdma_accept(). */
static bool
is_request(const struct fake__id *k)
{
    return k->state == FAKE__REQ_RCVD || k->state == FAKE__SIDR_RCVD;
}

/* The kernel's part of an accept. Private data that is too long also rejects
 * the request. Called by rdma_accept(). */
static int
accept_send(struct fake__id *k, const struct rdma_conn_param *param)
{
    if (!is_request(k))
        return EINVAL;
    if (!data_fits(param, fake__id_is_ud(k) ? 136 : 196)) {
        fake__wire_reject(k, NULL, 0);
        return EINVAL;
    }
    data_take(k, param);
    qp_take(k, param);
    k->own_rnr = param == NULL ? 7 : clamp7(param->rnr_retry_count);
    k->adopted = true;
    fake__wire_accept(k);
    return 0;
}

/* Without parameters, librdmacm takes the number of the QP from where there is
 * none, or the kernel answers a datagram client with QP 0. Called by
 * rdma_accept(). */
static void
accept_is_safe(const struct fake__id *k, const struct rdma_conn_param *param)
{
    if (param == NULL && (k->handle->qp == NULL || fake__id_is_ud(k)))
        fake__stuck("rdma_accept: no parameters, and no QP of a connection");
}

int
rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
{
    FAKE_CALL("rdma_accept");
    struct fake__id *k = fake__id_of(id);
    int err = 0;

    if (call.err != 0)
        return fake__fail(call.err);
    accept_is_safe(k, conn_param);
    if (k->removed)
        return fake__fail(ENODEV);
    if (!param_is_good(k, conn_param))
        return fake__fail(EINVAL);
    if (is_request(k))
        answer_depths_take(k, conn_param);
    if (id->qp != NULL && !fake__id_is_ud(k))
        err = qp_connect(k);
    if (err != 0)
        return fake__fail(err);
    fake__publish(k);
    err = accept_send(k, conn_param);
    if (err != 0) {
        fake__conn_qp_error(k);
        return fake__fail(err);
    }
    if (!fake__id_is_ud(k))
        return fake__sync_complete(k);
    fake__sync_close(k);
    return 0;
}

int
rdma_reject(struct rdma_cm_id *id, const void *private_data,
            uint8_t private_data_len)
{
    FAKE_CALL("rdma_reject");
    struct fake__id *k = fake__id_of(id);

    if (call.err != 0)
        return fake__fail(call.err);
    if (k->removed)
        return fake__fail(ENODEV);
    if (private_data_len > (fake__id_is_ud(k) ? 136 : 148))
        return fake__fail(EINVAL);
    fake__publish(k);
    return fake__result(
        fake__wire_reject(k, private_data, private_data_len) ? 0 : EINVAL);
}

int
rdma_establish(struct rdma_cm_id *id)
{
    FAKE_CALL("rdma_establish");
    struct fake__id *k = fake__id_of(id);

    if (call.err != 0)
        return fake__fail(call.err);
    if (k->removed)
        return fake__fail(ENODEV);
    if (id->qp != NULL)
        return fake__fail(EINVAL);
    fake__publish(k);
    return fake__result(fake__wire_establish(k) ? 0 : EINVAL);
}

int
rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
    FAKE_CALL("rdma_notify");

    (void)id;
    (void)event;
    return fake__result(call.err);
}

/* Once the kernel has a connection for the id, in whatever state, this call
 * succeeds, even if no message is sent. */
int
rdma_disconnect(struct rdma_cm_id *id)
{
    FAKE_CALL("rdma_disconnect");
    struct fake__id *k = fake__id_of(id);

    if (call.err != 0)
        return fake__fail(call.err);
    if (id->qp != NULL && id->qp->state == IBV_QPS_RESET)
        return fake__fail(EINVAL);
    fake__conn_qp_error(k);
    if (k->removed)
        return fake__fail(ENXIO);
    if (k->state < FAKE__REQ_SENT)
        return fake__fail(EINVAL);
    fake__publish(k);
    fake__wire_disconnect(k);
    return fake__sync_complete(k);
}
