/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_turn.h. The engine runs tasks in the order in which
 * they were queued, each once. So a call that begins before its task has come
 * up changes places with the call whose task it was. The holder of the engine
 * only. */
#include "rpc/server/server_turn.h"

#include <verbcall/call.h>

void
vc__turn_await(struct vc_call *call)
{
    struct vc__server_peer *peer = call->site.session->peer;
    struct vc__server_part *part = peer->part;

    call->queued = true;
    if (cds_list_empty(&peer->queue))
        cds_list_add_tail(&peer->turn, &part->turns);
    if (call->parent.priority == VC_PRIORITY_CRITICAL) {
        cds_list_add(&call->queue_node, peer->critical);
        peer->critical = &call->queue_node;
    } else {
        cds_list_add_tail(&call->queue_node, &peer->queue);
    }
    vc__engine_handle(&part->progress->engine, &call->task);
}

/* Takes the call out of its client's queue. Called by queue_take() and
 * vc__turn_leave(). */
static void
queue_leave(struct vc_call *call)
{
    struct vc__server_peer *peer = call->site.session->peer;

    if (peer->critical == &call->queue_node)
        peer->critical = call->queue_node.prev;
    cds_list_del(&call->queue_node);
    call->queued = false;
    if (cds_list_empty(&peer->queue))
        cds_list_del(&peer->turn);
}

/* Called by vc__turn_take(): takes the first call out of the client's queue,
 * and returns it. The client's next turn comes after all other clients'
 * turns. */
static struct vc_call *
queue_take(struct vc__server_peer *peer)
{
    struct vc_call *call =
        cds_list_entry(peer->queue.next, struct vc_call, queue_node);

    cds_list_del(&peer->turn);
    cds_list_add_tail(&peer->turn, &peer->part->turns);
    queue_leave(call);
    return call;
}

struct vc_call *
vc__turn_take(struct vc_call *call)
{
    struct vc__server_part *part = vc__call_part(call);
    struct vc_call *next;

    if (!call->queued) {
        part->first = NULL;
        return call;
    }
    next = queue_take(
        cds_list_entry(part->turns.next, struct vc__server_peer, turn));
    if (next != call)
        cds_list_replace(&next->task.node, &call->task.node);
    return next;
}

void
vc__turn_leave(struct vc_call *call)
{
    struct vc__server_part *part = vc__call_part(call);

    cds_list_del(&call->task.node);
    if (call->queued)
        queue_leave(call);
    else
        part->first = NULL;
    vc__overload_left(&part->overload, &call->site.session->peer->waiting);
}
