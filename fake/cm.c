/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The calls of librdmacm, as the library and the kernel's ucma implement them
 * together: what they check, in which order, and which state the objects have
 * after. Static functions run on the thread of their caller: one thread of the
 * world runs at a time (world.h). */
#include <errno.h>
#include <string.h>

#include "fake/cm.h"

#define BACKLOG_MAX 1024

/* --- channels and ids -------------------------------------------------- */

struct rdma_event_channel *
rdma_create_event_channel(void)
{
    FAKE_CALL("rdma_create_event_channel");

    if (call.err != 0) {
        errno = call.err;
        return NULL;
    }
    return fake__cm_channel_new(fake__self())->handle;
}

void
rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
    FAKE_CALL_SAFE("rdma_destroy_event_channel");

    fake__cm_channel_close(fake__cm_channel_of(channel));
}

int
rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
               void *context, enum rdma_port_space ps)
{
    FAKE_CALL("rdma_create_id");
    struct fake__id *k;

    if (call.err != 0)
        return fake__fail(call.err);
    k = fake__id_new(fake__self(),
                     channel == NULL ? fake__cm_channel_new(fake__self())
                                     : fake__cm_channel_of(channel),
                     ps);
    k->adopted = true;
    k->sync = channel == NULL;
    fake__id_open(k, context);
    *id = k->handle;
    return 0;
}

/* Called by rdma_destroy_id() and rdma_migrate_id(). */
static void
events_await(struct fake__id *id)
{
    while (id->got > 0)
        fake__block(id, FAKE__FOREVER);
    fake__acquire(id);
}

int
rdma_destroy_id(struct rdma_cm_id *id)
{
    FAKE_CALL_SAFE("rdma_destroy_id");
    struct fake__id *k = fake__id_of(id);
    struct fake__cm_channel *own = k->sync ? k->channel : NULL;

    fake__publish(k);
    fake__wire_destroy(k);
    fake__cm_channel_purge(k);
    fake__sync_close(k);
    events_await(k);
    fake__id_close(k);
    if (own != NULL)
        fake__cm_channel_close(own);
    return 0;
}

int
rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
    FAKE_CALL("rdma_migrate_id");
    struct fake__id *k = fake__id_of(id);
    struct fake__cm_channel *own = k->sync ? k->channel : NULL;

    if (call.err != 0)
        return fake__fail(call.err);
    fake__publish(k);
    fake__sync_close(k);
    if (channel == NULL)
        fake__sync_open(k);
    else
        fake__cm_channel_move(k, fake__cm_channel_of(channel));
    k->sync = channel == NULL;
    fake__publish(k);
    events_await(k);
    if (own != NULL)
        fake__cm_channel_close(own);
    return 0;
}

/* --- addresses --------------------------------------------------------- */

/* Binds the id to a local address and, unless that is a wildcard, to its
 * device. Called by rdma_bind_addr(), bind_source() and rdma_listen(). */
static int
bind_to(struct fake__id *k, const struct sockaddr *addr)
{
    struct fake_host *own = fake__addr_is_loopback(addr)
                                ? k->process->host
                                : fake__host_of_addr(addr);
    bool any = fake__addr_is_any(addr);
    int err;

    if (!any && (own == NULL || own->machine != k->process->host))
        return EADDRNOTAVAIL;
    if (!any && own->removed)
        return ENODEV;
    fake__addr_copy(&k->src, addr);
    if (addr->sa_family == AF_INET)
        k->afonly = true;
    err = fake__port_bind(k);
    if (err != 0)
        return err;
    k->on_device = !any;
    if (!any)
        k->device = own;
    k->state = FAKE__BOUND;
    fake__id_query(k);
    return 0;
}

int
rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
    FAKE_CALL("rdma_bind_addr");
    struct fake__id *k = fake__id_of(id);

    if (call.err != 0)
        return fake__fail(call.err);
    if (k->state != FAKE__IDLE)
        return fake__fail(EINVAL);
    return fake__result(bind_to(k, addr));
}

/* Binds an id that is not bound yet: to src, or to the wildcard if src is NULL.
 * Called by rdma_resolve_addr(). */
static int
bind_source(struct fake__id *k, const struct sockaddr *src,
            const struct sockaddr *dst)
{
    struct sockaddr_storage any = {.ss_family = dst->sa_family};

    if (k->state != FAKE__IDLE)
        return 0;
    return bind_to(k, src != NULL ? src : (const struct sockaddr *)&any);
}

/* Called by addr_done(). */
static void
source_settle(struct fake__id *k)
{
    const struct sockaddr *dst = (const struct sockaddr *)&k->dst;
    uint16_t port = fake__addr_port((const struct sockaddr *)&k->src);

    if (fake__addr_is_any((const struct sockaddr *)&k->src)) {
        fake__addr_copy(
            &k->src, fake__addr_is_loopback(dst)
                         ? dst
                         : (const struct sockaddr *)&fake__id_device(k)->addr);
        fake__addr_set_port(&k->src, port);
    }
    k->on_device = true;
}

/* Called by addr_done(). fake__after() runs it later for addr_query(), on any
 * thread. */
static void
addr_failed(void *obj, uint64_t err)
{
    struct fake__id *k = obj;

    if (k->destroyed || k->state != FAKE__ADDR_QUERY)
        return;
    k->state = FAKE__BOUND;
    fake__cm_tell(k, RDMA_CM_EVENT_ADDR_ERROR, -(int)err);
}

/* fake__after() runs it later for addr_query(), on any thread. */
static void
addr_done(void *obj, uint64_t n)
{
    struct fake__id *k = obj;

    (void)n;
    if (fake__id_device(k)->removed) {
        addr_failed(k, ENODEV);
        return;
    }
    if (k->destroyed || k->state != FAKE__ADDR_QUERY)
        return;
    k->state = FAKE__ADDR_RESOLVED;
    source_settle(k);
    fake__cm_tell(k, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
}

/* Called by rdma_resolve_addr(). */
static struct fake_host *
remote_of(const struct fake__id *k, const struct sockaddr *dst)
{
    return fake__addr_is_loopback(dst) ? k->process->host
                                       : fake__host_of_addr(dst);
}

/* Routes to dst: by the device at that address, or else the one on that
 * network. Called by rdma_resolve_addr(). */
static struct fake_host *
device_to(struct fake_host *host, const struct sockaddr *dst)
{
    struct fake_host *d = fake__host_of_addr(dst);

    if (d != NULL && d->machine == host)
        return d;
    for (d = host; d != NULL; d = fake__device_next(d)) {
        if (fake__addr_on_link(d, dst))
            return d;
    }
    return host;
}

/* True if dst's host can be resolved. A host answers for its address even after
 * its device was removed. Called by addr_query(). */
static bool
is_neighbour(const struct fake__id *k)
{
    const struct fake_host *own = fake__id_device(k);

    if (fake__addr_is_group((const struct sockaddr *)&k->dst))
        return true;
    return k->remote != NULL &&
           (k->remote == own || k->remote->removed || own->removed ||
            fake__reach_each_other(own, k->remote));
}

/* Called by rdma_resolve_addr(). */
static void
addr_query(struct fake__id *k, int timeout_ms)
{
    k->state = FAKE__ADDR_QUERY;
    if (is_neighbour(k) || fake__id_device(k)->removed)
        fake__after(fake__latency(), addr_done, k, 0);
    else
        fake__after((uint64_t)timeout_ms * FAKE__MS, addr_failed, k, ETIMEDOUT);
}

/* True for a group and a device: it needs no route. Called by
 * rdma_resolve_addr(). */
static bool
is_group_from(const struct fake__id *k, const struct sockaddr *src,
              const struct sockaddr *dst)
{
    return fake__addr_is_group(dst) && (src != NULL || k->on_device);
}

int
rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr,
                  struct sockaddr *dst_addr, int timeout_ms)
{
    FAKE_CALL("rdma_resolve_addr");
    struct fake__id *k = fake__id_of(id);
    int err;

    if (call.err != 0)
        return fake__fail(call.err);
    if (k->state != FAKE__IDLE && k->state != FAKE__BOUND)
        return fake__fail(EINVAL);
    if (src_addr != NULL && src_addr->sa_family == AF_UNSPEC)
        return fake__fail(EINVAL);
    k->remote = remote_of(k, dst_addr);
    if (k->device == NULL)
        k->device = device_to(k->process->host, dst_addr);
    if (k->remote == NULL && !fake__addr_on_link(k->device, dst_addr) &&
        !is_group_from(k, src_addr, dst_addr))
        return fake__fail(ENETUNREACH);
    err = bind_source(k, src_addr, dst_addr);
    if (err != 0)
        return fake__fail(err);
    fake__addr_copy(&k->dst, dst_addr);
    fake__publish(k);
    addr_query(k, timeout_ms);
    fake__id_query(k);
    return fake__sync_complete(k);
}

/* fake__after() runs it later for rdma_resolve_route(), on any thread. */
static void
route_done(void *obj, uint64_t n)
{
    struct fake__id *k = obj;

    (void)n;
    if (k->destroyed || k->state != FAKE__ROUTE_QUERY)
        return;
    k->state = FAKE__ROUTE_RESOLVED;
    k->path_tos = k->tos;
    fake__cm_tell(k, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
}

int
rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
    FAKE_CALL("rdma_resolve_route");
    struct fake__id *k = fake__id_of(id);

    (void)timeout_ms; /* on RoCE there is no subnet manager to ask */
    if (call.err != 0)
        return fake__fail(call.err);
    if (k->removed)
        return fake__fail(ENODEV);
    if (k->state != FAKE__ADDR_RESOLVED)
        return fake__fail(EINVAL);
    if (fake__addr_is_loopback((const struct sockaddr *)&k->dst))
        return fake__fail(ENODEV);
    fake__publish(k);
    k->state = FAKE__ROUTE_QUERY;
    fake__after(fake__latency(), route_done, k, 0);
    return fake__sync_complete(k);
}

__be16
rdma_get_src_port(struct rdma_cm_id *id)
{
    FAKE_CALL_SAFE("rdma_get_src_port");
    struct sockaddr *addr = rdma_get_local_addr(id);

    return __builtin_bswap16(fake__addr_port(addr));
}

__be16
rdma_get_dst_port(struct rdma_cm_id *id)
{
    FAKE_CALL_SAFE("rdma_get_dst_port");
    struct sockaddr *addr = rdma_get_peer_addr(id);

    return __builtin_bswap16(fake__addr_port(addr));
}

/* Called by rdma_set_option(). */
static int
option_set(struct fake__id *k, int optname, const void *optval, size_t optlen)
{
    bool byte =
        optname == RDMA_OPTION_ID_TOS || optname == RDMA_OPTION_ID_ACK_TIMEOUT;

    if (optlen != (byte ? sizeof(uint8_t) : sizeof(int)))
        return EINVAL;
    switch (optname) {
    case RDMA_OPTION_ID_TOS:
        k->tos = *(const uint8_t *)optval;
        return 0;
    case RDMA_OPTION_ID_ACK_TIMEOUT:
        k->ack_timeout = *(const uint8_t *)optval;
        return 0;
    case RDMA_OPTION_ID_REUSEADDR:
        k->reuseaddr = *(const int *)optval != 0;
        return 0;
    case RDMA_OPTION_ID_AFONLY:
        k->afonly = *(const int *)optval != 0;
        return 0;
    default:
        return ENOSYS;
    }
}

int
rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval,
                size_t optlen)
{
    FAKE_CALL("rdma_set_option");

    if (call.err != 0)
        return fake__fail(call.err);
    if (level != RDMA_OPTION_ID)
        return fake__fail(ENOSYS);
    return fake__result(option_set(fake__id_of(id), optname, optval, optlen));
}

/* --- listening --------------------------------------------------------- */

int
rdma_listen(struct rdma_cm_id *id, int backlog)
{
    FAKE_CALL("rdma_listen");
    struct fake__id *k = fake__id_of(id);
    struct sockaddr_in any = {.sin_family = AF_INET};
    int err;

    if (call.err != 0)
        return fake__fail(call.err);
    if (k->removed)
        return fake__fail(ENODEV);
    err = k->state == FAKE__IDLE ? bind_to(k, (struct sockaddr *)&any) : 0;
    if (err == 0 && k->state != FAKE__BOUND)
        err = EINVAL;
    if (err == 0)
        err = fake__port_check(k, false);
    if (err != 0)
        return fake__fail(err);
    k->reuseaddr = false;
    k->backlog =
        backlog <= 0 || backlog > BACKLOG_MAX ? BACKLOG_MAX : (unsigned)backlog;
    fake__publish(k);
    k->state = FAKE__LISTEN;
    fake__id_query(k);
    return 0;
}

/* --- events ------------------------------------------------------------ */

/* What librdmacm does before the program sees the event; false if the program
 * must not see the event. Called by fake__cm_event_get(). */
static bool
event_process(struct fake__id *k, struct rdma_cm_event *e)
{
    switch (e->event) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
        if (fake__id_of(e->listen_id)->sync)
            fake__sync_open(k);
        return true;
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
        if (e->id->qp == NULL)
            return true;
        k->connect_error = !fake__conn_response(k);
        e->event = k->connect_error ? RDMA_CM_EVENT_CONNECT_ERROR
                                    : RDMA_CM_EVENT_ESTABLISHED;
        e->status = k->connect_error ? -1 : 0;
        return true;
    case RDMA_CM_EVENT_REJECTED:
        if (k->connect_error)
            return false;
        fake__conn_qp_error(k);
        return true;
    case RDMA_CM_EVENT_DISCONNECTED:
        return !k->connect_error;
    case RDMA_CM_EVENT_MULTICAST_JOIN:
        fake__member_attach(fake__cm_event_member(e), e);
        return true;
    default:
        return true;
    }
}

/* Called by rdma_get_cm_event() and fake__sync_complete() (cm_sync.c). */
bool
fake__cm_event_get(struct fake__cm_channel *c, struct rdma_cm_event **event)
{
    while (fake__fd_await(c->fd)) {
        struct fake__cm_event *ev = fake__cm_channel_take(c);
        struct rdma_cm_event *e;

        if (ev == NULL)
            continue;
        fake__acquire(c);
        e = fake__cm_event_open(ev);
        if (event_process(fake__id_of(e->id), e)) {
            *event = e;
            return true;
        }
        fake__cm_event_close(e);
    }
    return false;
}

int
rdma_get_cm_event(struct rdma_event_channel *channel,
                  struct rdma_cm_event **event)
{
    FAKE_CALL("rdma_get_cm_event");

    if (call.err != 0)
        return fake__fail(call.err);
    return fake__cm_event_get(fake__cm_channel_of(channel), event) ? 0 : -1;
}

int
rdma_ack_cm_event(struct rdma_cm_event *event)
{
    FAKE_CALL_SAFE("rdma_ack_cm_event");

    if (event == NULL)
        return fake__fail(EINVAL);
    fake__cm_event_close(event);
    return 0;
}

const char *
rdma_event_str(enum rdma_cm_event_type event)
{
    static const char *const names[] = {
        "RDMA_CM_EVENT_ADDR_RESOLVED",   "RDMA_CM_EVENT_ADDR_ERROR",
        "RDMA_CM_EVENT_ROUTE_RESOLVED",  "RDMA_CM_EVENT_ROUTE_ERROR",
        "RDMA_CM_EVENT_CONNECT_REQUEST", "RDMA_CM_EVENT_CONNECT_RESPONSE",
        "RDMA_CM_EVENT_CONNECT_ERROR",   "RDMA_CM_EVENT_UNREACHABLE",
        "RDMA_CM_EVENT_REJECTED",        "RDMA_CM_EVENT_ESTABLISHED",
        "RDMA_CM_EVENT_DISCONNECTED",    "RDMA_CM_EVENT_DEVICE_REMOVAL",
        "RDMA_CM_EVENT_MULTICAST_JOIN",  "RDMA_CM_EVENT_MULTICAST_ERROR",
        "RDMA_CM_EVENT_ADDR_CHANGE",     "RDMA_CM_EVENT_TIMEWAIT_EXIT",
    };

    return (size_t)event < sizeof names / sizeof *names ? names[event]
                                                        : "UNKNOWN EVENT";
}

/* --- devices ----------------------------------------------------------- */

struct ibv_context **
rdma_get_devices(int *num_devices)
{
    FAKE_CALL("rdma_get_devices");
    struct fake_process *p = fake__self();
    struct ibv_context **list;
    int n = 0;

    if (call.err != 0) {
        errno = call.err;
        return NULL;
    }
    list = fake__handle_new((fake__device_count(p->host) + 1) * sizeof *list);
    for (struct fake_host *d = p->host; d != NULL; d = fake__device_next(d)) {
        if (!d->removed)
            list[n++] = fake__context_of_cm(p, d);
    }
    if (num_devices != NULL)
        *num_devices = n;
    return list;
}

void
rdma_free_devices(struct ibv_context **list)
{
    FAKE_CALL_SAFE("rdma_free_devices");

    fake__handle_free(list);
}
