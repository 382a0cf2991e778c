/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Failed system calls that shared memory needs. A container's seccomp profile
 * may always refuse them with EPERM or ENOSYS, and systemd may refuse sockets
 * of this host with EAFNOSUPPORT. Any thread; called when a socket or a region
 * could not be made, within dial(), prepare() and listen() of the table.
 *
 * Called by: connect.c (shm_fail), listen.c (shm_fail), wire.c (shm_fail). */
#ifndef VC_TRANSPORT_SHM_REFUSAL_H
#define VC_TRANSPORT_SHM_REFUSAL_H

#include <verbcall/status.h>

/* Sets the thread's error: `what` could not be done, as `call` failed with err.
 * A refused call gives VC_PERMISSION_DENIED, so that it is not retried.
 * Returns the error's status. */
enum vc_status vc__shm_fail(const char *what, const char *call, int err);

#endif
