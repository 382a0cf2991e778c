/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams: calls in which the client, the server, or both send any number of
 * messages. The generated functions wrap these with the types of a method.
 *
 * Each direction holds what was sent and not received yet: at most 64 KiB at
 * each end, or one message that is longer. A sender waits while the window is
 * full, so a slow reader costs no more than that and delays nobody else.
 *
 * One thread at a time sends, and one at a time receives; these two may be
 * different ones. Whoever waits advances the runtime, as in a call. */
#ifndef VERBCALL_STREAM_H
#define VERBCALL_STREAM_H

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_call_opts;
struct vc_channel;
struct vc_result;
struct vc_service;
struct vc_stream;

/* vc_stream_open - starts a call of a method that streams, on the client.
 * request is the message of a client that does not stream, else NULL; it is
 * not needed any more when the function returns. It does not wait for the
 * server: that it cannot be reached shows when the stream is used. The
 * deadline is that of the whole stream. On VC_OK the caller owns *stream and
 * closes it by vc_stream_close(). Any thread.
 * VC_INVALID_ARGUMENT   the request lacks something that must be set
 * VC_RESOURCE_EXHAUSTED the request is over the server's limit; no memory */
VC_API enum vc_status vc_stream_open(struct vc_channel *channel,
                                     const struct vc_service *service,
                                     unsigned method, const void *request,
                                     const struct vc_call_opts *opts,
                                     struct vc_stream **stream);

/* vc_stream_send - sends one message, on either side. It waits until the window
 * has room. VC_OK: the message is on its way, and not needed any more; it says
 * nothing about whether it arrives.
 * VC_INVALID_ARGUMENT     the message lacks something that must be set
 * VC_RESOURCE_EXHAUSTED   it is over the other end's limit; no memory
 * VC_FAILED_PRECONDITION  this end has finished sending, or the call has ended
 *                         well
 * VC_DEADLINE_EXCEEDED    the call's time is over
 * others                  how the call has ended; on the server VC_CANCELLED
 *                         when its client is gone, or wants it no more */
VC_API enum vc_status vc_stream_send(struct vc_stream *stream,
                                     const void *message);

/* vc_stream_receive - waits for the next message, on either side; on VC_OK it is
 * in *message and freed by vc_reply_free(), or NULL: there are no more, the
 * call has ended well, or the client has finished sending. Otherwise how the
 * call has ended, once all messages that came before were received; a message
 * that does not fit its type is VC_INTERNAL, on the server
 * VC_INVALID_ARGUMENT. */
VC_API enum vc_status vc_stream_receive(struct vc_stream *stream,
                                        void **message);

/* vc_stream_half_close - tells the server that no more messages will come; it
 * may go on sending. Again: does nothing. Client only.
 * VC_RESOURCE_EXHAUSTED   no memory: try again */
VC_API enum vc_status vc_stream_half_close(struct vc_stream *stream);

/* vc_stream_finish - ends sending, drops what still comes, waits until the call
 * has ended and says how. When the server does not stream, its message is in
 * *reply on VC_OK, and freed by vc_reply_free(); reply may be NULL. Client
 * only. */
VC_API enum vc_status vc_stream_finish(struct vc_stream *stream, void **reply);

/* vc_stream_result - all that the stream's call came to, its metadata and
 * details of the status among it: once, a second time there are none. Cleared
 * by vc_result_clear(), also after vc_stream_close(). Client only.
 * VC_FAILED_PRECONDITION  the call has not ended */
VC_API enum vc_status vc_stream_result(struct vc_stream *stream,
                                       struct vc_result *result);

/* vc_stream_cancel - ends the call with VC_CANCELLED, and tells the server.
 * Whoever waits in another function of the stream returns. Does nothing after
 * the end. Client only. Any thread. */
VC_API void vc_stream_cancel(struct vc_stream *stream);

/* vc_stream_close - frees the stream; a call that has not ended is cancelled.
 * Nobody else uses the stream any more. NULL is fine. Client only. */
VC_API void vc_stream_close(struct vc_stream *stream);

VC_END_DECLS

#endif
