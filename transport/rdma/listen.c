/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A listening id, and rejected requests. The static functions for requests run
 * on the holder of the ear's engine; those for listening within
 * vc__rdma_listen(), on any thread, and return its result unless they say
 * otherwise. See transport/rdma/wire.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "transport/core/log.h"
#include "transport/rdma/device_list.h"
#include "transport/rdma/device_queues.h"
#include "transport/rdma/wire.h"

/* The ear of RDMA that has this head. For vc__rdma_listen() and
 * vc__rdma_unlisten(). */
static struct vc__rdma_ear *
rdma_ear_of(struct vc__ear *ear)
{
    return caa_container_of(ear, struct vc__rdma_ear, ear);
}

/* --- requests ------------------------------------------------------------ */

/* Passes a connect request, with its id, to the listener. Called by
 * listen_on_event(). */
static void
rdma_on_request(struct vc__ear *ear, const struct vc__rdma_event *ev)
{
    struct vc__incoming in = {
        .context = ear->context,
        .handle = ev->id,
        .detail = (uint16_t)(ev->reads_in | ev->reads_out << 8),
    };

    vc__addr_copy(&in.peer, rdma_get_peer_addr(ev->id));
    ear->ops->request(ear, &in, ev->data, ev->data_len);
}

/* The device of the listener was removed. The id receives nothing more and is
 * destroyed, because librdmacm keeps a PD for it. If this engine has the device
 * open for no wire, librdmacm must close it, too. Called by
 * listen_on_event(). */
static void
on_removal(struct vc__rdma_ear *r)
{
    struct vc__rdma_context *c = vc__rdma_context_of(r->ear.context);
    const struct ibv_device *device = r->id->verbs->device;
    char text[VC__ADDR_TEXT];
    struct vc__error why;

    vc__log(r->ear.context->engine->log, VC__LOG_LISTEN_LOST,
            "listener at %s: lost with its RDMA device: nobody can connect "
            "there until it is back",
            vc__addr_text(rdma_get_local_addr(r->id), text));
    vc__error_put(&why, VC_UNAVAILABLE,
                  "the RDMA device %s was removed; this server listens again "
                  "when it is back",
                  ibv_get_device_name(r->id->verbs->device));
    vc__rdma_unlisten(&r->ear);
    if (!vc__rdma_has_met(c, device))
        vc__device_list_let_go(device);
    r->ear.ops->lost(&r->ear, &why);
}

/* Events of the listening id, and of requests that are not accepted yet. Called
 * by the context (events_ready()) on the holder of the ear's engine. */
static void
listen_on_event(struct vc__rdma_handler *h, const struct vc__rdma_event *ev)
{
    struct vc__rdma_ear *r = caa_container_of(h, struct vc__rdma_ear, handler);

    /* The id of a request inherits our context until it is accepted. Other
     * events of that id are ignored: accepting it fails then. */
    if (ev->type == RDMA_CM_EVENT_CONNECT_REQUEST && r->request != NULL)
        r->request(&r->ear, ev);
    else if (ev->type == RDMA_CM_EVENT_CONNECT_REQUEST)
        rdma_on_request(&r->ear, ev);
    else if (ev->type == RDMA_CM_EVENT_DEVICE_REMOVAL &&
             atomic_load(&r->open) && ev->id == r->id)
        on_removal(r);
}

/* The handle of a request is its id, which is destroyed here. */
void
vc__rdma_reject(const struct vc__incoming *in, const void *data, size_t len)
{
    /* rdma_reject() fails only when the peer has disconnected; then no answer
     * is needed. */
    rdma_reject(in->handle, data, (uint8_t)len);
    rdma_destroy_id(in->handle);
}

/* --- listening ----------------------------------------------------------- */

/* Sets the thread's error for a device node that this user may not open. Called
 * by vc__rdma_listen() and rdma_fail_bind(). */
static enum vc_status
fail_forbidden(const char *at, const char *node)
{
    return vc__fail(VC_PERMISSION_DENIED,
                    "cannot listen at %s: %s may not be opened: give this user "
                    "read and write access to it",
                    at, node);
}

/* Sets the thread's error for a call that failed with this errno; `what` it was
 * to do. Called by bind_and_listen(), and by vc__rdma_listen() without an
 * id. */
static enum vc_status
rdma_fail_bind(const struct sockaddr *addr, const char *what, int err)
{
    char text[VC__ADDR_TEXT], node[VC__NODE_TEXT];
    struct vc__error lacks;

    vc__addr_text(addr, text);
    if (err == EADDRNOTAVAIL || err == EADDRINUSE)
        return vc__fail(VC_UNAVAILABLE,
                        "cannot listen at %s: the port is in use, or the "
                        "address is not one of this machine's RDMA devices "
                        "(%s: %s)",
                        text, what, strerror(err));
    if (err == EACCES)
        return vc__fail(
            VC_PERMISSION_DENIED,
            "cannot listen at %s: this user may not use ports below 1024; use "
            "another port, or give the program CAP_NET_BIND_SERVICE",
            text);
    if (err == ENODEV && vc__rdma_lacks_descriptors(&lacks))
        return vc__error_raise(&lacks);
    if (err == ENODEV && vc__rdma_forbidden(node, false))
        return fail_forbidden(text, node);
    if (err == ENODEV)
        return vc__fail(VC_UNAVAILABLE,
                        "cannot listen at %s: no RDMA device of this machine "
                        "has that address; see `rdma link show`",
                        text);
    return vc__fail_errno(err, "cannot %s at %s", what, text);
}

/* Succeeds if one device passes, or if there is none: one may be added later.
 * Called by device_try() for the wildcard address. */
static enum vc_status
any_device_try(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    enum vc_status status = VC_OK;
    struct vc__error lacks;
    unsigned n;

    for (n = 0; list != NULL && list[n] != NULL; n++) {
        status = vc__device_try(list[n]);
        if (status == VC_OK)
            break;
    }
    if (list != NULL)
        ibv_free_device_list(list);
    if (n == 0 && vc__rdma_lacks_descriptors(&lacks))
        return vc__error_raise(&lacks);
    return status;
}

/* Called by bind_and_listen(): fails before any client connects if every
 * connection would be refused. */
static enum vc_status
device_try(struct rdma_cm_id *id, const struct sockaddr *addr)
{
    enum vc_status status = id->verbs != NULL
                                ? vc__device_try(id->verbs->device)
                                : any_device_try();
    char text[VC__ADDR_TEXT];
    struct vc__error error, why;

    if (status == VC_OK)
        return VC_OK;
    why = *vc__error_last();
    vc__error_put(&error, why.status, "cannot listen at %s: %s",
                  vc__addr_text(addr, text), why.text);
    error.lack = why.lack;
    return vc__error_raise(&error);
}

/* Sets an option of the id, on or off: 0, or an errno. Called by
 * options_set(). */
static int
rdma_option_set(struct rdma_cm_id *id, int option, bool on)
{
    int value = on;

    return vc__rdma_errno(
        rdma_set_option(id, RDMA_OPTION_ID, option, &value, sizeof value));
}

/* Sets the options of the id to listen. Called by bind_and_listen(), as it must
 * be done before the id is bound. The system may have another default for IPv6
 * (net.ipv6.bindv6only). 0, or an errno. */
static int
options_set(const struct vc__rdma_ear *r, const struct sockaddr *addr)
{
    const struct vc__ear_opts *opts = &r->ear.opts;
    int err = 0;

    if (addr->sa_family == AF_INET6)
        err = rdma_option_set(r->id, RDMA_OPTION_ID_AFONLY, opts->ipv6_only);
    if (err == 0 && opts->reuse_address)
        err = rdma_option_set(r->id, RDMA_OPTION_ID_REUSEADDR, true);
    return err;
}

/* Called by vc__rdma_listen(): binds the id, tries its device, and listens. */
static enum vc_status
bind_and_listen(struct vc__rdma_ear *r, const struct sockaddr *addr)
{
    int err = options_set(r, addr);
    enum vc_status status;

    if (err != 0)
        return rdma_fail_bind(addr, "set the options of an id to listen", err);
    err = vc__rdma_errno(rdma_bind_addr(r->id, (struct sockaddr *)addr));
    if (err != 0)
        return rdma_fail_bind(addr, "bind", err);
    status = device_try(r->id, addr);
    if (status != VC_OK)
        return status;
    /* A short backlog drops requests silently, which costs the client seconds;
     * 0 is the kernel's maximum. */
    err = vc__rdma_errno(rdma_listen(r->id, 0));
    return err == 0 ? VC_OK : rdma_fail_bind(addr, "listen", err);
}

/* Makes an id, binds it and listens. */
enum vc_status
vc__rdma_listen(struct vc__ear *ear, const struct sockaddr *addr)
{
    struct vc__rdma_ear *r = rdma_ear_of(ear);
    char text[VC__ADDR_TEXT], node[VC__NODE_TEXT];
    enum vc_status status;
    int err;

    /* If no device may be opened, librdmacm would still listen at the wildcard
     * address, and reject every request without an event for us. */
    if (vc__rdma_forbidden(node, true))
        return fail_forbidden(vc__addr_text(addr, text), node);
    vc__device_list_expect();
    r->handler.event = listen_on_event;
    err = vc__rdma_errno(rdma_create_id(
        vc__rdma_context_of(ear->context)->channel, &r->id, &r->handler,
        (enum rdma_port_space)ear->context->transport->port_space));
    if (err != 0)
        return rdma_fail_bind(addr, "make an id to listen", err);
    status = bind_and_listen(r, addr);
    if (status == VC_OK) {
        r->port = ntohs(rdma_get_src_port(r->id));
        atomic_store(&r->open, true);
        return VC_OK;
    }
    rdma_destroy_id(r->id);
    r->id = NULL;
    return status;
}

/* Destroys the id, if there is one. */
void
vc__rdma_unlisten(struct vc__ear *ear)
{
    struct vc__rdma_ear *r = rdma_ear_of(ear);

    if (r->id != NULL)
        rdma_destroy_id(r->id);
    r->id = NULL;
}

/* The port that the id was bound to. */
uint16_t
vc__rdma_port(const struct vc__ear *ear)
{
    return caa_container_of(ear, const struct vc__rdma_ear, ear)->port;
}
