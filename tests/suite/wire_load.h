/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Threads that call the server of tests/suite/wire.h from the other guest, how
 * each of their calls ended, and whether that is true of what the server did. */
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

/* Waits until the threads have made the calls that they were to make. */
void load_join(void);

/* No call begins any more; waits until those that run have ended. Nothing
 * happens when no thread runs. */
void load_stop(void);

/* Good calls of all threads since load_start(). */
unsigned load_good(void);

/* Waits until each thread has made some more good calls, and until each has
 * had a call fail. */
void load_await_good(void);
void load_await_failed(void);

/* Waits until so many calls were good in all. */
void load_await_good_calls(unsigned n);

/* The tag of the next call: calls from now on have this one and higher. */
unsigned load_next_tag(void);

/* Has the server do what a tag says (tests/suite/wire.h), with the number n;
 * NULL, and a message, when it cannot be reached. */
Suite__EchoReply *server_does(struct vc_channel *channel, uint64_t tag,
                              unsigned n);
void have_server_do(struct vc_channel *channel, uint64_t tag);

/* What was said of all calls ever made is true, none of them ran twice, and
 * each reply was the right one. One that was given up may still run later. */
void assert_true_endings(struct vc_channel *channel);

/* Counts, and prints, what became of the calls from this tag on; each took no
 * longer than its timeout allows. How many were not good. */
unsigned count_endings(const char *what, unsigned first, unsigned timeout_ms);

/* How long the longest of these calls took, in milliseconds. */
unsigned load_longest_ms(unsigned first);

#endif
