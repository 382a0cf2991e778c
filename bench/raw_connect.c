/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See bench/raw_connect.h. */
#include "bench/raw_connect.h"

#include <arpa/inet.h>
#include <pthread.h>

#define RESOLVE_MS 2000
#define SENDS      64
#define INLINE     256
#define QUEUE      1024
/* Bytes of the first message: as a packet of Verbcall with a PING. */
#define FIRST 36
/* Receives posted by the end that accepts. */
#define RECEIVES 64

static const struct rdma_conn_param param = {
    .responder_resources = 16,
    .initiator_depth = 16,
    .retry_count = 6,
    .rnr_retry_count = 6,
};

/* --- both ends --------------------------------------------------------- */

static bool
receive_post(struct raw_end *end)
{
    struct ibv_sge sge = {.addr = (uintptr_t)end->room,
                          .length = sizeof end->room,
                          .lkey = end->mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

    return ibv_post_srq_recv(end->srq, &wr, &bad) == 0;
}

/* All receives share one buffer: the content is not read. */
static bool
receives_make(struct raw_end *end)
{
    end->mr = ibv_reg_mr(end->pd, end->room, sizeof end->room,
                         IBV_ACCESS_LOCAL_WRITE);
    if (end->mr == NULL)
        return false;
    for (int i = 0; i < RECEIVES; i++)
        if (!receive_post(end))
            return false;
    return true;
}

static bool
queues_make(struct raw_end *end, struct ibv_context *verbs)
{
    struct ibv_srq_init_attr srq = {.attr = {.max_wr = QUEUE, .max_sge = 1}};

    if (end->pd != NULL)
        return true;
    end->pd = ibv_alloc_pd(verbs);
    end->cq = ibv_create_cq(verbs, QUEUE, NULL, NULL, 0);
    if (end->pd != NULL)
        end->srq = ibv_create_srq(end->pd, &srq);
    return end->cq != NULL && end->srq != NULL && receives_make(end);
}

static struct ibv_qp_init_attr
qp_attr(const struct raw_end *end)
{
    return (struct ibv_qp_init_attr){
        .send_cq = end->cq,
        .recv_cq = end->cq,
        .srq = end->srq,
        .cap = {.max_send_wr = SENDS,
                .max_send_sge = 1,
                .max_inline_data = INLINE},
        .qp_type = IBV_QPT_RC,
    };
}

static bool
qp_make(struct raw_end *end, struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr attr;

    if (!queues_make(end, id->verbs))
        return false;
    attr = qp_attr(end);
    return rdma_create_qp(id, end->pd, &attr) == 0;
}

struct ibv_qp *
raw_qp_new(struct raw_end *end)
{
    struct ibv_qp_init_attr attr = qp_attr(end);

    return ibv_create_qp(end->pd, &attr);
}

bool
raw_qp_init(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};

    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                             IBV_QP_ACCESS_FLAGS) == 0;
}

bool
raw_qp_reset(struct ibv_qp *qp)
{
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};

    return ibv_modify_qp(qp, &error, IBV_QP_STATE) == 0 &&
           ibv_modify_qp(qp, &reset, IBV_QP_STATE) == 0;
}

static void
id_free(struct rdma_cm_id *id)
{
    if (id->qp != NULL)
        rdma_destroy_qp(id);
    rdma_destroy_id(id);
}

/* --- the end that accepts ---------------------------------------------- */

static void
request_answer(struct raw_end *end, struct rdma_cm_id *id)
{
    struct rdma_conn_param accept = param;

    if (!qp_make(end, id) || rdma_accept(id, &accept) != 0)
        id_free(id);
}

/* Posts a new receive for each one that has completed. */
static void
receives_renew(struct raw_end *end)
{
    struct ibv_wc wc;

    while (ibv_poll_cq(end->cq, 1, &wc) == 1)
        if (wc.opcode == IBV_WC_RECV)
            receive_post(end);
}

static void *
serve_main(void *arg)
{
    struct raw_end *end = arg;
    struct rdma_cm_event *event;

    while (rdma_get_cm_event(end->channel, &event) == 0) {
        enum rdma_cm_event_type type = event->event;
        struct rdma_cm_id *id = event->id;

        rdma_ack_cm_event(event);
        if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
            request_answer(end, id);
        } else if (type == RDMA_CM_EVENT_DISCONNECTED) {
            rdma_disconnect(id);
            id_free(id);
            receives_renew(end);
        }
    }
    return NULL;
}

uint16_t
raw_serve(struct raw_end *end, const struct addrinfo *addr)
{
    pthread_t thread;

    if (!raw_open(end) ||
        rdma_create_id(end->channel, &end->listener, NULL, RDMA_PS_TCP) != 0 ||
        rdma_bind_addr(end->listener, addr->ai_addr) != 0 ||
        rdma_listen(end->listener, 0) != 0 ||
        pthread_create(&thread, NULL, serve_main, end) != 0)
        return 0;
    pthread_detach(thread);
    return ntohs(rdma_get_src_port(end->listener));
}

/* --- the end that connects --------------------------------------------- */

bool
raw_open(struct raw_end *end)
{
    *end = (struct raw_end){.channel = rdma_create_event_channel()};
    return end->channel != NULL;
}

void
raw_close(struct raw_end *end)
{
    if (end->srq != NULL)
        ibv_destroy_srq(end->srq);
    if (end->mr != NULL)
        ibv_dereg_mr(end->mr);
    if (end->cq != NULL)
        ibv_destroy_cq(end->cq);
    if (end->pd != NULL)
        ibv_dealloc_pd(end->pd);
    if (end->channel != NULL)
        rdma_destroy_event_channel(end->channel);
}

/* Waits for one event; false when the event has another type. */
static bool
comes(struct raw_end *end, enum rdma_cm_event_type type)
{
    struct rdma_cm_event *event;
    bool right;

    if (rdma_get_cm_event(end->channel, &event) != 0)
        return false;
    right = event->event == type;
    rdma_ack_cm_event(event);
    return right;
}

/* The active side sends first, as the server replies only to requests. */
static bool
first_send(struct rdma_cm_id *id)
{
    char message[FIRST] = {0};
    struct ibv_sge sge = {.addr = (uintptr_t)message, .length = FIRST};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_INLINE};
    struct ibv_send_wr *bad;

    return ibv_post_send(id->qp, &wr, &bad) == 0;
}

static bool
steps(struct raw_end *end, struct rdma_cm_id *id, const struct addrinfo *addr)
{
    struct rdma_conn_param connect = param;

    return rdma_resolve_addr(id, NULL, addr->ai_addr, RESOLVE_MS) == 0 &&
           comes(end, RDMA_CM_EVENT_ADDR_RESOLVED) &&
           rdma_resolve_route(id, RESOLVE_MS) == 0 &&
           comes(end, RDMA_CM_EVENT_ROUTE_RESOLVED) && qp_make(end, id) &&
           rdma_connect(id, &connect) == 0 &&
           comes(end, RDMA_CM_EVENT_ESTABLISHED) && first_send(id);
}

struct rdma_cm_id *
raw_connect(struct raw_end *end, const struct addrinfo *addr)
{
    struct rdma_cm_id *id;

    if (rdma_create_id(end->channel, &id, NULL, RDMA_PS_TCP) != 0)
        return NULL;
    if (steps(end, id, addr))
        return id;
    id_free(id);
    return NULL;
}

void
raw_leave(struct raw_end *end, struct rdma_cm_id *id)
{
    if (rdma_disconnect(id) == 0)
        comes(end, RDMA_CM_EVENT_DISCONNECTED);
    id_free(id);
}
