/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread for a handler that tends to block, or an end of the wait for one: a
 * call that finds none in time (vc__overload_patience()) is shed, so that its
 * client may ask again, or elsewhere. The holder of the engine only. */
#ifndef VC_RPC_SERVER_THREAD_H
#define VC_RPC_SERVER_THREAD_H

#include "rpc/server/server_call.h"

/* Its method tends to block: run() runs on a thread, with call->job, now or
 * later; or the call is shed, and its task runs with the status in the call.
 * False: there are no threads for jobs. */
bool vc__thread_take(struct vc_call *call,
                     void (*run)(struct vc__job *job,
                                 struct vc__handler_run *handler_run));

/* Calls wait for their turn: when no handler may begin, as all threads are in
 * some, the same limit holds for them. Looks for that from time to time. */
void vc__thread_look(struct vc__server_part *part);

/* Nobody waits for it: nor does it, for a thread. */
void vc__thread_forgo(struct vc_call *call);

/* It waits no more. */
static inline void
vc__thread_found(struct vc_call *call)
{
    if (vc__timer_running(&call->overdue))
        vc__timer_stop(&vc__call_part(call)->progress->engine.timers,
                       &call->overdue);
}

#endif
