/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the tests of bad clients share: a server, and whether it still serves
 * others. */
#ifndef VC_TESTS_SUITE_HOSTILE_H
#define VC_TESTS_SUITE_HOSTILE_H

#include "tests/suite/fixture.h"
#include "tests/suite/raw.h"

/* A link that must end does so within this time. */
#define HOSTILE_CLOSED_MS 10000

/* A server that gives new links much longer than that, so that it is not its
 * timer which ends one; and a channel that has carried a call. Teardown is
 * fixture_teardown(). */
int hostile_setup(void **state);

/* A channel from before and a new one both work. */
void hostile_others_served(struct fixture *f, const char *after);

/* A raw link by a good hello, and one with session 1 open for suite.Probe. */
void hostile_open(struct fixture *f, struct raw *r);
void hostile_open_session(struct fixture *f, struct raw *r);

/* The server ends this link, and serves others. The milliseconds that it took
 * to end it. */
uint64_t hostile_closed(struct fixture *f, struct raw *r, const char *after);

/* The next frame of this type of a call; others are passed over. False when
 * none comes in time. */
bool hostile_await_frame(struct raw *r, uint8_t type,
                         const struct vc__frame *call, struct vc__frame *f);

/* In the end this many handlers run in the server. */
void hostile_await_handlers(struct fixture *f, uint64_t n);

/* In the end no handler runs in the server, and nothing arrives there. */
void hostile_nothing_left(struct fixture *f, const char *after);

/* A packet, and by what it differs from a good one. */
struct hostile_packet {
    const char *what;
    unsigned n;
    struct vc__frame frames[2];
    int sequence, count; /* more than is right */
    int ack, window;     /* added to what is right */
    int longer;          /* zeros behind the packet, or less than it */
};

/* In its tables: a body, and its length. */
#define BODY(text) .body = (const uint8_t *)(text), .body_len = sizeof(text) - 1

/* False when the QP takes no more. */
bool hostile_send(struct raw *r, const struct hostile_packet *packet);

#endif
