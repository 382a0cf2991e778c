/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/shm/refusal.h. */
#include "transport/shm/refusal.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "transport/core/error.h"

enum vc_status
vc__shm_fail(const char *what, const char *call, int err)
{
    bool refused = err == EPERM || err == ENOSYS || err == EAFNOSUPPORT;

    if (!refused)
        return vc__fail_errno(err, "%s: %s", what, call);
    return vc__fail(VC_PERMISSION_DENIED,
                    "%s: %s: %s; see that the seccomp profile of this process, "
                    "or of its container, allows it",
                    what, call, strerror(err));
}
