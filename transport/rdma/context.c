/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads the event channel; finds devices by their struct ibv_device. Static
 * functions run on the holder of the engine, but channel_make() and
 * errno_of_channel() on any thread, and watch_end() also within
 * vc__rdma_close(). See transport/rdma/context.h. */
#include "transport/rdma/context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "transport/core/error.h"
#include "transport/rdma/device.h"
#include "transport/rdma/device_list.h"

/* Events that are handled each time the channel is readable, at most. */
#define EVENT_BATCH 8
/* Descriptors that rdma-core has open at a time, at most, while it searches for
 * devices. */
#define FEW 8
/* Device nodes to search: the kernel's former IB_UVERBS_MAX_DEVICES; no machine
 * has more. */
#define NODES 32

/* --- removals ---------------------------------------------------------- */

/* An id bound to a device, only to receive its DEVICE_REMOVAL. */
struct watch {
    struct vc__rdma_handler handler;
    struct cds_list_head node;
    struct rdma_cm_id *id;
};

/* Ends the watch and frees it, with its id. Called when the device was removed
 * (watch_on_cm()), and by vc__rdma_close(). */
static void
watch_end(struct watch *w)
{
    cds_list_del(&w->node);
    rdma_destroy_id(w->id);
    free(w);
}

/* Called by events_ready() for events of the watch's id. Ends the watch on
 * removal: while the id exists, librdmacm keeps a PD of the
 * device. */
static void
watch_on_cm(struct vc__rdma_handler *h, const struct vc__rdma_event *ev)
{
    if (ev->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
        watch_end(caa_container_of(h, struct watch, handler));
}

/* True if the device has a watch already. Called by watch_begin(). */
static bool
is_watched(const struct vc__rdma_context *c, const struct ibv_device *device)
{
    const struct watch *w;

    cds_list_for_each_entry (w, &c->watches, node) {
        if (w->id->verbs != NULL && w->id->verbs->device == device)
            return true;
    }
    return false;
}

/* Makes the watch's id, bound to the device of the other id. False: librdmacm
 * refuses. Called by watch_begin(). */
static bool
watch_bind(struct vc__rdma_context *c, struct watch *w, struct rdma_cm_id *of)
{
    struct sockaddr_storage addr = of->route.addr.src_storage;

    ((struct sockaddr_in *)&addr)->sin_port = 0; /* and sin6_port */
    if (rdma_create_id(c->channel, &w->id, &w->handler, RDMA_PS_TCP) != 0)
        return false;
    if (rdma_bind_addr(w->id, (struct sockaddr *)&addr) == 0)
        return true;
    rdma_destroy_id(w->id);
    return false;
}

/* Watches the device of this id, unless it is watched. If this fails, the ids
 * of links receive the removal while there are any. Called by vc__rdma_device()
 * for a new device. */
static void
watch_begin(struct vc__rdma_context *c, struct rdma_cm_id *of)
{
    struct watch *w;

    if (is_watched(c, of->verbs->device))
        return;
    w = calloc(1, sizeof *w);
    if (w == NULL)
        return;
    w->handler.event = watch_on_cm;
    if (watch_bind(c, w, of))
        cds_list_add(&w->node, &c->watches);
    else
        free(w);
}

/* Called by events_ready() for each DEVICE_REMOVAL, before the handler of its
 * id. Dooms the engine's devices of these verbs. */
static void
device_removed(struct vc__rdma_context *c, const struct ibv_context *verbs)
{
    struct vc__device *d;

    cds_list_for_each_entry (d, &c->devices, node) {
        if (verbs != NULL && d->verbs->device == verbs->device)
            vc__device_doom(d, "the device was removed");
    }
}

/* --- events ------------------------------------------------------------ */

/* Copies an event to *out. Called by events_ready(), before the event is
 * acknowledged. */
static void
rdma_event_copy(struct vc__rdma_event *out, const struct rdma_cm_event *in)
{
    const struct rdma_conn_param *conn = &in->param.conn;
    const struct rdma_ud_param *ud = &in->param.ud;
    bool is_ud = in->id->ps == RDMA_PS_UDP;
    const void *data = is_ud ? ud->private_data : conn->private_data;

    memset(out, 0, offsetof(struct vc__rdma_event, data));
    out->type = in->event;
    out->status = in->status;
    out->id = in->id;
    if (is_ud) {
        out->ah = ud->ah_attr;
        out->qpn = ud->qp_num;
        out->qkey = ud->qkey;
    } else {
        out->reads_in = conn->responder_resources;
        out->reads_out = conn->initiator_depth;
    }
    if (data != NULL) {
        out->data_len = is_ud ? ud->private_data_len : conn->private_data_len;
        memcpy(out->data, data, out->data_len);
    }
}

/* Called by events_ready(): counts each event, by its type. */
static void
event_count(struct vc__ledger *l, enum rdma_cm_event_type type)
{
    vc__count(l, VC__COUNT_cm_events, 1);
    switch (type) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
        vc__count(l, VC__COUNT_cm_requests, 1);
        break;
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
    case RDMA_CM_EVENT_ESTABLISHED:
        vc__count(l, VC__COUNT_cm_established, 1);
        break;
    case RDMA_CM_EVENT_REJECTED:
        vc__count(l, VC__COUNT_cm_rejected, 1);
        break;
    case RDMA_CM_EVENT_DISCONNECTED:
        vc__count(l, VC__COUNT_cm_disconnected, 1);
        break;
    case RDMA_CM_EVENT_UNREACHABLE:
        vc__count(l, VC__COUNT_cm_unreachable, 1);
        break;
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        vc__count(l, VC__COUNT_cm_removals, 1);
        break;
    case RDMA_CM_EVENT_ADDR_CHANGE:
        vc__count(l, VC__COUNT_cm_address_changes, 1);
        break;
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
        vc__count(l, VC__COUNT_cm_timewaits, 1);
        break;
    case RDMA_CM_EVENT_MULTICAST_ERROR:
        vc__count(l, VC__COUNT_cm_multicast_errors, 1);
        break;
    default:
        break;
    }
}

/* Called by the holder of the engine when the event channel is readable
 * (source.ready): reads its events, and passes each to the handler of its
 * id. */
static void
events_ready(struct vc__source *s)
{
    struct vc__rdma_context *c =
        caa_container_of(s, struct vc__rdma_context, source);

    for (int i = 0; i < EVENT_BATCH; i++) {
        struct rdma_cm_event *event;
        struct vc__rdma_event copy;
        struct vc__rdma_handler *handler;

        if (rdma_get_cm_event(c->channel, &event) != 0)
            return;
        rdma_event_copy(&copy, event);
        handler = copy.id->context;
        rdma_ack_cm_event(event);
        event_count(&c->context.engine->ledger, copy.type);
        if (copy.type == RDMA_CM_EVENT_DEVICE_REMOVAL)
            device_removed(c, copy.id->verbs);
        handler->event(handler, &copy);
    }
}

/* --- opening and closing ----------------------------------------------- */

#define CM_DEVICE "/dev/infiniband/rdma_cm"

/* librdmacm reports ENOENT also for a device that exists but may not be opened:
 * returns EACCES then, else err. Called by vc__rdma_fail_channel(). */
static int
errno_of_channel(int err)
{
    return access(CM_DEVICE, F_OK) == 0 && access(CM_DEVICE, R_OK | W_OK) != 0
               ? EACCES
               : err;
}

bool
vc__rdma_lacks_descriptors(struct vc__error *error)
{
    struct rlimit limit = {0};
    int fd[FEW], n = 0;

    while (n < FEW && (fd[n] = eventfd(0, EFD_CLOEXEC)) >= 0)
        n++;
    for (int i = 0; i < n; i++)
        close(fd[i]);
    if (n == FEW)
        return false;
    getrlimit(RLIMIT_NOFILE, &limit);
    vc__error_put(
        error, VC_RESOURCE_EXHAUSTED,
        "cannot look for RDMA devices: fewer than %d descriptors are "
        "left of the %llu that this process may have; raise the limit "
        "(ulimit -n, LimitNOFILE= of systemd)",
        FEW, (unsigned long long)limit.rlim_cur);
    error->lack = VC__LACK_DESCRIPTORS;
    return true;
}

enum vc_status
vc__rdma_fail_channel(int err)
{
    struct vc__error lacks;

    if (vc__rdma_lacks_descriptors(&lacks))
        return vc__error_raise(&lacks);
    switch (errno_of_channel(err)) {
    case ENODEV:
        if (access(CM_DEVICE, F_OK) == 0)
            return vc__fail(VC_UNAVAILABLE,
                            "this machine has no RDMA device: see that `rdma "
                            "link show` lists one (Soft-RoCE is added by `rdma "
                            "link add rxe0 type rxe netdev INTERFACE`)");
        /* fall through */
    case ENOENT:
    case ENOSYS:
        return vc__fail(VC_UNAVAILABLE,
                        "this machine has no RDMA connection manager (%s): "
                        "load its modules (modprobe rdma_ucm) and see that "
                        "`rdma link show` lists a device",
                        strerror(err));
    case EACCES:
    case EPERM:
        return vc__fail(VC_PERMISSION_DENIED,
                        CM_DEVICE " may not be opened: give this user read and "
                                  "write access to it");
    default:
        return vc__fail_errno(err, "cannot open an RDMA event channel");
    }
}

bool
vc__rdma_forbidden(char path[VC__NODE_TEXT], bool all)
{
    bool refused = false;

    for (unsigned i = 0; i < NODES; i++) {
        char node[VC__NODE_TEXT];

        snprintf(node, sizeof node, "/dev/infiniband/uverbs%u", i);
        if (access(node, R_OK | W_OK) == 0) {
            if (all)
                return false;
        } else if (errno == EACCES && !refused) {
            refused = true;
            memcpy(path, node, sizeof node);
        }
    }
    return refused;
}

/* Makes the event channel and adds it to the engine's epoll. Returns the result
 * of vc__rdma_open(), which calls it. */
static enum vc_status
channel_make(struct vc__rdma_context *c)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    int err;

    if (channel == NULL)
        return vc__rdma_fail_channel(errno);
    /* Set before its events can arrive. */
    c->channel = channel;
    c->source.fd = channel->fd;
    c->source.ready = events_ready;
    if (fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK) !=
        0)
        err = errno;
    else
        err = vc__engine_add(c->context.engine, &c->source);
    if (err == 0)
        return VC_OK;
    rdma_destroy_event_channel(channel);
    return vc__rdma_fail_channel(err);
}

/* The engine begins to use RDMA: reads the list of devices, and makes the event
 * channel. */
enum vc_status
vc__rdma_open(struct vc__context *context, const struct vc__context_opts *opts)
{
    struct vc__rdma_context *c = vc__rdma_context_of(context);

    c->opts = *opts;
    CDS_INIT_LIST_HEAD(&c->devices);
    CDS_INIT_LIST_HEAD(&c->watches);
    vc__device_list_read();
    return channel_make(c);
}

/* Closes the devices that the engine has used, and the event channel; there are
 * no more wires and ears. */
void
vc__rdma_close(struct vc__context *context)
{
    struct vc__rdma_context *c = vc__rdma_context_of(context);
    struct vc__device *d, *next;
    struct watch *w, *after;

    cds_list_for_each_entry_safe (d, next, &c->devices, node)
        vc__device_free(d);
    cds_list_for_each_entry_safe (w, after, &c->watches, node)
        watch_end(w);
    vc__engine_remove(c->context.engine, &c->source);
    rdma_destroy_event_channel(c->channel);
}

bool
vc__rdma_has_met(const struct vc__rdma_context *c,
                 const struct ibv_device *device)
{
    const struct vc__device *d;

    cds_list_for_each_entry (d, &c->devices, node) {
        if (d->verbs->device == device)
            return true;
    }
    return false;
}

enum vc_status
vc__rdma_device(struct vc__rdma_context *c, struct rdma_cm_id *id,
                struct vc__device **device)
{
    struct vc__device *d;
    enum vc_status status;

    cds_list_for_each_entry (d, &c->devices, node) {
        if (d->verbs->device == id->verbs->device && !d->doomed) {
            vc__device_get(d);
            *device = d;
            return VC_OK;
        }
    }
    status = vc__device_new(c->context.engine, id->verbs, c->opts.memory,
                            c->opts.warm, &d);
    if (status != VC_OK)
        return status;
    cds_list_add(&d->node, &c->devices);
    watch_begin(c, id);
    *device = d;
    return VC_OK;
}

uint8_t
vc__rdma_reads(unsigned wish, unsigned peer, int device)
{
    unsigned n = wish < peer ? wish : peer;

    if (device < 0)
        device = 0;
    if ((unsigned)device < n)
        n = (unsigned)device;
    return n > UINT8_MAX ? UINT8_MAX : (uint8_t)n;
}
