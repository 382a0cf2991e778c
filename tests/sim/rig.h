/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A client with some channels to one server, whose links are lost while it
 * calls. */
#ifndef VC_TESTS_SIM_RIG_H
#define VC_TESTS_SIM_RIG_H

#include <pthread.h>

#include "tests/sim/sim.h"

#define RIG_CHANNELS 3u
#define RIG_PATIENCE 120000000u /* us */

struct rig {
    struct sim_server server;
    struct fake_host *there;
    struct vc_runtime *runtime;
    struct vc_channel *channels[RIG_CHANNELS];
    struct vc_channel_opts opts;
    uint64_t dice;
    uint64_t seed;
    unsigned timeout_ms; /* of callers that are started */
    atomic_uint next_tag, good, others;
};

struct rig_caller {
    struct rig *rig;
    struct vc_channel *channel;
    pthread_t thread;
    unsigned calls, done;
    uint64_t dice;
    unsigned timeout_ms;
    size_t size; /* 0: a random size */
    unsigned tag;
    enum vc_status status;
    enum vc_outcome outcome;
    char text[200];
};

/* The server's options of the next rig, or NULL. */
extern const struct vc_server_opts *rig_server_opts;

/* Begins a world with a server whose handlers take sleep_us, and a client whose
 * channels have this number of links. */
void rig_begin(struct rig *r, uint64_t seed, unsigned sleep_us, unsigned links);
/* Ends the world. */
void rig_end(struct rig *r);

/* Starts the server, also again when the last one was killed. */
void rig_serve(struct rig *r);

/* A random number below n. */
uint64_t rig_roll(uint64_t *d, uint64_t n);

/* Starts a thread that makes calls, one after the other; size 0: of random
 * sizes. */
void rig_call(struct rig_caller *c, struct rig *r, unsigned channel,
              unsigned calls, size_t size);

/* The number of calls that have ended. */
unsigned rig_ended(const struct rig *r);

/* Waits until n calls have ended. */
void rig_await_ended(struct rig *r, unsigned n);

/* Waits until a handler runs for this tag. */
void rig_await_run(unsigned tag);

/* Each channel gets a session at the server. */
void rig_warm_up(struct rig *r);

/* Fails if a call has run more than once. */
void rig_check_once(const struct rig *r);

/* Waits for a thread whose last call must have succeeded, and have run once. */
void rig_good(struct rig_caller *c);

/* The nth such line of the trace from now on breaks its QP, and is counted. */
void rig_break(const char *line, unsigned nth);
extern unsigned rig_struck;

#endif
