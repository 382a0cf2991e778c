/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls that come to a server as datagrams of a multicast group. They have no
 * client, so one peer and one session for each service stand for all
 * publishers; their replies are dropped. Otherwise a call is like any other:
 * limits, overload protection, interceptors and handlers are the same. The
 * holder of engine 0 only.
 *
 * Called by: server_listen.c (all). */
#ifndef VC_RPC_SERVER_MULTICAST_H
#define VC_RPC_SERVER_MULTICAST_H

#include "rpc/server/listening.h"

/* The callback for vc__listener.datagram, called by cm/link/listener.c: checks
 * a datagram, counts it, and begins its call. */
void vc__multicast_take(struct vc__listener *l, const uint8_t *data,
                        uint32_t len);

/* Forgets all publishers, and calls that wait for their turn. Running calls go
 * on. NULL is fine. Called by server_listen_deafen() when the listener is
 * closed. */
void vc__multicast_member_free(struct vc__multicast_member *m);

#endif
