/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Threads that call one server and exchange messages with it by streams until
 * they are stopped, and a check of how these ended. */
#ifndef VC_TESTS_SIM_TRAFFIC_H
#define VC_TESTS_SIM_TRAFFIC_H

#include <pthread.h>

#include "tests/sim/sim.h"

#define TRAFFIC_CALLERS 4u
#define TRAFFIC_TALKERS 2u
#define TRAFFIC_CALLS   16384u /* at most */

struct traffic;

struct traffic_thread {
    struct traffic *traffic;
    uint64_t dice;
    pthread_t thread;
};

struct traffic {
    struct vc_channel *channel;
    struct traffic_thread callers[TRAFFIC_CALLERS], talkers[TRAFFIC_TALKERS];
    atomic_bool enough;
    atomic_bool may_fail; /* true: calls may end other than with VC_OK */
    atomic_uint next_tag, good, failed;
    atomic_uint streams_good, streams_broken;
    atomic_ullong longest_us; /* of the calls since it was set to 0 */
    pthread_mutex_t lock;
    char wrong[300]; /* lock; the first fault; "": none */
    struct {
        enum vc_status status;
        enum vc_outcome outcome;
    } ended[TRAFFIC_CALLS]; /* by tag */
};

/* Zeroes *t and starts. The server has Probe, and Streams of
 * tests/suite/streams.h. */
void traffic_start(struct traffic *t, struct vc_channel *channel,
                   uint64_t seed);
/* Stops the threads, waits for their ends, and checks traffic_is_right(). */
void traffic_stop(struct traffic *t);

/* Fails the test if a call or a stream of a thread ended in a way that it must
 * not. */
void traffic_is_right(struct traffic *t);
/* The same when the server has ended, too: each call ran at most once, once if
 * it ended with VC_OK, and never if it was reported as not executed. */
void traffic_ran_once(struct traffic *t);

/* Waits for n more successful calls, and one more successful stream. */
void traffic_await(struct traffic *t, unsigned n, uint64_t us);

/* Exchanges some messages. */
enum vc_status traffic_talk(struct suite_streams_talk_client_stream *stream);

#endif
