/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Carries out work requests: one after another, each at one moment at both ends
 * (the responder is in qp_respond.c). The completion follows when the
 * acknowledgement has come. Rules may do anything while a line is noted, so the
 * state of a QP from before is valid afterwards only if its epoch is the same.
 * Where a path is cut, clogged or repeats, copies of requests travel instead
 * (packet.c), and later ones follow before the first one is answered.
 * Static functions run on the thread of their caller: one thread of the world
 * runs at a time (world.h). */
#include <string.h>

#include "fake/verbs.h"

#define BETWEEN_SENDS (100 + fake__random(400))

static struct {
    fake_see_send *send;
    void *arg;
} see;

void
fake_see(fake_see_send *send, void *arg)
{
    see.send = send;
    see.arg = arg;
}

/* Called by fake__qp_sent() (qp.c) and note(). */
const char *
fake__op_name(enum ibv_wr_opcode opcode)
{
    static const char *const names[] = {
        [IBV_WR_RDMA_WRITE] = "WRITE",
        [IBV_WR_RDMA_WRITE_WITH_IMM] = "WRITE_WITH_IMM",
        [IBV_WR_SEND] = "SEND",
        [IBV_WR_SEND_WITH_IMM] = "SEND_WITH_IMM",
        [IBV_WR_RDMA_READ] = "READ",
        [IBV_WR_ATOMIC_CMP_AND_SWP] = "CMP_AND_SWP",
        [IBV_WR_ATOMIC_FETCH_AND_ADD] = "FETCH_AND_ADD",
        [IBV_WR_LOCAL_INV] = "LOCAL_INV",
        [IBV_WR_BIND_MW] = "BIND_MW",
        [IBV_WR_SEND_WITH_INV] = "SEND_WITH_INV",
    };

    return names[opcode];
}

/* --- the engine -------------------------------------------------------- */

static void carry_out(struct fake__qp *qp);
static void lost(struct fake__qp *qp);
static void run_ahead(void *obj, uint64_t timer);

/* Called by most functions of this file. */
static bool
current(const struct fake__qp *qp, uint64_t epoch)
{
    return !qp->obj.dead && qp->epoch == epoch;
}

/* fake__after() runs it later for step_after(), on any thread. */
static void
step(void *obj, uint64_t epoch)
{
    struct fake__qp *qp = obj;

    if (!current(qp, epoch))
        return;
    qp->busy = false;
    if (qp->out != NULL)
        carry_out(qp);
}

/* Called by fake__wire_kick(), finish(), not_ready() and passes(). */
static void
step_after(struct fake__qp *qp, uint64_t delay)
{
    qp->busy = true;
    fake__after(delay, step, qp, qp->epoch);
}

/* While `out` flies, later sends follow it. Called by fake__wire_kick(),
 * finish(), rc_carry() and run_ahead(). */
static void
ahead_after(struct fake__qp *qp)
{
    if (qp->ahead == qp->timer)
        return;
    qp->ahead = qp->timer;
    fake__after(BETWEEN_SENDS, run_ahead, qp, qp->timer);
}

/* Called by send_post() (qp_post.c). */
void
fake__wire_kick(struct fake__qp *qp)
{
    if (!qp->busy && !qp->stuck)
        step_after(qp, fake__latency());
    else if (qp->waits && qp->out->flies)
        ahead_after(qp);
}

/* fake__after() runs it later for finish(), on any thread. */
static void
acknowledged(void *obj, uint64_t epoch)
{
    struct fake__qp *qp = obj;
    struct fake__wqe *w;
    enum ibv_wc_status status;

    if (!current(qp, epoch))
        return;
    w = fake__queue_pop(&qp->sq);
    status = w->status;
    fake__qp_sent(qp, w, status);
    if (status != IBV_WC_SUCCESS && current(qp, epoch))
        fake__qp_error(qp);
}

/* Finishes the first send that was not carried out: its completion comes after
 * `delay`, and after those of earlier sends. Called by most functions of this
 * file. */
static void
finish(struct fake__qp *qp, enum ibv_wc_status status, uint64_t delay)
{
    uint64_t at = fake__world.now + delay;

    if (at < qp->ack_at)
        at = qp->ack_at;
    qp->ack_at = at;
    qp->out->status = status;
    qp->out = qp->out->next;
    qp->stuck = status != IBV_WC_SUCCESS;
    fake__after(at - fake__world.now, acknowledged, qp, qp->epoch);
    if (qp->stuck || qp->out == NULL)
        return;
    if (qp->out->flies) {
        lost(qp);
        ahead_after(qp);
    } else {
        step_after(qp, BETWEEN_SENDS);
    }
}

/* --- retries ----------------------------------------------------------- */

/* fake__after() runs it later for lost(), on any thread. */
static void
timed_out(void *obj, uint64_t timer)
{
    struct fake__qp *qp = obj;
    bool for_ever = fake__rxe() && qp->attr.retry_cnt == 7;

    if (qp->obj.dead || qp->timer != timer)
        return;
    qp->busy = qp->waits = false;
    if (!for_ever && qp->out->tries++ >= qp->attr.retry_cnt)
        finish(qp, IBV_WC_RETRY_EXC_ERR, 0);
    else
        carry_out(qp);
}

/* There is no answer so far: a packet was lost, or is on its way. A timeout of
 * 0 means no timeout: no retry follows. Called by most functions of this
 * file. */
static void
lost(struct fake__qp *qp)
{
    qp->busy = qp->waits = true;
    qp->timer++;
    if (qp->attr.timeout != 0)
        fake__after(UINT64_C(4096) << qp->attr.timeout, timed_out, qp,
                    qp->timer);
}

/* Called by not_ready(). */
static uint64_t
rnr_delay(unsigned timer)
{
    static const uint32_t hundredths[32] = {
        65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
        48,    64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
        2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
    };
    /* In the specification's table, 1 is 0.01 ms and 14 is 1.28 ms. */
    return hundredths[timer] * 10 * FAKE__US;
}

/* Called by answer_take(). */
static void
not_ready(struct fake__qp *qp, unsigned timer)
{
    struct fake__wqe *w = qp->out;

    if (qp->attr.rnr_retry != 7 && w->rnr_tries++ >= qp->attr.rnr_retry)
        finish(qp, IBV_WC_RNR_RETRY_EXC_ERR, fake__latency());
    else
        step_after(qp, rnr_delay(timer));
}

/* --- the sender's memory ----------------------------------------------- */

/* Called by own_pieces(), check_own(), fake__wire_answered() and
 * may_run_ahead(). */
static bool
writes_here(enum ibv_wr_opcode opcode)
{
    return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
           opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Finds the sender's memory. Returns the number of pieces, or -1. Called by
 * carry_out(), fake__wire_answered(), may_run_ahead() and run_ahead(). */
static int
own_pieces(struct fake__qp *qp, struct fake__wqe *w, struct fake__piece *pieces)
{
    unsigned access = writes_here(w->opcode) ? IBV_ACCESS_LOCAL_WRITE : 0;

    if (w->flags & IBV_SEND_INLINE) {
        pieces[0] = (struct fake__piece){w->data, w->length};
        return 1;
    }
    if (!fake__local_pieces(qp->device, qp->pd, w, access, pieces))
        return -1;
    return (int)w->n_sge;
}

/* --- the requester ----------------------------------------------------- */

/* Called by note(), rc_carry(), may_run_ahead() and run_ahead(). */
static const union ibv_gid *
gid_to(const struct fake__qp *qp, const struct fake__wqe *w)
{
    return qp->type == IBV_QPT_UD ? &w->dgid : &qp->attr.ah_attr.grh.dgid;
}

/* Called by fake__wire_peer(). */
static struct fake__qp *
qp_at(struct fake__qp *qp, const union ibv_gid *gid, uint32_t number)
{
    struct fake_host *to = fake__host_of_gid(gid);
    struct fake__qp *peer;

    if (to == NULL || to->device == NULL || to->device->gone ||
        !fake__reaches(qp->device->host, to))
        return NULL;
    peer = fake__device_qp(to->device, number);
    if (peer == NULL || peer->type != qp->type || !fake__qp_receives(peer))
        return NULL;
    return peer;
}

/* Called by rc_carry() and arrive() (packet.c). */
struct fake__qp *
fake__wire_peer(struct fake__qp *qp, const union ibv_gid *gid, uint32_t number)
{
    struct fake__qp *peer = qp_at(qp, gid, number);

    if (peer == NULL || peer->attr.dest_qp_num != qp->number ||
        fake__host_of_gid(&peer->attr.ah_attr.grh.dgid) != qp->device->host)
        return NULL;
    return peer;
}

/* Shows the send's current bytes to the function of fake_see(). Called by
 * note(). */
static void
show(struct fake__qp *qp, const struct fake__wqe *w, const char *to)
{
    uint8_t *bytes;
    uint32_t at = 0;

    if (see.send == NULL || w->opcode != IBV_WR_SEND)
        return;
    bytes = fake__alloc(w->length + 1);
    if (w->flags & IBV_SEND_INLINE)
        memcpy(bytes, w->data, w->length);
    else
        for (unsigned i = 0; i < w->n_sge; at += w->sge[i++].length)
            memcpy(bytes + at, (const void *)(uintptr_t)w->sge[i].addr,
                   w->sge[i].length);
    see.send(qp->obj.context->process->name, to, bytes, w->length, see.arg);
}

/* Called by note(). */
static const char *
target_name(const union ibv_gid *gid, char *name, size_t size)
{
    const struct fake_host *to = fake__host_of_gid(gid);

    if (to == NULL && fake__gid_is_group(gid))
        return fake__group_name(gid, name, size);
    return to == NULL ? "nowhere" : to->name;
}

/* Notes the send. False if the QP did not survive what rules did. Called by
 * passes() and run_ahead(). */
static bool
note(struct fake__qp *qp, struct fake__wqe *w, struct fake__fate *fate)
{
    char name[64];
    const char *to = target_name(gid_to(qp, w), name, sizeof name);
    uint64_t epoch = qp->epoch;

    w->noted = true;
    qp->busy = true; /* a rule may post */
    show(qp, w, to);
    *fate =
        fake__note("%s qp %u: %s %u B -> %s", qp->obj.context->process->name,
                   qp->number, fake__op_name(w->opcode), w->length, to);
    if (fate->flush)
        fake__qp_error(qp);
    /* A process killed at this moment has not sent it. */
    if (!current(qp, epoch) || qp->obj.context->process->doomed)
        return false;
    w->twice = fate->twice;
    w->again = fate->again;
    return true;
}

/* True if the path loses this packet because it has no bytes. READs and atomics
 * always have a length. Called by passes(). */
static bool
empty_is_lost(const struct fake__qp *qp, const struct fake__wqe *w,
              const struct fake_host *to)
{
    return w->length == 0 &&
           (qp->device->host->drops_empty || (to != NULL && to->drops_empty));
}

/* Notes the send once for each time that it is sent. True if it is sent now.
 * Called by carry_out(). */
static bool
passes(struct fake__qp *qp, struct fake__wqe *w)
{
    struct fake__fate fate;

    if (w->noted)
        return true;
    if (!note(qp, w, &fate))
        return false;
    qp->busy = false;
    if (fate.lose || fate.drop ||
        empty_is_lost(qp, w, fake__host_of_gid(gid_to(qp, w)))) {
        w->noted = false;
        if (qp->type == IBV_QPT_UD)
            finish(qp, IBV_WC_SUCCESS, 0);
        else
            lost(qp);
        return false;
    }
    w->late = fate.delay; /* a datagram does not delay those after it */
    if (fate.delay > 0 && qp->type != IBV_QPT_UD)
        step_after(qp, fate.delay);
    return fate.delay == 0 || qp->type == IBV_QPT_UD;
}

/* Called by may_run_ahead() and carry_out(). */
static enum ibv_wc_status
check_own(const struct fake__qp *qp, const struct fake__wqe *w, int n)
{
    if (n < 0)
        return fake__protection();
    if (w->length > FAKE__MAX_MSG)
        return IBV_WC_LOC_LEN_ERR;
    if (fake__rxe())
        return qp->device->host->port_up ? IBV_WC_SUCCESS
                                         : IBV_WC_LOC_QP_OP_ERR;
    if (writes_here(w->opcode) && qp->attr.max_rd_atomic == 0)
        return IBV_WC_LOC_QP_OP_ERR;
    return IBV_WC_SUCCESS;
}

/* Called by rc_carry() and fake__wire_answered(). */
static void
answer_take(struct fake__qp *qp, enum ibv_wc_status status, unsigned rnr_timer)
{
    qp->busy = false;
    if (status == FAKE__LOST)
        lost(qp);
    else if (status == FAKE__NOT_READY)
        not_ready(qp, rnr_timer);
    else
        finish(qp, status, fake__latency());
}

/* Called by carry_out(). */
static void
rc_carry(struct fake__qp *qp, struct fake__wqe *w, struct fake__piece *own,
         size_t n)
{
    struct fake_host *to = fake__host_of_gid(gid_to(qp, w));
    struct fake__qp *peer;
    uint64_t epoch = qp->epoch;
    enum ibv_wc_status status;

    w->noted = false; /* note again if sent again */
    fake__psn_take(qp, w);
    if (to != NULL && (w->twice || !fake__path_plain(qp->device->host, to))) {
        w->flies = qp->flew = true;
        fake__packet_send(qp, w, to, own, n);
        lost(qp);
        ahead_after(qp);
        return;
    }
    peer = fake__wire_peer(qp, gid_to(qp, w), qp->attr.dest_qp_num);
    if (peer == NULL) {
        lost(qp);
        return;
    }
    qp->busy = true; /* a rule may post */
    status = fake__request_take(qp, peer, w, own, n);
    if (current(qp, epoch))
        answer_take(qp, status, peer->attr.min_rnr_timer);
}

/* Called by answered() (packet.c). */
void
fake__wire_answered(struct fake__qp *qp, uint64_t epoch, uint32_t psn,
                    const struct fake__answer *answer, struct fake__piece *data)
{
    struct fake__piece own[FAKE__MAX_SGE];
    struct fake__wqe *w = qp->out;
    int n;

    if (!current(qp, epoch) || !qp->waits || !w->sent || w->psn != psn)
        return; /* the answer to another copy came first */
    qp->waits = false;
    qp->timer++;
    n = writes_here(w->opcode) ? own_pieces(qp, w, own) : 0;
    if (n > 0 && answer->status == IBV_WC_SUCCESS)
        fake__pieces_copy(own, (size_t)n, data, 1);
    answer_take(qp, answer->status, answer->rnr_timer);
}

/* Called by run_ahead(). */
static bool
may_run_ahead(struct fake__qp *qp, struct fake__wqe *w)
{
    const struct fake_host *to = fake__host_of_gid(gid_to(qp, w));
    struct fake__piece own[FAKE__MAX_SGE];

    if (w->opcode == IBV_WR_LOCAL_INV || w->opcode == IBV_WR_BIND_MW ||
        writes_here(w->opcode) || to == NULL ||
        fake__path_plain(qp->device->host, to))
        return false;
    return check_own(qp, w, own_pieces(qp, w, own)) == IBV_WC_SUCCESS;
}

/* What was sent after this one is sent again, too. Called by carry_out(). */
static void
fly_again(struct fake__qp *qp)
{
    if (!qp->flew)
        return;
    for (struct fake__wqe *w = qp->out; w != NULL; w = w->next)
        w->flies = false;
    qp->flew = false;
}

/* Returns the first send that does not fly. Called by run_ahead(). */
static struct fake__wqe *
grounded(const struct fake__qp *qp)
{
    struct fake__wqe *w = qp->out;

    while (w != NULL && w->flies)
        w = w->next;
    return w;
}

/* Sends one more while answers are awaited, as adapters do. READs and atomic
 * operations wait until it is their turn. The answers come in order: what is
 * lost is sent again with all that followed it. fake__after() runs it later for
 * ahead_after(), on any thread. */
static void
run_ahead(void *obj, uint64_t timer)
{
    struct fake__piece own[FAKE__MAX_SGE];
    struct fake__qp *qp = obj;
    struct fake_host *to;
    struct fake__fate fate;
    struct fake__wqe *w;
    int n;

    if (qp->obj.dead || qp->timer != timer || !qp->waits)
        return;
    qp->ahead = 0;
    w = grounded(qp);
    if (w == NULL || !may_run_ahead(qp, w) || !note(qp, w, &fate))
        return;
    w->noted = false;
    w->flies = true;
    fake__psn_take(qp, w);
    to = fake__host_of_gid(gid_to(qp, w));
    n = own_pieces(qp, w, own);
    if (!fate.lose && !fate.drop)
        fake__packet_send(qp, w, to, own, (size_t)n);
    ahead_after(qp);
}

/* Called by carry_out(). */
static void
local_carry(struct fake__qp *qp, struct fake__wqe *w)
{
    bool bind = w->opcode == IBV_WR_BIND_MW;
    bool ok =
        bind ? fake__window_bind(qp, w) : fake__key_invalidate(qp, w->imm);

    if (ok)
        finish(qp, IBV_WC_SUCCESS, 0);
    else
        finish(qp,
               bind || !fake__rxe() ? IBV_WC_MW_BIND_ERR : IBV_WC_LOC_QP_OP_ERR,
               0);
}

/* --- datagrams --------------------------------------------------------- */

/* Called by carry_out(). */
static void
ud_carry(struct fake__qp *qp, struct fake__wqe *w, struct fake__piece *own,
         size_t n)
{
    uint64_t epoch = qp->epoch;

    if (w->length > FAKE__MTU && !fake__rxe()) {
        finish(qp, IBV_WC_LOC_LEN_ERR, 0);
        return;
    }
    qp->busy = true; /* a rule may post */
    fake__datagram_send(qp, w, own, n);
    if (!current(qp, epoch))
        return;
    qp->busy = false;
    finish(qp, IBV_WC_SUCCESS, 0);
}

/* Called by step() and timed_out(). */
static void
carry_out(struct fake__qp *qp)
{
    struct fake__piece own[FAKE__MAX_SGE];
    struct fake__wqe *w = qp->out;
    enum ibv_wc_status status;
    int n;

    fly_again(qp);
    if (w->opcode == IBV_WR_LOCAL_INV || w->opcode == IBV_WR_BIND_MW) {
        local_carry(qp, w);
        return;
    }
    if (!passes(qp, w))
        return;
    n = own_pieces(qp, w, own);
    status = check_own(qp, w, n);
    if (status != IBV_WC_SUCCESS)
        finish(qp, status, 0);
    else if (qp->type == IBV_QPT_UD)
        ud_carry(qp, w, own, (size_t)n);
    else
        rc_carry(qp, w, own, (size_t)n);
}
