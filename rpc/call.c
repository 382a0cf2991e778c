/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The blocking unary call: the caller polls until the reply is there, and is
 * the only one who knows its deadline. */
#include <verbcall/call.h>

#include "rpc/unary.h"

struct blocking {
    struct vc__unary unary;
    struct vc__waiter waiter;
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

static void
run(struct blocking *b, uint32_t ms)
{
    struct vc__unary *u = &b->unary;
    uint64_t now = vc__now();
    uint64_t due = ms == VC_NO_DEADLINE ? VC__FOREVER : vc__after_ms(now, ms);

    vc__waiter_init(&b->waiter);
    vc__unary_start(u, now, due);
    if (!vc__engine_wait(&u->channel->progress->engine, &b->waiter, due))
        expire(b, ms);
}

enum vc_status
vc_channel_call(struct vc_channel *channel, const struct vc_service *service,
                unsigned method, const void *request,
                const struct vc_call_opts *opts, void **reply)
{
    struct blocking b;
    uint32_t ms = opts != NULL && opts->timeout_ms != 0
                      ? opts->timeout_ms
                      : vc__channel_call_ms(channel, &service->methods[method]);
    enum vc_status status;

    vc__unary_init(&b.unary, channel, service, method, request, on_ended);
    status = vc__unary_prepare(&b.unary);
    if (status != VC_OK)
        return status;
    vc__channel_enter(channel);
    run(&b, ms);
    vc__channel_leave(channel);
    vc__unary_release(&b.unary);
    if (b.unary.error.status != VC_OK)
        return vc__error_raise(&b.unary.error);
    *reply = b.unary.reply;
    return VC_OK;
}
