/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/stream/stream.h. What a stream sends, on either side: its frames, and
 * the messages that the window allows. "The lock" is the stream's. All
 * functions run, without the lock if nothing else is said, on the thread that
 * sends or receives: one of the program, a handler's, or the one that runs
 * callbacks. Only send_done(), and what it calls, runs on any thread. */
#include "rpc/stream/stream.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/codec/outgoing.h"
#include "rpc/interceptor.h"
#include "rpc/stream/stream_events.h"

/* --- frames -------------------------------------------------------------- */

struct stream_send {
    struct vc__send send;
    struct vc_stream *stream;
    uint8_t body[]; /* metadata, message */
};

/* Gives the frame's memory back. Called by send_done() and send_drop(), which
 * drop the frame's reference to the stream afterwards. */
static void
send_free(struct stream_send *ss)
{
    size_t size =
        sizeof *ss + ss->send.frame.metadata_len + ss->send.frame.body_len;

    vc__memory_give(vc__stream_account(ss->stream, size), ss, size);
}

/* done() of a frame: any thread. Called by the link, under its lock; without
 * that by rpc/client/stream_client.c, rpc/client/stream_again.c and
 * rpc/server/stream_server.c, for a frame that no link has had. Lets the next
 * message follow a long one; frees the frame, perhaps also the stream. */
static void
send_done(struct vc__send *send, enum vc__send_end end)
{
    struct stream_send *ss = caa_container_of(send, struct stream_send, send);
    struct vc_stream *s = ss->stream;

    (void)end;
    if (vc__send_is_long(send)) {
        pthread_mutex_lock(&s->lock);
        s->long_out = false;
        if (s->behind != NULL)
            vc__engine_post(s->engine, s->behind);
        s->behind = NULL;
        vc__stream_changed(s);
        vc__engine_stir(s->engine); /* any thread may push the link */
        pthread_mutex_unlock(&s->lock);
    }
    send_free(ss);
    vc__stream_put(s);
}

/* Called by vc__stream_tell(), message_send() and vc_stream_half_close().
 * Returns a frame with room for `before` bytes of metadata and len bytes of
 * body, and a reference to the stream; NULL without memory. send_done() or
 * send_drop() frees it. */
static struct stream_send *
send_new(struct vc_stream *s, enum vc__frame_type type, uint16_t before,
         uint32_t len)
{
    size_t size = sizeof(struct stream_send) + before + len;
    struct stream_send *ss = vc__memory_take(vc__stream_account(s, size), size);

    if (ss == NULL)
        return NULL;
    vc__send_clear(&ss->send);
    ss->send.frame.type = (uint8_t)type;
    ss->send.frame.metadata = ss->body;
    ss->send.frame.metadata_len = before;
    ss->send.frame.body_len = len;
    ss->send.body = ss->body + before;
    ss->send.of_reply = s->of_server;
    ss->send.done = send_done;
    ss->stream = s;
    vc__stream_hold(s);
    return ss;
}

/* Frees a frame that ops->put() has refused, or that is not needed. Called by
 * send_put(), message_go(), half_close() and vc__stream_half_drop(). */
static void
send_drop(struct stream_send *ss)
{
    struct vc_stream *s = ss->stream;

    send_free(ss);
    vc__stream_put(s);
}

/* Gives the frame to the link. False: the call has ended, and the frame is
 * freed. Called by vc__stream_tell(), half_close() and
 * vc__stream_half_send(). */
static bool
send_put(struct stream_send *ss)
{
    if (ss->stream->ops->put(ss->stream, &ss->send))
        return true;
    send_drop(ss);
    return false;
}

bool
vc__stream_tell(struct vc_stream *s, enum vc__frame_type type, uint32_t value)
{
    struct stream_send *ss = send_new(s, type, 0, 0);

    if (ss == NULL)
        return false;
    ss->send.frame.deadline = value;
    return send_put(ss);
}

/* Called by window_fail(). Returns VC_FAILED_PRECONDITION: the program has
 * finished sending. */
static enum vc_status
sent_enough(const struct vc_stream *s)
{
    return vc__fail(VC_FAILED_PRECONDITION,
                    "%s.%s: the stream was finished or half-closed: no message "
                    "can be sent any more",
                    s->service, s->method);
}

/* Charges a message of len bytes to the window; false if it may not be sent
 * now. Called by window_await() and window_try(), under the lock. */
static bool
stream_send_room_take(struct vc_stream *s, uint32_t len)
{
    return !s->long_out && vc__outflow_take(&s->out, vc__stream_cost(len));
}

/* Returns why the program may not send, for window_fail(): VC_CANCELLED if the
 * call has ended. Called by window_await() and window_try(), under the lock. */
static enum vc_status
stream_send_refusal(const struct vc_stream *s)
{
    return s->state == VC__STREAM_ENDED ? VC_CANCELLED : VC_FAILED_PRECONDITION;
}

/* How long a thread has waited for its peer: for the window to move, or for a
 * long message to be taken. */
struct stall {
    uint32_t end; /* of the window, at the last look */
    uint64_t due; /* of the next look; 0: not yet known */
};

#define STALL_LOOK_US 1000000u

/* Waits for a change, for window_await() and long_await(), under the lock,
 * which it releases meanwhile. Reports a peer that takes nothing to
 * ops->stalled(). False if the deadline has passed. */
static bool
window_wait(struct vc_stream *s, struct stall *stall)
{
    if (s->stall_us == 0)
        return vc__stream_wait(s, s->due);
    if (stall->due == 0 || stall->end != s->out.end)
        *stall = (struct stall){s->out.end, vc__now() + s->stall_us};
    if (stall->due >= s->due)
        return vc__stream_wait(s, s->due);
    if (vc__stream_wait(s, stall->due) || stall->end != s->out.end)
        return true;
    pthread_mutex_unlock(&s->lock);
    s->ops->stalled(s);
    pthread_mutex_lock(&s->lock);
    stall->due = vc__now() + STALL_LOOK_US;
    return true;
}

/* Called by vc_stream_send(): waits until the window allows a message of len
 * bytes, and charges it: VC_OK. Other statuses are for window_fail(). */
static enum vc_status
window_await(struct vc_stream *s, uint32_t len)
{
    enum vc_status status = VC_OK;
    struct stall stall = {0, 0};

    pthread_mutex_lock(&s->lock);
    while (status == VC_OK) {
        if (vc__stream_on(s, VC__STREAM_EV_SENDS) != VC__STREAM_DO_IT)
            status = stream_send_refusal(s);
        else if (stream_send_room_take(s, len))
            break;
        else if (!window_wait(s, &stall) && s->state != VC__STREAM_ENDED)
            status = VC_DEADLINE_EXCEEDED;
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* Returns the error of a call that has ended, the thread's last, never VC_OK.
 * If the call succeeded, it is VC_FAILED_PRECONDITION. Called by
 * window_fail(), send_late(), long_await(), link_await() and message_go(). */
static enum vc_status
send_ended(struct vc_stream *s)
{
    enum vc_status status = vc__stream_status(s);

    return status != VC_OK
               ? status
               : vc__fail(VC_FAILED_PRECONDITION,
                          "%s.%s: the call has ended: no message can be sent "
                          "any more; vc_stream_finish() returns its result",
                          s->service, s->method);
}

/* Called by window_fail(), long_await() and link_await() when the deadline has
 * passed: ends the call, and returns its error. With callbacks another thread
 * may still be ending it, by its timer; the end is not awaited then, and the
 * error is that of the deadline. */
static enum vc_status
send_late(struct vc_stream *s)
{
    struct vc__error error;

    s->ops->expire(s); /* or it has ended meanwhile */
    if (vc__stream_has_ended(s))
        return send_ended(s);
    vc__stream_late(s, &error);
    return vc__error_raise(&error);
}

/* Called by vc_stream_send() and vc_stream_try_send(): turns the status of
 * window_await() or window_try() into the program's error, which it returns. */
static enum vc_status
window_fail(struct vc_stream *s, enum vc_status why)
{
    switch (why) {
    case VC_CANCELLED:
        return send_ended(s);
    case VC_DEADLINE_EXCEEDED:
        return send_late(s);
    default:
        return sent_enough(s);
    }
}

/* Called by vc_stream_send(): waits until the link has sent the last part, or
 * was lost (VC_OK). If the call ends first, or its deadline passes, which ends
 * it, returns its error and leaves the rest to the link: a server drops the
 * parts that it still receives, and a server's reply waits for the last part
 * without the handler (vc__stream_server_waits()). */
static enum vc_status
long_await(struct vc_stream *s)
{
    struct stall stall = {0, 0};
    bool all, ended;

    pthread_mutex_lock(&s->lock);
    while (s->long_out && s->state != VC__STREAM_ENDED &&
           window_wait(s, &stall))
        continue;
    all = !s->long_out;
    ended = s->state == VC__STREAM_ENDED;
    pthread_mutex_unlock(&s->lock);
    if (all)
        return VC_OK;
    return ended ? send_ended(s) : send_late(s);
}

/* Called by vc_stream_send() for the client's first message: waits until a link
 * has the CALL, which may have to be made first: VC_OK. The sender may rest
 * after that, and perhaps no other thread advances the engine. If the call ends
 * without a link, or its deadline passes, which ends it, returns its error. */
static enum vc_status
link_await(struct vc_stream *s)
{
    bool in_time = true;

    pthread_mutex_lock(&s->lock);
    while (!s->has_link && s->state != VC__STREAM_ENDED && in_time)
        in_time = vc__stream_wait(s, s->due);
    s->linked = s->has_link;
    pthread_mutex_unlock(&s->lock);
    if (s->linked)
        return VC_OK;
    return in_time ? send_ended(s) : send_late(s);
}

/* Sets s->long_out. Called by message_go(): a long message begins, or is not
 * sent after all. */
static void
long_set(struct vc_stream *s, bool is_out)
{
    pthread_mutex_lock(&s->lock);
    s->long_out = is_out;
    pthread_mutex_unlock(&s->lock);
}

/* Called by message_send(): gives the message to the link, or frees it and
 * returns the error of the call, which has ended. A long message is sent in
 * parts, and no other of the stream may come between: *is_long is set, and the
 * next message waits for the last part. If the link is lost, the send is done,
 * too. */
static enum vc_status
message_go(struct vc_stream *s, struct stream_send *ss, bool *is_long)
{
    *is_long = vc__send_is_long(&ss->send);
    if (*is_long)
        long_set(s, true);
    if (s->ops->put(s, &ss->send))
        return VC_OK;
    if (*is_long)
        long_set(s, false);
    send_drop(ss);
    return send_ended(s);
}

/* Called by stream_send_measure(): returns why the message cannot be sent, also
 * as the thread's last error. */
static enum vc_status
stream_send_message_refuse(const struct vc_stream *s, const void *message,
                           size_t peer_max, struct vc__packing *packing)
{
    const struct vc__outgoing o = {
        .what = "message",
        .service = s->service,
        .method = s->method,
        .peer = s->of_server ? "client" : "server",
        .reply_max = s->of_server ? s->max_reply : 0,
        .config_max = s->request_max,
        .peer_max = peer_max,
    };

    return vc__outgoing_measure(&o, s->sends, message, packing);
}

/* Called by vc_stream_send() and vc_stream_try_send(): measures the message and
 * checks it against its limits. Errors as of vc__outgoing_measure(). */
static enum vc_status
stream_send_measure(struct vc_stream *s, const void *message,
                    struct vc__packing *packing)
{
    size_t most, peer_max;

    pthread_mutex_lock(&s->lock);
    most = peer_max = s->most;
    pthread_mutex_unlock(&s->lock);
    if (s->of_server && s->max_reply != 0 && s->max_reply < most)
        most = s->max_reply;
    if (vc__outgoing_fits(s->sends, message, most, packing))
        return VC_OK;
    return stream_send_message_refuse(s, message, peer_max, packing);
}

/* Called by message_send(): writes the metadata of the stream's first message
 * to out, unless that is NULL; returns their bytes. 0 for later messages, and
 * at a client. */
static uint16_t
initial_of(const struct vc_stream *s, uint8_t *out)
{
    return s->began || s->ops->initial == NULL ? 0 : s->ops->initial(s, out);
}

/* Called by message_send() without memory: gives back the room of a message
 * that is not sent. The callbacks may have found no room meanwhile. */
static void
room_return(struct vc_stream *s, uint32_t len)
{
    pthread_mutex_lock(&s->lock);
    vc__outflow_return(&s->out, vc__stream_cost(len));
    if (s->events != NULL)
        vc__stream_events_stir(s);
    pthread_mutex_unlock(&s->lock);
}

/* Sends a message that has its room in the window; *is_long as message_go()
 * says. Called by vc_stream_send() and vc_stream_try_send(), which return an
 * error to the program. */
static enum vc_status
message_send(struct vc_stream *s, const void *message,
             struct vc__packing *packing, bool *is_long)
{
    uint16_t before = initial_of(s, NULL);
    struct stream_send *ss =
        send_new(s, VC__FRAME_MESSAGE, before, (uint32_t)packing->size);

    if (ss == NULL) {
        room_return(s, (uint32_t)packing->size);
        return vc__fail(VC_RESOURCE_EXHAUSTED, "%s.%s: out of memory",
                        s->service, s->method);
    }
    initial_of(s, ss->body);
    s->began = true;
    vc__codec_pack(s->sends, packing, message, ss->body + before);
    if (s->interception != NULL)
        vc__interception_message(
            s->interception,
            s->of_server ? VC_MESSAGE_REPLY : VC_MESSAGE_REQUEST, message);
    return message_go(s, ss, is_long);
}

enum vc_status
vc_stream_send(struct vc_stream *s, const void *message)
{
    struct vc__packing packing;
    enum vc_status status;
    bool is_long;

    if (!vc__good(s, VC__STREAM))
        return vc__bad(s, VC__STREAM);
    status = stream_send_measure(s, message, &packing);
    if (status != VC_OK)
        return status;
    /* What came while the sender rested may allow it to send. */
    if (!s->of_server)
        vc__engine_catch_up(s->engine, vc__now());
    status = window_await(s, (uint32_t)packing.size);
    if (status != VC_OK)
        return window_fail(s, status);
    status = message_send(s, message, &packing, &is_long);
    if (status != VC_OK)
        return status;
    if (!s->of_server && !s->linked)
        status = link_await(s);
    return status == VC_OK && is_long ? long_await(s) : status;
}

/* Called by vc_stream_try_send(): takes room for a message and sets *sent, or
 * makes on_writable() due once there is some; VC_OK. If the program may not
 * send, the status is for window_fail(). */
static enum vc_status
window_try(struct vc_stream *s, uint32_t len, bool *sent)
{
    enum vc_status status = VC_OK;

    pthread_mutex_lock(&s->lock);
    if (vc__stream_on(s, VC__STREAM_EV_SENDS) != VC__STREAM_DO_IT)
        status = stream_send_refusal(s);
    else if (stream_send_room_take(s, len))
        *sent = true;
    else
        vc__stream_events_want(s, vc__stream_cost(len));
    pthread_mutex_unlock(&s->lock);
    return status;
}

enum vc_status
vc_stream_try_send(struct vc_stream *s, const void *message, bool *sent)
{
    struct vc__packing packing;
    enum vc_status status;
    bool is_long;

    if (!vc__good(s, VC__STREAM))
        return vc__bad(s, VC__STREAM);
    *sent = false;
    if (s->events == NULL)
        return vc__fail(VC_FAILED_PRECONDITION,
                        "%s.%s: the stream has no callbacks: use "
                        "vc_stream_send(), which waits",
                        s->service, s->method);
    status = stream_send_measure(s, message, &packing);
    if (status != VC_OK)
        return status;
    status = window_try(s, (uint32_t)packing.size, sent);
    if (status != VC_OK)
        return window_fail(s, status);
    if (!*sent)
        return VC_OK;
    status = message_send(s, message, &packing, &is_long);
    *sent = status == VC_OK;
    return status;
}

/* --- half-close ---------------------------------------------------------- */

/* Called by vc_stream_half_close(): true if the program may still send. If not,
 * the stream was half-closed before, or the call has ended. */
static bool
half_is_needed(struct vc_stream *s)
{
    bool needed;

    pthread_mutex_lock(&s->lock);
    needed = vc__stream_on(s, VC__STREAM_EV_SENDS) == VC__STREAM_DO_IT;
    pthread_mutex_unlock(&s->lock);
    return needed;
}

void
vc__stream_half_send(struct vc__send *half)
{
    send_put(caa_container_of(half, struct stream_send, send));
}

void
vc__stream_half_drop(struct vc__send *half)
{
    send_drop(caa_container_of(half, struct stream_send, send));
}

/* Called by vc_stream_half_close() with the HALF: half-closes and sends it. It
 * must not come between the parts of a message: then the thread of the
 * callbacks sends it later. Frees it if another thread has half-closed, or the
 * call has ended. */
static void
half_close(struct vc_stream *s, struct stream_send *ss)
{
    bool closes, later;

    pthread_mutex_lock(&s->lock);
    closes = vc__stream_on(s, VC__STREAM_EV_HALF_CLOSES) == VC__STREAM_DO_IT;
    later = closes && s->long_out && s->events != NULL;
    if (later)
        vc__stream_events_half(s, &ss->send);
    pthread_mutex_unlock(&s->lock);
    if (!closes)
        send_drop(ss);
    else if (!later)
        send_put(ss);
}

/* The HALF is allocated first, so that nothing can fail once the stream is
 * half-closed. Also called by vc_stream_finish() (rpc/client). */
enum vc_status
vc_stream_half_close(struct vc_stream *s)
{
    struct stream_send *ss;

    if (!vc__good(s, VC__STREAM))
        return vc__bad(s, VC__STREAM);
    if (s->of_server)
        return vc__fail(VC_INVALID_ARGUMENT,
                        "%s.%s: a handler ends its stream by returning",
                        s->service, s->method);
    if (!half_is_needed(s))
        return VC_OK;
    ss = send_new(s, VC__FRAME_HALF, 0, 0);
    if (ss == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "%s.%s: out of memory",
                        s->service, s->method);
    half_close(s, ss);
    return VC_OK;
}
