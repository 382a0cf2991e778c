/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The names of the policies by which a channel chooses a server: those of gRPC,
 * and nearest. Pure.
 *
 * Called by: rpc/client/channel.c (parse). */
#ifndef VC_RPC_POLICY_H
#define VC_RPC_POLICY_H

#include <verbcall/status.h>

enum vc__policy {
    VC__POLICY_PICK_FIRST,
    VC__POLICY_ROUND_ROBIN,
    VC__POLICY_WEIGHTED_ROUND_ROBIN,
    VC__POLICY_LEAST_REQUEST,
    VC__POLICY_RING_HASH,
    VC__POLICY_PRIORITY,
    VC__POLICY_NEAREST,
};

/* Reads the name of a policy; NULL is pick_first. VC_INVALID_ARGUMENT if there
 * is none of this name. Called by vc_channel_open(). */
enum vc_status vc__policy_parse(enum vc__policy *policy, const char *name);

#endif
