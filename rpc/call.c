/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The blocking unary call: the caller polls until the reply is there, and is
 * the only one who knows its deadline. */
#include <verbcall/call.h>

#include <string.h>

#include "rpc/canceller.h"
#include "rpc/unary.h"

struct blocking {
    struct vc__unary unary;
    struct vc__waiter waiter;
    struct vc__cancelling cancelling; /* if it can be cancelled */
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
run(struct blocking *b, uint32_t ms, bool cancellable)
{
    struct vc__unary *u = &b->unary;
    uint64_t now = vc__now();
    uint64_t due = ms == VC_NO_DEADLINE ? VC__FOREVER : vc__after_ms(now, ms);

    vc__waiter_init(&b->waiter);
    vc__unary_start(u, now, due);
    if (cancellable)
        vc__cancelling_join(&b->cancelling);
    if (!vc__engine_wait(&u->channel->progress->engine, &b->waiter, due))
        expire(b, ms);
    if (cancellable)
        vc__cancelling_end(&b->cancelling);
}

/* The options as far as the caller knows them. */
static void
opts_take(struct vc_call_opts *out, const struct vc_call_opts *opts)
{
    memset(out, 0, sizeof *out);
    if (opts != NULL)
        memcpy(out, opts, opts->size < sizeof *out ? opts->size : sizeof *out);
}

enum vc_status
vc_channel_call(struct vc_channel *channel, const struct vc_service *service,
                unsigned method, const void *request,
                const struct vc_call_opts *user_opts, void **reply)
{
    struct blocking b;
    struct vc_call_opts opts;
    enum vc_status status;
    bool cancellable;

    opts_take(&opts, user_opts);
    cancellable = opts.canceller != NULL;
    vc__unary_init(&b.unary, channel, service, method, request, on_ended);
    status = vc__unary_prepare(&b.unary);
    if (status != VC_OK)
        return status;
    if (cancellable)
        status = vc__cancelling_begin(&b.cancelling, opts.canceller, NULL,
                                      on_cancel);
    if (status == VC_OK) {
        vc__channel_enter(channel);
        run(&b, opts.timeout_ms != 0
                ? opts.timeout_ms
                : vc__channel_call_ms(channel, &service->methods[method]),
            cancellable);
        vc__channel_leave(channel);
    }
    vc__unary_release(&b.unary);
    if (status != VC_OK)
        return status;
    if (b.unary.error.status != VC_OK)
        return vc__error_raise(&b.unary.error);
    *reply = b.unary.reply;
    return VC_OK;
}
