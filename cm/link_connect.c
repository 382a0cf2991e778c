/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The active side of connecting: address, route, hello, and what the peer
 * answers. Each failure says what it was and what may help. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cm/link.h"
#include "transport/rdma/device.h"

/* Statuses of RDMA_CM_EVENT_REJECTED: InfiniBand specification, volume 1,
 * 12.6.7.2 (REJ reasons). */
#define REJ_STALE_CONN         10
#define REJ_INVALID_SERVICE_ID 8

/* rdma_cm gives up a little before our own timer, for it knows why. */
static int
resolve_ms(const struct vc__link *link)
{
    return (int)(link->timeout_ms - link->timeout_ms / 4);
}

static void
end_errno(struct vc__link *link, const char *what, int err)
{
    if (err == ENODEV || err == ENETUNREACH || err == EADDRNOTAVAIL)
        vc__link_end(link, VC__LINK_EV_NO_WAY, VC_UNAVAILABLE,
                     "no RDMA device of this machine leads to %s (%s: %s): see "
                     "`rdma link show`, and that the device's network "
                     "interface has an address and is up",
                     vc__link_peer(link), what, strerror(err));
    else
        vc__link_end(link, VC__LINK_EV_NO_WAY, vc__status_of_errno(err),
                     "%s: cannot %s: %s", vc__link_peer(link), what,
                     strerror(err));
}

/* What stands against connecting from our source address comes at once. */
static void
end_resolve(struct vc__link *link, int err)
{
    char source[VC__ADDR_TEXT];

    if (link->source.ss_family == AF_UNSPEC ||
        (err != EADDRNOTAVAIL && err != ENODEV && err != EINVAL)) {
        end_errno(link, "resolve its address", err);
        return;
    }
    vc__addr_text((struct sockaddr *)&link->source, source);
    vc__link_end(link, VC__LINK_EV_NO_WAY, VC_UNAVAILABLE,
                 "cannot connect to %s from %s: bind_address must be an "
                 "address of an RDMA device of this machine, with its "
                 "interface if it is link-local (%s); see `rdma link show`",
                 vc__link_peer(link), source, strerror(err));
}

void
vc__link_connect(struct vc__link *link, const struct sockaddr *addr)
{
    struct sockaddr *source = (struct sockaddr *)&link->source;
    struct rdma_cm_id *id;

    link->active = true;
    vc__link_addr(link, addr);
    vc__link_event(link, VC__LINK_EV_CONNECT);
    vc__link_timer(link, link->timeout_ms);
    if (link->state != VC__LINK_ADDR)
        return;
    if (rdma_create_id(link->cm->channel, &id, &link->handler, RDMA_PS_TCP) !=
        0) {
        end_errno(link, "make a connection id", errno);
        return;
    }
    link->id = id;
    if (source->sa_family == AF_UNSPEC)
        source = NULL;
    if (rdma_resolve_addr(id, source, (struct sockaddr *)addr,
                          resolve_ms(link)) != 0)
        end_resolve(link, errno);
}

static void
no_route(struct vc__link *link, int err)
{
    vc__link_end(link, VC__LINK_EV_NO_WAY, VC_UNAVAILABLE,
                 "no RDMA route to %s (%s): loopback addresses have none on "
                 "RoCE, use the address of the device",
                 vc__link_peer(link), strerror(err));
}

void
vc__link_resolve_route(struct vc__link *link)
{
    if (rdma_resolve_route(link->id, resolve_ms(link)) == 0)
        return;
    if (errno == ENODEV)
        no_route(link, errno);
    else
        end_errno(link, "resolve the route", errno);
}

/* With a QP of our own the id has none, and the answer comes as
 * CONNECT_RESPONSE (rdma_establish(3)). */
void
vc__link_ask(struct vc__link *link)
{
    uint8_t hello[VC__HELLO_SIZE];
    struct rdma_conn_param param = {
        .private_data = hello,
        .private_data_len = sizeof hello,
        .retry_count = VC__RETRY_COUNT,
        .rnr_retry_count = VC__RNR_RETRY_COUNT,
        .srq = 1,
    };
    int err;

    if (vc__link_prepare(link, link->id) != VC_OK) {
        vc__link_end(link, VC__LINK_EV_NO_WAY, vc__error_last()->status, "%s",
                     vc__error_last()->text);
        return;
    }
    err = vc__qp_to_init(&link->qp, link->id);
    if (err != 0) {
        end_errno(link, "prepare a QP", err);
        return;
    }
    link->reads_in = vc__cm_reads(VC__READS_WANTED, VC__READS_WANTED,
                                  link->device->attr.max_qp_rd_atom);
    link->reads_out = vc__cm_reads(VC__READS_WANTED, VC__READS_WANTED,
                                   link->device->attr.max_qp_init_rd_atom);
    param.responder_resources = link->reads_in;
    param.initiator_depth = link->reads_out;
    param.qp_num = link->qp.qp->qp_num;
    link->hello.credits = (uint16_t)link->granted;
    link->hello.log2_eager = VC__BUFFER_LOG2;
    vc__hello_put(hello, &link->hello);
    link->asked = true;
    if (rdma_connect(link->id, &param) != 0)
        end_errno(link, "connect", errno);
}

/* What stands against the peer's accept; NULL when nothing. */
static const char *
accept_fault(const struct vc__link *link, const struct vc__accept *a)
{
    if (a->version < link->hello.version_min ||
        a->version > link->hello.version_max)
        return "it chose a version that was not offered";
    if (a->features & ~link->hello.features)
        return "it chose features that were not offered";
    return NULL;
}

void
vc__link_establish(struct vc__link *link, const struct vc__cm_event *ev)
{
    struct vc__accept *a = &link->accept;
    enum vc__said said;
    const char *fault;
    int err;

    if (link->state != VC__LINK_ASKED)
        return;
    said = vc__accept_get(a, ev->data, ev->data_len);
    fault = said != VC__SAID_OK ? vc__said_text(said) : accept_fault(link, a);
    if (fault != NULL) {
        vc__link_end(link, VC__LINK_EV_REFUSED, VC_INTERNAL,
                     "%s accepted in a way that Verbcall does not: %s",
                     vc__link_peer(link), fault);
        return;
    }
    link->reads_in = vc__cm_reads(link->reads_in, ev->reads_in,
                                  link->device->attr.max_qp_rd_atom);
    link->reads_out = vc__cm_reads(link->reads_out, ev->reads_out,
                                   link->device->attr.max_qp_init_rd_atom);
    err = vc__qp_to_rtr(&link->qp, link->id, link->reads_in);
    if (err == 0)
        err = vc__qp_to_rts(&link->qp, link->id, link->reads_out);
    if (err == 0 && rdma_establish(link->id) != 0)
        err = errno;
    if (err == EINVAL) { /* the CM's way to say that it is not so any more */
        vc__link_end(link, VC__LINK_EV_REFUSED, VC_UNAVAILABLE,
                     "%s accepted and left at once: see that its process runs",
                     vc__link_peer(link));
        return;
    }
    if (err != 0) {
        end_errno(link, "establish the connection", err);
        return;
    }
    vc__link_open_io(link, a->credits);
    vc__link_event(link, VC__LINK_EV_RESPONSE);
    vc__link_trust(link);
}

static enum vc_status
status_of_reason(unsigned reason)
{
    switch (reason) {
    case VC__REJECT_VERSION:
    case VC__REJECT_SERVICE:
        return VC_UNIMPLEMENTED;
    case VC__REJECT_SCHEMA:
        return VC_FAILED_PRECONDITION;
    case VC__REJECT_LIMIT:
        return VC_RESOURCE_EXHAUSTED;
    case VC__REJECT_SECURITY:
        return VC_UNAUTHENTICATED;
    case VC__REJECT_MALFORMED:
        return VC_INTERNAL;
    default:
        return VC_UNAVAILABLE;
    }
}

static void
refused_by_verbcall(struct vc__link *link, const struct vc__reject *r)
{
    char retry[48] = "";
    char words[sizeof r->text];

    vc__words_put(words, sizeof words, r->text, strlen(r->text));
    if (r->retry_ms > 0)
        snprintf(retry, sizeof retry, "; it may be tried again after %u ms",
                 (unsigned)r->retry_ms);
    vc__link_end(link, VC__LINK_EV_REFUSED, status_of_reason(r->reason),
                 "%s refused: %s%s%s%s", vc__link_peer(link),
                 vc__reject_reason_text(r->reason),
                 words[0] == '\0' ? "" : ": ", words, retry);
}

void
vc__link_refused(struct vc__link *link, const struct vc__cm_event *ev)
{
    link->heard = true;
    link->has_reject =
        vc__reject_get(&link->reject, ev->data, ev->data_len) == VC__SAID_OK;
    if (link->has_reject) {
        vc__count(&link->cm->engine->ledger, VC__COUNT_rejects_got, 1);
        refused_by_verbcall(link, &link->reject);
    } else if (ev->status == REJ_INVALID_SERVICE_ID) {
        vc__link_end(link, VC__LINK_EV_REFUSED, VC_UNAVAILABLE,
                     "nothing listens at %s: see that the server runs and that "
                     "the port is right",
                     vc__link_peer(link));
    } else if (ev->status == REJ_STALE_CONN) {
        link->stale = true;
        vc__link_end(link, VC__LINK_EV_REFUSED, VC_UNAVAILABLE,
                     "%s still knows a former connection of this QP number",
                     vc__link_peer(link));
    } else {
        vc__link_end(link, VC__LINK_EV_REFUSED, VC_UNAVAILABLE,
                     "%s refused without a reason (CM status %d): its process "
                     "ended, or it is no Verbcall server",
                     vc__link_peer(link), ev->status);
    }
}

static void
no_address(struct vc__link *link, const struct vc__cm_event *ev)
{
    char node[VC__NODE_TEXT];

    if (ev->status == -ENODEV)
        end_errno(link, "resolve its address", ENODEV);
    else if (ev->status == -1 && vc__cm_refused(node, false)) /* of librdmacm */
        vc__link_end(link, VC__LINK_EV_NO_WAY, VC_PERMISSION_DENIED,
                     "%s may not be opened: give this user read and write "
                     "access to it",
                     node);
    else
        vc__link_end(link, VC__LINK_EV_NO_WAY, VC_UNAVAILABLE,
                     "no host answers at %s (%s): see that the address is "
                     "right and the host is up",
                     vc__link_peer(link), strerror(-ev->status));
}

void
vc__link_no_way(struct vc__link *link, const struct vc__cm_event *ev)
{
    int err = ev->status < 0 ? -ev->status : ev->status;
    const char *why = strerror(err);

    switch (ev->type) {
    case RDMA_CM_EVENT_ADDR_ERROR:
        no_address(link, ev);
        break;
    case RDMA_CM_EVENT_ROUTE_ERROR:
        no_route(link, err);
        break;
    case RDMA_CM_EVENT_UNREACHABLE:
        vc__link_end(link, VC__LINK_EV_NO_WAY, VC_UNAVAILABLE,
                     "%s does not answer connection requests (%s): see that "
                     "the host has an RDMA device on that address and lets "
                     "UDP port 4791 through",
                     vc__link_peer(link), why);
        break;
    default:
        vc__link_end(link, VC__LINK_EV_NO_WAY, VC_UNAVAILABLE,
                     "connecting to %s failed: %s", vc__link_peer(link), why);
        break;
    }
}
