/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server as a client knows it: its links that are up, and the sessions that
 * share them, by number. The pool token in the first link's accept names it.
 * All functions are called under the pool's lock, except vc__peer_push(). When
 * the pool is closed, the holder frees former peers without the lock, as no
 * other thread uses the pool then. Functions that make or free a peer, or
 * change its links, are for the holder of the engine; the others for any
 * thread.
 *
 * Called by: pool_link.c (new, is, join, leave, is_busy, push), pool.c (free,
 * is_busy, push), peer.c (place), upgrade.c (place), pool_connect.c (is_busy),
 * pool_home.c (is_busy), session.c (seat, unseat, reseat, binding). */
#ifndef VC_CM_PEER_H
#define VC_CM_PEER_H

#include "cm/pool/dial_run.h"
#include "cm/pool/session.h"

struct vc__pool;

/* Calls in progress on a link from which on another link is made. */
#define VC__LINK_BUSY 16u

/* A link of a pool, followed in memory by its wire. While it is connecting,
 * `peer` is NULL. */
struct vc__pool_link {
    struct vc__link link;
    struct vc__try try;
    struct vc__pool *pool;
    struct vc__peer *peer;
    struct cds_list_head node;     /* in peer->links */
    struct cds_list_head sessions; /* of sessions bound to it */
    unsigned n_busy;               /* calls in progress */
    uint32_t n_calls, seen_calls;  /* calls ever, and at the last look */
    unsigned idle_looks;           /* looks since it fell idle */
    unsigned jitter;               /* further looks before it is closed */
    bool useful;                   /* true once a reply came */
    bool leaving;                  /* no call begins on it: to be closed */
    bool scout;                    /* true if it may carry no calls */
};

struct vc__peer {
    struct vc__pool *pool;
    struct cds_list_head node;  /* in pool->former */
    struct cds_list_head links; /* of struct vc__pool_link that are up */
    struct cds_list_head loose; /* sessions without a link */
    unsigned n_links;
    bool breaking; /* true while all its links are being closed */
    bool moved;    /* not of the target: that has sent the client there */
    uint8_t instance[VC__ID_SIZE];
    uint64_t token;
    struct vc__place place;       /* of its best link */
    struct sockaddr_storage home; /* address of its first link */
    bool has_local;
    struct vc__local local; /* has_local: its socket for clients of its host */
    uint32_t max_sessions;
    uint16_t max_slots;
    struct vc__session **seats; /* indexed by number - 1 */
    uint32_t n_seats, n_sessions;
    uint32_t free_seat; /* no free seat is below it */
    uint32_t bindings;  /* bindings ever made */
};

/* Makes the peer that this link leads to. The pool has it, until
 * vc__peer_free(). NULL if out of memory. Called by peer_for(), when a link
 * comes up that leads to no present peer. Holder. */
struct vc__peer *vc__peer_new(struct vc__pool *pool,
                              const struct vc__link *link);
/* Frees a peer without links, and its sessions, whose requests have been taken
 * out. Called by vc__pool_peer_drop() only. Holder. */
void vc__peer_free(struct vc__peer *peer);

/* True if this link leads to this peer: the accept has the same instance and
 * pool token. Called by peer_for(), when the link comes up. Holder. */
bool vc__peer_is(const struct vc__peer *peer, const struct vc__link *link);

/* Further links of the peer are to be made to the same place as this one, which
 * is up. Also keeps the socket that its accept names. Called for its first
 * link, and then for the best one. Holder. */
void vc__peer_place(struct vc__peer *peer, const struct vc__link *link);

/* A link of the peer is up: it is added to the peer, and sessions without a
 * link that have calls in progress, or close, continue on its least busy link
 * that takes calls, if there is one. Called by link_join(). Holder. */
void vc__peer_join(struct vc__peer *peer, struct vc__pool_link *pl);

/* A link of the peer is down: its sessions continue on other links, or wait.
 * Messages appended since it went down end as lost. Called by link_lost() and
 * link_closed(). Holder. */
void vc__peer_leave(struct vc__peer *peer, struct vc__pool_link *pl);

/* True if any session has calls in progress, on a link or without one. Called
 * by the holder. */
bool vc__peer_is_busy(const struct vc__peer *peer);

/* Pushes all links of the peer, after messages were appended to them. Called by
 * vc__pool_push(), and by link_lost() for a former peer. Holder, without the
 * lock. */
void vc__peer_push(struct vc__peer *peer);

/* --- for cm/pool/session.c ----------------------------------------------- */

/* Gives a new session its number. Returns false if there is none left (*full is
 * true), or out of memory. Called by vc__session_new(). */
bool vc__peer_seat(struct vc__peer *peer, struct vc__session *s, bool *full);
/* Frees the number of a session that ends. Called by vc__session_free(). */
void vc__peer_unseat(struct vc__peer *peer, struct vc__session *s);
/* Gives the seat of a number to what remains of the session that closes, or, if
 * NULL, blocks it for ever. Called by vc__session_close(). */
void vc__peer_reseat(struct vc__peer *peer, uint32_t number,
                     struct vc__session *s);

/* Returns the next binding, never 0. Called when a session is bound, or an OPEN
 * precedes its CLOSE. */
uint32_t vc__peer_binding(struct vc__peer *peer);

#endif
