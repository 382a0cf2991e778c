/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs a server's calls through its interceptors. On the handler's thread,
 * which need not be the holder of the engine.
 *
 * Called by: server_handler.c (all), stream_server.c (end). */
#ifndef VC_RPC_SERVER_INTERCEPT_H
#define VC_RPC_SERVER_INTERCEPT_H

#include "rpc/interceptor.h"
#include "rpc/server/server_call.h"

/* Runs the method with the server's interceptors around it; returns the status
 * of the call. */
__attribute__((noinline)) enum vc_status
vc__server_intercept_run(struct vc_call *call,
                         const struct vc__service_entry *entry);

/* The call has ended; called before its reply is sent. If the handler's call
 * ends after its return, the thread that ends it calls this. Returns the status
 * of the call. Does nothing without interceptors. */
enum vc_status vc__server_intercept_end(struct vc_call *call,
                                        enum vc_status status);

#endif
