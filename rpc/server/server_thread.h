/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Finds a thread for a handler that is to begin on one of its own, as it is
 * expected to block or likely to lose its engine, or ends the wait for one.
 * A call that gets no thread in time (vc__overload_thread_wait()) is shed, so
 * that its client may try again, or try another server. The holder of the
 * engine only.
 *
 * Called by: server_handler.c (thread_take, thread_look, thread_found),
 * server_thread.c (thread_look), server_cancel.c (thread_forgo). */
#ifndef VC_RPC_SERVER_THREAD_H
#define VC_RPC_SERVER_THREAD_H

#include "rpc/server/server_call.h"

/* Called by call_handle() (rpc/server/server_handler.c) if the handler must
 * begin on a thread of its own, since the method tends to block or its runs
 * tend to be taken over. True: run(), which is call_run_on_crew(), will run on
 * a thread, with call->job, now or later; or the call is shed, now or after its
 * wait, or cancelled meanwhile, and then its task runs with the status in the
 * call. False: no thread is there for the job, and none will come free: the
 * caller runs the handler itself. */
bool vc__thread_take(struct vc_call *call,
                     void (*run)(struct vc__job *job,
                                 struct vc__handler_run *handler_run));

/* Called by came_after_others() (rpc/server/server_handler.c) when a call is
 * queued after others and the timer does not run, and by that timer while calls
 * wait for their turn: starts the timer, unless the part closes. It checks
 * whether handlers may begin. If not, as all threads are in handlers, the same
 * time limit holds for calls that wait for their turn. */
void vc__thread_look(struct vc__server_part *part);

/* The call was cancelled: it stops waiting for a thread, if it does, and its
 * task ends it. Does nothing if its handler runs or it waits for its turn.
 * Called by vc__call_cancel() (rpc/server/server_cancel.c). */
void vc__thread_forgo(struct vc_call *call);

/* The call no longer waits: stops its timer, if that runs. Called by both kinds
 * of its task (rpc/server/server_handler.c): call_run(), when its turn has
 * come, and server_handler_call_finish(), when it has ended. */
static inline void
vc__thread_found(struct vc_call *call)
{
    if (vc__timer_running(&call->overdue))
        vc__timer_stop(&vc__call_part(call)->progress->engine.timers,
                       &call->overdue);
}

#endif
