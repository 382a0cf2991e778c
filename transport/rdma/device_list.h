/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * librdmacm's list of devices, of which a process has one. librdmacm keeps a
 * removed device open until it next compares its list with the system's, and
 * `rdma link delete` waits for that. (If no other device is left, librdmacm
 * keeps the removed one open until the process ends.)
 *
 * Before rdma-core 52, librdmacm sorts the list by the difference of two
 * pointers, cut to an int (dev_cmp() of its cma.c). Pointers 2 GiB or more
 * apart, as malloc() may return to the main thread and to another thread, are
 * sorted wrongly. Then librdmacm drops a present device together with the
 * removed one, and the next use of librdmacm deadlocks. Therefore a thread of
 * its own reads the system's list first: its memory is never the main thread's
 * while malloc() has arenas left. If devices are far apart, or no thread can be
 * started, librdmacm does not compare its list: the removed one stays open. Any
 * thread; the calls may wait for that thread. vc__device_list_is_near() is
 * pure.
 *
 * Called by: ask.c (read, expect), context.c (read), device_list.c (read,
 * is_near), group.c (read, let_go), group_join.c (expect), listen.c (expect,
 * let_go), wire_connect.c (expect), transport/ud/connect.c (expect), device.c
 * (let_go). */
#ifndef VC_TRANSPORT_RDMA_DEVICE_LIST_H
#define VC_TRANSPORT_RDMA_DEVICE_LIST_H

#include <stdbool.h>
#include <stdint.h>

struct ibv_device;

/* Reads the system's devices by libibverbs, which keeps them for librdmacm's
 * first use of them. So it is to be called before any other use of librdmacm:
 * by vc__rdma_open() and vc__rdma_ask(), and by vc__device_list_expect().
 * Without memory for a thread nothing is read. */
void vc__device_list_read(void);

/* Calls vc__device_list_read() if a device was removed that may be back now.
 * Called before an id is made to dial, to listen or to ask. */
void vc__device_list_expect(void);

/* Makes librdmacm close this device, which was removed; we have nothing of it
 * open at this engine. `removed` may be freed already. Called on the holder,
 * when a doomed device was freed, or when a listener's device was removed that
 * this engine has open for no wire. */
void vc__device_list_let_go(const struct ibv_device *removed);

/* True if dev_cmp() sorts these n pointers correctly: they are at most 2^31 - 1
 * bytes apart. Called by devices_read(). */
bool vc__device_list_is_near(const uintptr_t *at, unsigned n);

#endif
