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

/* unlisten() of the table, also called by group_begin_check() and
 * group_end(). */
static void
group_unlisten(struct vc__ear *ear)
{
    struct vc__group *g = vc__group_of(ear);
    struct vc__engine *engine = ear->context->engine;

    vc__timer_stop(&engine->timers, &g->late);
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

/* The group is lost, or was not joined again. First its owner learns of it, so
 * that no thread sends any more; then all is freed. Called by group_lose() and
 * group_give_up(). */
static void
group_end(struct vc__group *g, const struct vc__error *why)
{
    g->ear.ops->lost(&g->ear, why);
    group_unlisten(&g->ear);
}

/* The group is lost, or its device while it was joined again. Called by
 * group_event_handle() and arrivals_handle(). */
static void
group_lose(struct vc__group *g, const char *cause)
{
    struct vc__engine *engine = g->ear.context->engine;
    struct vc__error why;

    vc__error_put(&why, VC_UNAVAILABLE,
                  "the multicast group %s is lost: %s; it will be joined again",
                  g->text, cause);
    if (g->stage == VC__GROUP_IS_IN)
        vc__log(engine->log, VC__LOG_LISTEN_LOST, "%s", why.text);
    group_end(g, &why);
}

/* Joining again has failed, for the reason that is the thread's error. Called
 * by group_on_late() and group_join_go_on(). */
static void
group_give_up(struct vc__group *g)
{
    const struct vc__error why = *vc__error_last();

    group_end(g, &why);
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

/* Adds a descriptor to the engine's epoll. Called by group_arrivals_add(),
 * group_listen() and group_listen_again(). */
static enum vc_status
group_source_add(struct vc__group *g, struct vc__source *s, int fd,
                 void (*ready)(struct vc__source *s))
{
    int err;

    s->fd = fd;
    s->ready = ready;
    err = vc__engine_add(g->ear.context->engine, s);
    if (err == 0)
        return VC_OK;
    s->fd = -1;
    return vc__group_fail(g, "add its descriptors to epoll", err);
}

/* Has the holder receive what a member gets. Called by group_listen(), and by
 * group_is_in(). */
static enum vc_status
group_arrivals_add(struct vc__group *g)
{
    return g->completions == NULL
               ? VC_OK
               : group_source_add(g, &g->arrivals, g->completions->fd,
                                  group_arrivals_ready);
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

/* The timer `late`, on the holder: an event has not come in time. A thread that
 * is late itself has read the events before, unless very many descriptors are
 * ready. */
static void
group_on_late(struct vc__timer *timer)
{
    struct vc__group *g = caa_container_of(timer, struct vc__group, late);

    vc__group_late(g);
    group_give_up(g);
}

/* Gives the next step of joining again its time. Called by group_join_go_on()
 * and group_listen_again(). */
static enum vc_status
group_late_start(struct vc__group *g)
{
    return vc__timer_start(&g->ear.context->engine->timers, &g->late,
                           vc__after_ms(vc__now(), g->timeout_ms),
                           group_on_late)
               ? VC_OK
               : vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
}

/* The group is joined again. Called by group_join_go_on(). */
static enum vc_status
group_is_in(struct vc__group *g)
{
    enum vc_status status = group_arrivals_add(g);

    vc__timer_stop(&g->ear.context->engine->timers, &g->late);
    if (status == VC_OK)
        g->ear.ops->back(&g->ear);
    return status;
}

/* An event of a group that is being joined again. False: that has failed.
 * Called by group_event_handle(). */
static bool
group_join_go_on(struct vc__group *g, enum rdma_cm_event_type type, int error)
{
    enum vc__group_stage before = g->stage;
    enum vc_status status = vc__group_step(g, type, error);

    if (status == VC_OK && g->stage != before)
        status =
            g->stage == VC__GROUP_IS_IN ? group_is_in(g) : group_late_start(g);
    if (status != VC_OK)
        group_give_up(g);
    return status == VC_OK;
}

/* Handles an event. False: the group is lost, or was not joined. Called by
 * group_events_ready(). */
static bool
group_event_handle(struct vc__group *g, enum rdma_cm_event_type type,
                   int status)
{
    const struct ibv_device *device =
        g->id->verbs == NULL ? NULL : g->id->verbs->device;
    char cause[80];

    if (type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
        group_lose(g, "its RDMA device was removed");
        if (device != NULL)
            vc__device_list_let_go(device);
        return false;
    }
    if (g->stage != VC__GROUP_IS_IN)
        return group_join_go_on(g, type, status);
    if (type != RDMA_CM_EVENT_MULTICAST_ERROR)
        return true;
    snprintf(cause, sizeof cause, "rdma_cm reports an error (%s)",
             strerror(status < 0 ? -status : status));
    group_lose(g, cause);
    return false;
}

/* ready() of the event channel, on the holder. */
static void
group_events_ready(struct vc__source *s)
{
    struct vc__group *g = caa_container_of(s, struct vc__group, events);
    enum rdma_cm_event_type type;
    int status;

    for (int i = 0; i < EVENT_BATCH && g->channel != NULL; i++) {
        if (!vc__group_event_take(g, &type, &status))
            return;
        group_event_count(&g->ear.context->engine->ledger, type);
        if (!group_event_handle(g, type, status))
            return;
    }
}

/* --- listening ------------------------------------------------------------ */

/* Begins to join the group. Called by group_listen() and
 * group_listen_again(). */
static enum vc_status
group_begin(struct vc__group *g, const struct sockaddr *addr)
{
    CDS_INIT_LIST_HEAD(&g->more.node);
    g->more.run = group_more;
    g->events.fd = g->arrivals.fd = -1;
    g->timeout_ms =
        g->ear.opts.timeout_ms == 0 ? JOIN_MS : g->ear.opts.timeout_ms;
    vc__addr_copy(&g->addr, addr);
    vc__addr_text(addr, g->text);
    return vc__group_begin(g);
}

/* Undoes all steps if one has failed; returns its status. Called by
 * group_listen() and group_listen_again(), last. */
static enum vc_status
group_begin_check(struct vc__group *g, enum vc_status status)
{
    if (status != VC_OK) {
        const struct vc__error why = *vc__error_last();

        group_unlisten(&g->ear);
        vc__error_raise(&why);
    }
    return status;
}

/* listen() of the table: joins the group. Waits for that in the calling thread,
 * for ear->opts.timeout_ms at most. */
static enum vc_status
group_listen(struct vc__ear *ear, const struct sockaddr *addr)
{
    struct vc__group *g = vc__group_of(ear);
    enum vc_status status = group_begin(g, addr);

    if (status == VC_OK)
        status = vc__group_await(g);
    if (status == VC_OK)
        status =
            group_source_add(g, &g->events, g->channel->fd, group_events_ready);
    if (status == VC_OK)
        status = group_arrivals_add(g);
    return group_begin_check(g, status);
}

/* listen_again() of the table: the same, on the holder, which goes on as the
 * events come. */
static enum vc_status
group_listen_again(struct vc__ear *ear, const struct sockaddr *addr)
{
    struct vc__group *g = vc__group_of(ear);
    enum vc_status status = group_begin(g, addr);

    if (status == VC_OK)
        status = group_late_start(g);
    if (status == VC_OK)
        status =
            group_source_add(g, &g->events, g->channel->fd, group_events_ready);
    return group_begin_check(g, status);
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
    .listen_again = group_listen_again,
    .unlisten = group_unlisten,
    .port = group_port,
    .datagram_max = vc__group_datagram_max,
    .datagram_reserve = vc__group_datagram_reserve,
    .datagram_commit = vc__group_datagram_commit,
};
