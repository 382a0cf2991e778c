/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * librdmacm's list of devices, which a process has one of. It keeps a device
 * open that was removed until it next compares its list with the system's, and
 * `rdma link delete` waits for that. (It does not while there is no other
 * device: then it keeps it until the process ends.)
 *
 * Before rdma-core 52 it sorts by the difference of two pointers, cut to an
 * int (dev_cmp() of its cma.c). Where they are 2 GiB apart or more, as what
 * malloc() gives to the main thread and to another may be, a device that is
 * there is dropped with the one that went, and the next use of librdmacm
 * waits for itself without end. So the system's list is always read by a
 * thread of its own first, whose memory is never the main thread's as long as
 * malloc() has arenas left; and where devices are far apart nothing is done:
 * the removed one stays open. */
#ifndef VC_TRANSPORT_RDMA_DEVICE_LIST_H
#define VC_TRANSPORT_RDMA_DEVICE_LIST_H

#include <stdbool.h>
#include <stdint.h>

struct ibv_device;

/* The system's devices become known: before librdmacm is asked for anything.
 * Any thread. */
void vc__device_list_read(void);

/* The same when one was removed that may be back now. */
void vc__device_list_expect(void);

/* Has librdmacm let go of this one, which was removed; nothing of it is open
 * by us. It may be freed already. Any thread. */
void vc__device_list_let_go(const struct ibv_device *removed);

/* Does it sort these n, at most 2^31 - 1 bytes apart from each other? */
bool vc__device_list_is_near(const uintptr_t *at, unsigned n);

#endif
