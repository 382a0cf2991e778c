/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the tests of bad clients and bad servers share: a server, the reason
 * that it ends a link for, and that nobody else is harmed (doc/bad-input.md). */
#ifndef VC_TESTS_SUITE_HOSTILE_H
#define VC_TESTS_SUITE_HOSTILE_H

#include "tests/suite/fixture.h"
#include "tests/suite/raw.h"

/* A link that must end does so within this time. */
#define HOSTILE_CLOSED_MS 10000

/* A test of a suite's table: the body has a fixture as *state, whose server
 * gives new links much longer than that, so that it is not its timer which ends
 * one, and whose channel has carried a call. Behind the body
 * hostile_no_harm() is checked, by which time it has closed its raw ends. */
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

/* A channel from before and a new one both work. */
void hostile_others_served(struct fixture *f, const char *after);

/* The same, and in the end nothing is left of those who are gone: no handler,
 * stream or link, nothing that arrives, and no call of ours. */
void hostile_no_harm(struct fixture *f, const char *after);

/* A raw link by a good hello with these features (cm/connect/features.h). */
void hostile_open_with(struct fixture *f, struct raw *r, uint32_t features);

/* A raw link by a good hello, and one with session 1 open for suite.Probe. */
void hostile_open(struct fixture *f, struct raw *r);
void hostile_open_session(struct fixture *f, struct raw *r);

/* The server ends this link with an error that has the words of `why`, and no
 * harm is done. The link is closed. The milliseconds that it took to end it. */
uint64_t hostile_closed(struct fixture *f, struct raw *r, const char *after,
                        const char *why);

/* Does this to each link of a raw client in the server, on its engine. */
struct vc__link;
void hostile_links_visit(struct fixture *f,
                         void (*visit)(struct vc__link *link, void *arg),
                         void *arg);

/* The next frame of this type of a call; others are passed over. False when
 * none comes in time. */
bool hostile_await_frame(struct raw *r, uint8_t type,
                         const struct vc__frame *call, struct vc__frame *f);

/* In the end this many handlers run in the server. */
void hostile_await_handlers(struct fixture *f, uint64_t n);

/* In the end no handler runs in the server any more, and nothing arrives there;
 * the raw client's link may live. */
void hostile_await_no_handler(struct fixture *f, const char *after);

/* A packet, and by what it differs from a good one. */
struct hostile_packet {
    const char *what;
    unsigned n;
    struct vc__frame frames[2];
    int sequence, count; /* more than is right */
    int ack, window;     /* added to what is right */
    int longer;          /* zeros behind the packet, or less than it */
    const char *breach;  /* words of the error that the link ends with */
};

/* In its tables: a body, and its length. */
#define BODY(text) .body = (const uint8_t *)(text), .body_len = sizeof(text) - 1

/* False when the connection takes no more. */
bool hostile_send(struct raw *r, const struct hostile_packet *packet);

#endif
