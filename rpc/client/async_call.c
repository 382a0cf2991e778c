/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Asynchronous calls that end with a callback of the program. For each method,
 * generated code has a function that calls the callback with its own types. Any
 * thread starts a call. over_by_function() runs on the holder, the callback as
 * a handler, without the engine. */
#include "rpc/client/async.h"
#include "rpc/client/call_opts.h"

/* The task of over_by_function(): the engine runs it as a handler, on the
 * holder. Calls the callback without the engine, then leaves the channel and
 * drops the call's own reference. Another thread may be the holder by then. */
static void
async_call_deliver(struct vc__task *task)
{
    struct vc_async *a = caa_container_of(task, struct vc_async, deliver);
    struct vc__handler_run *handler_run =
        vc__engine_release(a->engine, NULL, NULL);
    enum vc_status status = a->won->error.status;

    if (status != VC_OK)
        vc__error_raise(&a->won->error);
    a->run(a->done, status, status == VC_OK ? a->won->reply : NULL, a->arg);
    vc__engine_resume(handler_run);
    vc__async_leave(a);
    vc__async_put(a);
}

/* over() of the call: async_finish() calls it on the holder. Queues the
 * callback, as a handler may be running now. */
static void
over_by_function(struct vc_async *a)
{
    a->deliver.run = async_call_deliver;
    vc__engine_handle(a->engine, &a->deliver);
}

enum vc_status
vc_channel_call_typed(struct vc_channel *channel,
                      const struct vc_service *service, unsigned method,
                      const void *request, const struct vc_call_opts *opts,
                      vc_async_run *run, vc_function *done, void *arg,
                      struct vc_async **call)
{
    struct vc_async *a;

    if (!vc__good(channel, VC__CHANNEL))
        return vc__bad(channel, VC__CHANNEL);
    if (!vc__method_is_unary(service, method))
        return vc__method_check(service, method, false);
    if (done == NULL)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "%s.%s: done is NULL; give a function", service->name,
                        service->methods[method].name);
    a = vc__async_new_seen(channel, service, method, request, opts,
                           over_by_function);
    if (a == NULL)
        return vc__error_last()->status;
    a->run = run;
    a->done = done;
    a->arg = arg;
    if (call != NULL) {
        vc__async_hold(a);
        *call = a;
    }
    vc__async_start(a);
    return VC_OK;
}

/* run() of a call of vc_channel_call_async(): async_call_deliver() calls it, on
 * its thread without the engine. Calls the done() that was given there, which
 * on VC_OK owns the reply. */
static void
untyped_run(vc_function *done, enum vc_status status, void *reply, void *arg)
{
    ((vc_async_done *)done)(status, reply, arg);
}

enum vc_status
vc_channel_call_async(struct vc_channel *channel,
                      const struct vc_service *service, unsigned method,
                      const void *request, const struct vc_call_opts *opts,
                      vc_async_done *done, void *arg, struct vc_async **call)
{
    return vc_channel_call_typed(channel, service, method, request, opts,
                                 untyped_run, (vc_function *)done, arg, call);
}
