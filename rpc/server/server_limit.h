/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Limits the number of calls that may run at a time: of a server, of a service,
 * of a method, of a session. A call counts from its arrival until it has ended.
 * The holder of the engine only, except vc__limit_is_set(), which any thread
 * may call, and the program's vc_server_limit() (verbcall/server.h).
 *
 * Called by: server_begin.c (limit_is_set, limit_take), server_handler.c
 * (limit_give), server_reply.c (limit_give). */
#ifndef VC_RPC_SERVER_LIMIT_H
#define VC_RPC_SERVER_LIMIT_H

#include "rpc/server/server_call.h"

/* In vc_call.counted: the reply is counted for load reports, and has one
 * (rpc/server/server_load.h). */
#define VC__COUNTED_LOAD 8u

/* True once any limit of the server was set, or if its replies have load
 * reports. Asked by call_admit() for a new call. Relaxed: a limit that was set
 * at this moment holds only from a later call on. */
static inline bool
vc__limit_is_set(const struct vc_server *server)
{
    return atomic_load_explicit(&server->limited, memory_order_relaxed);
}

/* Counts a call whose method is known. Returns NULL, or why the call may not
 * run: a static text, with which it is refused. Then, too, it may be in some of
 * the counts until vc__limit_give(). Called by call_admit()
 * (rpc/server/server_begin.c) for a new call if vc__limit_is_set(), unless it
 * is refused for lack of memory. */
const char *vc__limit_take(struct vc_call *call);

/* The call ends: takes it out of the counts that it is in. Called for a call
 * that is in any by reply_count() (rpc/server/server_reply.c), before the reply
 * is sent, also that of a refusal, and by call_skip()
 * (rpc/server/server_handler.c). */
void vc__limit_give(struct vc_call *call);

#endif
