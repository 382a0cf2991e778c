/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The way of a call from the bytes of its request until its handler has run.
 * The holder of the engine only, unless a comment says otherwise.
 *
 * Called by: server_session.c (call_begin, call_refuse, call_refuse_lost),
 * server_session_open.c (call_begin), server_begin.c (call_came),
 * server_handler.c (call_method, call_finish), server_intercept.c
 * (call_method), stream_server.c (call_finish). */
#ifndef VC_RPC_SERVER_HANDLER_H
#define VC_RPC_SERVER_HANDLER_H

#include "rpc/server/server_call.h"

#define VC__GIVEN_UP "the caller has cancelled the call"

/* Unpacks the request and queues the call for its handler, or answers with an
 * error; without memory for a call, closes the link. Called by call_begin()
 * (rpc/server/server_session.c) when a request is complete; `body` is valid
 * only meanwhile. whole: the assembly of `body`, whose memory the call may
 * take; NULL: `body` is a packet's. */
void vc__call_begin(const struct vc__call_site *site, const uint8_t *body,
                    uint32_t len, struct vc__assembly *whole);

/* Answers a request that is late or cancelled, with this status and text;
 * without memory for a call, closes the link. Called by call_refuse()
 * (rpc/server/server_session.c). */
void vc__call_refuse(const struct vc__call_site *site, enum vc_status status,
                     const char *text);

/* Answers a request in parts that was not kept, as a->loss says, with
 * VC_RESOURCE_EXHAUSTED; without memory for a call, closes the link. The client
 * of one that is longer than max_message does not retry it. Called by
 * arrival_refuse() (rpc/server/server_session.c). */
void vc__call_refuse_lost(const struct vc__call_site *site,
                          const struct vc__assembly *a);

/* The call is complete: from now on it waits for its turn to run its handler,
 * and call_run() is its task. Called by vc__call_begin(). */
void vc__call_came(struct vc_call *call);

/* Runs the handler itself, without interceptors; on the handler's thread.
 * Called by server_handler_run(), or if the server has interceptors by
 * server_intercept_call_pass() (rpc/server/server_intercept.c). Returns what
 * the handler returns: its status, or VC__LATER. */
static inline enum vc_status
vc__call_method(struct vc_call *call, const struct vc__service_entry *entry)
{
    const struct vc_method *method = call->method;
    enum vc_status status;

    if (call->stream != NULL)
        status = method->run_stream(call, entry->methods, call->request,
                                    call->stream, call->reply, entry->arg);
    else
        status = method->run(call, entry->methods, call->request, call->reply,
                             entry->arg);
    if (status != VC_OK && status != VC__LATER)
        vc__call_explain(call, status);
    return status;
}

/* Passes an ended call to the holder of the engine, which answers it with
 * call->status. The call may be freed before this returns. Called by
 * vc_call_end() on any thread, and by server_left()
 * (rpc/server/stream_server.c) on the thread that ran a stream's last
 * callback. */
void vc__call_finish(struct vc_call *call);

#endif
