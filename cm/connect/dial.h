/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The plan for connecting to one target: which way is tried when, and what
 * happens after a failure. A way is an address and the transport used to reach
 * it.
 *
 * - The first way that connects wins.
 * - The next way is also tried if the previous one has not answered for the
 *   head start, or for a quarter of the time left. If the previous one failed,
 *   the next is tried at once (a simplified RFC 8305, sections 5 and 8).
 * - Rejected for a stale QP number: the same address is retried, four times.
 * - Rejected as "busy" or "draining" with a retry time: the way is retried
 *   after that time plus up to half of it, if that is before `due`. Other
 *   addresses are tried meanwhile.
 * - Rejected for "limit" with a counter-offer that the client can meet: the way
 *   is retried with it, once.
 * - Rejected as "moved": the given addresses are tried next, in a random order
 *   by their weights, by each of opts->carriers. Without carriers only the
 *   transport that carried the reject is used. Three moves at most in all.
 * - Rejected by the server with a status other than UNAVAILABLE: everything
 *   ends, as no other address would do better.
 *
 * Pure: the caller passes the clock (microseconds) and the random seed. The
 * owner calls vc__dial_next() until it returns something other than TRY. The
 * owner calls it again after each vc__dial_failed(), and at the time that WAIT
 * gave. The owner, cm/pool/dial_run.c, runs on the holder of the engine.
 *
 * Called by: cm/pool/dial_run.c (all). */
#ifndef VC_CM_DIAL_H
#define VC_CM_DIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/connect/hello.h"
#include "cm/connect/target.h"
#include "transport/core/error.h"

/* The head start: RFC 8305 calls it the connection attempt delay, and has these
 * values. */
#define VC__DIAL_HEAD_START_MS     250u
#define VC__DIAL_HEAD_START_MS_MIN 100u
#define VC__DIAL_HEAD_START_MS_MAX 2000u
#define VC__DIAL_STALE_MAX         4u
#define VC__DIAL_MOVES_MAX         3u
/* Transports by which one address may be reached: RDMA and TCP. */
#define VC__DIAL_CARRIERS 2u
#define VC__DIAL_TOLD_MAX (VC__TARGET_ADDRS + 1u)
#define VC__DIAL_WAYS_MAX                                                      \
    (VC__DIAL_CARRIERS *                                                       \
     (VC__DIAL_TOLD_MAX + VC__DIAL_MOVES_MAX * VC__REJECT_ADDRS))

/* What our hello offers; a server may accept less. */
struct vc__dial_offer {
    uint32_t features;
    uint16_t credits;
    uint8_t log2_eager;
    uint8_t log2_message;
};

enum vc__dial_state {
    VC__DIAL_FRESH,
    VC__DIAL_UNDER_WAY,
    VC__DIAL_LATER, /* retried at `at` */
    VC__DIAL_OVER,
};

/* Where a way leads: an address, and the transport used to reach it. */
struct vc__place {
    const struct vc__transport *transport;
    struct sockaddr_storage addr;
};

/* A way and its state. */
struct vc__dial_way {
    struct vc__place to;
    struct vc__dial_offer offer;
    enum vc__dial_state state;
    uint64_t at;
    unsigned move; /* number of the move that added it; 0: none */
    unsigned stale, busy;
    bool met; /* true once a counter-offer was met */
};

struct vc__dial {
    uint64_t due;
    uint64_t seed;
    uint64_t head_start_us;
    uint64_t fresh_at; /* when the next fresh way is tried */
    sa_family_t family;
    const struct vc__transport *carriers[VC__DIAL_CARRIERS];
    unsigned n_carriers;
    bool decided;
    unsigned n_ways, n_moves;
    struct vc__dial_way ways[VC__DIAL_WAYS_MAX];
    int reason_rank;        /* rank of `error` (REASON_*, dial.c) */
    struct vc__error error; /* the most informative error so far */
};

struct vc__dial_opts {
    const struct vc__place *places; /* best first, at most */
    unsigned n_places;              /* VC__DIAL_CARRIERS * VC__DIAL_TOLD_MAX */
    /* The transports to use for addresses of a move. If there are none, the
     * transport that carried the reject is used. */
    const struct vc__transport *const *carriers;
    unsigned n_carriers;
    uint64_t due;                /* no try begins at this time or later */
    uint64_t seed;               /* of the random choices */
    uint32_t head_start_ms;      /* of each way before the next one */
    sa_family_t family;          /* AF_UNSPEC: any; else only these */
    struct vc__dial_offer offer; /* the most that we can do */
};

/* What the owner must do now. */
enum vc__dial_what {
    VC__DIAL_TRY,     /* connect to step->way's place with its offer */
    VC__DIAL_WAIT,    /* call vc__dial_next() again at step->at */
    VC__DIAL_NOTHING, /* tries are in progress; wait for one to end */
    VC__DIAL_FAIL,    /* connecting has failed: see dial->error */
};

struct vc__dial_step {
    unsigned which; /* for vc__dial_failed() */
    const struct vc__dial_way *way;
    uint64_t at;
};

struct vc__dial_failure {
    const struct vc__error *error;
    const struct vc__reject *reject; /* Verbcall's reject; NULL if none came */
    bool stale; /* true if rejected for a stale QP number */
    bool heard; /* true if the host answered: it is reachable */
};

/* Makes a new plan: one way to each place, but none to an address of another
 * family than opts->family. Called by vc__dial_run_start(). */
void vc__dial_begin(struct vc__dial *d, const struct vc__dial_opts *opts);

/* Returns what to do next. TRY sets step->which and step->way, and the way's
 * state to VC__DIAL_UNDER_WAY; WAIT sets step->at. Called by begin_all() of the
 * dial run, at the start, after a failure, and when its timer fires. */
enum vc__dial_what vc__dial_next(struct vc__dial *d, uint64_t now,
                                 struct vc__dial_step *step);

/* Records that the try of ways[which] has failed, and decides whether the way
 * is retried. Called by dial_run_missed(), when a link could not be made or is
 * down. */
void vc__dial_failed(struct vc__dial *d, unsigned which, uint64_t now,
                     const struct vc__dial_failure *f);

#endif
