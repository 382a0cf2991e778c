/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by the tests of bad clients and bad servers: a server, a check of the
 * reason for which it ends a link, and a check that other clients are not
 * harmed (doc/bad-input.md). */
#ifndef VC_TESTS_SUITE_HOSTILE_H
#define VC_TESTS_SUITE_HOSTILE_H

#include "tests/suite/fixture.h"
#include "tests/suite/raw.h"

/* A link that the server must end is ended within this time. */
#define HOSTILE_CLOSED_MS 10000

/* A test for a suite's table. The body gets a fixture as *state. The handshake
 * timeout of its server is much longer than HOSTILE_CLOSED_MS, so that this
 * timer does not end a link. Its channel has carried a call. After the body,
 * which has closed its raw ends, hostile_no_harm() is checked. */
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

/* Checks that an existing channel and a new one both work. */
void hostile_others_served(struct fixture *f, const char *after);

/* The same, and checks that in the end no state is left of disconnected peers:
 * no handler, no stream, no link, no partly received message, and no call of
 * this process. */
void hostile_no_harm(struct fixture *f, const char *after);

/* Opens a raw link by a good hello with these features
 * (cm/connect/features.h). */
void hostile_open_with(struct fixture *f, struct raw *r, uint32_t features);

/* Open a raw link by a good hello; the second also opens session 1 for
 * suite.Probe. */
void hostile_open(struct fixture *f, struct raw *r);
void hostile_open_session(struct fixture *f, struct raw *r);

/* Checks that the server ends this link with an error whose text contains
 * `why`, and that no harm is done. Closes the link. Returns the milliseconds
 * until the link ended. */
uint64_t hostile_closed(struct fixture *f, struct raw *r, const char *after,
                        const char *why);

/* Calls visit() for each of the server's links to raw clients, on the engine of
 * the link. */
struct vc__link;
void hostile_links_visit(struct fixture *f,
                         void (*visit)(struct vc__link *link, void *arg),
                         void *arg);

/* Reads frames until the next frame of this type for this call; other frames
 * are skipped. False when none is received in time. */
bool hostile_await_frame(struct raw *r, uint8_t type,
                         const struct vc__frame *call, struct vc__frame *f);

/* Waits until at least n handlers run in the server. */
void hostile_await_handlers(struct fixture *f, uint64_t n);

/* Waits until no handler runs in the server any more, and no request is partly
 * received there; the raw client's link may stay up. */
void hostile_await_no_handler(struct fixture *f, const char *after);

/* A packet, described by its differences from a good one. */
struct hostile_packet {
    const char *what;
    unsigned n;
    struct vc__frame frames[2];
    int sequence, count; /* added to the correct values */
    int ack, window;     /* added to the correct values */
    int longer;          /* zeros after the packet; negative: bytes cut off */
    const char *breach;  /* text in the error that the link ends with */
};

/* For tables of packets: a frame's body and its length. */
#define BODY(text) .body = (const uint8_t *)(text), .body_len = sizeof(text) - 1

/* Sends the packet. False when the connection takes no more packets. */
bool hostile_send(struct raw *r, const struct hostile_packet *packet);

#endif
