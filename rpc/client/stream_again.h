/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Retries a stream that was certainly not executed, while the client has all
 * that another attempt needs. That is the request of a client that does not
 * stream; otherwise the messages, until the first link has them.
 *
 * Any thread, without the stream's lock; vc__client_stream_rest_end() under it.
 * A next attempt starts on the holder.
 *
 * Called by: stream_client.c (all). */
#ifndef VC_RPC_STREAM_AGAIN_H
#define VC_RPC_STREAM_AGAIN_H

#include "rpc/client/stream_client.h"

/* Called by vc__client_stream_new(). */
void vc__client_stream_rest_init(struct vc__client_stream *c);

/* Called when the attempt has ended with *error: on
 * the holder, or where the request failed inside vc__client_start() or
 * vc__client_close(). True if another one follows after a rest. Otherwise the
 * caller ends the call with *error, which may have changed. */
bool vc__client_stream_again(struct vc__client_stream *c,
                             struct vc__error *error);

/* Ends the rest of a call that is cancelled or has expired. True if the call
 * was resting; then vc__client_stream_rest_leave() and the call's end must
 * follow. */
bool vc__client_stream_rest_end(struct vc__client_stream *c);
/* Takes the call out of the channel's waits, after
 * vc__client_stream_rest_end(). */
void vc__client_stream_rest_leave(struct vc__client_stream *c);

/* Sets the error of a call whose deadline has passed while it waited for its
 * server; c->why is set. */
void vc__client_stream_waited(struct vc__client_stream *c,
                              struct vc__error *error);

/* Releases the CALL of a further attempt, if there is one. Called when another
 * one replaces it, on the holder, or when the stream is freed, on any
 * thread. */
void vc__client_stream_unrenew(struct vc__client_stream *c);

#endif
