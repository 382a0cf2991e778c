/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Posting to the queues of a QP. Static functions run on the thread of their
 * caller: one thread of the world runs at a time (world.h). */
#include <errno.h>
#include <string.h>

#include "fake/verbs.h"

/* --- sends ------------------------------------------------------------- */

/* Called by check_send() and target_copy(). */
static bool
is_atomic(enum ibv_wr_opcode opcode)
{
    return opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
           opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Called by check_send(). */
static uint64_t
length_of(const struct ibv_send_wr *wr)
{
    uint64_t length = 0;

    for (int i = 0; i < wr->num_sge; i++)
        length += wr->sg_list[i].length;
    return length;
}

/* Called by check_send(). */
static bool
opcode_fits(const struct fake__qp *qp, const struct ibv_send_wr *wr)
{
    if (qp->type == IBV_QPT_UD)
        return (wr->opcode == IBV_WR_SEND ||
                wr->opcode == IBV_WR_SEND_WITH_IMM) &&
               wr->wr.ud.ah != NULL;
    return wr->opcode <= IBV_WR_SEND_WITH_INV;
}

/* True if the send queue is full. Soft-RoCE frees slots by itself, a real
 * adapter when the program has polled a later completion. Called by
 * check_send(). */
static bool
sq_full(const struct fake__qp *qp)
{
    if (fake__rxe())
        return qp->sq.n >= fake__queue_size(qp->cap.max_send_wr);
    return qp->posted - qp->retired >= qp->cap.max_send_wr;
}

/* Called by fake__post_send(). */
static int
check_send(const struct fake__qp *qp, const struct ibv_send_wr *wr)
{
    if (qp->attr.qp_state != IBV_QPS_RTS && qp->attr.qp_state != IBV_QPS_ERR)
        return EINVAL;
    if (wr->num_sge < 0 || (unsigned)wr->num_sge > qp->cap.max_send_sge ||
        !opcode_fits(qp, wr))
        return EINVAL;
    if (wr->send_flags & IBV_SEND_INLINE &&
        (length_of(wr) > qp->cap.max_inline_data ||
         wr->opcode == IBV_WR_RDMA_READ || is_atomic(wr->opcode)))
        return EINVAL;
    if (is_atomic(wr->opcode) && fake__rxe() &&
        (length_of(wr) < 8 || wr->wr.atomic.remote_addr % 8 != 0))
        return EINVAL;
    return sq_full(qp) ? ENOMEM : 0;
}

/* Called by send_new(). */
static void
inline_copy(struct fake__wqe *w)
{
    uint32_t at = 0;

    if (w->data_size < w->length) {
        w->data = fake__alloc(w->length);
        w->data_size = w->length;
    }
    for (unsigned i = 0; i < w->n_sge; i++) {
        if (w->sge[i].length > 0)
            memcpy(w->data + at, (const void *)(uintptr_t)w->sge[i].addr,
                   w->sge[i].length);
        at += w->sge[i].length;
    }
}

/* Called by target_copy(). */
static void
bind_copy(struct fake__wqe *w, const struct ibv_send_wr *wr)
{
    const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;

    w->mw = fake__mw_key(wr->bind_mw.mw);
    w->mw_rkey = wr->bind_mw.mw->rkey;
    w->rkey = wr->bind_mw.rkey;
    w->mr_lkey = info->mr == NULL ? 0 : info->mr->lkey;
    w->bind_addr = info->addr;
    w->bind_length = info->length;
    w->bind_access = info->mw_access_flags;
}

/* Called by send_new(). */
static void
target_copy(struct fake__wqe *w, const struct ibv_send_wr *wr, bool ud)
{
    if (ud) {
        w->dgid = ((struct fake__ah_handle *)wr->wr.ud.ah)->attr.grh.dgid;
        w->remote_qpn = wr->wr.ud.remote_qpn;
        w->remote_qkey = wr->wr.ud.remote_qkey;
    } else if (is_atomic(wr->opcode)) {
        w->remote_addr = wr->wr.atomic.remote_addr;
        w->compare_add = wr->wr.atomic.compare_add;
        w->swap = wr->wr.atomic.swap;
        w->rkey = wr->wr.atomic.rkey;
    } else if (wr->opcode == IBV_WR_BIND_MW) {
        bind_copy(w, wr);
    } else {
        w->remote_addr = wr->wr.rdma.remote_addr;
        w->rkey = wr->wr.rdma.rkey;
    }
}

/* Called by send_post(). */
static struct fake__wqe *
send_new(struct fake__qp *qp, const struct ibv_send_wr *wr)
{
    struct fake__wqe *w =
        fake__wqe_new(qp->device, wr->wr_id, wr->sg_list, wr->num_sge);

    w->opcode = wr->opcode;
    w->flags = wr->send_flags;
    w->imm = wr->imm_data;
    w->seq = qp->posted++;
    target_copy(w, wr, qp->type == IBV_QPT_UD);
    if (w->flags & IBV_SEND_INLINE)
        inline_copy(w);
    return w;
}

/* Called by fake__post_send(). */
static void
send_post(struct fake__qp *qp, const struct ibv_send_wr *wr)
{
    struct fake__wqe *w = send_new(qp, wr);

    if (qp->attr.qp_state == IBV_QPS_ERR) {
        fake__qp_sent(qp, w, IBV_WC_WR_FLUSH_ERR);
        return;
    }
    fake__queue_push(&qp->sq, w);
    if (qp->out == NULL)
        qp->out = w;
    fake__wire_kick(qp);
}

/* ops.post_send of each context (verbs.c): ibv_post_send() of the program calls
 * it. Also called by fake__bind_mw() (mr.c). */
int
fake__post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
                struct ibv_send_wr **bad)
{
    FAKE_CALL("ibv_post_send");
    struct fake__qp *q = fake__qp_of(qp);
    int err = call.err;

    fake__release(q->send_cq);
    for (; err == 0 && wr != NULL; wr = wr->next) {
        err = check_send(q, wr);
        if (err != 0)
            break;
        send_post(q, wr);
    }
    if (err != 0)
        *bad = wr;
    return err;
}

/* --- receives ---------------------------------------------------------- */

/* Called by fake__post_recv(). */
static int
check_recv(const struct fake__qp *qp, const struct ibv_recv_wr *wr)
{
    if (qp->srq != NULL || qp->attr.qp_state == IBV_QPS_RESET ||
        wr->num_sge < 0 || (unsigned)wr->num_sge > qp->cap.max_recv_sge)
        return EINVAL;
    return qp->rq.n >= fake__queue_size(qp->cap.max_recv_wr) ? ENOMEM : 0;
}

/* Called by fake__post_recv(). */
static void
recv_post(struct fake__qp *qp, const struct ibv_recv_wr *wr)
{
    struct fake__wqe *w =
        fake__wqe_new(qp->device, wr->wr_id, wr->sg_list, wr->num_sge);
    struct fake__cqe e = {.wc.status = IBV_WC_WR_FLUSH_ERR};

    if (qp->attr.qp_state == IBV_QPS_ERR)
        fake__qp_received(qp, w, &e);
    else
        fake__queue_push(&qp->rq, w);
}

/* ops.post_recv of each context (verbs.c): ibv_post_recv() of the program calls
 * it. */
int
fake__post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
                struct ibv_recv_wr **bad)
{
    FAKE_CALL("ibv_post_recv");
    struct fake__qp *q = fake__qp_of(qp);
    int err = call.err;

    fake__release(q->recv_cq);
    for (; err == 0 && wr != NULL; wr = wr->next) {
        err = check_recv(q, wr);
        if (err != 0)
            break;
        recv_post(q, wr);
    }
    if (err != 0)
        *bad = wr;
    return err;
}
