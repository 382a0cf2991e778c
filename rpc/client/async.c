/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/async.h. The static functions from seen_end() to on_told() run
 * on the holder: on_told() or async_on_timer() calls them, directly or not;
 * but async_on_broken() runs on any thread. Later ones run on the thread that
 * makes the call, unless noted. */
#include "rpc/client/async.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/client/call_opts.h"
#include "rpc/client/channel_intercept.h"
#include "rpc/client/hedge.h"
#include "rpc/text.h"

/* --- holders ----------------------------------------------------------- */

void
vc__async_hold(struct vc_async *a)
{
    /* Relaxed: the caller has a reference already. */
    atomic_fetch_add_explicit(&a->holders, 1, memory_order_relaxed);
}

/* Where the memory of calls of this engine is from, for async_alloc() and
 * vc__async_put(). */
static struct vc__spare *
async_spare(struct vc__engine *e)
{
    return &caa_container_of(e, struct vc__progress, engine)->spare;
}

void
vc__async_put(struct vc_async *a)
{
    if (atomic_fetch_sub(&a->holders, 1) != 1)
        return;
    vc__handle_fini(&a->handle);
    free(a->hedge);
    vc__spare_give(async_spare(a->engine), a, sizeof *a);
}

/* The posted task has a reference, too. Acquire, release: on_told() sees what
 * was written before. */
void
vc__async_tell(struct vc_async *a, unsigned bit)
{
    if (atomic_fetch_or(&a->events, bit) != 0)
        return;
    vc__async_hold(a);
    vc__engine_post(a->engine, &a->task);
}

/* --- the channel ------------------------------------------------------- */

void
vc__asyncs_enter(struct vc_channel *c)
{
    atomic_fetch_add_explicit(&c->asyncs, 1, memory_order_relaxed);
}

void
vc__asyncs_leave(struct vc_channel *c, struct vc__engine *e)
{
    /* As in vc__channel_leave(). */
    if (atomic_fetch_sub_explicit(&c->asyncs, 1, memory_order_acq_rel) != 1)
        return;
    vc__waiter_done(&c->idle);
    /* The closing thread may be the holder, asleep. The engine still exists:
     * this thread is about to return into it, or has entered the channel. */
    vc__engine_kick(e);
}

void
vc__async_leave(struct vc_async *a)
{
    vc__asyncs_leave(a->attempt.channel, a->engine);
}

void
vc__asyncs_await(struct vc_channel *channel)
{
    struct vc__engine *e = &channel->progress->engine;

    vc__asyncs_leave(channel, e);
    vc__engine_wait(e, &channel->idle, VC__FOREVER);
}

/* --- the call, on the holder unless noted -------------------------------- */

/* Reports the reply, if there is one, and the end to the interceptors, for
 * async_finish(); frees their result. */
static void
seen_end(struct vc_async *a, const struct vc__attempt *won)
{
    if (won->error.status == VC_OK && won->reply != NULL)
        vc__interception_message(a->interception, VC_MESSAGE_REPLY, won->reply);
    vc__channel_intercept_close(a->interception, &won->error);
    a->interception = NULL;
}

/* Ends the call, once, with `won`: the attempt that succeeded, or one of those
 * that failed. Its last step is over(). Called by the static functions that
 * follow. */
static void
async_finish(struct vc_async *a, struct vc__attempt *won)
{
    a->state = VC__ASYNC_OVER;
    a->won = won;
    vc__timer_stop(&a->engine->timers, &a->timer);
    if (a->attempts.cancellable)
        vc__cancelling_end(&a->cancelling);
    vc__attempts_end(&a->attempts);
    if (won->error.status == VC_OK)
        vc__retry_good(&won->channel->budget);
    else
        vc__attempts_settle(&a->attempts, &won->error);
    if (a->result != NULL)
        vc__attempt_tell(won, a->result);
    if (a->interception != NULL)
        seen_end(a, won);
    if (!a->flying)
        vc__attempt_release(&a->attempt);
    if (won != &a->attempt)
        vc__attempt_release(won);
    a->over(a);
}

/* Ends the call with this error: async_finish() of its attempt. For
 * async_timer_set(), async_pause_for(), async_cancel() and on_told(). */
static void
finish_with(struct vc_async *a, enum vc_status status, enum vc_outcome outcome,
            const char *text)
{
    struct vc__attempt *u = &a->attempt;

    vc__error_put(&u->error, status, "%s.%s: %s", u->service->name,
                  u->method->name, text);
    u->error.outcome = outcome;
    async_finish(a, u);
}

/* Abandons the attempt, if one is under way, for give_up() and hedge_won().
 * False, with *outcome not executed, if its end is still to be handled. */
static bool
attempt_give_up(struct vc_async *a, enum vc_outcome *outcome)
{
    *outcome = VC_OUTCOME_NOT_EXECUTED;
    if (!a->flying)
        return true;
    /* An attempt that failed within start cannot be abandoned. */
    a->flying = (atomic_load(&a->events) & VC__ASYNC_EV_ENDED) ||
                !vc__attempt_abandon(&a->attempt, outcome);
    return !a->flying;
}

/* For async_timer_set(), async_expire() and async_cancel(): abandons the
 * attempt, or ends the pause, and abandons the hedge. False if the end of the
 * attempt is still to be handled. */
static bool
give_up(struct vc_async *a, enum vc_outcome *outcome)
{
    if (a->state == VC__ASYNC_PAUSED)
        vc__retry_wait_end(&a->attempt.channel->retry_waits, &a->retry_wait);
    vc__hedge_give_up(a);
    return attempt_give_up(a, outcome);
}

/* When the timer of an attempt must fire first: for its hedge, if it is to have
 * one, or at the deadline. For async_resume(), async_on_timer() and
 * on_told(). */
static uint64_t
first_due(const struct vc_async *a)
{
    uint64_t hedge = vc__after_ms(a->attempts.began, a->hedge_ms);

    return a->hedge_ms > 0 && hedge < a->attempts.until ? hedge
                                                        : a->attempts.until;
}

static void async_on_timer(struct vc__timer *timer);

/* For async_resume(), async_on_timer(), async_pause_for() and on_told(): starts
 * or moves the call's timer, unless `due` is never. If memory is short the call
 * ends, unless its attempt is just ending. */
static void
async_timer_set(struct vc_async *a, uint64_t due)
{
    enum vc_outcome outcome;

    if (due == VC__FOREVER ||
        vc__timer_start(&a->engine->timers, &a->timer, due, async_on_timer))
        return;
    if (give_up(a, &outcome))
        finish_with(a, VC_RESOURCE_EXHAUSTED, outcome,
                    "out of memory for a timer");
}

/* The deadline has passed: called by async_on_timer(). Ends the call, unless
 * its attempt is just ending. */
static void
async_expire(struct vc_async *a)
{
    enum vc_outcome outcome;

    if (!give_up(a, &outcome))
        return;
    vc__attempts_expired(&a->attempts, &a->attempt, outcome);
    async_finish(a, &a->attempt);
}

/* The pause has elapsed: called by async_on_timer(). Starts the next attempt,
 * or ends the call. */
static void
async_resume(struct vc_async *a)
{
    uint64_t now = vc__now();
    bool first;

    vc__retry_wait_end(&a->attempt.channel->retry_waits, &a->retry_wait);
    a->state = VC__ASYNC_RUNNING;
    if (!vc__attempts_in_time(&a->attempts, &a->attempt, now) ||
        !vc__attempt_renew(&a->attempt, a->attempts.number)) {
        async_finish(a, &a->attempt);
        return;
    }
    a->attempts.began = now;
    a->flying = true;
    vc__attempt_start(&a->attempt, now, a->attempts.due);
    /* Only the first attempt has a hedge: also if it had to wait for servers,
     * or to move. */
    first = a->attempts.number - a->attempts.moved == 1;
    async_timer_set(a, first ? first_due(a) : a->attempts.until);
}

/* fire() of the call's timer: the deadline, the next attempt or the hedge is
 * due. */
static void
async_on_timer(struct vc__timer *timer)
{
    struct vc_async *a = caa_container_of(timer, struct vc_async, timer);

    if (a->state == VC__ASYNC_PAUSED) {
        async_resume(a);
    } else if (a->hedge_ms > 0 && vc__now() < a->attempts.until) {
        vc__hedge_begin(a);
        async_timer_set(a, first_due(a));
    } else {
        async_expire(a);
    }
}

/* broken() of the pause: any thread, inside vc_channel_close(), under the lock
 * of retry_waits. */
static void
async_on_broken(struct vc__retry_wait *p)
{
    vc__async_tell(caa_container_of(p, struct vc_async, retry_wait),
                   VC__ASYNC_EV_BROKEN);
}

/* For attempts_failed(): waits before the next attempt; if the channel is being
 * closed, ends the call. */
static void
async_pause_for(struct vc_async *a, uint64_t us)
{
    a->retry_wait.broken = async_on_broken;
    if (!vc__retry_wait_begin(&a->attempt.channel->retry_waits,
                              &a->retry_wait)) {
        finish_with(a, VC_CANCELLED, VC_OUTCOME_NOT_EXECUTED, VC__TEXT_CLOSED);
        return;
    }
    a->state = VC__ASYNC_PAUSED;
    async_timer_set(a, vc__now() + us);
}

/* For attempt_over() and hedge_over(): all attempts have failed. Tries again,
 * or ends the call. */
static void
attempts_failed(struct vc_async *a)
{
    uint64_t us;

    if (!a->cancelled && !a->handed &&
        vc__attempts_next(&a->attempts, &a->attempt,
                          a->configured ? &a->policy : NULL, &us))
        async_pause_for(a, us);
    else
        async_finish(a, &a->attempt);
}

/* Handles VC__ASYNC_EV_ENDED: ends the call, tries again, or goes on with the
 * hedge. If the call has ended with the hedge, only frees what the attempt
 * has, and drops its reference. */
static void
attempt_over(struct vc_async *a)
{
    a->flying = false;
    if (a->state == VC__ASYNC_OVER) { /* the hedge was faster */
        if (a->attempt.error.status == VC_OK)
            vc_message_free(a->attempt.reply);
        vc__attempt_release(&a->attempt);
        vc__async_put(a);
    } else if (a->attempt.error.status == VC_OK) {
        vc__hedge_give_up(a);
        async_finish(a, &a->attempt);
    } else if (a->hedge == NULL) {
        attempts_failed(a);
    } else if (vc__hedge_is_fatal(a, &a->attempt)) {
        vc__hedge_give_up(a);
        async_finish(a, &a->attempt);
    } else {
        a->attempts.seen |= a->attempt.error.outcome != VC_OUTCOME_NOT_EXECUTED;
    }
}

/* For hedge_over(): the hedge has a reply, or an error that ends the call.
 * Abandons the attempt; if it ends by itself, the call is kept until then. */
static void
hedge_won(struct vc_async *a)
{
    enum vc_outcome outcome;

    if (!attempt_give_up(a, &outcome))
        vc__async_hold(a);
    a->attempts.seen |= outcome != VC_OUTCOME_NOT_EXECUTED;
    async_finish(a, vc__hedge_unary(a->hedge));
}

/* Handles VC__ASYNC_EV_HEDGE: ends the call with the hedge, if that has won, or
 * goes on without it; if the attempt has failed before, tries again or ends the
 * call. */
static void
hedge_over(struct vc_async *a)
{
    if (vc__hedge_ended(a))
        hedge_won(a);
    else if (!a->flying && a->state == VC__ASYNC_RUNNING)
        attempts_failed(a);
}

/* Called by on_told() while the call is cancelled, started and not over: ends
 * it, unless its attempt is just ending. */
static void
async_cancel(struct vc_async *a)
{
    enum vc_outcome outcome;

    if (give_up(a, &outcome))
        finish_with(a, VC_CANCELLED, outcome, VC__TEXT_CANCELLED);
}

/* Handles VC__ASYNC_EV_HANDED: wakes the caller of a one-way call, which waits
 * until the adapter has the request. */
static void
async_handed(struct vc_async *a)
{
    if (!a->handed && a->state != VC__ASYNC_OVER)
        vc__waiter_done(&a->waiter);
    a->handed = true;
}

/* run() of the call's task: handles the events that vc__async_tell() reported,
 * and drops the task's reference. */
static void
on_told(struct vc__task *task)
{
    struct vc_async *a = caa_container_of(task, struct vc_async, task);
    unsigned bits = atomic_exchange(&a->events, 0);

    a->heard = bits;
    a->cancelled |= (bits & VC__ASYNC_EV_CANCEL) != 0;
    a->started |= (bits & VC__ASYNC_EV_STARTED) != 0;
    if (bits & VC__ASYNC_EV_HANDED)
        async_handed(a);
    if (bits & VC__ASYNC_EV_ENDED)
        attempt_over(a);
    else if (bits & VC__ASYNC_EV_STARTED && a->state == VC__ASYNC_RUNNING)
        async_timer_set(a, first_due(a));
    a->heard = 0;
    if (bits & VC__ASYNC_EV_HEDGE)
        hedge_over(a);
    if (bits & VC__ASYNC_EV_BROKEN && a->state == VC__ASYNC_PAUSED) {
        vc__retry_wait_end(&a->attempt.channel->retry_waits, &a->retry_wait);
        finish_with(a, VC_CANCELLED, VC_OUTCOME_NOT_EXECUTED, VC__TEXT_CLOSED);
    }
    /* A call that is still being started is not abandoned. */
    if (a->cancelled && a->started && a->state != VC__ASYNC_OVER)
        async_cancel(a);
    vc__async_put(a);
}

/* ended() of the attempt: any thread, as it may also end inside
 * vc__attempt_start(), or while the channel is being closed. */
static void
async_on_ended(struct vc__attempt *u)
{
    vc__async_tell(caa_container_of(u, struct vc_async, attempt),
                   VC__ASYNC_EV_ENDED);
}

/* --- the request ------------------------------------------------------- */

/* hold() of a one-way call's watch, by packed_alloc() of rpc/client/packed.c,
 * which makes the packed request: on the thread that makes the call, or, for a
 * further attempt, on the holder. */
static void
watch_hold(struct vc__watch *w)
{
    vc__async_hold(caa_container_of(w, struct vc_async, watch));
}

/* handed() of the watch, by packed_done(): the adapter has all of the request.
 * Any thread, under the link's lock. */
static void
watch_handed(struct vc__watch *w)
{
    struct vc_async *a = caa_container_of(w, struct vc_async, watch);

    atomic_store(&a->gone, a->attempts.number);
    vc__async_tell(a, VC__ASYNC_EV_HANDED);
}

/* drop() of the watch, by packed_put(): a packed request is freed. Any
 * thread. */
static void
watch_drop(struct vc__watch *w)
{
    vc__async_put(caa_container_of(w, struct vc_async, watch));
}

/* --- starting ---------------------------------------------------------- */

/* cancel() of the call: any thread, under a canceller's lock. */
static void
async_on_cancel(struct vc__cancelling *c)
{
    vc__async_tell(caa_container_of(c, struct vc_async, cancelling),
                   VC__ASYNC_EV_CANCEL);
}

/* For async_make(): allocates the call, with one reference. NULL, with an
 * error, if memory is short. The attempt is not cleared here:
 * vc__attempt_init() sets what is used of it, and not the text, which is most
 * of the object. */
static struct vc_async *
async_alloc(struct vc__engine *engine, void (*over)(struct vc_async *a))
{
    struct vc_async *a = vc__spare_take(async_spare(engine), sizeof *a);

    _Static_assert(sizeof *a <= VC__SPARE_CALL, "it comes from a stock");

    if (a == NULL) {
        vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
        return NULL;
    }
    memset(&a->handle, 0, sizeof *a - offsetof(struct vc_async, handle));
    a->engine = engine;
    vc__handle_init(&a->handle, VC__ASYNC);
    atomic_init(&a->holders, 1);
    a->task.run = on_told;
    a->over = over;
    a->flying = true;
    vc__waiter_init(&a->waiter);
    return a;
}

/* For async_make(): packs the request. Returns the errors of
 * vc__attempt_limit() and vc__attempt_prepare(). */
static enum vc_status
async_prepare(struct vc_async *a, const struct vc_call_opts *opts)
{
    struct vc__attempt *u = &a->attempt;

    a->hedge_ms = opts->hedge_ms;
    a->result = opts->result;
    u->metadata = opts->metadata;
    u->n_metadata = opts->n_metadata;
    u->priority = opts->priority;
    u->wants_all = opts->result != NULL;
    u->packs = true;
    if (u->method->flags & VC_METHOD_ONE_WAY) {
        a->watch = (struct vc__watch){watch_hold, watch_handed, watch_drop};
        u->watch = &a->watch;
    }
    if (a->configured && vc__attempt_limit(u, &a->policy) != VC_OK)
        return VC_RESOURCE_EXHAUSTED;
    return vc__attempt_prepare(u);
}

/* Called by async_make(): sets the deadline, and takes references to the
 * cancellers, whose lists the call joins in vc__async_start(). If it fails
 * (VC_CANCELLED, VC_DEADLINE_EXCEEDED, VC_RESOURCE_EXHAUSTED), there is nothing
 * of this to undo. */
static enum vc_status
async_limit(struct vc_async *a, const struct vc_call_opts *opts)
{
    struct vc__attempts *g = &a->attempts;
    enum vc_status status;

    status = vc__attempts_begin(g, opts, a->engine->rough_us);
    if (status != VC_OK || !g->cancellable)
        return status;
    status = vc__cancelling_begin(&a->cancelling, g->canceller, g->parent,
                                  async_on_cancel);
    if (status != VC_OK)
        vc__attempts_end(g);
    return status;
}

/* For vc__async_new(), with complete options; policy: of the service config, or
 * NULL. Returns the call with one reference, or NULL with the error as this
 * thread's last. */
static struct vc_async *
async_make(struct vc_channel *channel, const struct vc_service *service,
           unsigned method, const void *request,
           const struct vc_call_opts *opts,
           const struct vc__call_policy *policy,
           void (*over)(struct vc_async *a))
{
    struct vc_async *a;

    if (vc__hedge_check(&service->methods[method], opts->hedge_ms) != VC_OK)
        return NULL;
    a = async_alloc(&channel->progress->engine, over);
    if (a == NULL)
        return NULL;
    vc__attempt_init(&a->attempt, channel, service, method, request,
                     async_on_ended);
    if (policy != NULL) {
        a->policy = *policy;
        a->configured = true;
    }
    if (async_prepare(a, opts) == VC_OK && async_limit(a, opts) == VC_OK)
        return a;
    vc__attempt_release(&a->attempt);
    vc__async_put(a);
    return NULL;
}

struct vc_async *
vc__async_new(struct vc_channel *channel, const struct vc_service *service,
              unsigned method, const void *request,
              const struct vc_call_opts *user_opts,
              void (*over)(struct vc_async *a))
{
    const struct vc__call_policy *policy = NULL;
    struct vc__call_policy room;
    struct vc_call_opts opts;
    struct vc_async *a;

    if (vc__channel_opts_take(&opts, user_opts, channel, service, method, &room,
                              &policy) != VC_OK)
        return NULL;
    a = async_make(channel, service, method, request, &opts, policy, over);
    if (a == NULL) {
        vc__text_name_last(service->name, service->methods[method].name);
        vc__result_fill(opts.result, vc__error_last(), 0, NULL);
    }
    return a;
}

/* References: the caller's becomes that of the task, and one is of the call
 * until it is over and delivered. No other thread has the call yet. The call
 * may be cancelled at once, but is not abandoned while it is being started. */
void
vc__async_start(struct vc_async *a)
{
    unsigned holders = atomic_load_explicit(&a->holders, memory_order_relaxed);

    atomic_store_explicit(&a->holders, holders + 1, memory_order_relaxed);
    vc__asyncs_enter(a->attempt.channel);
    if (a->attempts.cancellable)
        vc__cancelling_join(&a->cancelling);
    vc__attempt_start(&a->attempt, a->attempts.began, a->attempts.due);
    if (atomic_fetch_or(&a->events, VC__ASYNC_EV_STARTED) == 0)
        vc__engine_post(a->engine, &a->task);
    else /* the task is posted, with a reference of its own */
        vc__async_put(a);
}

void
vc_async_cancel(struct vc_async *call)
{
    vc__must(call, VC__ASYNC);
    vc__async_tell(call, VC__ASYNC_EV_CANCEL);
}

void
vc_async_free(struct vc_async *call)
{
    if (!vc__nothing_to_free(call, VC__ASYNC))
        vc__async_put(call);
}
