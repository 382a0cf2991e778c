/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Further attempts at a stream that was certainly not executed, while all that
 * they need is at hand: the request of a client that does not stream; the
 * messages of one that does, until the first link has them. */
#ifndef VC_RPC_STREAM_AGAIN_H
#define VC_RPC_STREAM_AGAIN_H

#include "rpc/client/stream_client.h"

void vc__client_stream_rest_init(struct vc__client_stream *c);

/* Its attempt has failed so. True: it is tried again, after a rest; else the
 * call ends with *error, which may be another by then. */
bool vc__client_stream_again(struct vc__client_stream *c,
                             struct vc__error *error);

/* It is given up: true when it rests, and then no more; rest_leave() must
 * follow, and the call's end. Under the stream's lock. */
bool vc__client_stream_rest_end(struct vc__client_stream *c);
void vc__client_stream_rest_leave(struct vc__client_stream *c);

/* Its deadline has passed while it waited for its server. */
void vc__client_stream_waited(struct vc__client_stream *c,
                              struct vc__error *error);

/* Nobody holds it any more: nor the last attempt. */
void vc__client_stream_unrenew(struct vc__client_stream *c);

#endif
