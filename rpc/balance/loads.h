/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Weights by load reports (gRPC's proposal A58, reports of each call) of a
 * channel with the policy weighted_round_robin, or one that may change to it.
 * From the first report on a timer of its engine computes the weights, and has
 * servers chosen by them; it stops when all have expired. The rules are in
 * rpc/balance/load_weight.h. All functions but vc__loads_take() and
 * vc__loads_follow(): the thread that opens or closes the channel.
 *
 * Called by: rpc/client/channel.c (begin, stop, free), rpc/client/attempt.c
 * (take), rpc/client/channel_config.c (follow), servers.c (stop). */
#ifndef VC_RPC_LOADS_H
#define VC_RPC_LOADS_H

#include "rpc/balance/servers.h"
#include "transport/wire/metadata.h"

/* Begins, if the policy is weighted_round_robin, or one of the library that may
 * change, and reports are not ignored: sets sv->loads. No call was made yet,
 * and if the policy may change no resolver was opened. False if memory is
 * short; no error is set. True, too, if nothing is to begin. Called inside
 * vc_channel_open(). */
bool vc__loads_begin(struct vc__servers *sv, const struct vc__load_rules *rules,
                     bool policy_may_change);

/* A reply to a call of this client has this metadata: counts the report and
 * takes it, if there is one, and the policy is weighted_round_robin. Called by
 * metadata_take() of attempt.c, on the holder. */
void vc__loads_take(struct vc__loads *ls, const struct vc__client *client,
                    const struct vc__metadata_view *metadata);

/* From now on the rules are those of the channel's options, but for the options
 * here that are not 0: those of a service config. Any thread, before the
 * channel is freed; called by loads_use() of channel_config.c, one thread at a
 * time. The rules change by a task, on the holder. */
void vc__loads_follow(struct vc__loads *ls, const struct vc_load_opts *opts);

/* Has the holder stop the timer, and waits for that; later reports do not start
 * it. Called inside vc_channel_close(), and inside a vc_channel_open() that
 * fails. */
void vc__loads_stop(struct vc__loads *ls);
/* Frees it: no call uses the channel any more. NULL is allowed. */
void vc__loads_free(struct vc__loads *ls);

#endif
