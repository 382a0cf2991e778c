/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The order in which waiting calls begin. Clients take turns; calls of one
 * client begin in the order in which they came, but critical ones first. So the
 * call of a client that sends few calls waits for one call of each other
 * client, however many calls those have waiting. Called by
 * rpc/server/server_handler.c, unless said otherwise. The holder of the engine
 * only.
 *
 * Called by: server_handler.c (turn_await, turn_await_first, turn_take),
 * server_thread.c (turn_leave). */
#ifndef VC_RPC_SERVER_TURN_H
#define VC_RPC_SERVER_TURN_H

#include "rpc/server/server_call.h"

/* Queues the call, which has just come, while other calls wait, and a task:
 * when that runs, vc__turn_take() chooses the call that begins. Called by
 * came_after_others(). */
void vc__turn_await(struct vc_call *call);

/* Queues the task of a call that has come while no other call waits. The call
 * comes next in any order, so it is in no client's queue; vc__turn_take()
 * returns it. Called by vc__call_came(). */
static inline void
vc__turn_await_first(struct vc_call *call)
{
    struct vc__server_part *part = vc__call_part(call);

    call->queued = false;
    part->first = call;
    vc__engine_handle(&part->progress->engine, &call->task);
}

/* Called from the task of a waiting call, call_run(). Returns the call whose
 * turn it is, which is queued no more; if that is another one, `call` goes on
 * waiting, and its task takes the place of the other's. */
struct vc_call *vc__turn_take(struct vc_call *call);

/* Removes a waiting call, which will not begin. Called by on_no_turn()
 * (rpc/server/server_thread.c), a timer, before the call is refused. */
void vc__turn_leave(struct vc_call *call);

#endif
