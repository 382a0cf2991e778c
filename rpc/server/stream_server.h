/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server's end of a stream. Everything belongs to the holder of the engine,
 * except functions that the handler calls (verbcall/stream.h). A task passes on
 * the frames that the handler sends; vc__stream_server_end() passes on what is
 * left. The functions of this header are called by other files of rpc/server,
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

/* Makes the call's stream, and sets call->stream. False without memory. Called
 * by vc__call_stream_open() (rpc/server/server_call.c). */
bool vc__stream_server_open(struct vc_call *call);

/* The call has ended, or its handler never ran: gives the frames that it sent
 * to the link, before the reply; no more will follow. Drops the call's
 * reference to the stream. Called by vc__call_stream_end()
 * (rpc/server/server_call.c). */
void vc__stream_server_end(struct vc_call *call);

/* Returns the status of a call that has ended with `status`: another one, with
 * its text, if the deadline or stream_stall_ms has ended the stream, or if the
 * call has failed and is past its deadline, but was not cancelled by its
 * client. Called by call_end() (rpc/server/server_handler.c). */
enum vc_status vc__stream_server_status(struct vc_call *call,
                                        enum vc_status status);

/* True if a long message of the call is still being sent: the reply may not
 * come between its parts. The call's task is then posted when the message was
 * sent or lost. False without a stream. Asked by handler_returned() and
 * server_handler_call_finish() (rpc/server/server_handler.c). */
bool vc__stream_server_waits(struct vc_call *call);

/* lost: the session leaves its link; called by vc__server_session_unbind() for
 * a call that runs and streams. cancelled: the client has cancelled the call,
 * which has a stream, or is gone; called by vc__call_cancel(). Both end the
 * stream; the handler notices by that. */
void vc__stream_server_lost(struct vc_call *call);
void vc__stream_server_cancelled(struct vc_call *call);

#endif
