/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Weights by load reports (gRPC's proposal A58, reports of each call) of a
 * channel with the policy weighted_round_robin. From the first report on a
 * timer of its engine computes the weights, and has servers chosen by them; it
 * stops when all have expired. The rules are in rpc/balance/load_weight.h. All
 * functions but vc__loads_take(): the thread that opens or closes the channel.
 *
 * Called by: rpc/client/channel.c (begin), rpc/client/attempt.c (take),
 * servers.c (stop, free). */
#ifndef VC_RPC_LOADS_H
#define VC_RPC_LOADS_H

#include "rpc/balance/servers.h"
#include "transport/wire/metadata.h"

/* Begins, if the policy is weighted_round_robin, there may be several servers
 * and reports are not ignored: sets sv->loads. No call was made yet. False if
 * memory is short. Called by vc_channel_open(). */
bool vc__loads_begin(struct vc__servers *sv,
                     const struct vc__load_rules *rules);

/* A reply to a call of this client has this metadata: takes the report, if
 * there is one. Called by metadata_take() of attempt.c, on the holder. */
void vc__loads_take(struct vc__loads *ls, const struct vc__client *client,
                    const struct vc__metadata_view *metadata);

/* Stops the timer, on the holder, and waits for that; later reports do not
 * start it. Called by vc_channel_close(). */
void vc__loads_stop(struct vc__loads *ls);
/* No call uses the channel any more. NULL is allowed. */
void vc__loads_free(struct vc__loads *ls);

#endif
