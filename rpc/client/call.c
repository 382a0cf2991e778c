/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The blocking unary call: the caller polls until the reply is there. No other
 * thread watches its deadline. One-way and hedged calls are made by one_way.c
 * and hedge.c; the deadline of a hedged one is a timer of the engine. All of it
 * runs on the caller's thread, except the callbacks that say otherwise. */
#include <verbcall/call.h>

#include "rpc/client/attempts.h"
#include "rpc/client/call_opts.h"
#include "rpc/client/channel_intercept.h"
#include "rpc/client/hedge.h"
#include "rpc/client/method_config.h"
#include "rpc/client/one_way.h"
#include "rpc/text.h"

struct blocking {
    struct vc__attempt attempt;
    struct vc__waiter waiter;
    struct vc__attempts attempts;
    struct vc__cancelling cancelling; /* if it can be cancelled */
};

/* ended() of the attempt: wakes the caller, a reply's not before its turn. On
 * the holder, on the caller's thread inside vc__attempt_start(), or on any
 * thread while the channel is being closed. */
static void
call_on_ended(struct vc__attempt *u)
{
    struct vc__waiter *w =
        &caa_container_of(u, struct blocking, attempt)->waiter;

    vc__tenure_replied(&u->channel->progress->engine.tenure);
    if (u->error.status == VC_OK)
        vc__waiter_done_in_turn(w);
    else
        vc__waiter_done(w);
}

/* --- one attempt ------------------------------------------------------- */

/* For blocking_attempt(): the deadline has passed. Abandons the attempt and
 * sets its error; or, if another thread is just ending or cancelling it, waits
 * until that has set its end. */
static void
call_expire(struct blocking *b)
{
    struct vc__attempt *u = &b->attempt;
    enum vc_outcome outcome;

    if (vc__attempt_abandon(u, &outcome))
        vc__attempts_expired(&b->attempts, u, outcome);
    else /* Another thread is setting its end right now. */
        vc__engine_wait(&u->channel->progress->engine, &b->waiter, VC__FOREVER);
}

/* cancel() of an attempt: ends it and wakes the caller, which may be the
 * holder, asleep; nothing if it has ended or is just ending. Any thread, also
 * the caller's, under a canceller's lock. */
static void
call_on_cancel(struct vc__cancelling *c)
{
    struct blocking *b = caa_container_of(c, struct blocking, cancelling);
    struct vc__attempt *u = &b->attempt;
    enum vc_outcome outcome;

    if (!vc__attempt_abandon(u, &outcome))
        return;
    vc__error_put(&u->error, VC_CANCELLED, "%s.%s: " VC__TEXT_CANCELLED,
                  u->service->name, u->method->name);
    u->error.outcome = outcome;
    vc__waiter_done(&b->waiter);
    vc__engine_kick(&u->channel->progress->engine);
}

/* Makes a prepared attempt, and waits until it has u->reply or u->error. Called
 * by blocking_run() for the first one, by go_on() for further ones, after
 * attempt_may_begin(). If it can be cancelled, it is in the cancellers' lists
 * from its start to its end. */
static void
blocking_attempt(struct blocking *b)
{
    struct vc__attempt *u = &b->attempt;

    vc__waiter_init(&b->waiter);
    vc__attempt_start(u, b->attempts.began, b->attempts.due);
    if (b->attempts.cancellable)
        vc__cancelling_join(&b->cancelling);
    if (!vc__engine_wait(&u->channel->progress->engine, &b->waiter,
                         b->attempts.until))
        call_expire(b);
    if (b->attempts.cancellable)
        vc__cancelling_end(&b->cancelling);
}

/* For blocking_run() and call_renew(). False if a canceller of the call is
 * cancelled already: that is this thread's last error, and no reference is
 * taken. Else true: takes references to the cancellers, if there are any, and
 * blocking_attempt() must follow. That joins their lists, by
 * vc__cancelling_join(), leaves them, and drops the references. */
static bool
attempt_may_begin(struct blocking *b)
{
    return !b->attempts.cancellable ||
           vc__cancelling_begin(&b->cancelling, b->attempts.canceller,
                                b->attempts.parent, call_on_cancel) == VC_OK;
}

/* --- further attempts -------------------------------------------------- */

struct blocking_pause {
    struct vc__retry_wait retry_wait;
    struct vc__waiter waiter;
    struct vc__cancelling cancelling;
    struct vc__engine *engine;
};

/* broken() of a pause: wakes the caller. Any thread, inside vc_channel_close(),
 * under the lock of retry_waits. */
static void
call_on_broken(struct vc__retry_wait *p)
{
    vc__waiter_done(
        &caa_container_of(p, struct blocking_pause, retry_wait)->waiter);
}

/* cancel() of a pause: wakes the caller, which may be the holder, asleep. Any
 * thread, also the caller's, under a canceller's lock. */
static void
on_pause_cancel(struct vc__cancelling *c)
{
    struct blocking_pause *p =
        caa_container_of(c, struct blocking_pause, cancelling);

    vc__waiter_done(&p->waiter);
    vc__engine_kick(p->engine);
}

/* For go_on(): waits so long between two attempts, less if the channel is being
 * closed or the call is cancelled, before or meanwhile. Then the next attempt
 * fails, or call_renew() does. */
static void
call_pause_for(struct blocking *b, uint64_t us)
{
    struct vc_channel *channel = b->attempt.channel;
    struct blocking_pause p = {.retry_wait.broken = call_on_broken,
                               .engine = &channel->progress->engine};
    const struct vc__attempts *a = &b->attempts;

    if (a->cancellable &&
        vc__cancelling_begin(&p.cancelling, a->canceller, a->parent,
                             on_pause_cancel) != VC_OK)
        return;
    vc__waiter_init(&p.waiter);
    if (a->cancellable)
        vc__cancelling_join(&p.cancelling);
    if (vc__retry_wait_begin(&channel->retry_waits, &p.retry_wait)) {
        vc__engine_wait(p.engine, &p.waiter, vc__now() + us);
        vc__retry_wait_end(&channel->retry_waits, &p.retry_wait);
    }
    if (a->cancellable)
        vc__cancelling_end(&p.cancelling);
}

struct what {
    const struct vc_service *service;
    unsigned method;
    const void *request;
    const struct vc_call_opts *opts;
    const struct vc__call_policy *policy; /* NULL: the channel's */
};

/* For blocking_call() and call_renew(): prepares an attempt with this number,
 * the first or a further one. Errors as of vc__attempt_limit() and
 * vc__attempt_prepare(). Inlined as blocking_call(), which saves 16
 * instructions. */
static inline __attribute__((always_inline)) enum vc_status
call_prepare(struct blocking *b, struct vc_channel *channel,
             const struct what *w, unsigned attempt)
{
    struct vc__attempt *u = &b->attempt;

    vc__attempt_init(u, channel, w->service, w->method, w->request,
                     call_on_ended);
    u->metadata = w->opts->metadata;
    u->n_metadata = w->opts->n_metadata;
    u->priority = w->opts->priority;
    u->wants_all = w->opts->result != NULL;
    u->attempt = attempt;
    if (w->policy != NULL && vc__attempt_limit(u, w->policy) != VC_OK)
        return VC_RESOURCE_EXHAUSTED;
    return vc__attempt_prepare(u);
}

/* For go_on(): releases the former attempt and prepares the next one. False,
 * with u->error set, if that fails or the call was cancelled. */
static bool
call_renew(struct blocking *b, const struct what *w)
{
    struct vc__attempt *u = &b->attempt;
    const struct vc__pool *before = u->before;
    const struct vc__pick_key key = u->key;
    bool good;

    vc__attempt_release(u);
    good = call_prepare(b, u->channel, w, b->attempts.number) == VC_OK;
    u->before = before;
    u->key = key;
    if (!good) {
        u->error = *vc__error_last();
        vc__text_name(&u->error, u->service->name, u->method->name);
        return false;
    }
    if (attempt_may_begin(b))
        return true;
    vc__error_put(&u->error, VC_CANCELLED, "%s.%s: " VC__TEXT_CANCELLED,
                  u->service->name, u->method->name);
    return false;
}

/* For blocking_run(): the first attempt has failed. Makes further ones, until
 * one succeeds or none is to follow; u->error is then how the call has
 * ended. */
static void
go_on(struct blocking *b, const struct what *w)
{
    struct vc__attempt *u = &b->attempt;
    uint64_t us;

    while (u->error.status != VC_OK &&
           vc__attempts_next(&b->attempts, u, w->policy, &us)) {
        call_pause_for(b, us);
        b->attempts.began = vc__now();
        if (!vc__attempts_in_time(&b->attempts, u, b->attempts.began) ||
            !call_renew(b, w))
            break;
        blocking_attempt(b);
    }
    vc__attempts_settle(&b->attempts, &u->error);
}

/* --- the call ---------------------------------------------------------- */

/* For blocking_call(): fails a call that did not begin, and fills its result.
 * Returns the status of the error, which is this thread's last. */
static enum vc_status
fail_unmade(const struct what *w)
{
    enum vc_status status = vc__text_name_last(
        w->service->name, w->service->methods[w->method].name);

    vc__result_fill(w->opts->result, vc__error_last(), 0, NULL);
    return status;
}

/* For blocking_call(): runs a prepared call to its end. False if it could not
 * begin; then the error is this thread's last. Inlined as blocking_call(). */
static inline __attribute__((always_inline)) bool
blocking_run(struct blocking *b, const struct what *w)
{
    struct vc_channel *channel = b->attempt.channel;
    bool begun;

    if (vc__attempts_begin(&b->attempts, w->opts,
                           channel->progress->engine.rough_us) != VC_OK)
        return false;
    begun = attempt_may_begin(b);
    if (begun) {
        vc__channel_enter(channel);
        blocking_attempt(b);
        if (b->attempt.error.status != VC_OK)
            go_on(b, w);
        if (b->attempt.error.status == VC_OK)
            vc__retry_good(&channel->budget);
        vc__attempt_unhold(&b->attempt);
        vc__channel_leave(channel);
    }
    vc__attempts_end(&b->attempts);
    return begun;
}

/* Makes a call that is neither one-way nor hedged, for call_dispatch(), and
 * returns as vc_channel_call(). Inlined, though gcc would not as its frame is
 * large: saves 40 instructions per call. */
static inline __attribute__((always_inline)) enum vc_status
blocking_call(struct vc_channel *channel, const struct what *w, void **reply)
{
    struct blocking b;

    if (call_prepare(&b, channel, w, 1) != VC_OK)
        return fail_unmade(w);
    if (!blocking_run(&b, w)) {
        vc__attempt_release(&b.attempt);
        return fail_unmade(w);
    }
    if (w->opts->result != NULL)
        vc__attempt_tell(&b.attempt, w->opts->result);
    vc__attempt_release(&b.attempt);
    if (b.attempt.error.status != VC_OK)
        return vc__error_raise(&b.attempt.error);
    *reply = b.attempt.reply;
    return VC_OK;
}

/* For vc__channel_call() and configured_call(): makes a call with complete
 * options, which were made of user_opts: a hedged call, which runs as an
 * asynchronous one, makes its own of these. Returns as vc_channel_call(); a
 * one-way call leaves *reply as it is. Inlined, as w->policy is then known to
 * be NULL for the usual call. */
static inline __attribute__((always_inline)) enum vc_status
call_dispatch(struct vc_channel *channel, const struct what *w,
              const struct vc_call_opts *user_opts, void **reply)
{
    if (w->service->methods[w->method].flags & VC_METHOD_ONE_WAY)
        return vc__one_way(channel, w->service, w->method, w->request, w->opts);
    if (w->opts->hedge_ms != 0)
        return vc__hedge_call(channel, w->service, w->method, w->request,
                              user_opts, reply);
    return blocking_call(channel, w, reply);
}

/* vc__channel_call() of a channel with a service config; returns the same.
 * Apart from it, so that other channels do not pay for it. */
__attribute__((noinline)) static enum vc_status
configured_call(struct vc_channel *channel, const struct vc_service *service,
                unsigned method, const void *request,
                const struct vc_call_opts *user_opts, void **reply)
{
    struct vc__call_policy policy;
    struct vc_call_opts opts;
    struct what w = {service, method, request, &opts, NULL};
    enum vc_status status = vc__config_opts_take(
        &opts, user_opts, channel, service, method, &policy, &w.policy);

    return status == VC_OK ? call_dispatch(channel, &w, user_opts, reply)
                           : status;
}

/* Declared in rpc/client/channel_intercept.h. Called by vc_channel_call(), or
 * by channel_intercept_call_pass() if the channel has interceptors. Returns as
 * vc_channel_call() does. */
enum vc_status
vc__channel_call(struct vc_channel *channel, const struct vc_service *service,
                 unsigned method, const void *request,
                 const struct vc_call_opts *user_opts, void **reply)
{
    const struct vc_method *m = &service->methods[method];
    struct vc_call_opts opts;
    const struct what w = {service, method, request, &opts, NULL};
    enum vc_status status;

    if (vc__channel_is_configured(channel))
        return configured_call(channel, service, method, request, user_opts,
                               reply);
    status =
        vc__call_opts_take(&opts, user_opts, vc__channel_call_ms(channel, m));
    return status == VC_OK ? call_dispatch(channel, &w, user_opts, reply)
                           : status;
}

enum vc_status
vc_channel_call(struct vc_channel *channel, const struct vc_service *service,
                unsigned method, const void *request,
                const struct vc_call_opts *opts, void **reply)
{
    if (!vc__good(channel, VC__CHANNEL))
        return vc__bad(channel, VC__CHANNEL);
    if (reply == NULL)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_channel_call(): reply is NULL");
    if (!vc__method_is_unary(service, method))
        return vc__method_check(service, method, false);
    if (channel->interceptors != NULL)
        return vc__channel_intercept_call(channel, service, method, request,
                                          opts, reply);
    return vc__channel_call(channel, service, method, request, opts, reply);
}
