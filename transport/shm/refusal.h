/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * System calls that shared memory needs and that fail. A container's seccomp
 * profile may refuse them for good, by EPERM or ENOSYS, and systemd sockets of
 * this host by EAFNOSUPPORT. */
#ifndef VC_TRANSPORT_SHM_REFUSAL_H
#define VC_TRANSPORT_SHM_REFUSAL_H

#include <verbcall/status.h>

/* Sets the thread's error: `what` could not be done, as `call` failed with err.
 * A call that is refused gives VC_PERMISSION_DENIED, so that nobody tries it
 * again. */
enum vc_status vc__shm_fail(const char *what, const char *call, int err);

#endif
