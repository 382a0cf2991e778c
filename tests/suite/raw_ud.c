/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/raw_ud.h. */
#include "tests/suite/raw_ud.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite/fixture.h"

#define GRH     40u
#define SIZE    (GRH + 4096u) /* of a buffer */
#define SENDS   32u
#define LOOK_US 200
#define ASK_MS  100 /* how often a waiting end asks whether the peer lives */
#define WINDOW  16u /* datagrams that the peer may have under way */

/* --- connecting -------------------------------------------------------- */

/* Waits for the next event of the id. Returns its type, or RAW_NOTHING. */
static int
raw_ud_event(struct raw *r, int ms)
{
    struct raw_ud *u = raw_ud_of(r);
    struct rdma_cm_event *e;
    int type;

    if (!raw_readable(u->events->fd, fixture_ms() + (uint64_t)ms) ||
        rdma_get_cm_event(u->events, &e) != 0)
        return RAW_NOTHING;
    type = (int)e->event;
    raw_said(r, e->param.ud.private_data,
             e->param.ud.private_data != NULL ? e->param.ud.private_data_len
                                              : 0);
    if (type == RDMA_CM_EVENT_ESTABLISHED) {
        u->ah = ibv_create_ah(u->pd, &e->param.ud.ah_attr);
        u->theirs.qpn = e->param.ud.qp_num;
    }
    if (type == RDMA_CM_EVENT_UNREACHABLE && e->status > 0)
        type = RDMA_CM_EVENT_REJECTED;
    rdma_ack_cm_event(e);
    return type;
}

static struct ibv_qp *
raw_ud_qp(const struct raw_ud *u)
{
    struct ibv_qp_init_attr init = {
        .cap = {.max_send_wr = SENDS,
                .max_recv_wr = RAW_BUFFERS,
                .max_send_sge = 1,
                .max_recv_sge = 1},
        .qp_type = IBV_QPT_UD,
        .sq_sig_all = 1,
        .send_cq = u->cq,
        .recv_cq = u->cq,
    };
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = u->id->port_num,
                               .qkey = RDMA_UDP_QKEY};
    struct ibv_qp *qp = ibv_create_qp(u->pd, &init);

    assert_non_null(qp);
    assert_int_equal(0, ibv_modify_qp(qp, &attr,
                                      IBV_QP_STATE | IBV_QP_PKEY_INDEX |
                                          IBV_QP_PORT | IBV_QP_QKEY));
    attr.qp_state = IBV_QPS_RTR;
    assert_int_equal(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE));
    attr.qp_state = IBV_QPS_RTS;
    assert_int_equal(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
    return qp;
}

static uint8_t *
raw_ud_buffer(const struct raw_ud *u, unsigned i)
{
    return u->memory + (size_t)i * SIZE;
}

/* Posts buffer i to receive a datagram. */
static void
raw_ud_post_receive(struct raw_ud *u, unsigned i)
{
    struct ibv_sge sge = {.addr = (uintptr_t)raw_ud_buffer(u, i),
                          .length = SIZE,
                          .lkey = u->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;

    assert_int_equal(0, ibv_post_recv(u->qp, &wr, &bad));
}

/* Makes queues and buffers for the id's device. */
static void
raw_ud_make(struct raw_ud *u)
{
    u->pd = ibv_alloc_pd(u->id->verbs);
    u->cq = ibv_create_cq(u->id->verbs, 4 * RAW_BUFFERS, NULL, NULL, 0);
    u->memory = calloc(RAW_BUFFERS + SENDS, SIZE);
    assert_true(u->pd != NULL && u->cq != NULL && u->memory != NULL);
    u->mr = ibv_reg_mr(u->pd, u->memory, (size_t)(RAW_BUFFERS + SENDS) * SIZE,
                       IBV_ACCESS_LOCAL_WRITE);
    assert_non_null(u->mr);
    u->qp = raw_ud_qp(u);
    u->other = raw_ud_qp(u);
    for (unsigned i = 0; i < RAW_BUFFERS; i++)
        raw_ud_post_receive(u, i);
    u->next = u->acked = u->expected = 1;
    u->ours = (struct vc__intro){.key = (uint32_t)random() | 1,
                                 .qpn = u->qp->qp_num,
                                 .mtu = VC__DATAGRAM_MTU,
                                 .window = WINDOW};
}

/* Makes r->end, as far as the route is known. */
static bool
raw_ud_resolve(struct raw *r, const struct vc__target *target)
{
    struct raw_ud *u = calloc(1, sizeof *u);
    struct vc__addrs addrs;

    if (u == NULL)
        abort();
    r->end = u;
    u->events = rdma_create_event_channel();
    if (u->events == NULL || !vc__target_numeric(target, &addrs) ||
        rdma_create_id(u->events, &u->id, NULL, RDMA_PS_UDP) != 0 ||
        rdma_resolve_addr(u->id, NULL, (struct sockaddr *)&addrs.addr[0],
                          RAW_MS) != 0 ||
        raw_ud_event(r, RAW_MS) != RDMA_CM_EVENT_ADDR_RESOLVED ||
        rdma_resolve_route(u->id, RAW_MS) != 0 ||
        raw_ud_event(r, RAW_MS) != RDMA_CM_EVENT_ROUTE_RESOLVED)
        return false;
    raw_ud_make(u);
    return true;
}

static bool
raw_ud_say(struct raw *r, const void *bytes, size_t len)
{
    struct rdma_conn_param param = {.private_data = bytes,
                                    .private_data_len = (uint8_t)len};

    return rdma_connect(raw_ud_of(r)->id, &param) == 0;
}

int
raw_ud_ask(struct raw *r, const char *target, const void *bytes, size_t len)
{
    struct vc__target parsed;

    if (vc__target_parse(&parsed, target) != VC_OK)
        return RAW_NOTHING;
    STAILQ_INIT(&r->kept);
    r->ops = &raw_ud_ops;
    if (!raw_ud_resolve(r, &parsed) || !raw_ud_say(r, bytes, len))
        return RAW_NOTHING;
    return raw_wait(r, RAW_MS);
}

static bool
raw_ud_connect(struct raw *r, const struct vc__target *target, const void *data,
               size_t len)
{
    uint8_t bytes[180];

    if (!raw_ud_resolve(r, target))
        return false;
    vc__intro_put(bytes, &raw_ud_of(r)->ours);
    memcpy(bytes + VC__INTRO, data, len);
    return raw_ud_say(r, bytes, VC__INTRO + len);
}

static int raw_ud_wait_close(struct raw *r, uint8_t flags, int ms);

/* Leaves, unless the peer has left, and frees everything. */
static void
raw_ud_close(struct raw *r)
{
    struct raw_ud *u = raw_ud_of(r);

    if (u->ah != NULL)
        raw_ud_wait_close(r, VC__DATAGRAM_CLOSE, RAW_MS);
    if (u->ah != NULL)
        ibv_destroy_ah(u->ah);
    if (u->qp != NULL)
        ibv_destroy_qp(u->qp);
    if (u->other != NULL)
        ibv_destroy_qp(u->other);
    if (u->mr != NULL)
        ibv_dereg_mr(u->mr);
    if (u->cq != NULL)
        ibv_destroy_cq(u->cq);
    if (u->pd != NULL)
        ibv_dealloc_pd(u->pd);
    if (u->id != NULL)
        rdma_destroy_id(u->id);
    if (u->events != NULL)
        rdma_destroy_event_channel(u->events);
    free(u->memory);
    free(u);
}

/* --- sending ----------------------------------------------------------- */

void
raw_ud_send_bytes(struct raw *r, const void *bytes, size_t len, bool stranger)
{
    struct raw_ud *u = raw_ud_of(r);
    unsigned i = RAW_BUFFERS + u->sent++ % SENDS;
    struct ibv_sge sge = {.addr = (uintptr_t)raw_ud_buffer(u, i),
                          .length = (uint32_t)len,
                          .lkey = u->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = i,
                             .sg_list = &sge,
                             .num_sge = len > 0,
                             .opcode = IBV_WR_SEND,
                             .wr.ud = {.ah = u->ah,
                                       .remote_qpn = u->theirs.qpn,
                                       .remote_qkey = RDMA_UDP_QKEY}};
    struct ibv_send_wr *bad;

    if (len > 0)
        memcpy(raw_ud_buffer(u, i), bytes, len);
    assert_int_equal(0, ibv_post_send(stranger ? u->other : u->qp, &wr, &bad));
}

/* The head of a datagram without data. */
static struct vc__datagram
raw_ud_head(const struct raw_ud *u)
{
    return (struct vc__datagram){
        .key = u->theirs.key, .ack = u->expected, .window = WINDOW};
}

struct vc__datagram
raw_ud_next(struct raw *r)
{
    struct vc__datagram d = raw_ud_head(raw_ud_of(r));

    d.sequence = raw_ud_of(r)->next++;
    d.pieces = 1;
    return d;
}

void
raw_ud_send(struct raw *r, const struct vc__datagram *d, const void *data,
            size_t len)
{
    uint8_t bytes[SIZE];

    vc__datagram_put(bytes, d);
    if (len > 0)
        memcpy(bytes + VC__DATAGRAM_HEADER, data, len);
    raw_ud_send_bytes(r, bytes, VC__DATAGRAM_HEADER + len, false);
}

static void
raw_ud_send_bare(struct raw *r, uint8_t flags)
{
    struct vc__datagram d = raw_ud_head(raw_ud_of(r));

    d.flags = flags;
    raw_ud_send(r, &d, NULL, 0);
}

/* --- receiving --------------------------------------------------------- */

/* Adds the piece that was expected; a whole packet is kept. */
static void
raw_ud_piece(struct raw *r, const struct vc__datagram *d, const uint8_t *data,
             uint32_t len)
{
    struct raw_ud *u = raw_ud_of(r);

    assert_in_range(len, 1, sizeof u->assembly - u->assembled);
    memcpy(u->assembly + u->assembled, data, len);
    u->assembled += len;
    if (d->piece + 1u < d->pieces)
        return;
    raw_keep(r, u->assembly, u->assembled);
    u->assembled = 0;
}

static void
raw_ud_take(struct raw *r, const struct vc__datagram *d, const uint8_t *data,
            uint32_t len)
{
    struct raw_ud *u = raw_ud_of(r);

    u->acked = d->ack;
    u->sack = d->sack;
    if (d->flags & VC__DATAGRAM_CLOSE) {
        raw_ud_send_bare(r, VC__DATAGRAM_CLOSE);
        u->closed = r->ended = true;
    }
    u->copies += d->sequence != 0;
    if (d->sequence != 0 && d->sequence == u->expected) {
        u->expected++;
        raw_ud_piece(r, d, data, len);
    }
    if (!u->silent && (d->sequence != 0 || d->flags & VC__DATAGRAM_ASKS))
        raw_ud_send_bare(r, 0);
}

static void
raw_ud_received(struct raw *r, const uint8_t *bytes, uint32_t len)
{
    struct raw_ud *u = raw_ud_of(r);
    struct vc__datagram d;

    assert_true(vc__datagram_get(&d, bytes, len));
    if (d.flags & VC__DATAGRAM_RESET) {
        u->resets++;
        u->reset_key = d.key;
        if (d.key == u->theirs.key)
            u->closed = r->ended = true;
    } else {
        assert_int_equal(u->ours.key, d.key);
        raw_ud_take(r, &d, bytes + VC__DATAGRAM_HEADER,
                    len - VC__DATAGRAM_HEADER);
    }
}

static bool
raw_ud_step(struct raw *r, uint64_t until)
{
    struct raw_ud *u = raw_ud_of(r);
    struct ibv_wc wc;

    while (ibv_poll_cq(u->cq, 1, &wc) == 0) {
        if (fixture_ms() >= until)
            return false;
        usleep(LOOK_US);
    }
    if (wc.status != IBV_WC_SUCCESS || wc.wr_id >= RAW_BUFFERS)
        return true;
    raw_ud_received(r, raw_ud_buffer(u, (unsigned)wc.wr_id) + GRH,
                    wc.byte_len - GRH);
    raw_ud_post_receive(u, (unsigned)wc.wr_id);
    return true;
}

/* --- the table --------------------------------------------------------- */

bool
raw_ud_await_acked(struct raw *r, int ms)
{
    uint64_t until = fixture_ms() + (uint64_t)ms;
    const struct raw_ud *u = raw_ud_of(r);

    while (!u->closed && u->acked != u->next) {
        if (!raw_ud_step(r, until))
            return false;
    }
    return !u->closed;
}

static bool
raw_ud_send_packet(struct raw *r, const void *bytes, size_t len)
{
    unsigned pieces = (unsigned)((len + RAW_UD_DATA - 1) / RAW_UD_DATA);

    if (raw_ud_of(r)->closed)
        return false;
    for (unsigned i = 0; i < pieces; i++) {
        size_t at = (size_t)i * RAW_UD_DATA;
        struct vc__datagram d = raw_ud_next(r);

        d.piece = (uint8_t)i;
        d.pieces = (uint8_t)pieces;
        raw_ud_send(r, &d, (const uint8_t *)bytes + at,
                    len - at < RAW_UD_DATA ? len - at : RAW_UD_DATA);
    }
    return true;
}

/* Reads the answer to our request. */
static int
raw_ud_answer(struct raw *r, int ms)
{
    struct raw_ud *u = raw_ud_of(r);
    uint32_t qpn;

    switch (raw_ud_event(r, ms)) {
    case RDMA_CM_EVENT_ESTABLISHED:
        qpn = u->theirs.qpn;
        if (!vc__intro_get(&u->theirs, r->said, (uint32_t)r->said_len) ||
            qpn != u->theirs.qpn)
            return RAW_OTHER;
        r->said_len -= VC__INTRO;
        memmove(r->said, r->said + VC__INTRO, r->said_len);
        return RAW_ESTABLISHED;
    case RDMA_CM_EVENT_REJECTED:
        return RAW_REJECTED;
    case RAW_NOTHING:
        return RAW_NOTHING;
    default:
        return RAW_FAILED;
    }
}

/* Waits for the end, and sends a datagram with these flags now and then. */
static int
raw_ud_wait_close(struct raw *r, uint8_t flags, int ms)
{
    uint64_t until = fixture_ms() + (uint64_t)ms;
    struct raw_ud *u = raw_ud_of(r);

    while (!u->closed && fixture_ms() < until) {
        raw_ud_send_bare(r, flags);
        while (!u->closed && raw_ud_step(r, fixture_ms() + ASK_MS))
            continue;
    }
    return u->closed ? RAW_DISCONNECTED : RAW_NOTHING;
}

/* Before it is connected: waits for the answer. Afterwards: for the end, and
 * asks whether the peer knows this end still. */
static int
raw_ud_wait(struct raw *r, int ms)
{
    if (raw_ud_of(r)->ah == NULL)
        return raw_ud_answer(r, ms);
    return raw_ud_wait_close(r, VC__DATAGRAM_ASKS, ms);
}

const struct raw_ops raw_ud_ops = {
    .connect = raw_ud_connect,
    .wait = raw_ud_wait,
    .close = raw_ud_close,
    .send = raw_ud_send_packet,
    .step = raw_ud_step,
};
