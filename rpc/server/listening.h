/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One address at which a server listens, by one transport. The functions run on
 * the thread of vc_server_listen() at first, which may be any; then on the
 * holder of engine 0, which listens again (rpc/server/relisten.c).
 *
 * Called by: relisten.c (all), server_listen.c (all). */
#ifndef VC_RPC_LISTENING_H
#define VC_RPC_LISTENING_H

#include "cm/link/listener.h"
#include "rpc/server/server.h"

struct vc__multicast_member;

/* An address listened on, by one transport; or to be listened on again. The
 * server's, once it is in its list; engine 0 frees it. */
struct vc__listening {
    struct vc__listener listener;
    struct vc_server *server;
    const struct vc__transport *transport;
    struct vc__listening *next;   /* the server's lock */
    struct sockaddr_storage addr; /* with the actual port, once listed */
    bool listed;                  /* the server's lock: true when in the list */
    struct vc__multicast_member
        *member; /* engine 0: calls of a multicast group;
                                          * NULL: none came yet */

    /* See rpc/server/relisten.h. */
    bool lost;            /* the server's lock: true while it does not listen */
    struct vc__error why; /* the server's lock: the reason, while `lost` */
    uint32_t wait_ms;     /* engine 0, as most_ms: wait before this attempt */
    uint32_t most_ms;
    struct vc__timer again;
};

/* Adds l to the server's list; if its listener is open, also stores the port of
 * it in the server, unless the address is drawn. Takes the server's lock.
 * Called once for each l: by listening_add() within vc_server_listen(), when
 * the listener is open, or by later_run(), the task of vc__relisten_later(). */
void vc__listening_list(struct vc__listening *l);

/* Logs "listens at"; `again` is "" or "again ". The listener is open, and no
 * thread closes it meanwhile. Called by listening_add() and
 * vc__relisten_back(), when the listener was opened; without the server's
 * lock. */
void vc__listening_log(const struct vc__listening *l, const char *again);

#endif
