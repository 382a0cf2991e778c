/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Many concurrent asynchronous calls to one server, and how each ended. The
 * test's own process is the client. */
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
    atomic_uint ends; /* how often its end was reported */
    enum vc_status status;
    enum vc_outcome outcome;
    char text[VC_ERROR_SIZE];
};

struct crowd {
    struct fake_host *there;
    struct sim_server server;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    struct vc_completions *queue; /* the test advances the runtime by it */
    const struct vc_service *service;
    struct vc_call_opts opts;
    void (*at_end)(struct crowd_call *c); /* at a reported end; or NULL */
    struct crowd_call calls[CROWD_MAX];
    unsigned n;
    unsigned refused;  /* calls that could not be started */
    atomic_uint ended; /* calls whose end was reported */
};

/* Zeroes *c and opens it. The server is not started. */
void crowd_open(struct crowd *c, uint64_t seed, unsigned switch_every,
                const struct vc_channel_opts *opts);
void crowd_serve(struct crowd *c);
/* Closes what is open. The end of every call must have been reported once. */
void crowd_close(struct crowd *c);
/* Closes only the channel; crowd_close() then does the rest. */
void crowd_close_channel(struct crowd *c);

/* Starts a call with a payload of size bytes, whose tag is its number. NULL if
 * it could not be started. */
struct crowd_call *crowd_call(struct crowd *c, size_t size);
/* The same, completed in c->queue, with the call as its tag. */
struct crowd_call *crowd_call_queued(struct crowd *c, size_t size);

/* Advances the runtime until n ends were reported, with those in the queue. */
void crowd_await(struct crowd *c, unsigned n);

/* After an allocation was set to fail: waits until all calls have ended, with
 * VC_OK or for lack of memory or a link. Returns false if no allocation
 * failed. */
bool crowd_was_struck(struct crowd *c);

/* Reports a completion to the call that is its tag. */
void crowd_told(const struct vc_completion *completion);

/* When all calls have ended: fails the test unless the call's reported end
 * agrees with its runs. It ran at most `most` times, at least once if it ended
 * with VC_OK, and never if it was reported as not executed. */
void crowd_check_runs(const struct crowd_call *call, unsigned most);

/* How many calls ended with this status. */
unsigned crowd_count(const struct crowd *c, enum vc_status status);

#endif
