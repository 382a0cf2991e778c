/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The option adaptive_limit: limits how many handlers of a method wait for
 * others at a time (rpc/server/gradient.h). It counts handlers on threads of
 * the crew; streams, whose time depends on their length, do not count. No
 * client gets all places: the free ones are shared out as threads are. The
 * holder of the engine, or the handler's thread, as noted.
 *
 * Called by: server_thread.c (adapt_take, adapt_forget), server_handler.c
 * (adapt_ran, adapt_forget). */
#ifndef VC_RPC_SERVER_ADAPT_H
#define VC_RPC_SERVER_ADAPT_H

#include "rpc/server/server_call.h"

/* Takes a place for the call. False: the call is one too many, and must be
 * shed. True: the call may run; vc__adapt_ran() or vc__adapt_forget() follows.
 * A call that does not count may always run. Called by vc__thread_take(),
 * before a thread is looked for. The holder of the engine. */
bool vc__adapt_take(struct vc_call *call);

/* Gives the place back: the handler has run for `us` microseconds. Called by
 * server_handler_run_learn() (rpc/server/server_handler.c) on the handler's
 * thread. Does nothing for a call that does not count, or has no place. */
void vc__adapt_ran(struct vc_call *call, uint64_t us);
/* Gives the place back: the handler has not run, or its time says nothing. Does
 * nothing for a call that does not count, or has no place. Called by
 * call_run_on_crew() and server_handler_run_learn() on the handler's thread,
 * and by rpc/server/server_thread.c on the holder for a call that gets no
 * thread. */
void vc__adapt_forget(struct vc_call *call);

#endif
