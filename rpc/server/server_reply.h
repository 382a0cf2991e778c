/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Answers a call on the server. The holder of the engine only, except
 * vc__reply_measure().
 *
 * Called by: server_handler.c (reply_result, reply_refuse), server_intercept.c
 * (reply_measure), server_reply.c (reply_measure), server_begin.c
 * (reply_refuse), server_thread.c (reply_refuse), server_session.c
 * (reply_forget, call_send). */
#ifndef VC_RPC_SERVER_REPLY_H
#define VC_RPC_SERVER_REPLY_H

#include "rpc/server/server_call.h"

/* Answers with this status, with which the call has ended; if it is VC_OK with
 * the reply that the handler filled in, or with an error if that cannot be
 * packed or sent. Called by call_end() (rpc/server/server_handler.c); the call
 * no longer runs then, and may be freed. */
void vc__reply_result(struct vc_call *call, enum vc_status status);

/* Measures the reply. VC_OK: call->packing is valid. VC_INTERNAL, and the call
 * has a text, if it cannot be packed. Called by vc__reply_result(); before that
 * also by vc__server_intercept_end(), on the thread of that. */
enum vc_status vc__reply_measure(struct vc_call *call);

/* Answers a call whose handler has not run and will not run, with this status
 * and text. Called for a request that is refused (rpc/server/server_begin.c),
 * and for a call that is turned down when or before its turn comes
 * (rpc/server/server_handler.c, rpc/server/server_thread.c). */
void vc__reply_refuse(struct vc_call *call, enum vc_status status,
                      const char *text);

/* Frees a long reply of which nothing has been sent, and puts an error in its
 * place. Called by reply_shorten() (rpc/server/server_session.c), when the
 * client has cancelled the call or its deadline has passed. */
void vc__reply_forget(struct vc_call *call);

/* Returns the call's reply as the link sends it. Called by
 * rpc/server/server_session.c, which gives it to the link and takes it back. */
struct vc__send *vc__call_send(struct vc_call *call);

#endif
