/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Threads that call the server of tests/suite/wire.h from the other guest. They
 * record how each call ended, and check that against what the server did. */
#ifndef VC_TESTS_SUITE_WIRE_LOAD_H
#define VC_TESTS_SUITE_WIRE_LOAD_H

#include "tests/suite/wire.h"

#define LOAD_THREADS 4

struct load_opts {
    struct vc_channel *channel;
    unsigned calls; /* in all, fewer than WIRE_TAGS; 0: until load_stop() */
    unsigned timeout_ms; /* of each call */
    unsigned handler_ms; /* duration of each handler */
};

void load_start(const struct load_opts *opts);

/* Waits until the threads have made all their calls. */
void load_join(void);

/* Starts no further call, and waits until the running ones have ended. Does
 * nothing when no thread runs. */
void load_stop(void);

/* Successful calls of all threads since load_start(). */
unsigned load_good(void);

/* Wait until each thread has made some more successful calls, and until each
 * has had a call fail. */
void load_await_good(void);
void load_await_failed(void);

/* Waits until n calls have succeeded in all. */
void load_await_good_calls(unsigned n);

/* The tag of the next call; later calls have this one and higher. */
unsigned load_next_tag(void);

/* Has the server do what a tag stands for (tests/suite/wire.h), with the number
 * n. Returns NULL, after a message, if the server cannot be reached. */
Suite__EchoReply *server_does(struct vc_channel *channel, uint64_t tag,
                              unsigned n);
void have_server_do(struct vc_channel *channel, uint64_t tag);

/* Checks all calls ever made: the reported outcome is true, none ran twice, and
 * each reply was right. An abandoned call may still run later. */
void assert_true_endings(struct vc_channel *channel);

/* Counts and prints how the calls from this tag on ended, and checks that each
 * kept its timeout. Returns how many failed. */
unsigned count_endings(const char *what, unsigned first, unsigned timeout_ms);

/* Duration of the longest of these calls, in milliseconds. */
unsigned load_longest_ms(unsigned first);

#endif
