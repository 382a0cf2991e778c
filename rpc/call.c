/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The blocking unary call: the caller polls until the reply is there, and is
 * the only one who knows its deadline. */
#include <verbcall/call.h>

#include "rpc/call_opts.h"
#include "rpc/server_cancel.h"
#include "rpc/unary.h"

struct blocking {
    struct vc__unary unary;
    struct vc__waiter waiter;
    struct vc__cancelling cancelling; /* if it can be cancelled */
};

/* How long it may take, and what may end it. */
struct limits {
    uint64_t now, due;
    uint32_t ms;
    bool cancellable;
};

static void
on_ended(struct vc__unary *u)
{
    vc__waiter_done(&caa_container_of(u, struct blocking, unary)->waiter);
}

/* The caller's patience is over. */
static void
expire(struct blocking *b, uint32_t ms)
{
    struct vc__unary *u = &b->unary;
    const struct vc__target *target = &u->channel->pool->opts.target;
    enum vc_outcome outcome;

    if (!vc__unary_abandon(u, &outcome)) {
        /* Its end is being written this moment. */
        vc__engine_wait(&u->channel->progress->engine, &b->waiter, VC__FOREVER);
        return;
    }
    vc__error_put(&u->error, VC_DEADLINE_EXCEEDED,
                  "%s has not been answered within %u ms by %s:%s",
                  u->method->name, ms, target->host, target->port);
    u->error.outcome = outcome;
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
    vc__error_put(&u->error, VC_CANCELLED, "%s was cancelled by its caller",
                  u->method->name);
    u->error.outcome = outcome;
    vc__waiter_done(&b->waiter);
    vc__engine_kick(&u->channel->progress->engine);
}

static void
run(struct blocking *b, const struct limits *limits)
{
    struct vc__unary *u = &b->unary;

    vc__waiter_init(&b->waiter);
    vc__unary_start(u, limits->now, limits->due);
    if (limits->cancellable)
        vc__cancelling_join(&b->cancelling);
    if (!vc__engine_wait(&u->channel->progress->engine, &b->waiter,
                         limits->due))
        expire(b, limits->ms);
    if (limits->cancellable)
        vc__cancelling_end(&b->cancelling);
}

static void
limits_set(struct limits *l, uint32_t ms)
{
    l->now = vc__now();
    l->ms = ms;
    l->due = ms == VC_NO_DEADLINE ? VC__FOREVER : vc__after_ms(l->now, ms);
}

/* A call that is made for another ends with it, if not before. */
static enum vc_status
limits_of_parent(struct limits *l, struct vc_call *parent,
                 struct vc_canceller **children)
{
    uint64_t due = parent->site.due;

    if (l->now >= due)
        return vc__fail(VC_DEADLINE_EXCEEDED,
                        "the deadline of the call that this one is made for "
                        "has passed");
    if (due < l->due) {
        l->due = due;
        l->ms = (uint32_t)((due - l->now + 999) / 1000);
    }
    *children = vc__call_children(parent);
    return *children != NULL ? VC_OK
                             : vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
}

static enum vc_status
limits_join(struct limits *l, struct blocking *b,
            const struct vc_call_opts *opts)
{
    struct vc_canceller *children = NULL;
    enum vc_status status = VC_OK;

    l->cancellable = opts->canceller != NULL || opts->parent != NULL;
    if (opts->parent != NULL)
        status = limits_of_parent(l, opts->parent, &children);
    if (status != VC_OK || !l->cancellable)
        return status;
    return vc__cancelling_begin(&b->cancelling, opts->canceller, children,
                                on_cancel);
}

/* The request could not be made; the error is this thread's last. */
static enum vc_status
fail_unmade(const struct vc_call_opts *opts)
{
    const struct vc__error *error = vc__error_last();

    vc__result_fill(opts->result, error, 0, NULL);
    return error->status;
}

enum vc_status
vc_channel_call(struct vc_channel *channel, const struct vc_service *service,
                unsigned method, const void *request,
                const struct vc_call_opts *user_opts, void **reply)
{
    struct blocking b;
    struct vc_call_opts opts;
    struct limits limits;
    enum vc_status status;

    status = vc__call_opts_take(
        &opts, user_opts,
        vc__channel_call_ms(channel, &service->methods[method]));
    if (status != VC_OK)
        return status;
    vc__unary_init(&b.unary, channel, service, method, request, on_ended);
    b.unary.metadata = opts.metadata;
    b.unary.n_metadata = opts.n_metadata;
    b.unary.wants_all = opts.result != NULL;
    if (vc__unary_prepare(&b.unary) != VC_OK)
        return fail_unmade(&opts);
    limits_set(&limits, opts.timeout_ms);
    if (limits_join(&limits, &b, &opts) != VC_OK) {
        vc__unary_release(&b.unary);
        return fail_unmade(&opts);
    }
    vc__channel_enter(channel);
    run(&b, &limits);
    vc__channel_leave(channel);
    if (opts.result != NULL)
        vc__unary_tell(&b.unary, opts.result);
    vc__unary_release(&b.unary);
    if (status != VC_OK)
        return status;
    if (b.unary.error.status != VC_OK)
        return vc__error_raise(&b.unary.error);
    *reply = b.unary.reply;
    return VC_OK;
}
