/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A bad server for the tests of clients: a raw end on a thread of its own,
 * which takes one connection and plays its part on it, while the test makes
 * calls to it. */
#ifndef VC_TESTS_SUITE_STAGE_H
#define VC_TESTS_SUITE_STAGE_H

#include <pthread.h>

#include "tests/suite/hostile.h"

/* The connect timeout of the client: longer than a busy machine may stall, or
 * what is to pass. */
#define STAGE_PATIENT_MS 8000
#define STAGE_CONNECT_MS 1000

struct stage {
    struct fixture *f;
    struct raw_listener listener;
    char target[80];
    pthread_t thread;
    struct raw r;
    struct vc_channel *channel; /* to this server */

    /* What the server does with a request that r has taken; false when the
     * client does not do its part. */
    bool (*play)(struct stage *s);
    bool connect_passes; /* the timeout */
    bool good, joined;
    const struct vc_rdma_opts *rdma; /* of the channel; or NULL */
    const void *data;                /* what it answers the hello */
    size_t len;
    const struct hostile_packet *packet;
};

/* s is zeroed but for what play() needs. */
void stage_start(struct stage *s, struct fixture *f,
                 bool (*play)(struct stage *));

/* The play is over, and the client has done its part. */
void stage_join(struct stage *s, const char *what);

/* The same once the channel is closed; no harm is done to f. */
void stage_end(struct stage *s, const char *what);

/* --- the client's part ------------------------------------------------- */

/* A call of suite.Probe's Count. */
enum vc_status stage_call(struct stage *s, uint64_t *calls);

/* It ends with this status, and vc_error() has these words. */
void stage_call_fails(struct stage *s, enum vc_status expected,
                      const char *words, const char *what);

/* --- the server's part ------------------------------------------------- */

struct vc__accept stage_accept(void); /* a good one */

bool stage_accept_well(struct stage *s, uint16_t credits);

/* Takes the client's next call. */
bool stage_take_call(struct raw *r, struct vc__frame *call);

/* The client ends the link in time. */
bool stage_client_leaves(struct raw *r);

#endif
