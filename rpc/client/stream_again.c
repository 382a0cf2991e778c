/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/stream_again.h. Between two attempts the call rests: no
 * client knows it, and what the program sends is parked. A rest ends by its
 * timer, the deadline, a cancel, or the channel's closing. Each of these clears
 * `resting` under the stream's lock; the one that finds it set goes on with the
 * call. Static functions run on the thread of the function that calls them, or
 * where their comments say. */
#include "rpc/client/stream_again.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/client/async.h"
#include "rpc/text.h"

/* --- may it be tried again? ----------------------------------------------- */

/* For vc__client_stream_again(): true if all that the peer would need again is
 * kept, and the program has nothing of this attempt. A client's messages are
 * not kept once they were handed to a link. */
static bool
is_at_hand(struct vc__client_stream *c)
{
    return !c->came &&
           (c->request.session == NULL || !vc__client_stream_up(c) ||
            vc__stream_has_sent_nothing(&c->stream));
}

/* For stream_facts_of(): true if another server may be tried at once; as
 * may_move() of attempts.c. */
static bool
stream_may_move(const struct vc__client_stream *c)
{
    const struct vc__pool *pool = c->client->pool;

    return !c->answered &&
           (pool->opts.nowhere || !vc__pick_key_insists(&c->key)) &&
           vc__channel_elsewhere(c->channel, pool, c->attempts.moved);
}

/* The facts of the failed attempt, for policy_allows(). */
static struct vc__retry_facts
stream_facts_of(const struct vc__client_stream *c,
                const struct vc__error *error, uint64_t now)
{
    const struct vc__attempts *a = &c->attempts;
    struct vc__retry_facts facts = {
        .status = error->status,
        .outcome = error->outcome,
        .call_flags = a->flags,
        .attempt = a->number - a->moved,
        .nowhere = c->client->pool->opts.nowhere,
        .answered = c->answered,
        .waits = &c->channel->retry,
        .elsewhere = stream_may_move(c),
        .took_us = now - a->began,
        .left_us = a->due == VC__FOREVER ? UINT64_MAX
                   : a->due > now        ? a->due - now
                                         : 0,
    };

    if (c->reply_metadata != NULL)
        facts.has_pushback =
            vc__reply_metadata_pushback(c->reply_metadata, &facts.pushback_ms);
    if (vc__lack_lasts(error->lack)) {
        facts.has_pushback = true;
        facts.pushback_ms = -1;
    }
    return facts;
}

/* For vc__client_stream_again(): asks rpc/client/retry.h, and counts what it
 * says. True if another attempt is to follow after *wait_us. */
static bool
policy_allows(struct vc__client_stream *c, const struct vc__error *error,
              uint64_t now, uint64_t *wait_us)
{
    struct vc_channel *channel = c->channel;
    struct vc__retry_facts facts = stream_facts_of(c, error, now);
    /* Relaxed: the values must only differ. */
    uint64_t seed = now ^ atomic_fetch_add_explicit(
                              &channel->chance, UINT64_C(0x9e3779b97f4a7c15),
                              memory_order_relaxed);
    enum vc__retry retry =
        vc__retry_again(c->configured ? &c->retry : &channel->retry,
                        &channel->budget, &facts, &seed, wait_us);
    bool moves = retry == VC__RETRY_ELSEWHERE;

    if (moves && facts.nowhere)
        return true;
    if (error->status == VC_UNAVAILABLE)
        vc__channel_lost(channel, now);
    if (retry == VC__RETRY_STARVED)
        vc__channel_count(channel, VC__POOL_CALLS_NOT_RETRIED);
    if (!moves && retry != VC__RETRY_AGAIN)
        return false;
    vc__channel_count(channel, VC__POOL_CALLS_RETRIED);
    c->attempts.moved += moves;
    return true;
}

/* --- resting -------------------------------------------------------------- */

/* For rest_begin(), stream_again_on_broken() and vc__client_stream_rest_end():
 * posts the rest's task, rest_run(), unless it is posted. The task has a
 * reference to the stream. Under the stream's lock, on any thread. */
static void
rest_post(struct vc__client_stream *c)
{
    if (c->rest_posted)
        return;
    c->rest_posted = true;
    vc__stream_hold(&c->stream);
    vc__engine_post(c->stream.engine, &c->rest);
}

/* broken() of the rest: any thread, inside vc_channel_close(), under the lock
 * of retry_waits. rest_run() then ends the call. */
static void
stream_again_on_broken(struct vc__retry_wait *p)
{
    struct vc__client_stream *c =
        caa_container_of(p, struct vc__client_stream, between);

    pthread_mutex_lock(&c->stream.lock);
    c->rest_broken = true;
    if (c->resting)
        rest_post(c);
    pthread_mutex_unlock(&c->stream.lock);
}

/* For vc__client_stream_again(), on its thread: begins the rest, until `until`;
 * what is sent is parked from now on. False if the call was cancelled or has
 * expired, or the stream has ended: there is no rest. */
static bool
rest_begin(struct vc__client_stream *c, const struct vc__error *why,
           uint64_t until)
{
    struct vc_stream *s = &c->stream;
    bool rests;

    pthread_mutex_lock(&s->lock);
    rests = !c->given_up && !c->unwanted && s->state != VC__STREAM_ENDED;
    if (rests) {
        c->resting = c->parked = true;
        s->has_link = false;
        c->rest_until = until;
        c->why = *why;
        rest_post(c);
        vc__stream_changed(s);
    }
    pthread_mutex_unlock(&s->lock);
    return rests;
}

/* For on_rested() and rest_run(), on the holder: ends the rest. True for only
 * one caller, which must start the call again (`starts`) or end it; with
 * `starts` for none if the rest is broken, as rest_run() ends the call then. */
static bool
rest_take(struct vc__client_stream *c, bool starts)
{
    bool mine;

    pthread_mutex_lock(&c->stream.lock);
    mine = c->resting && !(starts && c->rest_broken);
    if (mine)
        c->resting = false;
    if (mine && starts)
        c->starting++;
    pthread_mutex_unlock(&c->stream.lock);
    return mine;
}

/* Takes the call out of the channel's waits, and calls vc__asyncs_leave() for
 * the rest. Any thread, for the caller that has ended the rest, or could not
 * begin it. The call still keeps the channel entered. */
static void
rest_leave(struct vc__client_stream *c)
{
    vc__retry_wait_end(&c->channel->retry_waits, &c->between);
    vc__asyncs_leave(c->channel, c->stream.engine);
}

/* For vc__client_stream_again(): true if the call has waited for its server, or
 * for a policy, until its deadline. */
static bool
stream_again_is_late(const struct vc__client_stream *c,
                     const struct vc__error *error, uint64_t now)
{
    return (c->attempts.flags & VC_CALL_WAIT_FOR_READY ||
            c->client->pool->opts.recalls) &&
           error->status == VC_UNAVAILABLE && now >= c->attempts.due;
}

bool
vc__client_stream_again(struct vc__client_stream *c, struct vc__error *error)
{
    uint64_t now = vc__now(), us;

    if (error->status == VC_OK || error->outcome != VC_OUTCOME_NOT_EXECUTED ||
        !is_at_hand(c))
        return false;
    if (stream_again_is_late(c, error, now)) {
        c->why = *error;
        vc__client_stream_waited(c, error);
        return false;
    }
    if (!policy_allows(c, error, now, &us))
        return false;
    c->between.broken = stream_again_on_broken;
    if (!vc__retry_wait_begin(&c->channel->retry_waits, &c->between))
        return false;
    vc__asyncs_enter(c->channel);
    free(c->reply_metadata);
    c->reply_metadata = NULL;
    if (rest_begin(c, error, now + us))
        return true;
    rest_leave(c);
    return false;
}

/* --- the next attempt ----------------------------------------------------- */

/* The CALL of a further attempt. The link may still use it when the next one
 * has replaced it. */
struct renewed {
    struct vc__send send;
    atomic_uint holders;
    struct vc_stream *stream;
    uint8_t metadata[];
};

/* For vc__client_stream_unrenew() and renewed_done(): drops a reference, of the
 * stream or a link, on any thread; the last one frees the CALL. */
static void
renewed_put(struct renewed *r)
{
    if (atomic_fetch_sub(&r->holders, 1) == 1)
        free(r);
}

/* hold() of a further CALL: a link gets it, and with it references to the CALL
 * and the stream. Any thread, under the pool's lock. */
static void
renewed_hold(struct vc__send *send)
{
    struct renewed *r = caa_container_of(send, struct renewed, send);

    atomic_fetch_add(&r->holders, 1);
    vc__stream_hold(r->stream);
    vc__stream_has_link(r->stream);
}

/* done() of a further CALL: the link no longer uses it: drops its references.
 * Any thread, under the link's lock. */
static void
renewed_done(struct vc__send *send, enum vc__send_end end)
{
    struct renewed *r = caa_container_of(send, struct renewed, send);
    struct vc_stream *s = r->stream;

    (void)end;
    renewed_put(r);
    vc__stream_put(s);
}

void
vc__client_stream_unrenew(struct vc__client_stream *c)
{
    if (c->request.send != &c->call)
        renewed_put(caa_container_of(c->request.send, struct renewed, send));
    c->request.send = &c->call;
}

/* For stream_again_renew(): a CALL with our own metadata, which say how often
 * the call was tried, then the program's. It has one reference, the stream's.
 * NULL if memory is short. */
static struct renewed *
renewed_new(struct vc__client_stream *c)
{
    const struct vc__frame *first = &c->call.frame;
    struct renewed *r = NULL;
    uint8_t *ours = NULL;
    uint16_t n = 0;

    if (vc__metadata_pack(NULL, 0, c->attempts.number, 0, &ours, &n) == VC_OK)
        r = calloc(1, sizeof *r + n + first->metadata_len);
    if (r != NULL) {
        memcpy(r->metadata, ours, n);
        if (first->metadata_len > 0)
            memcpy(r->metadata + n, first->metadata, first->metadata_len);
        atomic_init(&r->holders, 1);
        r->stream = &c->stream;
        r->send.frame.method = first->method;
        r->send.frame.flags = first->flags;
        r->send.frame.body_len = first->body_len;
        r->send.frame.metadata = r->metadata;
        r->send.frame.metadata_len = (uint16_t)(n + first->metadata_len);
        r->send.body = c->body;
        r->send.due = c->call.due;
        r->send.hold = renewed_hold;
        r->send.done = renewed_done;
    }
    free(ours);
    return r;
}

/* For stream_again_renew(): counts a failed attempt that the server has
 * answered, before the next one, which may go to another server. */
static void
attempt_judge(struct vc__client_stream *c)
{
    struct vc__servers *sv = &c->channel->servers;

    if (!c->answered)
        return;
    vc__servers_failed(sv, c->client, c->held);
    vc__servers_judge(sv, c->held, false);
    c->answered = false;
}

/* For stream_again_resume(): makes the CALL of the next attempt; to another
 * server, if there is one. False if vc__client_stream_pick() fails: c->why is
 * then its error; or if memory is short for the CALL: c->why stays. */
static bool
stream_again_renew(struct vc__client_stream *c, uint64_t now)
{
    struct renewed *r;

    c->attempts.number += !c->client->pool->opts.nowhere;
    attempt_judge(c);
    if (!vc__client_stream_pick(c, now)) {
        c->why = *vc__error_last();
        vc__text_name(&c->why, c->stream.service, c->type->name);
        return false;
    }
    r = renewed_new(c);
    if (r == NULL)
        return false;
    vc__client_stream_unrenew(c);
    r->send.frame.deadline = vc__deadline_left(r->send.due, now);
    r->send.fresh = true;
    c->request.send = &r->send;
    c->request.session = NULL;
    c->attempts.began = now;
    return true;
}

/* For parked_go(): takes the first parked frame. NULL if there is none; then
 * frames are no longer parked, unless the call rests again. */
static struct vc__send *
parked_take(struct vc__client_stream *c)
{
    struct vc__send *send = NULL;

    pthread_mutex_lock(&c->stream.lock);
    if (cds_list_empty(&c->parking)) {
        c->parked = c->resting;
        c->starts++;
        vc__stream_changed(&c->stream);
    } else {
        send = cds_list_entry(c->parking.next, struct vc__send, node);
        cds_list_del(&send->node);
    }
    pthread_mutex_unlock(&c->stream.lock);
    return send;
}

/* For parked_go(), when the attempt has failed again: parks the frame, or drops
 * it if the call is over. */
static void
parked_return(struct vc__client_stream *c, struct vc__send *send)
{
    bool over;

    pthread_mutex_lock(&c->stream.lock);
    over = c->over;
    if (!over)
        cds_list_add(&send->node, &c->parking);
    pthread_mutex_unlock(&c->stream.lock);
    if (over)
        send->done(send, VC__SEND_LOST);
}

/* For stream_again_resume(), on the holder, when an attempt has started: sends
 * the parked frames, after those that wait with the request. */
static void
parked_go(struct vc__client_stream *c)
{
    struct vc__send *send;

    while ((send = parked_take(c)) != NULL) {
        if (!vc__client_add(c->client, &c->request, send)) {
            parked_return(c, send);
            return;
        }
    }
}

void
vc__client_stream_waited(struct vc__client_stream *c, struct vc__error *error)
{
    const char *service = c->stream.service, *method = c->type->name;

    vc__error_put(error, VC_DEADLINE_EXCEEDED, VC__TEXT_NO_SERVER, service,
                  method, c->attempts.ms,
                  vc__text_without_names(c->why.text, service, method));
    error->outcome = VC_OUTCOME_NOT_EXECUTED;
}

/* On the holder, when it has ended the rest, in on_rested() or rest_run():
 * starts the next attempt, or ends the call. The channel may be freed after the
 * call's end, so it is entered once more meanwhile. */
static void
stream_again_resume(struct vc__client_stream *c)
{
    struct vc_channel *channel = c->channel;
    struct vc__error error;
    uint64_t now = vc__now();
    bool in_time = now < c->attempts.due, nowhere;

    vc__channel_enter(channel);
    rest_leave(c);
    if (in_time && stream_again_renew(c, now)) {
        nowhere = c->client->pool->opts.nowhere;
        vc__client_start(c->client, &c->request);
        vc__client_stream_started(c);
        /* A call that waits for a server has another client later. */
        if (!nowhere)
            parked_go(c);
    } else {
        error = c->why;
        if (!in_time)
            vc__client_stream_waited(c, &error);
        vc__client_stream_end(
            c, in_time ? VC__STREAM_EV_LINK_LOST : VC__STREAM_EV_TIME_OVER,
            &error);
    }
    vc__channel_leave(channel);
}

/* fire() of the rest's timer, on the holder: goes on with the call, unless the
 * rest was ended or broken just now. Drops the timer's reference. */
static void
on_rested(struct vc__timer *timer)
{
    struct vc__client_stream *c =
        caa_container_of(timer, struct vc__client_stream, rested);

    if (rest_take(c, true)) /* else the task will run */
        stream_again_resume(c);
    vc__stream_put(&c->stream);
}

/* --- ends of rests -------------------------------------------------------- */

/* On the holder, for rest_run(): the channel was closed during the rest. Ends
 * the call. */
static void
stream_again_closed(struct vc__client_stream *c)
{
    struct vc__error error;

    vc__error_put(&error, VC_CANCELLED, "%s.%s: " VC__TEXT_CLOSED,
                  c->stream.service, c->type->name);
    error.outcome = VC_OUTCOME_NOT_EXECUTED;
    rest_leave(c);
    vc__client_stream_end(c, VC__STREAM_EV_LINK_LOST, &error);
}

/* For rest_run(): stops the timer, if it runs, and drops its reference. The
 * task has another one. */
static void
rest_timer_stop(struct vc__client_stream *c)
{
    struct vc__timers *timers = &c->stream.engine->timers;

    if (!vc__timer_running(&c->rested))
        return;
    vc__timer_stop(timers, &c->rested);
    vc__stream_put(&c->stream);
}

/* The rest's task: runs on the holder, when a rest begins, or was ended or
 * broken. Drops its reference, or leaves it to the timer. */
static void
rest_run(struct vc__task *task)
{
    struct vc__client_stream *c =
        caa_container_of(task, struct vc__client_stream, rest);
    struct vc__timers *timers = &c->stream.engine->timers;
    bool rests;

    pthread_mutex_lock(&c->stream.lock);
    c->rest_posted = false;
    rests = c->resting && !c->rest_broken;
    pthread_mutex_unlock(&c->stream.lock);
    rest_timer_stop(c);
    if (rests && vc__timer_start(timers, &c->rested, c->rest_until, on_rested))
        return;
    if (rest_take(c, rests)) {
        if (rests) /* no memory for a timer: at once */
            stream_again_resume(c);
        else
            stream_again_closed(c);
    }
    vc__stream_put(&c->stream);
}

bool
vc__client_stream_rest_end(struct vc__client_stream *c)
{
    if (!c->resting)
        return false;
    c->resting = false;
    rest_post(c);
    return true;
}

void
vc__client_stream_rest_leave(struct vc__client_stream *c)
{
    rest_leave(c);
}

void
vc__client_stream_rest_init(struct vc__client_stream *c)
{
    c->rest.run = rest_run;
    CDS_INIT_LIST_HEAD(&c->parking);
}
