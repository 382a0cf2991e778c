/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Helpers for the tests of bad clients and bad servers: a server, the reason
 * for which it ends a link, and checks that no other client is harmed
 * (doc/bad-input.md). */
#ifndef VC_TESTS_SUITE_HOSTILE_H
#define VC_TESTS_SUITE_HOSTILE_H

#include "tests/suite/fixture.h"
#include "tests/suite/raw.h"

/* A link that must end does so within this time. */
#define HOSTILE_CLOSED_MS 10000

/* An entry of a suite's table. The body gets a fixture as *state. The fixture's
 * server gives new links much longer than HOSTILE_CLOSED_MS, so no timer of its
 * own ends one; its channel has carried a call. hostile_no_harm() is checked
 * after the body, which must have closed its raw ends. */
#define hostile_test(body_)                                                    \
    {                                                                          \
        .name = #body_, .test_func = hostile_run, .setup_func = hostile_setup, \
        .teardown_func = hostile_teardown,                                     \
        .initial_state = &(struct hostile_body)                                \
        {                                                                      \
            .run = body_                                                       \
        }                                                                      \
    }
struct hostile_body {
    void (*run)(void **state);
};
void hostile_run(void **state);
int hostile_setup(void **state);
int hostile_teardown(void **state);

/* Checks that the old channel and a new one both work. */
void hostile_others_served(struct fixture *f, const char *after);

/* The same, and that the server keeps nothing of clients that have left: no
 * handler, stream or link, no message that arrives, and no call of ours. */
void hostile_no_harm(struct fixture *f, const char *after);

/* Opens a raw link with a good hello of these features
 * (cm/connect/features.h). */
void hostile_open_with(struct fixture *f, struct raw *r, uint32_t features);

/* Open a raw link with a good hello; the second also opens session 1 for
 * suite.Probe. */
void hostile_open(struct fixture *f, struct raw *r);
void hostile_open_session(struct fixture *f, struct raw *r);

/* Checks that the server ends this link with an error whose text contains
 * `why`, and that no harm is done. Closes the link. Returns how many
 * milliseconds the server took. */
uint64_t hostile_closed(struct fixture *f, struct raw *r, const char *after,
                        const char *why);

/* Calls visit() for each link of a raw client in the server, on its engine. */
struct vc__link;
void hostile_links_visit(struct fixture *f,
                         void (*visit)(struct vc__link *link, void *arg),
                         void *arg);

/* Receives the next frame of this type of a call, and skips others. Returns
 * false on timeout. */
bool hostile_await_frame(struct raw *r, uint8_t type,
                         const struct vc__frame *call, struct vc__frame *f);

/* Waits until n handlers run in the server. */
void hostile_await_handlers(struct fixture *f, uint64_t n);

/* Waits until no handler runs in the server and no message arrives there; the
 * raw client's link may live. */
void hostile_await_no_handler(struct fixture *f, const char *after);

/* A packet, and how it differs from a good one. */
struct hostile_packet {
    const char *what;
    unsigned n;
    struct vc__frame frames[2];
    int sequence, count; /* added to the right values */
    int ack, window;     /* added to the right values */
    int longer;          /* zeros after the packet, or bytes cut off */
    const char *breach;  /* text in the link's error */
};

/* For tables of packets: a body and its length. */
#define BODY(text) .body = (const uint8_t *)(text), .body_len = sizeof(text) - 1

/* Sends the packet; false if the connection accepts no more. */
bool hostile_send(struct raw *r, const struct hostile_packet *packet);

#endif
