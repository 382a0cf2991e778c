/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The deadline of a call at the server: taken from its CALL's header when that
 * comes, it decides whether the handler begins, is what the handler is told
 * (vc_call_deadline_us()), and ends a long reply that waits to go. The holder
 * of the engine, but for what handlers use. */
#ifndef VC_RPC_SERVER_DEADLINE_H
#define VC_RPC_SERVER_DEADLINE_H

#include "rpc/server/server_call.h"

/* What a call is refused with whose time is over. */
#define VC__SERVER_LATE "the deadline passed before the handler could run"

/* When it is, by vc__now(), of a CALL's microseconds that are left. */
uint64_t vc__server_due(struct vc__server_part *part, uint32_t deadline);

/* A long reply may have to wait for credits of a client that stands still. If
 * none of it has gone by the deadline, it is not kept. Without memory for a
 * timer it is. */
void vc__server_deadline_watch(struct vc_call *call);
void vc__server_deadline_unwatch(struct vc_call *call);

#endif
