/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sequence numbers of RC requests, and requests that travel: where a path is
 * cut, clogged or repeats, a request and its answer are copies of their own,
 * which are held, lost or delivered twice. A device carries out each PSN of a
 * QP once. Elsewhere a request takes effect at once (qp_wire.c). Each request
 * has one PSN, however many packets it would be. Static functions run on the
 * thread of their caller: one thread of the world runs at a time (world.h). */
#include <string.h>

#include "fake/verbs.h"

#define PSNS      (1u << 24)
#define PSN_MASK  (PSNS - 1)
#define REPEAT_IN (1 + fake__random(64)) /* latencies, until the second one */

/* A request on its way, and then its answer. */
struct packet {
    struct fake__qp *qp; /* the sender's; it may have died */
    uint64_t epoch;      /* of the sender */
    struct fake_host *from, *to;
    union ibv_gid dgid;
    uint32_t qpn; /* of the receiver */
    struct fake__wqe w;
    uint8_t *data; /* what is sent, or was read */
    struct fake__answer answer;
};

/* --- sequence numbers -------------------------------------------------- */

/* Called by rc_carry() and run_ahead() (qp_wire.c). */
void
fake__psn_take(struct fake__qp *qp, struct fake__wqe *w)
{
    if (w->sent)
        return;
    w->sent = true;
    w->psn = qp->next_psn;
    qp->next_psn = (qp->next_psn + 1) & PSN_MASK;
}

/* Called by repeated() and fake__request_take(). */
static bool
is_atomic(const struct fake__wqe *w)
{
    return w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
           w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* The device has received this PSN before: it changes nothing. A READ is
 * answered once more, an atomic operation with its former result. Called by
 * fake__request_take(). */
static enum ibv_wc_status
repeated(struct fake__qp *qp, struct fake__qp *peer, struct fake__wqe *w,
         struct fake__piece *own, size_t n)
{
    fake__path_counts(qp->device->host, peer->device->host)->dropped++;
    fake__note("%s qp %u: has PSN %u already", peer->obj.context->process->name,
               peer->number, w->psn);
    if (w->opcode == IBV_WR_RDMA_READ)
        return fake__respond(qp, peer, w, own, n);
    if (is_atomic(w) && n > 0)
        memcpy(own[0].at, &peer->replay, sizeof peer->replay);
    return IBV_WC_SUCCESS;
}

/* Called by rc_carry() (qp_wire.c) and arrive(). */
enum ibv_wc_status
fake__request_take(struct fake__qp *qp, struct fake__qp *peer,
                   struct fake__wqe *w, struct fake__piece *own, size_t n)
{
    uint32_t behind = (peer->expected - w->psn) & PSN_MASK;
    const uint8_t *result = n > 0 ? own[0].at : NULL;
    enum ibv_wc_status status;

    if (behind >= PSNS / 2)
        return FAKE__LOST; /* one before it is missing */
    if (behind > 0)
        return repeated(qp, peer, w, own, n);
    status = fake__respond(qp, peer, w, own, n);
    if (status != FAKE__NOT_READY)
        peer->expected = (w->psn + 1) & PSN_MASK;
    if (status == IBV_WC_SUCCESS && is_atomic(w) && result != NULL)
        memcpy(&peer->replay, result, sizeof peer->replay);
    return status;
}

/* --- copies ------------------------------------------------------------ */

/* Called by packet_new(). */
static void
data_take(struct packet *p, const struct fake__piece *own, size_t n)
{
    uint32_t at = 0;

    p->data = fake__alloc(p->w.length + sizeof p->qp->replay);
    for (size_t i = 0; i < n; at += own[i++].length)
        if (own[i].length > 0)
            memcpy(p->data + at, own[i].at, own[i].length);
}

/* Called by fake__packet_send(). */
static struct packet *
packet_new(struct fake__qp *qp, const struct fake__wqe *w, struct fake_host *to,
           const struct fake__piece *own, size_t n)
{
    struct packet *p = fake__alloc(sizeof *p);

    p->qp = qp;
    p->epoch = qp->epoch;
    p->from = qp->device->host;
    p->to = to;
    p->dgid = qp->attr.ah_attr.grh.dgid;
    p->qpn = qp->attr.dest_qp_num;
    p->w = *w;
    data_take(p, own, n);
    return p;
}

/* --- on the way -------------------------------------------------------- */

/* The answer arrives. fake__path_send() runs it later for arrive(), on any
 * thread. */
static void
answered(void *obj, uint64_t n)
{
    struct packet *p = obj;
    struct fake__piece data = {p->data, p->w.length};

    (void)n;
    if (fake__reaches(p->to, p->from))
        fake__wire_answered(p->qp, p->epoch, p->w.psn, &p->answer, &data);
}

/* The request arrives. fake__path_send() runs it later for send_at(), on any
 * thread. */
static void
arrive(void *obj, uint64_t n)
{
    struct packet *p = obj;
    struct fake__qp *peer = fake__wire_peer(p->qp, &p->dgid, p->qpn);
    struct fake__piece own = {p->data, p->w.length};

    (void)n;
    if (peer == NULL)
        return;
    p->answer.status = fake__request_take(p->qp, peer, &p->w, &own, 1);
    p->answer.rnr_timer = peer->attr.min_rnr_timer;
    if (p->answer.status != FAKE__LOST)
        fake__path_send(p->to, p->from, 0, answered, p, 0);
}

/* Called by fake__packet_send(). */
static void
send_at(struct packet *p, uint64_t delay)
{
    fake__path_send(p->from, p->to, delay, arrive, p, 0);
}

/* Called by rc_carry() and run_ahead() (qp_wire.c). */
void
fake__packet_send(struct fake__qp *qp, const struct fake__wqe *w,
                  struct fake_host *to, const struct fake__piece *own, size_t n)
{
    struct fake_host *from = qp->device->host;

    send_at(packet_new(qp, w, to, own, n), 0);
    if (!w->twice && !fake__path_repeats(from, to))
        return;
    fake__path_counts(from, to)->duplicated++;
    send_at(packet_new(qp, w, to, own, n),
            w->twice ? w->again : fake__latency() * REPEAT_IN);
}
