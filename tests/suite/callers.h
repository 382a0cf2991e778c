/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Threads that call the server of suite.proto and record how their calls ended.
 * For suites in which the other process is killed, stopped or closed during
 * calls. Only callers use their tags, so the board shows whether a handler
 * ran. */
#ifndef VC_TESTS_SUITE_CALLERS_H
#define VC_TESTS_SUITE_CALLERS_H

#include <pthread.h>

#include "tests/suite/fixture.h"

#define CALLERS_MAX 64

/* The longest payload of an Echo that the default limits allow. */
#define CALLER_LONG (((uint32_t)4 << 20) - 32)

/* A call whose peer's death the CM reports ends within this time, whatever its
 * deadline: in milliseconds at the machine's usual pace (pace.h). */
#define CALLER_SOON_MS 1000

struct caller {
    struct vc_channel *channel;
    uint64_t tag;        /* of Echo, < FIXTURE_TAGS; used by this caller only */
    uint32_t size;       /* of the payload */
    uint32_t reply_size; /* of the reply; 0: the same as size */
    uint32_t sleep_ms;   /* not 0: calls Sleep instead */
    uint32_t timeout_ms; /* 0: the channel's timeout */
    bool again;          /* true: the thread calls until a call fails */

    enum vc_status status; /* of the last call */
    enum vc_outcome outcome;
    char text[256];
    uint64_t began_ms, ended_ms;
    unsigned good; /* calls that ended with VC_OK */

    pthread_t thread;
    atomic_uint started; /* the thread is about to call */
    atomic_int tid;
};

/* Makes one call on this thread; returns its status. */
enum vc_status caller_call(struct caller *c);

/* Start a thread that makes the calls, and join it. */
void caller_start(struct caller *c);
void caller_join(struct caller *c);

/* Waits until the caller's thread sleeps in the kernel: then it has done all it
 * can until the peer acts. */
void caller_await_asleep(struct caller *c);

/* Fails the test unless the call ended with this status within CALLER_SOON_MS
 * after since_ms, and its outcome agrees with the board
 * (caller_assert_true()). */
void caller_assert_ended(const struct caller *c, enum vc_status status,
                         uint64_t since_ms);
void caller_assert_true(const struct caller *c);

#endif
