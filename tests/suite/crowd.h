/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Very many clients of one server that call at the same time: each is a thread
 * with a runtime of its own and one channel, without library threads unless
 * they are wanted. They are spread over a few processes, or are all in this one. */
#ifndef VC_TESTS_SUITE_CROWD_H
#define VC_TESTS_SUITE_CROWD_H

#include <verbcall/counters.h>

#include "tests/suite/fixture.h"

#define CROWD_CLIENTS 1000u /* at most */
#define CROWD_CALLS   100u  /* of each */

/* Tags of Echo: client i makes its call n with CROWD_TAG(i, n). The payload
 * depends on the tag. */
#define CROWD_TAG(i, n) ((uint64_t)(i)*CROWD_CALLS + (n))
#define CROWD_TAGS      CROWD_TAG(CROWD_CLIENTS, 0)

/* How the calls of a client ended. */
struct crowd_end {
    unsigned good, wrong;
    unsigned shed; /* refused as the server was overloaded, and made again */
    unsigned connect_ms; /* until it was connected */
    unsigned longest_ms; /* of a call */
    char error[200];     /* of the call that failed: no other followed it */
};

struct crowd_opts {
    char target[80];
    unsigned clients;
    uint64_t tag_base; /* added to each tag */
    /* True: each client has a library thread. Without one, a client whose first
     * packet is lost sends it again with its first call only, when the server
     * has given it up. */
    bool threads;
    /* Called by one client, whose channel this is: before the others connect,
     * and when all calls have ended while all clients are connected; NULL:
     * nothing. */
    void (*before)(struct vc_channel *channel);
    void (*after)(struct vc_channel *channel);
};

struct crowd;

/* Makes a crowd, in memory that processes which are forked later share. */
struct crowd *crowd_new(const struct crowd_opts *opts);
void crowd_free(struct crowd *c);

/* All clients make all calls, in this process, or in so many of their own that
 * are forked from this one, which must not have used RDMA. */
void crowd_run_here(struct crowd *c);
void crowd_run_forked(struct crowd *c, unsigned processes);

/* Prints how the calls ended, fails the test unless all were good, and returns
 * how many datagrams the clients have sent again. */
unsigned crowd_check(const struct crowd *c);

#endif
