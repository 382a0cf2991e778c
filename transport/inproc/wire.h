/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Wires and ears of inproc; the operations are told in
 * transport/transport.h. */
#ifndef VC_TRANSPORT_INPROC_WIRE_H
#define VC_TRANSPORT_INPROC_WIRE_H

#include "transport/inproc/half.h"

struct vc__inproc_wire {
    struct vc__wire wire;
    struct vc__inproc_half *half; /* NULL: none yet */
    bool owned;                   /* the half is ours to end */
    bool active;                  /* the side that connects */
    bool left;                    /* the peer was told that we leave */
    struct vc__task task;         /* of connecting */
};

struct vc__inproc_ear {
    struct vc__ear ear;
    struct cds_list_head node;   /* lock: among those that listen */
    struct cds_list_head asking; /* lock: halves whose REQUEST is on its way */
    struct sockaddr_storage addr;
    bool listens; /* the holder's */
};

/* ear.c. Under the lock: who listens at this address; NULL: nobody. */
struct vc__inproc_ear *vc__inproc_find(const struct sockaddr_storage *addr);

/* ear.c: a REQUEST has come. */
void vc__inproc_request(struct vc__context *c, struct vc__inproc_half *half);

enum vc_status vc__inproc_listen(struct vc__ear *ear,
                                 const struct sockaddr *addr);
void vc__inproc_unlisten(struct vc__ear *ear);
uint16_t vc__inproc_port(const struct vc__ear *ear);
void vc__inproc_reject(const struct vc__incoming *in, const void *data,
                       size_t len);

#endif
