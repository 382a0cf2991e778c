/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Joins a multicast group and leaves it: the id of RDMA_PS_UDP and its event
 * channel. See transport/rdma/group.h. Static functions run on the thread of
 * the functions that they are for. Only vc__group_await() waits, until the time
 * is over, whatever the subnet manager does. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "transport/core/clock.h"
#include "transport/rdma/context.h"
#include "transport/rdma/device_list.h"
#include "transport/rdma/failure.h"
#include "transport/rdma/group.h"

/* ENOTSUPP of Linux, which user space has no name for: cma.c returns it for an
 * IPv6 group at a GID of RoCE v2. */
#define NOT_SUPPORTED 524

/* Makes the event channel and the id. For vc__group_begin(); errors
 * as its. */
static enum vc_status
group_id_make(struct vc__group *g)
{
    int err;

    vc__device_list_expect();
    g->channel = rdma_create_event_channel();
    if (g->channel == NULL)
        return vc__rdma_fail_channel(errno);
    if (fcntl(g->channel->fd, F_SETFL,
              fcntl(g->channel->fd, F_GETFL) | O_NONBLOCK) != 0)
        return vc__rdma_fail_channel(errno);
    err = vc__rdma_errno(rdma_create_id(g->channel, &g->id, NULL, RDMA_PS_UDP));
    return err == 0 ? VC_OK : vc__group_fail(g, "make an id", err);
}

/* Asks for the device that leads to the group, from ear.opts.source if that is
 * set. For vc__group_begin(); errors as its. */
static enum vc_status
group_seek(struct vc__group *g)
{
    struct sockaddr_storage *source = &g->ear.opts.source;
    int err = vc__rdma_errno(rdma_resolve_addr(
        g->id,
        source->ss_family == AF_UNSPEC ? NULL : (struct sockaddr *)source,
        (struct sockaddr *)&g->addr, (int)g->timeout_ms));

    if (err == ENETUNREACH || err == ENODEV || err == EADDRNOTAVAIL)
        return vc__fail(VC_UNAVAILABLE,
                        "%s: no RDMA device of this machine leads to this "
                        "group (%s): add a route to it (`ip route add GROUP "
                        "dev INTERFACE`), or give the device's address "
                        "(vc_channel_opts.bind_address, "
                        "vc_server_opts.multicast_address)",
                        g->text, strerror(err));
    return err == 0 ? VC_OK : vc__group_fail(g, "resolve its address", err);
}

enum vc_status
vc__group_begin(struct vc__group *g)
{
    enum vc_status status = group_id_make(g);

    g->stage = VC__GROUP_SEEKS;
    return status == VC_OK ? group_seek(g) : status;
}

/* --- steps ---------------------------------------------------------------- */

/* Checks what the device can do, and takes the MTU of its port. For
 * group_on_found(). */
static enum vc_status
group_device_check(struct vc__group *g)
{
    struct ibv_device_attr device;
    struct ibv_port_attr port;
    int err = ibv_query_device(g->id->verbs, &device);

    if (err == 0)
        err = ibv_query_port(g->id->verbs, g->id->port_num, &port);
    if (err != 0)
        return vc__group_fail(g, "query the device", err);
    if (device.max_mcast_grp <= 0 || device.max_mcast_qp_attach <= 0)
        return vc__fail(VC_UNAVAILABLE,
                        "%s: the RDMA device %s has no multicast: use another "
                        "one (the channel's bind_address, or the route to the "
                        "group)",
                        g->text, ibv_get_device_name(g->id->verbs->device));
    g->mtu = 128u << port.active_mtu;
    return VC_OK;
}

/* Asks to join. For group_on_found(). */
static enum vc_status
group_ask(struct vc__group *g)
{
    int err = vc__rdma_errno(
        rdma_join_multicast(g->id, (struct sockaddr *)&g->addr, NULL));

    if (err == NOT_SUPPORTED)
        return vc__fail(VC_UNAVAILABLE,
                        "%s: Linux joins no IPv6 group over RoCE v2: use an "
                        "IPv4 group, as 239.1.2.3",
                        g->text);
    if (err != 0)
        return vc__group_fail(g, "join the group", err);
    g->asked = true;
    g->stage = VC__GROUP_ASKS;
    return VC_OK;
}

/* The first event: the device is found, or none is. For vc__group_step(). */
static enum vc_status
group_on_found(struct vc__group *g, enum rdma_cm_event_type type, int error)
{
    enum vc_status status;
    struct vc__error why;

    if (type != RDMA_CM_EVENT_ADDR_RESOLVED) {
        vc__rdma_put_no_way(&why, g->text, type, error);
        return vc__error_raise(&why);
    }
    status = group_device_check(g);
    if (status == VC_OK)
        status = vc__group_queues_init(g);
    return status == VC_OK ? group_ask(g) : status;
}

/* The second one: the answer. For vc__group_step(). */
static enum vc_status
group_on_answer(struct vc__group *g, enum rdma_cm_event_type type, int error)
{
    enum vc_status status;

    if (type != RDMA_CM_EVENT_MULTICAST_JOIN || error != 0)
        return vc__fail(VC_UNAVAILABLE,
                        "%s: joining the group was refused (%s): see that the "
                        "port is up (`rdma link show`), and on InfiniBand that "
                        "the subnet manager allows the group",
                        g->text, strerror(error < 0 ? -error : error));
    status = vc__group_queues_open(g);
    if (status == VC_OK)
        g->stage = VC__GROUP_IS_IN;
    return status;
}

enum vc_status
vc__group_step(struct vc__group *g, enum rdma_cm_event_type type, int status)
{
    if (type == RDMA_CM_EVENT_ADDR_CHANGE)
        return VC_OK;
    if (type == RDMA_CM_EVENT_DEVICE_REMOVAL)
        return vc__fail(VC_UNAVAILABLE,
                        "%s: the RDMA device was removed before the group was "
                        "joined",
                        g->text);
    return g->stage == VC__GROUP_SEEKS ? group_on_found(g, type, status)
                                       : group_on_answer(g, type, status);
}

enum vc_status
vc__group_late(const struct vc__group *g)
{
    if (g->stage == VC__GROUP_SEEKS)
        return vc__fail(VC_UNAVAILABLE,
                        "%s: no device was found for this group within %u ms: "
                        "see that the route to it (`ip route get`) leads to an "
                        "RDMA device",
                        g->text, g->timeout_ms);
    return vc__fail(VC_UNAVAILABLE,
                    "%s: joining the group was not answered within %u ms: see "
                    "that the port is up (`rdma link show`), and on InfiniBand "
                    "that a subnet manager runs",
                    g->text, g->timeout_ms);
}

/* --- events --------------------------------------------------------------- */

bool
vc__group_event_take(struct vc__group *g, enum rdma_cm_event_type *type,
                     int *status)
{
    struct rdma_cm_event *event;

    if (rdma_get_cm_event(g->channel, &event) != 0)
        return false;
    *type = event->event;
    *status = event->status;
    if (event->event == RDMA_CM_EVENT_MULTICAST_JOIN &&
        g->stage == VC__GROUP_ASKS)
        g->ud = event->param.ud;
    g->ud.private_data = NULL;
    rdma_ack_cm_event(event);
    return true;
}

/* Waits until the channel has an event. False: the time is over, or poll()
 * failed. For group_event_await(). */
static bool
group_channel_await(const struct vc__group *g, uint64_t due)
{
    struct pollfd p = {.fd = g->channel->fd, .events = POLLIN};
    int n;

    do {
        uint64_t now = vc__now();

        n = poll(&p, 1, now >= due ? 0 : (int)((due - now + 999) / 1000));
    } while (n < 0 && errno == EINTR);
    return n > 0;
}

/* Waits for an event and takes it. False if none came in time. For
 * vc__group_await(). */
static bool
group_event_await(struct vc__group *g, uint64_t due,
                  enum rdma_cm_event_type *type, int *status)
{
    while (!vc__group_event_take(g, type, status)) {
        if (errno != EAGAIN || !group_channel_await(g, due))
            return false;
    }
    return true;
}

enum vc_status
vc__group_await(struct vc__group *g)
{
    uint64_t due = vc__after_ms(vc__now(), g->timeout_ms);
    enum vc_status status = VC_OK;

    while (status == VC_OK && g->stage != VC__GROUP_IS_IN) {
        enum rdma_cm_event_type type;
        int error;

        status = group_event_await(g, due, &type, &error)
                     ? vc__group_step(g, type, error)
                     : vc__group_late(g);
    }
    return status;
}

/* --- leaving -------------------------------------------------------------- */

void
vc__group_leave(struct vc__group *g)
{
    /* Fails only when the kernel has left the group by itself, as with a
     * device that was removed. */
    if (g->asked)
        rdma_leave_multicast(g->id, (struct sockaddr *)&g->addr);
    g->asked = false;
    if (g->id != NULL)
        rdma_destroy_id(g->id);
    g->id = NULL;
    if (g->channel != NULL)
        rdma_destroy_event_channel(g->channel);
    g->channel = NULL;
}
