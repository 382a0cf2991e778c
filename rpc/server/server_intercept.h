/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs a server's calls through its interceptors. On the handler's thread,
 * which need not be the holder of the engine. vc__server_intercept_end() also
 * runs on the other threads that its comment names.
 *
 * Called by: server_handler.c (all), server_intercept.c (end), stream_server.c
 * (end). */
#ifndef VC_RPC_SERVER_INTERCEPT_H
#define VC_RPC_SERVER_INTERCEPT_H

#include "rpc/interceptor.h"
#include "rpc/server/server_call.h"

/* Runs the method with the server's interceptors around it; returns the status
 * of the call, or VC__LATER if it ends later. Called by server_handler_run()
 * (rpc/server/server_handler.c) if the server has interceptors. Without memory,
 * or if an interceptor refuses the call, the handler does not run. */
__attribute__((noinline)) enum vc_status
vc__server_intercept_run(struct vc_call *call,
                         const struct vc__service_entry *entry);

/* The call has ended with `status`: runs the interceptors' finish, before the
 * reply is sent. Called by vc__server_intercept_run() and handler_returned() on
 * the handler's thread; if the call ends later, by vc_call_end() on its thread,
 * or by server_ended() on that of the stream's last callback, after it. Returns
 * the status of the call: `status`; VC_UNKNOWN if that is no status; or
 * VC_INTERNAL, with a text, if the reply cannot be packed. Does nothing, and
 * returns `status`, without interceptors or if it has run. */
enum vc_status vc__server_intercept_end(struct vc_call *call,
                                        enum vc_status status);

#endif
