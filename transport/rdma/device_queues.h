/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A device opened, with its queues and the books of its buffers, and closed
 * again: a part of transport/rdma/device.h that needs no engine. */
#ifndef VC_TRANSPORT_RDMA_DEVICE_QUEUES_H
#define VC_TRANSPORT_RDMA_DEVICE_QUEUES_H

#include "transport/rdma/device.h"

#define VC__SRQ_SIZE 16384u

/* Receives posted beyond what peers were promised: a filled buffer is told to
 * its sender as posted again before it is, by a batch at most. */
#define VC__SPARE_RECEIVES 32u

/* An operation on the device failed with this errno: "rxe0: cannot make WHAT",
 * and why. */
enum vc_status vc__device_fail(const struct vc__device *d, const char *what,
                               int err);

/* Any thread. NULL, and vc__error_last(): errors as vc__device_new(). */
struct vc__device *vc__device_open(struct ibv_device *device, size_t memory,
                                   unsigned warm);
/* The engine's ledger hears of it, if it has an engine. */
void vc__device_close(struct vc__device *d);

/* Would a first connection find what it needs of this device: descriptors,
 * queues, memory that may be pinned? Nothing stays. Any thread. Errors as
 * vc__device_new(). */
enum vc_status vc__device_try(struct ibv_device *device);

#endif
