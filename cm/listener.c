/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Listening, and turning away what is no hello of ours. */
#include "cm/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "transport/error.h"

/* Reasons and their numbers are in the same order. */
_Static_assert(VC__COUNT_rejects_busy ==
                   VC__COUNT_rejects_version + VC__REJECT_BUSY - 1,
               "in order");
_Static_assert(VC__COUNT_rejects_pool ==
                   VC__COUNT_rejects_version + VC__REJECT_POOL - 1,
               "in order");

static void
reject_count(struct vc__ledger *l, unsigned reason)
{
    if (reason >= 1 && reason <= VC__REJECT_POOL)
        vc__count(l, VC__COUNT_rejects_version + reason - 1, 1);
}

void
vc__listener_reject_with(struct vc__cm *cm, struct rdma_cm_id *id,
                         struct vc__reject *reject)
{
    uint8_t bytes[VC__REJECT_SIZE];

    reject_count(&cm->engine->ledger, reject->reason);
    reject->version_min = VC__VERSION_MIN;
    reject->version_max = VC__VERSION_MAX;
    vc__reject_put(bytes, reject);
    /* It fails only when the peer has gone, and then there is nobody to
     * tell. */
    rdma_reject(id, bytes, sizeof bytes);
    rdma_destroy_id(id);
}

void
vc__listener_reject(struct vc__cm *cm, struct rdma_cm_id *id,
                    enum vc__reject_reason reason, uint32_t retry_ms,
                    const char *format, ...)
{
    struct vc__reject reject = {.reason = (uint8_t)reason,
                                .retry_ms = retry_ms};
    va_list args;

    va_start(args, format);
    vc__text_format(reject.text, sizeof reject.text, format, args);
    va_end(args);
    vc__listener_reject_with(cm, id, &reject);
}

static void
on_request(struct vc__listener *l, const struct vc__cm_event *ev)
{
    struct vc__hello hello;
    enum vc__said said = vc__hello_get(&hello, ev->data, ev->data_len);
    enum vc__reject_reason reason =
        said == VC__SAID_VERSION ? VC__REJECT_VERSION : VC__REJECT_MALFORMED;

    if (said == VC__SAID_OK) {
        l->request(l, ev->id, &hello, ev->reads_in, ev->reads_out);
        return;
    }
    if (l->turned_away != NULL)
        l->turned_away(l, reason);
    vc__listener_reject(l->cm, ev->id, reason, 0, "%s", vc__said_text(said));
}

static void
listener_on_cm(struct vc__cm_handler *h, const struct vc__cm_event *ev)
{
    struct vc__listener *l = caa_container_of(h, struct vc__listener, handler);

    /* An id that waits for its link inherits our context; what happens to it
     * meanwhile shows when it is accepted. */
    if (ev->type == RDMA_CM_EVENT_CONNECT_REQUEST)
        on_request(l, ev);
    /* It hears no more, and librdmacm keeps a PD for it. */
    else if (ev->type == RDMA_CM_EVENT_DEVICE_REMOVAL &&
             atomic_load(&l->open) && ev->id == l->id)
        vc__listener_close(l);
}

static enum vc_status
fail_refused(const char *at, const char *node)
{
    return vc__fail(VC_PERMISSION_DENIED,
                    "cannot listen at %s: %s may not be opened: give this user "
                    "read and write access to it",
                    at, node);
}

static enum vc_status
fail_bind(const struct sockaddr *addr, const char *what, int err)
{
    char text[VC__ADDR_TEXT], node[VC__NODE_TEXT];

    vc__addr_text(addr, text);
    if (err == EADDRNOTAVAIL || err == EADDRINUSE)
        return vc__fail(VC_UNAVAILABLE,
                        "cannot listen at %s: the port is in use, or the "
                        "address is not one of this machine's RDMA devices "
                        "(%s)",
                        text, strerror(err));
    if (err == EACCES)
        return vc__fail(VC_PERMISSION_DENIED,
                        "cannot listen at %s: this user may not have ports "
                        "below 1024; take another, or give the program "
                        "CAP_NET_BIND_SERVICE",
                        text);
    if (err == ENODEV && vc__cm_refused(node, false))
        return fail_refused(text, node);
    if (err == ENODEV)
        return vc__fail(VC_UNAVAILABLE,
                        "cannot listen at %s: no RDMA device of this machine "
                        "has that address; see `rdma link show`",
                        text);
    return vc__fail(vc__status_of_errno(err), "cannot %s at %s: %s", what, text,
                    strerror(err));
}

enum vc_status
vc__listener_open(struct vc__listener *l, struct vc__cm *cm,
                  const struct sockaddr *addr)
{
    enum vc_status status = vc__cm_open(cm);
    char text[VC__ADDR_TEXT], node[VC__NODE_TEXT];
    const char *what = "bind";
    int err;

    if (status != VC_OK)
        return status;
    /* At all addresses librdmacm would listen, and reject every request
     * without a word to us. */
    if (vc__cm_refused(node, true))
        return fail_refused(vc__addr_text(addr, text), node);
    l->cm = cm;
    l->handler.event = listener_on_cm;
    if (rdma_create_id(cm->channel, &l->id, &l->handler, RDMA_PS_TCP) != 0)
        return fail_bind(addr, "make an id to listen", errno);
    if (rdma_bind_addr(l->id, (struct sockaddr *)addr) == 0) {
        what = "listen";
        /* A short backlog drops requests silently, which costs the client
         * seconds; 0 is the kernel's longest. */
        if (rdma_listen(l->id, 0) == 0) {
            l->port = ntohs(rdma_get_src_port(l->id));
            atomic_store(&l->open, true);
            return VC_OK;
        }
    }
    err = errno;
    rdma_destroy_id(l->id);
    l->id = NULL;
    return fail_bind(addr, what, err);
}

void
vc__listener_close(struct vc__listener *l)
{
    if (l->id != NULL)
        rdma_destroy_id(l->id);
    l->id = NULL;
}

uint16_t
vc__listener_port(const struct vc__listener *l)
{
    return l->port;
}
