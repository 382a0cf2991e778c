/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Registered buffers of one size, taken from slabs within a budget. Slabs are
 * never given back before the end. The holder of the engine only. */
#ifndef VC_TRANSPORT_RDMA_BUFFER_H
#define VC_TRANSPORT_RDMA_BUFFER_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#include <verbcall/status.h>

#include "transport/wire/packet.h"

/* Bytes of a packet, header included, and so of every buffer. */
#define VC__BUFFER_SIZE VC__PACKET_MAX

struct vc__buffer {
    uint8_t *data; /* VC__BUFFER_SIZE bytes */
    uint32_t lkey;
    struct vc__buffer *next; /* while free */
};

struct vc__slab;

struct vc__buffers {
    struct ibv_pd *pd;
    const char *use; /* for error texts: "receive" or "send" */
    size_t limit;    /* bytes that may be registered */
    size_t budget;   /* of them, those that may still be */
    struct vc__buffer *free;
    unsigned n_free;
    struct vc__slab *slabs;
};

/* What needs memory pinned has failed with this errno. The format says what it
 * was; why follows, and how the limit of locked memory is raised if that is in
 * the way. */
enum vc_status vc__fail_pinned(int err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void vc__buffers_init(struct vc__buffers *b, struct ibv_pd *pd, const char *use,
                      size_t budget);
void vc__buffers_fini(struct vc__buffers *b);

/* Makes sure that n buffers can be taken.
 * VC_RESOURCE_EXHAUSTED  over the budget, over RLIMIT_MEMLOCK, or no memory
 * others                 the device refuses to register, for another reason */
enum vc_status vc__buffers_reserve(struct vc__buffers *b, unsigned n);

/* One that was reserved, and back. */
struct vc__buffer *vc__buffers_take(struct vc__buffers *b);
void vc__buffers_give(struct vc__buffers *b, struct vc__buffer *buffer);

#endif
