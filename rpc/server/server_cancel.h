/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Cancellation of a running call: its client has cancelled it or is gone, or
 * its deadline has passed. The state for notifying the handler is allocated
 * when the handler asks to be notified.
 *
 * vc_call_is_cancelled() and vc_call_on_cancel() of verbcall/call.h: any
 * thread, together with everything else, while the call has not ended. The
 * functions of this header: the holder of the engine only.
 *
 * Called by: server_session.c (call_cancel), server_session_open.c
 * (call_cancel), server_handler.c (call_unwatch). */
#ifndef VC_RPC_SERVER_CANCEL_H
#define VC_RPC_SERVER_CANCEL_H

#include "rpc/server/server_call.h"

/* The client has cancelled the call, or its session is closed: notifies the
 * handler, if it asked for that and the deadline has not done so, cancels the
 * calls whose parent this one is (vc_call_opts.parent), and ends the call's
 * stream and its wait for a thread. A second time does nothing.
 * Called by call_cancel() for a CANCEL of a call that runs or waits to begin,
 * and by vc__server_session_give_up() for each such call. */
void vc__call_cancel(struct vc_call *call);

/* The call has ended: its handler is not notified any more. Called by
 * call_end() (rpc/server/server_handler.c) if the handler has asked to be
 * notified. */
void vc__call_unwatch(struct vc_call *call);

#endif
