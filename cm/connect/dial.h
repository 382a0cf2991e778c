/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The plan of connecting to one target: which way is tried when, and what a
 * failure leads to. A way is an address and the transport that leads there.
 *
 * - The first way that connects wins. The next one is tried as well when
 *   the former has not answered for 250 ms, or a quarter of the time that is
 *   left, and at once when it has failed (RFC 8305, sections 5 and 8, in small).
 * - A refusal for a stale QP number: the same address again, four times.
 * - "busy" and "draining" with a time: again after it and up to half as long
 *   again, if that is before `due`; other addresses meanwhile.
 * - "limit" with a counter-offer that we can meet: again with it, once.
 * - "moved": its addresses next, in an order drawn by their weights, by the
 *   transport that told them, or, if they are of no host's own, by each that
 *   the target may be reached by; three times in all.
 * - A server's refusal that no other address would better (its status is not
 *   UNAVAILABLE) ends everything.
 *
 * Pure: the clock (microseconds) and chance come from the caller. The owner
 * does what vc__dial_next() says until it says something else than TRY, and
 * calls it again after each vc__dial_failed() and when the time has come. */
#ifndef VC_CM_DIAL_H
#define VC_CM_DIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/connect/hello.h"
#include "cm/connect/target.h"
#include "transport/core/error.h"

#define VC__DIAL_HEAD_START_US UINT64_C(250000)
#define VC__DIAL_STALE_MAX     4u
#define VC__DIAL_MOVES_MAX     3u
/* Transports that one address may be reached by: RDMA and TCP. */
#define VC__DIAL_CARRIERS 2u
#define VC__DIAL_TOLD_MAX (VC__TARGET_ADDRS + 1u)
#define VC__DIAL_WAYS_MAX                                                      \
    (VC__DIAL_CARRIERS *                                                       \
     (VC__DIAL_TOLD_MAX + VC__DIAL_MOVES_MAX * VC__REJECT_ADDRS))

/* What our hello offers; a server may want less. */
struct vc__dial_offer {
    uint32_t features;
    uint16_t credits;
    uint8_t log2_eager;
    uint8_t log2_message;
};

enum vc__dial_state {
    VC__DIAL_FRESH,
    VC__DIAL_UNDER_WAY,
    VC__DIAL_LATER, /* again at `at` */
    VC__DIAL_OVER,
};

/* Where a way leads. */
struct vc__place {
    const struct vc__transport *transport;
    struct sockaddr_storage addr;
};

/* A way and what became of it. */
struct vc__dial_way {
    struct vc__place to;
    struct vc__dial_offer offer;
    enum vc__dial_state state;
    uint64_t at;
    unsigned move; /* that led here; 0 none */
    unsigned stale, busy;
    bool met; /* a counter-offer */
};

struct vc__dial {
    uint64_t due;
    uint64_t seed;
    uint64_t fresh_at; /* when the next fresh address is tried */
    sa_family_t family;
    const struct vc__transport *carriers[VC__DIAL_CARRIERS];
    unsigned n_carriers;
    bool decided;
    unsigned n_ways, n_moves;
    struct vc__dial_way ways[VC__DIAL_WAYS_MAX];
    int told;               /* how telling `error` is */
    struct vc__error error; /* the most telling one so far */
};

struct vc__dial_opts {
    const struct vc__place *places; /* in the order of our preference, */
    unsigned n_places;              /* VC__DIAL_CARRIERS * VC__DIAL_TOLD_MAX */
    /* What leads to the addresses of a move, if not what told them only. */
    const struct vc__transport *const *carriers;
    unsigned n_carriers;
    uint64_t due;                /* no try begins at it or later */
    uint64_t seed;               /* of chance */
    sa_family_t family;          /* AF_UNSPEC: any; others are left out */
    struct vc__dial_offer offer; /* the most that we can */
};

/* What the owner is to do now. */
enum vc__dial_what {
    VC__DIAL_TRY,     /* connect to step->way's place with its offer */
    VC__DIAL_WAIT,    /* ask again at step->at */
    VC__DIAL_NOTHING, /* tries are under way, and end by themselves */
    VC__DIAL_FAIL,    /* all is over: dial->error */
};

struct vc__dial_step {
    unsigned which; /* for vc__dial_failed() */
    const struct vc__dial_way *way;
    uint64_t at;
};

struct vc__dial_failure {
    const struct vc__error *error;
    const struct vc__reject *reject; /* of Verbcall; NULL if there was none */
    bool stale;                      /* refused for its QP number */
    bool heard;                      /* the host refused: it is there */
};

void vc__dial_begin(struct vc__dial *d, const struct vc__dial_opts *opts);

/* TRY takes the address as under way. */
enum vc__dial_what vc__dial_next(struct vc__dial *d, uint64_t now,
                                 struct vc__dial_step *step);

void vc__dial_failed(struct vc__dial *d, unsigned which, uint64_t now,
                     const struct vc__dial_failure *f);

#endif
