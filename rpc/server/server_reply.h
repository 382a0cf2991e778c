/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The answer to a call on the server. The holder of the engine only. */
#ifndef VC_RPC_SERVER_REPLY_H
#define VC_RPC_SERVER_REPLY_H

#include "rpc/server/server_call.h"

/* Answers with what the handler has returned and put into the reply. */
void vc__reply_result(struct vc_call *call, enum vc_status status);

/* Can the reply be packed? VC_INTERNAL with a text when not. Also for the
 * handler's thread. */
enum vc_status vc__reply_measure(struct vc_call *call);

/* Answers a call that has not run and will not. */
void vc__reply_refuse(struct vc_call *call, enum vc_status status,
                      const char *text);

/* Gives a long reply back, of which nothing has gone: an error is the answer
 * from now on. */
void vc__reply_forget(struct vc_call *call);

/* Its reply, on its way to the client. */
struct vc__send *vc__call_send(struct vc_call *call);

#endif
