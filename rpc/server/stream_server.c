/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/stream_server.h. rpc/stream calls the functions of server_ops,
 * without the stream's lock, on the threads that their comments name. The rest
 * of this file runs on the holder, except server_stream_of() and time_over(),
 * which server_ops use, too, and vc_stream_serve(), which a handler calls. */
#include "rpc/server/stream_server.h"

#include <stdio.h>
#include <stdlib.h>

#include <verbcall/call.h>

#include "rpc/codec/outgoing.h"
#include "rpc/server/server_arrival.h"
#include "rpc/server/server_handler.h"
#include "rpc/server/server_intercept.h"
#include "rpc/server/server_link.h"
#include "rpc/stream/stream_events.h"

struct vc__server_stream {
    struct vc_stream stream;
    struct vc_call *call;          /* set by the holder; NULL after its end */
    struct vc__task task;          /* passes `outgoing` to the link */
    bool posted;                   /* the stream's lock */
    bool time_over;                /* the same; ended by a timeout */
    struct cds_list_head outgoing; /* the same; of struct vc__send */
};

/* Returns the server's stream that contains this one. Any thread. */
static struct vc__server_stream *
server_stream_of(struct vc_stream *s)
{
    return caa_container_of(s, struct vc__server_stream, stream);
}

/* --- sending ------------------------------------------------------------ */

/* Returns the link that the call came by, if the session is still bound to it;
 * else NULL, also for a call that has ended (NULL). Called by
 * stream_server_flush(). */
static struct vc__link *
link_of(const struct vc_call *call)
{
    const struct vc__server_session *s;

    if (call == NULL)
        return NULL;
    s = call->site.session;
    return s->link != NULL && s->slots[call->site.slot].asked ? &s->link->link
                                                              : NULL;
}

/* Fills in the names of the call and gives the frame to the link. Called by
 * stream_server_flush(). */
static void
frame_send(const struct vc_call *call, struct vc__link *link,
           struct vc__send *send)
{
    struct vc__server_session *s = call->site.session;

    send->flow = &s->flow;
    send->frame.slot = call->site.slot;
    send->frame.session = s->number;
    send->frame.sequence = s->slots[call->site.slot].sequence;
    vc__link_send(link, send);
}

/* Passes the queued frames to the link; without one they are lost. Called by
 * flush_run(), vc__stream_server_end() and vc__stream_server_lost(). */
static void
stream_server_flush(struct vc__server_stream *ss)
{
    struct vc__link *link = link_of(ss->call);
    CDS_LIST_HEAD(outgoing);

    pthread_mutex_lock(&ss->stream.lock);
    cds_list_splice(&ss->outgoing, &outgoing);
    CDS_INIT_LIST_HEAD(&ss->outgoing);
    pthread_mutex_unlock(&ss->stream.lock);
    while (!cds_list_empty(&outgoing)) {
        struct vc__send *send =
            cds_list_entry(outgoing.next, struct vc__send, node);

        cds_list_del(&send->node);
        if (link != NULL)
            frame_send(ss->call, link, send);
        else
            send->done(send, VC__SEND_LOST);
    }
}

/* A task on the holder, posted by server_put(): passes the frames on, and drops
 * the task's reference to the stream. */
static void
flush_run(struct vc__task *task)
{
    struct vc__server_stream *ss =
        caa_container_of(task, struct vc__server_stream, task);

    pthread_mutex_lock(&ss->stream.lock);
    ss->posted = false;
    pthread_mutex_unlock(&ss->stream.lock);
    stream_server_flush(ss);
    vc__stream_put(&ss->stream);
}

/* ops->put: queues a frame, which a task passes to the link. False: the stream
 * has ended, and the frame is still the caller's. Any thread. */
static bool
server_put(struct vc_stream *s, struct vc__send *send)
{
    struct vc__server_stream *ss = server_stream_of(s);
    bool good, post;

    pthread_mutex_lock(&s->lock);
    good = s->state != VC__STREAM_ENDED;
    post = good && !ss->posted;
    if (good)
        cds_list_add_tail(&send->node, &ss->outgoing);
    if (post) {
        ss->posted = true;
        vc__stream_hold(s);
    }
    pthread_mutex_unlock(&s->lock);
    if (post)
        vc__engine_post(s->engine, &ss->task);
    return good;
}

/* Ends the stream, unless it has ended, and with it the call, whatever its
 * handler returns. Another thread that waits in the stream may be the holder,
 * asleep, so that is woken. Without the stream's lock. Called by
 * server_expire(), server_stalled() and server_give_up(), on their threads. */
static void
time_over(struct vc_stream *s, const struct vc__error *error)
{
    pthread_mutex_lock(&s->lock);
    server_stream_of(s)->time_over |= s->state != VC__STREAM_ENDED;
    pthread_mutex_unlock(&s->lock);
    vc__stream_end(s, VC__STREAM_EV_TIME_OVER, error);
    vc__engine_stir(s->engine);
}

/* ops->expire: ends the stream at the deadline, which the client knows, too.
 * Called in vc_stream_send() or vc_stream_receive() when the deadline has
 * passed, on the thread of these: mostly the handler's. */
static void
server_expire(struct vc_stream *s)
{
    struct vc__error error;

    vc__stream_late(s, &error);
    time_over(s, &error);
}

/* ops->stalled: the client takes no messages while a thread, mostly the
 * handler's, waits to send, and calls this. Ends the stream if threads are
 * short. */
static void
server_stalled(struct vc_stream *s)
{
    struct vc__server_stream *ss = server_stream_of(s);
    struct vc__error error;

    if (!vc__crew_is_short(s->engine->crew,
                           ss->call->site.session->peer->share))
        return;
    vc__error_put(&error, VC_RESOURCE_EXHAUSTED,
                  "%s.%s: its client has received no message for %u ms "
                  "(stream_stall_ms) while other handlers waited for a thread",
                  s->service, s->method, (unsigned)(s->stall_us / 1000));
    time_over(s, &error);
}

/* True if a failed call has passed its deadline: the client may learn of the
 * deadline by this reply, before it looks at its own clock. Asked by
 * vc__stream_server_status(). */
static bool
stream_server_is_late(const struct vc_call *call, enum vc_status status)
{
    return status != VC_OK && !call->unwanted && call->site.due <= vc__now();
}

enum vc_status
vc__stream_server_status(struct vc_call *call, enum vc_status status)
{
    struct vc__server_stream *ss = server_stream_of(call->stream);
    struct vc__error error;
    bool over;

    pthread_mutex_lock(&ss->stream.lock);
    over = ss->time_over;
    if (over)
        error = ss->stream.error;
    pthread_mutex_unlock(&ss->stream.lock);
    if (!over && !stream_server_is_late(call, status))
        return status;
    if (!over)
        vc__stream_late(&ss->stream, &error);
    return vc_call_fail(call, error.status, "%s", error.text);
}

/* ops->give_up, for streams with callbacks: ends the stream at its deadline, or
 * without memory for its timer. Called on the holder. Always true: the stream
 * ends. */
static bool
server_give_up(struct vc_stream *s, const struct vc__error *error)
{
    if (error->status == VC_DEADLINE_EXCEEDED)
        time_over(s, error);
    else
        vc__stream_end(s, VC__STREAM_EV_MESSAGE_LOST, error);
    return true;
}

/* ops->free: the last reference was dropped, and the stream is freed. Any
 * thread. */
static void
server_free(struct vc_stream *s)
{
    vc__stream_fini(s);
    free(server_stream_of(s));
}

/* ops->initial: copies the reply's initial metadata to out, unless that is
 * NULL; returns their bytes. Called on the thread that sends the first message,
 * before it does. */
static uint16_t
server_initial(const struct vc_stream *s, uint8_t *out)
{
    const struct vc__call_metadata *m =
        &caa_container_of(s, const struct vc__server_stream, stream)
             ->call->metadata;

    return (uint16_t)vc__metadata_initial(m->said, m->said_len, out);
}

/* --- callbacks: the call exists until server_left() ----------------------- */

/* rpc/stream/stream_events.c calls these for a stream with callbacks, on the
 * thread that runs its last callback. */

/* ops->over: the stream has ended, and on_end() comes next. Returns the status
 * of the call, for on_end(). */
static enum vc_status
server_over(struct vc_stream *s)
{
    return server_stream_of(s)->call->status;
}

/* ops->ended, called after on_end() has returned: the interceptors see the
 * reply and the end. Not before, since on_end(), and other threads until then,
 * may still send and fill in the reply. */
static void
server_ended(struct vc_stream *s)
{
    struct vc_call *call = server_stream_of(s)->call;

    call->status = vc__server_intercept_end(call, call->status);
}

/* ops->left: no more callbacks; has the holder answer the call. This thread may
 * not be the holder any more. */
static void
server_left(struct vc_stream *s)
{
    vc__call_finish(server_stream_of(s)->call);
}

static const struct vc__stream_ops server_ops = {.put = server_put,
                                                 .initial = server_initial,
                                                 .expire = server_expire,
                                                 .stalled = server_stalled,
                                                 .give_up = server_give_up,
                                                 .over = server_over,
                                                 .ended = server_ended,
                                                 .left = server_left,
                                                 .free = server_free};

/* Called by a handler, mostly in generated code. The handler returns what this
 * returns: VC__LATER, or an error of the call, with its text. The callbacks
 * begin when the handler has returned. */
enum vc_status
vc_stream_serve(struct vc_call *call, struct vc_stream *s,
                const struct vc_stream_events *events, void *arg)
{
    struct vc__stream_events *ev;

    vc__must(call, VC__CALL);
    vc__must(s, VC__STREAM);
    if (call->stream != s || s->events != NULL)
        return vc__call_fault(
            call, VC_INTERNAL,
            "vc_stream_serve() was called twice, or for another call's stream");
    ev = vc__stream_events_new(events, arg);
    if (ev == NULL)
        return vc_call_fail(call, vc__error_last()->status, "%s", vc_error());
    vc__stream_events_join(s, ev,
                           call->method->flags & VC_METHOD_CLIENT_STREAM);
    return vc_call_later(call);
}

bool
vc__stream_server_waits(struct vc_call *call)
{
    struct vc_stream *s = call->stream;
    bool waits;

    if (s == NULL)
        return false;
    pthread_mutex_lock(&s->lock);
    waits = s->long_out;
    if (waits)
        s->behind = &call->task;
    pthread_mutex_unlock(&s->lock);
    return waits;
}

/* --- creation and end --------------------------------------------------- */

bool
vc__stream_server_open(struct vc_call *call)
{
    const struct vc__server_peer *peer = call->site.session->peer;
    struct vc__server_part *part = vc__call_part(call);
    struct vc__server_stream *ss = calloc(1, sizeof *ss);

    if (ss == NULL)
        return false;
    vc__stream_init(&ss->stream, &server_ops);
    ss->stream.engine = &part->progress->engine;
    ss->stream.replies = &part->server->runtime->replies;
    ss->stream.sends = &call->method->reply;
    ss->stream.receives = &call->method->request;
    ss->stream.service = call->site.session->opened->entry->service->name;
    ss->stream.method = call->method->name;
    ss->stream.max_reply = call->method->max_reply;
    ss->stream.due = call->site.due;
    ss->stream.stall_us =
        part->progress->engine.crew == NULL ? 0 : part->server->stream_stall_us;
    ss->stream.memory = part->server->request_memory;
    ss->stream.account = &call->site.session->peer->account;
    ss->stream.most = (uint32_t)vc__server_peer_message_max(
        peer, peer->features & VC__FEATURE_METADATA ? VC_METADATA_MAX : 0);
    ss->stream.of_server = true;
    ss->stream.state =
        vc__stream_first(call->method->flags & VC_METHOD_SERVER_STREAM,
                         call->method->flags & VC_METHOD_CLIENT_STREAM);
    ss->call = call;
    ss->task.run = flush_run;
    CDS_INIT_LIST_HEAD(&ss->outgoing);
    call->stream = &ss->stream;
    return true;
}

/* Ends the call's stream for the reason `why`, as cancelled with this text.
 * Called by vc__stream_server_end(), vc__stream_server_lost() and
 * vc__stream_server_cancelled(). */
static void
stream_server_end_with(struct vc_call *call, enum vc__stream_event why,
                       const char *text)
{
    struct vc__error error;

    vc__error_put(&error, VC_CANCELLED, "%s.%s: %s", call->stream->service,
                  call->method->name, text);
    vc__stream_end(call->stream, why, &error);
}

void
vc__stream_server_end(struct vc_call *call)
{
    struct vc__server_stream *ss = server_stream_of(call->stream);

    stream_server_flush(ss);
    stream_server_end_with(call, VC__STREAM_EV_ENDS,
                           "the handler has returned");
    ss->call = NULL;
    call->stream = NULL;
    vc__stream_put(&ss->stream);
}

void
vc__stream_server_lost(struct vc_call *call)
{
    if (call->stream == NULL)
        return;
    stream_server_end_with(call, VC__STREAM_EV_LINK_LOST,
                           "the connection to its client was lost");
    stream_server_flush(server_stream_of(call->stream));
}

void
vc__stream_server_cancelled(struct vc_call *call)
{
    stream_server_end_with(call, VC__STREAM_EV_CANCEL, VC__GIVEN_UP);
}

/* --- frames of sessions ------------------------------------------------- */

/* Returns the session's part. Called by too_long_text() and
 * stream_server_message_take(). */
static struct vc__server_part *
stream_server_part_of(const struct vc__server_session *s)
{
    return s->peer->part;
}

/* The stream takes no messages, or not this one: notes the rule that is broken.
 * Returns false, which ends the link. Called by vc__server_message_whole() and
 * stream_server_message_take(). */
static bool
stream_server_message_refuse(struct vc__server_session *s,
                             struct vc_stream *stream)
{
    return vc__server_breach(
        s->link,
        vc__stream_hears(stream)
            ? "a MESSAGE over its window"
            : "a MESSAGE of a client that has half-closed or does not stream");
}

/* For vc__server_message_whole(): writes that the message was too long to be
 * kept; returns text. */
static const char *
too_long_text(const struct vc__server_session *s, const struct vc__assembly *a,
              char text[VC__ASSEMBLY_LOSS_TEXT])
{
    size_t max = (size_t)1 << stream_server_part_of(s)->server->log2_message;

    snprintf(text, VC__ASSEMBLY_LOSS_TEXT, "it " VC__OUTGOING_LONG,
             (size_t)a->total, "server", max);
    return text;
}

bool
vc__server_message_whole(struct vc__server_session *s, uint16_t i,
                         const struct vc__assembly *a)
{
    struct vc_call *call = s->slots[i].call;
    char text[VC__ASSEMBLY_LOSS_TEXT];
    const char *loss = NULL;

    if (call == NULL || call->stream == NULL)
        return true;
    if (a->loss == VC__ASSEMBLY_TOO_LONG)
        loss = too_long_text(s, a, text);
    else if (a->loss != VC__ASSEMBLY_KEPT)
        loss = "the server has no memory left for long messages (max_memory)";
    return vc__stream_message(call->stream, a->data, a->total, loss) ||
           stream_server_message_refuse(s, call->stream);
}

#define BETWEEN_PARTS "a frame between the parts of a message"

/* Called by stream_frame() for a MESSAGE: all of a message, or its first part.
 * False: the link ends. */
static bool
stream_server_message_take(struct vc__server_session *s, uint16_t i,
                           const struct vc__frame *f)
{
    struct vc__server_slot *slot = &s->slots[i];
    struct vc_stream *stream = slot->call->stream;

    if (slot->arrival != NULL)
        return vc__server_breach(s->link, BETWEEN_PARTS);
    if (!(f->flags & VC__FRAME_MORE))
        return vc__stream_message(stream, f->body, f->body_len, NULL) ||
               stream_server_message_refuse(s, stream);
    if (!vc__server_arrival_begin(
            s, slot, f, 1u << stream_server_part_of(s)->server->log2_message))
        return false;
    slot->arrival->in_message = true;
    return vc__stream_expects(stream, slot->arrival->assembly.total) ||
           stream_server_message_refuse(s, stream);
}

/* Called by vc__server_session_stream(): a frame of the stream of a call that
 * runs. False: the link ends. */
static bool
stream_frame(struct vc__server_session *s, uint16_t i,
             const struct vc__frame *f)
{
    struct vc_stream *stream = s->slots[i].call->stream;

    switch (f->type) {
    case VC__FRAME_MESSAGE:
        return stream_server_message_take(s, i, f);
    case VC__FRAME_WINDOW:
        return vc__stream_window(stream, f->deadline) ||
               vc__server_breach(s->link, "a WINDOW with an invalid value");
    default:
        if (s->slots[i].arrival != NULL)
            return vc__server_breach(s->link, BETWEEN_PARTS);
        return vc__stream_half(stream) ||
               vc__server_breach(s->link, "a HALF of a client that has "
                                          "half-closed or does not stream");
    }
}

#define OF_NO_STREAM "a frame of an unknown stream"

/* A frame for a call that has ended meanwhile is dropped. */
bool
vc__server_session_stream(struct vc__server_link *sl, const struct vc__frame *f)
{
    bool late;
    struct vc__server_session *s =
        vc__server_session_find(sl, f->session, &late);
    const struct vc__server_slot *slot;

    if (s == NULL)
        return late;
    if (f->slot >= s->n_slots)
        return vc__server_breach(sl, OF_NO_STREAM);
    slot = &s->slots[f->slot];
    if (!slot->stream || f->sequence != slot->sequence)
        return (int32_t)(slot->sequence - f->sequence) > 0 ||
               vc__server_breach(sl, OF_NO_STREAM);
    if (slot->state == VC__SLOT_ARRIVING)
        return vc__server_breach(sl, BETWEEN_PARTS);
    if (slot->state != VC__SLOT_RUNNING || slot->call->stream == NULL)
        return true;
    return stream_frame(s, f->slot, f);
}
