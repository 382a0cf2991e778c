/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a policy of the program's own may know of the call that needs a server
 * (verbcall/policy.h). On the thread that starts the attempt, or opens the
 * stream: for all attempts of a call that blocks the caller's. On the holder
 * for hedges, and for further attempts of asynchronous calls and streams.
 *
 * Called by: channel.c (of). */
#ifndef VC_RPC_PICK_FACTS_H
#define VC_RPC_PICK_FACTS_H

#include "rpc/balance/custom.h"

/* Returns the facts of the attempt, or the stream, whose key this is; valid
 * until that is started. facts() of struct vc__custom: vc__custom_pick() calls
 * it, directly or not. */
struct vc__pick_facts vc__pick_facts_of(const struct vc__pick_key *key);

#endif
