/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Threads that call the server of tests/suite/wire.h from the other guest, how
 * each of their calls ended, and whether that agrees with what the server
 * did. */
#ifndef VC_TESTS_SUITE_WIRE_LOAD_H
#define VC_TESTS_SUITE_WIRE_LOAD_H

#include "tests/suite/wire.h"

#define LOAD_THREADS 4

struct load_opts {
    struct vc_channel *channel;
    unsigned calls; /* in all, fewer than WIRE_TAGS; 0: until load_stop() */
    unsigned timeout_ms; /* of each call */
    unsigned handler_ms; /* that each of its handlers takes */
};

void load_start(const struct load_opts *opts);

/* Waits until the threads have made all `calls`. */
void load_join(void);

/* No call is started any more; waits until the running calls have ended. Does
 * nothing when no thread runs. */
void load_stop(void);

/* The number of successful calls of all threads since load_start(). */
unsigned load_good(void);

/* Wait until each thread has made some more successful calls, or until each has
 * had a call fail. */
void load_await_good(void);
void load_await_failed(void);

/* Waits until n calls have succeeded in all. */
void load_await_good_calls(unsigned n);

/* The tag of the next call: calls from now on have this tag or a higher one. */
unsigned load_next_tag(void);

/* Makes the server do what a tag says (tests/suite/wire.h), with the number n.
 * Returns NULL, after a message, when the call fails. */
Suite__EchoReply *server_does(struct vc_channel *channel, uint64_t tag,
                              unsigned n);
void have_server_do(struct vc_channel *channel, uint64_t tag);

/* Fails the test unless the reported outcome of all calls ever made is true, no
 * call ran twice, and each reply was correct. A cancelled call may still run
 * later. */
void assert_true_endings(struct vc_channel *channel);

/* Counts and prints how the calls from the tag `first` on ended; checks that
 * each took no longer than its timeout allows. Returns how many did not
 * succeed. */
unsigned count_endings(const char *what, unsigned first, unsigned timeout_ms);

/* How long the longest of these calls took, in milliseconds. */
unsigned load_longest_ms(unsigned first);

#endif
