/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A stream at the end that serves. All but what the handler calls is for the
 * holder of the engine: a frame that the handler sends goes by a task, unless
 * its thread is the holder again. */
#ifndef VC_RPC_STREAM_SERVER_H
#define VC_RPC_STREAM_SERVER_H

#include "rpc/server/server_call.h"
#include "rpc/stream/stream.h"

/* A call whose client streams has no message of its own. */
static inline bool
vc__stream_call_fits(const struct vc__frame *call)
{
    return !(call->flags & VC__FRAME_CLIENT_STREAM) || call->body_len == 0;
}

/* Makes the call's stream. False without memory. */
bool vc__stream_server_open(struct vc_call *call);

/* The handler has returned: what it sent goes to the link, before the reply;
 * nothing will follow. */
void vc__stream_server_end(struct vc_call *call);

/* How a call ends whose handler has returned this: its stream may have been
 * ended before. */
enum vc_status vc__stream_server_status(struct vc_call *call,
                                        enum vc_status status);

/* A long message of the call is still being sent, and its reply may not come
 * between the parts: posts the call's task when it has gone. */
bool vc__stream_server_waits(struct vc_call *call);

/* The link is lost; the client wants the call no more: the handler learns it
 * by its stream. */
void vc__stream_server_lost(struct vc_call *call);
void vc__stream_server_cancelled(struct vc_call *call);

#endif
