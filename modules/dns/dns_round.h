/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A round of questions: all that a target asks, once. First the SRV records of
 * its names that have some, then the addresses of all hosts, so many at a time.
 * A question that fails has the answer of the round before, if it had one; one
 * whose name does not exist any more has none. On the holder; but dns_close()
 * frees the rounds on its thread, where callbacks of questions that were under
 * way run before.
 *
 * Called by: dns.c (all). */
#ifndef VC_DNS_ROUND_H
#define VC_DNS_ROUND_H

#include <ares.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "modules/dns/dns_answer.h"
#include "modules/dns/dns_srv.h"
#include "modules/dns/dns_target.h"

/* A host whose addresses are asked. */
struct vc__dns_host {
    struct vc__dns_round *round;
    char name[VC__DNS_HOST];
    bool is_absolute; /* true: of an SRV record, no search list */
    bool is_kept;     /* true: the addresses are those of the round before */
    int status;       /* ARES_* */
    uint32_t ttl;     /* if ARES_SUCCESS: of its addresses, in seconds */
    size_t n;
    struct vc__dns_addr *addrs;
};

/* A name of the target. */
struct vc__dns_question {
    struct vc__dns_round *round;
    const struct vc__dns_name *name;
    int status; /* of its SRV records; ARES_SUCCESS if it is no such name */
    bool is_kept;
    struct vc__dns_srvs srvs;
    size_t host; /* which one it is, if it is no name of SRV records */
};

struct vc__dns_round {
    const struct vc__dns_target *target;
    struct vc__dns_round *before; /* the one before, while this one runs */
    struct vc__dns_question question[VC__DNS_NAMES_MAX];
    unsigned asked;    /* questions that are under way */
    unsigned next_srv; /* the next of the target's names to ask */
    bool has_hosts;    /* true once all SRV records are there */
    bool is_cancelled;
    bool is_starting; /* true while c-ares takes a question */
    int status;       /* not ARES_SUCCESS: it could not go on */
    size_t n, next;   /* hosts, and the next of them to ask */
    struct vc__dns_host *host;
};

/* What a round has found. */
struct vc__dns_found {
    bool is_fresh; /* true: at least one question was answered now */
    uint32_t ttl;  /* if is_fresh: within the limits of dns_answer.h */
    int status; /* ARES_SUCCESS, or that of the first question that failed: */
    const char *name, *type;
};

/* Makes a round, for dns_begin(); nothing is asked yet. NULL: no memory. The
 * target must stay valid, and so must `before`, which may be NULL, until this
 * round has ended. */
struct vc__dns_round *vc__dns_round_new(const struct vc__dns_target *target,
                                        struct vc__dns_round *before);

/* Asks what can be asked now. Returns true when all is answered, or has failed;
 * false while questions are under way. Called by dns_advance(), when a round
 * begins and when c-ares has run; not within callbacks of c-ares. */
bool vc__dns_round_advance(struct vc__dns_round *round, ares_channel channel);

/* For dns_advance(), when the time is over or a socket cannot be watched: what
 * is not answered yet fails. Then vc__dns_round_advance() returns true. */
void vc__dns_round_cancel(struct vc__dns_round *round, ares_channel channel);

/* For dns_end(): returns what a round that has ended has found, and puts the
 * servers into *answer. */
struct vc__dns_found vc__dns_round_found(const struct vc__dns_round *round,
                                         struct vc__dns_answer *answer);

/* Frees a round of which no question is under way: for dns_end(), the one
 * before it, and for dns_free(). NULL is taken. */
void vc__dns_round_free(struct vc__dns_round *round);

#endif
