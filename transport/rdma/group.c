/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The transport of rdma+mc://GROUP:PORT: multicast over UD QPs, without
 * connections. See transport/rdma/group.h. A server's ear is a member of the
 * group, a channel's is a publisher. Dialling fails: such a target makes sense
 * only alone. */
#include "transport/rdma/group.h"

#include <string.h>

#include "transport/core/log.h"
#include "transport/rdma/context.h"
#include "transport/rdma/device_list.h"
#include "transport/rdma/rdma.h"

#define JOIN_MS     2000u
#define EVENT_BATCH 8

/* --- the context ---------------------------------------------------------- */

/* open() of the table: nothing is shared by the groups of an engine. */
static enum vc_status
group_context_open(struct vc__context *c, const struct vc__context_opts *opts)
{
    (void)c;
    (void)opts;
    vc__device_list_read();
    return VC_OK;
}

/* close() of the table. */
static void
group_context_close(struct vc__context *c)
{
    (void)c;
}

/* --- leaving -------------------------------------------------------------- */

/* unlisten() of the table, also called by group_listen() when that fails, and
 * by group_lose(). */
static void
group_unlisten(struct vc__ear *ear)
{
    struct vc__group *g = vc__group_of(ear);
    struct vc__engine *engine = ear->context->engine;

    cds_list_del(&g->more.node);
    CDS_INIT_LIST_HEAD(&g->more.node);
    if (g->arrivals.fd >= 0)
        vc__engine_remove(engine, &g->arrivals);
    if (g->events.fd >= 0)
        vc__engine_remove(engine, &g->events);
    g->arrivals.fd = g->events.fd = -1;
    vc__group_queues_fini(g);
    vc__group_leave(g);
}

/* The group is lost. First its owner learns of it, so that no thread sends any
 * more; then all is freed. Called by events_handle() and arrivals_handle(). */
static void
group_lose(struct vc__group *g, const char *cause)
{
    struct vc__engine *engine = g->ear.context->engine;
    struct vc__error why;

    vc__error_put(&why, VC_UNAVAILABLE,
                  "the multicast group %s is lost: %s; it will be joined again",
                  g->text, cause);
    vc__log(engine->log, VC__LOG_LISTEN_LOST, "%s", why.text);
    g->ear.ops->lost(&g->ear, &why);
    group_unlisten(&g->ear);
}

/* --- events --------------------------------------------------------------- */

/* Counts an event, as the context does for those of connections. Called by
 * group_events_ready(). */
static void
group_event_count(struct vc__ledger *l, enum rdma_cm_event_type type)
{
    vc__count(l, VC__COUNT_cm_events, 1);
    if (type == RDMA_CM_EVENT_MULTICAST_ERROR)
        vc__count(l, VC__COUNT_cm_multicast_errors, 1);
    else if (type == RDMA_CM_EVENT_DEVICE_REMOVAL)
        vc__count(l, VC__COUNT_cm_removals, 1);
    else if (type == RDMA_CM_EVENT_ADDR_CHANGE)
        vc__count(l, VC__COUNT_cm_address_changes, 1);
}

/* Handles an event of a group that was joined. False: the group is lost. Called
 * by group_events_ready(). */
static bool
group_event_handle(struct vc__group *g, enum rdma_cm_event_type type,
                   int status)
{
    const struct ibv_device *device = g->id->verbs->device;
    char cause[80];

    switch (type) {
    case RDMA_CM_EVENT_MULTICAST_ERROR:
        snprintf(cause, sizeof cause, "rdma_cm reports an error (%s)",
                 strerror(status < 0 ? -status : status));
        group_lose(g, cause);
        return false;
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        group_lose(g, "its RDMA device was removed");
        vc__device_list_let_go(device);
        return false;
    default:
        return true;
    }
}

/* ready() of the event channel, on the holder. */
static void
group_events_ready(struct vc__source *s)
{
    struct vc__group *g = caa_container_of(s, struct vc__group, events);
    struct rdma_cm_event *event;

    for (int i = 0; i < EVENT_BATCH && g->channel != NULL; i++) {
        enum rdma_cm_event_type type;
        int status;

        if (rdma_get_cm_event(g->channel, &event) != 0)
            return;
        type = event->event;
        status = event->status;
        rdma_ack_cm_event(event);
        group_event_count(&g->ear.context->engine->ledger, type);
        if (!group_event_handle(g, type, status))
            return;
    }
}

/* --- datagrams ------------------------------------------------------------ */

/* Handles one batch. More of them wait for the next turn, so that connected
 * calls have theirs. Called by group_arrivals_ready() and group_more(). */
static void
arrivals_handle(struct vc__group *g)
{
    int n = vc__group_receive(g);

    if (n < 0)
        group_lose(g, "its QP has failed");
    else if ((unsigned)n == VC__GROUP_BATCH && cds_list_empty(&g->more.node))
        vc__engine_defer(g->ear.context->engine, &g->more);
}

/* The task `more`, deferred by arrivals_handle(), on the holder. */
static void
group_more(struct vc__task *task)
{
    struct vc__group *g = caa_container_of(task, struct vc__group, more);

    CDS_INIT_LIST_HEAD(&task->node);
    if (g->cq != NULL)
        arrivals_handle(g);
}

/* ready() of the completion channel, on the holder. Armed again before the
 * batch, so that what comes from then on is reported; what is left of the batch
 * is the task's. */
static void
group_arrivals_ready(struct vc__source *s)
{
    struct vc__group *g = caa_container_of(s, struct vc__group, arrivals);
    struct ibv_cq *cq;
    void *context;

    if (g->cq == NULL || ibv_get_cq_event(g->completions, &cq, &context) != 0)
        return;
    ibv_ack_cq_events(cq, 1);
    vc__group_arm(g);
    arrivals_handle(g);
}

/* --- listening ------------------------------------------------------------ */

/* Adds the descriptors to the engine's epoll. Called by group_listen_by(),
 * last. 0,
 * or an errno. */
static int
group_sources_add(struct vc__group *g)
{
    struct vc__engine *engine = g->ear.context->engine;
    int err;

    g->events.fd = g->channel->fd;
    g->events.ready = group_events_ready;
    err = vc__engine_add(engine, &g->events);
    if (err != 0) {
        g->events.fd = -1;
        return err;
    }
    if (g->completions == NULL)
        return 0;
    g->arrivals.fd = g->completions->fd;
    g->arrivals.ready = group_arrivals_ready;
    err = vc__engine_add(engine, &g->arrivals);
    if (err != 0)
        g->arrivals.fd = -1;
    return err;
}

/* The steps of group_listen(), which undoes them if one fails. */
static enum vc_status
group_listen_by(struct vc__group *g, uint32_t timeout_ms)
{
    uint64_t due = vc__after_ms(vc__now(), timeout_ms);
    enum vc_status status = vc__group_find(g, due, timeout_ms);
    int err;

    if (status == VC_OK)
        status = vc__group_queues_init(g);
    if (status == VC_OK)
        status = vc__group_join(g, due, timeout_ms);
    if (status == VC_OK)
        status = vc__group_queues_open(g);
    if (status != VC_OK)
        return status;
    err = group_sources_add(g);
    return err == 0 ? VC_OK
                    : vc__group_fail(g, "add its descriptors to epoll", err);
}

/* listen() of the table: joins the group. Waits for that in the calling thread,
 * for ear->opts.timeout_ms at most. */
static enum vc_status
group_listen(struct vc__ear *ear, const struct sockaddr *addr)
{
    struct vc__group *g = vc__group_of(ear);
    enum vc_status status;

    CDS_INIT_LIST_HEAD(&g->more.node);
    g->more.run = group_more;
    g->events.fd = g->arrivals.fd = -1;
    vc__addr_copy(&g->addr, addr);
    vc__addr_text(addr, g->text);
    status = group_listen_by(
        g, ear->opts.timeout_ms == 0 ? JOIN_MS : ear->opts.timeout_ms);
    if (status != VC_OK) {
        const struct vc__error why = *vc__error_last();

        group_unlisten(ear);
        vc__error_raise(&why);
    }
    return status;
}

/* port() of the table: the target's, which datagrams carry. */
static uint16_t
group_port(const struct vc__ear *ear)
{
    return vc__addr_port(
        &caa_container_of(ear, const struct vc__group, ear)->addr);
}

/* --- connections ---------------------------------------------------------- */

/* dial() of the table. */
static enum vc_status
group_dial(struct vc__wire *w, uint32_t timeout_ms)
{
    (void)w;
    (void)timeout_ms;
    return vc__fail(VC_INVALID_ARGUMENT,
                    "rdma+mc:// has no connections: open a channel for this "
                    "target alone, without a list, resolver or redirect");
}

/* fini() of the table: a wire that could not dial has nothing. */
static void
group_wire_fini(struct vc__wire *w)
{
    (void)w;
}

const struct vc__transport vc__rdma_mc = {
    .scheme = "rdma+mc",
    .groups = true,
    .port_space = RDMA_PS_UDP,
    .made = VC__COUNT_links_made_rdma,
    .context_size = sizeof(struct vc__context),
    .wire_size = sizeof(struct vc__wire),
    .ear_size = sizeof(struct vc__group),
    .open = group_context_open,
    .close = group_context_close,
    .dial = group_dial,
    .fini = group_wire_fini,
    .host_is_up = "",
    .listen = group_listen,
    .unlisten = group_unlisten,
    .port = group_port,
    .datagram_max = vc__group_datagram_max,
    .datagram_reserve = vc__group_datagram_reserve,
    .datagram_commit = vc__group_datagram_commit,
};
