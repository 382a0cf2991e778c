/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The order in which calls that have come begin: those of one client in the
 * order of their coming, but critical ones first; the clients in turns. So the call of a client that asks
 * for little waits for one of each other client, however many those have there.
 * The holder of the engine only. */
#ifndef VC_RPC_SERVER_TURN_H
#define VC_RPC_SERVER_TURN_H

#include "rpc/server/server_call.h"

/* Begins when its turn has come: then its task runs. Others wait already. */
void vc__turn_await(struct vc_call *call);

/* The same of one that is alone: the first of all is the next in any order, and
 * is in no queue. */
static inline void
vc__turn_await_first(struct vc_call *call)
{
    struct vc__server_part *part = vc__call_part(call);

    call->queued = false;
    part->first = call;
    vc__engine_handle(&part->progress->engine, &call->task);
}

/* Whose turn is it? From the task of one of those that wait: it may be that of
 * another one, which then has this one's. */
struct vc_call *vc__turn_take(struct vc_call *call);

/* It waits no more, and does not begin. */
void vc__turn_leave(struct vc_call *call);

#endif
