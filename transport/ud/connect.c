/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How rdma_cm brings two ends of datagrams together: the client looks up the
 * server's QP (rdma_connect(3) of RDMA_PS_UDP, a SIDR request), and the server
 * answers. Both say the rest in an introduction before the hello and the
 * accept. Nothing is connected: the kernel gives up each request that it has
 * answered, so the server's id is destroyed at once, and the client asks again
 * by a new id when a request or its answer was lost (the kernel would do so
 * only after 4 s). All of it runs on the holder of the wire's engine. See
 * transport/ud/wire.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "transport/rdma/device_list.h"
#include "transport/rdma/failure.h"
#include "transport/rdma/wire.h"
#include "transport/ud/answers.h"
#include "transport/ud/ask.h"
#include "transport/ud/wire.h"

/* So often a client asks again when it was refused without a reason. */
#define REFUSALS_MOST 5u

/* Statuses of the answer to a lookup: InfiniBand specification, volume 1,
 * 13.6.5 (SIDR_REP). */
#define SIDR_UNSUPPORTED 1
#define SIDR_REJECT      2

bool
vc__ud_random(uint32_t *value)
{
    return getrandom(value, sizeof *value, 0) == (ssize_t)sizeof *value;
}

/* --- failures ------------------------------------------------------------ */

/* Sets the thread's error for a call that failed: `what` could not be done.
 * Returns its status. For the functions of this file. */
static enum vc_status
ud_fail_errno(struct vc__wire *w, const char *what, int err)
{
    struct vc__error error;

    vc__rdma_put_errno(&error, vc__wire_peer(w), what, err);
    return vc__error_raise(&error);
}

/* --- the active side: events --------------------------------------------- */

static void ud_on_event(struct vc__rdma_handler *h,
                        const struct vc__rdma_event *ev);
static void ask_again(struct vc__timer *timer);

/* True if the server's kernel has refused, and not its program: more requests
 * wait for that than the kernel keeps, or it has just ended. Then the client
 * asks again as if the request had been lost; but not for ever, as a program
 * that is not Verbcall may refuse so, too. For ud_refused(). */
static bool
refused_by_kernel(struct vc__ud_wire *u, const struct vc__rdma_event *ev)
{
    const uint8_t *data = ev->data;

    for (size_t i = 0; i < ev->data_len; i++)
        if (data[i] != 0)
            return false;
    return ev->status == SIDR_REJECT && vc__timer_running(&u->again) &&
           u->refusals++ < REFUSALS_MOST;
}

/* The server's host, or its program, has refused. For ud_on_event(). */
static void
ud_refused(struct vc__wire *w, const struct vc__rdma_event *ev)
{
    struct vc__error why;

    if (refused_by_kernel(vc__ud_wire_of(w), ev))
        return;
    if (ev->status == SIDR_UNSUPPORTED)
        vc__rdma_put_rejected(&why, vc__wire_peer(w),
                              VC__REJ_INVALID_SERVICE_ID);
    else
        vc__rdma_put_rejected(&why, vc__wire_peer(w), ev->status);
    w->ops->refused(w, ev->data, ev->data_len, &why, false);
}

/* The peer cannot be reached. For ud_on_event(). */
static void
ud_no_way(struct vc__wire *w, const struct vc__rdma_event *ev)
{
    struct vc__error error;

    vc__rdma_put_no_way(&error, vc__wire_peer(w), ev->type, ev->status);
    w->ops->unreachable(w, &error);
}

/* Sets what the wire knows of its peer from its introduction. (P). For
 * ud_answered() and vc__ud_accept(). */
static void
peer_set(struct vc__ud_wire *u)
{
    uint16_t mtu = u->theirs.mtu < u->port->mtu ? u->theirs.mtu : u->port->mtu;

    u->payload = mtu - VC__DATAGRAM_HEADER;
    u->window = u->theirs.window;
}

/* Learns where the server is. False: out of memory for it. For
 * ud_answered(). */
static bool
server_set(struct vc__ud_wire *u, const struct vc__rdma_event *ev)
{
    bool good;

    vc__lock_take(&u->port->lock);
    u->theirs.qpn = ev->qpn;
    u->qkey = ev->qkey;
    peer_set(u);
    u->heard = vc__now();
    u->ah = vc__ud_ah_get(u->port, &ev->ah);
    good = u->ah != NULL;
    vc__lock_give(&u->port->lock);
    return good;
}

/* The server has accepted. A program that does not know this protocol has no
 * introduction, so the link gets no accept of it. For ud_on_event(). */
static void
ud_answered(struct vc__ud_wire *u, const struct vc__rdma_event *ev)
{
    struct vc__wire *w = &u->wire;
    struct vc__error error;

    if (u->ah != NULL)
        return;
    vc__timer_stop(&w->context->engine->timers, &u->again);
    if (!vc__intro_get(&u->theirs, ev->data, ev->data_len)) {
        w->ops->answered(w, NULL, 0);
        return;
    }
    if (server_set(u, ev)) {
        w->ops->answered(w, ev->data + VC__INTRO, ev->data_len - VC__INTRO);
        return;
    }
    vc__rdma_put_errno(&error, vc__wire_peer(w), "make an address handle",
                       errno);
    w->ops->unreachable(w, &error);
}

/* Asks the server, as often as this is called: sends the hello. 0 or an errno.
 * For vc__ud_hello() and ud_route_known(). */
static int
server_ask(struct vc__ud_wire *u)
{
    struct rdma_conn_param param = {
        .private_data = u->said,
        .private_data_len = (uint8_t)u->said_len,
        .qp_num = u->port->qp->qp_num,
    };
    struct vc__engine *e = u->wire.context->engine;
    int err = vc__rdma_errno(rdma_connect(u->id, &param));
    uint64_t seed = (uint64_t)u->key << 32 | ++u->asks;
    uint32_t ms = vc__ask_wait_ms(u->asks, &seed);

    if (err == 0)
        vc__timer_start(&e->timers, &u->again, vc__after_ms(vc__now(), ms),
                        ask_again);
    return err;
}

/* The route is known: the link sends its hello; or it was sent, and is sent
 * again by this id. For ud_on_event(). */
static void
ud_route_known(struct vc__ud_wire *u)
{
    struct vc__wire *w = &u->wire;
    int err;

    if (u->said_len == 0) {
        w->ops->ready(w);
        return;
    }
    err = server_ask(u);
    if (err == 0)
        return;
    ud_fail_errno(w, "connect", err);
    w->ops->unreachable(w, vc__error_last());
}

/* Begins to resolve the route. For ud_on_event(). */
static void
ud_route_resolve(struct vc__ud_wire *u)
{
    struct vc__error error;
    int err = vc__rdma_errno(rdma_resolve_route(u->id, (int)u->resolve_ms));

    if (err == 0)
        return;
    vc__rdma_put_route(&error, vc__wire_peer(&u->wire), err);
    u->wire.ops->unreachable(&u->wire, &error);
}

/* All events of the client's id. Called by the context (events_ready()). */
static void
ud_on_event(struct vc__rdma_handler *h, const struct vc__rdma_event *ev)
{
    struct vc__ud_wire *u = caa_container_of(h, struct vc__ud_wire, handler);
    struct vc__wire *w = &u->wire;

    switch (ev->type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        ud_route_resolve(u);
        break;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        ud_route_known(u);
        break;
    case RDMA_CM_EVENT_ESTABLISHED:
        ud_answered(u, ev);
        break;
    case RDMA_CM_EVENT_UNREACHABLE:
        /* Above 0 it is the server's answer, below the kernel's timeout. */
        if (ev->status > 0)
            ud_refused(w, ev);
        else
            ud_no_way(w, ev);
        break;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
        ud_no_way(w, ev);
        break;
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        w->ops->removed(w, "the RDMA device was removed");
        break;
    default:
        break; /* they are counted; see transport/rdma/wire_connect.c */
    }
}

/* --- the active side: asking --------------------------------------------- */

/* Makes an id, and begins to resolve the address. 0 or an errno. For
 * vc__ud_dial() and ask_again(). */
static int
id_make(struct vc__ud_wire *u)
{
    struct vc__wire *w = &u->wire;
    struct sockaddr *source = (struct sockaddr *)&w->source;
    uint8_t tos = w->opts.tos;
    int err =
        vc__rdma_errno(rdma_create_id(vc__rdma_context_of(w->context)->channel,
                                      &u->id, &u->handler, RDMA_PS_UDP));

    if (err != 0)
        return err;
    u->owned = true;
    if (tos != 0)
        err = vc__rdma_errno(rdma_set_option(
            u->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof tos));
    if (err != 0)
        return err;
    return vc__rdma_errno(
        rdma_resolve_addr(u->id, source->sa_family == AF_UNSPEC ? NULL : source,
                          (struct sockaddr *)&w->peer, (int)u->resolve_ms));
}

/* The answer has not come: asks again by a new id, as the kernel would wait for
 * seconds. A late answer to the old id is lost with it; the server gives the
 * same one again (transport/ud/answers.h). */
static void
ask_again(struct vc__timer *timer)
{
    struct vc__ud_wire *u = caa_container_of(timer, struct vc__ud_wire, again);
    struct vc__wire *w = &u->wire;
    int err;

    if (u->ah != NULL)
        return;
    rdma_destroy_id(u->id);
    u->owned = false;
    err = id_make(u);
    if (err == 0)
        return;
    ud_fail_errno(w, "resolve its address", err);
    w->ops->unreachable(w, vc__error_last());
}

enum vc_status
vc__ud_dial(struct vc__wire *w, uint32_t timeout_ms)
{
    struct vc__ud_wire *u = vc__ud_wire_of(w);
    int err;

    vc__device_list_expect();
    u->active = true;
    u->handler.event = ud_on_event;
    u->resolve_ms = timeout_ms - timeout_ms / 4;
    err = id_make(u);
    return err == 0 ? VC_OK : vc__rdma_fail_resolve(w, err);
}

/* What goes before our hello or accept. For vc__ud_hello() and
 * vc__ud_accept(). */
static struct vc__intro
intro_of(const struct vc__ud_wire *u)
{
    return (struct vc__intro){.key = u->key,
                              .qpn = u->port->qp->qp_num,
                              .mtu = u->port->mtu,
                              .window = u->port->window};
}

enum vc_status
vc__ud_hello(struct vc__wire *w, const void *data, size_t len)
{
    struct vc__ud_wire *u = vc__ud_wire_of(w);
    struct vc__intro ours = intro_of(u);
    int err;

    vc__intro_put(u->said, &ours);
    memcpy(u->said + VC__INTRO, data, len);
    u->said_len = (uint16_t)(VC__INTRO + len);
    err = server_ask(u);
    return err == 0 ? VC_OK : ud_fail_errno(w, "connect", err);
}

enum vc_status
vc__ud_confirm(struct vc__wire *w)
{
    (void)w; /* the client's first datagram shows that it has the accept */
    return VC_OK;
}

/* --- the passive side ---------------------------------------------------- */

/* Called by the listener (transport/rdma/listen.c) for a request. Without
 * memory for it the client asks again. A client that does not know this
 * protocol has no hello, and is rejected for that. */
static void
ud_on_request(struct vc__ear *ear, const struct vc__rdma_event *ev)
{
    struct vc__incoming in = {.context = ear->context};
    struct vc__intro theirs;
    bool good = vc__intro_get(&theirs, ev->data, ev->data_len);
    struct vc__ud_request *r;

    if (good && vc__ud_answer_again(ev->id, &theirs))
        return;
    r = calloc(1, sizeof *r);
    if (r == NULL) {
        rdma_destroy_id(ev->id);
        return;
    }
    in.handle = r;
    r->id = ev->id;
    if (good)
        r->theirs = theirs;
    vc__addr_copy(&in.peer, rdma_get_peer_addr(ev->id));
    ear->ops->request(ear, &in, good ? ev->data + VC__INTRO : NULL,
                      good ? ev->data_len - VC__INTRO : 0);
}

enum vc_status
vc__ud_listen(struct vc__ear *ear, const struct sockaddr *addr)
{
    caa_container_of(ear, struct vc__rdma_ear, ear)->request = ud_on_request;
    return vc__rdma_listen(ear, addr);
}

void
vc__ud_reject(const struct vc__incoming *in, const void *data, size_t len)
{
    struct vc__ud_request *r = in->handle;

    rdma_reject(r->id, data, (uint8_t)len);
    rdma_destroy_id(r->id);
    free(r);
}

void
vc__ud_take_request(struct vc__wire *w, const struct vc__incoming *in)
{
    struct vc__ud_wire *u = vc__ud_wire_of(w);
    const struct vc__ud_request *r = in->handle;

    u->request = in->handle;
    u->id = r->id;
    u->theirs = r->theirs;
}

/* Answers the lookup with the port's QP. The peer's datagrams say where it is.
 * On failure the request stays the caller's, to be rejected. */
enum vc_status
vc__ud_accept(struct vc__wire *w, const void *data, size_t len)
{
    struct vc__ud_wire *u = vc__ud_wire_of(w);
    struct vc__intro ours = intro_of(u);
    struct rdma_conn_param param = {
        .private_data = u->said,
        .private_data_len = (uint8_t)(VC__INTRO + len),
        .qp_num = u->port->qp->qp_num,
    };
    int err;

    vc__lock_take(&u->port->lock);
    u->qkey = RDMA_UDP_QKEY;
    peer_set(u);
    vc__lock_give(&u->port->lock);
    vc__intro_put(u->said, &ours);
    memcpy(u->said + VC__INTRO, data, len);
    u->said_len = (uint16_t)(VC__INTRO + len);
    err = vc__rdma_errno(rdma_accept(u->id, &param));
    if (err == EINVAL)
        return vc__fail(VC_UNAVAILABLE, "cannot accept %s: it has given up",
                        vc__wire_peer(w));
    if (err != 0)
        return vc__fail_errno(err, "cannot accept %s", vc__wire_peer(w));
    rdma_destroy_id(u->id);
    free(u->request);
    u->request = NULL;
    u->id = NULL;
    vc__ud_answer_keep(u);
    return VC_OK;
}

/* --- the end ------------------------------------------------------------- */

void
vc__ud_disconnect(struct vc__ud_wire *u)
{
    vc__timer_stop(&u->wire.context->engine->timers, &u->again);
    if (u->owned)
        rdma_destroy_id(u->id);
    u->owned = false;
    u->id = NULL;
}
