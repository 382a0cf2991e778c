/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * RDMA as one engine uses it: its rdma_cm event channel and the devices that it
 * has met, of which each has an id that sees its removal, for the ids of wires
 * may have ended before. Events are copied and acknowledged at once, so a
 * handler may destroy the id that the event was for (rdma_destroy_id(3) would
 * wait for ever otherwise). The holder of the engine only, except open. */
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
    struct cds_list_head watches; /* ids that see a device's removal */
};

/* An event, copied. */
struct vc__rdma_event {
    enum rdma_cm_event_type type;
    int status;
    struct rdma_cm_id *id;
    uint8_t reads_in;  /* responder_resources, as seen from here */
    uint8_t reads_out; /* initiator_depth, as seen from here */
    uint16_t data_len;
    uint8_t data[256]; /* private data; RDMA_MAX_PRIVATE_DATA */
};

/* What rdma_cm_id.context points to. */
struct vc__rdma_handler {
    void (*event)(struct vc__rdma_handler *h,
                  const struct vc__rdma_event *event);
};

static inline struct vc__rdma_context *
vc__rdma_context_of(struct vc__context *c)
{
    return caa_container_of(c, struct vc__rdma_context, context);
}

/* What a call of librdmacm has returned, as an errno, or 0: at once behind the
 * call. Versions of old return -errno for some failures and leave errno alone
 * (rdma_cm(7), "RETURN CODES"). Every result whose errno is looked at goes
 * through this. */
static inline int
vc__rdma_errno(int result)
{
    if (result == 0)
        return 0;
    return result < -1 ? -result : errno;
}

/* See transport/transport.h. */
enum vc_status vc__rdma_open(struct vc__context *c,
                             const struct vc__context_opts *opts);
void vc__rdma_close(struct vc__context *c);

/* No event channel can be had, with this errno: says why, and what to do. */
enum vc_status vc__rdma_fail_channel(int err);

/* Is there a device that this user may not open, or, when `all`, are there
 * only such? path is the first one's node. */
#define VC__NODE_TEXT 40
bool vc__rdma_forbidden(char path[VC__NODE_TEXT], bool all);

/* True, and *error says so, when this process has too few descriptors left for
 * librdmacm to find devices, which it takes for there being none. */
bool vc__rdma_lacks_descriptors(struct vc__error *error);

/* Does it use this device, or has it and not let go of it yet? */
bool vc__rdma_has_met(const struct vc__rdma_context *c,
                      const struct ibv_device *device);

/* The device of an id, for the caller to use until it calls vc__device_put();
 * errors as vc__device_new(). */
enum vc_status vc__rdma_device(struct vc__rdma_context *c,
                               struct rdma_cm_id *id,
                               struct vc__device **device);

/* The number of RDMA READs at a time in one direction: no more than we wish,
 * the peer offers and the device can. The kernel does not do this. */
uint8_t vc__rdma_reads(unsigned wish, unsigned peer, int device);

#endif
