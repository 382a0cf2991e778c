/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The guest's port and device, taken away and given back. For a process that
 * does not use RDMA itself. */
#ifndef VC_TESTS_SUITE_DEVICE_H
#define VC_TESTS_SUITE_DEVICE_H

#include <stdbool.h>

/* Skips the test anywhere else: only the guest's machine may be changed. */
void device_need_guest(void);

/* The port down, and up again, with its addresses; and its state. */
void device_port_down(void);
void device_port_up(void);
void device_await_active(void);

/* Returns when no command lists the device. The one that removes it goes on
 * until no process has it open any more. */
void device_remove(void);

/* A new device, once nobody has the old one open. */
void device_renew(void);

/* The same, if it was taken away or its port was, and not renewed since: for
 * the teardown of tests. */
void device_restore(void);

/* A further device, rxe1 at DEVICE_SECOND, which is there when make returns
 * and not listed any more when remove does. The latter goes on as that of the
 * first does; renew makes another, once nobody has it open. end leaves nothing of it; for teardowns. */
#define DEVICE_SECOND "10.9.2.1"
void device_second_make(void);
void device_second_remove(void);
void device_second_renew(void);
void device_second_end(void);

#endif
