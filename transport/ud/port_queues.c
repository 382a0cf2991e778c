/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The queues and the memory of a port. All of it runs on the holder of the
 * engine, but vc__ud_queues_free() also when the context is closed. See
 * transport/ud/port.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "transport/rdma/device_queues.h"
#include "transport/ud/wire.h"

#define REPOST_BATCH 8u
#define ALIGN        64u

/* Bytes of inline data to ask for, in this order: see transport/rdma/qp.c. */
static const uint16_t inline_steps[] = {256, 220, 124, 92, 60, 28, 0};
#define INLINE_STEPS (sizeof inline_steps / sizeof inline_steps[0])

/* --- receives ------------------------------------------------------------ */

/* Makes requests of the first buffers of the chain. Returns how many. For
 * vc__ud_receives_repost(). */
static unsigned
chain_take(struct vc__ud_port *p, struct ibv_recv_wr wr[REPOST_BATCH],
           struct ibv_sge sge[REPOST_BATCH])
{
    unsigned n = 0;

    for (; n < REPOST_BATCH && p->repost != NULL; n++) {
        struct vc__buffer *b = p->repost;

        p->repost = b->next;
        p->n_repost--;
        sge[n] = (struct ibv_sge){.addr = (uintptr_t)b->data,
                                  .length = VC__UD_GRH + p->mtu,
                                  .lkey = b->lkey};
        wr[n] = (struct ibv_recv_wr){
            .wr_id = (uintptr_t)b, .sg_list = &sge[n], .num_sge = 1};
        if (n > 0)
            wr[n - 1].next = &wr[n];
    }
    return n;
}

void
vc__ud_receives_repost(struct vc__ud_port *p)
{
    while (p->repost != NULL) {
        struct ibv_recv_wr wr[REPOST_BATCH], *refused = NULL;
        struct ibv_sge sge[REPOST_BATCH];

        chain_take(p, wr, sge);
        if (ibv_post_recv(p->qp, wr, &refused) == 0)
            continue;
        /* What the device refuses waits for the next call. */
        for (; refused != NULL; refused = refused->next) {
            struct vc__buffer *b =
                (struct vc__buffer *)(uintptr_t)refused->wr_id;

            b->next = p->repost;
            p->repost = b;
            p->n_repost++;
        }
        return;
    }
}

void
vc__ud_receive_give_back(struct vc__ud_port *p, struct vc__buffer *b)
{
    b->next = p->repost;
    p->repost = b;
    if (++p->n_repost >= REPOST_BATCH)
        vc__ud_receives_repost(p);
}

enum vc_status
vc__ud_receives_add(struct vc__ud_port *p, unsigned n)
{
    enum vc_status status;

    if (n > p->receives_max - p->posted)
        n = p->receives_max - p->posted;
    status = vc__buffers_reserve(&p->receive, n);
    if (status != VC_OK)
        return status;
    p->posted += n;
    while (n-- > 0)
        vc__ud_receive_give_back(p, vc__buffers_take(&p->receive));
    vc__ud_receives_repost(p);
    return VC_OK;
}

/* --- the QP -------------------------------------------------------------- */

/* Creates the QP, with as many inline bytes as the adapter grants. 0 or an
 * errno. For ud_qp_make(). */
static int
ud_qp_create(struct vc__ud_port *p)
{
    for (unsigned i = 0; p->qp == NULL && i < INLINE_STEPS; i++) {
        struct ibv_qp_init_attr attr = {
            .send_cq = p->cq,
            .recv_cq = p->cq,
            .cap = {.max_send_wr = VC__UD_SENDS,
                    .max_recv_wr = p->receives_max,
                    .max_send_sge = 2,
                    .max_recv_sge = 1,
                    .max_inline_data = inline_steps[i]},
            .qp_type = IBV_QPT_UD,
        };

        p->qp = ibv_create_qp(p->device->pd, &attr);
        p->inline_max = attr.cap.max_inline_data;
    }
    return p->qp == NULL ? errno : 0;
}

/* Moves the QP to RTS. 0 or an errno. For ud_qp_make(). */
static int
ud_qp_start(struct vc__ud_port *p)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = p->number, .qkey = RDMA_UDP_QKEY};
    int err = ibv_modify_qp(p->qp, &attr,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                IBV_QP_QKEY);

    attr.qp_state = IBV_QPS_RTR;
    if (err == 0)
        err = ibv_modify_qp(p->qp, &attr, IBV_QP_STATE);
    attr.qp_state = IBV_QPS_RTS;
    if (err == 0)
        err = ibv_modify_qp(p->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
    return err;
}

/* --- making a port's parts ----------------------------------------------- */

/* Finds out the MTU of the port. VC_UNAVAILABLE: it is too small. For
 * vc__ud_queues_make(). */
static enum vc_status
mtu_query(struct vc__ud_port *p)
{
    struct ibv_port_attr attr;
    int err = ibv_query_port(p->device->verbs, p->number, &attr);

    if (err != 0)
        return vc__device_fail(p->device, "a query of its port", err);
    p->mtu = (uint16_t)(128u << attr.active_mtu);
    if (p->mtu >= VC__DATAGRAM_MTU)
        return VC_OK;
    return vc__fail(VC_UNAVAILABLE,
                    "%s: datagrams need an MTU of %u bytes, and port %u has "
                    "%u; raise the MTU of its network interface, or use "
                    "rdma://",
                    ibv_get_device_name(p->device->verbs->device),
                    VC__DATAGRAM_MTU, p->number, p->mtu);
}

/* Makes the completion channel and queue. For vc__ud_queues_make(). */
static enum vc_status
cq_make(struct vc__ud_port *p)
{
    struct ibv_context *verbs = p->device->verbs;
    int fd;

    p->channel = ibv_create_comp_channel(verbs);
    if (p->channel == NULL)
        return vc__device_fail(p->device, "a completion channel", errno);
    fd = p->channel->fd;
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
        return vc__device_fail(p->device, "its descriptors non-blocking",
                               errno);
    p->cq = ibv_create_cq(verbs, (int)(p->receives_max + VC__UD_SENDS), NULL,
                          p->channel, 0);
    if (p->cq == NULL)
        return vc__device_fail(p->device, "a completion queue", errno);
    return VC_OK;
}

/* Makes the memory for headers, and the pools of buffers, within the memory
 * that the context may pin. For vc__ud_queues_make(). */
static enum vc_status
memory_make(struct vc__ud_port *p)
{
    size_t memory = p->context->rdma.opts.memory;
    size_t size = VC__UD_SENDS * VC__UD_HEADER_SPACE;
    size_t receive = (VC__UD_GRH + p->mtu + ALIGN - 1) / ALIGN * ALIGN;
    size_t small = (VC__UD_PACKET_HEAD + p->mtu + ALIGN - 1) / ALIGN * ALIGN;

    vc__buffers_init(&p->receive, p->device->pd, "receive", receive,
                     memory / 2);
    vc__buffers_init(&p->small, p->device->pd, "send", small, memory / 8);
    vc__buffers_init(&p->large, p->device->pd, "send",
                     VC__UD_PACKET_HEAD + VC__PACKET_MAX, memory / 8 * 3);
    if (posix_memalign((void **)&p->headers, 4096, size) != 0)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    p->headers_mr = ibv_reg_mr(p->device->pd, p->headers, size, 0);
    if (p->headers_mr == NULL)
        return vc__device_fail(p->device, "memory for headers", errno);
    p->sge[0].lkey = p->headers_mr->lkey;
    p->wr.sg_list = p->sge;
    p->wr.opcode = IBV_WR_SEND;
    return VC_OK;
}

/* Makes the QP, has it receive, and the engine poll it. For
 * vc__ud_queues_make(). */
static enum vc_status
ud_qp_make(struct vc__ud_port *p)
{
    int err = ud_qp_create(p);
    enum vc_status status;

    if (err == 0)
        err = ud_qp_start(p);
    if (err != 0)
        return vc__device_fail(p->device, "a UD QP", err);
    status = vc__ud_receives_add(p, VC__UD_RECEIVES_LEAST);
    if (status != VC_OK)
        return status;
    p->completions = (struct vc__source){.fd = p->channel->fd,
                                         .poll = vc__ud_poll,
                                         .arm = vc__ud_arm,
                                         .ready = vc__ud_ready};
    err = vc__engine_add(p->device->engine, &p->completions);
    if (err != 0) {
        p->completions.poll = NULL;
        return vc__device_fail(p->device, "a place in epoll", err);
    }
    return VC_OK;
}

enum vc_status
vc__ud_queues_make(struct vc__ud_port *p)
{
    const struct ibv_device_attr *attr = &p->device->attr;
    enum vc_status status = mtu_query(p);

    p->receives_max = VC__UD_RECEIVES;
    if ((unsigned)attr->max_qp_wr < p->receives_max)
        p->receives_max = (unsigned)attr->max_qp_wr;
    if ((unsigned)attr->max_cqe < p->receives_max + VC__UD_SENDS)
        p->receives_max = (unsigned)attr->max_cqe - VC__UD_SENDS;
    if (status == VC_OK)
        status = cq_make(p);
    if (status == VC_OK)
        status = memory_make(p);
    if (status == VC_OK)
        status = ud_qp_make(p);
    return status;
}

void
vc__ud_queues_free(struct vc__ud_port *p)
{
    if (p->completions.poll != NULL)
        vc__engine_remove(p->device->engine, &p->completions);
    if (p->qp != NULL)
        ibv_destroy_qp(p->qp);
    if (p->cq != NULL)
        ibv_destroy_cq(p->cq);
    if (p->channel != NULL)
        ibv_destroy_comp_channel(p->channel);
    if (p->headers_mr != NULL)
        ibv_dereg_mr(p->headers_mr);
    free(p->headers);
    vc__buffers_fini(&p->receive);
    vc__buffers_fini(&p->small);
    vc__buffers_fini(&p->large);
}
