/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/raw.h. */
#include "tests/suite/raw.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/target.h"
#include "tests/suite/fixture.h"
#include "transport/le.h"

/* What a part of a long message takes at most: a packet that all take. */
#define PART_MAX (8192u - VC__PACKET_HEADER - VC__FRAME_HEADER)

/* Of an odd wr_id is a send, of an even one a receive. */
#define SEND_ID(i)    ((uint64_t)(i) << 1 | 1)
#define RECEIVE_ID(i) ((uint64_t)(i) << 1)

/* --- waiting ----------------------------------------------------------- */

static bool
readable(int fd, uint64_t until)
{
    uint64_t now = fixture_ms();
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, until > now ? (int)(until - now) : 0) == 1;
}

static bool
nonblocking(int fd)
{
    return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0;
}

/* The next event of a channel; its data go to r, its id to *id. */
static int
event_next(struct rdma_event_channel *events, struct raw *r,
           struct rdma_cm_id **id, int ms)
{
    uint64_t until = fixture_ms() + (uint64_t)ms;
    struct rdma_cm_event *e;

    r->event = RAW_NOTHING;
    while (rdma_get_cm_event(events, &e) != 0) {
        if (errno != EAGAIN || !readable(events->fd, until))
            return RAW_NOTHING;
    }
    r->event = (int)e->event;
    r->status = e->status;
    r->said_len = e->param.conn.private_data_len;
    if (e->param.conn.private_data != NULL)
        memcpy(r->said, e->param.conn.private_data, r->said_len);
    *id = e->id;
    rdma_ack_cm_event(e);
    return r->event;
}

int
raw_wait(struct raw *r, int ms)
{
    struct rdma_cm_id *id;
    int type = event_next(r->events, r, &id, ms);

    if (type == RDMA_CM_EVENT_DISCONNECTED)
        rdma_disconnect(r->id);
    return type;
}

/* --- the QP ------------------------------------------------------------ */

static uint8_t *
buffer(struct raw *r, unsigned i)
{
    return r->memory + (size_t)i * RAW_SIZE;
}

static bool
receive_post(struct raw *r, unsigned i)
{
    struct ibv_sge sge = {.addr = (uintptr_t)buffer(r, i),
                          .length = RAW_SIZE,
                          .lkey = r->mr->lkey};
    struct ibv_recv_wr wr = {
        .wr_id = RECEIVE_ID(i), .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;

    return ibv_post_recv(r->id->qp, &wr, &bad) == 0;
}

static bool
receives_post(struct raw *r)
{
    bool good = true;

    if (r->receives == 0)
        r->receives = RAW_BUFFERS;
    for (unsigned i = 0; good && i < r->receives; i++)
        good = receive_post(r, i);
    return good;
}

static bool
qp_make(struct raw *r)
{
    struct ibv_qp_init_attr attr = {
        .cap = {.max_send_wr = RAW_BUFFERS,
                .max_recv_wr = RAW_BUFFERS,
                .max_send_sge = 1,
                .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
    };
    size_t size = (size_t)2 * RAW_BUFFERS * RAW_SIZE;
    struct ibv_context *verbs = r->id->verbs;

    r->memory = aligned_alloc(4096, size);
    r->pd = ibv_alloc_pd(verbs);
    r->channel = ibv_create_comp_channel(verbs);
    if (r->memory == NULL || r->pd == NULL || r->channel == NULL)
        return false;
    r->mr = ibv_reg_mr(r->pd, r->memory, size, IBV_ACCESS_LOCAL_WRITE);
    r->cq = ibv_create_cq(verbs, 4 * RAW_BUFFERS, NULL, r->channel, 0);
    if (r->mr == NULL || r->cq == NULL || !nonblocking(r->channel->fd))
        return false;
    attr.send_cq = attr.recv_cq = r->cq;
    return rdma_create_qp(r->id, r->pd, &attr) == 0 && receives_post(r);
}

/* --- connecting -------------------------------------------------------- */

struct vc__hello
raw_hello(const struct vc_service *service)
{
    return (struct vc__hello){
        .version_min = VC__VERSION_MIN,
        .version_max = VC__VERSION_MAX,
        .credits = RAW_BUFFERS,
        .log2_eager = 13,
        .log2_message = 22,
        .service = service->id,
        .fingerprint = service->fingerprint,
        .sessions = 1,
        .instance = "a raw end",
    };
}

static struct rdma_conn_param
parameters(const void *data, size_t len)
{
    return (struct rdma_conn_param){
        .private_data = data,
        .private_data_len = (uint8_t)len,
        .responder_resources = 1,
        .initiator_depth = 1,
        .retry_count = 6,
        .rnr_retry_count = 6,
    };
}

static bool
resolve(struct raw *r, const char *target)
{
    struct vc__target parsed;
    struct vc__addrs addrs;

    if (vc__target_parse(&parsed, target) != VC_OK ||
        !vc__target_numeric(&parsed, &addrs))
        return false;
    r->events = rdma_create_event_channel();
    if (r->events == NULL || !nonblocking(r->events->fd) ||
        rdma_create_id(r->events, &r->id, NULL, RDMA_PS_TCP) != 0)
        return false;
    return rdma_resolve_addr(r->id, NULL, (struct sockaddr *)&addrs.addr[0],
                             RAW_MS) == 0 &&
           raw_wait(r, RAW_MS) == RDMA_CM_EVENT_ADDR_RESOLVED &&
           rdma_resolve_route(r->id, RAW_MS) == 0 &&
           raw_wait(r, RAW_MS) == RDMA_CM_EVENT_ROUTE_RESOLVED;
}

int
raw_connect(struct raw *r, const char *target, const void *data, size_t len)
{
    struct rdma_conn_param param = parameters(data, len);

    if (!resolve(r, target) || (!r->unconfirmed && !qp_make(r)) ||
        rdma_connect(r->id, &param) != 0)
        return RAW_NOTHING;
    return raw_wait(r, RAW_MS);
}

bool
raw_open(struct raw *r, const char *target, const struct vc__hello *hello)
{
    uint8_t bytes[VC__HELLO_SIZE];
    struct vc__accept accept;

    vc__hello_put(bytes, hello);
    if (raw_connect(r, target, bytes, sizeof bytes) !=
            RDMA_CM_EVENT_ESTABLISHED ||
        vc__accept_get(&accept, r->said, r->said_len) != VC__SAID_OK)
        return false;
    r->have = accept.credits;
    r->window = hello->credits;
    return true;
}

void
raw_close(struct raw *r)
{
    if (r->id != NULL && r->id->qp != NULL) {
        rdma_disconnect(r->id);
        rdma_destroy_qp(r->id);
    }
    if (r->id != NULL)
        rdma_destroy_id(r->id);
    if (r->mr != NULL)
        ibv_dereg_mr(r->mr);
    if (r->cq != NULL)
        ibv_destroy_cq(r->cq);
    if (r->channel != NULL)
        ibv_destroy_comp_channel(r->channel);
    if (r->pd != NULL)
        ibv_dealloc_pd(r->pd);
    if (r->events != NULL)
        rdma_destroy_event_channel(r->events);
    free(r->memory);
    memset(r, 0, sizeof *r);
}

/* --- listening --------------------------------------------------------- */

bool
raw_listen(struct raw_listener *l)
{
    char text[80];
    struct vc__target target;
    struct vc__addrs addrs;

    memset(l, 0, sizeof *l);
    if (vc__target_parse(&target, fixture_target(0, text)) != VC_OK ||
        !vc__target_numeric(&target, &addrs))
        return false;
    l->events = rdma_create_event_channel();
    if (l->events == NULL || !nonblocking(l->events->fd) ||
        rdma_create_id(l->events, &l->id, NULL, RDMA_PS_TCP) != 0 ||
        rdma_bind_addr(l->id, (struct sockaddr *)&addrs.addr[0]) != 0 ||
        rdma_listen(l->id, 0) != 0)
        return false;
    l->port = ntohs(rdma_get_src_port(l->id));
    return true;
}

void
raw_unlisten(struct raw_listener *l)
{
    if (l->id != NULL)
        rdma_destroy_id(l->id);
    if (l->events != NULL)
        rdma_destroy_event_channel(l->events);
    memset(l, 0, sizeof *l);
}

bool
raw_take(struct raw_listener *l, struct raw *r, int ms)
{
    uint64_t until = fixture_ms() + (uint64_t)ms;
    int type;

    do {
        uint64_t now = fixture_ms();

        type = event_next(l->events, r, &r->id,
                          until > now ? (int)(until - now) : 0);
    } while (type != RDMA_CM_EVENT_CONNECT_REQUEST && type != RAW_NOTHING);
    if (type == RAW_NOTHING) {
        r->id = NULL;
        return false;
    }
    r->events = rdma_create_event_channel();
    return r->events != NULL && nonblocking(r->events->fd) &&
           rdma_migrate_id(r->id, r->events) == 0;
}

bool
raw_accept_only(struct raw *r, const void *data, size_t len)
{
    struct rdma_conn_param param = parameters(data, len);
    struct vc__hello hello;
    struct vc__accept accept;

    r->window = RAW_BUFFERS;
    if (vc__accept_get(&accept, data, len) == VC__SAID_OK)
        r->window = accept.credits;
    if (vc__hello_get(&hello, r->said, r->said_len) == VC__SAID_OK)
        r->have = hello.credits;
    return qp_make(r) && rdma_accept(r->id, &param) == 0;
}

bool
raw_accept(struct raw *r, const void *data, size_t len)
{
    return raw_accept_only(r, data, len) &&
           raw_wait(r, RAW_MS) == RDMA_CM_EVENT_ESTABLISHED;
}

bool
raw_reject(struct raw *r, const void *data, size_t len)
{
    return rdma_reject(r->id, data, (uint8_t)len) == 0;
}

/* --- packets in the making --------------------------------------------- */

void
raw_begin(struct raw *r, struct raw_packet *p)
{
    p->head =
        (struct vc__packet){.sequence = r->sequence++,
                            .word = {.ack = r->handled, .window = r->window}};
    p->len = VC__PACKET_HEADER;
    if (r->have > 0)
        r->have--;
    vc__packet_put(p->bytes, &p->head);
}

void
raw_add(struct raw_packet *p, struct vc__frame f)
{
    uint8_t *out = p->bytes + p->len;

    vc__frame_put(out, &f);
    out += VC__FRAME_HEADER;
    if (f.metadata != NULL) {
        memcpy(out, f.metadata, f.metadata_len);
        out += f.metadata_len;
    }
    if (f.body_len > 0)
        memcpy(out, f.body, f.body_len);
    p->len = (uint32_t)(out - p->bytes) + f.body_len;
    p->head.count++;
    vc__packet_put(p->bytes, &p->head);
}

void
raw_add_open(struct raw_packet *p, uint32_t session,
             const struct vc_service *service)
{
    size_t name = strlen(service->name);
    uint8_t body[1024];
    uint8_t *out = body;

    vc__put16(out, (uint16_t)name);
    memcpy(out + 2, service->name, name);
    out += 2 + name;
    vc__put16(out, (uint16_t)service->n_methods);
    out += 2;
    for (unsigned i = 0; i < service->n_methods; i++, out += 4)
        vc__put32(out, service->methods[i].hash);
    raw_add(p, (struct vc__frame){.type = VC__FRAME_OPEN,
                                  .session = session,
                                  .sequence = 1,
                                  .body = body,
                                  .body_len = (uint32_t)(out - body)});
}

/* --- completions ------------------------------------------------------- */

static void
packet_keep(struct raw *r, const struct ibv_wc *wc)
{
    unsigned i = (unsigned)(wc->wr_id >> 1);
    struct vc__packet head;

    r->packet_len = wc->byte_len;
    memcpy(r->packet, buffer(r, i), wc->byte_len);
    if (!vc__packet_open(&r->reader, r->packet, r->packet_len, &head))
        return;
    r->have = (uint16_t)(head.word.ack + head.word.window - r->sequence);
    if (!r->hoards && receive_post(r, i))
        r->handled++;
}

/* False when none came in time. */
static bool
completion_next(struct raw *r, uint64_t until, struct ibv_wc *wc)
{
    struct ibv_cq *cq;
    void *context;

    while (ibv_poll_cq(r->cq, 1, wc) == 0) {
        ibv_req_notify_cq(r->cq, 0);
        if (ibv_poll_cq(r->cq, 1, wc) != 0)
            return true;
        if (!readable(r->channel->fd, until))
            return false;
        if (ibv_get_cq_event(r->channel, &cq, &context) == 0)
            ibv_ack_cq_events(cq, 1);
    }
    return true;
}

/* Takes the account of one completion; true when it was a packet. */
static bool
completion_handle(struct raw *r, const struct ibv_wc *wc)
{
    bool sent = wc->wr_id & 1;

    r->done += sent;
    if (wc->status != IBV_WC_SUCCESS) {
        if (r->wc == IBV_WC_SUCCESS)
            r->wc = wc->status;
        return false;
    }
    if (!sent)
        packet_keep(r, wc);
    return !sent;
}

bool
raw_receive(struct raw *r, int ms)
{
    uint64_t until = fixture_ms() + (uint64_t)ms;
    struct ibv_wc wc;

    while (r->wc == IBV_WC_SUCCESS && completion_next(r, until, &wc)) {
        if (completion_handle(r, &wc))
            return true;
    }
    return false;
}

bool
raw_next_frame(struct raw *r, struct vc__frame *f, int ms)
{
    uint64_t until = fixture_ms() + (uint64_t)ms;

    for (;;) {
        uint64_t now = fixture_ms();

        if (r->reader.at != NULL && vc__frame_next(&r->reader, f) == 1)
            return true;
        if (!raw_receive(r, until > now ? (int)(until - now) : 0))
            return false;
    }
}

/* --- sending ----------------------------------------------------------- */

/* Fewer than n sends are under way; packets that come meanwhile are lost to
 * the reader, but not to the account. */
static bool
sends_below(struct raw *r, unsigned n)
{
    uint64_t until = fixture_ms() + RAW_MS;
    struct ibv_wc wc;

    while (r->posted - r->done >= n && completion_next(r, until, &wc))
        completion_handle(r, &wc);
    return r->posted - r->done < n;
}

bool
raw_send(struct raw *r, const void *bytes, size_t len)
{
    unsigned i = RAW_BUFFERS + r->posted % RAW_BUFFERS;
    struct ibv_sge sge = {.addr = (uintptr_t)buffer(r, i),
                          .length = (uint32_t)len,
                          .lkey = r->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = SEND_ID(i),
                             .sg_list = &sge,
                             .num_sge = len > 0,
                             .opcode = IBV_WR_SEND};
    struct ibv_send_wr *bad;

    if (!sends_below(r, RAW_BUFFERS))
        return false;
    memcpy(buffer(r, i), bytes, len);
    if (ibv_post_send(r->id->qp, &wr, &bad) != 0)
        return false;
    r->posted++;
    return true;
}

bool
raw_send_packet(struct raw *r, const struct raw_packet *p)
{
    return raw_send(r, p->bytes, p->len);
}

int
raw_post(struct raw *r, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;

    if (!sends_below(r, 1))
        return RAW_NOTHING;
    r->wc = IBV_WC_SUCCESS;
    wr->wr_id = SEND_ID(0);
    if (ibv_post_send(r->id->qp, wr, &bad) != 0)
        return RAW_NOTHING;
    r->posted++;
    return sends_below(r, 1) ? (int)r->wc : RAW_NOTHING;
}

/* doc/wire.md 3.2: the last credit is for giving credits back. */
static bool
credit_wait(struct raw *r)
{
    while (r->have < 2) {
        if (!raw_receive(r, RAW_MS))
            return false;
    }
    return true;
}

bool
raw_send_frame(struct raw *r, struct vc__frame f)
{
    struct raw_packet p;

    if (!credit_wait(r))
        return false;
    raw_begin(r, &p);
    raw_add(&p, f);
    return raw_send_packet(r, &p);
}

bool
raw_send_open(struct raw *r, uint32_t session, const struct vc_service *service)
{
    struct raw_packet p;

    if (!credit_wait(r))
        return false;
    raw_begin(r, &p);
    raw_add_open(&p, session, service);
    return raw_send_packet(r, &p);
}

bool
raw_send_message(struct raw *r, struct vc__frame f, const uint8_t *data,
                 uint32_t len)
{
    uint8_t first[PART_MAX];
    uint32_t at = PART_MAX - f.metadata_len - 4;
    bool of_reply = f.type == VC__FRAME_REPLY || f.flags & VC__FRAME_OF_REPLY;

    f.flags &= (uint8_t)~VC__FRAME_OF_REPLY;
    f.body = data;
    f.body_len = len;
    if (len <= PART_MAX - f.metadata_len)
        return raw_send_frame(r, f);
    vc__put32(first, len);
    memcpy(first + 4, data, at);
    f.body = first;
    f.body_len = at + 4;
    f.flags |= VC__FRAME_MORE;
    if (!raw_send_frame(r, f))
        return false;
    f.flags = of_reply ? VC__FRAME_OF_REPLY : 0;
    f.type = VC__FRAME_DATA;
    f.metadata_len = 0;
    for (; at < len; at += f.body_len) {
        struct vc__frame part = f;

        f.body_len = len - at < PART_MAX ? len - at : PART_MAX;
        part.body = data + at;
        part.body_len = f.body_len;
        part.deadline = at;
        if (at + f.body_len < len)
            part.flags |= VC__FRAME_MORE;
        if (!raw_send_frame(r, part))
            return false;
    }
    return true;
}
