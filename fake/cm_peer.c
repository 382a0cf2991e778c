/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How a kernel of the simulated hosts handles a message that arrives. Static
 * functions run on the thread of their caller: one thread of the world runs at
 * a time (world.h). */
#include <string.h>

#include "fake/cm.h"

/* --- events ------------------------------------------------------------ */

/* Called by on_rej() and on_sidr_rep(). */
static void
event_give(struct fake__id *id, enum rdma_cm_event_type type, int status,
           const struct fake__message *m)
{
    struct fake__cm_event *ev = fake__cm_event_new(id, type, status);

    ev->ud = m->kind == FAKE__SIDR_REP;
    ev->data_len = m->data_len;
    memcpy(ev->data, m->data, sizeof ev->data);
    fake__cm_event_give(ev);
}

/* Mirrors the peer's view: READs that the peer initiates, we respond to. Called
 * by request_give() and response_take(). */
static void
event_conn(struct rdma_conn_param *conn, const struct fake__message *m)
{
    conn->responder_resources = m->initiator;
    conn->initiator_depth = m->responder;
    conn->retry_count = m->kind == FAKE__REQ ? m->retry : 0;
    conn->rnr_retry_count = m->rnr;
    conn->srq = m->srq;
    conn->flow_control = m->flow_control;
    conn->qp_num = m->qpn;
}

/* Called by on_sidr_rep(). */
static void
event_ud(struct rdma_ud_param *ud, const struct fake__message *m)
{
    ud->qp_num = m->qpn;
    ud->qkey = RDMA_UDP_QKEY;
    ud->ah_attr.is_global = 1;
    ud->ah_attr.port_num = 1;
    ud->ah_attr.grh.sgid_index = 1;
    ud->ah_attr.grh.hop_limit = 64;
    fake__gid_of(m->from_host, &ud->ah_attr.grh.dgid);
}

/* --- requests ---------------------------------------------------------- */

/* True in the states in which the kernel holds the peer's QP number. Called by
 * stale_find(). */
static bool
holds_peer_qpn(const struct fake__id *id)
{
    return id->state >= FAKE__REQ_RCVD && id->state <= FAKE__DREQ_RCVD;
}

/* Called by on_req(). */
static struct fake__id *
stale_find(const struct fake__message *m)
{
    for (struct fake__id *i = fake__id_first(); i != NULL; i = i->next) {
        if (!i->destroyed && holds_peer_qpn(i) && i->remote == m->from_host &&
            fake__id_device(i) == m->to_host && i->peer_qpn == m->qpn)
            return i;
    }
    return NULL;
}

/* Called by on_req(). */
static void
stale_refuse(struct fake__id *old, const struct fake__message *m)
{
    fake__wire_answer(m, FAKE__REJ, FAKE__REJ_STALE);
    if (old->state == FAKE__ESTABLISHED && !old->destroyed)
        fake__wire_state_say(old, FAKE__DREQ_SENT);
}

/* Called by on_req() and on_sidr_req(). */
static bool
is_repeated(const struct fake__message *m)
{
    const struct fake__id *child = m->from->peer;

    return child != NULL && !child->destroyed && child->peer == m->from &&
           child->state != FAKE__ENDED;
}

/* Called by request_give(). */
static struct fake__id *
child_new(struct fake__id *listener, const struct fake__message *m)
{
    struct fake__id *child =
        fake__id_new(listener->process, listener->channel, listener->ps);

    child->src = m->dst;
    child->dst = m->src;
    child->device = m->to_host;
    child->remote = m->from_host;
    child->peer = m->from;
    child->peer_qpn = m->qpn;
    child->peer_psn = m->psn;
    child->responder = m->initiator;
    child->initiator = m->responder;
    child->retry = m->retry;
    child->rnr = m->rnr;
    child->path_tos = m->tos;
    child->on_device = true;
    child->state = m->kind == FAKE__REQ ? FAKE__REQ_RCVD : FAKE__SIDR_RCVD;
    m->from->peer = child;
    return child;
}

/* The server's kernel confirms the request by MRA, and the client's kernel then
 * waits without a timeout. SIDR has no MRA. Called by request_give(). */
static void
request_heard(struct fake__id *client)
{
    if (client->state == FAKE__REQ_SENT)
        client->round++;
}

/* Called by on_request(). */
static void
request_give(struct fake__id *listener, const struct fake__message *m)
{
    struct fake__cm_event *ev =
        fake__cm_event_new(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0);

    ev->child = child_new(listener, m);
    ev->data_len = m->data_len;
    memcpy(ev->data, m->data, sizeof ev->data);
    ev->ud = m->kind == FAKE__SIDR_REQ;
    if (!ev->ud)
        event_conn(&ev->param.conn, m);
    request_heard(m->from);
    fake__cm_event_give(ev);
}

/* Called by on_request(). */
static void
request_refuse(const struct fake__message *m, int reason)
{
    if (m->kind == FAKE__SIDR_REQ)
        fake__wire_answer(m, FAKE__SIDR_REP, FAKE__SIDR_UNSUPPORTED);
    else
        fake__wire_answer(m, FAKE__REJ, reason);
}

/* Called by on_request(). */
static bool
takes_family(const struct fake__id *listener, const struct fake__message *m)
{
    return !listener->afonly || listener->src.ss_family == m->dst.ss_family;
}

/* Called by on_req() and on_sidr_req(). */
static void
on_request(const struct fake__message *m)
{
    struct fake__id *listener = fake__listener_find(
        m->to_host, m->ps, (const struct sockaddr *)&m->dst);

    if (listener == NULL)
        request_refuse(m, FAKE__REJ_NO_SERVICE);
    else if (!takes_family(listener, m))
        request_refuse(m, FAKE__REJ_CONSUMER);
    else if (listener->unread < listener->backlog)
        request_give(listener, m);
}

/* Called by fake__wire_arrive(). */
static void
on_req(const struct fake__message *m)
{
    struct fake__id *stale;

    if (is_repeated(m))
        return;
    stale = stale_find(m);
    if (stale != NULL)
        stale_refuse(stale, m);
    else
        on_request(m);
}

/* Called by fake__wire_arrive(). */
static void
on_sidr_req(const struct fake__message *m)
{
    if (!is_repeated(m))
        on_request(m);
}

/* --- answers ----------------------------------------------------------- */

/* Called by on_rep(). */
static void
response_take(struct fake__id *id, const struct fake__message *m)
{
    struct fake__cm_event *ev =
        fake__cm_event_new(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);

    id->peer = m->from;
    id->peer_qpn = m->qpn;
    id->peer_psn = m->psn;
    id->responder = m->initiator;
    id->initiator = m->responder;
    id->rnr = m->rnr;
    fake__wire_state_set(id, FAKE__REP_RCVD);
    event_conn(&ev->param.conn, m);
    ev->data_len = m->data_len;
    memcpy(ev->data, m->data, sizeof ev->data);
    fake__cm_event_give(ev);
}

/* Called by on_answer(). */
static void
on_rep(struct fake__id *id, const struct fake__message *m)
{
    if (id->state == FAKE__REQ_SENT)
        response_take(id, m);
    else if (id->state == FAKE__ESTABLISHED && id->peer == m->from)
        fake__wire_say(id, FAKE__RTU);
}

/* Called by on_answer(). */
static void
on_rtu(struct fake__id *id)
{
    if (id->state != FAKE__REP_SENT)
        return;
    fake__wire_state_set(id, FAKE__ESTABLISHED);
    fake__cm_tell(id, RDMA_CM_EVENT_ESTABLISHED, 0);
}

/* Called by on_answer(). */
static void
on_rej(struct fake__id *id, const struct fake__message *m)
{
    switch (id->state) {
    case FAKE__REQ_SENT:
    case FAKE__REP_SENT:
    case FAKE__REQ_RCVD:
        if (m->status == FAKE__REJ_STALE)
            fake__wire_timewait_enter(id);
        else
            fake__wire_state_set(id, FAKE__ENDED);
        break;
    case FAKE__REP_RCVD:
    case FAKE__ESTABLISHED:
    case FAKE__DREQ_SENT:
        fake__wire_timewait_enter(id);
        break;
    default:
        return;
    }
    event_give(id, RDMA_CM_EVENT_REJECTED, m->status, m);
}

/* Called by on_answer(). */
static void
on_dreq(struct fake__id *id, const struct fake__message *m)
{
    switch (id->state) {
    case FAKE__REP_SENT:
    case FAKE__ESTABLISHED:
    case FAKE__DREQ_SENT:
        fake__wire_state_set(id, FAKE__DREQ_RCVD);
        fake__wire_tell_down(id, 0);
        break;
    case FAKE__TIMEWAIT:
    case FAKE__ENDED:
        fake__wire_answer(m, FAKE__DREP, 0);
        break;
    default:
        break;
    }
}

/* Called by on_answer(). */
static void
on_drep(struct fake__id *id)
{
    if (id->state != FAKE__DREQ_SENT && id->state != FAKE__DREQ_RCVD)
        return;
    fake__wire_timewait_enter(id);
    fake__wire_tell_down(id, 0);
}

/* Called by on_answer(). */
static void
on_sidr_rep(struct fake__id *id, const struct fake__message *m)
{
    struct fake__cm_event *ev;

    if (id->state != FAKE__SIDR_SENT)
        return;
    fake__wire_state_set(id, FAKE__ENDED);
    if (m->status != 0) {
        event_give(id, RDMA_CM_EVENT_UNREACHABLE, m->status, m);
        return;
    }
    ev = fake__cm_event_new(id, RDMA_CM_EVENT_ESTABLISHED, 0);
    ev->ud = true;
    event_ud(&ev->param.ud, m);
    ev->data_len = m->data_len;
    memcpy(ev->data, m->data, sizeof ev->data);
    fake__cm_event_give(ev);
}

/* --- receiving --------------------------------------------------------- */

/* Called by fake__wire_arrive(). */
static void
on_answer(struct fake__id *id, const struct fake__message *m)
{
    switch (m->kind) {
    case FAKE__REP:
        on_rep(id, m);
        break;
    case FAKE__RTU:
        on_rtu(id);
        break;
    case FAKE__REJ:
        on_rej(id, m);
        break;
    case FAKE__DREQ:
        on_dreq(id, m);
        break;
    case FAKE__DREP:
        on_drep(id);
        break;
    case FAKE__SIDR_REP:
        on_sidr_rep(id, m);
        break;
    default:
        break;
    }
}

/* True if the id belongs to the message's connection. Each time that a client
 * asks for a datagram service, the server may make an id: it is the request
 * that the answer belongs to. Called by fake__wire_arrive(). */
static bool
knows(const struct fake__id *id, const struct fake__message *m)
{
    return id != NULL && !id->destroyed && !id->removed &&
           (m->from == NULL || id->peer == NULL || id->peer == m->from ||
            m->kind == FAKE__SIDR_REP);
}

/* Called by message_send() (cm_wire.c). */
void
fake__wire_arrive(void *obj, uint64_t n)
{
    struct fake__message *m = obj;
    struct fake__id *id = m->to;

    (void)n;
    if (!fake__reaches(m->from_host, m->to_host))
        return;
    if (id == NULL && m->from != NULL)
        id = m->from->peer;
    if (m->kind == FAKE__REQ)
        on_req(m);
    else if (m->kind == FAKE__SIDR_REQ)
        on_sidr_req(m);
    else if (knows(id, m))
        on_answer(id, m);
    else if (m->kind == FAKE__DREQ) /* of an ended connection */
        fake__wire_answer(m, FAKE__DREP, 0);
}
