/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Registered buffers of one size, taken from slabs within a budget. Slabs stay
 * registered until vc__buffers_fini(). The holder of the engine only, or the
 * thread that opens or tries a device which no engine uses; fini also within
 * vc__rdma_close(); vc__fail_pinned(): any thread.
 *
 * Called by: buffer.c (fail_pinned, buffers_give), device_queues.c
 * (fail_pinned, buffers_init, buffers_fini, buffers_reserve), group_queues.c
 * (fail_pinned), transport/ud/port_queues.c (buffers_init, buffers_fini,
 * buffers_reserve, buffers_take), device.c (buffers_reserve, buffers_take),
 * qp.c (buffers_reserve, buffers_take, buffers_give), transport/ud/port_send.c
 * (buffers_reserve, buffers_take, buffers_give). */
#ifndef VC_TRANSPORT_RDMA_BUFFER_H
#define VC_TRANSPORT_RDMA_BUFFER_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#include <verbcall/status.h>

#include "transport/wire/packet.h"

/* The size of the buffers of connections: that of the longest packet, header
 * included. */
#define VC__BUFFER_SIZE VC__PACKET_MAX

struct vc__buffer {
    uint8_t *data; /* of its pool's size */
    uint32_t lkey;
    struct vc__buffer *next; /* next in the free list */
};

struct vc__slab;

struct vc__buffers {
    struct ibv_pd *pd;
    const char *use; /* for error texts: "receive" or "send" */
    size_t size;     /* bytes of a buffer */
    size_t limit;    /* bytes that may be registered */
    size_t budget;   /* bytes that may still be registered */
    struct vc__buffer *free;
    unsigned n_free;
    struct vc__slab *slabs;
};

/* Sets the error for an operation that needs pinned memory and failed with this
 * errno. The format names the operation; the text adds the cause and, if the
 * limit of locked memory may be the cause, how to raise it. Returns the error's
 * status. Called by slab_add(), and by vc__device_fail() for the other objects
 * of a device. */
enum vc_status vc__fail_pinned(int err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Init when the device is opened, fini when it is closed (device_queues.c).
 * Registers nothing yet; budget is the limit in bytes, size that of a
 * buffer. */
void vc__buffers_init(struct vc__buffers *b, struct ibv_pd *pd, const char *use,
                      size_t size, size_t budget);
/* Unregisters and frees all buffers; none of them is posted any more. */
void vc__buffers_fini(struct vc__buffers *b);

/* Registers memory, if needed, so that n buffers can be taken: for new receives
 * (device.c), for the sends of a QP that is set up (qp.c), and to try a device.
 * VC_RESOURCE_EXHAUSTED  over the budget, over RLIMIT_MEMLOCK, or no memory
 * others                 the device refuses to register, for another reason */
enum vc_status vc__buffers_reserve(struct vc__buffers *b, unsigned n);

/* Takes a buffer that was reserved, never NULL: for a receive (device.c), or
 * for a QP that is set up (qp.c). Gives one back when the QP is released, or
 * adds a new one (slab_add()). */
struct vc__buffer *vc__buffers_take(struct vc__buffers *b);
void vc__buffers_give(struct vc__buffers *b, struct vc__buffer *buffer);

#endif
