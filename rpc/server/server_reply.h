/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Answers a call on the server. The holder of the engine only.
 *
 * Called by: server_handler.c (reply_result, reply_refuse), server_intercept.c
 * (reply_measure), server_begin.c (reply_refuse), server_thread.c
 * (reply_refuse), server_session.c (reply_forget, call_send). */
#ifndef VC_RPC_SERVER_REPLY_H
#define VC_RPC_SERVER_REPLY_H

#include "rpc/server/server_call.h"

/* Answers with the status that the handler has returned, and the reply that it
 * filled in. */
void vc__reply_result(struct vc_call *call, enum vc_status status);

/* Measures the reply. VC_INTERNAL with a text if it cannot be packed. May also
 * run on the handler's thread. */
enum vc_status vc__reply_measure(struct vc_call *call);

/* Answers a call whose handler has not run and will not run. */
void vc__reply_refuse(struct vc_call *call, enum vc_status status,
                      const char *text);

/* Frees a long reply of which nothing has been sent, and puts an error in its
 * place. */
void vc__reply_forget(struct vc_call *call);

/* Returns the call's reply as the link sends it. */
struct vc__send *vc__call_send(struct vc_call *call);

#endif
