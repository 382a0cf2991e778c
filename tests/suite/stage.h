/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A bad server for the tests of clients: a raw end on a thread of its own,
 * which takes one connection and runs play() on it, while the test makes calls
 * to it. */
#ifndef VC_TESTS_SUITE_STAGE_H
#define VC_TESTS_SUITE_STAGE_H

#include <pthread.h>

#include "tests/suite/hostile.h"

/* The client's connect timeout: the longer one outlasts a stall of a busy
 * machine; the shorter one is for tests in which the timeout shall expire. */
#define STAGE_PATIENT_MS 8000
#define STAGE_CONNECT_MS 1000

struct stage {
    struct fixture *f;
    struct raw_listener listener;
    char target[80];
    pthread_t thread;
    struct raw r;
    struct vc_channel *channel; /* to this server */

    /* What the server does with the request that r has taken; false when the
     * client does not behave as expected. */
    bool (*play)(struct stage *s);
    bool connect_passes; /* true: the connect timeout is to expire */
    bool good, joined;
    const struct vc_rdma_opts *rdma; /* of the channel; or NULL */
    unsigned attempts;               /* of its calls; 0: one */
    const void *data;                /* the server's answer to the hello */
    size_t len;
    const struct hostile_packet *packet;
};

/* Starts the server and opens the channel. s is zeroed except for the fields
 * that play() needs. */
void stage_start(struct stage *s, struct fixture *f,
                 bool (*play)(struct stage *));

/* Waits for the end of play(); fails the test unless the client has behaved as
 * expected. */
void stage_join(struct stage *s, const char *what);

/* The same, after closing the channel; also checks that f is not harmed. */
void stage_end(struct stage *s, const char *what);

/* --- the client's part ------------------------------------------------- */

/* Calls suite.Probe's Count. */
enum vc_status stage_call(struct stage *s, uint64_t *calls);

/* Makes a call and checks that it ends with this status, and that vc_error()
 * contains `words`. */
void stage_call_fails(struct stage *s, enum vc_status expected,
                      const char *words, const char *what);

/* --- the server's part ------------------------------------------------- */

struct vc__accept stage_accept(void); /* a good one */

bool stage_accept_well(struct stage *s, uint16_t credits);

/* Receives the client's next call. */
bool stage_take_call(struct raw *r, struct vc__frame *call);

/* True if the client ends the link in time. */
bool stage_client_leaves(struct raw *r);

#endif
