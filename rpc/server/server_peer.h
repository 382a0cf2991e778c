/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A client as a server knows it: the links of one of its pools, and the
 * sessions that share them. Its pool token names it. It outlives its links for
 * a while, so that a client that lost them all can resume its sessions. The
 * holder of the engine only. */
#ifndef VC_RPC_SERVER_PEER_H
#define VC_RPC_SERVER_PEER_H

#include "rpc/server/server.h"

struct vc__opened;
struct vc__server_session;

/* Where a session is, by its number. What was bound by an older binding is
 * known by that, also when the session is closed: (doc/wire.md 4.2) */
struct vc__server_seat {
    struct vc__server_session *session; /* NULL: none is open */
    uint32_t binding;                   /* of the last OPEN or CLOSE */
};

struct vc__server_peer {
    struct vc__server_part *part;
    struct cds_list_head node;   /* in part->peers, by token */
    struct cds_list_head lonely; /* in part->lonely while it has no link */
    uint8_t instance[VC__ID_SIZE];
    uint64_t token;
    size_t message_max;            /* that it takes */
    uint32_t features;             /* of all its links: VC__FEATURE_* */
    struct cds_list_head spare;    /* sessions to use again */
    struct vc__server_slab *slabs; /* what they are made of */
    struct vc__opened *opened;     /* for the last session that was opened */
    struct vc__server_seat *seats; /* by number - 1 */
    uint32_t n_seats;
    uint32_t n_sessions; /* open */
    unsigned n_links;
    unsigned n_calls; /* that run: they hold the peer */
    unsigned n_held; /* whose memory is not free yet: their replies are on their
                      * way, or kept */
    unsigned waiting;               /* of them wait to begin */
    struct cds_list_head queue;     /* those that others are in front of */
    struct cds_list_head *critical; /* the last critical one there, or &queue */
    struct cds_list_head turn;      /* in part->turns while there are some */
    struct vc__share *share;        /* of the runtime's threads */
    atomic_uint adapting;           /* handlers: rpc/server/server_adapt.h */
    struct vc__account account;     /* of the server's memory */
    bool forgotten;                 /* freed with the last call */
    struct vc__timer forget;
};

/* The peer that this hello speaks of; NULL when there is none. */
struct vc__server_peer *vc__server_peer_find(struct vc__server_part *part,
                                             const struct vc__hello *hello);

/* Has a link by this hello the features of the peer's other links? */
bool vc__server_peer_agrees(const struct vc__server_peer *peer,
                            const struct vc__hello *hello);

/* A new one, without links; NULL without memory. */
struct vc__server_peer *vc__server_peer_new(struct vc__server_part *part,
                                            const struct vc__hello *hello);

/* The engine that a token speaks of. */
unsigned vc__server_peer_part(uint64_t token, unsigned n_parts);

/* A link of it came or went. With the last the time begins after which it is
 * forgotten. */
void vc__server_peer_join(struct vc__server_peer *peer);
void vc__server_peer_leave(struct vc__server_peer *peer);

/* Forgets one that has neither links nor sessions. */
void vc__server_peer_unless_used(struct vc__server_peer *peer);

/* A call that held it is over. */
void vc__server_peer_release(struct vc__server_peer *peer);

/* Bytes of the longest message that it takes with so many of metadata. */
size_t vc__server_peer_message_max(const struct vc__server_peer *peer,
                                   size_t metadata_len);

/* May the client have a session of this number? */
bool vc__server_peer_may_have(const struct vc__server_peer *peer,
                              uint32_t number);

/* The seat of this number; NULL when it is out of range or memory is. */
struct vc__server_seat *vc__server_peer_seat(struct vc__server_peer *peer,
                                             uint32_t number);

/* Forgets those that have no link. */
void vc__server_peers_forget(struct vc__server_part *part);

#endif
