/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server's calls through its interceptors. On the handler's thread, which
 * need not be the holder of the engine. */
#ifndef VC_RPC_SERVER_INTERCEPT_H
#define VC_RPC_SERVER_INTERCEPT_H

#include "rpc/interceptor.h"
#include "rpc/server/server_call.h"

/* The method with the server's interceptors around it; what the call ends
 * with. */
enum vc_status vc__server_intercept_run(struct vc_call *call,
                                        const struct vc__service_entry *entry);

/* The call is over: for a handler whose end comes later than its return, by
 * whoever ends it and before the reply is sent. What the call ends with. Does
 * nothing without interceptors. */
enum vc_status vc__server_intercept_end(struct vc_call *call,
                                        enum vc_status status);

#endif
