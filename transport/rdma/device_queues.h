/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Opens a device with its queues and buffer pools, and closes it: the part of
 * transport/rdma/device.h that needs no engine. Any thread while no engine uses
 * the device; then the holder of the engine, or vc__rdma_close(), when no
 * thread advances the engine any more.
 *
 * Called by: device.c (device_receives_max, device_fail, device_open,
 * device_close), device_queues.c (device_receives_max, device_fail,
 * device_open, device_close), qp.c (device_fail), transport/ud/port_queues.c
 * (device_fail), listen.c (device_try). */
#ifndef VC_TRANSPORT_RDMA_DEVICE_QUEUES_H
#define VC_TRANSPORT_RDMA_DEVICE_QUEUES_H

#include "transport/rdma/device.h"

#define VC__SRQ_SIZE 16384u

/* Receives posted beyond those promised to peers. A sender may get the credit
 * for a filled buffer before the buffer is reposted, for a batch of them at
 * most. */
#define VC__SPARE_RECEIVES 32u

/* The most receives of the device, promised to peers or spare: as many as its
 * SRQ holds. For device_queues.c when the SRQ is made, and for device.c on the
 * holder. */
static inline unsigned
vc__device_receives_max(const struct vc__device *d)
{
    return (unsigned)d->attr.max_srq_wr < VC__SRQ_SIZE
               ? (unsigned)d->attr.max_srq_wr
               : VC__SRQ_SIZE;
}

/* Sets the error for an operation on the device that failed with this errno:
 * "rxe0: cannot make WHAT", and the cause. Returns the error's status. Called
 * when a part of a device or a QP cannot be made. */
enum vc_status vc__device_fail(const struct vc__device *d, const char *what,
                               int err);

/* Returns a device that no engine uses yet. NULL and vc__error_last() on
 * failure; errors as vc__device_new(). Called by vc__device_new() and
 * vc__device_try(). */
struct vc__device *vc__device_open(struct ibv_device *device, size_t memory,
                                   unsigned warm);
/* Closes the device and frees it; updates the ledger of its engine, if it has
 * one. Called when a device is freed or was tried, or could not be opened. */
void vc__device_close(struct vc__device *d);

/* Tests whether a first connection could get what it needs from this device:
 * descriptors, queues, pinned memory. Keeps nothing. Called before a server
 * listens, so that vc_server_listen() fails rather than each later client: on
 * the program's thread, or by the holder of engine 0 that listens again. Errors
 * as vc__device_new(). */
enum vc_status vc__device_try(struct ibv_device *device);

#endif
