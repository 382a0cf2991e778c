/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/channel_intercept.h. The chain is around all that a call does, so
 * its last callback is the end of it: nothing that fails goes past it. */
#include "rpc/channel_intercept.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/codec.h"

enum vc_status
vc_channel_intercept(struct vc_channel *channel,
                     const struct vc_interceptor *interceptor)
{
    if (atomic_load(&channel->first_used))
        return vc__fail(VC_FAILED_PRECONDITION,
                        "the channel has carried calls already: add its "
                        "interceptors before the first");
    return vc__interceptors_add(&channel->interceptors, interceptor);
}

/* A copy, which interceptors may change for this call. */
static void
opts_copy(struct vc_call_opts *out, const struct vc_channel *channel,
          const struct vc_method *method, const struct vc_call_opts *opts)
{
    memset(out, 0, sizeof *out);
    if (opts != NULL)
        memcpy(out, opts, opts->size < sizeof *out ? opts->size : sizeof *out);
    out->size = sizeof *out;
    if (out->timeout_ms == 0)
        out->timeout_ms = vc__channel_call_ms(channel, method);
}

/* What the interceptors have left of the time: 1 ms at least. */
static uint32_t
ms_left(const struct vc_interception *i)
{
    uint64_t us = vc_interception_deadline_us(i);

    if (us == UINT64_MAX)
        return VC_NO_DEADLINE;
    return us == 0 ? 1 : (uint32_t)((us + 999) / 1000);
}

/* The call itself, between its messages. */
static enum vc_status
call_pass(struct vc_interception *i, struct vc_channel *channel,
          const void *request, void **reply)
{
    struct vc__packing packing;
    void *message = NULL;
    enum vc_status status;

    if (vc__codec_measure(&i->method->request, request, &packing))
        vc__interception_message(i, VC_MESSAGE_REQUEST, request);
    i->opts->timeout_ms = ms_left(i);
    status = vc__channel_call(channel, i->service,
                              (unsigned)(i->method - i->service->methods),
                              request, i->opts, &message);
    if (status == VC_OK && message != NULL) {
        vc__interception_message(i, VC_MESSAGE_REPLY, message);
        *reply = message;
    }
    return status;
}

/* The end as the caller is told it: kept in *error, as callbacks may fail at
 * other things on this thread. */
static void
call_finish(struct vc_interception *i, const struct vc__error *error)
{
    bool good = error->status == VC_OK;
    struct vc_interception_end end = {
        .status = error->status,
        .outcome = good ? VC_OUTCOME_EXECUTED : error->outcome,
        .text = good ? "" : error->text,
    };

    vc__interception_finish(i, &end, vc__now());
}

static void
call_init(struct vc_interception *i, struct vc_call_opts *opts,
          const struct vc_channel *channel, const struct vc_service *service,
          unsigned method, const struct vc_call_opts *user_opts)
{
    const struct vc_method *m = &service->methods[method];
    uint64_t now = vc__now();

    opts_copy(opts, channel, m, user_opts);
    vc__interception_init(i, channel->interceptors, service, m, now,
                          opts->timeout_ms == VC_NO_DEADLINE
                              ? VC__FOREVER
                              : vc__after_ms(now, opts->timeout_ms));
    i->opts = opts;
}

enum vc_status
vc__channel_intercept_call(struct vc_channel *channel,
                           const struct vc_service *service, unsigned method,
                           const void *request, const struct vc_call_opts *opts,
                           void **reply)
{
    struct vc_interception i;
    struct vc_call_opts copy;
    struct vc__error error;

    call_init(&i, &copy, channel, service, method, opts);
    /* The chain goes with the channel, and is needed to the end. */
    vc__channel_enter(channel);
    error.status = vc__interception_start(&i);
    if (error.status != VC_OK)
        vc__error_put(&error, error.status, "%s", i.text);
    else if (call_pass(&i, channel, request, reply) != VC_OK)
        error = *vc__error_last();
    call_finish(&i, &error);
    vc__channel_leave(channel);
    return error.status == VC_OK ? VC_OK : vc__error_raise(&error);
}

/* --- streams ----------------------------------------------------------- */

/* Of a stream, until it is closed. */
struct kept {
    struct vc_interception i;
    struct vc_call_opts opts;
    struct vc__interceptors *chain;
};

enum vc_status
vc__channel_intercept_open(struct vc_channel *channel,
                           const struct vc_service *service, unsigned method,
                           const struct vc_call_opts *opts,
                           struct vc_interception **i)
{
    struct kept *k = malloc(sizeof *k);
    struct vc__error error;

    if (k == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    call_init(&k->i, &k->opts, channel, service, method, opts);
    k->chain = channel->interceptors;
    vc__interceptors_hold(k->chain);
    error.status = vc__interception_start(&k->i);
    if (error.status != VC_OK) {
        vc__error_put(&error, error.status, "%s", k->i.text);
        vc__channel_intercept_close(&k->i, &error);
        return vc__error_raise(&error);
    }
    k->opts.timeout_ms = ms_left(&k->i);
    *i = &k->i;
    return VC_OK;
}

void
vc__channel_intercept_close(struct vc_interception *i,
                            const struct vc__error *error)
{
    struct kept *k = caa_container_of(i, struct kept, i);

    call_finish(i, error);
    vc__interceptors_put(k->chain);
    free(k);
}
