/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The names of the policies by which a channel chooses a server: those of gRPC,
 * and nearest; and policies of the program's own. Any thread.
 *
 * Called by: custom.c (all), policy_types.c (is_own). */
#ifndef VC_RPC_POLICY_H
#define VC_RPC_POLICY_H

#include <stdbool.h>

#include <verbcall/status.h>

struct vc_policy_type;

enum vc__policy {
    VC__POLICY_PICK_FIRST,
    VC__POLICY_ROUND_ROBIN,
    VC__POLICY_WEIGHTED_ROUND_ROBIN,
    VC__POLICY_LEAST_REQUEST,
    VC__POLICY_RING_HASH,
    VC__POLICY_PRIORITY,
    VC__POLICY_NEAREST,
    VC__POLICY_CUSTOM, /* of the program: rpc/balance/custom.h */
};

/* Reads the name of a policy of the library into *policy; NULL is pick_first.
 * Returns VC_OK; or VC_INVALID_ARGUMENT, as this thread's last error, if there
 * is none of this name. Called by vc__custom_choose(), inside
 * vc_channel_open(). */
enum vc_status vc__policy_parse(enum vc__policy *policy, const char *name);

/* True if the library has a policy of this name. Called by
 * vc_policy_register(), and for vc_channel_open() by vc__custom_choose(). */
bool vc__policy_is_own(const char *name);

/* rpc/balance/policy_types.c: the registered policy that has this name, which
 * may be followed by a ':' and anything; NULL: there is none. Called by
 * vc_channel_open(). */
const struct vc_policy_type *vc__policy_type_find(const char *name);

#endif
