/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The effect of a work request of one QP at another: memory is read or written,
 * a receive is consumed, or the request is refused. Static functions run on the
 * thread of their caller: one thread of the world runs at a time (world.h). */
#include <string.h>

#include "fake/verbs.h"

/* --- memory ------------------------------------------------------------ */

/* Called by receive_fill(), write_carry(), read_carry(), atomic_carry() and
 * fake__wire_answered() (qp_wire.c). */
void
fake__pieces_copy(struct fake__piece *to, size_t n_to, struct fake__piece *from,
                  size_t n_from)
{
    while (n_to > 0 && n_from > 0) {
        size_t n = to->length < from->length ? to->length : from->length;

        if (n > 0) {
            memcpy(to->at, from->at, n);
            to->at += n;
            from->at += n;
        }
        to->length -= n;
        from->length -= n;
        if (to->length == 0)
            to++, n_to--;
        else
            from++, n_from--;
    }
}

/* Called by receive_fill() and check_own() (qp_wire.c). */
enum ibv_wc_status
fake__protection(void)
{
    return fake__rxe() ? IBV_WC_LOC_QP_OP_ERR : IBV_WC_LOC_PROT_ERR;
}

/* --- receives ---------------------------------------------------------- */

/* Called by send_carry(), write_carry() and fake__respond_datagram(). */
static struct fake__wqe *
receive_take(struct fake__qp *peer)
{
    return peer->srq != NULL ? fake__srq_take(peer->srq)
                             : fake__queue_pop(&peer->rq);
}

/* Called by receive_fill() and send_carry(). */
static void
receive_fail(struct fake__qp *peer, struct fake__wqe *r,
             enum ibv_wc_status status)
{
    struct fake__cqe e = {.wc.status = status};

    fake__qp_received(peer, r, &e);
    fake__qp_error(peer);
}

/* Called by refuse_access(), read_carry() and atomic_carry(). */
static enum ibv_wc_status
refuse(struct fake__qp *peer, enum ibv_event_type event,
       enum ibv_wc_status status)
{
    if (!fake__rxe())
        fake__async(&peer->obj, event);
    fake__qp_error(peer);
    return status;
}

/* Called by receive_fill(). */
static const struct fake__pd *
receive_pd(const struct fake__qp *peer)
{
    return peer->srq != NULL ? peer->srq->pd : peer->pd;
}

/* Copies the data into the receive. Returns the sender's status. Called by
 * send_carry() and fake__respond_datagram(). */
static enum ibv_wc_status
receive_fill(struct fake__qp *peer, struct fake__wqe *r,
             struct fake__piece *from, size_t n, uint32_t length)
{
    struct fake__piece to[FAKE__MAX_SGE];

    if (r->length < length) {
        receive_fail(peer, r,
                     fake__rxe() ? IBV_WC_LOC_QP_OP_ERR : IBV_WC_LOC_LEN_ERR);
        return fake__rxe() ? IBV_WC_REM_OP_ERR : IBV_WC_REM_INV_REQ_ERR;
    }
    if (!fake__local_pieces(peer->device, receive_pd(peer), r,
                            IBV_ACCESS_LOCAL_WRITE, to)) {
        receive_fail(peer, r, fake__protection());
        return IBV_WC_REM_OP_ERR;
    }
    fake__pieces_copy(to, r->n_sge, from, n);
    return IBV_WC_SUCCESS;
}

/* Called by send_carry(), write_carry() and fake__respond_datagram(). */
static void
receive_done(struct fake__qp *peer, struct fake__wqe *r,
             const struct fake__wqe *w, enum ibv_wc_opcode opcode,
             uint32_t length, uint32_t from_qpn)
{
    struct fake__cqe e = {
        .wc = {.opcode = opcode,
               .byte_len = length,
               .src_qp = from_qpn,
               .wc_flags = IBV_WC_GRH},
        .solicited = (w->flags & IBV_SEND_SOLICITED) != 0,
    };

    if (w->opcode == IBV_WR_SEND_WITH_IMM ||
        w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
        e.wc.wc_flags |= IBV_WC_WITH_IMM;
        e.wc.imm_data = w->imm;
    } else if (w->opcode == IBV_WR_SEND_WITH_INV) {
        /* Soft-RoCE passes the kernel's bit on unchanged. */
        e.wc.wc_flags |= fake__rxe() ? IBV_WC_IP_CSUM_OK : IBV_WC_WITH_INV;
        e.wc.invalidated_rkey = w->imm;
    }
    fake__qp_received(peer, r, &e);
}

/* --- requests ---------------------------------------------------------- */

/* Called by fake__respond(). */
static enum ibv_wc_status
send_carry(struct fake__qp *qp, struct fake__qp *peer, struct fake__wqe *w,
           struct fake__piece *own, size_t n)
{
    struct fake__wqe *r = receive_take(peer);
    enum ibv_wc_status status;

    if (r == NULL)
        return FAKE__NOT_READY;
    status = receive_fill(peer, r, own, n, w->length);
    if (status != IBV_WC_SUCCESS)
        return status;
    if (w->opcode == IBV_WR_SEND_WITH_INV &&
        !fake__key_invalidate(peer, w->imm)) {
        receive_fail(peer, r, IBV_WC_REM_INV_REQ_ERR);
        return fake__rxe() ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR;
    }
    receive_done(peer, r, w, IBV_WC_RECV, w->length, qp->number);
    return IBV_WC_SUCCESS;
}

/* Called by write_carry(). */
static bool
has_receive(const struct fake__qp *peer)
{
    return peer->srq != NULL ? peer->srq->queue.n > 0 : peer->rq.n > 0;
}

/* Refuses an access. If the QP forbids this access for all keys, Soft-RoCE
 * reports an invalid request; a key that does not match is an access error in
 * both profiles. Called by write_carry(), read_carry() and atomic_carry(). */
static enum ibv_wc_status
refuse_access(struct fake__qp *peer, unsigned access)
{
    if (fake__rxe() && (peer->attr.qp_access_flags & access) != access)
        return refuse(peer, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
    return refuse(peer, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
}

/* Called by fake__respond(). */
static enum ibv_wc_status
write_carry(struct fake__qp *qp, struct fake__qp *peer, struct fake__wqe *w,
            struct fake__piece *own, size_t n)
{
    bool imm = w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    struct fake__piece to;

    if (!fake__remote_piece(peer, w->rkey, w->remote_addr, w->length,
                            IBV_ACCESS_REMOTE_WRITE, &to))
        return refuse_access(peer, IBV_ACCESS_REMOTE_WRITE);
    if (imm && !has_receive(peer))
        return FAKE__NOT_READY;
    fake__pieces_copy(&to, 1, own, n);
    if (imm)
        receive_done(peer, receive_take(peer), w, IBV_WC_RECV_RDMA_WITH_IMM,
                     w->length, qp->number);
    return IBV_WC_SUCCESS;
}

/* Called by fake__respond(). */
static enum ibv_wc_status
read_carry(struct fake__qp *peer, struct fake__wqe *w, struct fake__piece *own,
           size_t n)
{
    struct fake__piece from;

    if (peer->attr.max_dest_rd_atomic == 0)
        return refuse(peer, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
    if (!fake__remote_piece(peer, w->rkey, w->remote_addr, w->length,
                            IBV_ACCESS_REMOTE_READ, &from))
        return refuse_access(peer, IBV_ACCESS_REMOTE_READ);
    fake__pieces_copy(own, n, &from, 1);
    return IBV_WC_SUCCESS;
}

/* Called by fake__respond(). */
static enum ibv_wc_status
atomic_carry(struct fake__qp *peer, struct fake__wqe *w,
             struct fake__piece *own, size_t n)
{
    struct fake__piece at, old;
    uint64_t before, after;

    if (peer->attr.max_dest_rd_atomic == 0 || w->remote_addr % 8 != 0)
        return refuse(peer, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
    if (!fake__remote_piece(peer, w->rkey, w->remote_addr, 8,
                            IBV_ACCESS_REMOTE_ATOMIC, &at))
        return refuse_access(peer, IBV_ACCESS_REMOTE_ATOMIC);
    memcpy(&before, at.at, 8);
    after = before;
    if (w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
        after += w->compare_add;
    else if (before == w->compare_add)
        after = w->swap;
    memcpy(at.at, &after, 8);
    old = (struct fake__piece){(uint8_t *)&before, 8};
    fake__pieces_copy(own, n, &old, 1);
    return IBV_WC_SUCCESS;
}

/* Called by repeated() and fake__request_take() (packet.c). */
enum ibv_wc_status
fake__respond(struct fake__qp *qp, struct fake__qp *peer, struct fake__wqe *w,
              struct fake__piece *own, size_t n)
{
    switch (w->opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return write_carry(qp, peer, w, own, n);
    case IBV_WR_RDMA_READ:
        return read_carry(peer, w, own, n);
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return atomic_carry(peer, w, own, n);
    default:
        return send_carry(qp, peer, w, own, n);
    }
}

/* --- datagrams --------------------------------------------------------- */

/* Called by datagram_take() (ud.c). */
void
fake__respond_datagram(struct fake__qp *peer, struct fake__datagram *g)
{
    struct fake__piece from = {g->bytes, g->length};
    struct fake__wqe w = {
        .opcode = g->opcode, .flags = g->flags, .imm = g->imm};
    struct fake__wqe *r = receive_take(peer);

    if (r != NULL &&
        receive_fill(peer, r, &from, 1, g->length) == IBV_WC_SUCCESS)
        receive_done(peer, r, &w, IBV_WC_RECV, g->length, g->src_qpn);
}
