/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a policy of the program's own may know of the call that needs a server
 * (verbcall/policy.h). On the thread that starts the attempt, or opens the
 * stream, or on the holder for a further one.
 *
 * Called by: channel.c (of). */
#ifndef VC_RPC_PICK_FACTS_H
#define VC_RPC_PICK_FACTS_H

#include "rpc/balance/custom.h"

/* The facts of the attempt, or the stream, whose key this is; valid until that
 * is started. For vc__custom_pick(). */
struct vc__pick_facts vc__pick_facts_of(const struct vc__pick_key *key);

#endif
