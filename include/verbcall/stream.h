/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams: calls in which the client, the server, or both send any number of
 * messages. Generated code has a type of its own for each method's stream at
 * either end, demo_chat_talk_client_stream and demo_chat_talk_server_stream,
 * and functions that wrap these with the types of the method:
 * demo_chat_talk_send() at the client, demo_chat_talk_server_send() in the
 * handler. Such a stream is a struct vc_stream: code that serves several
 * methods may cast its pointer to that, and use the functions below.
 *
 * A stream has no deadline unless it asks for one, by timeout_ms of its options
 * or of its method (verbcall/options.proto), or has a parent, whose deadline it
 * keeps. It ends when either end ends it, or its link is lost; and so does every
 * wait in it.
 *
 * Each direction holds what was sent and not received yet: at most 64 KiB at
 * each end, or one message that is longer. A sender waits while the window is
 * full, so a slow reader costs no more than that and delays nobody else.
 *
 * One thread at a time sends, and one at a time receives; these two may be
 * different ones. Whoever waits advances the runtime, as in a call. Or nobody
 * waits: callbacks are told what happens, see below. */
#ifndef VERBCALL_STREAM_H
#define VERBCALL_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_call;
struct vc_call_opts;
struct vc_channel;
struct vc_metadata;
struct vc_result;
struct vc_service;
struct vc_stream;

/* vc_stream_open - starts a call of a method that streams, on the client.
 * request is the message of a client that does not stream, else NULL; it is
 * not needed any more when the function returns. It does not wait for the
 * server: that it cannot be reached shows when the stream is used. The
 * deadline is that of the whole stream, by default none, and so are opts->parent
 * and opts->canceller. A stream that certainly was not executed is tried again, and
 * waits for its server (VC_CALL_WAIT_FOR_READY), as calls do, while all that it
 * needs is at hand: the request of a client that does not stream; of one that
 * does, as long as no link was there to take what it has sent. Later it is not,
 * whatever its method says: messages that have gone are not kept. On VC_OK the caller owns *stream and
 * closes it by vc_stream_close(). Any thread.
 * VC_INVALID_ARGUMENT   the request lacks something that must be set; an option
 *                       may not be, or is none of a stream's
 * VC_RESOURCE_EXHAUSTED the request is over the server's limit; no memory
 * VC_CANCELLED          its canceller was cancelled, or its parent
 * VC_DEADLINE_EXCEEDED  the deadline of its parent has passed */
VC_API enum vc_status vc_stream_open(struct vc_channel *channel,
                                     const struct vc_service *service,
                                     unsigned method, const void *request,
                                     const struct vc_call_opts *opts,
                                     struct vc_stream **stream);

/* vc_stream_send - sends one message, on either side. It waits until the window
 * has room. VC_OK: the message is on its way, and not needed any more; it says
 * nothing about whether it arrives.
 * A handler may answer before it has received all messages. Then the client's
 * vc_stream_send() fails with VC_FAILED_PRECONDITION, and vc_stream_finish() has
 * the reply: whatever vc_stream_send() returns, how the call has ended is what
 * vc_stream_finish() returns. After another failure the call may go on without
 * the message: a program that cannot do without it closes the stream, as
 * vc_stream_finish() would have the handler take what has come for all.
 * VC_INVALID_ARGUMENT     the message lacks something that must be set
 * VC_RESOURCE_EXHAUSTED   it is over the other end's limit, or its
 *                         method's; no memory
 * VC_FAILED_PRECONDITION  this end has finished sending, or the call has ended
 *                         well
 * VC_DEADLINE_EXCEEDED    the call's time is over
 * others                  how the call has ended; on the server VC_CANCELLED
 *                         when its client is gone, or wants it no more */
VC_API enum vc_status vc_stream_send(struct vc_stream *stream,
                                     const void *message);

/* vc_stream_receive - waits for the next message, on either side; on VC_OK it is
 * in *message and freed by vc_message_free(), or NULL: there are no more, the
 * call has ended well, or the client has finished sending. Otherwise how the
 * call has ended, once all messages that came before were received; a message
 * that does not fit its type is VC_INTERNAL, on the server
 * VC_INVALID_ARGUMENT; one over its method's limit VC_RESOURCE_EXHAUSTED. */
VC_API enum vc_status vc_stream_receive(struct vc_stream *stream,
                                        void **message);

/* vc_stream_half_close - tells the server that no more messages will come; it
 * may go on sending. Again: does nothing. Client only.
 * VC_RESOURCE_EXHAUSTED   no memory: try again */
VC_API enum vc_status vc_stream_half_close(struct vc_stream *stream);

/* vc_stream_finish - ends sending, drops what still comes, waits until the call
 * has ended and says how. When the server does not stream, its message is in
 * *reply on VC_OK, and freed by vc_message_free(); reply may be NULL. Client
 * only. */
VC_API enum vc_status vc_stream_finish(struct vc_stream *stream, void **reply);

/* vc_stream_result - all that the stream's call came to, its metadata and
 * details of the status among it: once, a second time there are none. Cleared
 * by vc_result_clear(), also after vc_stream_close(). Client only.
 * VC_INVALID_ARGUMENT     result is NULL, or has no size
 * VC_FAILED_PRECONDITION  the call has not ended */
VC_API enum vc_status vc_stream_result(struct vc_stream *stream,
                                       struct vc_result *result);

/* vc_stream_initial - the initial metadata that came with the first message of
 * the server: *n entries, which live until vc_stream_close(). NULL when there
 * are none, or no message has come. vc_stream_result() has them all, also those
 * that the handler has added later. Client only. Any thread. */
VC_API const struct vc_metadata *vc_stream_initial(struct vc_stream *stream,
                                                   size_t *n);

/* vc_stream_cancel - ends the call with VC_CANCELLED, and tells the server.
 * Whoever waits in another function of the stream returns. Does nothing after
 * the end. Client only. Any thread. */
VC_API void vc_stream_cancel(struct vc_stream *stream);

/* vc_stream_close - frees the stream; a call that has not ended is cancelled.
 * Nobody else uses the stream any more. NULL is fine. Client only. One with
 * callbacks may be closed inside of them, and at any time; on_end() is all that
 * follows, if it has not run yet. */
VC_API void vc_stream_close(struct vc_stream *stream);

/* --- streams for which no thread waits ----------------------------------- */

/* Callbacks, by their arguments. Generated code has structures of callbacks
 * with the types of a method, and a function `run` for each, which calls one of
 * them with the types that it has. */
enum vc_stream_callback {
    VC_STREAM_ON_MESSAGE,
    VC_STREAM_ON_SIGNAL, /* on_writable(), on_half_close() */
    VC_STREAM_ON_STATUS, /* on_cancel(), on_end() */
};
typedef void vc_stream_on_message(struct vc_stream *stream, void *message,
                                  void *arg);
typedef void vc_stream_on_signal(struct vc_stream *stream, void *arg);
typedef void vc_stream_on_status(struct vc_stream *stream,
                                 enum vc_status status, void *arg);
typedef void vc_stream_run(vc_function *callback, enum vc_stream_callback kind,
                           struct vc_stream *stream, void *message,
                           enum vc_status status, void *arg);

/* What is called when something has happened to a stream; NULL: the program
 * does not want to know. Each on a thread that advances the runtime, never
 * inside of the function that started the stream, and one after the other:
 * never two of one stream at a time. They may block, as handlers of servers may
 * (see vc_runtime_start()), use the stream in every way and start calls; they
 * may not close channels. It begins as VC_STREAM_EVENTS_INIT, or is written
 * where it is used as VC_STREAM_EVENTS(.on_end = on_end). */
struct vc_stream_events {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* The next message, for vc_message_free(); at the client also that of the
     * reply, when the server does not stream. It takes its place in the window
     * until this returns, so a receiver that is slow, or pauses, slows down the
     * sender. NULL: messages are dropped. */
    vc_stream_on_message *on_message;

    /* vc_stream_try_send() had no room for a message, and there is now. Once
     * for all of them since the last time. */
    vc_stream_on_signal *on_writable;

    /* On the server: the client has finished sending, all messages have been
     * given. */
    vc_stream_on_signal *on_half_close;

    /* On the server: nobody waits for the call any more, or it cannot go on.
     * VC_CANCELLED: its client has cancelled it, or is gone;
     * VC_DEADLINE_EXCEEDED: its time is over; VC_INVALID_ARGUMENT,
     * VC_RESOURCE_EXHAUSTED: a message was none, or could not be kept. vc_error()
     * says more. What has come and was not given is dropped, and only on_end()
     * follows: the program ends the call by vc_call_end(). */
    vc_stream_on_status *on_cancel;

    /* The last one, always and once. At the client: the call has ended, with
     * vc_error() and vc_stream_result() as after vc_stream_finish(); what came
     * before that has been given, but messages that a pause has kept back are
     * dropped if the status is not VC_OK. On the server: the program has ended
     * the call with this status; the reply goes when this has returned, and
     * nothing of the call and the stream may be used any more. */
    vc_stream_on_status *on_end;

    /* Of generated code: calls all of the above, which have other types.
     * NULL: they have these. */
    vc_stream_run *run;
};

#define VC_STREAM_EVENTS_INIT VC_SIZED_INIT(vc_stream_events)
#define VC_STREAM_EVENTS(...) VC_SIZED(vc_stream_events, __VA_ARGS__)

/* vc_stream_start - as vc_stream_open(), with callbacks, which are copied: no
 * thread waits for the stream, and the deadline ends it by itself. *stream is
 * set before the first of them runs. On VC_OK the caller owns it; on_end()
 * follows. vc_channel_close() waits for that, and no pause keeps back what comes
 * before it.
 * VC_INVALID_ARGUMENT   events have no size
 * others                as above */
VC_API enum vc_status vc_stream_start(struct vc_channel *channel,
                                      const struct vc_service *service,
                                      unsigned method, const void *request,
                                      const struct vc_call_opts *opts,
                                      const struct vc_stream_events *events,
                                      void *arg, struct vc_stream **stream);

/* vc_stream_serve - a handler that ends with
 * return vc_stream_serve(call, stream, &events, arg); has its stream go on by
 * callbacks, which are copied and begin when the handler has returned. It is as
 * vc_call_later(): the call holds no thread, and the program ends it by
 * vc_call_end(), once, on any thread and also inside of callbacks. When that
 * has been called none begins but on_end().
 * When it fails the call ends so: VC_INTERNAL for a stream that is not the
 * call's or has callbacks, VC_RESOURCE_EXHAUSTED without memory. */
VC_API enum vc_status vc_stream_serve(struct vc_call *call,
                                      struct vc_stream *stream,
                                      const struct vc_stream_events *events,
                                      void *arg);

/* vc_stream_try_send - as vc_stream_send(), of a stream with callbacks, and
 * does not wait. VC_OK: when *sent, the message is on its way; else the window
 * is full, or a message before this one that is longer than a packet has not
 * gone yet: on_writable() follows, or the end of the stream.
 * VC_FAILED_PRECONDITION also when the stream has no callbacks. */
VC_API enum vc_status vc_stream_try_send(struct vc_stream *stream,
                                         const void *message, bool *sent);

/* vc_stream_pause, vc_stream_resume - of a stream with callbacks: no call of
 * on_message() begins from now on, until it is resumed. What comes meanwhile
 * takes its place in the window. Any thread; again does nothing. */
VC_API void vc_stream_pause(struct vc_stream *stream);
VC_API void vc_stream_resume(struct vc_stream *stream);

VC_END_DECLS

#endif
