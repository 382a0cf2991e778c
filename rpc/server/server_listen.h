/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Closing the listeners of a server, and their requests. The holder of engine 0
 * only.
 *
 * Called by: server_close.c (server_deafen), server_listen.c
 * (server_on_request). */
#ifndef VC_RPC_SERVER_LISTEN_H
#define VC_RPC_SERVER_LISTEN_H

#include "rpc/server/listening.h"

/* Closes all listeners of the server. Called when a close begins. */
void vc__server_deafen(struct vc_server *server);

/* --- server.c: callbacks of the listeners --------------------------------- */

/* A client asks to connect: rejects it, or passes it to the engine of its
 * part. */
void vc__server_on_request(struct vc__listener *l,
                           const struct vc__incoming *in,
                           const struct vc__hello *hello);

#endif
