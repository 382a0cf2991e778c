/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/stream_client.h. Functions of the table client_ops are called
 * from rpc/stream as struct vc__stream_ops says, callbacks of the request from
 * the pool as struct vc__request says: on the holder, or where it fails. */
#include "rpc/client/stream_client.h"

#include <stdlib.h>

#include <verbcall/call.h>

#include "rpc/client/async.h"
#include "rpc/client/channel_intercept.h"
#include "rpc/client/reply_error.h"
#include "rpc/client/stream_again.h"
#include "rpc/codec/codec.h"
#include "rpc/stream/stream_events.h"
#include "rpc/text.h"

/* --- the end ----------------------------------------------------------- */

/* For vc__client_stream_end(): marks the call as over, drops parked frames. */
static void
over_set(struct vc__client_stream *c)
{
    struct vc__send *send, *next;
    CDS_LIST_HEAD(lost);

    pthread_mutex_lock(&c->stream.lock);
    c->over = true;
    c->parked = false;
    cds_list_splice(&c->parking, &lost);
    CDS_INIT_LIST_HEAD(&c->parking);
    pthread_mutex_unlock(&c->stream.lock);
    cds_list_for_each_entry_safe (send, next, &lost, node)
        send->done(send, VC__SEND_LOST);
}

void
vc__client_stream_end(struct vc__client_stream *c, enum vc__stream_event why,
                      const struct vc__error *error)
{
    struct vc__send *send, *next;

    if (c->attempts.cancellable)
        vc__cancelling_end(&c->cancelling);
    vc__attempts_end(&c->attempts);
    if (error->status == VC_OK)
        vc__retry_good(&c->channel->budget);
    if (c->answered || (error->outcome != VC_OUTCOME_NOT_EXECUTED &&
                        error->status != VC_CANCELLED)) {
        if (error->status != VC_OK)
            vc__servers_failed(&c->channel->servers, c->client, c->held);
        vc__servers_judge(&c->channel->servers, c->held,
                          error->status == VC_OK);
    }
    vc__stream_end(&c->stream, why, error);
    over_set(c);
    /* The frames that waited for a link with the request. */
    cds_list_for_each_entry_safe (send, next, &c->request.queued, node)
        send->done(send, VC__SEND_LOST);
    vc__client_stream_unhold(c);
    vc__channel_leave(c->channel);
    vc__stream_put(&c->stream);
}

/* replied() of the request: on the holder, without locks. Ends the call, unless
 * there is to be another attempt. */
static void
on_replied(struct vc__request *r, const struct vc__reply_frame *reply)
{
    struct vc__client_stream *c =
        caa_container_of(r, struct vc__client_stream, request);
    struct vc__error error;

    c->answered = true;
    if (!vc__client_stream_reply(c, reply, &error) ||
        !vc__client_stream_again(c, &error))
        vc__client_stream_end(c, VC__STREAM_EV_REPLY, &error);
}

/* failed() of the request: on the holder, inside vc__client_start(), or on any
 * thread while the channel is being closed. Ends the call, unless there is to
 * be another attempt. */
static void
stream_client_on_failed(struct vc__request *r, const struct vc__error *why)
{
    struct vc__client_stream *c =
        caa_container_of(r, struct vc__client_stream, request);
    struct vc__error error = *why;

    vc__text_name(&error, c->stream.service, c->type->name);
    if (!vc__client_stream_again(c, &error))
        vc__client_stream_end(c, VC__STREAM_EV_LINK_LOST, &error);
}

/* For put_begin(), client_expire() and give_up_begin(), on any thread, under
 * the stream's lock: enters the channel, and holds the call's server, for
 * client_leave(); false if the call has ended: then the channel may be closed.
 * A stream whose message was lost ends before its call. */
static bool
client_enter(struct vc__client_stream *c, struct vc__subchannel **held)
{
    if (c->over)
        return false;
    vc__channel_enter(c->channel);
    *held = c->held;
    if (*held != NULL)
        vc__subchannel_hold(*held);
    return true;
}

/* Undoes client_enter(), for their callers, without the lock. The stream may
 * have been freed since: so it is no argument. */
static void
client_leave(struct vc_channel *channel, struct vc__subchannel *held)
{
    if (held != NULL)
        vc__subchannel_put(held);
    vc__channel_leave(channel);
}

/* What the thread that abandons the call must do. */
enum give_up {
    GIVE_UP_OVER, /* the call has ended */
    GIVE_UP_NOT,  /* another thread does it */
    GIVE_UP_CALL,
    GIVE_UP_REST, /* no client knows the call */
};

/* Under the lock, for give_up_begin(). A call that is being started is
 * abandoned later, by vc__client_stream_started(). */
static void
give_up_later(struct vc__client_stream *c, const struct vc__error *error)
{
    if (!c->unwanted)
        c->wish = *error;
    c->unwanted = true;
}

/* For client_give_up(), on any thread: what that must do. Unless the call has
 * ended, client_leave() must follow. Only one caller gets GIVE_UP_CALL or
 * GIVE_UP_REST; afterwards the call stays with the server that is held. */
static enum give_up
give_up_begin(struct vc__client_stream *c, const struct vc__error *error,
              struct vc__subchannel **held)
{
    enum give_up what = GIVE_UP_NOT;

    pthread_mutex_lock(&c->stream.lock);
    if (!client_enter(c, held)) {
        what = GIVE_UP_OVER;
    } else if (!c->given_up && c->starting > 0) {
        give_up_later(c, error);
    } else if (!c->given_up) {
        what = vc__client_stream_rest_end(c) ? GIVE_UP_REST : GIVE_UP_CALL;
        c->given_up = true;
    }
    pthread_mutex_unlock(&c->stream.lock);
    return what;
}

/* give_up(), also called here: ends the call with this error, unless it has
 * ended. Any thread. True if the call has ended. False if another thread is
 * ending it, or it is still being started: then it ends later. A thread that
 * waits in the stream may be the holder, asleep, so that is woken. */
static bool
client_give_up(struct vc_stream *s, const struct vc__error *why)
{
    struct vc__client_stream *c = vc__client_stream_of(s);
    struct vc_channel *channel = c->channel;
    struct vc__error error = *why;
    struct vc__subchannel *held;
    enum give_up what;
    bool mine;

    what = give_up_begin(c, why, &held);
    if (what == GIVE_UP_OVER)
        return true;
    mine = what == GIVE_UP_REST;
    if (what == GIVE_UP_CALL)
        mine = vc__client_abandon(c->client, &c->request, &error.outcome);
    if (what == GIVE_UP_REST) {
        vc__client_stream_rest_leave(c);
        error.outcome = VC_OUTCOME_NOT_EXECUTED;
        if (error.status == VC_DEADLINE_EXCEEDED)
            vc__client_stream_waited(c, &error);
    }
    if (mine) {
        vc__client_stream_end(c,
                              error.status == VC_DEADLINE_EXCEEDED
                                  ? VC__STREAM_EV_TIME_OVER
                                  : VC__STREAM_EV_ENDS,
                              &error);
        vc__engine_kick(&channel->progress->engine);
    }
    client_leave(channel, held);
    return mine;
}

/* For client_expire() and vc__client_stream_cancel(), on any thread: ends the
 * call by client_give_up(). If another thread is setting the end, waits for
 * that, unless the stream has callbacks. */
static void
give_up_await(struct vc_stream *s, const struct vc__error *error)
{
    if (!client_give_up(s, error) && s->events == NULL)
        vc__stream_await_written(s);
}

/* Writes the error of a cancel: for vc__client_stream_cancel(), on any thread,
 * and for cancel_run(), on the holder. client_give_up() replaces the outcome if
 * it knows better. */
static void
cancelled_put(const struct vc_stream *s, struct vc__error *error)
{
    vc__error_put(error, VC_CANCELLED, "%s.%s: " VC__TEXT_CANCELLED, s->service,
                  s->method);
    error->outcome = VC_OUTCOME_UNKNOWN;
}

void
vc__client_stream_cancel(struct vc_stream *s)
{
    struct vc__error error;

    cancelled_put(s, &error);
    give_up_await(s, &error);
}

/* --- cancelling -------------------------------------------------------- */

/* A task: runs on the holder, after stream_client_on_cancel(), cancels the
 * call, and drops the task's reference. */
static void
cancel_run(struct vc__task *task)
{
    struct vc__client_stream *c =
        caa_container_of(task, struct vc__client_stream, cancel);
    struct vc__error error;

    cancelled_put(&c->stream, &error);
    client_give_up(&c->stream, &error);
    vc__stream_put(&c->stream);
}

/* cancel() of the call: posts cancel_run(), once. Any thread, under a
 * canceller's lock. */
static void
stream_client_on_cancel(struct vc__cancelling *cancelling)
{
    struct vc__client_stream *c =
        caa_container_of(cancelling, struct vc__client_stream, cancelling);

    if (atomic_exchange(&c->cancelled, true))
        return;
    vc__stream_hold(&c->stream);
    vc__engine_post(c->stream.engine, &c->cancel);
}

enum vc_status
vc__client_stream_limit(struct vc__client_stream *c,
                        const struct vc_call_opts *opts)
{
    struct vc__attempts *g = &c->attempts;
    enum vc_status status =
        vc__attempts_begin(g, opts, c->stream.engine->rough_us);

    if (status != VC_OK || !g->cancellable)
        return status;
    status = vc__cancelling_begin(&c->cancelling, g->canceller, g->parent,
                                  stream_client_on_cancel);
    if (status != VC_OK)
        vc__attempts_end(g);
    return status;
}

void
vc__client_stream_started(struct vc__client_stream *c)
{
    struct vc__error wish;
    bool unwanted;

    pthread_mutex_lock(&c->stream.lock);
    c->starting--;
    unwanted = c->unwanted && c->starting == 0;
    if (unwanted)
        wish = c->wish;
    pthread_mutex_unlock(&c->stream.lock);
    if (unwanted)
        client_give_up(&c->stream, &wish);
}

/* --- the stream's operations: see struct vc__stream_ops ------------------ */

/* The attempt that a frame is for. */
struct put {
    struct vc__client *client;
    struct vc__subchannel *held;
    unsigned starts;
    bool parked; /* there is none now, and the frame was parked */
};

/* For client_put(): parks the frame while no attempt can take it, else finds
 * its attempt, as the next one may have another client; then client_leave()
 * must follow. False if the call has ended. */
static bool
put_begin(struct vc__client_stream *c, struct vc__send *send, struct put *p)
{
    bool good;

    pthread_mutex_lock(&c->stream.lock);
    p->parked = c->parked;
    if (p->parked)
        cds_list_add_tail(&send->node, &c->parking);
    good = p->parked || client_enter(c, &p->held);
    p->client = c->client;
    p->starts = c->starts;
    pthread_mutex_unlock(&c->stream.lock);
    return good;
}

/* For client_put(), when the attempt has failed: waits until what is sent is
 * parked, the call is started again, or the stream has ended. */
static void
decision_await(struct vc__client_stream *c, unsigned starts)
{
    struct vc_stream *s = &c->stream;

    pthread_mutex_lock(&s->lock);
    while (s->state != VC__STREAM_ENDED && !c->parked && c->starts == starts)
        vc__stream_wait(s, VC__FOREVER);
    pthread_mutex_unlock(&s->lock);
}

/* put(): parks the frame, or gives it to the pool. While a failed attempt has
 * not yet led to another or to the end, waits. False if the call has ended: the
 * frame is still the caller's. */
static bool
client_put(struct vc_stream *s, struct vc__send *send)
{
    struct vc__client_stream *c = vc__client_stream_of(s);
    struct vc_channel *channel = c->channel;
    bool good = false, ended = false;
    struct put p;

    while (!good && !ended && put_begin(c, send, &p)) {
        if (p.parked)
            return true;
        good = vc__client_add(p.client, &c->request, send);
        client_leave(channel, p.held);
        if (good)
            break;
        decision_await(c, p.starts);
        ended = vc__stream_has_ended(s);
    }
    return good;
}

/* expire(): ends the call with VC_DEADLINE_EXCEEDED, unless it has ended; waits
 * as give_up_await() does. On a thread that waits or sends in the stream. */
static void
client_expire(struct vc_stream *s)
{
    struct vc__client_stream *c = vc__client_stream_of(s);
    struct vc_channel *channel = c->channel;
    struct vc__subchannel *held;
    struct vc__error error;
    bool enters;

    pthread_mutex_lock(&s->lock);
    enters = client_enter(c, &held);
    pthread_mutex_unlock(&s->lock);
    if (!enters)
        return;
    vc__stream_late(s, &error);
    client_leave(channel, held);
    give_up_await(s, &error);
}

/* free(): on the thread that drops the last reference, any. Also called by
 * vc__client_stream_free(). */
static void
client_free(struct vc_stream *s)
{
    struct vc__client_stream *c = vc__client_stream_of(s);

    vc__stream_fini(s);
    vc__client_stream_unrenew(c);
    free(c->metadata);
    free(c->reply_metadata);
    free(c->initial);
    free(c->body);
    free(c);
}

/* --- its operations for callbacks ---------------------------------------- */

void
vc__client_stream_seen(struct vc_stream *s)
{
    struct vc__error error;

    pthread_mutex_lock(&s->lock);
    error = s->error;
    pthread_mutex_unlock(&s->lock);
    vc__channel_intercept_close(s->interception, &error);
}

void
vc__client_stream_user_leave(struct vc__client_stream *c)
{
    if (atomic_fetch_sub(&c->users, 1) == 1 && c->stream.interception != NULL)
        vc__client_stream_seen(&c->stream);
}

/* ended(), after on_end(): the callbacks no longer use the stream. */
static void
client_ended(struct vc_stream *s)
{
    vc__client_stream_user_leave(vc__client_stream_of(s));
}

/* over(): ends a call of which a lost message has ended only the stream.
 * Returns the stream's status, its error being this thread's last. */
static enum vc_status
client_over(struct vc_stream *s)
{
    struct vc__error error;

    vc__error_put(&error, VC_CANCELLED, "%s.%s: a message was dropped",
                  s->service, s->method);
    client_give_up(s, &error);
    return vc__stream_status(s);
}

/* left(): drops the callbacks' reference, and lets the channel be freed. The
 * runtime lives until then. */
static void
client_left(struct vc_stream *s)
{
    struct vc__client_stream *c = vc__client_stream_of(s);
    struct vc_channel *channel = c->channel;
    struct vc__engine *engine = s->engine;

    if (c->paused)
        vc__retry_wait_end(&channel->retry_waits, &c->retry_wait);
    vc__stream_put(s);
    vc__asyncs_leave(channel, engine);
}

static const struct vc__stream_ops client_ops = {.put = client_put,
                                                 .expire = client_expire,
                                                 .give_up = client_give_up,
                                                 .over = client_over,
                                                 .ended = client_ended,
                                                 .left = client_left,
                                                 .free = client_free};

/* --- received frames: on the holder, under the pool's lock --------------- */

/* For on_message(): keeps the metadata of the first message. False if they end
 * the stream; *loss says why if they could not be kept. */
static bool
initial_keep(struct vc__client_stream *c, const struct vc__metadata *m,
             const char **loss)
{
    const char *fault =
        "metadata, which only the first message of a stream may have";
    struct vc__reply_metadata *b = NULL;
    struct vc__error error;

    if (!c->came)
        b = vc__reply_metadata_new(m, false, &fault);
    if (fault != NULL) {
        vc__error_put(&error, VC_INTERNAL, "%s.%s: a message has %s",
                      c->stream.service, c->type->name, fault);
        error.outcome = VC_OUTCOME_UNKNOWN;
        vc__stream_end(&c->stream, VC__STREAM_EV_MESSAGE_LOST, &error);
        return false;
    }
    if (b == NULL)
        *loss = "out of memory for its metadata";
    pthread_mutex_lock(&c->stream.lock);
    c->initial = b;
    pthread_mutex_unlock(&c->stream.lock);
    return true;
}

/* message() of the request: gives the message to the stream. False if it breaks
 * the protocol. */
static bool
on_message(struct vc__request *r, const struct vc__metadata *m,
           const uint8_t *body, uint32_t len, const char *loss)
{
    struct vc__client_stream *c =
        caa_container_of(r, struct vc__client_stream, request);
    bool good = m->len == 0 || initial_keep(c, m, &loss);

    /* Also if it has ended the stream: then there is no further attempt, and
     * the program may have what comes yet. */
    c->came = true;
    return !good || vc__stream_message(&c->stream, body, len, loss);
}

/* window() of the request: the client may send up to this end. False if it
 * breaks the protocol. */
static bool
on_window(struct vc__request *r, uint32_t end)
{
    return vc__stream_window(
        &caa_container_of(r, struct vc__client_stream, request)->stream, end);
}

/* hold() of the CALL: a link gets it, with a reference to the stream. Any
 * thread, under the pool's lock. */
static void
call_hold(struct vc__send *send)
{
    struct vc_stream *s =
        &caa_container_of(send, struct vc__client_stream, call)->stream;

    vc__stream_hold(s);
    vc__stream_has_link(s);
}

/* done() of the CALL: the link no longer uses it: drops its reference. Any
 * thread, under the link's lock. */
static void
call_done(struct vc__send *send, enum vc__send_end end)
{
    (void)end;
    vc__stream_put(
        &caa_container_of(send, struct vc__client_stream, call)->stream);
}

/* --- creating and freeing ------------------------------------------------ */

struct vc__client_stream *
vc__client_stream_new(void)
{
    struct vc__client_stream *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    vc__stream_init(&c->stream, &client_ops);
    c->call.hold = call_hold;
    c->call.done = call_done;
    c->cancel.run = cancel_run;
    vc__client_stream_rest_init(c);
    c->request.send = &c->call;
    c->request.replied = on_replied;
    c->request.failed = stream_client_on_failed;
    c->request.message = on_message;
    c->request.window = on_window;
    CDS_INIT_LIST_HEAD(&c->request.queued);
    atomic_init(&c->users, 2);
    c->starting = 1;
    return c;
}

void
vc__client_stream_free(struct vc__client_stream *c)
{
    client_free(&c->stream);
}
