/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The queues of a multicast group: a UD QP with buffers of its own, on the
 * verbs of the id. See transport/rdma/group.h. The device writes a GRH of 40
 * bytes before each datagram. A datagram that finds no receive is lost, as any
 * that the network drops. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "transport/rdma/buffer.h"
#include "transport/rdma/context.h"
#include "transport/rdma/failure.h"
#include "transport/rdma/group.h"

/* Receives of a member; fewer, down to the least, if so much memory cannot be
 * pinned. */
#define RECEIVES       256u
#define RECEIVES_LEAST 16u
/* Datagrams that a publisher may have in the adapter. */
#define SENDS 64u
#define GRH   ((unsigned)sizeof(struct ibv_grh))

#define MULTICAST_QPN 0xffffffu

enum vc_status
vc__group_fail(const struct vc__group *g, const char *what, int err)
{
    struct vc__error error;

    if (err == ENOSYS || err == EOPNOTSUPP)
        return vc__fail(VC_UNAVAILABLE,
                        "%s: cannot %s: the RDMA device of this address has no "
                        "multicast (%s); use one of InfiniBand or RoCE",
                        g->text, what, strerror(err));
    vc__rdma_put_errno(&error, g->text, what, err);
    return vc__error_raise(&error);
}

/* --- memory --------------------------------------------------------------- */

/* Allocates and pins n buffers. 0, or an errno. Called by
 * group_buffers_make(). */
static int
group_buffers_pin(struct vc__group *g, unsigned n)
{
    size_t size = (size_t)n * g->stride;
    int err;

    g->memory = calloc(n, g->stride);
    if (g->memory == NULL)
        return ENOMEM;
    g->mr = ibv_reg_mr(g->pd, g->memory, size, IBV_ACCESS_LOCAL_WRITE);
    if (g->mr != NULL) {
        g->n = n;
        return 0;
    }
    err = errno;
    free(g->memory);
    g->memory = NULL;
    return err;
}

/* Makes the buffers: a publisher's, all of them free, or a member's. Called by
 * vc__group_queues_init(). */
static enum vc_status
group_buffers_make(struct vc__group *g)
{
    bool sends = g->ear.opts.publishes;
    unsigned n = sends ? SENDS : RECEIVES;
    int err;

    g->stride = g->mtu + (sends ? 0 : GRH);
    while ((err = group_buffers_pin(g, n)) == ENOMEM && n > RECEIVES_LEAST)
        n /= 2;
    if (err != 0)
        return vc__fail_pinned(err, "%s: cannot pin memory for datagrams",
                               g->text);
    if (!sends)
        return VC_OK;
    g->free = malloc(n * sizeof *g->free);
    if (g->free == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    for (unsigned i = 0; i < n; i++)
        g->free[i] = (uint16_t)i;
    g->n_free = n;
    return VC_OK;
}

/* --- the QP --------------------------------------------------------------- */

/* Makes the completion queue; a member's reports to a channel. 0, or an errno.
 * Called by vc__group_queues_init(). */
static int
group_cq_make(struct vc__group *g)
{
    if (!g->ear.opts.publishes) {
        g->completions = ibv_create_comp_channel(g->id->verbs);
        if (g->completions == NULL)
            return errno;
        if (fcntl(g->completions->fd, F_SETFL,
                  fcntl(g->completions->fd, F_GETFL) | O_NONBLOCK) != 0)
            return errno;
    }
    g->cq = ibv_create_cq(g->id->verbs, (int)g->n + 1, NULL, g->completions, 0);
    return g->cq == NULL ? errno : 0;
}

/* Makes the QP. 0, or an errno. Called by vc__group_queues_init(). */
static int
group_qp_make(struct vc__group *g)
{
    bool sends = g->ear.opts.publishes;
    struct ibv_qp_init_attr attr = {
        .qp_type = IBV_QPT_UD,
        .sq_sig_all = 1,
        .send_cq = g->cq,
        .recv_cq = g->cq,
        .cap = {.max_send_wr = sends ? g->n : 1,
                .max_recv_wr = sends ? 1 : g->n,
                .max_send_sge = 1,
                .max_recv_sge = 1},
    };

    g->qp = ibv_create_qp(g->pd, &attr);
    return g->qp == NULL ? errno : 0;
}

enum vc_status
vc__group_queues_init(struct vc__group *g)
{
    enum vc_status status;
    int err;

    g->pd = ibv_alloc_pd(g->id->verbs);
    if (g->pd == NULL)
        return vc__group_fail(g, "make a protection domain", errno);
    status = group_buffers_make(g);
    if (status != VC_OK)
        return status;
    err = group_cq_make(g);
    if (err == 0)
        err = group_qp_make(g);
    return err == 0 ? VC_OK : vc__group_fail(g, "make a QP", err);
}

/* Brings the QP to RTS, with the Q_Key of the group. 0, or an errno. Called by
 * vc__group_queues_open(). */
static int
group_qp_ready(struct vc__group *g)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
    int mask;
    int err = vc__rdma_errno(rdma_init_qp_attr(g->id, &attr, &mask));

    if (err != 0)
        return err;
    attr.qkey = g->ud.qkey;
    err = ibv_modify_qp(g->qp, &attr, mask | IBV_QP_QKEY);
    attr.qp_state = IBV_QPS_RTR;
    if (err == 0)
        err = ibv_modify_qp(g->qp, &attr, IBV_QP_STATE);
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = 0;
    if (err == 0)
        err = ibv_modify_qp(g->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
    return err;
}

/* Posts one receive. 0, or an errno. Called by group_attach() and
 * vc__group_receive(). */
static int
group_receive_post(struct vc__group *g, unsigned i)
{
    struct ibv_sge sge = {
        .addr = (uintptr_t)(g->memory + (size_t)i * g->stride),
        .length = g->stride,
        .lkey = g->mr->lkey,
    };
    struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

    return ibv_post_recv(g->qp, &wr, &bad);
}

/* A member receives from now on. Called by vc__group_queues_open(). */
static enum vc_status
group_attach(struct vc__group *g)
{
    int err = 0;

    vc__group_arm(g); /* before anything can come */
    for (unsigned i = 0; i < g->n && err == 0; i++)
        err = group_receive_post(g, i);
    if (err != 0)
        return vc__group_fail(g, "post its receives", err);
    err = ibv_attach_mcast(g->qp, &g->ud.ah_attr.grh.dgid, g->ud.ah_attr.dlid);
    g->attached = err == 0;
    if (err == ENOMEM || err == ENOSPC || err == EINVAL)
        return vc__fail(VC_RESOURCE_EXHAUSTED,
                        "%s: %s has no room for one more group or member (%s): "
                        "close another one of this machine (see max_mcast_grp "
                        "and max_mcast_qp_attach of `ibv_devinfo -v`)",
                        g->text, ibv_get_device_name(g->id->verbs->device),
                        strerror(err));
    return err == 0 ? VC_OK : vc__group_fail(g, "attach to the group", err);
}

enum vc_status
vc__group_queues_open(struct vc__group *g)
{
    int err = group_qp_ready(g);

    if (err != 0)
        return vc__group_fail(g, "make its QP ready", err);
    if (!g->ear.opts.publishes)
        return group_attach(g);
    g->ah = ibv_create_ah(g->pd, &g->ud.ah_attr);
    return g->ah != NULL ? VC_OK
                         : vc__group_fail(g, "make an address handle", errno);
}

void
vc__group_queues_fini(struct vc__group *g)
{
    if (g->attached)
        ibv_detach_mcast(g->qp, &g->ud.ah_attr.grh.dgid, g->ud.ah_attr.dlid);
    g->attached = false;
    if (g->ah != NULL)
        ibv_destroy_ah(g->ah);
    if (g->qp != NULL)
        ibv_destroy_qp(g->qp);
    if (g->cq != NULL)
        ibv_destroy_cq(g->cq);
    if (g->completions != NULL)
        ibv_destroy_comp_channel(g->completions);
    if (g->mr != NULL)
        ibv_dereg_mr(g->mr);
    if (g->pd != NULL)
        ibv_dealloc_pd(g->pd);
    free(g->memory);
    free(g->free);
    g->ah = NULL;
    g->qp = NULL;
    g->cq = NULL;
    g->completions = NULL;
    g->mr = NULL;
    g->pd = NULL;
    g->memory = NULL;
    g->free = NULL;
}

/* --- receiving ------------------------------------------------------------ */

void
vc__group_arm(struct vc__group *g)
{
    /* Fails only when the device is removed; its event follows. */
    ibv_req_notify_cq(g->cq, 0);
}

/* Passes one datagram to the owner of the ear. What is shorter than a GRH
 * cannot come from a UD QP, and is passed as an empty one. Called by
 * vc__group_receive(). */
static void
group_datagram_pass(struct vc__group *g, const struct ibv_wc *wc)
{
    const uint8_t *data = g->memory + (size_t)wc->wr_id * g->stride;
    uint32_t len = wc->byte_len > GRH ? wc->byte_len - GRH : 0;

    if (len > g->mtu)
        len = 0;
    g->ear.ops->datagram(&g->ear, data + GRH, len);
}

int
vc__group_receive(struct vc__group *g)
{
    struct ibv_wc wc[VC__GROUP_BATCH];
    int n = ibv_poll_cq(g->cq, VC__GROUP_BATCH, wc);

    for (int i = 0; i < n; i++) {
        if (wc[i].status != IBV_WC_SUCCESS)
            return -1;
        group_datagram_pass(g, &wc[i]);
        if (group_receive_post(g, (unsigned)wc[i].wr_id) != 0)
            return -1;
    }
    return n;
}

/* --- sending -------------------------------------------------------------- */

uint32_t
vc__group_datagram_max(const struct vc__ear *ear)
{
    return caa_container_of(ear, const struct vc__group, ear)->mtu;
}

/* Takes back the buffers of sends that have completed, well or not: a send that
 * failed is a datagram that was lost. Called by
 * vc__group_datagram_reserve(). */
static void
group_sends_retire(struct vc__group *g)
{
    struct ibv_wc wc[VC__GROUP_BATCH];
    int n;

    while ((n = ibv_poll_cq(g->cq, VC__GROUP_BATCH, wc)) > 0) {
        for (int i = 0; i < n; i++)
            g->free[g->n_free++] = (uint16_t)wc[i].wr_id;
    }
}

uint8_t *
vc__group_datagram_reserve(struct vc__ear *ear)
{
    struct vc__group *g = vc__group_of(ear);

    if (g->n_free == 0)
        group_sends_retire(g);
    return g->n_free == 0
               ? NULL
               : g->memory + (size_t)g->free[g->n_free - 1] * g->stride;
}

int
vc__group_datagram_commit(struct vc__ear *ear, uint32_t len)
{
    struct vc__group *g = vc__group_of(ear);
    unsigned i = g->free[g->n_free - 1];
    struct ibv_sge sge = {
        .addr = (uintptr_t)(g->memory + (size_t)i * g->stride),
        .length = len,
        .lkey = g->mr->lkey,
    };
    struct ibv_send_wr wr = {
        .wr_id = i,
        .opcode = IBV_WR_SEND,
        .sg_list = &sge,
        .num_sge = 1,
        .wr.ud = {.ah = g->ah,
                  .remote_qpn = MULTICAST_QPN,
                  .remote_qkey = g->ud.qkey},
    };
    struct ibv_send_wr *bad;
    int err = ibv_post_send(g->qp, &wr, &bad);

    if (err == 0)
        g->n_free--;
    return err;
}
