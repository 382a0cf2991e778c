/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams: calls in which the client, the server, or both send any number of
 * messages. Generated code has a type of its own for each method's stream at
 * either end: demo_chat_talk_client_stream and demo_chat_talk_server_stream. It
 * also has functions that wrap these with the types of the method:
 * demo_chat_talk_send() at the client, demo_chat_talk_server_send() in the
 * handler. Such a stream is a struct vc_stream: code that serves several
 * methods may cast its pointer to that, and use the functions below.
 *
 * A stream has no deadline unless one is set by timeout_ms of its options or of
 * its method (verbcall/options.proto), or inherited from a parent. A stream
 * ends when either end ends it, or its link is lost; then every wait in it
 * ends, too.
 *
 * Each direction buffers messages that were sent and not received yet: at most
 * 64 KiB at each end, or one message that is longer. A sender waits while the
 * window is full, so a slow reader costs no more than that and delays nobody
 * else.
 *
 * One thread at a time sends, and one at a time receives; these two may be
 * different threads. A thread that waits advances the runtime, as in a call. A
 * program that does not want to wait uses callbacks, see below. */
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
 * request is the message of a client that does not stream, else NULL; the
 * caller may free it when the function returns. The function does not wait for
 * the server: if the server cannot be reached, later functions of the stream
 * fail. The deadline, by default none, opts->parent and opts->canceller are
 * those of the whole stream. On VC_OK the caller owns *stream and closes it by
 * vc_stream_close(). Any thread.
 *
 * As a call, a stream that certainly was not executed is retried, and waits for
 * its server (VC_CALL_WAIT_FOR_READY), while the library still has all that it
 * needs to send. If the client does not stream, that is the request. If the
 * client streams, that holds as long as no link was there to take what it has
 * sent, or it has sent nothing. Later the stream is not retried, whatever its
 * method says: sent messages are not kept. Of several servers another attempt
 * goes to another one where it can; at once, and without being counted as a
 * retry, if nothing was sent (doc/balancing.md).
 * VC_INVALID_ARGUMENT   a required field of the request is not set; an option
 *                       is not allowed, or not for streams
 * VC_RESOURCE_EXHAUSTED the request is over the server's limit; no memory
 * VC_CANCELLED          the call's canceller, or its parent, was cancelled
 * VC_DEADLINE_EXCEEDED  the deadline of its parent has passed
 * others                that of an interceptor, or of a policy of the program's
 *                       own, which refuses the stream */
VC_API enum vc_status vc_stream_open(struct vc_channel *channel,
                                     const struct vc_service *service,
                                     unsigned method, const void *request,
                                     const struct vc_call_opts *opts,
                                     struct vc_stream **stream);

/* vc_stream_send - sends one message, on either side. It waits until the window
 * has room; a client's first one also until the call has a link. VC_OK: the
 * message was accepted for sending and may be freed; this does not mean that
 * the peer gets it.
 * A handler may answer before it has received all messages. Then the client's
 * vc_stream_send() fails with VC_FAILED_PRECONDITION, and vc_stream_finish()
 * has the reply. In any case vc_stream_finish(), not vc_stream_send(), returns
 * how the call has ended. After another failure the call may go on without the
 * message. A program that needs the message closes the stream; after
 * vc_stream_finish() the handler would take the messages that arrived for all.
 * VC_INVALID_ARGUMENT    a required field of the message is not set
 * VC_RESOURCE_EXHAUSTED  the message is over the other end's limit, or its
 *                        method's; no memory
 * VC_FAILED_PRECONDITION this end has finished sending, or the call has ended
 *                        with VC_OK
 * VC_DEADLINE_EXCEEDED   the call's deadline has passed
 * others                 how the call has ended; on the server VC_CANCELLED
 *                        when its client is gone, or has cancelled it, as it
 *                        does at its deadline */
VC_API enum vc_status vc_stream_send(struct vc_stream *stream,
                                     const void *message);

/* vc_stream_receive - waits for the next message, on either side. On VC_OK
 * *message is the message, which the caller frees by vc_message_free(). It is
 * NULL when there are no more: the call has ended with VC_OK, or the client has
 * finished sending. Other statuses say how the call has ended; they are
 * returned once all messages that arrived before were received. A message that
 * does not fit its type is VC_INTERNAL, on the server VC_INVALID_ARGUMENT; a
 * message over its method's limit is VC_RESOURCE_EXHAUSTED. With any of them
 * *message is NULL. VC_INVALID_ARGUMENT also if `message` is NULL. */
VC_API enum vc_status vc_stream_receive(struct vc_stream *stream,
                                        void **message);

/* vc_stream_half_close - reports to the server that no more messages will come;
 * the server may go on sending. A second time does nothing. Client only.
 * VC_RESOURCE_EXHAUSTED no memory: try again */
VC_API enum vc_status vc_stream_half_close(struct vc_stream *stream);

/* vc_stream_finish - ends sending, drops messages that still arrive, waits
 * until the call has ended and returns its status. When the server does not
 * stream, *reply on VC_OK is its message, which the caller frees by
 * vc_message_free(); reply may be NULL. Client only. */
VC_API enum vc_status vc_stream_finish(struct vc_stream *stream, void **reply);

/* vc_stream_result - fills *result with the full result of the stream's call,
 * metadata and details of the status included. These are handed out once; a
 * second time there are none. The caller releases the result by
 * vc_result_clear(), also after vc_stream_close(). Client only.
 * VC_INVALID_ARGUMENT    result is NULL, or has no size
 * VC_FAILED_PRECONDITION the call has not ended */
VC_API enum vc_status vc_stream_result(struct vc_stream *stream,
                                       struct vc_result *result);

/* vc_stream_initial - returns the initial metadata that came with the server's
 * first message: *n entries, which live until vc_stream_close(). NULL when
 * there are none, or no message has arrived. vc_stream_result() has all initial
 * metadata, also those that the handler has added later. Client only. Any
 * thread. */
VC_API const struct vc_metadata *vc_stream_initial(struct vc_stream *stream,
                                                   size_t *n);

/* vc_stream_cancel - ends the call with VC_CANCELLED, and cancels it on the
 * server. A thread that waits in another function of the stream returns.
 * Messages that had arrived before can still be received. Does nothing after
 * the end. Client only. Any thread. */
VC_API void vc_stream_cancel(struct vc_stream *stream);

/* vc_stream_close - frees the stream; a call that has not ended is cancelled.
 * No other thread may use the stream any more. NULL is allowed. Client only. A
 * stream with callbacks may be closed at any time, also inside its callbacks;
 * after that only on_end() runs, unless it has run already. */
VC_API void vc_stream_close(struct vc_stream *stream);

/* --- streams for which no thread waits ----------------------------------- */

/* Kinds of callbacks, by their arguments. Generated code has structures of
 * callbacks with the types of a method, and a function `run` for each, which
 * calls a callback with its real type. */
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

/* Callbacks for the events of a stream; NULL: the event is not reported. Each
 * runs on a thread that advances the runtime, never inside the function that
 * started the stream. Callbacks of one stream run one after the other, never
 * two at a time. They may block, as handlers of servers may (see
 * vc_runtime_start()), call any function of the stream and start calls. They
 * must not close a channel that has asynchronous calls or streams with
 * callbacks under way, as a client's stream is until on_end() has returned:
 * vc_channel_close() then returns VC_FAILED_PRECONDITION. Initialize it with
 * VC_STREAM_EVENTS_INIT, or write VC_STREAM_EVENTS(.on_end = on_end) where it
 * is used. */
struct vc_stream_events {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* The next message, which the callback frees by vc_message_free(). If the
     * server does not stream, the client gets the message of the reply here,
     * too. The message takes its place in the window until the callback
     * returns, so a receiver that is slow, or pauses, slows down the sender.
     * NULL: messages are dropped. */
    vc_stream_on_message *on_message;

    /* vc_stream_try_send() had no room for a message, and there is room now.
     * Runs once for all such messages since the last time. */
    vc_stream_on_signal *on_writable;

    /* On the server: the client has finished sending, and all messages were
     * passed to on_message(). */
    vc_stream_on_signal *on_half_close;

    /* On the server: the caller does not wait for the call any more, or the
     * call cannot go on. VC_CANCELLED: the client has cancelled it, or is gone;
     * VC_DEADLINE_EXCEEDED: its deadline has passed; VC_INVALID_ARGUMENT,
     * VC_RESOURCE_EXHAUSTED: a message was malformed, or could not be kept.
     * vc_error() says more. Messages that arrived and were not passed on are
     * dropped, and only on_end() follows: the program ends the call by
     * vc_call_end(). */
    vc_stream_on_status *on_cancel;

    /* The last callback, which always runs once. At the client: the call has
     * ended, with vc_error() and vc_stream_result() as after
     * vc_stream_finish(). Messages that arrived before that were passed on; but
     * those held back by a pause are dropped if the status is not VC_OK. On the
     * server: the program has ended the call with this status. The reply is
     * sent when the callback has returned, and nothing of the call and the
     * stream may be used any more. */
    vc_stream_on_status *on_end;

    /* Set by generated code: calls all of the above, which have other types.
     * NULL: they have the types declared here. */
    vc_stream_run *run;
};

#define VC_STREAM_EVENTS_INIT VC_SIZED_INIT(vc_stream_events)
#define VC_STREAM_EVENTS(...) VC_SIZED(vc_stream_events, __VA_ARGS__)

/* vc_stream_start - as vc_stream_open(), with callbacks, which are copied: no
 * thread waits for the stream, and the deadline ends it by itself. *stream is
 * set before the first callback runs. On VC_OK the caller owns it; on_end()
 * follows. vc_channel_close() waits for on_end(), and ends any pause: what
 * comes before on_end() is not held back.
 * VC_INVALID_ARGUMENT events have no size
 * others              as vc_stream_open() */
VC_API enum vc_status vc_stream_start(struct vc_channel *channel,
                                      const struct vc_service *service,
                                      unsigned method, const void *request,
                                      const struct vc_call_opts *opts,
                                      const struct vc_stream_events *events,
                                      void *arg, struct vc_stream **stream);

/* vc_stream_serve - a handler that ends with
 * return vc_stream_serve(call, stream, &events, arg); continues its stream by
 * callbacks, which are copied and begin when the handler has returned. As after
 * vc_call_later() the call holds no thread, and the program ends it by
 * vc_call_end(), once, on any thread and also inside callbacks. After
 * vc_call_end() no callback begins but on_end().
 * If the function fails, the call ends with its status: VC_INTERNAL for a
 * stream that is not the call's or has callbacks, VC_INVALID_ARGUMENT if events
 * have no size, VC_RESOURCE_EXHAUSTED without memory. */
VC_API enum vc_status vc_stream_serve(struct vc_call *call,
                                      struct vc_stream *stream,
                                      const struct vc_stream_events *events,
                                      void *arg);

/* vc_stream_try_send - as vc_stream_send(), for a stream with callbacks,
 * without waiting. VC_OK and *sent true: the message was accepted for sending.
 * VC_OK and *sent false: the window is full, or an earlier message that is
 * longer than a packet was not posted completely yet; on_writable() follows, or
 * the end of the stream. VC_FAILED_PRECONDITION also when the stream has no
 * callbacks. */
VC_API enum vc_status vc_stream_try_send(struct vc_stream *stream,
                                         const void *message, bool *sent);

/* vc_stream_pause, vc_stream_resume - for a stream with callbacks: from now on
 * on_message() is not called until the stream is resumed. Messages that arrive
 * meanwhile take their place in the window. Any thread; a second call does
 * nothing. */
VC_API void vc_stream_pause(struct vc_stream *stream);
VC_API void vc_stream_resume(struct vc_stream *stream);

VC_END_DECLS

#endif
