/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Wires and ears of inproc; transport/transport.h says of each operation
 * whether the holder of the engine calls it (H) or any thread under the link's
 * lock (L).
 *
 * Called by: ear.c (inproc_find), wire.c (all). */
#ifndef VC_TRANSPORT_INPROC_WIRE_H
#define VC_TRANSPORT_INPROC_WIRE_H

#include "transport/inproc/half.h"

struct vc__inproc_wire {
    struct vc__wire wire;
    struct vc__inproc_half *half; /* NULL: none yet */
    bool owned;                   /* the half is ours to end */
    bool active;                  /* the side that connects */
    bool left;                    /* LEAVE was sent to the peer */
    struct vc__task task;         /* reports a dial's or a hello's result */
};

struct vc__inproc_ear {
    struct vc__ear ear;
    struct cds_list_head node;   /* lock: in the list of listeners */
    struct cds_list_head asking; /* lock: halves with a pending REQUEST */
    struct sockaddr_storage addr;
    bool listens; /* set by listen(); then the holder's */
};

/* ear.c. The listener at this address; NULL: none. It is valid under
 * vc__inproc_lock() only. Called by the wire's hello(), on the holder, and by
 * vc__inproc_listen(), on any thread. */
struct vc__inproc_ear *vc__inproc_find(const struct sockaddr_storage *addr);

/* ear.c: a REQUEST was received. Passes it to the listener, or ends the half if
 * that was closed meanwhile. Called by half.c through vc__inproc_ops, on the
 * holder of the listener's engine; or, when the listener was closed, within
 * vc__inproc_close(). */
void vc__inproc_request(struct vc__context *c, struct vc__inproc_half *half);

/* ear.c. Called by cm/link/listener.c through the table. Listen and port: any
 * thread. Unlisten: the holder of the ear's engine. Reject: the holder of any
 * engine. Listen returns VC_OK, or VC_UNAVAILABLE if the name is taken. */
enum vc_status vc__inproc_listen(struct vc__ear *ear,
                                 const struct sockaddr *addr);
void vc__inproc_unlisten(struct vc__ear *ear);
uint16_t vc__inproc_port(const struct vc__ear *ear);
void vc__inproc_reject(const struct vc__incoming *in, const void *data,
                       size_t len);

#endif
