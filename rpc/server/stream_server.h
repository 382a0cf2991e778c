/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server's end of a stream. Everything belongs to the holder of the
 * engine, except functions that the handler calls. A task passes on a frame
 * that the handler sends, unless the handler's thread is the holder again.
 *
 * Called by: server_session.c (stream_call_fits, lost), server_call.c (open,
 * end), server_handler.c (status, waits), server_cancel.c (cancelled). */
#ifndef VC_RPC_STREAM_SERVER_H
#define VC_RPC_STREAM_SERVER_H

#include "rpc/server/server_call.h"
#include "rpc/stream/stream.h"

/* True if the CALL has no message of its own, as it must when the client
 * streams. */
static inline bool
vc__stream_call_fits(const struct vc__frame *call)
{
    return !(call->flags & VC__FRAME_CLIENT_STREAM) || call->body_len == 0;
}

/* Makes the call's stream. False without memory. */
bool vc__stream_server_open(struct vc_call *call);

/* The handler has returned: gives the frames it sent to the link, before the
 * reply; no more will follow. */
void vc__stream_server_end(struct vc_call *call);

/* Returns the status of a call whose handler has returned `status`: the stream
 * may have ended earlier, with an error of its own. */
enum vc_status vc__stream_server_status(struct vc_call *call,
                                        enum vc_status status);

/* True if a long message of the call is still being sent: the reply may not
 * come between its parts. The call's task is then posted when the message has
 * been sent. */
bool vc__stream_server_waits(struct vc_call *call);

/* The link was lost; the client has cancelled the call. The handler notices by
 * its stream. */
void vc__stream_server_lost(struct vc_call *call);
void vc__stream_server_cancelled(struct vc_call *call);

#endif
