/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Threads that call the server of suite.proto and remember how it ended: for
 * suites in which the other process is killed, stopped or closed under them.
 * Tags are theirs alone, so that the board tells whether a handler ran. */
#ifndef VC_TESTS_SUITE_CALLERS_H
#define VC_TESTS_SUITE_CALLERS_H

#include <pthread.h>

#include "tests/suite/fixture.h"

#define CALLERS_MAX 64

/* The longest payload of an Echo that the default limits take. */
#define CALLER_LONG (((uint32_t)4 << 20) - 32)

/* A call whose peer's death the CM reports ends this soon, whatever its
 * deadline: in milliseconds at the machine's usual pace (pace.h). */
#define CALLER_SOON_MS 1000

struct caller {
    struct vc_channel *channel;
    uint64_t tag;        /* of Echo, < FIXTURE_TAGS; nobody else's */
    uint32_t size;       /* of its payload */
    uint32_t reply_size; /* 0: as long */
    uint32_t sleep_ms;   /* not 0: calls Sleep instead */
    uint32_t timeout_ms; /* 0: the channel's */
    bool again;          /* calls until one fails */

    enum vc_status status; /* of the last call */
    enum vc_outcome outcome;
    char text[256];
    uint64_t began_ms, ended_ms;
    unsigned good; /* calls that ended well */

    pthread_t thread;
    atomic_uint started; /* the thread is about to call */
    atomic_int tid;
};

/* Calls on this thread. */
enum vc_status caller_call(struct caller *c);

/* On one of its own, and the end of that. */
void caller_start(struct caller *c);
void caller_join(struct caller *c);

/* Waits until its thread sleeps in the kernel: it has done what it can before
 * the peer does something. */
void caller_await_asleep(struct caller *c);

/* Fails the test unless it ended with this status within CALLER_SOON_MS of
 * since_ms, and its outcome is what the board says of its handler. */
void caller_assert_ended(const struct caller *c, enum vc_status status,
                         uint64_t since_ms);
void caller_assert_true(const struct caller *c);

#endif
