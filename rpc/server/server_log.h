/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Log lines about a server, which begin with its name and port: "server kv at
 * port 7471". Any thread, without the server's lock.
 *
 * Called by: many files (server_log). */
#ifndef VC_RPC_SERVER_LOG_H
#define VC_RPC_SERVER_LOG_H

#include "rpc/server/server.h"
#include "transport/core/log.h"

/* Logs the server's name and port, and the formatted text, if the runtime's log
 * wants this kind. Takes the server's lock for the port. Called for listeners,
 * drains, closes and shedding of the server, when it cannot accept a client,
 * and when vc_server_free() waits for a call. */
void vc__server_log(struct vc_server *server, enum vc__log_kind kind,
                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
