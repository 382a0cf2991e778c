/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Joins a multicast group and leaves it: the id of RDMA_PS_UDP and its event
 * channel. See transport/rdma/group.h. Static functions run within
 * vc__group_find() and vc__group_join(), on their thread. Each wait ends after
 * the time that is left of the timeout, whatever the subnet manager does. */
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

/* Waits until the channel has an event. False: the time is over, or poll()
 * failed. Called by group_event_take(). */
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

/* Waits for an event and copies what is needed of it. False if none came in
 * time. Called for each step of joining. */
static bool
group_event_take(struct vc__group *g, uint64_t due,
                 enum rdma_cm_event_type *type, int *status)
{
    struct rdma_cm_event *event;

    while (rdma_get_cm_event(g->channel, &event) != 0) {
        if (errno != EAGAIN || !group_channel_await(g, due))
            return false;
    }
    *type = event->event;
    *status = event->status;
    if (event->event == RDMA_CM_EVENT_MULTICAST_JOIN)
        g->ud = event->param.ud;
    g->ud.private_data = NULL;
    rdma_ack_cm_event(event);
    return true;
}

/* Makes the event channel and the id. Errors as vc__group_find(). */
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

/* Finds the device that leads to the group, from ear.opts.source if that is
 * set. Errors as vc__group_find(). */
static enum vc_status
group_resolve(struct vc__group *g, uint64_t due, uint32_t timeout_ms)
{
    struct sockaddr_storage *source = &g->ear.opts.source;
    enum rdma_cm_event_type type;
    struct vc__error error;
    int status, err;

    err = vc__rdma_errno(rdma_resolve_addr(
        g->id,
        source->ss_family == AF_UNSPEC ? NULL : (struct sockaddr *)source,
        (struct sockaddr *)&g->addr, (int)timeout_ms));
    if (err == ENETUNREACH || err == ENODEV || err == EADDRNOTAVAIL)
        return vc__fail(VC_UNAVAILABLE,
                        "%s: no RDMA device of this machine leads to this "
                        "group (%s): add a route to it (`ip route add GROUP "
                        "dev INTERFACE`), or give the device's address "
                        "(vc_channel_opts.bind_address, "
                        "vc_server_opts.multicast_address)",
                        g->text, strerror(err));
    if (err != 0)
        return vc__group_fail(g, "resolve its address", err);
    if (!group_event_take(g, due, &type, &status))
        return vc__fail(VC_UNAVAILABLE,
                        "%s: no device was found for this group within %u ms: "
                        "see that the route to it (`ip route get`) leads to an "
                        "RDMA device",
                        g->text, timeout_ms);
    if (type == RDMA_CM_EVENT_ADDR_RESOLVED)
        return VC_OK;
    vc__rdma_put_no_way(&error, g->text, type, status);
    return vc__error_raise(&error);
}

/* Checks what the device can do, and takes the MTU of its port. Errors as
 * vc__group_join(). */
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

enum vc_status
vc__group_join(struct vc__group *g, uint64_t due, uint32_t timeout_ms)
{
    enum rdma_cm_event_type type;
    int status, err;

    err = vc__rdma_errno(
        rdma_join_multicast(g->id, (struct sockaddr *)&g->addr, NULL));
    if (err == NOT_SUPPORTED)
        return vc__fail(VC_UNAVAILABLE,
                        "%s: Linux joins no IPv6 group over RoCE v2: use an "
                        "IPv4 group, as 239.1.2.3",
                        g->text);
    if (err != 0)
        return vc__group_fail(g, "join the group", err);
    g->joined = true;
    if (!group_event_take(g, due, &type, &status))
        return vc__fail(VC_UNAVAILABLE,
                        "%s: joining the group was not answered within %u ms: "
                        "see that the port is up (`rdma link show`), and on "
                        "InfiniBand that a subnet manager runs",
                        g->text, timeout_ms);
    if (type == RDMA_CM_EVENT_MULTICAST_JOIN && status == 0)
        return VC_OK;
    return vc__fail(VC_UNAVAILABLE,
                    "%s: joining the group was refused (%s): see that the port "
                    "is up (`rdma link show`), and on InfiniBand that the "
                    "subnet manager allows the group",
                    g->text, strerror(status < 0 ? -status : status));
}

enum vc_status
vc__group_find(struct vc__group *g, uint64_t due, uint32_t timeout_ms)
{
    enum vc_status status = group_id_make(g);

    if (status == VC_OK)
        status = group_resolve(g, due, timeout_ms);
    return status == VC_OK ? group_device_check(g) : status;
}

void
vc__group_leave(struct vc__group *g)
{
    /* Fails only when the kernel has left the group by itself, as with a
     * device that was removed. */
    if (g->joined)
        rdma_leave_multicast(g->id, (struct sockaddr *)&g->addr);
    g->joined = false;
    if (g->id != NULL)
        rdma_destroy_id(g->id);
    g->id = NULL;
    if (g->channel != NULL)
        rdma_destroy_event_channel(g->channel);
    g->channel = NULL;
}
