/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Threads that call one server and use streams of it until traffic_stop(), and
 * checks of the results. */
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
    atomic_bool may_fail; /* true: calls may end with
                           * another status than VC_OK */
    atomic_uint next_tag, good, failed;
    atomic_uint streams_good, streams_broken;
    atomic_ullong longest_us; /* of the calls since it was set to 0 */
    pthread_mutex_t lock;
    char wrong[300]; /* lock; the first fault; empty: none */
    struct {
        enum vc_status status;
        enum vc_outcome outcome;
    } ended[TRAFFIC_CALLS]; /* by tag */
};

/* Zeroes *t and starts its threads. The server has Probe, and Streams of
 * tests/suite/streams.h. */
void traffic_start(struct traffic *t, struct vc_channel *channel,
                   uint64_t seed);
/* Makes the threads end and waits for them; then traffic_is_right(). */
void traffic_stop(struct traffic *t);

/* Fails the test if a call or a stream of a thread ended in a wrong way. */
void traffic_is_right(struct traffic *t);
/* Fails the test unless each call ran at most once: exactly once if it
 * succeeded, and never if its outcome is not executed. Use it when the server
 * has ended, too. */
void traffic_ran_once(struct traffic *t);

/* Waits us microseconds at most for n more good calls and one more good
 * stream. */
void traffic_await(struct traffic *t, unsigned n, uint64_t us);

/* Sends some messages each way. */
enum vc_status traffic_talk(struct suite_streams_talk_client_stream *stream);

#endif
