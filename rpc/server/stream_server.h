/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server's end of a stream. Everything belongs to the holder of the engine,
 * except functions that the handler calls (verbcall/stream.h). A task passes on
 * a frame that the handler sends, unless the handler's thread is the holder
 * again. The functions of this header are called by other files of rpc/server,
 * on the holder, without the stream's lock.
 *
 * Called by: server_session.c (stream_call_fits, lost), server_call.c (open,
 * end), server_handler.c (status, waits), server_cancel.c (cancelled). */
#ifndef VC_RPC_STREAM_SERVER_H
#define VC_RPC_STREAM_SERVER_H

#include "rpc/server/server_call.h"
#include "rpc/stream/stream.h"

/* True if the CALL has no message of its own, as it must when the client
 * streams, or if the client does not stream. Asked for each CALL that comes;
 * false breaks the protocol. */
static inline bool
vc__stream_call_fits(const struct vc__frame *call)
{
    return !(call->flags & VC__FRAME_CLIENT_STREAM) || call->body_len == 0;
}

/* Makes the call's stream. False without memory. Called by
 * vc__call_stream_open(). */
bool vc__stream_server_open(struct vc_call *call);

/* The handler has returned: gives the frames it sent to the link, before the
 * reply; no more will follow. Called by vc__call_stream_end(), also for a call
 * whose handler never ran. */
void vc__stream_server_end(struct vc_call *call);

/* Returns the status of a call whose handler has returned `status`: the stream
 * may have ended earlier, with an error of its own. Called by call_end()
 * (rpc/server/server_handler.c). */
enum vc_status vc__stream_server_status(struct vc_call *call,
                                        enum vc_status status);

/* True if a long message of the call is still being sent: the reply may not
 * come between its parts. The call's task is then posted when the message has
 * been sent. Called when the handler has returned or the call has ended
 * (rpc/server/server_handler.c); without a stream false. */
bool vc__stream_server_waits(struct vc_call *call);

/* lost: the link was lost; called by vc__server_session_unbind() for a call
 * that runs. cancelled: the client has cancelled the call, which has a stream;
 * called by vc__call_cancel(). Both end the stream; the handler notices by
 * that. */
void vc__stream_server_lost(struct vc_call *call);
void vc__stream_server_cancelled(struct vc_call *call);

#endif
