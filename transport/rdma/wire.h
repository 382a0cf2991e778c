/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A wire over RDMA: an rdma_cm id, and a QP that the id does not own. Private
 * to the transport; transport/transport.h says of each operation whether the
 * holder of the engine calls it (H) or any thread under the link's lock (L).
 *
 * Called by: wire.c (rdma_wire_of, rdma_paths, rdma_device_name, rdma_prepare,
 * rdma_fini, rdma_leave, rdma_share, rdma_dial, rdma_hello, rdma_take,
 * rdma_accept, rdma_confirm, rdma_ask, rdma_listen, rdma_unlisten, rdma_port,
 * rdma_reject), wire_connect.c (rdma_wire_of, rdma_paths, rdma_device_name,
 * rdma_fail_resolve), transport/ud/connect.c (rdma_fail_resolve, rdma_listen),
 * listen.c (rdma_unlisten), transport/ud/wire.c (rdma_unlisten, rdma_port). */
#ifndef VC_TRANSPORT_RDMA_WIRE_H
#define VC_TRANSPORT_RDMA_WIRE_H

#include "transport/rdma/context.h"
#include "transport/rdma/qp.h"
#include "transport/transport.h"

struct vc__rdma_wire {
    struct vc__wire wire;
    struct vc__rdma_handler handler;
    struct rdma_cm_id *id;
    bool owned;   /* the id is ours to destroy */
    bool active;  /* the side that connects */
    bool asked;   /* the peer may know our QP's number */
    bool leaving; /* leave() has called rdma_disconnect() */
    /* The disconnect handshake has completed: the peer sends nothing to our QP
     * any more, so another connection may reuse it. */
    bool left_cleanly;
    uint32_t resolve_ms;         /* timeout; of the route, too */
    uint8_t reads_in, reads_out; /* passive: from the request */
    struct vc__device *device;
    struct vc__qp qp;
    uint8_t *at; /* the reserved packet */
    uint8_t small[VC__INLINE_MAX];
};

struct vc__rdma_ear {
    struct vc__ear ear;
    struct vc__rdma_handler handler;
    struct rdma_cm_id *id; /* NULL also after a removal of its device */
    uint16_t port;
    atomic_bool open; /* id and port are set, and the holder may use them */
    /* Takes a request in place of the listener: of datagrams. NULL: none. */
    void (*request)(struct vc__ear *ear, const struct vc__rdma_event *ev);
};

/* The wire of RDMA that has this head. For the operations, on their threads. */
static inline struct vc__rdma_wire *
vc__rdma_wire_of(struct vc__wire *w)
{
    return caa_container_of(w, struct vc__rdma_wire, wire);
}

/* The runtime's memory of paths, or NULL; and the device, by its name. For
 * wire.c and wire_connect.c, while the wire is prepared. */
static inline struct vc__path_memory *
vc__rdma_paths(const struct vc__wire *w)
{
    return vc__rdma_context_of(w->context)->opts.paths;
}

static inline const char *
vc__rdma_device_name(const struct vc__wire *w)
{
    const struct vc__rdma_wire *r =
        caa_container_of(w, const struct vc__rdma_wire, wire);

    return ibv_get_device_name(r->id->verbs->device);
}

/* What follows are entries of the tables vc__rdma and vc__rdma_ib. Their
 * results are those of the table. The link layer calls them through
 * wire->transport, on the holder of the wire's engine: prepare from link_io.c,
 * fini and leave from link.c, fini also from link_accept.c after an accept that
 * failed (all in cm/link). Leave returns false if left() does not follow. */

/* wire.c: moving packets. */
enum vc_status vc__rdma_prepare(struct vc__wire *w,
                                const struct vc__receives *r);
void vc__rdma_fini(struct vc__wire *w);
bool vc__rdma_leave(struct vc__wire *w);

/* The largest window for one more connection on a device that has `links`: few
 * links get full windows, many links share what the device has. Returns a
 * number of packets. Pure; called by vc__rdma_prepare(). */
#define VC__RDMA_SHARE_MOST  32u
#define VC__RDMA_SHARE_LEAST 4u
uint32_t vc__rdma_share(unsigned links);

/* wire_connect.c: connecting by rdma_cm. The holder of the wire's engine. Dial,
 * hello and confirm on the active side: from cm/link/link_connect.c. Take,
 * accept and confirm on the passive side: from cm/link/link_accept.c. All but
 * take return VC_OK, or another status with the thread's error set. */
enum vc_status vc__rdma_dial(struct vc__wire *w, uint32_t timeout_ms);
enum vc_status vc__rdma_hello(struct vc__wire *w, const void *data, size_t len);
void vc__rdma_take(struct vc__wire *w, const struct vc__incoming *in);
enum vc_status vc__rdma_accept(struct vc__wire *w, const void *data,
                               size_t len);
enum vc_status vc__rdma_confirm(struct vc__wire *w);

/* Sets the thread's error when dial() cannot resolve the address; returns its
 * status. Errors of the source address are returned at once, not as an event.
 * Called by both dials, of connections and of datagrams. */
enum vc_status vc__rdma_fail_resolve(struct vc__wire *w, int err);

/* ask.c. Called by rpc/probe.c on the program's thread, which it blocks. VC_OK:
 * the peer's host has answered, and *out is filled in. Otherwise *out has what
 * was found out before the failure. */
enum vc_status vc__rdma_ask(const struct vc__transport *transport,
                            const struct sockaddr_storage *addr,
                            const void *data, size_t len, uint32_t timeout_ms,
                            struct vc__asked *out);

/* listen.c. Called by cm/link/listener.c. Listen and port: any thread. Port is
 * in host byte order. Unlisten: the holder of the ear's engine, also from this
 * file when the device is removed. Reject: the holder of any engine. Listen
 * returns a status as in transport/transport.h. */
enum vc_status vc__rdma_listen(struct vc__ear *ear,
                               const struct sockaddr *addr);
void vc__rdma_unlisten(struct vc__ear *ear);
uint16_t vc__rdma_port(const struct vc__ear *ear);
void vc__rdma_reject(const struct vc__incoming *in, const void *data,
                     size_t len);

#endif
