/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Devices, contexts, and what all objects share. */
#include "fake/verbs.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct context_handle {
    struct ibv_context pub;
    struct fake__context *context;
};

struct fake__context *
fake__context_of(struct ibv_context *context)
{
    return ((struct context_handle *)context)->context;
}

int
fake__context_err(const struct fake__context *context)
{
    return context->dead || context->device->gone ? EIO : 0;
}

unsigned
fake__queue_size(unsigned n)
{
    unsigned size = 1;

    if (!fake__rxe())
        return n;
    while (size < n)
        size = size * 2 + 1;
    return size;
}

/* --- objects ----------------------------------------------------------- */

static unsigned *
census_of(const struct fake__object *o)
{
    struct fake_census *c = &o->context->process->census;

    switch (o->kind) {
    case FAKE__PD:
        return &c->pds;
    case FAKE__CHANNEL:
        return &c->comp_channels;
    case FAKE__CQ:
        return &c->cqs;
    case FAKE__SRQ:
        return &c->srqs;
    case FAKE__QP:
        return &c->qps;
    case FAKE__MR:
        return &c->mrs;
    case FAKE__MW:
        return &c->mws;
    case FAKE__AH:
        break;
    }
    return &c->ahs;
}

void
fake__object_init(struct fake__object *o, enum fake__kind kind,
                  struct fake__context *context, void *handle)
{
    o->kind = kind;
    o->context = context;
    o->handle = handle;
    o->next = context->objects;
    o->link = &context->objects;
    if (o->next != NULL)
        o->next->link = &o->next;
    context->objects = o;
    ++*census_of(o);
}

void
fake__object_free(struct fake__object *o)
{
    o->dead = true;
    *o->link = o->next;
    if (o->next != NULL)
        o->next->link = o->link;
    --*census_of(o);
    fake__handle_free(o->handle);
    o->handle = NULL;
}

/* Removes an object from the device; the program may still hold its handle. */
static void
object_die(struct fake__object *o)
{
    if (o->dead)
        return;
    switch (o->kind) {
    case FAKE__QP:
        fake__qp_die((struct fake__qp *)o);
        break;
    case FAKE__CQ:
        fake__cq_die((struct fake__cq *)o);
        break;
    case FAKE__MR:
    case FAKE__MW:
        fake__key_die((struct fake__key *)o);
        break;
    case FAKE__AH:
        fake__ah_die(o);
        break;
    case FAKE__PD:
    case FAKE__CHANNEL:
    case FAKE__SRQ:
        break;
    }
    o->dead = true;
}

/* --- asynchronous events ----------------------------------------------- */

static void
event_push(struct fake__context *c, struct fake__object *o,
           enum ibv_event_type type)
{
    struct fake__async_event *e = c->spare, **at = &c->events;

    if (c->dead)
        return;
    if (e == NULL)
        e = fake__alloc(sizeof *e);
    else
        c->spare = e->next;
    *e = (struct fake__async_event){.object = o, .type = type};
    while (*at != NULL)
        at = &(*at)->next;
    *at = e;
    fake__fd_ready(c->async_fd, true);
}

static void
event_remove(struct fake__context *c, struct fake__async_event **at)
{
    struct fake__async_event *e = *at;

    *at = e->next;
    e->next = c->spare;
    c->spare = e;
    if (!c->dead)
        fake__fd_ready(c->async_fd, c->events != NULL);
}

void
fake__async(struct fake__object *o, enum ibv_event_type type)
{
    if (!o->dead)
        event_push(o->context, o, type);
}

void
fake__async_settle(struct fake__object *o)
{
    struct fake__async_event **at = &o->context->events;

    while (*at != NULL) {
        if ((*at)->object == o)
            event_remove(o->context, at);
        else
            at = &(*at)->next;
    }
    while (o->async_acked < o->async_got)
        fake__block(o, FAKE__FOREVER);
}

static void
event_fill(struct ibv_async_event *event, const struct fake__async_event *e)
{
    event->event_type = e->type;
    if (e->object == NULL)
        event->element.port_num = 1;
    else if (e->object->kind == FAKE__QP)
        event->element.qp = e->object->handle;
    else if (e->object->kind == FAKE__CQ)
        event->element.cq = e->object->handle;
    else
        event->element.srq = e->object->handle;
}

int
ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    FAKE_CALL("ibv_get_async_event");
    struct fake__context *c = fake__context_of(context);

    if (call.err != 0) {
        errno = call.err;
        return -1;
    }
    do {
        if (!fake__fd_await(c->async_fd))
            return -1;
    } while (c->events == NULL);
    event_fill(event, c->events);
    if (c->events->object != NULL)
        c->events->object->async_got++;
    event_remove(c, &c->events);
    return 0;
}

static struct fake__object *
object_of_event(const struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        return &fake__cq_of(event->element.cq)->obj;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        return &fake__qp_of(event->element.qp)->obj;
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        return &fake__srq_of(event->element.srq)->obj;
    default:
        return NULL;
    }
}

void
ibv_ack_async_event(struct ibv_async_event *event)
{
    FAKE_CALL_SAFE("ibv_ack_async_event");
    struct fake__object *o = object_of_event(event);

    if (o == NULL)
        return;
    o->async_acked++;
    fake__wake(o);
}

/* --- devices ----------------------------------------------------------- */

struct fake__device *
fake__device_new(struct fake_host *host)
{
    struct fake__device *d = fake__alloc(sizeof *d);
    const unsigned n = host->index;

    d->host = host;
    d->former = host->device;
    d->pub.node_type = IBV_NODE_CA;
    d->pub.transport_type = IBV_TRANSPORT_IB;
    snprintf(d->pub.name, sizeof d->pub.name, "rxe%u", n);
    snprintf(d->pub.dev_name, sizeof d->pub.dev_name, "uverbs%u", n);
    snprintf(d->pub.dev_path, sizeof d->pub.dev_path,
             "/sys/class/infiniband_verbs/uverbs%u", n);
    snprintf(d->pub.ibdev_path, sizeof d->pub.ibdev_path,
             "/sys/class/infiniband/rxe%u", n);
    return d;
}

void
fake_device_iwarp(struct fake_host *host)
{
    FAKE_CALL_SAFE("fake_device_iwarp");

    host->device->pub.node_type = IBV_NODE_RNIC;
    host->device->pub.transport_type = IBV_TRANSPORT_IWARP;
}

static void
device_event(struct fake__device *d, enum ibv_event_type type)
{
    for (struct fake__context *c = d->contexts; c != NULL; c = c->next)
        event_push(c, NULL, type);
}

void
fake__device_gone(struct fake__device *d)
{
    d->gone = true;
    for (unsigned i = 0; i < d->n_qps; i++)
        fake__qp_error(d->qps[i]);
    if (!fake__rxe())
        device_event(d, IBV_EVENT_DEVICE_FATAL);
}

void
fake__device_port_event(struct fake__device *d, bool up)
{
    device_event(d, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
}

struct ibv_device **
ibv_get_device_list(int *num_devices)
{
    FAKE_CALL("ibv_get_device_list");
    struct fake_host *host = fake__self()->host;
    struct ibv_device **list;
    int n = 0;

    if (call.err != 0) {
        errno = call.err;
        return NULL;
    }
    list = fake__handle_new((fake__device_count(host) + 1) *
                            sizeof(struct ibv_device *));
    for (; host != NULL; host = fake__device_next(host)) {
        if (host->device != NULL && !host->device->gone)
            list[n++] = &host->device->pub;
    }
    if (num_devices != NULL)
        *num_devices = n;
    return list;
}

void
ibv_free_device_list(struct ibv_device **list)
{
    FAKE_CALL_SAFE("ibv_free_device_list");

    fake__handle_free(list);
}

const char *
ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

static uint64_t
guid_of(const struct fake_host *host)
{
    uint64_t guid = 0x505400fffe000000;

    for (const char *s = host->name; *s != '\0'; s++)
        guid = (guid & ~UINT64_C(0xffffff)) |
               ((guid * 31 + (uint8_t)*s) & 0xffffff);
    return guid + ((uint64_t)host->index << 24);
}

__be64
ibv_get_device_guid(struct ibv_device *device)
{
    return htobe64(guid_of(((struct fake__device *)device)->host));
}

/* --- contexts ---------------------------------------------------------- */

static const struct ibv_context_ops ops = {
    .alloc_mw = fake__alloc_mw,
    .bind_mw = fake__bind_mw,
    .dealloc_mw = fake__dealloc_mw,
    .poll_cq = fake__poll_cq,
    .req_notify_cq = fake__req_notify_cq,
    .post_srq_recv = fake__post_srq_recv,
    .post_send = fake__post_send,
    .post_recv = fake__post_recv,
};

static struct ibv_context *
context_open(struct fake_process *p, struct fake_host *host, bool counted)
{
    struct fake__context *c;
    struct context_handle *h;

    if (host->device == NULL || host->device->gone) {
        errno = ENODEV;
        return NULL;
    }
    c = fake__alloc(sizeof *c);
    h = fake__handle_new(sizeof *h);
    *c = (struct fake__context){
        .device = host->device,
        .process = p,
        .handle = &h->pub,
        .counted = counted,
        .async_fd = fake__fd_new(p),
        .next = host->device->contexts,
    };
    host->device->contexts = c;
    h->context = c;
    h->pub.device = &host->device->pub;
    h->pub.ops = ops;
    h->pub.cmd_fd = -1;
    h->pub.async_fd = c->async_fd;
    h->pub.num_comp_vectors = 2;
    p->census.contexts += counted;
    p->census.descriptors -= !counted; /* not the program's: no leak */
    return &h->pub;
}

struct ibv_context *
ibv_open_device(struct ibv_device *device)
{
    FAKE_CALL("ibv_open_device");

    if (call.err != 0) {
        errno = call.err;
        return NULL;
    }
    return context_open(fake__self(), ((struct fake__device *)device)->host,
                        true);
}

struct ibv_context *
fake__context_of_cm(struct fake_process *p, struct fake_host *host)
{
    struct fake__context *c = host->device->contexts;

    while (c != NULL && (c->process != p || c->counted || c->dead))
        c = c->next;
    return c != NULL ? c->handle : context_open(p, host, false);
}

/* QPs first, because they use the other objects. */
static void
objects_die(struct fake__context *c)
{
    struct fake__object *o;

    for (o = c->objects; o != NULL; o = o->next) {
        if (o->kind == FAKE__QP)
            object_die(o);
    }
    for (o = c->objects; o != NULL; o = o->next)
        object_die(o);
}

static void
context_close(struct fake__context *c)
{
    objects_die(c);
    if (c->dead)
        return;
    c->dead = true;
    c->process->census.descriptors += !c->counted;
    fake__fd_close(c->async_fd);
    c->process->census.contexts -= c->counted;
    fake__handle_free(c->handle);
    c->handle = NULL;
}

int
ibv_close_device(struct ibv_context *context)
{
    FAKE_CALL_SAFE("ibv_close_device");

    context_close(fake__context_of(context));
    return 0;
}

static void
channels_close(struct fake__context *c)
{
    for (struct fake__object *o = c->objects; o != NULL; o = o->next) {
        if (o->kind == FAKE__CHANNEL)
            fake__fd_close(((struct fake__channel *)o)->fd);
    }
}

static void
context_exit(struct fake__context *c)
{
    context_close(c);
    channels_close(c);
    while (c->objects != NULL)
        fake__object_free(c->objects);
}

static void
device_exit(struct fake__device *d, const struct fake_process *p)
{
    for (struct fake__context *c = d->contexts; c != NULL; c = c->next) {
        if (c->process == p)
            context_exit(c);
    }
}

void
fake__verbs_exit(struct fake_process *p)
{
    struct fake_census *n = &p->census;

    for (struct fake_host *h = fake__world.hosts; h != NULL; h = h->next) {
        for (struct fake__device *d = h->device; d != NULL; d = d->former)
            device_exit(d, p);
    }
    n->contexts = n->pds = n->cqs = n->srqs = n->qps = 0;
    n->mrs = n->mws = n->ahs = n->comp_channels = 0;
}

void
fake__verbs_end(void)
{
    /* Handles were freed with their processes; the world frees the rest. */
}

/* --- queries ----------------------------------------------------------- */

static const struct ibv_device_attr attributes = {
    .fw_ver = "",
    .max_mr_size = UINT64_MAX,
    .page_size_cap = 0xfffff000,
    .max_qp = 1048560,
    .max_qp_wr = FAKE__MAX_WR,
    .device_cap_flags =
        IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR |
        IBV_DEVICE_AUTO_PATH_MIG | IBV_DEVICE_UD_AV_PORT_ENFORCE |
        IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
        IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE |
        IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_MGT_EXTENSIONS |
        IBV_DEVICE_MEM_WINDOW_TYPE_2B,
    .max_sge = FAKE__MAX_SGE,
    .max_sge_rd = FAKE__MAX_SGE,
    .max_cq = 1048576,
    .max_cqe = FAKE__MAX_CQE,
    .max_mr = 524287,
    .max_pd = 1048576,
    .max_res_rd_atom = 258048,
    .atomic_cap = IBV_ATOMIC_HCA,
    .max_mw = 524287,
    .max_srq = 917503,
    .max_srq_wr = FAKE__MAX_WR,
    .max_srq_sge = 27,
    .max_pkeys = 1,
    .local_ca_ack_delay = 15,
    .phys_port_cnt = 1,
};

int
ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    FAKE_CALL("ibv_query_device");
    const struct fake_host *host = fake__context_of(context)->device->host;

    if (call.err != 0)
        return call.err;
    *attr = attributes;
    attr->max_ah = (int)host->max_ah;
    attr->max_mcast_grp = (int)host->max_groups;
    attr->max_mcast_qp_attach = (int)host->max_group_qps;
    attr->max_total_mcast_qp_attach =
        (int)(host->max_groups * host->max_group_qps);
    attr->max_qp_rd_atom = host->reads_in;
    attr->max_qp_init_rd_atom = host->reads_out;
    attr->node_guid = ibv_get_device_guid(context->device);
    attr->sys_image_guid = attr->node_guid;
    return 0;
}

#undef ibv_query_port
int(ibv_query_port)(struct ibv_context *context, uint8_t port_num,
                    struct _compat_ibv_port_attr *compat)
{
    FAKE_CALL("ibv_query_port");
    const struct fake_host *host = fake__context_of(context)->device->host;
    struct ibv_port_attr *attr = (struct ibv_port_attr *)compat;

    if (call.err != 0)
        return call.err;
    if (port_num != 1)
        return EINVAL;
    memset(attr, 0, offsetof(struct ibv_port_attr, port_cap_flags2));
    attr->state = host->port_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    attr->max_mtu = IBV_MTU_4096;
    attr->active_mtu = IBV_MTU_1024;
    attr->gid_tbl_len = 1024;
    attr->port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
    attr->max_msg_sz = FAKE__MAX_MSG;
    attr->pkey_tbl_len = 1;
    attr->max_vl_num = 1;
    attr->active_width = 1;
    attr->active_speed = 1;
    attr->phys_state = host->port_up ? 5 : 3;
    attr->link_layer = IBV_LINK_LAYER_ETHERNET;
    return 0;
}

int
ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index,
              union ibv_gid *gid)
{
    FAKE_CALL("ibv_query_gid");
    const struct fake_host *host = fake__context_of(context)->device->host;

    if (call.err != 0 || port_num != 1 || index < 0 || index >= 1024) {
        errno = call.err != 0 ? call.err : EINVAL;
        return -1;
    }
    memset(gid, 0, sizeof *gid);
    if (index == 0) {
        gid->global.subnet_prefix = htobe64(UINT64_C(0xfe80) << 48);
        gid->global.interface_id = htobe64(guid_of(host));
    } else if (index == 1) {
        fake__gid_of(host, gid);
    }
    return 0;
}
