/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The option adaptive_limit: no more handlers of a method wait for others at a
 * time than those can do (rpc/server/gradient.h). Of handlers on threads of the
 * crew; streams, which take as long as they are long, do not count. No client
 * gets all of them: what is left is shared out as threads are. */
#ifndef VC_RPC_SERVER_ADAPT_H
#define VC_RPC_SERVER_ADAPT_H

#include "rpc/server/server_call.h"

/* False: the call is one too many. True: one of these follows. */
bool vc__adapt_take(struct vc_call *call);

/* Any thread. It has run so long; or not at all, or how long it ran says
 * nothing. */
void vc__adapt_ran(struct vc_call *call, uint64_t us);
void vc__adapt_forget(struct vc_call *call);

#endif
