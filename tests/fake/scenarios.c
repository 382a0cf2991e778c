/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See scenarios.h. */
#define _GNU_SOURCE /* strerrorname_np() */
#include "scenarios.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EVENT_MS 5000

void
say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
}

const char *
errno_name(int err)
{
    const char *name = strerrorname_np(err);

    return err == 0 ? "0" : name == NULL ? "?" : name;
}

/* --- events ------------------------------------------------------------ */

static void
event_keep(struct pair *p, const struct rdma_cm_event *e)
{
    const struct rdma_conn_param *c = &e->param.conn;

    p->last = *e;
    p->said_len = c->private_data == NULL ? 0 : c->private_data_len;
    if (p->said_len > 0) /* events of groups have a pointer and no data */
        memcpy(p->said, c->private_data, p->said_len);
}

bool
event_next(struct pair *p, int ms)
{
    struct pollfd fd = {.fd = p->channel->fd, .events = POLLIN};
    struct rdma_cm_event *e;

    while (rdma_get_cm_event(p->channel, &e) != 0) {
        if (errno != EAGAIN || poll(&fd, 1, ms) <= 0)
            return false;
    }
    event_keep(p, e);
    rdma_ack_cm_event(e);
    return true;
}

bool
event_expect(struct pair *p, enum rdma_cm_event_type type)
{
    if (!event_next(p, EVENT_MS)) {
        say("  no event, not %s", rdma_event_str(type));
        return false;
    }
    if (p->last.event != type) {
        say("  %s status %d, not %s", rdma_event_str(p->last.event),
            p->last.status, rdma_event_str(type));
        return false;
    }
    return true;
}

/* --- ends -------------------------------------------------------------- */

static enum rdma_port_space
port_space(const struct pair *p)
{
    return p->wish.datagrams ? RDMA_PS_UDP : RDMA_PS_TCP;
}

bool
end_make(struct pair *p, struct end *e)
{
    unsigned depth = p->wish.depth == 0 ? 16 : p->wish.depth;
    struct ibv_srq_init_attr srq = {.attr = {.max_wr = 20, .max_sge = 1}};
    struct ibv_qp_init_attr attr = {
        .cap = {.max_send_wr = depth,
                .max_recv_wr = 16,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 64},
        .qp_type = p->wish.datagrams ? IBV_QPT_UD : IBV_QPT_RC,
    };

    e->memory = calloc(2, BUFFER);
    e->pd = ibv_alloc_pd(e->id->verbs);
    e->cq = ibv_create_cq(e->id->verbs, 512, NULL, NULL, 0);
    if (e->memory == NULL || e->pd == NULL || e->cq == NULL)
        return false;
    e->mr = ibv_reg_mr(e->pd, e->memory, 2 * BUFFER,
                       IBV_ACCESS_LOCAL_WRITE | p->wish.access);
    if (e->mr == NULL)
        return false;
    attr.send_cq = attr.recv_cq = e->cq;
    if (p->wish.srq && e == &p->server) {
        e->srq = ibv_create_srq(e->pd, &srq);
        attr.srq = e->srq;
    }
    return rdma_create_qp(e->id, e->pd, &attr) == 0;
}

void
end_free(struct end *e)
{
    if (e->id != NULL) {
        if (e->id->qp != NULL)
            rdma_destroy_qp(e->id);
        rdma_destroy_id(e->id);
    }
    if (e->ah != NULL)
        ibv_destroy_ah(e->ah);
    if (e->srq != NULL)
        ibv_destroy_srq(e->srq);
    if (e->cq != NULL)
        ibv_destroy_cq(e->cq);
    if (e->mr != NULL)
        ibv_dereg_mr(e->mr);
    if (e->pd != NULL)
        ibv_dealloc_pd(e->pd);
    free(e->memory);
}

int
end_receive(struct end *e, uint32_t len)
{
    struct ibv_sge sge = {.addr = (uintptr_t)(e->memory + BUFFER),
                          .length = len,
                          .lkey = e->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = 2, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;

    return e->srq != NULL ? ibv_post_srq_recv(e->srq, &wr, &bad)
                          : ibv_post_recv(e->id->qp, &wr, &bad);
}

int
end_send(struct end *e, uint32_t len, unsigned flags)
{
    struct ibv_sge sge = {
        .addr = (uintptr_t)e->memory, .length = len, .lkey = e->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = 1,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = flags};
    struct ibv_send_wr *bad;

    if (e->ah != NULL) {
        wr.wr.ud.ah = e->ah;
        wr.wr.ud.remote_qpn = e->qpn;
        wr.wr.ud.remote_qkey = e->qkey;
    }
    return ibv_post_send(e->id->qp, &wr, &bad);
}

int
end_complete(struct end *e, struct ibv_wc *wc, int ms)
{
    for (int i = 0; i <= ms * 10; i++) {
        if (ibv_poll_cq(e->cq, 1, wc) == 1)
            return (int)wc->status;
        usleep(100);
    }
    return -1;
}

const char *
complete_text(struct end *e, int ms)
{
    struct ibv_wc wc;
    int status = end_complete(e, &wc, ms);

    return status < 0 ? "none" : ibv_wc_status_str((enum ibv_wc_status)status);
}

const char *
state_text(struct end *e)
{
    static const char *const names[] = {"RESET", "INIT", "RTR", "RTS",
                                        "SQD",   "SQE",  "ERR"};
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;

    if (ibv_query_qp(e->id->qp, &attr, IBV_QP_STATE, &init) != 0)
        return "?";
    return names[attr.qp_state];
}

bool
end_depths(struct end *e, unsigned *in, unsigned *out)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;

    if (ibv_query_qp(e->id->qp, &attr,
                     IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC,
                     &init) != 0)
        return false;
    *in = attr.max_dest_rd_atomic;
    *out = attr.max_rd_atomic;
    return true;
}

/* --- pairs ------------------------------------------------------------- */

static struct sockaddr_in
address(uint16_t port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};

    inet_pton(AF_INET, getenv("VC_TEST_ADDR"), &addr.sin_addr);
    return addr;
}

void
pair_open(struct pair *p, const struct wish *wish)
{
    struct sockaddr_in addr = address(0);

    memset(p, 0, sizeof *p);
    if (wish != NULL)
        p->wish = *wish;
    p->channel = rdma_create_event_channel();
    if (p->channel == NULL || fcntl(p->channel->fd, F_SETFL, O_NONBLOCK) != 0 ||
        rdma_create_id(p->channel, &p->listener, NULL, port_space(p)) != 0 ||
        rdma_bind_addr(p->listener, (struct sockaddr *)&addr) != 0 ||
        rdma_listen(p->listener, 0) != 0) {
        say("cannot listen: %s", errno_name(errno));
        exit(1);
    }
    p->port = ntohs(rdma_get_src_port(p->listener));
}

bool
pair_resolve(struct pair *p)
{
    struct sockaddr_in addr = address(p->port), from = address(0);
    struct sockaddr *src =
        p->wish.from == NULL ? NULL : (struct sockaddr *)&from;
    uint8_t timeout = (uint8_t)p->wish.timeout;

    if (src != NULL)
        inet_pton(AF_INET, p->wish.from, &from.sin_addr);
    if (rdma_create_id(p->channel, &p->client.id, NULL, port_space(p)) != 0 ||
        rdma_resolve_addr(p->client.id, src, (struct sockaddr *)&addr, 2000) !=
            0 ||
        !event_expect(p, RDMA_CM_EVENT_ADDR_RESOLVED) ||
        rdma_resolve_route(p->client.id, 2000) != 0 ||
        !event_expect(p, RDMA_CM_EVENT_ROUTE_RESOLVED))
        return false;
    if (timeout != 0)
        rdma_set_option(p->client.id, RDMA_OPTION_ID,
                        RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof timeout);
    return true;
}

bool
pair_ask(struct pair *p, const void *data, uint8_t len)
{
    struct rdma_conn_param param = {
        .private_data = data,
        .private_data_len = len,
        .responder_resources = 1,
        .initiator_depth = 4,
        .retry_count = p->wish.retries_given ? p->wish.retry : 6,
        .rnr_retry_count = p->wish.retries_given ? p->wish.rnr_retry : 6,
    };

    if (p->wish.most) {
        param.responder_resources = RDMA_MAX_RESP_RES;
        param.initiator_depth = RDMA_MAX_INIT_DEPTH;
    }
    if (p->client.id->qp == NULL && !end_make(p, &p->client))
        return false;
    if (rdma_connect(p->client.id, &param) != 0) {
        say("  connect: %s", errno_name(errno));
        return false;
    }
    if (!event_expect(p, RDMA_CM_EVENT_CONNECT_REQUEST))
        return false;
    p->server.id = p->last.id;
    return true;
}

bool
pair_accept(struct pair *p, const void *data, uint8_t len)
{
    struct rdma_conn_param param = {
        .private_data = data,
        .private_data_len = len,
        .responder_resources = 4,
        .initiator_depth = 1,
        .rnr_retry_count = p->wish.retries_given ? p->wish.rnr_retry : 6,
    };

    if (p->server.id->qp == NULL && !end_make(p, &p->server))
        return false;
    if (rdma_accept(p->server.id, p->wish.bare ? NULL : &param) != 0) {
        say("  accept: %s", errno_name(errno));
        return false;
    }
    return true;
}

/* Takes from the event what leads to the server. */
static bool
client_addressed(struct pair *p)
{
    struct rdma_ud_param *ud = &p->last.param.ud;

    p->client.ah = ibv_create_ah(p->client.pd, &ud->ah_attr);
    p->client.qpn = ud->qp_num;
    p->client.qkey = ud->qkey;
    return p->client.ah != NULL;
}

/* Both ends of a connection get ESTABLISHED, in either order, and only the
 * client of a datagram service. */
static bool
pair_established(struct pair *p)
{
    if (!event_expect(p, RDMA_CM_EVENT_ESTABLISHED))
        return false;
    return p->wish.datagrams ? client_addressed(p)
                             : event_expect(p, RDMA_CM_EVENT_ESTABLISHED);
}

bool
pair_connect(struct pair *p, const struct wish *wish)
{
    pair_open(p, wish);
    return pair_resolve(p) && pair_ask(p, NULL, 0) && pair_accept(p, NULL, 0) &&
           pair_established(p);
}

void
pair_close(struct pair *p)
{
    end_free(&p->client);
    end_free(&p->server);
    rdma_destroy_id(p->listener);
    rdma_destroy_event_channel(p->channel);
}
