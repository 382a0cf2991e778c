/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/policy.h. */
#include "rpc/balance/policy.h"

#include <string.h>

#include "transport/core/error.h"

static const char *const names[] = {
    [VC__POLICY_PICK_FIRST] = "pick_first",
    [VC__POLICY_ROUND_ROBIN] = "round_robin",
    [VC__POLICY_WEIGHTED_ROUND_ROBIN] = "weighted_round_robin",
    [VC__POLICY_LEAST_REQUEST] = "least_request",
    [VC__POLICY_RING_HASH] = "ring_hash",
    [VC__POLICY_PRIORITY] = "priority",
    [VC__POLICY_NEAREST] = "nearest",
};

#define N_NAMES (sizeof names / sizeof names[0])

enum vc_status
vc__policy_parse(enum vc__policy *policy, const char *name)
{
    *policy = VC__POLICY_PICK_FIRST;
    if (name == NULL)
        return VC_OK;
    for (unsigned i = 0; i < N_NAMES; i++) {
        if (strcmp(name, names[i]) == 0) {
            *policy = (enum vc__policy)i;
            return VC_OK;
        }
    }
    return vc__fail(VC_INVALID_ARGUMENT,
                    "vc_channel_opts.policy: \"%.60s\" is none of pick_first, "
                    "round_robin, weighted_round_robin, least_request, "
                    "ring_hash, priority, nearest, and no other policy of this "
                    "name is registered",
                    name);
}

bool
vc__policy_is_own(const char *name)
{
    for (unsigned i = 0; i < N_NAMES; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}
