/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server as a client knows it: its links that are up, and the sessions that
 * share them, by number. The pool token that the first link's accept gave
 * names it. All under the lock of the pool; its links belong to the holder. */
#ifndef VC_CM_PEER_H
#define VC_CM_PEER_H

#include "cm/pool/dial_run.h"
#include "cm/pool/session.h"

struct vc__pool;

/* Calls under way on a link above which another link may be worth it. */
#define VC__LINK_BUSY 16u

/* A link of a pool, with its wire behind it. Connecting it has no peer. */
struct vc__pool_link {
    struct vc__link link;
    struct vc__try try;
    struct vc__pool *pool;
    struct vc__peer *peer;
    struct cds_list_head node;     /* in peer->links */
    struct cds_list_head sessions; /* bound to it */
    unsigned n_busy;               /* calls under way */
    uint32_t n_calls, seen_calls;  /* ever, and when it was last looked at */
    unsigned idle_looks;           /* that found it idle since the first */
    unsigned jitter;               /* looks that it may be idle longer */
    bool useful;                   /* brought a reply */
    bool leaving;                  /* to be closed: no call begins on it */
    bool scout;                    /* leaving: it may carry no calls, but has
                                      shown where the peer is */
};

struct vc__peer {
    struct vc__pool *pool;
    struct cds_list_head node;  /* in pool->former */
    struct cds_list_head links; /* of struct vc__pool_link, up */
    struct cds_list_head loose; /* sessions without a link */
    unsigned n_links;
    bool breaking; /* all its links are being closed */
    uint8_t instance[VC__ID_SIZE];
    uint64_t token;
    struct vc__place place;       /* of its best link */
    struct sockaddr_storage home; /* of its first */
    bool has_local;
    struct vc__local local; /* has_local: where its host finds it */
    uint32_t max_sessions;
    uint16_t max_slots;
    struct vc__session **seats; /* by number - 1 */
    uint32_t n_seats, n_sessions;
    uint32_t free_seat; /* none below it is free */
    uint32_t bindings;  /* ever made */
};

/* The peer that this link leads to. NULL without memory. */
struct vc__peer *vc__peer_new(struct vc__pool *pool,
                              const struct vc__link *link);
/* Without links. Requests have been taken out. */
void vc__peer_free(struct vc__peer *peer);

/* Does this link lead to it? */
bool vc__peer_is(const struct vc__peer *peer, const struct vc__link *link);

/* Its further links are to be made as this one, which is up. */
void vc__peer_place(struct vc__peer *peer, const struct vc__link *link);

/* A link of it is up: sessions that have something under way go on there. */
void vc__peer_join(struct vc__peer *peer, struct vc__pool_link *pl);

/* A link of it is down: its sessions go on by others that are up, or wait. */
void vc__peer_leave(struct vc__peer *peer, struct vc__pool_link *pl);

/* Has any session something under way? */
bool vc__peer_is_busy(const struct vc__peer *peer);

/* Sends what was appended to its links. The holder. */
void vc__peer_push(struct vc__peer *peer);

/* --- for cm/pool/session.c --------------------------------------------------- */

/* Gives a session its number. False: *full, or no memory. */
bool vc__peer_seat(struct vc__peer *peer, struct vc__session *s, bool *full);
void vc__peer_unseat(struct vc__peer *peer, struct vc__session *s);
/* Gives its seat to another, or, when that is NULL, to nobody ever. */
void vc__peer_reseat(struct vc__peer *peer, uint32_t number,
                     struct vc__session *s);

/* The next binding, never 0. */
uint32_t vc__peer_binding(struct vc__peer *peer);

#endif
