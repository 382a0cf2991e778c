/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Ids, event channels and events of the simulated rdma_cm: their owners and
 * queues, and what happens to them when a process ends or a device is removed.
 * Static functions run on the thread of their caller: one thread of the world
 * runs at a time (world.h). */
#include <string.h>

#include "fake/cm.h"

#define POISON 0xdb

/* An event that the program has read and not acknowledged. */
struct event_handle {
    struct rdma_cm_event event;
    struct event_handle *next, *prev;
    struct fake__id *id;
    struct fake__member *member;
    uint8_t data[FAKE__CM_DATA];
};

static struct {
    struct fake__id *ids;
    struct fake__cm_channel *channels;
    struct event_handle *got;
    struct event_handle *acked; /* the last one, poisoned; or NULL */
} cm;

/* --- ids --------------------------------------------------------------- */

/* Called in cm_addr.c and cm_peer.c. */
struct fake__id *
fake__id_first(void)
{
    return cm.ids;
}

/* Called by rdma_create_id() (cm.c) and child_new() (cm_peer.c). */
struct fake__id *
fake__id_new(struct fake_process *p, struct fake__cm_channel *channel,
             enum rdma_port_space ps)
{
    struct fake__id *id = fake__alloc(sizeof *id);

    id->process = p;
    id->channel = channel;
    id->ps = ps;
    id->psn = (uint32_t)fake__random(1 << 24);
    id->next = cm.ids;
    if (cm.ids != NULL)
        cm.ids->prev = id;
    cm.ids = id;
    return id;
}

/* Removes the id from the list; its own links stay, for loops that are at it.
 * Called by fake__id_close(). */
static void
id_unlink(struct fake__id *id)
{
    if (id->next != NULL)
        id->next->prev = id->prev;
    if (id->prev != NULL)
        id->prev->next = id->next;
    else if (cm.ids == id)
        cm.ids = id->next;
}

/* Called by rdma_create_id() (cm.c) and fake__cm_event_open(). */
void
fake__id_open(struct fake__id *id, void *context)
{
    struct fake__id_handle *handle = fake__handle_new(sizeof *handle);

    handle->id = id;
    handle->cm.channel = id->channel->handle;
    handle->cm.context = context;
    handle->cm.ps = id->ps;
    handle->cm.qp_type = fake__id_is_ud(id) ? IBV_QPT_UD : IBV_QPT_RC;
    id->handle = &handle->cm;
    id->process->census.ids++;
}

/* Called by rdma_destroy_id() (cm.c) and child_refuse() and fake__cm_exit(). */
void
fake__id_close(struct fake__id *id)
{
    if (id->closed)
        return;
    id->closed = true;
    id_unlink(id);
    if (id->handle == NULL)
        return;
    fake__handle_free(id->handle);
    id->handle = NULL;
    id->process->census.ids--;
}

/* Called in cm.c and this file. */
void
fake__id_query(struct fake__id *id)
{
    struct rdma_cm_id *h = id->handle;

    memcpy(&h->route.addr.src_storage, &id->src, sizeof id->src);
    memcpy(&h->route.addr.dst_storage, &id->dst, sizeof id->dst);
    if (id->on_device && h->verbs == NULL) {
        h->verbs = fake__context_of_cm(id->process, fake__id_device(id));
        h->port_num = 1;
        fake__gid_of(fake__id_device(id), &h->route.addr.addr.ibaddr.sgid);
    }
}

/* --- channels ---------------------------------------------------------- */

/* Called by rdma_create_event_channel() and rdma_create_id() (cm.c). */
struct fake__cm_channel *
fake__cm_channel_new(struct fake_process *p)
{
    struct fake__cm_channel *c = fake__alloc(sizeof *c);
    struct fake__cm_channel_handle *handle = fake__handle_new(sizeof *handle);

    c->process = p;
    c->end = &c->first;
    c->fd = fake__fd_new(p);
    c->handle = &handle->channel;
    c->next = cm.channels;
    cm.channels = c;
    handle->kernel = c;
    handle->channel.fd = c->fd;
    p->census.event_channels++;
    return c;
}

/* Called by rdma_destroy_event_channel() and rdma_destroy_id() (cm.c) and
 * channels_exit(). */
void
fake__cm_channel_close(struct fake__cm_channel *c)
{
    struct fake__cm_channel **at = &cm.channels;

    while (*at != NULL && *at != c)
        at = &(*at)->next;
    if (*at != NULL)
        *at = c->next;
    fake__fd_close(c->fd);
    fake__handle_free(c->handle);
    c->handle = NULL;
    c->process->census.event_channels--;
}

/* Called by fake__cm_channel_move() and event_put(). */
static void
channel_put(struct fake__cm_channel *c, struct fake__cm_event *ev)
{
    ev->next = NULL;
    *c->end = ev;
    c->end = &ev->next;
    if (c->handle != NULL)
        fake__fd_ready(c->fd, true);
}

/* Called by fake__cm_channel_take() and channel_pick(). */
static struct fake__cm_event *
channel_remove(struct fake__cm_channel *c, struct fake__cm_event **at)
{
    struct fake__cm_event *ev = *at;

    *at = ev->next;
    if (ev->next == NULL)
        c->end = at;
    if (c->first == NULL && c->handle != NULL)
        fake__fd_ready(c->fd, false);
    return ev;
}

/* Called by fake__cm_event_get() (cm.c). */
struct fake__cm_event *
fake__cm_channel_take(struct fake__cm_channel *c)
{
    struct fake__cm_event *ev;

    if (c->first == NULL) {
        fake__fd_ready(c->fd, false);
        return NULL;
    }
    ev = channel_remove(c, &c->first);
    if (ev->child != NULL)
        ev->id->unread--;
    return ev;
}

/* Removes and returns the oldest event of the id, or of this membership unless
 * it is NULL; NULL when there is none. Called by fake__cm_channel_move(),
 * fake__cm_channel_forget() and fake__cm_channel_purge(). */
static struct fake__cm_event *
channel_pick(struct fake__cm_channel *c, const struct fake__id *id,
             const struct fake__member *m)
{
    for (struct fake__cm_event **at = &c->first; *at != NULL;
         at = &(*at)->next) {
        if ((*at)->id == id && (m == NULL || (*at)->member == m))
            return channel_remove(c, at);
    }
    return NULL;
}

/* Called by rdma_migrate_id() (cm.c). */
void
fake__cm_channel_move(struct fake__id *id, struct fake__cm_channel *to)
{
    struct fake__cm_channel *from = id->channel;
    struct fake__cm_event *ev;

    id->channel = to;
    id->handle->channel = to->handle;
    if (from == to)
        return;
    while ((ev = channel_pick(from, id, NULL)) != NULL)
        channel_put(to, ev);
}

/* Called by fake__cm_channel_purge() and event_put(). */
static void
child_refuse(struct fake__id *child)
{
    fake__wire_destroy(child);
    fake__id_close(child);
}

/* Called by rdma_leave_multicast() (cm_multicast.c). */
void
fake__cm_channel_forget(struct fake__id *id, const struct fake__member *m)
{
    while (channel_pick(id->channel, id, m) != NULL) {
    }
}

/* Called by rdma_destroy_id() (cm.c) and fake__cm_exit(). */
void
fake__cm_channel_purge(struct fake__id *id)
{
    struct fake__cm_event *ev;

    while ((ev = channel_pick(id->channel, id, NULL)) != NULL) {
        if (ev->child != NULL)
            child_refuse(ev->child);
    }
}

/* --- events ------------------------------------------------------------ */

/* Called in this file and cm_peer.c. */
struct fake__cm_event *
fake__cm_event_new(struct fake__id *id, enum rdma_cm_event_type type,
                   int status)
{
    struct fake__cm_event *ev = fake__alloc(sizeof *ev);

    ev->id = id;
    ev->type = type;
    ev->status = status;
    return ev;
}

/* fake__after() runs it later for fake__cm_event_give(), on any thread. */
static void
event_put(void *obj, uint64_t n)
{
    struct fake__cm_event *ev = obj;

    (void)n;
    if (ev->member != NULL && fake__member_left(ev->member))
        return;
    if (!ev->id->destroyed) {
        if (ev->child != NULL)
            ev->id->unread++;
        channel_put(ev->id->channel, ev);
    } else if (ev->child != NULL) {
        child_refuse(ev->child);
    }
}

/* Called in this file and cm_peer.c. */
void
fake__cm_event_give(struct fake__cm_event *ev)
{
    const char *name = rdma_event_str(ev->type) + strlen("RDMA_CM_EVENT_");
    struct fake__fate fate;

    if (ev->id->destroyed || !ev->id->adopted)
        return;
    fate = fake__note("%s: event %s", ev->id->process->name, name);
    if (fate.drop || fate.lose)
        return;
    if (fate.delay != 0)
        fake__after(fate.delay, event_put, ev, 0);
    else
        event_put(ev, 0);
}

/* Called in cm.c, this file, cm_peer.c and cm_wire.c. */
void
fake__cm_tell(struct fake__id *id, enum rdma_cm_event_type type, int status)
{
    fake__cm_event_give(fake__cm_event_new(id, type, status));
}

void
fake_cm_event(struct fake_process *p, int event, int status)
{
    FAKE_CALL_SAFE("fake_cm_event");

    for (struct fake__id *id = cm.ids; id != NULL; id = id->next) {
        if (id->process != p)
            continue;
        if (event == RDMA_CM_EVENT_MULTICAST_ERROR && id->members != NULL)
            fake__members_tell(id, status);
        else if (id->state == FAKE__ESTABLISHED ||
                 (event == RDMA_CM_EVENT_ADDR_CHANGE && id->members != NULL))
            fake__cm_tell(id, (enum rdma_cm_event_type)event, status);
    }
}

void
fake_cm_former(bool former)
{
    FAKE_CALL_SAFE("fake_cm_former");

    fake__world.former_cm = former;
}

/* Called by fake__cm_event_open(). */
static struct event_handle *
event_handle_new(struct fake__id *id)
{
    struct event_handle *h = fake__handle_new(sizeof *h);

    h->id = id;
    h->next = cm.got;
    if (cm.got != NULL)
        cm.got->prev = h;
    cm.got = h;
    id->got++;
    id->process->census.events++;
    return h;
}

/* Called by fake__cm_event_open(). */
static void
event_fill(struct event_handle *h, const struct fake__cm_event *ev)
{
    struct rdma_cm_event *e = &h->event;
    const void *data = ev->data_len == 0 ? NULL : h->data;

    memcpy(h->data, ev->data, sizeof h->data);
    e->event = ev->type;
    e->status = ev->status;
    if (ev->ud) {
        e->param.ud = ev->param.ud;
        e->param.ud.private_data =
            ev->member == NULL ? data : fake__member_got(ev->member);
        e->param.ud.private_data_len = ev->data_len;
    } else {
        e->param.conn = ev->param.conn;
        e->param.conn.private_data = data;
        e->param.conn.private_data_len = ev->data_len;
    }
}

/* True if the event updates the program's id. Other events must not, as other
 * threads may read the id. Called by fake__cm_event_open(). */
static bool
is_news_of_address(enum rdma_cm_event_type type)
{
    return type == RDMA_CM_EVENT_ADDR_RESOLVED ||
           type == RDMA_CM_EVENT_CONNECT_REQUEST;
}

/* Called by fake__cm_event_get() (cm.c). */
struct rdma_cm_event *
fake__cm_event_open(struct fake__cm_event *ev)
{
    struct event_handle *h = event_handle_new(ev->id);

    h->member = ev->member;
    event_fill(h, ev);
    h->event.id = ev->id->handle;
    if (ev->child != NULL) {
        ev->child->channel = ev->id->channel;
        fake__id_open(ev->child, ev->id->handle->context);
        h->event.id = ev->child->handle;
        h->event.listen_id = ev->id->handle;
    }
    if (is_news_of_address(ev->type))
        fake__id_query(fake__id_of(h->event.id));
    return &h->event;
}

/* Fills an acknowledged event and its private data with garbage. A later access
 * is seen by the address sanitizer once another event was acknowledged. Called
 * by fake__cm_event_close(). */
static void
event_poison(struct event_handle *h)
{
    memset(&h->event, POISON, sizeof h->event);
    memset(h->data, POISON, sizeof h->data);
    fake__handle_free(cm.acked);
    cm.acked = h;
}

/* Called in cm.c, this file and cm_sync.c. */
void
fake__cm_event_close(struct rdma_cm_event *event)
{
    struct event_handle *h = (struct event_handle *)event;
    struct fake__id *id = h->id;

    if (h->next != NULL)
        h->next->prev = h->prev;
    if (h->prev != NULL)
        h->prev->next = h->next;
    else
        cm.got = h->next;
    if (h->member != NULL)
        fake__member_acked(h->member);
    event_poison(h);
    id->got--;
    id->process->census.events--;
    fake__release(id);
    fake__wake(id);
}

/* Called by event_process() (cm.c). */
struct fake__member *
fake__cm_event_member(const struct rdma_cm_event *event)
{
    return ((const struct event_handle *)event)->member;
}

/* --- removal and exit -------------------------------------------------- */

/* Called by fake__cm_exit(). */
static struct fake__id *
id_of_process(const struct fake_process *p)
{
    struct fake__id *id = cm.ids;

    while (id != NULL && id->process != p)
        id = id->next;
    return id;
}

/* Called by fake__cm_exit(). */
static void
events_exit(struct fake_process *p)
{
    struct event_handle *h, *next;

    for (h = cm.got; h != NULL; h = next) {
        next = h->next;
        if (h->id->process == p)
            fake__cm_event_close(&h->event);
    }
}

/* Called by fake__cm_exit(). */
static void
channels_exit(struct fake_process *p)
{
    struct fake__cm_channel *c, *next;

    for (c = cm.channels; c != NULL; c = next) {
        next = c->next;
        if (c->process == p)
            fake__cm_channel_close(c);
    }
}

/* Called by fake__process_end() (process.c). */
void
fake__cm_exit(struct fake_process *p)
{
    struct fake__id *id;

    events_exit(p);
    while ((id = id_of_process(p)) != NULL) {
        fake__wire_destroy(id);
        fake__cm_channel_purge(id);
        fake__id_close(id);
    }
    channels_exit(p);
    p->census.event_channels = 0;
    p->census.ids = 0;
    p->census.events = 0;
}

/* Called by fake_device_remove() (host.c). */
void
fake__cm_device_gone(struct fake_host *host)
{
    for (struct fake__id *id = cm.ids; id != NULL; id = id->next) {
        if (fake__id_device(id) != host || !id->on_device || id->destroyed ||
            id->removed)
            continue;
        id->removed = true;
        fake__wire_forget(id);
        fake__cm_tell(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
    }
}

/* Called by world_free() (process.c). */
void
fake__cm_end(void)
{
    fake__handle_free(cm.acked);
    memset(&cm, 0, sizeof cm);
}
