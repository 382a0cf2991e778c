/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Drains a server: sends GOAWAY to every client, once on each link (doc/wire.md
 * 4.8), then waits until the last client has left. See rpc/server/drain.h. The
 * functions for the program: any thread, as verbcall/server.h says. The steps:
 * only rpc/server/server_op.c calls them, through vc__server_drain_kind, on the
 * holder of the engine that the section names. vc__server_link_goaway() has its
 * declaration in rpc/server/server_link.h. */
#include "rpc/server/drain.h"

#include <stdlib.h>

#include "rpc/server/redirect.h"
#include "rpc/server/server_link.h"
#include "rpc/server/server_log.h"

/* send->done of a GOAWAY, called by the link under its lock, on the holder: the
 * GOAWAY was sent, or the link was lost. Frees the message. */
static void
goaway_done(struct vc__send *send, enum vc__send_end end)
{
    (void)end;
    free(send);
}

bool
vc__server_link_goaway(struct vc__server_link *sl)
{
    struct vc__send *send = calloc(1, sizeof *send);

    if (send == NULL)
        return false;
    send->flow = &sl->link.control;
    send->frame.type = VC__FRAME_GOAWAY;
    send->done = goaway_done;
    sl->goaway_sent = true;
    vc__link_send(&sl->link, send);
    return true;
}

/* --- on a part's engine --------------------------------------------------- */

/* kind->begin, called once by part_begin(): sends GOAWAY to each link that is
 * up, has had none, and whose client has begun: a server sends nothing before
 * (doc/wire.md, 3.1). Sets p->no_memory if that fails for a link. The others
 * get their GOAWAY from on_trusted() (rpc/server/server_link.c). */
static void
drain_begin(struct vc__server_op_part *p)
{
    struct vc__server_link *sl;

    cds_list_for_each_entry (sl, &p->part->links, node) {
        if (sl->link.state == VC__LINK_UP && sl->trusted && !sl->goaway_sent &&
            !vc__server_link_goaway(sl))
            p->no_memory = true;
    }
}

/* kind->is_over: true when the part has no links any more. Called by
 * part_begin() after drain_begin(), and by vc__server_ops_check() when a link
 * or a client of the part is gone. */
static bool
drain_is_over(struct vc__server_part *part)
{
    return cds_list_empty(&part->links);
}

/* kind->end, called once by part_end(): all parts are over, the timeout has
 * elapsed, or op->error is set, as by a close. Closes the links of clients
 * without calls; counts a client's calls for each other link. A client that
 * does not poll has not seen the GOAWAY, and loses nothing: before its next
 * call is sent, the client notices that the link is gone. */
static void
drain_end(struct vc__server_op_part *p)
{
    struct vc__server_link *sl, *next;

    cds_list_for_each_entry_safe (sl, next, &p->part->links, node) {
        if (sl->peer->n_calls > 0)
            p->n_calls += sl->peer->n_calls;
        else
            vc__link_close(&sl->link, VC_UNAVAILABLE,
                           "the server drains, and no call was in progress");
    }
}

/* --- on engine 0 ---------------------------------------------------------- */

/* kind->result, called once by server_op_on_ended() after all parts have ended,
 * unless op->error is set already, as by a close. Sets op->error on failure. */
static void
drain_result(struct vc__server_op *op)
{
    bool busy = false, no_memory = false;

    for (unsigned i = 0; i < op->server->runtime->n; i++) {
        busy |= op->parts[i].n_calls > 0;
        no_memory |= op->parts[i].no_memory;
    }
    if (no_memory)
        vc__error_put(&op->error, VC_RESOURCE_EXHAUSTED,
                      "no memory to notify all clients: drain again");
    else if (busy)
        vc__error_put(&op->error, VC_DEADLINE_EXCEEDED,
                      "some calls still run after %u ms: drain again, or "
                      "close the server and lose their replies",
                      op->timeout_ms);
}

const struct vc__server_op_kind vc__server_drain_kind = {
    .done = "drained",
    .begin = drain_begin,
    .is_over = drain_is_over,
    .end = drain_end,
    .result = drain_result,
};

/* --- for the program ----------------------------------------------------- */

/* Called by drain_new(), on any thread: the server drains from now on. Clients
 * that connect later are rejected, and sent to this alternative if they can use
 * it; NULL: to that of an earlier drain, if any. VC_OK; VC_INVALID_ARGUMENT:
 * the alternative is malformed, and nothing changes. */
static enum vc_status
server_leave_service(struct vc_server *server, const char *alternative)
{
    struct vc__redirect_to to;
    enum vc_status status =
        alternative == NULL ? VC_OK : vc__redirect_target(&to, alternative);

    if (status != VC_OK)
        return status;
    pthread_mutex_lock(&server->lock);
    if (alternative != NULL) {
        server->alternative = to;
        server->has_alternative = true;
    }
    pthread_mutex_unlock(&server->lock);
    if (!atomic_exchange(&server->draining, true))
        vc__server_log(server, VC__LOG_SERVER,
                       "drains: clients are asked to leave%s%s",
                       alternative == NULL ? "" : " for ",
                       alternative == NULL ? "" : alternative);
    return VC_OK;
}

/* Makes the operation, and marks the server as draining; the caller starts the
 * operation. Called by vc_server_drain() and vc_server_drain_start(), on any
 * thread. NULL on failure, with vc_error_status(); then nothing changes. */
static struct vc__server_op *
drain_new(struct vc_server *server, const char *alternative)
{
    struct vc__server_op *op =
        vc__server_op_new(server, &vc__server_drain_kind);

    if (op != NULL && server_leave_service(server, alternative) != VC_OK) {
        vc__server_op_free(op);
        op = NULL;
    }
    return op;
}

enum vc_status
vc_server_drain(struct vc_server *server, const char *alternative,
                uint32_t timeout_ms)
{
    struct vc__server_op *op;
    enum vc_status status;

    if (!vc__good(server, VC__SERVER))
        return vc__bad(server, VC__SERVER);
    status = vc__server_op_may_block(server, "vc_server_drain",
                                     "vc_server_drain_start()");
    if (status != VC_OK)
        return status;
    op = drain_new(server, alternative);
    if (op == NULL)
        return vc_error_status();
    status = vc__server_op_run(op, timeout_ms);
    vc__server_op_free(op);
    return status;
}

enum vc_status
vc_server_drain_start(struct vc_server *server, const char *alternative,
                      uint32_t timeout_ms, vc_server_done *done, void *arg)
{
    struct vc__server_op *op;

    if (!vc__good(server, VC__SERVER))
        return vc__bad(server, VC__SERVER);
    op = drain_new(server, alternative);
    if (op == NULL)
        return vc_error_status();
    vc__server_op_start(op, timeout_ms, done, arg);
    return VC_OK;
}
