/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The deadline of a call at the server. It is taken from the header of the
 * CALL frame when that comes, and decides whether the handler begins. The
 * handler can ask for it (vc_call_deadline_us()). It also ends a long reply
 * that waits to be sent. The holder of the engine, except what handlers use.
 *
 * Called by: server_arrival.c (server_due), server_session.c (server_due),
 * server_reply.c (watch), server_call.c (unwatch). */
#ifndef VC_RPC_SERVER_DEADLINE_H
#define VC_RPC_SERVER_DEADLINE_H

#include "rpc/server/server_call.h"

/* The text for a call that is refused because its deadline has passed. */
#define VC__SERVER_LATE "the deadline passed before the handler could run"

/* Returns the deadline, by vc__now(), from the microseconds left in a CALL;
 * VC__FOREVER: it has none. With a deadline, also stores the present time in
 * the part's overload.clock. If it is far away, both may be up to
 * vc__rough_us() too early. Called when the first frame of a CALL has come, by
 * call_first() (rpc/server/server_session.c), and by vc__server_arrival_begin()
 * if it comes in parts. */
uint64_t vc__server_due(struct vc__server_part *part, uint32_t deadline);

/* Starts a timer for the call's deadline, if it has one. A long reply may have
 * to wait for credits of a client that stands still. If none of it has been
 * sent by the deadline, a short error takes its place. Without memory for a
 * timer it is kept. Called by reply_pack(), which has just made the long
 * reply. */
void vc__server_deadline_watch(struct vc_call *call);
/* Stops the timer, if it runs. Called by vc__call_long_drop(), which frees the
 * long reply. */
void vc__server_deadline_unwatch(struct vc_call *call);

#endif
