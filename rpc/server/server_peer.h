/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A client as a server knows it: the links of one of its pools, and the
 * sessions that share them. The pool token identifies it. A peer outlives its
 * links for a while, so that a client that lost all of them can resume its
 * sessions. Called by rpc/server/server_link.c when a link is accepted or gone,
 * and by the files of sessions when a frame has come, unless said otherwise.
 * The holder of the engine only, except vc__server_peer_part(), which any
 * thread may call.
 *
 * Called by: server_link.c (find, agrees, new, join, leave, unless_used),
 * server_multicast.c (new, join, leave), server.c (part), server_session.c
 * (release), server_session_open.c (release, may_have, seat), server_reply.c
 * (message_max), stream_server.c (message_max), server_peer.c (may_have),
 * server_close.c (server_peers_forget). */
#ifndef VC_RPC_SERVER_PEER_H
#define VC_RPC_SERVER_PEER_H

#include "rpc/server/server.h"

struct vc__opened;
struct vc__server_session;

/* The place of a session, by its number. The binding also shows that an OPEN or
 * CLOSE is older, even after the session was closed (doc/wire.md 4.2). */
struct vc__server_seat {
    struct vc__server_session *session; /* NULL: none is open */
    uint32_t binding;                   /* of the last OPEN or CLOSE */
};

struct vc__server_peer {
    struct vc__server_part *part;
    struct cds_list_head node;   /* in part->peers until `forgotten` */
    struct cds_list_head lonely; /* in part->lonely without links, until then */
    uint8_t instance[VC__ID_SIZE];
    uint64_t token;
    size_t message_max; /* bytes of the longest message it takes */
    uint32_t features;  /* VC__FEATURE_*, same for all links */
    /* Of its first hello. An OPEN of an older client has no fingerprint. */
    uint64_t service;
    uint32_t fingerprint;
    bool schema_logged;         /* another schema of this client was logged */
    struct cds_list_head spare; /* sessions for reuse */
    struct vc__server_slab *slabs; /* memory of its sessions */
    struct vc__opened *opened;     /* of the last OPEN */
    struct vc__server_seat *seats; /* by number - 1 */
    uint32_t n_seats;
    uint32_t n_sessions; /* open ones */
    unsigned n_links;
    unsigned n_calls; /* running calls: they hold the peer */
    unsigned n_held;  /* calls whose memory is in use, until their replies are
                       * acknowledged */
    unsigned waiting; /* calls that wait to begin */
    struct cds_list_head queue;     /* calls that wait for their turn */
    struct cds_list_head *critical; /* its last critical call, or &queue */
    struct cds_list_head turn;      /* in part->turns while queue has calls */
    struct vc__share *share;        /* of the runtime's threads */
    atomic_uint adapting;           /* see rpc/server/server_adapt.h */
    struct vc__account account;     /* of the server's memory */
    bool forgotten;                 /* true: freed with the last call */
    struct vc__timer forget;
};

/* Returns the peer that this hello names by its token and instance; NULL if
 * there is none. Called by peer_of() (rpc/server/server_link.c), as the next
 * two. */
struct vc__server_peer *vc__server_peer_find(struct vc__server_part *part,
                                             const struct vc__hello *hello);

/* True if a link with this hello has the same features as the peer's other
 * links; else it is rejected. Asked by peer_of(). */
bool vc__server_peer_agrees(const struct vc__server_peer *peer,
                            const struct vc__hello *hello);

/* Makes a peer without links, for a client that is not known; NULL without
 * memory or random numbers. Called by peer_of(). */
struct vc__server_peer *vc__server_peer_new(struct vc__server_part *part,
                                            const struct vc__hello *hello);

/* Returns the number of the engine that the token names. Pure; called on engine
 * 0 for each connect request with a token, by part_for()
 * (rpc/server/server.c). */
unsigned vc__server_peer_part(uint64_t token, unsigned n_parts);

/* join: server_link_new() (rpc/server/server_link.c) has made a link of the
 * peer; stops the timer. leave: a link is gone, in server_link_free(). After
 * the last one a timer is started, after which the peer is forgotten; without
 * sessions, while the part closes, or without memory for the timer it is
 * forgotten, and perhaps freed, at once. Also forgets another peer of the part,
 * the one that lost its last link first, if more than 1,024 have none. */
void vc__server_peer_join(struct vc__server_peer *peer);
void vc__server_peer_leave(struct vc__server_peer *peer);

/* Forgets a peer that has neither links nor sessions; else does nothing. Called
 * by accept_try() (rpc/server/server_link.c) when no link could be made. */
void vc__server_peer_unless_used(struct vc__server_peer *peer);

/* A call that held the peer has ended, or the function that held it while it
 * handled a complete request is done: the last one frees a peer that is
 * forgotten. Called by call_over() and arrival_done()
 * (rpc/server/server_session.c). */
void vc__server_peer_release(struct vc__server_peer *peer);

/* Returns the bytes of the longest message that the client takes beside
 * metadata of this length. Called by reply_check() (rpc/server/server_reply.c)
 * for a reply that is about to be sent, and by vc__stream_server_open(). */
size_t vc__server_peer_message_max(const struct vc__server_peer *peer,
                                   size_t metadata_len);

/* True if the client may have a session of this number: it is in the server's
 * range (max_sessions). Asked for an OPEN, and by vc__server_peer_seat(). */
bool vc__server_peer_may_have(const struct vc__server_peer *peer,
                              uint32_t number);

/* Returns the seat of this number, for an OPEN (vc__server_session_open()) or a
 * CLOSE (vc__server_session_leave()); NULL if the number is out of range, or
 * without memory. Valid until the next call. */
struct vc__server_seat *vc__server_peer_seat(struct vc__server_peer *peer,
                                             uint32_t number);

/* Forgets all peers without links. Called by close_begin()
 * (rpc/server/server_close.c) when a close begins on this part. */
void vc__server_peers_forget(struct vc__server_part *part);

#endif
