/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A link on the server: accepted for a new or a known client, whose sessions
 * are bound to it. The holder of the engine only.
 *
 * Called by: server_call.c (origin_get, origin_put), server_link.c (origin_put,
 * server_breach, goaway), server_multicast.c (origin_put), server_arrival.c
 * (server_breach), server_session.c (server_breach), server_session_open.c
 * (server_breach), stream_server.c (server_breach), drain.c (goaway), server.c
 * (accept). */
#ifndef VC_RPC_SERVER_LINK_H
#define VC_RPC_SERVER_LINK_H

#include <stdlib.h>

#include "cm/link/link.h"
#include "rpc/server/server_peer.h"

/* Follows the reason in a reject. */
#define VC__SERVER_NO_SERVICE                                                  \
    "see the service's full name, and that it was added"

/* Where the calls of a link come from, as text. It outlives the link if calls
 * that came by the link have not ended. refs is the holder's. */
#define VC__ORIGIN_TEXT (VC__ADDR_TEXT + 16)
struct vc__origin {
    unsigned refs;
    char text[VC__ORIGIN_TEXT];
};

/* Takes a reference for a new call, in vc__call_take(); returns origin. */
static inline struct vc__origin *
vc__origin_get(struct vc__origin *origin)
{
    origin->refs++;
    return origin;
}

/* Drops a reference; the last one frees the origin. Called by
 * vc__call_release() for a call, and by server_link_free() for a link. */
static inline void
vc__origin_put(struct vc__origin *origin)
{
    if (--origin->refs == 0)
        free(origin);
}

/* A link of the server; its wire follows it in memory. */
struct vc__server_link {
    struct vc__link link;
    struct vc__server_part *part;
    struct vc__server_peer *peer;
    struct vc__origin *origin;     /* holds a reference */
    struct cds_list_head node;     /* in part->links */
    struct cds_list_head sessions; /* bound to this link */
    bool trusted;                  /* a first frame, or a PING, was valid */
    bool goaway_sent;
    /* True for the calls of a multicast group (rpc/server/server_multicast.h):
     * then only part, peer and origin are used, and there is no wire. */
    bool is_group;
};

/* A connection request and its hello, which may become a link. */
struct vc__offer {
    struct vc__task task;
    struct vc__server_part *part;
    struct vc__incoming in;
    struct vc__hello hello;
    char text[VC__REJECT_TEXT_MAX + 1]; /* of a reject that has numbers */
    uint32_t counter; /* features that a reject offers; 0: none */
};

/* A frame of the client breaks this rule of the protocol: notes the rule for
 * the link's error. Returns false; the link ends when server_link_on_frame()
 * returns that. Called where frames are handled: by rpc/server/server_link.c,
 * and the files of sessions, streams and arrivals. */
static inline bool
vc__server_breach(struct vc__server_link *sl, const char *rule)
{
    return vc__link_breach(&sl->link, rule);
}

/* In drain.c: sends GOAWAY. False without memory. Called by drain_begin() for
 * each link that is up and has had none, and by on_trusted()
 * (rpc/server/server_link.c) for a link whose first frame has come while the
 * server drains. */
bool vc__server_link_goaway(struct vc__server_link *sl);

/* Accepts the offered link, or rejects it with a reason; frees the offer.
 * Called by offer_accept() (rpc/server/server.c), within or after
 * vc__server_on_request(), on the holder of the engine of the offer's part. */
void vc__server_link_accept(struct vc__offer *offer);

#endif
