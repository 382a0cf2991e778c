/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How rdma_cm connects a wire, from either side, and how its events are
 * reported. Each error text has the cause and the remedy. All of it runs on the
 * holder of the wire's engine. See transport/rdma/wire.h. */
#include <errno.h>
#include <string.h>

#include "transport/core/log.h"
#include "transport/core/path_memory.h"
#include "transport/rdma/device.h"
#include "transport/rdma/device_list.h"
#include "transport/rdma/failure.h"
#include "transport/rdma/wire.h"

/* --- failures ------------------------------------------------------------ */

/* Sets the thread's error for a call that failed: `what` could not be done.
 * Returns its status. Called by dial(), hello() and confirm(). */
static enum vc_status
wire_connect_fail_errno(struct vc__wire *w, const char *what, int err)
{
    struct vc__error error;

    vc__rdma_put_errno(&error, vc__wire_peer(w), what, err);
    return vc__error_raise(&error);
}

enum vc_status
vc__rdma_fail_resolve(struct vc__wire *w, int err)
{
    char source[VC__ADDR_TEXT];

    if (w->source.ss_family == AF_UNSPEC ||
        (err != EADDRNOTAVAIL && err != ENODEV && err != EINVAL))
        return wire_connect_fail_errno(w, "resolve its address", err);
    vc__addr_text((struct sockaddr *)&w->source, source);
    return vc__fail(VC_UNAVAILABLE,
                    "cannot connect to %s from %s: bind_address must be an "
                    "address of an RDMA device of this machine, with its "
                    "interface if it is link-local (%s); see `rdma link show`",
                    vc__wire_peer(w), source, strerror(err));
}

/* --- events -------------------------------------------------------------- */

/* An event reports that the peer cannot be reached: tells the link. Called by
 * wire_connect_on_event(). */
static void
no_way(struct vc__wire *w, const struct vc__rdma_event *ev)
{
    struct vc__error error;

    vc__rdma_put_no_way(&error, vc__wire_peer(w), ev->type, ev->status);
    w->ops->unreachable(w, &error);
}

/* The peer's program, or its CM, has rejected: tells the link. Called by
 * wire_connect_on_event(). */
static void
rdma_rejected(struct vc__wire *w, const struct vc__rdma_event *ev)
{
    struct vc__error why;

    vc__rdma_put_rejected(&why, vc__wire_peer(w), ev->status);
    w->ops->refused(w, ev->data, ev->data_len, &why,
                    ev->status == VC__REJ_STALE_CONN);
}

/* Called by wire_connect_on_event() after ADDR_RESOLVED: begins to resolve the
 * route. Reports unreachable() on failure. */
static void
wire_connect_route_resolve(struct vc__rdma_wire *r)
{
    struct vc__error error;
    int err = vc__rdma_errno(rdma_resolve_route(r->id, (int)r->resolve_ms));

    if (err == 0)
        return;
    vc__rdma_put_route(&error, vc__wire_peer(&r->wire), err);
    r->wire.ops->unreachable(&r->wire, &error);
}

/* Sets the number of concurrent RDMA READs: the least of our wish, the limit of
 * our device, and the peer's offer. Called by hello() and accept(), and when
 * the peer has accepted. */
static void
reads_agree(struct vc__rdma_wire *r, unsigned in, unsigned out)
{
    const struct ibv_device_attr *attr = &r->device->attr;
    struct vc__wire_opts *opts = &r->wire.opts;

    opts->reads_in = vc__rdma_reads(opts->reads_in, in, attr->max_qp_rd_atom);
    opts->reads_out =
        vc__rdma_reads(opts->reads_out, out, attr->max_qp_init_rd_atom);
}

/* The peer has accepted: tells the link. Called by wire_connect_on_event(). */
static void
rdma_responded(struct vc__rdma_wire *r, const struct vc__rdma_event *ev)
{
    reads_agree(r, ev->reads_in, ev->reads_out);
    r->wire.ops->answered(&r->wire, ev->data, ev->data_len);
}

/* All events of the wire's id. Called by the context (events_ready()) on the
 * holder of the engine. */
static void
wire_connect_on_event(struct vc__rdma_handler *h,
                      const struct vc__rdma_event *ev)
{
    struct vc__rdma_wire *r =
        caa_container_of(h, struct vc__rdma_wire, handler);
    struct vc__wire *w = &r->wire;

    switch (ev->type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        wire_connect_route_resolve(r);
        break;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        w->ops->ready(w);
        break;
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
        rdma_responded(r, ev);
        break;
    case RDMA_CM_EVENT_ESTABLISHED:
        /* The first packet may have shown this before the CM knew. Until now
         * the CM took our rdma_disconnect() for complete and sent no DREQ. */
        if (r->leaving)
            rdma_disconnect(r->id);
        else
            w->ops->established(w);
        break;
    case RDMA_CM_EVENT_REJECTED:
        rdma_rejected(w, ev);
        break;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
        no_way(w, ev);
        break;
    case RDMA_CM_EVENT_DISCONNECTED:
        /* With a status, the kernel has timed out waiting for the peer's
         * answer. */
        r->left_cleanly = ev->status == 0;
        w->ops->left(w);
        break;
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        w->ops->removed(w, "the RDMA device was removed");
        break;
    default:
        /* ADDR_CHANGE: if the peer becomes unreachable, keepalive detects it.
         * TIMEWAIT_EXIT: a QP number may be reused; we wait for the disconnect
         * handshake only. We join no multicast group. These events are
         * counted. */
        break;
    }
}

/* --- the active side ----------------------------------------------------- */

/* Sets the type of service (TOS), if the options have one, before the route is
 * resolved, which puts the TOS into the path and the request. 0, or an errno.
 * Called by dial(). */
static int
tos_set(const struct vc__rdma_wire *r)
{
    uint8_t tos = r->wire.opts.tos;

    return tos == 0 ? 0
                    : vc__rdma_errno(rdma_set_option(r->id, RDMA_OPTION_ID,
                                                     RDMA_OPTION_ID_TOS, &tos,
                                                     sizeof tos));
}

/* Makes the id, and begins to resolve the address; wire_connect_on_event() gets
 * the result. */
enum vc_status
vc__rdma_dial(struct vc__wire *w, uint32_t timeout_ms)
{
    struct vc__rdma_wire *r = vc__rdma_wire_of(w);
    struct sockaddr *source = (struct sockaddr *)&w->source;
    int err;

    vc__device_list_expect();
    r->active = true;
    r->handler.event = wire_connect_on_event;
    /* rdma_cm times out a little before the link's timer, as its error has the
     * cause. */
    r->resolve_ms = timeout_ms - timeout_ms / 4;
    err = vc__rdma_errno(rdma_create_id(
        vc__rdma_context_of(w->context)->channel, &r->id, &r->handler,
        (enum rdma_port_space)w->context->transport->port_space));
    if (err != 0)
        return wire_connect_fail_errno(w, "make a connection id", err);
    r->owned = true;
    err = tos_set(r);
    if (err != 0)
        return wire_connect_fail_errno(w, "set the type of service", err);
    if (source->sa_family == AF_UNSPEC)
        source = NULL;
    err = vc__rdma_errno(rdma_resolve_addr(
        r->id, source, (struct sockaddr *)&w->peer, (int)r->resolve_ms));
    return err == 0 ? VC_OK : vc__rdma_fail_resolve(w, err);
}

/* For vc__rdma_hello() and rdma_accept_send(): the parameters of a request and
 * of an accept, which ignores retry_count. */
static struct rdma_conn_param
param_make(const struct vc__rdma_wire *r, const void *data, size_t len)
{
    const struct vc__wire_opts *opts = &r->wire.opts;

    return (struct rdma_conn_param){
        .private_data = data,
        .private_data_len = (uint8_t)len,
        .responder_resources = opts->reads_in,
        .initiator_depth = opts->reads_out,
        .flow_control = opts->flow_control,
        .retry_count = opts->retries,
        .rnr_retry_count = opts->rnr_retries,
        .srq = 1,
        .qp_num = r->qp.qp->qp_num,
    };
}

/* Sends the connect request with the hello. The QP is not the id's, so the
 * answer comes as CONNECT_RESPONSE (rdma_establish(3)). */
enum vc_status
vc__rdma_hello(struct vc__wire *w, const void *data, size_t len)
{
    struct vc__rdma_wire *r = vc__rdma_wire_of(w);
    struct rdma_conn_param param;
    int err = vc__qp_to_init(&r->qp, r->id);

    if (err != 0)
        return wire_connect_fail_errno(w, "prepare a QP", err);
    reads_agree(r, UINT8_MAX, UINT8_MAX);
    param = param_make(r, data, len);
    r->asked = true;
    err = vc__rdma_errno(rdma_connect(r->id, &param));
    return err == 0 ? VC_OK : wire_connect_fail_errno(w, "connect", err);
}

/* After the peer has accepted. VC_UNAVAILABLE: it has disconnected since.
 * Called by vc__rdma_confirm(). */
static enum vc_status
confirm_active(struct vc__rdma_wire *r)
{
    int err = vc__qp_to_rtr(&r->qp, r->id, &r->wire.opts);

    if (err == 0)
        err = vc__qp_to_rts(&r->qp, r->id, &r->wire.opts);
    if (err == 0)
        err = vc__rdma_errno(rdma_establish(r->id));
    if (err == EINVAL) /* the CM: not connected any more */
        return vc__fail(
            VC_UNAVAILABLE,
            "%s accepted and disconnected at once: see that its process runs",
            vc__wire_peer(&r->wire));
    return err == 0 ? VC_OK
                    : wire_connect_fail_errno(&r->wire,
                                              "establish the connection", err);
}

/* --- the passive side ---------------------------------------------------- */

/* Gives the wire its request. The handle of a request is its id, which is the
 * wire's only when accept() has succeeded. */
void
vc__rdma_take(struct vc__wire *w, const struct vc__incoming *in)
{
    struct vc__rdma_wire *r = vc__rdma_wire_of(w);

    r->handler.event = wire_connect_on_event;
    r->id = in->handle;
    r->reads_in = (uint8_t)in->detail;
    r->reads_out = (uint8_t)(in->detail >> 8);
}

/* Moves the id from the listener's event channel to this engine's. 0, or an
 * errno. Called by accept(). */
static int
id_adopt(struct vc__rdma_wire *r)
{
    struct rdma_event_channel *channel =
        vc__rdma_context_of(r->wire.context)->channel;

    return r->id->channel == channel
               ? 0
               : vc__rdma_errno(rdma_migrate_id(r->id, channel));
}

/* Sends the accept: 0, or an errno; EINVAL: the client has disconnected. Called
 * by accept(). */
static int
rdma_accept_send(struct vc__rdma_wire *r, const void *data, size_t len)
{
    struct rdma_conn_param param = param_make(r, data, len);

    r->asked = true;
    return vc__rdma_errno(rdma_accept(r->id, &param));
}

/* Accepts the request, with this data. The QP is ready to receive before the
 * peer gets the accept. On failure the id stays the caller's, to be
 * rejected. */
enum vc_status
vc__rdma_accept(struct vc__wire *w, const void *data, size_t len)
{
    struct vc__rdma_wire *r = vc__rdma_wire_of(w);
    int err = id_adopt(r);

    reads_agree(r, r->reads_in, r->reads_out);
    if (err == 0)
        err = vc__qp_to_init(&r->qp, r->id);
    if (err == 0)
        err = vc__qp_to_rtr(&r->qp, r->id, &r->wire.opts);
    if (err == 0)
        err = rdma_accept_send(r, data, len);
    if (err == EINVAL) /* the id has no request any more */
        return vc__fail(VC_UNAVAILABLE, "cannot accept %s: it has disconnected",
                        vc__wire_peer(w));
    if (err != 0)
        return vc__fail_errno(err, "cannot accept %s", vc__wire_peer(w));
    r->id->context = &r->handler;
    r->owned = true;
    return VC_OK;
}

/* Moves the QP to RTS while the peer's confirmation is under way; packets are
 * handled after that. VC_UNAVAILABLE: the peer has disconnected meanwhile.
 * Called by vc__rdma_confirm(). */
static enum vc_status
confirm_passive(struct vc__rdma_wire *r)
{
    int err = vc__qp_to_rts(&r->qp, r->id, &r->wire.opts);

    return err == 0 ? VC_OK
                    : vc__fail(VC_UNAVAILABLE,
                               "%s disconnected while it was accepted: %s",
                               vc__wire_peer(&r->wire), strerror(err));
}

/* The connection is up: if an empty packet was lost on this path not long
 * before, reports that, once. Called by vc__rdma_confirm(). */
static void
path_judge(struct vc__wire *w)
{
    struct vc__engine *engine = w->context->engine;
    uint64_t ago;

    if (!vc__path_met(vc__rdma_paths(w), vc__rdma_device_name(w),
                      (const struct sockaddr *)&w->peer, vc__now(), &ago))
        return;
    vc__count(&engine->ledger, VC__COUNT_keepalive_empties_lost, 1);
    vc__log(engine->log, VC__LOG_EMPTIES,
            "path to %s by %s: connected %u ms after a connection broke whose "
            "keepalive got no answer to an RDMA WRITE of no bytes: if the "
            "peer was not down meanwhile, the path drops packets without "
            "bytes: let it pass them. Keepalive sends others there for now",
            vc__wire_peer(w), vc__rdma_device_name(w), (unsigned)(ago / 1000));
}

/* Moves the QP to RTS. The active side moves it to RTR before, and confirms the
 * connection to the peer's CM after that. */
enum vc_status
vc__rdma_confirm(struct vc__wire *w)
{
    struct vc__rdma_wire *r = vc__rdma_wire_of(w);
    enum vc_status status = r->active ? confirm_active(r) : confirm_passive(r);

    if (status == VC_OK)
        path_judge(w);
    return status;
}
