/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The blocking unary call: the caller polls until the reply is there, and is
 * the only one who knows its deadline. */
#include <verbcall/call.h>

#include "rpc/client/again.h"
#include "rpc/client/call_opts.h"
#include "rpc/client/channel_intercept.h"
#include "rpc/client/hedge.h"
#include "rpc/client/one_way.h"
#include "rpc/text.h"

struct blocking {
    struct vc__unary unary;
    struct vc__waiter waiter;
    struct vc__again again;
    struct vc__cancelling cancelling; /* if it can be cancelled */
};

static void
on_ended(struct vc__unary *u)
{
    vc__waiter_done(&caa_container_of(u, struct blocking, unary)->waiter);
}

/* --- one attempt ------------------------------------------------------- */

/* The caller's patience is over. */
static void
expire(struct blocking *b)
{
    struct vc__unary *u = &b->unary;
    enum vc_outcome outcome;

    if (vc__unary_abandon(u, &outcome))
        vc__again_expired(&b->again, u, outcome);
    else /* Its end is being written this moment. */
        vc__engine_wait(&u->channel->progress->engine, &b->waiter, VC__FOREVER);
}

/* On another thread, mostly. The caller may be the holder, asleep. */
static void
on_cancel(struct vc__cancelling *c)
{
    struct blocking *b = caa_container_of(c, struct blocking, cancelling);
    struct vc__unary *u = &b->unary;
    enum vc_outcome outcome;

    if (!vc__unary_abandon(u, &outcome))
        return;
    vc__error_put(&u->error, VC_CANCELLED, "%s.%s: " VC__TEXT_CANCELLED,
                  u->service->name, u->method->name);
    u->error.outcome = outcome;
    vc__waiter_done(&b->waiter);
    vc__engine_kick(&u->channel->progress->engine);
}

static void
attempt(struct blocking *b)
{
    struct vc__unary *u = &b->unary;

    vc__waiter_init(&b->waiter);
    vc__unary_start(u, b->again.began, b->again.due);
    if (b->again.cancellable)
        vc__cancelling_join(&b->cancelling);
    if (!vc__engine_wait(&u->channel->progress->engine, &b->waiter,
                         b->again.due))
        expire(b);
    if (b->again.cancellable)
        vc__cancelling_end(&b->cancelling);
}

/* False: it was cancelled before. */
static bool
attempt_may_begin(struct blocking *b)
{
    return !b->again.cancellable ||
           vc__cancelling_begin(&b->cancelling, b->again.canceller,
                                b->again.parent, on_cancel) == VC_OK;
}

/* --- further attempts -------------------------------------------------- */

struct blocking_pause {
    struct vc__pause pause;
    struct vc__waiter waiter;
    struct vc__cancelling cancelling;
    struct vc__engine *engine;
};

static void
on_broken(struct vc__pause *p)
{
    vc__waiter_done(&caa_container_of(p, struct blocking_pause, pause)->waiter);
}

static void
on_pause_cancel(struct vc__cancelling *c)
{
    struct blocking_pause *p =
        caa_container_of(c, struct blocking_pause, cancelling);

    vc__waiter_done(&p->waiter);
    vc__engine_kick(p->engine);
}

/* Waits, unless the channel is closed or the call cancelled meanwhile; the next
 * attempt finds that out. */
static void
pause_for(struct blocking *b, uint64_t us)
{
    struct vc_channel *channel = b->unary.channel;
    struct blocking_pause p = {.pause.broken = on_broken,
                               .engine = &channel->progress->engine};
    const struct vc__again *a = &b->again;

    if (a->cancellable &&
        vc__cancelling_begin(&p.cancelling, a->canceller, a->parent,
                             on_pause_cancel) != VC_OK)
        return;
    vc__waiter_init(&p.waiter);
    if (a->cancellable)
        vc__cancelling_join(&p.cancelling);
    if (vc__pause_begin(&channel->pauses, &p.pause)) {
        vc__engine_wait(p.engine, &p.waiter, vc__now() + us);
        vc__pause_end(&channel->pauses, &p.pause);
    }
    if (a->cancellable)
        vc__cancelling_end(&p.cancelling);
}

struct what {
    const struct vc_service *service;
    unsigned method;
    const void *request;
    const struct vc_call_opts *opts;
};

static enum vc_status
prepare(struct blocking *b, struct vc_channel *channel, const struct what *w,
        unsigned attempt)
{
    struct vc__unary *u = &b->unary;

    vc__unary_init(u, channel, w->service, w->method, w->request, on_ended);
    u->metadata = w->opts->metadata;
    u->n_metadata = w->opts->n_metadata;
    u->priority = w->opts->priority;
    u->wants_all = w->opts->result != NULL;
    u->attempt = attempt;
    return vc__unary_prepare(u);
}

/* False: u->error says why not. */
static bool
renew(struct blocking *b, const struct what *w)
{
    struct vc__unary *u = &b->unary;

    vc__unary_release(u);
    if (prepare(b, u->channel, w, b->again.attempt) != VC_OK) {
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

/* The first attempt has failed. */
static void
go_on(struct blocking *b, const struct what *w)
{
    struct vc__unary *u = &b->unary;
    uint64_t us;

    while (u->error.status != VC_OK && vc__again(&b->again, u, &us)) {
        pause_for(b, us);
        b->again.began = vc__now();
        if (!vc__again_in_time(&b->again, u, b->again.began) || !renew(b, w))
            break;
        attempt(b);
    }
    vc__again_settle(&b->again, &u->error);
}

/* --- the call ---------------------------------------------------------- */

/* The request could not be made; the error is this thread's last. */
static enum vc_status
fail_unmade(const struct what *w)
{
    enum vc_status status = vc__text_name_last(
        w->service->name, w->service->methods[w->method].name);

    vc__result_fill(w->opts->result, vc__error_last(), 0, NULL);
    return status;
}

/* Prepared: runs it. False: it could not be begun. */
static bool
run(struct blocking *b, const struct what *w)
{
    struct vc_channel *channel = b->unary.channel;
    bool begun;

    b->again.began = vc__now();
    if (vc__again_begin(&b->again, w->opts, b->again.began) != VC_OK)
        return false;
    begun = attempt_may_begin(b);
    if (begun) {
        vc__channel_enter(channel);
        attempt(b);
        if (b->unary.error.status != VC_OK)
            go_on(b, w);
        else
            vc__retry_good(&channel->budget);
        vc__channel_leave(channel);
    }
    vc__again_end(&b->again);
    return begun;
}

/* Inlined in spite of its large frame, for which gcc would not: 40 instructions
 * of each call. */
static inline __attribute__((always_inline)) enum vc_status
call(struct vc_channel *channel, const struct what *w, void **reply)
{
    struct blocking b;

    if (prepare(&b, channel, w, 1) != VC_OK)
        return fail_unmade(w);
    if (!run(&b, w)) {
        vc__unary_release(&b.unary);
        return fail_unmade(w);
    }
    if (w->opts->result != NULL)
        vc__unary_tell(&b.unary, w->opts->result);
    vc__unary_release(&b.unary);
    if (b.unary.error.status != VC_OK)
        return vc__error_raise(&b.unary.error);
    *reply = b.unary.reply;
    return VC_OK;
}

enum vc_status
vc__channel_call(struct vc_channel *channel, const struct vc_service *service,
                 unsigned method, const void *request,
                 const struct vc_call_opts *user_opts, void **reply)
{
    const struct vc_method *m = &service->methods[method];
    struct vc_call_opts opts;
    const struct what w = {service, method, request, &opts};
    enum vc_status status =
        vc__call_opts_take(&opts, user_opts, vc__channel_call_ms(channel, m));

    if (status != VC_OK)
        return status;
    if (m->flags & VC_METHOD_ONE_WAY)
        return vc__one_way(channel, service, method, request, &opts);
    if (opts.hedge_ms != 0)
        return vc__hedge_call(channel, service, method, request, &opts, reply);
    return call(channel, &w, reply);
}

enum vc_status
vc_channel_call(struct vc_channel *channel, const struct vc_service *service,
                unsigned method, const void *request,
                const struct vc_call_opts *opts, void **reply)
{
    if (!vc__good(channel, VC__CHANNEL))
        return vc__bad(channel, VC__CHANNEL);
    if (!vc__method_is_unary(service, method))
        return vc__method_check(service, method, false);
    if (channel->interceptors != NULL)
        return vc__channel_intercept_call(channel, service, method, request,
                                          opts, reply);
    return vc__channel_call(channel, service, method, request, opts, reply);
}
