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

/* Closes all listeners of the server. Called when a close begins, by
 * close_prepare() (rpc/server/server_close.c). */
void vc__server_deafen(struct vc_server *server);

/* --- server.c: callbacks of the listeners --------------------------------- */

/* The callback for vc__listener.request, called by cm/link/listener.c: a client
 * asks to connect, with a good hello. Rejects it, or passes it to the engine of
 * its part, which accepts or rejects it. */
void vc__server_on_request(struct vc__listener *l,
                           const struct vc__incoming *in,
                           const struct vc__hello *hello);

#endif
