/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How many calls may run at a time: of a server, of a service, of a method, of a
 * session. A call counts from its coming until it has ended. */
#ifndef VC_RPC_SERVER_LIMIT_H
#define VC_RPC_SERVER_LIMIT_H

#include "rpc/server/server_call.h"

/* Is any limit set? Relaxed: a limit that was set this moment holds from some
 * call on. */
static inline bool
vc__limit_is_set(const struct vc_server *server)
{
    return atomic_load_explicit(&server->limited, memory_order_relaxed);
}

/* Counts a call that has its method. NULL, or why it may not run: a static
 * text. The holder of the engine. */
const char *vc__limit_take(struct vc_call *call);

/* It ends. The same. */
void vc__limit_give(struct vc_call *call);

#endif
