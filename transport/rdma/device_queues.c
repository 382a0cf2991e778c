/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/rdma/device_queues.h. */
#include "transport/rdma/device_queues.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "transport/core/error.h"
#include "transport/rdma/qp.h"
#include "transport/wire/credit.h"

#define CQ_SIZE 1024u

/* The memory that vc__device_try() needs: about as much as a first
 * connection. */
#define TRY_MEMORY   ((size_t)1 << 20)
#define TRY_RECEIVES (VC__SPARE_RECEIVES + VC__CREDIT_MIN)

enum vc_status
vc__device_fail(const struct vc__device *d, const char *what, int err)
{
    return vc__fail_pinned(err, "%s: cannot make %s",
                           ibv_get_device_name(d->verbs->device), what);
}

/* Has reads of this descriptor not block. Returns true; false, and errno is
 * set, on failure. Called by queues_make(). */
static bool
rdma_nonblocking(int fd)
{
    return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0;
}

/* Makes the PD, the completion channel, CQ and SRQ, with descriptors that do
 * not block. Errors as vc__device_new(); then vc__device_close() frees what was
 * made. Called by device_make(). */
static enum vc_status
queues_make(struct vc__device *d)
{
    struct ibv_srq_init_attr srq = {.attr = {.max_sge = 1}};

    srq.attr.max_wr = vc__device_receives_max(d);
    d->pd = ibv_alloc_pd(d->verbs);
    if (d->pd == NULL)
        return vc__device_fail(d, "a protection domain", errno);
    d->channel = ibv_create_comp_channel(d->verbs);
    if (d->channel == NULL)
        return vc__device_fail(d, "a completion channel", errno);
    d->cq = ibv_create_cq(d->verbs,
                          d->attr.max_cqe < (int)CQ_SIZE ? d->attr.max_cqe
                                                         : (int)CQ_SIZE,
                          NULL, d->channel, 0);
    if (d->cq == NULL)
        return vc__device_fail(d, "a completion queue", errno);
    d->srq = ibv_create_srq(d->pd, &srq);
    if (d->srq == NULL)
        return vc__device_fail(d, "a shared receive queue", errno);
    if (!rdma_nonblocking(d->channel->fd) ||
        !rdma_nonblocking(d->verbs->async_fd))
        return vc__device_fail(d, "its descriptors non-blocking", errno);
    return VC_OK;
}

/* Queries the limits of the device, and makes its queues and its pools of
 * buffers. Called by vc__device_open(), which closes the device on failure.
 * Errors as vc__device_new(). */
static enum vc_status
device_make(struct vc__device *d, size_t memory)
{
    int err = ibv_query_device(d->verbs, &d->attr);
    enum vc_status status;

    if (err != 0)
        return vc__device_fail(d, "a query", err);
    status = queues_make(d);
    if (status != VC_OK)
        return status;
    vc__buffers_init(&d->receive, d->pd, "receive", VC__BUFFER_SIZE,
                     memory / 4 * 3);
    vc__buffers_init(&d->send, d->pd, "send", VC__BUFFER_SIZE, memory / 4);
    return VC_OK;
}

enum vc_status
vc__device_cq_more(struct vc__device *d, unsigned n)
{
    unsigned need = d->cq_need + n;
    int size = d->cq->cqe;

    if (need > (unsigned)d->attr.max_cqe)
        return vc__fail_lacking(
            VC__LACK_ROOM,
            "%s: a completion queue of %u entries is full; raise threads of "
            "the runtime's options, or have fewer connections",
            ibv_get_device_name(d->verbs->device), (unsigned)d->attr.max_cqe);
    while ((unsigned)size < need)
        size = size < d->attr.max_cqe - size ? size * 2 : d->attr.max_cqe;
    if (size != d->cq->cqe) {
        int err = ibv_resize_cq(d->cq, size);

        if (err != 0)
            return vc__device_fail(d, "a larger completion queue", err);
    }
    d->cq_need = need;
    return VC_OK;
}

void
vc__device_cq_less(struct vc__device *d, unsigned n)
{
    d->cq_need -= n;
}

struct vc__device *
vc__device_open(struct ibv_device *device, size_t memory, unsigned warm)
{
    struct vc__device *d;

    if (device->transport_type == IBV_TRANSPORT_IWARP) {
        vc__fail(VC_UNAVAILABLE,
                 "%s is an iWARP adapter, over which Verbcall does not connect "
                 "yet: use tcp:// or vc://",
                 ibv_get_device_name(device));
        return NULL;
    }
    d = calloc(1, sizeof *d);
    if (d == NULL) {
        vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
        return NULL;
    }
    CDS_INIT_LIST_HEAD(&d->node);
    CDS_INIT_LIST_HEAD(&d->bury.node);
    CDS_INIT_LIST_HEAD(&d->watchers);
    vc__qp_cache_init(&d->warm, warm);
    /* A context of our own: its asynchronous events go to this engine alone,
     * and it is closed with the device, while librdmacm keeps its own open. */
    d->verbs = ibv_open_device(device);
    if (d->verbs == NULL) {
        vc__fail_errno(errno, "%s: cannot open", ibv_get_device_name(device));
        free(d);
        return NULL;
    }
    if (device_make(d, memory) == VC_OK)
        return d;
    vc__device_close(d);
    return NULL;
}

void
vc__device_close(struct vc__device *d)
{
    vc__qps_forget(&d->warm);
    if (d->srq != NULL)
        ibv_destroy_srq(d->srq);
    if (d->cq != NULL)
        ibv_destroy_cq(d->cq);
    if (d->channel != NULL)
        ibv_destroy_comp_channel(d->channel);
    vc__buffers_fini(&d->receive);
    vc__buffers_fini(&d->send);
    if (d->pd != NULL)
        ibv_dealloc_pd(d->pd);
    for (size_t i = 0; i < sizeof d->qps / sizeof d->qps[0]; i++)
        free(d->qps[i]);
    d->posted = 0; /* destroyed with the SRQ */
    if (d->engine != NULL)
        vc__device_account(d);
    ibv_close_device(d->verbs);
    free(d);
}

enum vc_status
vc__device_try(struct ibv_device *device)
{
    struct vc__device *d = vc__device_open(device, TRY_MEMORY, 0);
    enum vc_status status;

    if (d == NULL)
        return vc__error_last()->status;
    status = vc__buffers_reserve(&d->receive, TRY_RECEIVES);
    if (status == VC_OK)
        status = vc__buffers_reserve(&d->send, 1);
    vc__device_close(d);
    return status;
}
