/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Many calls at a time that nobody waits for, to one server; and what became
 * of each. The test's own process is the client. */
#ifndef VC_TESTS_SIM_CROWD_H
#define VC_TESTS_SIM_CROWD_H

#include "tests/sim/sim.h"

#define CROWD_MAX 4096u
#define MS        UINT64_C(1000)
#define S         UINT64_C(1000000)

struct crowd;

struct crowd_call {
    struct crowd *crowd;
    unsigned tag;
    struct vc_async *handle;
    atomic_uint ends; /* how often it was told its end */
    enum vc_status status;
    enum vc_outcome outcome;
    char text[VC_ERROR_SIZE];
};

struct crowd {
    struct fake_host *there;
    struct sim_server server;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct vc_completions *queue; /* by which the test advances the runtime */
    const struct vc_service *service;
    struct vc_call_opts opts;
    void (*at_end)(struct crowd_call *c); /* when one is told; or NULL */
    struct crowd_call calls[CROWD_MAX];
    unsigned n;
    unsigned refused;  /* that could not be started */
    atomic_uint ended; /* calls that were told */
};

/* Zeroes it. The server is not started. */
void crowd_open(struct crowd *c, uint64_t seed, unsigned switch_every,
                const struct vc_channel_opts *opts);
void crowd_serve(struct crowd *c);
/* Closes what is open. Every call must have been told its end once. */
void crowd_close(struct crowd *c);
/* The same in two: the channel; the rest. */
void crowd_close_channel(struct crowd *c);

/* Starts one with a payload of so many bytes, whose tag is its number. NULL
 * when it could not be started. */
struct crowd_call *crowd_call(struct crowd *c, size_t size);
/* The same, its end to come into c->queue, with the call as its tag. */
struct crowd_call *crowd_call_queued(struct crowd *c, size_t size);

/* Advances the runtime until n have been told; ends in the queue are told
 * then. */
void crowd_await(struct crowd *c, unsigned n);

/* All calls end, well or for want of memory or a link: an allocation was to
 * fail. False when none has. */
bool crowd_was_struck(struct crowd *c);

/* A completion is told to the call that is its tag. */
void crowd_told(const struct vc_completion *completion);

/* Fails the test unless what the call was told is true of its runs: there were
 * so many at most; there was one if the call is good, and none if it says that it
 * was not executed. When all calls have ended. */
void crowd_check_runs(const struct crowd_call *call, unsigned most);

/* How many ended so. */
unsigned crowd_count(const struct crowd *c, enum vc_status status);

#endif
