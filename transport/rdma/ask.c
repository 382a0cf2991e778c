/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Asks at an address by a synchronous id (rdma_create_id(3) without a channel):
 * each call of rdma_cm blocks until its event arrives. Only the wait for the
 * server's answer has no timeout in rdma_cm. So for rdma_connect(3) the channel
 * is made non-blocking, and poll(2) waits. The QP is created only to get a
 * number that no other connection has: an invented number could be taken for
 * that of a former connection. The QP carries nothing. Destroying the id
 * disconnects. All of this runs within vc__rdma_ask(), in the calling thread,
 * which may be any. A static function that returns a status: VC_OK, or the
 * result of vc__rdma_ask(). See transport/rdma/wire.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "transport/core/clock.h"
#include "transport/rdma/context.h"
#include "transport/rdma/device_list.h"
#include "transport/rdma/failure.h"
#include "transport/rdma/wire.h"

struct ask {
    char peer[VC__ADDR_TEXT];
    uint64_t due; /* by vc__now() */
    struct vc__asked *out;
    struct rdma_cm_id *id;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct rdma_cm_event *event; /* to be acknowledged by us; or NULL */
};

/* For the steps below: milliseconds until the call's timeout, rounded up; 0: it
 * is over. */
static int
rdma_ms_left(const struct ask *a)
{
    uint64_t now = vc__now();

    return now >= a->due ? 0 : (int)((a->due - now + 999) / 1000);
}

/* Sets the thread's error for a call that failed: `what` could not be done.
 * Returns its status. Called by address_resolve(), qp_make() and
 * connect_ask(). */
static enum vc_status
ask_fail_errno(const struct ask *a, const char *what, int err)
{
    struct vc__error error;

    vc__rdma_put_errno(&error, a->peer, what, err);
    return vc__error_raise(&error);
}

/* Sets the thread's error for an event that reports a failure, and returns its
 * status. Called by address_resolve() and rdma_answer_take(). */
static enum vc_status
fail_event(const struct ask *a, enum rdma_cm_event_type type, int status)
{
    struct vc__error error;

    vc__rdma_put_no_way(&error, a->peer, type, status);
    return vc__error_raise(&error);
}

/* --- address and route --------------------------------------------------- */

/* Called by vc__rdma_ask() when the address is resolved: writes to a->out the
 * local device and port by which the peer is reached. */
static void
device_describe(const struct ask *a)
{
    struct vc__asked *out = a->out;
    const union ibv_gid *gid = &a->id->route.addr.addr.ibaddr.sgid;
    struct ibv_port_attr attr;

    vc__addr_copy(&out->source, rdma_get_local_addr(a->id));
    strncpy(out->device, ibv_get_device_name(a->id->verbs->device),
            sizeof out->device - 1);
    inet_ntop(AF_INET6, gid->raw, out->gid, sizeof out->gid);
    out->port = a->id->port_num;
    if (ibv_query_port(a->id->verbs, out->port, &attr) == 0)
        out->mtu = 128u << attr.active_mtu;
}

/* The first step of vc__rdma_ask(): resolves the peer's address, and measures
 * how long that takes. */
static enum vc_status
address_resolve(struct ask *a, const struct sockaddr_storage *addr)
{
    struct sockaddr_storage to = *addr;
    uint64_t begun = vc__now();
    int ms = rdma_ms_left(a);
    int err = vc__rdma_errno(
        rdma_resolve_addr(a->id, NULL, (struct sockaddr *)&to, ms));

    a->out->resolve_us = (uint32_t)(vc__now() - begun);
    if (err == 0)
        return VC_OK;
    /* With an event, resolving had begun. */
    return a->id->event != NULL
               ? fail_event(a, RDMA_CM_EVENT_ADDR_ERROR, a->id->event->status)
               : ask_fail_errno(a, "resolve its address", err);
}

/* The second step of vc__rdma_ask(): resolves the route, and measures how long
 * that takes. */
static enum vc_status
ask_route_resolve(struct ask *a)
{
    struct vc__error error;
    uint64_t begun = vc__now();
    int err = vc__rdma_errno(rdma_resolve_route(a->id, rdma_ms_left(a)));

    a->out->route_us = (uint32_t)(vc__now() - begun);
    if (err == 0)
        return VC_OK;
    vc__rdma_put_route(&error, a->peer, err);
    return vc__error_raise(&error);
}

/* --- the connection request ---------------------------------------------- */

/* The third step of vc__rdma_ask(): creates the QP. On failure ask_end() frees
 * what was made. */
static enum vc_status
qp_make(struct ask *a)
{
    struct ibv_qp_init_attr attr = {
        .cap = {.max_send_wr = 1,
                .max_recv_wr = 1,
                .max_send_sge = 1,
                .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
    };
    int err;

    a->pd = ibv_alloc_pd(a->id->verbs);
    if (a->pd != NULL)
        a->cq = ibv_create_cq(a->id->verbs, 2, NULL, NULL, 0);
    if (a->cq == NULL)
        return ask_fail_errno(a, "make a queue", errno);
    attr.send_cq = attr.recv_cq = a->cq;
    err = vc__rdma_errno(rdma_create_qp(a->id, a->pd, &attr));
    return err == 0 ? VC_OK : ask_fail_errno(a, "make a QP", err);
}

/* Called by event_await(): waits for an event, and returns true; false on
 * timeout or error. A signal does not end the wait. */
static bool
channel_await(const struct ask *a)
{
    struct pollfd p = {.fd = a->id->channel->fd, .events = POLLIN};
    int n;

    do
        n = poll(&p, 1, rdma_ms_left(a));
    while (n < 0 && errno == EINTR);
    return n > 0;
}

/* Called by connect_ask(): waits for the event that ends rdma_connect(), and
 * returns it; NULL on timeout or error. */
static const struct rdma_cm_event *
event_await(struct ask *a)
{
    do {
        if (rdma_get_cm_event(a->id->channel, &a->event) == 0)
            return a->event;
    } while (errno == EAGAIN && channel_await(a));
    return NULL;
}

/* Called by connect_ask(): puts the peer's answer, an accept or a reject, into
 * a->out. Any other event is a failure. */
static enum vc_status
rdma_answer_take(struct ask *a, const struct rdma_cm_event *e)
{
    const struct rdma_conn_param *conn = &e->param.conn;
    struct vc__asked *out = a->out;

    switch (e->event) {
    case RDMA_CM_EVENT_ESTABLISHED:
        out->accepted = true;
        break;
    case RDMA_CM_EVENT_REJECTED:
        out->status = e->status;
        out->nobody = e->status == VC__REJ_INVALID_SERVICE_ID;
        break;
    default:
        return fail_event(a, e->event, e->status);
    }
    out->answered = true;
    if (conn->private_data != NULL) {
        out->said_len = conn->private_data_len;
        memcpy(out->said, conn->private_data, out->said_len);
    }
    return VC_OK;
}

/* Called by connect_ask() when no event has come in time: sets the thread's
 * error, and returns its status. */
static enum vc_status
fail_silent(const struct ask *a, uint32_t timeout_ms)
{
    return vc__fail(VC_UNAVAILABLE,
                    "%s: connection request sent, no answer within %u ms; does "
                    "the program that listens there run?",
                    a->peer, timeout_ms);
}

/* For connect_ask(): the event of rdma_connect(), if the id has it already;
 * NULL otherwise, also if it has that of the call before. */
static const struct rdma_cm_event *
event_of(const struct ask *a)
{
    const struct rdma_cm_event *e = a->id->event;

    return e != NULL && e->event != RDMA_CM_EVENT_ROUTE_RESOLVED ? e : NULL;
}

/* The last step of vc__rdma_ask(): connects and takes the answer. The event is
 * in the id already, or still to come. */
static enum vc_status
connect_ask(struct ask *a, const void *data, size_t len, uint32_t timeout_ms)
{
    struct rdma_conn_param param = {
        .private_data = data,
        .private_data_len = (uint8_t)len,
        .retry_count = VC__WIRE_RETRIES,
        .rnr_retry_count = VC__WIRE_RETRIES,
    };
    uint64_t begun = vc__now();
    const struct rdma_cm_event *e;
    int err, fd = a->id->channel->fd;

    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
        return ask_fail_errno(a, "wait for its answer", errno);
    err = vc__rdma_errno(rdma_connect(a->id, &param));
    e = event_of(a);
    if (err != 0 && err != EAGAIN && e == NULL)
        return ask_fail_errno(a, "connect", err);
    if (e == NULL)
        e = event_await(a);
    a->out->connect_us = (uint32_t)(vc__now() - begun);
    return e == NULL ? fail_silent(a, timeout_ms) : rdma_answer_take(a, e);
}

/* --- the call ------------------------------------------------------------ */

/* Called by vc__rdma_ask() at its end: frees the id, and what there is of the
 * QP and its queues. This disconnects. */
static void
ask_end(struct ask *a)
{
    if (a->event != NULL)
        rdma_ack_cm_event(a->event);
    if (a->id->qp != NULL)
        rdma_destroy_qp(a->id);
    if (a->cq != NULL)
        ibv_destroy_cq(a->cq);
    if (a->pd != NULL)
        ibv_dealloc_pd(a->pd);
    rdma_destroy_id(a->id);
}

enum vc_status
vc__rdma_ask(const struct vc__transport *transport,
             const struct sockaddr_storage *addr, const void *data, size_t len,
             uint32_t timeout_ms, struct vc__asked *out)
{
    struct ask a = {.due = vc__after_ms(vc__now(), timeout_ms), .out = out};
    enum vc_status status;
    int err;

    vc__addr_text((const struct sockaddr *)addr, a.peer);
    vc__device_list_read();
    vc__device_list_expect();
    err = vc__rdma_errno(rdma_create_id(
        NULL, &a.id, NULL, (enum rdma_port_space)transport->port_space));
    if (err != 0)
        return vc__rdma_fail_channel(err);
    status = address_resolve(&a, addr);
    if (status == VC_OK) {
        device_describe(&a);
        status = ask_route_resolve(&a);
    }
    if (status == VC_OK)
        status = qp_make(&a);
    if (status == VC_OK)
        status = connect_ask(&a, data, len, timeout_ms);
    ask_end(&a);
    return status;
}
