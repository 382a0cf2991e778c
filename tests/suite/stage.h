/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A bad server for the tests of clients: a raw end on a thread of its own,
 * which accepts one connection and runs play() on it, while the test makes
 * calls to it. */
#ifndef VC_TESTS_SUITE_STAGE_H
#define VC_TESTS_SUITE_STAGE_H

#include <pthread.h>

#include "tests/suite/hostile.h"

/* The connect timeout of the client: the first is longer than a busy machine
 * may stall, the second is meant to expire. */
#define STAGE_PATIENT_MS 8000
#define STAGE_CONNECT_MS 1000

struct stage {
    struct fixture *f;
    struct raw_listener listener;
    char target[80];
    pthread_t thread;
    struct raw r;
    struct vc_channel *channel; /* to this server */

    /* What the server does with a request that r has received. Returns false if
     * the client does not behave as expected. */
    bool (*play)(struct stage *s);
    bool connect_passes; /* true: the connect timeout expires */
    bool good, joined;
    const struct vc_rdma_opts *rdma; /* of the channel; or NULL */
    const void *data;                /* its answer to the hello */
    size_t len;
    const struct hostile_packet *packet;
};

/* s is zeroed except for what play() needs. */
void stage_start(struct stage *s, struct fixture *f,
                 bool (*play)(struct stage *));

/* Waits for the end of play(), and checks that the client behaved as
 * expected. */
void stage_join(struct stage *s, const char *what);

/* Closes the channel and does the same; checks that no harm is done to f. */
void stage_end(struct stage *s, const char *what);

/* --- the client's part ------------------------------------------------- */

/* Calls suite.Probe's Count. */
enum vc_status stage_call(struct stage *s, uint64_t *calls);

/* Checks that the call ends with this status, and that vc_error() contains
 * `words`. */
void stage_call_fails(struct stage *s, enum vc_status expected,
                      const char *words, const char *what);

/* --- the server's part ------------------------------------------------- */

struct vc__accept stage_accept(void); /* a good one */

bool stage_accept_well(struct stage *s, uint16_t credits);

/* Receives the client's next call. */
bool stage_take_call(struct raw *r, struct vc__frame *call);

/* Checks that the client ends the link in time. */
bool stage_client_leaves(struct raw *r);

#endif
