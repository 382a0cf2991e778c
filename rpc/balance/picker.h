/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Chooses a server for each attempt of a call, by the policy of its channel.
 * The policies have gRPC's names and its rules: pick_first (proposal A62),
 * round_robin, weighted_round_robin (A58), least_request (A48), ring_hash (A42),
 * priority; nearest is ours. A choice takes no lock: it reads what the
 * pools have published (cm/pool/pool.h, "health"). Any thread. See
 * doc/balancing.md.
 *
 * Called by: servers.c (pick, elsewhere), changes.c (moved). */
#ifndef VC_RPC_PICKER_H
#define VC_RPC_PICKER_H

#include "rpc/balance/field.h"

/* Zeroed, with the policy set. Any thread. */
struct vc__picker {
    enum vc__policy policy;
    atomic_uint at;    /* pick_first: the last choice; round_robin: the next */
    atomic_bool whole; /* a hint: all servers were connected at the last look */
};

/* Returns the server for this attempt: one that is connected, rather not the
 * one before. If none is, one that may be soon: the call then waits for the
 * connection, or fails with what is wrong. Has servers connected that the
 * policy wants connected. */
struct vc__subchannel *vc__picker_pick(struct vc__picker *k,
                                       const struct vc__server_set *set,
                                       const struct vc__pick *pick);

/* The set has changed: pick_first stays with its server, if that is still
 * there; else it begins with the first. Called by changes.c. */
void vc__picker_moved(struct vc__picker *k, const struct vc__server_set *from,
                      const struct vc__server_set *to);

/* True if vc__picker_pick() would choose another server than this one: another
 * is connected, or this one is not and another is not known to fail; of the
 * same tier, unless all of that fail. Called
 * when an attempt has failed without having been sent. */
bool vc__picker_elsewhere(const struct vc__server_set *set,
                          const struct vc__pool *before);

#endif
