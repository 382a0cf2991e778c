/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * RDMA as one engine uses it: its rdma_cm event channel and the devices that it
 * has used. Each device has an id of its own to receive DEVICE_REMOVAL, because
 * the ids of its wires may have been destroyed before. Events are copied and
 * acknowledged at once, so that a handler may destroy the id of its event
 * (otherwise rdma_destroy_id(3) would wait for ever). The holder of the engine
 * only, except vc__rdma_open(), vc__rdma_close(), vc__rdma_context_of() and the
 * functions that use no context: any thread.
 *
 * Called by: wire.c (rdma_open, rdma_close, rdma_device), transport/ud/port.c
 * (rdma_open, rdma_close, rdma_device), ask.c (rdma_fail_channel), context.c
 * (rdma_fail_channel, rdma_lacks_descriptors), group_join.c
 * (rdma_fail_channel), failure.c (rdma_forbidden, rdma_lacks_descriptors),
 * listen.c (rdma_forbidden, rdma_lacks_descriptors, rdma_has_met),
 * wire_connect.c (rdma_reads), many files (rdma_context_of, rdma_errno). */
#ifndef VC_TRANSPORT_RDMA_CONTEXT_H
#define VC_TRANSPORT_RDMA_CONTEXT_H

#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "transport/core/engine.h"
#include "transport/transport.h"

struct vc__device;

struct vc__rdma_context {
    struct vc__context context;
    struct vc__context_opts opts;
    struct rdma_event_channel *channel;
    struct vc__source source;
    struct cds_list_head devices;
    struct cds_list_head watches; /* ids that receive DEVICE_REMOVAL */
};

/* A copy of a struct rdma_cm_event. */
struct vc__rdma_event {
    enum rdma_cm_event_type type;
    int status;
    struct rdma_cm_id *id;
    uint8_t reads_in;  /* responder_resources, from our point of view */
    uint8_t reads_out; /* initiator_depth, from our point of view */
    /* Of the answer to a datagram id: where to send, and the key to send. */
    struct ibv_ah_attr ah;
    uint32_t qpn, qkey;
    uint16_t data_len;
    uint8_t data[256]; /* private data; up to RDMA_MAX_PRIVATE_DATA */
};

/* What rdma_cm_id.context points to. The context calls event() on the holder of
 * the engine for each event of the id, when the channel is readable. */
struct vc__rdma_handler {
    void (*event)(struct vc__rdma_handler *h,
                  const struct vc__rdma_event *event);
};

/* The context of RDMA that has this head. For this folder. */
static inline struct vc__rdma_context *
vc__rdma_context_of(struct vc__context *c)
{
    return caa_container_of(c, struct vc__rdma_context, context);
}

/* The result of a librdmacm call as an errno, or 0. Must follow the call
 * directly. Old versions return -errno for some failures and leave errno unset
 * (rdma_cm(7), "RETURN CODES"), so every result whose errno matters goes
 * through this function. */
static inline int
vc__rdma_errno(int result)
{
    if (result == 0)
        return 0;
    return result < -1 ? -result : errno;
}

/* Entries of the table vc__rdma (transport/transport.h), called by
 * cm/connect/cm.c: open under its lock, on any thread, when the engine first
 * uses RDMA; close by vc_runtime_free(), on its thread, when no thread advances
 * the engine any more. Open returns VC_OK; or another status with the thread's
 * error set, and then nothing is left open. */
enum vc_status vc__rdma_open(struct vc__context *c,
                             const struct vc__context_opts *opts);
void vc__rdma_close(struct vc__context *c);

/* Sets the error for an event channel that could not be created, or added to
 * epoll, with this errno: the cause and the remedy. Returns the status of that
 * error. Called within vc__rdma_open() and vc__rdma_ask(). */
enum vc_status vc__rdma_fail_channel(int err);

/* True if there is a device that this user may not open; with `all`, only if
 * there is none that this user may open. path is the node of the first such
 * device. Called to explain errors, and before listening, with `all`. */
#define VC__NODE_TEXT 40
bool vc__rdma_forbidden(char path[VC__NODE_TEXT], bool all);

/* True, and *error is set, when this process has too few descriptors left for
 * librdmacm to find devices. librdmacm would report that there are none. Called
 * to explain errors. */
bool vc__rdma_lacks_descriptors(struct vc__error *error);

/* True while this context uses the device, or used it and has not closed it
 * yet. Called when a listener's device was removed. */
bool vc__rdma_has_met(const struct vc__rdma_context *c,
                      const struct ibv_device *device);

/* Gets the device of an id; the caller uses it until it calls vc__device_put().
 * Called by vc__rdma_prepare(). *device is set on VC_OK only; errors as
 * vc__device_new(). */
enum vc_status vc__rdma_device(struct vc__rdma_context *c,
                               struct rdma_cm_id *id,
                               struct vc__device **device);

/* The number of concurrent RDMA READs in one direction: the least of our wish,
 * the peer's offer, and the device's limit. The kernel does not compute
 * this. Pure; called by wire_connect.c when a connection is made. */
uint8_t vc__rdma_reads(unsigned wish, unsigned peer, int device);

#endif
