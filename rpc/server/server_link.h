/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A link on the server: accepted for a client, new or known, whose sessions
 * are bound to it. The holder of the engine only. */
#ifndef VC_RPC_SERVER_LINK_H
#define VC_RPC_SERVER_LINK_H

#include "cm/link/link.h"
#include "rpc/server/server_peer.h"

/* Behind the reason of a reject. */
#define VC__SERVER_NO_SERVICE                                                  \
    "see the service's full name, and that it was added"

/* Its wire is behind it. */
struct vc__server_link {
    struct vc__link link;
    struct vc__server_part *part;
    struct vc__server_peer *peer;
    struct cds_list_head node;     /* in part->links */
    struct cds_list_head sessions; /* bound to it */
    bool trusted;                  /* the first packet was good */
    bool told;                     /* to go away */
};

/* What becomes a link: a request, and what its hello said. */
struct vc__offer {
    struct vc__task task;
    struct vc__server_part *part;
    struct vc__incoming in;
    struct vc__hello hello;
};

/* A frame of its client breaks this rule. False. */
static inline bool
vc__server_breach(struct vc__server_link *sl, const char *rule)
{
    return vc__link_breach(&sl->link, rule);
}

/* drain.c: sends GOAWAY. False without memory. */
bool vc__server_link_goaway(struct vc__server_link *sl);

/* Accepts it, or rejects it with a reason; frees the offer. */
void vc__server_link_accept(struct vc__offer *offer);

#endif
