/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Many asynchronous calls at a time to one server, and the result of each. The
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
    struct vc_completions
        *queue; /* the test waits on it to advance the runtime */
    const struct vc_service *service;
    struct vc_call_opts opts;
    void (*at_end)(
        struct crowd_call *c); /* runs at each reported end; or NULL */
    struct crowd_call calls[CROWD_MAX];
    unsigned n;
    unsigned refused;  /* calls that could not be started */
    atomic_uint ended; /* calls whose end was reported */
};

/* Initializes *c, and begins a world. It does not start the server. */
void crowd_open(struct crowd *c, uint64_t seed, unsigned switch_every,
                const struct vc_channel_opts *opts);
void crowd_serve(struct crowd *c);
/* Closes what is open. The end of every call must have been reported once. */
void crowd_close(struct crowd *c);
/* The first step of crowd_close(): closes only the channel. */
void crowd_close_channel(struct crowd *c);

/* Starts a call with a payload of `size` bytes; its tag is its number. NULL
 * when it could not be started. */
struct crowd_call *crowd_call(struct crowd *c, size_t size);
/* The same, but the end is put into c->queue, with the call as its tag. */
struct crowd_call *crowd_call_queued(struct crowd *c, size_t size);

/* Advances the runtime until the ends of n calls were reported. It takes ends
 * out of the queue and reports them. */
void crowd_await(struct crowd *c, unsigned n);

/* For tests that make an allocation fail: waits until all calls have ended,
 * with VC_OK, VC_UNAVAILABLE or VC_RESOURCE_EXHAUSTED. Returns false when no
 * allocation failed. */
bool crowd_was_struck(struct crowd *c);

/* Reports a completion to the call that is its tag. */
void crowd_told(const struct vc_completion *completion);

/* Fails the test unless the reported end of the call fits its handler runs: at
 * most `most` runs; at least one if the call succeeded; none if its outcome is
 * not executed. Use it when all calls have ended. */
void crowd_check_runs(const struct crowd_call *call, unsigned most);

/* Returns the number of calls with this status. */
unsigned crowd_count(const struct crowd *c, enum vc_status status);

#endif
