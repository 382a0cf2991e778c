/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/hedge.h. */
#include "rpc/client/hedge.h"

#include <stdlib.h>

struct vc__hedge {
    struct vc__attempt attempt;
    struct vc_async *call; /* holds a reference until the hedge has ended */
    bool unwanted;         /* too late to abandon it: its end will come */
};

struct vc__attempt *
vc__hedge_unary(struct vc__hedge *h)
{
    return &h->attempt;
}

/* ended() of the hedge's attempt: on the holder, also inside
 * vc__attempt_start(), or on any thread while the channel is being closed.
 * Reports that to the call, whose task calls vc__hedge_ended(). */
static void
hedge_on_ended(struct vc__attempt *u)
{
    vc__async_tell(caa_container_of(u, struct vc__hedge, attempt)->call,
                   VC__ASYNC_EV_HEDGE);
}

void
vc__hedge_begin(struct vc_async *a)
{
    struct vc__hedge *h;

    /* It waits until the servers are known: the hedge comes after that. */
    if (a->flying && a->attempt.client != NULL &&
        a->attempt.client->pool->opts.nowhere) {
        a->attempts.began = vc__now();
        return;
    }
    h = malloc(sizeof *h);
    a->hedge_ms = 0;
    /* Without an attempt under way no hedge is needed. */
    if (h == NULL || !a->flying || a->attempt.client == NULL ||
        vc__throttle_is_on(&a->attempt.client->pool->throttle) ||
        !vc__attempt_copy(&h->attempt, &a->attempt, a->attempts.number + 1,
                          hedge_on_ended)) {
        free(h);
        return;
    }
    h->call = a;
    h->unwanted = false;
    a->hedge = h;
    if (a->configured && a->policy.hedges) /* the hedge is the second attempt */
        a->policy.retry.max_attempts = 1;
    vc__async_hold(a);
    vc__count(&a->engine->ledger, VC__COUNT_hedges_started, 1);
    vc__attempt_start(&h->attempt, vc__now(), a->attempts.due);
}

/* For hedge_end() and vc__hedge_give_up(), on the holder: notes in the call if
 * the hedge, which has ended, may have been executed. */
static void
hedge_note(struct vc_async *a)
{
    const struct vc__error *error = &a->hedge->attempt.error;

    a->attempts.seen |=
        error->status == VC_OK || error->outcome != VC_OUTCOME_NOT_EXECUTED;
}

/* For vc__hedge_give_up() and vc__hedge_ended(), on the holder, when the hedge
 * was abandoned or has ended without use: frees it. Drops its reference to the
 * call, of which the caller has another. Notes in the call if the hedge may
 * have been executed. */
static void
hedge_end(struct vc_async *a)
{
    struct vc__hedge *h = a->hedge;

    hedge_note(a);
    vc__attempt_release(&h->attempt);
    a->hedge = NULL;
    free(h);
    vc__async_put(a);
}

void
vc__hedge_give_up(struct vc_async *a)
{
    struct vc__hedge *h = a->hedge;
    enum vc_outcome outcome;

    if (h == NULL || h->unwanted)
        return;
    /* As in rpc/client/async.c: an attempt that failed within start cannot be
     * abandoned. The call may end before the end of the hedge is handled. */
    if ((atomic_load(&a->events) | a->heard) & VC__ASYNC_EV_HEDGE) {
        h->unwanted = true;
        hedge_note(a);
        return;
    }
    if (!vc__attempt_abandon(&h->attempt, &outcome)) { /* it is just ending */
        h->unwanted = true;
        a->attempts.seen = true;
        return;
    }
    h->attempt.error.status = VC_CANCELLED;
    h->attempt.error.outcome = outcome;
    hedge_end(a);
}

bool
vc__hedge_is_fatal(const struct vc_async *a, const struct vc__attempt *u)
{
    bool sent = u->answered || u->error.outcome != VC_OUTCOME_NOT_EXECUTED;

    return a->configured && a->policy.hedges && sent &&
           !(a->policy.retry.codes >> u->error.status & 1);
}

bool
vc__hedge_ended(struct vc_async *a)
{
    struct vc__hedge *h = a->hedge;
    bool good = h->attempt.error.status == VC_OK;

    if (!h->unwanted && (good || vc__hedge_is_fatal(a, &h->attempt))) {
        vc__count(&a->engine->ledger, VC__COUNT_hedges_won, good);
        vc__async_put(a); /* the caller has a reference, too */
        return true;
    }
    if (good)
        vc_message_free(h->attempt.reply);
    hedge_end(a);
    return false;
}

enum vc_status
vc__hedge_check(const struct vc_method *method, uint32_t hedge_ms)
{
    if (hedge_ms == 0)
        return VC_OK;
    if (method->flags & (VC_METHOD_CLIENT_STREAM | VC_METHOD_SERVER_STREAM))
        return vc__fail(VC_INVALID_ARGUMENT,
                        "vc_call_opts.hedge_ms: this is a stream, and only "
                        "calls with one reply are hedged; leave it at 0");
    if (method->flags & VC_METHOD_NO_SIDE_EFFECTS)
        return VC_OK;
    return vc__fail(
        VC_INVALID_ARGUMENT,
        "vc_call_opts.hedge_ms: the method may have side effects: give it "
        "option idempotency_level = NO_SIDE_EFFECTS if it has none");
}

/* --- the blocking call ------------------------------------------------- */

/* over() of the call: async_finish() calls it on the holder. Leaves the
 * channel, wakes vc__hedge_call(), and drops the call's own reference. */
static void
hedged_ended(struct vc_async *a)
{
    vc__async_leave(a);
    vc__waiter_done(&a->waiter);
    vc__async_put(a);
}

enum vc_status
vc__hedge_call(struct vc_channel *channel, const struct vc_service *service,
               unsigned method, const void *request,
               const struct vc_call_opts *opts, void **reply)
{
    struct vc_async *a =
        vc__async_new(channel, service, method, request, opts, hedged_ended);
    enum vc_status status;

    if (a == NULL)
        return vc__error_last()->status;
    vc__channel_enter(channel);
    vc__async_hold(a);
    vc__async_start(a);
    /* The call's deadline ends the wait. */
    vc__engine_wait(a->engine, &a->waiter, VC__FOREVER);
    status = a->won->error.status;
    if (status == VC_OK)
        *reply = a->won->reply;
    else
        vc__error_raise(&a->won->error);
    vc__async_put(a);
    vc__channel_leave(channel); /* last: the runtime may go, too */
    return status;
}
