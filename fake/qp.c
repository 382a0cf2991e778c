/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Queue pairs: creation, destruction and states. Static functions run on the
 * thread of their caller: one thread of the world runs at a time (world.h). */
#include <errno.h>
#include <string.h>

#include "fake/verbs.h"

/* Called in cm_conn.c, this file, qp_post.c and verbs.c. */
struct fake__qp *
fake__qp_of(struct ibv_qp *qp)
{
    return ((struct fake__qp_handle *)qp)->qp;
}

uint32_t
fake__qp_number(const struct fake__qp *qp)
{
    return qp->number;
}

/* Called by qp_at() (qp_wire.c). */
struct fake__qp *
fake__device_qp(struct fake__device *d, uint32_t number)
{
    struct fake__qp *qp;

    if (number < FAKE__FIRST_QPN || number - FAKE__FIRST_QPN >= d->n_qps)
        return NULL;
    qp = d->qps[number - FAKE__FIRST_QPN];
    return qp->obj.dead ? NULL : qp;
}

/* Called by qp_at() (qp_wire.c). */
bool
fake__qp_receives(const struct fake__qp *qp)
{
    return qp->attr.qp_state == IBV_QPS_RTR || qp->attr.qp_state == IBV_QPS_RTS;
}

/* --- completions ------------------------------------------------------- */

/* Called by fake__qp_sent(). */
static enum ibv_wc_opcode
wc_opcode(enum ibv_wr_opcode opcode)
{
    switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
        return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return IBV_WC_FETCH_ADD;
    case IBV_WR_LOCAL_INV:
        return IBV_WC_LOCAL_INV;
    case IBV_WR_BIND_MW:
        return IBV_WC_BIND_MW;
    default:
        return IBV_WC_SEND;
    }
}

/* Blurs a failed completion: only wr_id, status and qp_num are valid. Called by
 * fake__qp_sent() and fake__qp_received(). */
static void
blur(struct ibv_wc *wc)
{
    struct ibv_wc kept = {
        .wr_id = wc->wr_id, .status = wc->status, .qp_num = wc->qp_num};

    if (wc->status == IBV_WC_SUCCESS)
        return;
    if (!fake__rxe()) {
        kept.opcode = IBV_WC_TSO;
        kept.byte_len = UINT32_MAX;
    }
    *wc = kept;
}

/* Called by fake__qp_error(), send_post() (qp_post.c) and acknowledged()
 * (qp_wire.c). */
void
fake__qp_sent(struct fake__qp *qp, struct fake__wqe *w,
              enum ibv_wc_status status)
{
    struct fake__cqe e = {
        .wc = {.wr_id = w->wr_id,
               .status = status,
               .opcode = wc_opcode(w->opcode),
               .byte_len = w->length,
               .qp_num = qp->number},
        .op = fake__op_name(w->opcode),
        .qp = qp,
        .reset = qp->resets,
        .seq = w->seq,
        .send = true,
    };
    bool signalled = qp->signal_all || (w->flags & IBV_SEND_SIGNALED) != 0;

    fake__wqe_free(qp->device, w);
    blur(&e.wc);
    if (signalled || status != IBV_WC_SUCCESS)
        fake__cq_complete(qp->send_cq, &e);
}

/* Called in this file, qp_post.c and qp_respond.c. */
void
fake__qp_received(struct fake__qp *qp, struct fake__wqe *w, struct fake__cqe *e)
{
    e->wc.wr_id = w->wr_id;
    e->wc.qp_num = qp->number;
    e->op = "RECV";
    e->qp = qp;
    e->reset = qp->resets;
    fake__wqe_free(qp->device, w);
    blur(&e->wc);
    fake__cq_complete(qp->recv_cq, e);
}

/* --- states ------------------------------------------------------------ */

/* Called by queues_drop() and fake__qp_error(). */
static void
engine_stop(struct fake__qp *qp)
{
    qp->epoch++;
    qp->out = NULL;
    qp->busy = qp->stuck = qp->waits = false;
    qp->timer++;
    qp->ack_at = 0;
}

/* Called by qp_reset() and fake__qp_die(). */
static void
queues_drop(struct fake__qp *qp)
{
    struct fake__wqe *w;

    engine_stop(qp);
    while ((w = fake__queue_pop(&qp->sq)) != NULL)
        fake__wqe_free(qp->device, w);
    while ((w = fake__queue_pop(&qp->rq)) != NULL)
        fake__wqe_free(qp->device, w);
}

/* Called in most files of the fake. */
void
fake__qp_error(struct fake__qp *qp)
{
    struct fake__wqe *w;

    if (qp->obj.dead || qp->attr.qp_state == IBV_QPS_ERR)
        return;
    qp->attr.qp_state = IBV_QPS_ERR;
    engine_stop(qp);
    while ((w = fake__queue_pop(&qp->sq)) != NULL)
        fake__qp_sent(qp, w, IBV_WC_WR_FLUSH_ERR);
    while ((w = fake__queue_pop(&qp->rq)) != NULL) {
        struct fake__cqe e = {.wc.status = IBV_WC_WR_FLUSH_ERR};

        fake__qp_received(qp, w, &e);
    }
    if (qp->srq != NULL && !fake__rxe())
        fake__async(&qp->obj, IBV_EVENT_QP_LAST_WQE_REACHED);
}

/* Called by ibv_modify_qp(). */
static void
qp_reset(struct fake__qp *qp)
{
    queues_drop(qp);
    qp->resets++;
    qp->posted = qp->retired = 0;
    memset(&qp->attr, 0, sizeof qp->attr);
    if (!fake__rxe()) {
        fake__cq_forget(qp->send_cq, qp);
        fake__cq_forget(qp->recv_cq, qp);
    }
}

/* Called by ibv_destroy_qp() and object_die() (verbs.c). */
void
fake__qp_die(struct fake__qp *qp)
{
    qp->obj.dead = true;
    fake__qp_detach(qp);
    queues_drop(qp);
    if (!fake__rxe()) {
        fake__cq_forget(qp->send_cq, qp);
        fake__cq_forget(qp->recv_cq, qp);
    }
}

/* --- modify ------------------------------------------------------------ */

struct transition {
    enum ibv_qp_type type;
    enum ibv_qp_state from, to;
    int required, optional;
};

#define ALTERNATE (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE | IBV_QP_CUR_STATE)

static const struct transition transitions[] = {
    {IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT,
     IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0},
    {IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_INIT, 0,
     IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
    {IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR,
     IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
     IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    {IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS,
     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
         IBV_QP_MAX_QP_RD_ATOMIC,
     ALTERNATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
    {IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_RTS, 0,
     ALTERNATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
    {IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT,
     IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0},
    {IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_INIT, 0,
     IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
    {IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    {IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN,
     IBV_QP_CUR_STATE | IBV_QP_QKEY},
    {IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
};

/* Called by may_go(). */
static const struct transition *
transition_find(const struct fake__qp *qp, enum ibv_qp_state to)
{
    for (size_t i = 0; i < sizeof transitions / sizeof transitions[0]; i++) {
        const struct transition *t = &transitions[i];

        if (t->type == qp->type && t->from == qp->attr.qp_state && t->to == to)
            return t;
    }
    return NULL;
}

/* Called by ibv_modify_qp(). */
static bool
may_go(const struct fake__qp *qp, enum ibv_qp_state to, int mask)
{
    const struct transition *t;

    if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
        return fake__rxe() || (mask & ~(IBV_QP_STATE | IBV_QP_CUR_STATE)) == 0;
    t = transition_find(qp, to);
    if (t == NULL || fake__rxe())
        return t != NULL;
    return (mask & t->required) == t->required &&
           (mask & ~(t->required | t->optional | IBV_QP_STATE)) == 0;
}

/* Called by ibv_modify_qp(). */
static bool
in_range(const struct fake__qp *qp, const struct ibv_qp_attr *a, int mask)
{
    return !(
        (mask & IBV_QP_PORT && a->port_num != 1) ||
        (mask & IBV_QP_PKEY_INDEX && a->pkey_index != 0) ||
        (mask & IBV_QP_CUR_STATE && a->cur_qp_state != qp->attr.qp_state) ||
        (mask & IBV_QP_PATH_MTU &&
         (a->path_mtu < IBV_MTU_256 || a->path_mtu > IBV_MTU_4096)) ||
        (mask & IBV_QP_MAX_QP_RD_ATOMIC &&
         a->max_rd_atomic > qp->device->host->reads_out) ||
        (mask & IBV_QP_MAX_DEST_RD_ATOMIC &&
         a->max_dest_rd_atomic > qp->device->host->reads_in) ||
        (mask & IBV_QP_MIN_RNR_TIMER && a->min_rnr_timer > 31) ||
        (mask & IBV_QP_TIMEOUT && a->timeout > 31) ||
        (mask & IBV_QP_RETRY_CNT && a->retry_cnt > 7) ||
        (mask & IBV_QP_RNR_RETRY && a->rnr_retry > 7));
}

/* Called by ibv_modify_qp(). */
static void
attributes_set(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
#define SET(bit, field)                                                        \
    do {                                                                       \
        if (mask & (bit))                                                      \
            to->field = from->field;                                           \
    } while (0)
    SET(IBV_QP_ACCESS_FLAGS, qp_access_flags);
    SET(IBV_QP_PKEY_INDEX, pkey_index);
    SET(IBV_QP_PORT, port_num);
    SET(IBV_QP_QKEY, qkey);
    SET(IBV_QP_AV, ah_attr);
    SET(IBV_QP_PATH_MTU, path_mtu);
    SET(IBV_QP_TIMEOUT, timeout);
    SET(IBV_QP_RETRY_CNT, retry_cnt);
    SET(IBV_QP_RNR_RETRY, rnr_retry);
    SET(IBV_QP_RQ_PSN, rq_psn);
    SET(IBV_QP_SQ_PSN, sq_psn);
    SET(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
    SET(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
    SET(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
    SET(IBV_QP_DEST_QPN, dest_qp_num);
#undef SET
}

/* Called by ibv_modify_qp(). */
static void
psns_set(struct fake__qp *qp, int mask)
{
    if (mask & IBV_QP_RQ_PSN)
        qp->expected = qp->attr.rq_psn & 0xffffff;
    if (mask & IBV_QP_SQ_PSN)
        qp->next_psn = qp->attr.sq_psn & 0xffffff;
}

int
ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    FAKE_CALL("ibv_modify_qp");
    struct fake__qp *q = fake__qp_of(qp);
    enum ibv_qp_state to =
        mask & IBV_QP_STATE ? attr->qp_state : q->attr.qp_state;

    if (call.err != 0)
        return call.err;
    if (!may_go(q, to, mask) || !in_range(q, attr, mask))
        return EINVAL;
    if (to == IBV_QPS_ERR) {
        fake__qp_error(q);
    } else if (to == IBV_QPS_RESET) {
        qp_reset(q);
    } else {
        if (fake__context_err(q->obj.context) != 0)
            return EIO;
        attributes_set(&q->attr, attr, mask);
        psns_set(q, mask);
        q->attr.qp_state = to;
    }
    qp->state = to;
    return 0;
}

/* Called by ibv_query_qp(). */
static struct ibv_qp_cap
cap_now(const struct fake__qp *qp)
{
    struct ibv_qp_cap cap = qp->cap;

    cap.max_send_wr = fake__queue_size(cap.max_send_wr);
    cap.max_recv_wr = fake__queue_size(cap.max_recv_wr);
    return cap;
}

int
ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
             struct ibv_qp_init_attr *init)
{
    FAKE_CALL("ibv_query_qp");
    const struct fake__qp *q = fake__qp_of(qp);

    (void)mask;
    if (call.err != 0)
        return call.err;
    *attr = q->attr;
    attr->cur_qp_state = q->attr.qp_state;
    attr->cap = cap_now(q);
    *init = (struct ibv_qp_init_attr){
        .qp_context = qp->qp_context,
        .send_cq = qp->send_cq,
        .recv_cq = qp->recv_cq,
        .srq = qp->srq,
        .cap = attr->cap,
        .qp_type = q->type,
        .sq_sig_all = q->signal_all,
    };
    qp->state = q->attr.qp_state;
    return 0;
}

/* --- creation and destruction ------------------------------------------ */

/* Called by ibv_create_qp(). */
static int
check_create(struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
    const struct ibv_qp_cap *c = &init->cap;
    const struct fake_host *host = fake__pd_of(pd)->obj.context->device->host;
    int err = fake__context_err(fake__pd_of(pd)->obj.context);

    if (err != 0)
        return err;
    if (init->qp_type != IBV_QPT_RC && init->qp_type != IBV_QPT_UD)
        return EOPNOTSUPP;
    if (init->send_cq == NULL || init->recv_cq == NULL ||
        init->send_cq->context != pd->context ||
        init->recv_cq->context != pd->context ||
        (init->srq != NULL && init->srq->context != pd->context))
        return EINVAL;
    if (c->max_send_wr > FAKE__MAX_WR || c->max_send_sge > FAKE__MAX_SGE ||
        c->max_inline_data > host->max_inline)
        return EINVAL;
    if (init->srq == NULL &&
        (c->max_recv_wr > FAKE__MAX_WR || c->max_recv_sge > FAKE__MAX_SGE))
        return EINVAL;
    return 0;
}

/* Rounds sizes as Soft-RoCE, which has inline data and sges in the same place.
 * Called by ibv_create_qp(). */
static void
cap_round(struct ibv_qp_cap *cap, const struct fake_host *host)
{
    uint32_t sges = (cap->max_inline_data + 15) / 16;

    if (!fake__rxe())
        return;
    if (cap->max_send_sge < sges)
        cap->max_send_sge = sges;
    cap->max_inline_data = cap->max_send_sge * 16;
    if (cap->max_inline_data > host->max_inline)
        cap->max_inline_data = host->max_inline;
}

/* Called by ibv_create_qp(). */
static struct fake__qp *
qp_new(struct fake__device *d, struct ibv_pd *pd,
       const struct ibv_qp_init_attr *init)
{
    struct fake__qp *qp = fake__alloc(sizeof *qp);

    d->qps = fake__table_grow(d->qps, d->n_qps, &d->qps_size);
    qp->device = d;
    qp->number = FAKE__FIRST_QPN + d->n_qps;
    d->qps[d->n_qps++] = qp;
    qp->pd = fake__pd_of(pd);
    qp->send_cq = fake__cq_of(init->send_cq);
    qp->recv_cq = fake__cq_of(init->recv_cq);
    qp->srq = init->srq == NULL ? NULL : fake__srq_of(init->srq);
    qp->type = init->qp_type;
    qp->signal_all = init->sq_sig_all != 0;
    qp->cap = init->cap;
    return qp;
}

/* Called by ibv_create_qp() and ibv_destroy_qp(). */
static void
users_add(struct fake__qp *qp, unsigned n)
{
    qp->pd->obj.users += n;
    qp->send_cq->obj.users += n;
    qp->recv_cq->obj.users += n;
    if (qp->srq != NULL)
        qp->srq->obj.users += n;
}

struct ibv_qp *
ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    FAKE_CALL("ibv_create_qp");
    struct fake__context *c = fake__pd_of(pd)->obj.context;
    int err = call.err != 0 ? call.err : check_create(pd, init);
    struct fake__qp_handle *h;

    if (err != 0) {
        errno = err;
        return NULL;
    }
    cap_round(&init->cap, c->device->host);
    h = fake__handle_new(sizeof *h);
    h->qp = qp_new(c->device, pd, init);
    users_add(h->qp, 1);
    h->pub.context = pd->context;
    h->pub.qp_context = init->qp_context;
    h->pub.pd = pd;
    h->pub.send_cq = init->send_cq;
    h->pub.recv_cq = init->recv_cq;
    h->pub.srq = init->srq;
    h->pub.qp_num = h->qp->number;
    h->pub.state = IBV_QPS_RESET;
    h->pub.qp_type = init->qp_type;
    fake__object_init(&h->qp->obj, FAKE__QP, c, h);
    return &h->pub;
}

int
ibv_destroy_qp(struct ibv_qp *qp)
{
    FAKE_CALL_SAFE("ibv_destroy_qp");
    struct fake__qp *q = fake__qp_of(qp);

    if (q->groups > 0)
        return EBUSY;
    fake__qp_die(q);
    fake__async_settle(&q->obj);
    users_add(q, -1u);
    fake__object_free(&q->obj);
    return 0;
}
