/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/raw.h: connections. */
#include "tests/suite/raw.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/connect/target.h"
#include "tests/suite/fixture.h"

/* --- waiting ----------------------------------------------------------- */

bool
raw_readable(int fd, uint64_t until)
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
        if (errno != EAGAIN || !raw_readable(events->fd, until))
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

static bool
receives_post(struct raw *r)
{
    bool good = true;

    if (r->receives == 0)
        r->receives = RAW_BUFFERS;
    for (unsigned i = 0; good && i < r->receives; i++)
        good = raw_post_receive(r, i);
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

static bool
resolve(struct raw *r, const char *target)
{
    struct vc__target parsed;
    struct vc__addrs addrs;

    if (vc__target_parse(&parsed, target) != VC_OK ||
        !vc__target_numeric(&parsed, &addrs))
        return false;
    STAILQ_INIT(&r->kept);
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
    struct rdma_conn_param param = parameters(r, data, len);

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
    raw_forget(r);
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
    STAILQ_INIT(&r->kept);
    r->events = rdma_create_event_channel();
    return r->events != NULL && nonblocking(r->events->fd) &&
           rdma_migrate_id(r->id, r->events) == 0;
}

bool
raw_accept_only(struct raw *r, const void *data, size_t len)
{
    struct rdma_conn_param param = parameters(r, data, len);
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
