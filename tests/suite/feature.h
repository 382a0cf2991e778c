/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The service of features.proto, and counters of its handlers. Server and
 * client are in this process, with a runtime each, so that a test sees both
 * ends of a call. */
#ifndef VC_TESTS_SUITE_FEATURE_H
#define VC_TESTS_SUITE_FEATURE_H

#include "tests/suite/features.vc.h"
#include "tests/suite/fixture.h"

/* Counts of Work's handlers since the setup of the test. Each can be passed to
 * fixture_await(). */
struct features_seen {
    atomic_uint begun;     /* handlers that were called */
    atomic_uint ended;     /* handlers that returned */
    atomic_uint cancelled; /* handlers that were cancelled while they waited */
    atomic_uint attempts;  /* the sum of the attempt numbers */
};
extern struct features_seen features_seen;

/* Opens the gate. Handlers whose order has `holds` wait at the gate until it is
 * opened or their call is cancelled. */
void features_gate_open(void);

/* Zeroes the counts and closes the gate; also done by features_start(). No
 * handler runs. */
void features_reset(void);

/* Adds Work; the text of its reports names this server. */
void features_add(struct vc_server *server, const char *name);

/* Starts a server named "first", unless fixture_add is set, and a client whose
 * runtime has no thread. The options may be NULL. */
void features_start(struct fixture *f, const struct vc_server_opts *server_opts,
                    const struct vc_channel_opts *channel_opts);
void features_stop(struct fixture *f);

/* The same as cmocka setup and teardown, but the client has a thread; *state is
 * the fixture. */
int features_setup(void **state);
int features_teardown(void **state);

/* Starts a second server, in a runtime of its own. */
void features_start_second(struct fixture *second);

Features__Order features_order(uint64_t tag, const char *text);

/* --- asynchronous calls ------------------------------------------------ */

/* How a call ended. */
struct features_end {
    atomic_uint ends; /* calls of the callback; for fixture_await() */
    enum vc_status status;
    enum vc_outcome outcome;
    uint64_t tag; /* tag, attempt and text: of the report */
    unsigned attempt;
    char text[VC_ERROR_SIZE]; /* or vc_error() */
};

/* The callback of calls whose reply is a report; arg is a struct
 * features_end. */
void features_done(enum vc_status status, Features__Report *report, void *arg);

#endif
