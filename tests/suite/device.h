/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Takes the guest's RDMA port and device away and gives them back. For a
 * process that does not use RDMA itself. */
#ifndef VC_TESTS_SUITE_DEVICE_H
#define VC_TESTS_SUITE_DEVICE_H

#include <stdbool.h>

/* Skips the test outside the guest: only the guest's configuration may be
 * changed. */
void device_need_guest(void);

/* Set the port down, and up again with its addresses; wait until the port is
 * active. */
void device_port_down(void);
void device_port_up(void);
void device_await_active(void);

/* Returns when no command lists the device any more. The command that removes
 * the device keeps running until no process has the device open. */
void device_remove(void);

/* Makes a new device, once no process has the old one open. */
void device_renew(void);

/* Calls device_renew() if the device or its port was taken away and not renewed
 * since: for the teardown of tests. */
void device_restore(void);

/* A second device, rxe1 at DEVICE_SECOND. make returns when the port is active.
 * remove returns when the device is not listed any more; its command keeps
 * running as that of device_remove() does. renew makes the device again, once
 * no process has the old one open. end removes the device and its interface;
 * for teardowns. */
#define DEVICE_SECOND "10.9.2.1"
void device_second_make(void);
void device_second_remove(void);
void device_second_renew(void);
void device_second_end(void);

#endif
