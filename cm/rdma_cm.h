/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An engine's connection manager: its rdma_cm event channel and the devices
 * that it has met, of which each has an id that sees its removal, for the ids
 * of links may have ended before. Events are copied and acknowledged at once, so a handler
 * may destroy the id that the event was for (rdma_destroy_id(3) would wait
 * for ever otherwise). The holder of the engine only, except vc__cm_open(). */
#ifndef VC_CM_RDMA_CM_H
#define VC_CM_RDMA_CM_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include <verbcall/status.h>

#include "transport/engine.h"

struct vc__device;

struct vc__cm {
    struct vc__engine *engine;
    size_t memory; /* pinned bytes allowed, each device */
    unsigned warm; /* idle QPs allowed, each device */
    pthread_mutex_t open_lock;
    struct rdma_event_channel *channel; /* NULL until the first use */
    struct vc__source source;
    struct cds_list_head devices;
    struct cds_list_head watches; /* ids that see a device's removal */
};

/* An event, copied. */
struct vc__cm_event {
    enum rdma_cm_event_type type;
    int status;
    struct rdma_cm_id *id;
    uint8_t reads_in;  /* responder_resources, as seen from here */
    uint8_t reads_out; /* initiator_depth, as seen from here */
    uint32_t qpn;      /* the peer's */
    uint16_t data_len;
    uint8_t data[256]; /* private data; RDMA_MAX_PRIVATE_DATA */
};

/* What rdma_cm_id.context points to. */
struct vc__cm_handler {
    void (*event)(struct vc__cm_handler *h, const struct vc__cm_event *event);
};

void vc__cm_init(struct vc__cm *cm, struct vc__engine *engine, size_t memory,
                 unsigned warm);

/* Every id must be gone. */
void vc__cm_fini(struct vc__cm *cm);

/* Makes sure that there is an event channel. Any thread.
 * VC_UNAVAILABLE        no rdma_cm on this machine
 * VC_PERMISSION_DENIED  /dev/infiniband/rdma_cm may not be opened
 * VC_RESOURCE_EXHAUSTED no descriptors left */
enum vc_status vc__cm_open(struct vc__cm *cm);

/* Is there a device that this user may not open, or, when `all`, are there
 * only such? path is the first one's node. */
#define VC__NODE_TEXT 40
bool vc__cm_refused(char path[VC__NODE_TEXT], bool all);

/* The device of an id, for the caller to use until it calls vc__device_put();
 * errors as vc__device_new(). */
enum vc_status vc__cm_device(struct vc__cm *cm, struct rdma_cm_id *id,
                             struct vc__device **device);

/* The number of RDMA READs at a time in one direction: no more than we wish,
 * the peer offers and the device can. The kernel does not do this. */
uint8_t vc__cm_reads(unsigned wish, unsigned peer, int device);

/* "10.9.0.1:7471", "[fe80::1%eth0]:7471" */
#define VC__ADDR_TEXT 80
const char *vc__addr_text(const struct sockaddr *addr,
                          char text[VC__ADDR_TEXT]);

#endif
