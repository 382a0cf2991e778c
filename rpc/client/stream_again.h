/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Retries a stream that was certainly not executed, while the client has all
 * that another attempt needs. That is the request of a client that does not
 * stream; otherwise the messages, until a link has the CALL, or as long as
 * there are none. Another attempt goes to another server where it can.
 *
 * Any thread, without the stream's lock, except where a comment says otherwise;
 * vc__client_stream_rest_end() under it. A next attempt starts on the holder.
 *
 * Called by: stream_client.c (all), stream_again.c (client_stream_waited,
 * client_stream_unrenew). */
#ifndef VC_RPC_STREAM_AGAIN_H
#define VC_RPC_STREAM_AGAIN_H

#include "rpc/client/stream_client.h"

/* Initializes what is in the stream for this file. Called by
 * vc__client_stream_new(), before another thread knows the stream. */
void vc__client_stream_rest_init(struct vc__client_stream *c);

/* Called when the attempt has ended with *error: on the holder, or on the
 * thread on which the request failed inside vc__client_start() or
 * vc__client_close(). True if the call rests now: another attempt follows,
 * unless the call is cancelled, expires or loses its channel first; whatever
 * ends the rest also ends the call. False: the caller ends the call with
 * *error, which may have changed. */
bool vc__client_stream_again(struct vc__client_stream *c,
                             struct vc__error *error);

/* Ends the rest of a call that is cancelled or has expired, under the stream's
 * lock. True if the call was resting; then vc__client_stream_rest_leave() and
 * the call's end must follow. Called by give_up_begin(). */
bool vc__client_stream_rest_end(struct vc__client_stream *c);

/* Takes the call out of the channel's waits, and calls vc__asyncs_leave() for
 * the rest. Called by client_give_up(), after vc__client_stream_rest_end() was
 * true. */
void vc__client_stream_rest_leave(struct vc__client_stream *c);

/* Sets *error to VC_DEADLINE_EXCEEDED, not executed, for a call whose deadline
 * has passed while it waited for its server, or rested; c->why is set, to the
 * error of its last attempt. Called by the thread that ends the call then. */
void vc__client_stream_waited(struct vc__client_stream *c,
                              struct vc__error *error);

/* Releases the CALL of a further attempt, if there is one. Called when another
 * one replaces it, on the holder, or when the stream is freed, on any
 * thread. */
void vc__client_stream_unrenew(struct vc__client_stream *c);

#endif
