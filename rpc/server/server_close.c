/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Closes a server: it stops listening, and its links are closed. The close is
 * over when the last client has been forgotten, whose calls have ended by then.
 * A close that exceeds its timeout names the oldest running call. Only
 * rpc/server/server_op.c calls the steps, through close_kind: those of a part
 * on the holder of its engine, prepare and result on that of engine 0. The
 * functions for the program: any thread, as verbcall/server.h says. */
#include <inttypes.h>
#include <stdio.h>

#include "rpc/server/drain.h"
#include "rpc/server/server_call.h"
#include "rpc/server/server_link.h"
#include "rpc/server/server_listen.h"
#include "rpc/server/server_log.h"
#include "rpc/server/server_shed.h"
#include "transport/core/misuse.h"
#include "transport/core/words.h"

/* --- on a part's engine --------------------------------------------------- */

/* Called once for each part, by close_begin() of the first close: closes the
 * links, and cancels the calls of multicast groups, which have none. Tasks run
 * in order, so requests passed to this part earlier have become links by now.
 * None of the part's own timers is started from now on. */
static void
part_close(struct vc__server_part *part)
{
    struct vc__timers *timers = &part->progress->engine.timers;
    struct vc__server_link *sl, *next;
    struct vc__server_session *s;

    part->closing = true;
    vc__trimmer_stop(&part->trimmer);
    vc__shed_stop(part);
    vc__timer_stop(timers, &part->stalled);
    vc__timer_stop(timers, &part->no_turn);
    cds_list_for_each_entry_safe (sl, next, &part->links, node)
        vc__link_close(&sl->link, VC_UNAVAILABLE, "the server was closed");
    cds_list_for_each_entry (s, &part->orphans, node)
        vc__server_session_give_up(s);
}

/* kind->begin, called by part_begin(), once for each close and part: closes the
 * links of the part, if no close has done so, and forgets the clients without
 * links. */
static void
close_begin(struct vc__server_op_part *p)
{
    vc__server_peers_forget(p->part);
    if (!p->part->closing)
        part_close(p->part);
}

/* kind->is_over: true when the part has no peers any more; every link has one.
 * Called by part_begin() after close_begin(), by vc__server_ops_check() when a
 * link or a client of the part is gone, and by close_end(). */
static bool
close_is_over(struct vc__server_part *part)
{
    return part->n_peers == 0;
}

/* False if the call waits for its turn: `began` is of a former use then. Called
 * by call_is_older() and old_describe(). */
static bool
call_has_begun(const struct vc__server_op_part *p, const struct vc_call *call)
{
    return !call->queued && p->part->first != call;
}

/* True if the call began before the other one. Called by call_survey(). */
static bool
call_is_older(const struct vc__server_op_part *p, const struct vc_call *call,
              const struct vc_call *other)
{
    bool begun = call_has_begun(p, call);

    if (begun != call_has_begun(p, other))
        return begun;
    return begun && call->began < other->began;
}

/* Counts a call that runs or waits, and notes the oldest. Called by
 * session_survey(). */
static void
call_survey(struct vc__server_op_part *p, const struct vc_call *call)
{
    if (call->method == NULL)
        return;
    if (p->old == NULL || call_is_older(p, call, p->old))
        p->old = call;
    p->n_calls++;
}

/* Counts the calls of a session that run or wait, for the error of a close that
 * is late. Called by peers_survey() for open sessions, and by close_end() for
 * closed ones. */
static void
session_survey(struct vc__server_op_part *p, const struct vc__server_session *s)
{
    for (unsigned i = 0; i < s->n_slots; i++) {
        if (s->slots[i].state == VC__SLOT_RUNNING)
            call_survey(p, s->slots[i].call);
    }
}

/* Called by close_end(): counts the running calls of open sessions. The
 * sessions of links that are being closed are still open. */
static void
peers_survey(struct vc__server_op_part *p)
{
    const struct vc__server_peer *peer;

    for (unsigned b = 0; b < VC__SERVER_BUCKETS; b++) {
        cds_list_for_each_entry (peer, &p->part->peers[b], node) {
            for (uint32_t i = 0; i < peer->n_seats; i++)
                if (peer->seats[i].session != NULL)
                    session_survey(p, peer->seats[i].session);
        }
    }
}

/* Called by close_end(): names the oldest call while it exists, which only the
 * holder of the part's engine knows. */
static void
old_describe(struct vc__server_op_part *p)
{
    const struct vc_call *call = p->old;
    bool later = atomic_load_explicit(&call->later, memory_order_relaxed) != 0;

    p->old_began = call_has_begun(p, call) ? call->began : VC__FOREVER;
    snprintf(p->old_text, sizeof p->old_text, "%.80s.%.60s%s",
             call->site.session->opened->entry->service->name,
             call->method->name, later ? " (waiting for vc_call_end())" : "");
}

/* kind->end, called once by part_end(): all parts are over, the timeout has
 * elapsed, or there was no memory for its timer. If this part is not over,
 * notes which calls still run. */
static void
close_end(struct vc__server_op_part *p)
{
    const struct vc__server_session *s;

    if (close_is_over(p->part))
        return;
    p->is_late = true;
    peers_survey(p);
    cds_list_for_each_entry (s, &p->part->orphans, node)
        session_survey(p, s);
    if (p->old != NULL)
        old_describe(p);
}

/* --- on engine 0 ---------------------------------------------------------- */

/* kind->prepare, called by op_begin() before all else: stops listening, and
 * ends the drains, which no longer have clients to wait for. */
static void
close_prepare(struct vc__server_op *op)
{
    vc__server_deafen(op->server);
    vc__server_ops_end(op->server, &vc__server_drain_kind, VC_CANCELLED,
                       "the server was closed before its clients had left");
}

/* Called by close_result(): sets the error of a close with n calls that run or
 * wait; `old` names the oldest. */
static void
calls_result(struct vc__server_op *op, const struct vc__server_op_part *old,
             unsigned n)
{
    char age[48] = "has not begun";

    if (old->old_began != VC__FOREVER)
        snprintf(age, sizeof age, "has run for %" PRIu64 " ms",
                 (vc__now() - old->old_began) / 1000);
    vc__error_put(&op->error, VC_DEADLINE_EXCEEDED,
                  "the server is not closed after %u ms: %s %s, and %u more "
                  "call%s; it closes when they have ended",
                  op->timeout_ms, old->old_text, age, n - 1, vc__plural(n - 1));
}

/* kind->result, called once by server_op_on_ended() after all parts have ended,
 * unless op->error is set already: sets op->error on failure, or else
 * server->closed. */
static void
close_result(struct vc__server_op *op)
{
    const struct vc__server_op_part *old = NULL;
    bool late = false;
    unsigned n = 0;

    for (unsigned i = 0; i < op->server->runtime->n; i++) {
        const struct vc__server_op_part *p = &op->parts[i];

        late |= p->is_late;
        n += p->n_calls;
        if (p->old != NULL && (old == NULL || p->old_began < old->old_began))
            old = p;
    }
    if (old != NULL)
        calls_result(op, old, n);
    else if (late)
        vc__error_put(&op->error, VC_DEADLINE_EXCEEDED,
                      "the server is not closed after %u ms: its connections "
                      "are being taken down, which takes 2 s at most; close "
                      "again",
                      op->timeout_ms);
    else
        atomic_store(&op->server->closed, true);
}

static const struct vc__server_op_kind close_kind = {
    .done = "closed",
    .prepare = close_prepare,
    .begin = close_begin,
    .is_over = close_is_over,
    .end = close_end,
    .result = close_result,
};

/* vc_server_free() logs a warning when it has waited so long. */
#define CLOSE_SAYS_MS 5000u

/* --- for the program ----------------------------------------------------- */

/* No client can connect any more, and vc_server_listen() fails. Called by
 * close_new() and close_at_last(), on any thread. */
static void
server_shut(struct vc_server *server)
{
    atomic_store(&server->shut, true);
    atomic_store(&server->draining, true);
}

/* Makes a close, which the caller starts; no client can connect from now on.
 * Called by vc_server_close() and vc_server_close_start(), on any thread. NULL
 * without memory, with vc_error_status(); then nothing changes. */
static struct vc__server_op *
close_new(struct vc_server *server)
{
    struct vc__server_op *op = vc__server_op_new(server, &close_kind);

    if (op != NULL)
        server_shut(server);
    return op;
}

enum vc_status
vc_server_close(struct vc_server *server, uint32_t timeout_ms)
{
    struct vc__server_op *op;
    enum vc_status status;

    if (!vc__good(server, VC__SERVER))
        return vc__bad(server, VC__SERVER);
    status = vc__server_op_may_block(server, "vc_server_close",
                                     "vc_server_close_start()");
    if (status != VC_OK)
        return status;
    op = close_new(server);
    if (op == NULL)
        return vc_error_status();
    status = vc__server_op_run(op, timeout_ms);
    vc__server_op_free(op);
    return status;
}

enum vc_status
vc_server_close_start(struct vc_server *server, uint32_t timeout_ms,
                      vc_server_done *done, void *arg)
{
    struct vc__server_op *op;

    if (!vc__good(server, VC__SERVER))
        return vc__bad(server, VC__SERVER);
    op = close_new(server);
    if (op == NULL)
        return vc_error_status();
    vc__server_op_start(op, timeout_ms, done, arg);
    return VC_OK;
}

/* Called by close_at_last(): closes the server within CLOSE_SAYS_MS, or logs
 * why that is not over, mostly a call that has not ended. Does nothing without
 * memory. */
static void
close_or_say(struct vc_server *server)
{
    struct vc__server_op *op = vc__server_op_new(server, &close_kind);

    if (op == NULL)
        return;
    if (vc__server_op_run(op, CLOSE_SAYS_MS) != VC_OK)
        vc__server_log(server, VC__LOG_WAITS,
                       "vc_server_free() waits for a call: %s", vc_error());
    vc__server_op_free(op);
}

/* Called by vc_server_free() for a server that is not closed: closes it, and
 * waits as long as a call runs. Ends the program within a handler or done().
 * The last operation was allocated with the server, so this cannot fail. */
static void
close_at_last(struct vc_server *server)
{
    if (vc__runtime_is_within(server->runtime))
        vc__misuse("vc_server_free() within a handler or done() of a server "
                   "that is not closed: free it elsewhere, or in done() of "
                   "vc_server_close_start()");
    server_shut(server);
    close_or_say(server);
    if (atomic_load(&server->closed))
        return;
    server->last_op->kind = &close_kind;
    vc__server_op_run(server->last_op, UINT32_MAX);
}

void
vc_server_free(struct vc_server *server)
{
    if (vc__nothing_to_free(server, VC__SERVER))
        return;
    if (!atomic_load(&server->closed))
        close_at_last(server);
    if (!vc__server_ops_await(server))
        vc__misuse(
            "vc_server_free() within done() while another drain or close of "
            "the server has not ended: free it when all have ended");
    vc__server_leave(server);
    vc__waiter_await(&server->unused);
    vc__server_destroy(server);
}
