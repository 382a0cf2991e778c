/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Raw ends over rdma_cm and verbs: see tests/suite/raw_rdma.h. */
#include "tests/suite/raw_rdma.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite/fixture.h"
#include "tests/suite/raw_ops.h"

/* The wr_id of a send is odd, that of a receive even. */
#define SEND_ID(i)    ((uint64_t)(i) << 1 | 1)
#define RECEIVE_ID(i) ((uint64_t)(i) << 1)
#define EVENT_MS      20 /* between looks for an event */

/* --- events of rdma_cm ------------------------------------------------- */

static struct rdma_event_channel *
channel_open(void)
{
    struct rdma_event_channel *events = rdma_create_event_channel();

    if (events == NULL || fcntl(events->fd, F_SETFL,
                                fcntl(events->fd, F_GETFL) | O_NONBLOCK) == 0)
        return events;
    rdma_destroy_event_channel(events);
    return NULL;
}

static struct raw_parameters
parameters_of(const struct rdma_conn_param *conn)
{
    return (struct raw_parameters){
        .reads_in = conn->responder_resources,
        .reads_out = conn->initiator_depth,
        .flow_control = conn->flow_control,
        .retry_count = conn->retry_count,
        .rnr_retry_count = conn->rnr_retry_count,
        .srq = conn->srq,
        .qp_num = conn->qp_num,
    };
}

/* Returns the next event of a channel, an enum rdma_cm_event_type or
 * RAW_NOTHING; stores its data in r and its id in *id. */
static int
cm_event(struct rdma_event_channel *events, struct raw *r,
         struct rdma_cm_id **id, int ms)
{
    uint64_t until = fixture_ms() + (uint64_t)ms;
    struct rdma_cm_event *e;
    int type;

    while (rdma_get_cm_event(events, &e) != 0) {
        if (errno != EAGAIN || !raw_readable(events->fd, until))
            return RAW_NOTHING;
    }
    type = (int)e->event;
    raw_said(r, e->param.conn.private_data,
             e->param.conn.private_data != NULL ? e->param.conn.private_data_len
                                                : 0);
    r->parameters = parameters_of(&e->param.conn);
    *id = e->id;
    rdma_ack_cm_event(e);
    return type;
}

static int
event_of(int type)
{
    switch (type) {
    case RAW_NOTHING:
        return RAW_NOTHING;
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
        return RAW_ACCEPTED;
    case RDMA_CM_EVENT_ESTABLISHED:
        return RAW_ESTABLISHED;
    case RDMA_CM_EVENT_REJECTED:
        return RAW_REJECTED;
    case RDMA_CM_EVENT_CONNECT_ERROR:
        return RAW_FAILED;
    case RDMA_CM_EVENT_DISCONNECTED:
        return RAW_DISCONNECTED;
    default:
        return RAW_OTHER;
    }
}

/* Returns the next event of r's own connection. */
static int
own_event(struct raw *r, int ms)
{
    struct rdma_cm_id *id;

    return cm_event(raw_verbs_of(r)->events, r, &id, ms);
}

static int
verbs_wait(struct raw *r, int ms)
{
    int event = event_of(own_event(r, ms));

    if (event == RAW_DISCONNECTED)
        rdma_disconnect(raw_verbs_of(r)->id);
    return event;
}

/* --- the QP ------------------------------------------------------------ */

static uint8_t *
buffer(struct raw_verbs *v, unsigned i)
{
    return v->memory + (size_t)i * RAW_SIZE;
}

/* Posts buffer i to receive a packet. */
static bool
receive_post(struct raw_verbs *v, unsigned i)
{
    struct ibv_sge sge = {.addr = (uintptr_t)buffer(v, i),
                          .length = RAW_SIZE,
                          .lkey = v->mr->lkey};
    struct ibv_recv_wr wr = {
        .wr_id = RECEIVE_ID(i), .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;

    return ibv_post_recv(v->id->qp, &wr, &bad) == 0;
}

static bool
receives_post(struct raw *r)
{
    bool good = true;

    if (r->receives == 0)
        r->receives = RAW_BUFFERS;
    for (unsigned i = 0; good && i < r->receives; i++)
        good = receive_post(raw_verbs_of(r), i);
    return good;
}

/* Makes the objects that the QP needs. */
static bool
resources_make(struct raw_verbs *v)
{
    size_t size = (size_t)2 * RAW_BUFFERS * RAW_SIZE;
    int flags;

    v->memory = aligned_alloc(4096, size);
    v->pd = ibv_alloc_pd(v->id->verbs);
    v->channel = ibv_create_comp_channel(v->id->verbs);
    if (v->memory == NULL || v->pd == NULL || v->channel == NULL)
        return false;
    v->mr = ibv_reg_mr(v->pd, v->memory, size, IBV_ACCESS_LOCAL_WRITE);
    v->cq = ibv_create_cq(v->id->verbs, 4 * RAW_BUFFERS, NULL, v->channel, 0);
    flags = fcntl(v->channel->fd, F_GETFL);
    return v->mr != NULL && v->cq != NULL &&
           fcntl(v->channel->fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static bool
qp_make(struct raw *r)
{
    struct raw_verbs *v = raw_verbs_of(r);
    struct ibv_qp_init_attr attr = {
        .cap = {.max_send_wr = RAW_BUFFERS,
                .max_recv_wr = RAW_BUFFERS,
                .max_send_sge = 1,
                .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
    };

    if (!resources_make(v))
        return false;
    attr.send_cq = attr.recv_cq = v->cq;
    return rdma_create_qp(v->id, v->pd, &attr) == 0 && receives_post(r);
}

/* --- connecting -------------------------------------------------------- */

static struct rdma_conn_param
parameters(const struct raw *r, const void *data, size_t len)
{
    return (struct rdma_conn_param){
        .private_data = data,
        .private_data_len = (uint8_t)len,
        .responder_resources = r->wishes ? r->reads_in : 1,
        .initiator_depth = r->wishes ? r->reads_out : 1,
        .retry_count = r->wishes ? 7 : 6,
        .rnr_retry_count = r->wishes ? 7 : 6,
    };
}

static struct raw_verbs *
verbs_new(struct raw *r)
{
    struct raw_verbs *v = calloc(1, sizeof *v);

    if (v == NULL)
        abort();
    r->end = v;
    v->events = channel_open();
    return v;
}

static bool
resolve(struct raw *r, const struct vc__target *target)
{
    struct raw_verbs *v = verbs_new(r);
    struct vc__addrs addrs;

    if (v->events == NULL || !vc__target_numeric(target, &addrs) ||
        rdma_create_id(v->events, &v->id, NULL, RDMA_PS_TCP) != 0)
        return false;
    return rdma_resolve_addr(v->id, NULL, (struct sockaddr *)&addrs.addr[0],
                             RAW_MS) == 0 &&
           own_event(r, RAW_MS) == RDMA_CM_EVENT_ADDR_RESOLVED &&
           rdma_resolve_route(v->id, RAW_MS) == 0 &&
           own_event(r, RAW_MS) == RDMA_CM_EVENT_ROUTE_RESOLVED;
}

static bool
verbs_connect(struct raw *r, const struct vc__target *target, const void *data,
              size_t len)
{
    struct rdma_conn_param param = parameters(r, data, len);

    return resolve(r, target) && (r->unconfirmed || qp_make(r)) &&
           rdma_connect(raw_verbs_of(r)->id, &param) == 0;
}

static void
verbs_close(struct raw *r)
{
    struct raw_verbs *v = raw_verbs_of(r);

    if (v->id != NULL && v->id->qp != NULL) {
        rdma_disconnect(v->id);
        rdma_destroy_qp(v->id);
    }
    if (v->id != NULL)
        rdma_destroy_id(v->id);
    if (v->mr != NULL)
        ibv_dereg_mr(v->mr);
    if (v->cq != NULL)
        ibv_destroy_cq(v->cq);
    if (v->channel != NULL)
        ibv_destroy_comp_channel(v->channel);
    if (v->pd != NULL)
        ibv_dealloc_pd(v->pd);
    if (v->events != NULL)
        rdma_destroy_event_channel(v->events);
    free(v->memory);
    free(v);
}

/* --- listening --------------------------------------------------------- */

struct verbs_ear {
    struct rdma_event_channel *events;
    struct rdma_cm_id *id;
};

static bool
verbs_listen(struct raw_listener *l, const struct vc__target *target)
{
    struct verbs_ear *ear = calloc(1, sizeof *ear);
    struct vc__addrs addrs;

    if (ear == NULL)
        abort();
    l->ear = ear;
    ear->events = channel_open();
    if (ear->events == NULL || !vc__target_numeric(target, &addrs) ||
        rdma_create_id(ear->events, &ear->id, NULL, RDMA_PS_TCP) != 0 ||
        rdma_bind_addr(ear->id, (struct sockaddr *)&addrs.addr[0]) != 0 ||
        rdma_listen(ear->id, 0) != 0)
        return false;
    l->port = ntohs(rdma_get_src_port(ear->id));
    return true;
}

static void
verbs_unlisten(struct raw_listener *l)
{
    struct verbs_ear *ear = l->ear;

    if (ear->id != NULL)
        rdma_destroy_id(ear->id);
    if (ear->events != NULL)
        rdma_destroy_event_channel(ear->events);
    free(ear);
}

static bool
verbs_take(struct raw_listener *l, struct raw *r, int ms)
{
    uint64_t until = fixture_ms() + (uint64_t)ms;
    struct verbs_ear *ear = l->ear;
    struct rdma_cm_id *id;
    struct raw_verbs *v;
    int type;

    do {
        type = cm_event(ear->events, r, &id, raw_left(until));
    } while (type != RDMA_CM_EVENT_CONNECT_REQUEST && type != RAW_NOTHING);
    if (type == RAW_NOTHING)
        return false;
    v = verbs_new(r);
    v->id = id;
    return v->events != NULL && rdma_migrate_id(v->id, v->events) == 0;
}

static bool
verbs_accept(struct raw *r, const void *data, size_t len)
{
    struct rdma_conn_param param = parameters(r, data, len);

    return qp_make(r) && rdma_accept(raw_verbs_of(r)->id, &param) == 0;
}

bool
raw_accept_bare(struct raw *r)
{
    return qp_make(r) && rdma_accept(raw_verbs_of(r)->id, NULL) == 0;
}

static bool
verbs_reject(struct raw *r, const void *data, size_t len)
{
    return rdma_reject(raw_verbs_of(r)->id, data, (uint8_t)len) == 0;
}

/* --- completions ------------------------------------------------------- */

/* False when there was no completion in time. */
static bool
completion_next(struct raw_verbs *v, uint64_t until, struct ibv_wc *wc)
{
    struct ibv_cq *cq;
    void *context;

    while (ibv_poll_cq(v->cq, 1, wc) == 0) {
        ibv_req_notify_cq(v->cq, 0);
        if (ibv_poll_cq(v->cq, 1, wc) != 0)
            return true;
        if (!raw_readable(v->channel->fd, until))
            return false;
        if (ibv_get_cq_event(v->channel, &cq, &context) == 0)
            ibv_ack_cq_events(cq, 1);
    }
    return true;
}

/* Handles a completed receive: the buffer is posted for the next packet. */
static void
received(struct raw *r, const struct ibv_wc *wc)
{
    struct raw_verbs *v = raw_verbs_of(r);
    unsigned i = (unsigned)(wc->wr_id >> 1);

    if (raw_keep(r, buffer(v, i), wc->byte_len) && !r->hoards &&
        !receive_post(v, i))
        r->handled--; /* the receive was not posted again */
}

static bool
verbs_step(struct raw *r, uint64_t until)
{
    struct raw_verbs *v = raw_verbs_of(r);
    struct ibv_wc wc;
    bool sent;

    if (!completion_next(v, until, &wc))
        return false;
    sent = wc.wr_id & 1;
    v->done += sent;
    if (wc.status == IBV_WC_SUCCESS) {
        if (!sent)
            received(r, &wc);
    } else if (v->wc == IBV_WC_SUCCESS) {
        v->wc = wc.status;
        r->ended = true;
    }
    return true;
}

/* --- sending ----------------------------------------------------------- */

/* Waits until fewer than n sends are outstanding; false: not in time, or there
 * is an event, as when the peer has disconnected: then they never complete. */
static bool
sends_below(struct raw *r, unsigned n)
{
    uint64_t until = fixture_ms() + RAW_MS;
    struct raw_verbs *v = raw_verbs_of(r);

    while (v->posted - v->done >= n) {
        if (!verbs_step(r, fixture_ms() + EVENT_MS) &&
            (fixture_ms() >= until || raw_readable(v->events->fd, 0)))
            break;
    }
    return v->posted - v->done < n;
}

/* The index of the next send buffer. */
static unsigned
send_next(const struct raw_verbs *v)
{
    return RAW_BUFFERS + v->posted % RAW_BUFFERS;
}

uint8_t *
raw_room(struct raw *r)
{
    struct raw_verbs *v = raw_verbs_of(r);

    return buffer(v, send_next(v));
}

static bool
verbs_send(struct raw *r, const void *bytes, size_t len)
{
    struct raw_verbs *v = raw_verbs_of(r);
    unsigned i = send_next(v);
    struct ibv_sge sge = {.addr = (uintptr_t)buffer(v, i),
                          .length = (uint32_t)len,
                          .lkey = v->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = SEND_ID(i),
                             .sg_list = &sge,
                             .num_sge = len > 0,
                             .opcode = IBV_WR_SEND};
    struct ibv_send_wr *bad;

    if (!sends_below(r, RAW_BUFFERS))
        return false;
    memcpy(buffer(v, i), bytes, len);
    if (ibv_post_send(v->id->qp, &wr, &bad) != 0)
        return false;
    v->posted++;
    return true;
}

int
raw_post(struct raw *r, struct ibv_send_wr *wr)
{
    struct raw_verbs *v = raw_verbs_of(r);
    struct ibv_send_wr *bad;

    if (!sends_below(r, 1))
        return RAW_NOTHING;
    v->wc = IBV_WC_SUCCESS;
    wr->wr_id = SEND_ID(0);
    if (ibv_post_send(v->id->qp, wr, &bad) != 0)
        return RAW_NOTHING;
    v->posted++;
    return sends_below(r, 1) ? (int)v->wc : RAW_NOTHING;
}

/* --- the table --------------------------------------------------------- */

const struct raw_ops raw_rdma_ops = {
    .connect = verbs_connect,
    .wait = verbs_wait,
    .close = verbs_close,
    .listen = verbs_listen,
    .unlisten = verbs_unlisten,
    .take = verbs_take,
    .accept = verbs_accept,
    .reject = verbs_reject,
    .send = verbs_send,
    .step = verbs_step,
};
