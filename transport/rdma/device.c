/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Completions and receives of one device. Every receive is posted to the SRQ;
 * credits (transport/wire/credit.h) ensure that no peer sends when it is empty.
 * Static functions run on the holder of the engine. See
 * transport/rdma/device.h. */
#include "transport/rdma/device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "transport/core/error.h"
#include "transport/core/invariant.h"
#include "transport/core/log.h"
#include "transport/rdma/device_list.h"
#include "transport/rdma/device_queues.h"
#include "transport/rdma/qp.h"

/* The SRQ limit: with fewer receives left, some have been lost. A QP that fails
 * in the middle of a message may keep the receive that it had begun to fill. */
#define LOW_RECEIVES 8
#define REPOST_BATCH 8
/* The most asynchronous events handled in one drain. More than a few mean a
 * failed device; the limit only prevents an endless loop. */
#define ASYNC_MOST 4096u

#define QPN_LOW_BITS 12
#define QPN_LOW_MASK ((1u << QPN_LOW_BITS) - 1)

/* --- counters ---------------------------------------------------------- */

void
vc__device_account(struct vc__device *d)
{
    struct vc__ledger *l = &d->engine->ledger;
    const struct vc__qp_stats *warm = &d->warm.stats;
    struct vc__device_counted *t = &d->counted;

    vc__count_now(l, VC__COUNT_qps_made, &t->warm.made, warm->made);
    vc__count_now(l, VC__COUNT_qps_reused, &t->warm.reused, warm->reused);
    vc__count_now(l, VC__COUNT_qps_recycled, &t->warm.recycled, warm->recycled);
    vc__count_now(l, VC__COUNT_qps_evicted, &t->warm.evicted, warm->evicted);
    vc__count_now(l, VC__COUNT_qps_destroyed, &t->warm.destroyed,
                  warm->destroyed);
    vc__count_now(l, VC__COUNT_qps_warm, &t->idle, warm->idle);
    vc__count_now(l, VC__COUNT_qps_in_use, &t->in_use, d->n_qps);
    vc__count_now(l, VC__COUNT_receives_posted, &t->posted, d->posted);
    vc__count_now(l, VC__COUNT_receives_promised, &t->promised, d->granted);
    vc__count_now(l, VC__COUNT_memory_receive, &t->receive,
                  d->receive.limit - d->receive.budget);
    vc__count_now(l, VC__COUNT_memory_receive_limit, &t->receive_limit,
                  d->receive.limit);
    vc__count_now(l, VC__COUNT_memory_send, &t->send,
                  d->send.limit - d->send.budget);
    vc__count_now(l, VC__COUNT_memory_send_limit, &t->send_limit,
                  d->send.limit);
}

/* --- QPs by number ----------------------------------------------------- */

/* For vc__device_add_qp(), vc__device_del_qp() and completion_handle(): returns
 * the place of this QP in the table, which holds NULL if there is none; NULL:
 * that part of the table does not exist. */
static struct vc__qp **
qp_entry(struct vc__device *d, uint32_t qpn)
{
    struct vc__qp **page = d->qps[(qpn >> QPN_LOW_BITS) & QPN_LOW_MASK];

    return page == NULL ? NULL : &page[qpn & QPN_LOW_MASK];
}

enum vc_status
vc__device_add_qp(struct vc__device *d, struct vc__qp *qp)
{
    uint32_t qpn = qp->qp->qp_num;
    struct vc__qp ***page = &d->qps[(qpn >> QPN_LOW_BITS) & QPN_LOW_MASK];

    if (*page == NULL)
        *page = calloc(QPN_LOW_MASK + 1, sizeof **page);
    if (*page == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    *qp_entry(d, qpn) = qp;
    d->n_qps++;
    return VC_OK;
}

void
vc__device_del_qp(struct vc__device *d, struct vc__qp *qp)
{
    *qp_entry(d, qp->qp->qp_num) = NULL;
    d->n_qps--;
}

/* --- receives ---------------------------------------------------------- */

/* Makes requests of the first buffers of the chain, which is not empty. Called
 * by receives_repost(). */
static void
batch_take(struct vc__device *d, struct ibv_recv_wr wr[REPOST_BATCH],
           struct ibv_sge sge[REPOST_BATCH])
{
    for (unsigned n = 0; n < REPOST_BATCH && d->repost != NULL; n++) {
        struct vc__buffer *b = d->repost;

        d->repost = b->next;
        d->n_repost--;
        sge[n] = (struct ibv_sge){
            .addr = (uintptr_t)b->data,
            .length = VC__BUFFER_SIZE,
            .lkey = b->lkey,
        };
        wr[n] = (struct ibv_recv_wr){
            .wr_id = (uintptr_t)b, .sg_list = &sge[n], .num_sge = 1};
        if (n > 0)
            wr[n - 1].next = &wr[n];
    }
}

/* The device has refused the requests from this one on: puts their buffers back
 * into the chain. Called by receives_repost(). */
static void
batch_return(struct vc__device *d, const struct ibv_recv_wr *refused)
{
    for (; refused != NULL; refused = refused->next) {
        struct vc__buffer *b = (struct vc__buffer *)(uintptr_t)refused->wr_id;

        b->next = d->repost;
        d->repost = b;
        d->n_repost++;
    }
}

/* Posts the chain of handled buffers again. Called when the chain is long
 * enough, by the next poll without completions, and for new receives. The SRQ
 * has room for all of them: no more than vc__device_receives_max() are ever
 * taken. What the device refuses all the same, waits for the next call. */
static void
receives_repost(struct vc__device *d)
{
    while (d->repost != NULL) {
        struct ibv_recv_wr wr[REPOST_BATCH], *refused = wr;
        struct ibv_sge sge[REPOST_BATCH];

        batch_take(d, wr, sge);
        if (ibv_post_srq_recv(d->srq, wr, &refused) != 0) {
            batch_return(d, refused);
            return;
        }
    }
}

/* Has a free buffer posted, at the latest by the next poll without completions.
 * Called by receive_handle() and receives_post(). */
static void
receive_give_back(struct vc__device *d, struct vc__buffer *b)
{
    b->next = d->repost;
    d->repost = b;
    if (++d->n_repost >= REPOST_BATCH)
        receives_repost(d);
}

/* Posts n new receives. Errors as vc__buffers_reserve(). Called by
 * receives_add(). */
static enum vc_status
receives_post(struct vc__device *d, unsigned n)
{
    enum vc_status status = vc__buffers_reserve(&d->receive, n);

    if (status != VC_OK)
        return status;
    d->posted += n;
    while (n-- > 0)
        receive_give_back(d, vc__buffers_take(&d->receive));
    receives_repost(d);
    return VC_OK;
}

/* Posts n new receives, with room in the CQ for their completions. Called by
 * vc__device_grant() and receives_replace(); errors as vc__device_grant(). */
static enum vc_status
receives_add(struct vc__device *d, unsigned n)
{
    enum vc_status status = vc__device_cq_more(d, n);

    if (status != VC_OK)
        return status;
    status = receives_post(d, n);
    if (status != VC_OK)
        vc__device_cq_less(d, n);
    return status;
}

/* Has the device report once when fewer than LOW_RECEIVES are left, unless it
 * will already. Called when the device is opened, when receives are promised or
 * taken back, and by receives_replace(). */
static void
receives_watch(struct vc__device *d)
{
    struct ibv_srq_attr attr = {.srq_limit = LOW_RECEIVES};

    if (!d->watched)
        ibv_modify_srq(d->srq, &attr, IBV_SRQ_LIMIT);
    d->watched = true;
}

enum vc_status
vc__device_grant(struct vc__device *d, unsigned n)
{
    unsigned want = d->granted + n + VC__SPARE_RECEIVES;
    unsigned max = vc__device_receives_max(d);
    enum vc_status status = VC_OK;

    if (want > max)
        return vc__fail_lacking(
            VC__LACK_ROOM,
            "%s: all %u receives of a thread are granted to peers as credits; "
            "raise threads of the runtime's options, or have fewer connections",
            ibv_get_device_name(d->verbs->device), max);
    if (want > d->posted)
        status = receives_add(d, want - d->posted);
    if (status == VC_OK)
        d->granted += n;
    receives_watch(d);
    vc__device_account(d);
    return status;
}

void
vc__device_ungrant(struct vc__device *d, unsigned n)
{
    d->granted -= n; /* the receives stay posted for the next peer */
    receives_watch(d);
    vc__device_account(d);
}

/* Called by async_handle(). Receives were lost, or peers have used more than
 * they were promised: posts VC__SPARE_RECEIVES new ones, but never more than
 * the SRQ holds, however often peers do that. Without room or memory for new
 * ones, the peers' sends are retried (RNR) until some receives come back. Then
 * the next report may come at once, so it is asked for only when a link comes,
 * goes or changes its window. */
static void
receives_replace(struct vc__device *d)
{
    unsigned n = vc__device_receives_max(d) - d->posted;

    if (n > VC__SPARE_RECEIVES)
        n = VC__SPARE_RECEIVES;
    d->watched = false;
    if (n > 0 && receives_add(d, n) == VC_OK)
        receives_watch(d);
    vc__count(&d->engine->ledger, VC__COUNT_receives_low, 1);
    vc__device_account(d);
}

/* --- completions ------------------------------------------------------- */

/* A receive has completed: passes its packet, or its failure, to the wire by
 * qp->ops. Called by completion_handle(). */
static void
receive_handle(struct vc__device *d, struct vc__qp *qp, const struct ibv_wc *wc)
{
    struct vc__buffer *b = (struct vc__buffer *)(uintptr_t)wc->wr_id;

    if (qp == NULL)
        ; /* its link is closed; only reuse the buffer */
    else if (wc->status == IBV_WC_SUCCESS)
        qp->ops->received(qp, b->data, wc->byte_len);
    else
        qp->ops->failed(qp, wc->status);
    receive_give_back(d, b);
}

/* A send has failed: tells the wire. All sends before the first that fails were
 * acknowledged. Called by completion_handle(). */
static void
send_failed(struct vc__qp *qp, const struct ibv_wc *wc)
{
    if (wc->status == IBV_WC_RETRY_EXC_ERR &&
        qp->probe == vc__qp_send_number(wc->wr_id))
        qp->ops->probe_lost(qp);
    qp->ops->failed(qp, wc->status);
}

/* Passes a completion to the QP that it is of, if there still is one. Called by
 * completions_poll(). */
static void
completion_handle(struct vc__device *d, const struct ibv_wc *wc)
{
    struct vc__qp **entry = qp_entry(d, wc->qp_num);
    struct vc__qp *qp = entry == NULL ? NULL : *entry;

    if (!vc__qp_is_send(wc->wr_id))
        receive_handle(d, qp, wc);
    else if (qp == NULL)
        ; /* it was destroyed with sends outstanding */
    else if (wc->status == IBV_WC_SUCCESS)
        qp->ops->sent(qp, vc__qp_send_number(wc->wr_id));
    else
        send_failed(qp, wc);
}

/* True if completions of the last poll are unhandled, or a new poll finds some.
 * Called by completions_poll(). */
static bool
completions_found(struct vc__device *d)
{
    if (d->wc_at < d->wc_n)
        return true;
    d->wc_at = 0;
    d->wc_n = ibv_poll_cq(d->cq, VC__WC_BATCH, d->wc);
    if (d->wc_n < 0)
        d->wc_n = 0;
    return d->wc_n > 0;
}

/* Called by device_poll() and vc__device_drain(). Returns the number of
 * completions handled. Handles one batch at most, so that timers, handlers and
 * other sources get their turn. When there is none, reposts the buffers that
 * are left. */
static unsigned
completions_poll(struct vc__source *s)
{
    struct vc__device *d = caa_container_of(s, struct vc__device, completions);
    unsigned n = 0;

    if (!completions_found(d)) {
        if (d->repost != NULL)
            receives_repost(d);
        return 0;
    }
    for (; d->wc_at < d->wc_n; n++) {
        struct ibv_wc wc = d->wc[d->wc_at++];

        completion_handle(d, &wc);
    }
    return n;
}

/* True if nothing can complete: there is no QP, as when all connections of the
 * engine are datagrams. For the two functions after it. */
static bool
is_silent(const struct vc__device *d)
{
    return d->cq_need == d->posted && d->wc_at == d->wc_n;
}

/* Called by the holder of the engine in each turn (source.poll). */
static unsigned
device_poll(struct vc__source *s)
{
    if (is_silent(caa_container_of(s, struct vc__device, completions)))
        return 0;
    return completions_poll(s);
}

/* Called by the engine, through the source (source.arm), before it sleeps or is
 * left to the program's loop: has the CQ report the next completion by its
 * channel. */
static void
completions_arm(struct vc__source *s)
{
    struct vc__device *d = caa_container_of(s, struct vc__device, completions);

    /* Fails only when the device is removed; its removal event is handled
     * then. */
    if (!is_silent(d))
        ibv_req_notify_cq(d->cq, 0);
}

/* Called by the holder of the engine when the channel is readable
 * (source.ready). Consumes the event of the completion channel;
 * completions_poll() handles the completions. */
static void
completions_ready(struct vc__source *s)
{
    struct vc__device *d = caa_container_of(s, struct vc__device, completions);
    struct ibv_cq *cq;
    void *context;

    if (ibv_get_cq_event(d->channel, &cq, &context) == 0)
        ibv_ack_cq_events(cq, 1);
}

/* --- asynchronous events ----------------------------------------------- */

/* Tells all wires of the device that it has failed. Called by
 * async_handle(). */
static void
all_qps_fail(struct vc__device *d)
{
    for (unsigned high = 0; high <= QPN_LOW_MASK; high++) {
        for (unsigned low = 0; d->qps[high] != NULL && low <= QPN_LOW_MASK;
             low++) {
            struct vc__qp *qp = d->qps[high][low];

            if (qp != NULL)
                qp->ops->failed(qp, IBV_WC_FATAL_ERR);
        }
    }
}

/* Handles an event of async_fd, before it is acknowledged; on the holder. A
 * fatal one of a QP fails its wire, one of the CQ, the SRQ or the device dooms
 * the device and fails all its wires, and a low SRQ gets new receives. Called
 * by async_next(). */
static void
async_handle(struct vc__device *d, const struct ibv_async_event *event)
{
    struct vc__qp *qp;

    switch (event->event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
        qp = event->element.qp->qp_context;
        if (qp == NULL) /* an idle one */
            break;
        qp->ill = true;
        qp->ops->failed(qp, IBV_WC_FATAL_ERR);
        break;
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_DEVICE_FATAL:
        vc__device_doom(d, "the device has failed");
        all_qps_fail(d);
        break;
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        receives_replace(d);
        break;
    default: /* port and address changes: links detect a failure */
        break;
    }
}

/* Handles one event, and returns true; false when there is none. Called by
 * async_ready() and vc__device_drain(). */
static bool
async_next(struct vc__device *d)
{
    struct ibv_async_event event;

    if (ibv_get_async_event(d->verbs, &event) != 0)
        return false;
    async_handle(d, &event);
    ibv_ack_async_event(&event);
    return true;
}

/* Called by the holder of the engine when the device has an asynchronous event
 * (source.ready): handles one. */
static void
async_ready(struct vc__source *s)
{
    async_next(caa_container_of(s, struct vc__device, async));
}

void
vc__device_drain(struct vc__device *d)
{
    /* The completions polled before, and as many as the CQ can hold; later ones
     * belong to other QPs. */
    unsigned left = (unsigned)(d->wc_n - d->wc_at) + (unsigned)d->cq->cqe;
    unsigned n;

    do {
        n = completions_poll(&d->completions);
        left -= n < left ? n : left;
    } while (n > 0 && left > 0);
    for (unsigned i = 0; i < ASYNC_MOST && async_next(d); i++)
        continue;
}

/* --- opening and closing ----------------------------------------------- */

/* Adds the device's descriptors to the engine's epoll, both or none. Called by
 * vc__device_new(), whose result it returns. */
static enum vc_status
sources_add(struct vc__device *d)
{
    int err;

    d->completions.fd = d->channel->fd;
    d->completions.poll = device_poll;
    d->completions.arm = completions_arm;
    d->completions.ready = completions_ready;
    d->async.fd = d->verbs->async_fd;
    d->async.ready = async_ready;
    err = vc__engine_add(d->engine, &d->async);
    if (err != 0)
        return vc__device_fail(d, "a place in epoll", err);
    err = vc__engine_add(d->engine, &d->completions);
    if (err != 0) {
        vc__engine_remove(d->engine, &d->async);
        return vc__device_fail(d, "a place in epoll", err);
    }
    return VC_OK;
}

/* A task, deferred by bury_if_unused(); runs on the holder of the engine. Frees
 * the device, and has librdmacm close it, too. */
static void
device_bury(struct vc__task *task)
{
    struct vc__device *d = caa_container_of(task, struct vc__device, bury);
    const struct ibv_device *removed = d->verbs->device;

    /* run_all() of the engine has removed the task from its list. */
    CDS_INIT_LIST_HEAD(&task->node);
    vc__device_free(d);
    vc__device_list_let_go(removed);
}

enum vc_status
vc__device_new(struct vc__engine *engine, struct ibv_context *verbs,
               size_t memory, unsigned warm, struct vc__device **device)
{
    struct vc__device *d = vc__device_open(verbs->device, memory, warm);
    enum vc_status status;

    if (d == NULL)
        return vc__error_last()->status;
    d->engine = engine;
    d->users = 1;
    d->bury.run = device_bury;
    status = sources_add(d);
    if (status != VC_OK) {
        vc__device_close(d);
        return status;
    }
    receives_watch(d);
    vc__device_account(d);
    vc__log(engine->log, VC__LOG_DEVICE_OPEN,
            "device %s: opened, up to %zu KiB of memory may be pinned",
            ibv_get_device_name(d->verbs->device), memory / 1024);
    *device = d;
    return VC_OK;
}

void
vc__device_free(struct vc__device *d)
{
    vc__invariant(d->n_qps == 0);
    cds_list_del(&d->node);
    cds_list_del(&d->bury.node);
    vc__engine_remove(d->engine, &d->completions);
    vc__engine_remove(d->engine, &d->async);
    vc__device_close(d);
}

void
vc__device_get(struct vc__device *d)
{
    d->users++;
}

/* Has a doomed device without users freed by device_bury(). Deferred, because
 * an event of the device may be being handled. Called by put and doom. */
static void
bury_if_unused(struct vc__device *d)
{
    if (d->doomed && d->users == 0 && cds_list_empty(&d->bury.node))
        vc__engine_defer(d->engine, &d->bury);
}

void
vc__device_put(struct vc__device *d)
{
    vc__invariant(d->users > 0);
    d->users--;
    bury_if_unused(d);
}

void
vc__device_doom(struct vc__device *d, const char *why)
{
    struct vc__device_watcher *w;

    if (!d->doomed)
        vc__log(d->engine->log, VC__LOG_DEVICE_LOST,
                "device %s: lost, and so are its links: %s",
                ibv_get_device_name(d->verbs->device), why);
    d->doomed = true;
    d->warm.max = 0;
    cds_list_for_each_entry (w, &d->watchers, node)
        w->doomed(w);
    bury_if_unused(d);
}
