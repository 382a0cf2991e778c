/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_intercept.h. The program calls vc_server_intercept() on
 * any of its threads; the static functions run on the thread of the function
 * that calls them. */
#include "rpc/server/server_intercept.h"

#include "rpc/server/server.h"
#include "rpc/server/server_handler.h"
#include "rpc/server/server_reply.h"
#include "rpc/stream/stream.h"

enum vc_status
vc_server_intercept(struct vc_server *server,
                    const struct vc_interceptor *interceptor)
{
    bool listens;

    if (!vc__good(server, VC__SERVER))
        return vc__bad(server, VC__SERVER);
    pthread_mutex_lock(&server->lock);
    listens = server->listening != NULL;
    pthread_mutex_unlock(&server->lock);
    if (listens)
        return vc__fail(VC_FAILED_PRECONDITION,
                        "the server listens already: add its interceptors "
                        "before vc_server_listen()");
    return vc__interceptors_add(&server->interceptors, interceptor);
}

/* Returns the interception of a call that begins, in the call's arena; NULL
 * without memory. Called by vc__server_intercept_run(). */
static struct vc_interception *
interception_new(struct vc_call *call, const struct vc__service_entry *entry)
{
    const struct vc__interceptors *chain =
        vc__call_part(call)->server->interceptors;
    struct vc_interception *i = vc__arena_alloc(&call->arena, sizeof *i);

    if (i == NULL)
        return NULL;
    vc__interception_init(i, chain, entry->service, call->method, vc__now(),
                          call->site.due);
    i->call = call;
    i->came = &call->metadata.came;
    return i;
}

/* True if the method has one reply message, which is complete when the call
 * ends. Asked by vc__server_intercept_end(). */
static bool
has_reply(const struct vc_call *call)
{
    return !(call->method->flags & VC_METHOD_SERVER_STREAM);
}

enum vc_status
vc__server_intercept_end(struct vc_call *call, enum vc_status status)
{
    struct vc_interception *i = call->interception;
    struct vc_interception_end end = {.result = NULL};

    if (i == NULL)
        return status;
    if ((unsigned)status > VC_UNAUTHENTICATED)
        status = VC_UNKNOWN;
    if (call->stream != NULL)
        call->stream->interception = NULL;
    if (status == VC_OK && has_reply(call))
        status = vc__reply_measure(call);
    if (status == VC_OK && has_reply(call))
        vc__interception_message(i, VC_MESSAGE_REPLY, call->reply);
    end.status = status;
    end.outcome = call->refused ? VC_OUTCOME_NOT_EXECUTED : VC_OUTCOME_EXECUTED;
    end.text = status != VC_OK && call->has_text ? call->text : "";
    call->interception = NULL;
    vc__interception_finish(i, &end, vc__now());
    return status;
}

/* Called by vc__server_intercept_run() if no interceptor refuses the call:
 * shows the request to them and runs the handler. Returns its status, or
 * VC__LATER. Messages of a stream are shown when they are sent and received. */
static enum vc_status
server_intercept_call_pass(struct vc_interception *i, struct vc_call *call,
                           const struct vc__service_entry *entry)
{
    if (call->request != NULL)
        vc__interception_message(i, VC_MESSAGE_REQUEST, call->request);
    if (call->stream != NULL)
        call->stream->interception = i;
    return vc__call_method(call, entry);
}

enum vc_status
vc__server_intercept_run(struct vc_call *call,
                         const struct vc__service_entry *entry)
{
    struct vc_interception *i = interception_new(call, entry);
    enum vc_status status;

    if (i == NULL) {
        call->refused = true;
        return vc__call_fault(call, VC_RESOURCE_EXHAUSTED,
                              "the server has no memory for the call");
    }
    call->interception = i;
    status = vc__interception_start(i);
    if (status != VC_OK) {
        call->refused = true;
        vc_call_fail(call, status, "%s", i->text);
    } else {
        status = server_intercept_call_pass(i, call, entry);
    }
    return status == VC__LATER ? status
                               : vc__server_intercept_end(call, status);
}
