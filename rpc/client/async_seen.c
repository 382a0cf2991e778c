/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes an asynchronous call that the interceptors of its channel see: see
 * rpc/client/async.h. The thread that makes the call; an error is then its
 * last. */
#include "rpc/client/async.h"
#include "rpc/client/call_opts.h"
#include "rpc/client/channel_intercept.h"
#include "rpc/client/result.h"

/* vc__async_new_seen() when the interceptors have accepted the call: reports
 * its request to them, and makes it. NULL, with the error as this thread's
 * last, if it could not be made; then the interceptors see that as its end. */
static struct vc_async *
seen_new(struct vc_channel *channel, const struct vc_service *service,
         unsigned method, const void *request, struct vc_interception *i,
         void (*over)(struct vc_async *a))
{
    struct vc_async *a;
    struct vc__error error;

    vc__channel_intercept_request(i, request);
    a = vc__async_new(channel, service, method, request, i->opts, over);
    if (a != NULL) {
        a->interception = i;
        return a;
    }
    error = *vc__error_last();
    vc__channel_intercept_close(i, &error);
    vc__error_raise(&error);
    return NULL;
}

/* For vc__async_new_seen(): an interceptor refused the call, memory was short,
 * or an option is not allowed. Fills the program's result with the thread's
 * last error, but not in the last case. */
static void
async_refused(const struct vc_call_opts *user_opts)
{
    const struct vc__error error = *vc__error_last();
    struct vc_call_opts opts;

    if (vc__call_opts_take(&opts, user_opts, 1) == VC_OK)
        vc__result_fill(opts.result, &error, 0, NULL);
}

struct vc_async *
vc__async_new_seen(struct vc_channel *channel, const struct vc_service *service,
                   unsigned method, const void *request,
                   const struct vc_call_opts *opts,
                   void (*over)(struct vc_async *a))
{
    struct vc_interception *i;

    if (channel->interceptors == NULL)
        return vc__async_new(channel, service, method, request, opts, over);
    if (vc__channel_intercept_begin(channel, service, method, opts, &i) !=
        VC_OK) {
        async_refused(opts);
        return NULL;
    }
    return seen_new(channel, service, method, request, i, over);
}
