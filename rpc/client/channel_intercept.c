/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/channel_intercept.h. The chain is around all that a call does:
 * once its options are valid, the interceptors see every failure. */
#include "rpc/client/channel_intercept.h"

#include <stdlib.h>

#include "rpc/client/method_config.h"
#include "rpc/client/publisher.h"
#include "rpc/client/result.h"
#include "rpc/codec/outgoing.h"

enum vc_status
vc_channel_intercept(struct vc_channel *channel,
                     const struct vc_interceptor *interceptor)
{
    if (!vc__good(channel, VC__CHANNEL))
        return vc__bad(channel, VC__CHANNEL);
    if (vc__channel_was_used(channel))
        return vc__fail(VC_FAILED_PRECONDITION,
                        "the channel has carried calls already: add its "
                        "interceptors before the first");
    return vc__interceptors_add(&channel->interceptors, interceptor);
}

/* For channel_intercept_call_pass() and kept_start(): milliseconds that the
 * interceptors have left of the timeout, at least 1; VC_NO_DEADLINE if there is
 * none. On the thread that makes the call or the stream, when they have run. */
static uint32_t
channel_intercept_ms_left(const struct vc_interception *i)
{
    uint64_t us = vc_interception_deadline_us(i);

    if (us == UINT64_MAX)
        return VC_NO_DEADLINE;
    return us == 0 ? 1 : (uint32_t)((us + 999) / 1000);
}

void
vc__channel_intercept_request(struct vc_interception *i, const void *request)
{
    struct vc__packing packing;

    if (vc__outgoing_fits(&i->method->request, request, SIZE_MAX, &packing))
        vc__interception_message(i, VC_MESSAGE_REQUEST, request);
}

/* Makes the call, for call_lead(), and reports its request and its reply.
 * Returns as vc__channel_call(), or as vc__publish() for a multicast group. The
 * caller's thread. */
static enum vc_status
channel_intercept_call_pass(struct vc_interception *i,
                            struct vc_channel *channel, const void *request,
                            void **reply)
{
    const unsigned method = (unsigned)(i->method - i->service->methods);
    void *message = NULL;
    enum vc_status status;

    vc__channel_intercept_request(i, request);
    i->opts->timeout_ms = channel_intercept_ms_left(i);
    status = channel->publisher != NULL
                 ? vc__publish(channel, i->service, method, request, i->opts)
                 : vc__channel_call(channel, i->service, method, request,
                                    i->opts, &message);
    if (status == VC_OK && message != NULL) {
        vc__interception_message(i, VC_MESSAGE_REPLY, message);
        *reply = message;
    }
    return status;
}

/* For call_lead(), on the caller's thread, and vc__channel_intercept_close(),
 * on the threads of that: reports the end as the caller gets it. That is kept
 * in *error, as callbacks may set other errors on this thread. */
static void
channel_intercept_call_finish(struct vc_interception *i,
                              const struct vc__error *error,
                              const struct vc_result *result)
{
    bool good = error->status == VC_OK;
    struct vc_interception_end end = {
        .status = error->status,
        .outcome = good ? VC_OUTCOME_EXECUTED : error->outcome,
        .text = good ? "" : error->text,
        .result = result,
    };

    vc__interception_finish(i, &end, vc__now());
}

/* For vc__channel_intercept_call() and kept_new(): initialises *i with a copy
 * of the options, which interceptors may change. On the thread that makes the
 * call or the stream. VC_INVALID_ARGUMENT if an option is not allowed. */
static enum vc_status
call_init(struct vc_interception *i, struct vc_call_opts *opts,
          struct vc_channel *channel, const struct vc_service *service,
          unsigned method, const struct vc_call_opts *user_opts)
{
    const struct vc_method *m = &service->methods[method];
    uint64_t now = vc__now();
    enum vc_status status = vc__channel_opts_take(opts, user_opts, channel,
                                                  service, method, NULL, NULL);

    if (status != VC_OK)
        return status;
    vc__interception_init(i, channel->interceptors, service, m, now,
                          opts->timeout_ms == VC_NO_DEADLINE
                              ? VC__FOREVER
                              : vc__after_ms(now, opts->timeout_ms));
    i->opts = opts;
    return VC_OK;
}

/* Runs the call, from the first start to the last finish, for
 * vc__channel_intercept_call(). Sets *reply, or *error to why there is none;
 * error->status is VC_OK if the call succeeded. */
static void
call_lead(struct vc_interception *i, struct vc_channel *channel,
          const void *request, void **reply, struct vc__error *error)
{
    error->status = vc__interception_start(i);
    if (error->status != VC_OK) {
        vc__error_put(error, error->status, "%s", i->text);
        vc__result_fill(i->opts->result, error, 0, NULL);
    } else if (channel_intercept_call_pass(i, channel, request, reply) !=
               VC_OK) {
        *error = *vc__error_last();
    }
    channel_intercept_call_finish(i, error, i->opts->result);
}

enum vc_status
vc__channel_intercept_call(struct vc_channel *channel,
                           const struct vc_service *service, unsigned method,
                           const void *request,
                           const struct vc_call_opts *user_opts, void **reply)
{
    struct vc_result own_result = VC_RESULT_INIT;
    struct vc_interception i;
    struct vc_call_opts opts;
    struct vc__error error;

    error.status = call_init(&i, &opts, channel, service, method, user_opts);
    if (error.status != VC_OK)
        return error.status;
    if (opts.result == NULL)
        opts.result = &own_result;
    /* The chain is freed with the channel, and is needed to the end. */
    vc__channel_enter(channel);
    call_lead(&i, channel, request, reply, &error);
    vc__channel_leave(channel);
    vc_result_clear(&own_result);
    return error.status == VC_OK ? VC_OK : vc__error_raise(&error);
}

/* --- streams and asynchronous calls -------------------------------------- */

/* The interception of one of these, until its end. */
struct kept {
    struct vc_interception i;
    struct vc_call_opts opts;
    struct vc__interceptors *chain;
    struct vc_result *result;    /* of a call; NULL for a stream */
    struct vc_result own_result; /* used if the program has none */
};

/* For vc__channel_intercept_open() and vc__channel_intercept_begin(): makes the
 * interception of a stream or an asynchronous call, on the thread that makes
 * that. Holds the chain. NULL with an error if an option is not allowed or
 * memory is short. */
static struct kept *
kept_new(struct vc_channel *channel, const struct vc_service *service,
         unsigned method, const struct vc_call_opts *opts)
{
    struct kept *k = malloc(sizeof *k);

    if (k == NULL) {
        vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
        return NULL;
    }
    if (call_init(&k->i, &k->opts, channel, service, method, opts) != VC_OK) {
        free(k);
        return NULL;
    }
    k->chain = channel->interceptors;
    vc__interceptors_hold(k->chain);
    k->result = NULL;
    k->own_result = (struct vc_result)VC_RESULT_INIT;
    return k;
}

/* For the same two functions: runs the start callbacks, and sets *i and returns
 * VC_OK, on the thread that makes the stream or the call. On a refusal fills
 * the result, also runs the end, frees k, and returns the interceptor's status,
 * which is this thread's last error. */
static enum vc_status
kept_start(struct kept *k, struct vc_interception **i)
{
    struct vc__error error;

    error.status = vc__interception_start(&k->i);
    if (error.status != VC_OK) {
        vc__error_put(&error, error.status, "%s", k->i.text);
        vc__result_fill(k->result, &error, 0, NULL);
        vc__channel_intercept_close(&k->i, &error);
        return vc__error_raise(&error);
    }
    k->opts.timeout_ms = channel_intercept_ms_left(&k->i);
    *i = &k->i;
    return VC_OK;
}

enum vc_status
vc__channel_intercept_open(struct vc_channel *channel,
                           const struct vc_service *service, unsigned method,
                           const struct vc_call_opts *opts,
                           struct vc_interception **i)
{
    struct kept *k;

    if (channel->publisher != NULL)
        return vc__publisher_refuse(service, method, "a stream");
    k = kept_new(channel, service, method, opts);
    if (k == NULL)
        return vc__error_last()->status;
    return kept_start(k, i);
}

enum vc_status
vc__channel_intercept_begin(struct vc_channel *channel,
                            const struct vc_service *service, unsigned method,
                            const struct vc_call_opts *opts,
                            struct vc_interception **i)
{
    struct kept *k;

    if (channel->publisher != NULL)
        return vc__publisher_refuse(service, method, "an asynchronous call");
    k = kept_new(channel, service, method, opts);
    if (k == NULL)
        return vc__error_last()->status;
    if (k->opts.result == NULL)
        k->opts.result = &k->own_result;
    k->result = k->opts.result;
    return kept_start(k, i);
}

void
vc__channel_intercept_close(struct vc_interception *i,
                            const struct vc__error *error)
{
    struct kept *k = caa_container_of(i, struct kept, i);

    channel_intercept_call_finish(i, error, k->result);
    vc_result_clear(&k->own_result);
    vc__interceptors_put(k->chain);
    free(k);
}
