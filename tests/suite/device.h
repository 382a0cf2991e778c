/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Takes the guest's port and device away and restores them. For a process that
 * does not use RDMA itself. */
#ifndef VC_TESTS_SUITE_DEVICE_H
#define VC_TESTS_SUITE_DEVICE_H

#include <stdbool.h>

/* Skips the test outside the guest: only the guest's machine may be changed. */
void device_need_guest(void);

/* Sets the port down, and up again with its addresses; waits until it is
 * active. */
void device_port_down(void);
void device_port_up(void);
void device_await_active(void);

/* Removes the device; returns when no command lists it any more. The removing
 * command runs until no process has the device open. */
void device_remove(void);

/* Makes a new device when no process has the old one open. */
void device_renew(void);

/* For the teardown of tests: restores the port or device if it was taken away
 * and not renewed since. */
void device_restore(void);

/* A second device, rxe1 at DEVICE_SECOND. make returns when the device is
 * there, and remove when it is no longer listed; as with the first device the
 * removing command runs on. renew makes another when no process has it open.
 * end, for teardowns, removes all of it. */
#define DEVICE_SECOND "10.9.2.1"
void device_second_make(void);
void device_second_remove(void);
void device_second_renew(void);
void device_second_end(void);

#endif
