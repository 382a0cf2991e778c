/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/stream/stream_events.h. "The lock" is the stream's. A turn runs
 * callbacks by two tasks. stream_events_begin() runs on the holder, which owns
 * the timer. stream_events_run() then runs "as a handler": on a thread that was
 * the holder and has released the engine, without the lock. While it runs, the
 * watcher may give the engine to another thread. The callbacks of a stream run
 * one at a time, each turn perhaps on another thread. */
#include "rpc/stream/stream_events.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/interceptor.h"
#include "rpc/options.h"

/* Callbacks that run in a row, before others get their turn. */
#define BATCH 32u

/* What must run next. */
enum due {
    DUE_NONE,
    DUE_HALF, /* no callback: send a HALF */
    DUE_WRITABLE,
    DUE_MESSAGE,
    DUE_LAST, /* the message of the reply */
    DUE_HALF_CLOSE,
    DUE_CANCEL,
    DUE_END,
};

/* --- what is due; all under the lock -------------------------------------- */

/* Asked by is_given_up(), end_due() and due_of(), under the lock. True if
 * on_message() must not be called now. */
static bool
is_paused(const struct vc_stream *s)
{
    return s->events->paused && !s->events->hurried;
}

/* True if on_end() comes without further messages. A pause does not delay an
 * error, and nothing waits for a program that has closed. Asked by end_due(),
 * under the lock. */
static bool
is_given_up(const struct vc_stream *s)
{
    return s->events->closed || s->events->spoiled ||
           (is_paused(s) && s->error.status != VC_OK);
}

/* Called by due_of() when only the end is left, under the lock. Returns what
 * still comes before on_end(), or DUE_END. DUE_NONE: a pause holds it back. */
static enum due
end_due(struct vc_stream *s)
{
    if (is_given_up(s))
        return DUE_END;
    if (is_paused(s) && (!cds_list_empty(&s->inbox) || s->last != NULL))
        return DUE_NONE;
    if (!cds_list_empty(&s->inbox))
        return DUE_MESSAGE;
    return s->last != NULL ? DUE_LAST : DUE_END;
}

/* True if only the end is left. A server's stream ends when its call does;
 * before that it is only broken. Asked by due_of() and stream_events_begin(),
 * under the lock. */
static bool
is_final(const struct vc_stream *s)
{
    return s->of_server ? s->events->closed : s->state == VC__STREAM_ENDED;
}

/* Asked by due_of(), under the lock: true if on_writable() is due. */
static bool
has_room(const struct vc_stream *s)
{
    const struct vc__stream_events *ev = s->events;

    return ev->wants && !s->long_out &&
           vc__stream_fits(s->out.sent, s->out.end, ev->room);
}

/* Returns what must run next; DUE_NONE: nothing. Called by turn_one(), as a
 * handler, and by vc__stream_events_stir(), on any thread; under the lock. */
static enum due
due_of(struct vc_stream *s)
{
    const struct vc__stream_events *ev = s->events;

    if (ev->over)
        return DUE_NONE;
    if (is_final(s))
        return end_due(s);
    if (ev->closed)
        return DUE_NONE;
    if (s->state == VC__STREAM_ENDED)
        return ev->cancelled ? DUE_NONE : DUE_CANCEL;
    if (ev->half != NULL && !s->long_out)
        return DUE_HALF;
    if (has_room(s))
        return DUE_WRITABLE;
    if (!cds_list_empty(&s->inbox))
        return is_paused(s) ? DUE_NONE : DUE_MESSAGE;
    return vc__stream_is_heard(s->state) && !ev->half_reported ? DUE_HALF_CLOSE
                                                               : DUE_NONE;
}

/* Marks what runs now as done. Called by turn_one(), under the lock. */
static void
due_note(struct vc__stream_events *ev, enum due due)
{
    ev->wants &= due != DUE_WRITABLE;
    ev->half_reported |= due == DUE_HALF_CLOSE;
    ev->cancelled |= due == DUE_CANCEL;
    ev->over |= due == DUE_END;
}

/* --- calling them: as a handler, without the lock ------------------------ */

/* Passes the message to on_message(), which then owns it; frees it itself if
 * that is NULL. Called by message_give(), as a handler. */
static void
call_message(const struct vc__stream_events *ev, void *message)
{
    const struct vc_stream_events *to = &ev->to;

    if (to->on_message == NULL)
        vc_message_free(message);
    else if (to->run == NULL)
        to->on_message(ev->stream, message, ev->arg);
    else
        to->run((vc_function *)to->on_message, VC_STREAM_ON_MESSAGE, ev->stream,
                message, VC_OK, ev->arg);
}

/* Calls on_writable() or on_half_close(), unless that is NULL. Called by
 * stream_events_give(), as a handler. */
static void
call_signal(const struct vc__stream_events *ev, vc_stream_on_signal *callback)
{
    if (callback == NULL)
        return;
    if (ev->to.run == NULL)
        callback(ev->stream, ev->arg);
    else
        ev->to.run((vc_function *)callback, VC_STREAM_ON_SIGNAL, ev->stream,
                   NULL, VC_OK, ev->arg);
}

/* Calls on_cancel(), for stream_events_give(), or on_end(), for end_give(),
 * unless that is NULL. As a handler. */
static void
call_status(const struct vc__stream_events *ev, vc_stream_on_status *callback,
            enum vc_status status)
{
    if (callback == NULL)
        return;
    if (ev->to.run == NULL)
        callback(ev->stream, status, ev->arg);
    else
        ev->to.run((vc_function *)callback, VC_STREAM_ON_STATUS, ev->stream,
                   NULL, status, ev->arg);
}

/* --- running them: as a handler, without the lock unless noted ----------- */

/* Shows an unpacked message to the interceptors, then passes it on. Called by
 * item_give(), and by stream_events_give() for that of the reply; as a
 * handler. */
static void
message_give(struct vc_stream *s, void *message)
{
    const struct vc__stream_events *ev = s->events;

    if (s->interception != NULL)
        vc__interception_message(
            s->interception,
            s->of_server ? VC_MESSAGE_REQUEST : VC_MESSAGE_REPLY, message);
    call_message(ev, message);
}

/* Called by item_give(), as a handler. A message that is malformed, too long,
 * or for which memory is short, ends the stream with the thread's last error,
 * unless that has ended with another: a later message would be taken for it. No
 * further message is given. */
static void
stream_events_spoil(struct vc_stream *s)
{
    struct vc__error error = *vc__error_last();
    bool ends;

    error.outcome = VC_OUTCOME_EXECUTED;
    pthread_mutex_lock(&s->lock);
    ends = vc__stream_on(s, VC__STREAM_EV_MESSAGE_LOST) == VC__STREAM_DO_END;
    if (ends || s->error.status == VC_OK)
        s->error = error;
    s->events->spoiled = true;
    vc__stream_changed(s);
    vc__engine_stir(s->engine); /* a thread that sends may hold it, asleep */
    pthread_mutex_unlock(&s->lock);
}

/* DUE_MESSAGE of stream_events_give(), as a handler: unpacks the message, frees
 * the item, and gives its room back when on_message() has returned. */
static void
item_give(struct vc_stream *s, struct vc__stream_item *item)
{
    uint32_t len = item->len;
    void *message;
    bool good = vc__stream_unpack(s, item, &message) == VC_OK;

    vc__stream_item_free(s, item);
    if (!good) {
        stream_events_spoil(s);
        return;
    }
    message_give(s, message);
    vc__stream_taken(s, len);
}

/* Takes the HALF that waits, or NULL. Called by half_give() and end_give(), as
 * a handler, without the lock. */
static struct vc__send *
half_take(struct vc_stream *s)
{
    struct vc__send *half;

    pthread_mutex_lock(&s->lock);
    half = s->events->half;
    s->events->half = NULL;
    pthread_mutex_unlock(&s->lock);
    return half;
}

/* DUE_HALF of stream_events_give(), as a handler. Sends the HALF that had to
 * wait for the last part of a long message. */
static void
half_give(struct vc_stream *s)
{
    vc__stream_half_send(half_take(s));
}

/* DUE_END of stream_events_give(), as a handler: drops a HALF that still waits,
 * as it is not needed any more, and runs on_end() between ops->over() and
 * ops->ended(). */
static void
end_give(struct vc_stream *s)
{
    const struct vc__stream_events *ev = s->events;
    struct vc__send *half = half_take(s);
    enum vc_status status;

    if (half != NULL)
        vc__stream_half_drop(half);
    status = s->ops->over(s);
    call_status(ev, ev->to.on_end, status);
    s->ops->ended(s);
}

/* Does what is due, and gives away `item` (DUE_MESSAGE) or `last` (DUE_LAST).
 * Called by turn_one(), as a handler. */
static void
stream_events_give(struct vc_stream *s, enum due due,
                   struct vc__stream_item *item, void *last)
{
    const struct vc__stream_events *ev = s->events;

    if (due == DUE_HALF)
        half_give(s);
    else if (due == DUE_MESSAGE)
        item_give(s, item);
    else if (due == DUE_LAST)
        message_give(s, last);
    else if (due == DUE_WRITABLE)
        call_signal(ev, ev->to.on_writable);
    else if (due == DUE_HALF_CLOSE)
        call_signal(ev, ev->to.on_half_close);
    else if (due == DUE_CANCEL)
        call_status(ev, ev->to.on_cancel, vc__stream_status(s));
    else if (due == DUE_END)
        end_give(s);
}

/* What stream_events_run() does after a turn. */
enum turn {
    TURN_OVER, /* nothing: none is due, and the next stir starts a new turn */
    TURN_MORE, /* it posts another turn, as something is due */
    TURN_END,  /* it leaves: nothing will be due any more */
};

/* Called by turn_one(), under the lock, when it runs nothing. `due` is
 * DUE_NONE: returns TURN_OVER; or DUE_END, when the holder must stop the timer
 * first: returns TURN_MORE. */
static enum turn
turn_end(struct vc_stream *s, enum due due)
{
    if (due != DUE_NONE)
        return TURN_MORE;
    s->events->busy = false;
    return TURN_OVER;
}

/* Runs what is due first, and returns it. DUE_NONE: nothing was run, and *turn
 * is set. Called by stream_events_turn_run(), as a handler. */
static enum due
turn_one(struct vc_stream *s, enum turn *turn)
{
    struct vc__stream_events *ev = s->events;
    struct vc__stream_item *item = NULL;
    void *last = NULL;
    enum due due;

    pthread_mutex_lock(&s->lock);
    due = due_of(s);
    if (due == DUE_NONE || (due == DUE_END && !ev->settled)) {
        *turn = turn_end(s, due);
        pthread_mutex_unlock(&s->lock);
        return DUE_NONE;
    }
    due_note(ev, due);
    if (due == DUE_MESSAGE) {
        item = cds_list_entry(s->inbox.next, struct vc__stream_item, node);
        cds_list_del(&item->node);
    } else if (due == DUE_LAST) {
        last = s->last;
        s->last = NULL;
    } else if (due == DUE_END || due == DUE_CANCEL) {
        vc__stream_drop(s);
    }
    pthread_mutex_unlock(&s->lock);
    stream_events_give(s, due, item, last);
    return due;
}

/* Runs what is due, one after the other, at most BATCH. Returns how the turn
 * ended. Called by stream_events_run(), as a handler. */
static enum turn
stream_events_turn_run(struct vc_stream *s)
{
    enum turn turn = TURN_MORE;

    for (unsigned i = 0; i < BATCH; i++) {
        enum due due = turn_one(s, &turn);

        if (due == DUE_NONE)
            return turn;
        if (due == DUE_END)
            return TURN_END;
    }
    return TURN_MORE;
}

/* --- turns ---------------------------------------------------------------- */

static void stream_events_begin(struct vc__task *task);

/* Posts the task that begins a turn. Called by turn_begin(), on any thread, and
 * by stream_events_run() when more is due. */
static void
begin_post(struct vc__stream_events *ev)
{
    ev->task.run = stream_events_begin;
    vc__engine_post(ev->stream->engine, &ev->task);
}

/* The task that stream_events_begin() queues: runs as a handler. After
 * vc__engine_resume() another thread may be the engine's holder. */
static void
stream_events_run(struct vc__task *task)
{
    struct vc__stream_events *ev =
        caa_container_of(task, struct vc__stream_events, task);
    struct vc_stream *s = ev->stream;
    struct vc__handler_run *handler_run =
        vc__engine_release(s->engine, NULL, NULL);
    enum turn turn = stream_events_turn_run(s);

    vc__engine_resume(handler_run);
    if (turn == TURN_MORE)
        begin_post(ev);
    else if (turn == TURN_END)
        s->ops->left(s);
}

/* The timer of timer_arm(), on the holder: ends a call whose deadline has
 * passed. */
static void
stream_events_on_deadline(struct vc__timer *timer)
{
    struct vc_stream *s =
        caa_container_of(timer, struct vc__stream_events, timer)->stream;
    struct vc__error error;

    vc__stream_late(s, &error);
    s->ops->give_up(s, &error);
}

/* Called by stream_events_begin(), on the holder, in the first turn: starts the
 * timer of the deadline, if there is one. Without memory it ends the call. */
static void
timer_arm(struct vc__stream_events *ev)
{
    struct vc_stream *s = ev->stream;
    struct vc__error error;

    ev->armed = true;
    if (s->due == VC__FOREVER ||
        vc__timer_start(&s->engine->timers, &ev->timer, s->due,
                        stream_events_on_deadline))
        return;
    vc__error_put(&error, VC_RESOURCE_EXHAUSTED,
                  "%s.%s: out of memory for a timer", s->service, s->method);
    error.outcome = VC_OUTCOME_UNKNOWN;
    s->ops->give_up(s, &error);
}

/* The task of begin_post(), on the holder, which owns the timer. Starts the
 * timer in the first turn, and stops it if only the end is left; queues
 * stream_events_run(). */
static void
stream_events_begin(struct vc__task *task)
{
    struct vc__stream_events *ev =
        caa_container_of(task, struct vc__stream_events, task);
    struct vc_stream *s = ev->stream;
    bool final;

    if (!ev->armed)
        timer_arm(ev);
    pthread_mutex_lock(&s->lock);
    final = is_final(s);
    ev->settled |= final;
    pthread_mutex_unlock(&s->lock);
    if (final)
        vc__timer_stop(&s->engine->timers, &ev->timer);
    ev->task.run = stream_events_run;
    vc__engine_handle(s->engine, &ev->task);
}

/* Begins a turn. Called by vc__stream_events_open() and
 * vc__stream_events_stir(), on any thread, under the lock, while no turn is
 * under way. */
static void
turn_begin(struct vc__stream_events *ev)
{
    ev->busy = true;
    begin_post(ev);
}

/* --- for the stream ------------------------------------------------------- */

struct vc__stream_events *
vc__stream_events_new(const struct vc_stream_events *to, void *arg)
{
    static const struct vc__options kind = {
        .name = "vc_stream_events",
        .macros = "VC_STREAM_EVENTS_INIT or VC_STREAM_EVENTS()",
        .size = sizeof *to,
    };
    struct vc__stream_events *ev;
    struct vc_stream_events copy;

    if (vc__options_size_check(&kind, to) != VC_OK ||
        vc__options_copy(&copy, &kind, to) != VC_OK)
        return NULL;
    ev = calloc(1, sizeof *ev);
    if (ev == NULL) {
        vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
        return NULL;
    }
    ev->to = copy;
    ev->arg = arg;
    ev->waits = true;
    return ev;
}

void
vc__stream_events_join(struct vc_stream *s, struct vc__stream_events *ev,
                       bool hears_half)
{
    ev->stream = s;
    ev->half_reported = !hears_half;
    pthread_mutex_lock(&s->lock);
    s->events = ev;
    pthread_mutex_unlock(&s->lock);
}

/* The first turn starts the timer. Called by vc_stream_start() of a client, and
 * by callbacks_begin() (rpc/server/server_handler.c). */
void
vc__stream_events_open(struct vc_stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->events->waits = false;
    turn_begin(s->events);
    pthread_mutex_unlock(&s->lock);
}

void
vc__stream_events_close(struct vc_stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->events->closed = true;
    vc__stream_events_stir(s);
    pthread_mutex_unlock(&s->lock);
}

void
vc__stream_events_hurry(struct vc_stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->events->hurried = true;
    vc__stream_events_stir(s);
    pthread_mutex_unlock(&s->lock);
}

void
vc__stream_events_stir(struct vc_stream *s)
{
    struct vc__stream_events *ev = s->events;

    if (!ev->busy && !ev->waits && due_of(s) != DUE_NONE)
        turn_begin(ev);
}

void
vc__stream_events_want(struct vc_stream *s, uint32_t cost)
{
    s->events->wants = true;
    s->events->room = cost;
}

void
vc__stream_events_half(struct vc_stream *s, struct vc__send *half)
{
    s->events->half = half;
}

/* --- for programs --------------------------------------------------------- */

/* Called by vc_stream_pause() and vc_stream_resume(), on any thread. A stream
 * without callbacks is not changed. */
static void
paused_set(struct vc_stream *s, bool paused)
{
    if (s->events == NULL)
        return;
    pthread_mutex_lock(&s->lock);
    s->events->paused = paused;
    vc__stream_events_stir(s);
    pthread_mutex_unlock(&s->lock);
}

void
vc_stream_pause(struct vc_stream *s)
{
    vc__must(s, VC__STREAM);
    paused_set(s, true);
}

void
vc_stream_resume(struct vc_stream *s)
{
    vc__must(s, VC__STREAM);
    paused_set(s, false);
}
