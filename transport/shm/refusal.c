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

    return vc__fail(refused ? VC_PERMISSION_DENIED : vc__status_of_errno(err),
                    "%s: %s: %s%s", what, call, strerror(err),
                    refused ? "; see that the seccomp profile of this process, "
                              "or of its container, allows it"
                            : "");
}
