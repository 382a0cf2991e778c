/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Outlier detection of a channel (gRPC's proposal A50): a timer of its engine
 * has the servers judged in each interval. The rules are in
 * rpc/balance/outlier.h. All functions: the thread that opens or closes the
 * channel.
 *
 * Called by: rpc/client/channel.c (begin), servers.c (stop, free). */
#ifndef VC_RPC_EJECTIONS_H
#define VC_RPC_EJECTIONS_H

#include "rpc/balance/servers.h"

/* Begins, if the policy looks for outliers and sv->only is NULL: sets
 * sv->ejections. The servers, or their resolver, are open, and no call was made
 * yet. Has the holder start the timer, and waits for that. False if memory is
 * short; no error is set. True, too, if nothing is to begin. Called inside
 * vc_channel_open(). */
bool vc__ejections_begin(struct vc__servers *sv,
                         const struct vc__outlier_policy *policy);

/* Has the holder stop the timer, and waits for that. Called by
 * vc__servers_shut(), inside vc_channel_close(), or a vc_channel_open() that
 * fails. */
void vc__ejections_stop(struct vc__ejections *ej);
/* Frees it: no call uses the channel any more. NULL is allowed. */
void vc__ejections_free(struct vc__ejections *ej);

#endif
