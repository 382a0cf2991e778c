/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server with slow handlers, clients that call it from many threads, and
 * quick calls at the same time. */
#ifndef VC_TESTS_SIM_HOUSE_H
#define VC_TESTS_SIM_HOUSE_H

#include "tests/sim/sim.h"

#define MS         UINT64_C(1000)
#define S          UINT64_C(1000000)
#define GUEST_MOST 400u
/* The longest delay that a blocking handler may cause others
 * (include/verbcall/server.h); and what a call takes besides, connecting
 * included. */
#define DELAY_US 1000u
#define CALL_US  300u

/* The server; its handlers get it as arg. */
struct house {
    unsigned threads;
    bool stops_first; /* vc_runtime_stop() before the server is freed */
    bool nests_at_home;
    char target[80];
    struct fake_process *process;
    struct vc_runtime *runtime;
    struct vc_channel *behind; /* the handler of Count calls by it */
    char behind_target[80];
    atomic_bool serves;
    atomic_uint end;
    atomic_uint begun, ended; /* runs of the handler of Sleep */
    uint64_t begun_at[2];     /* of the first two runs, us */
};

/* Begins a world with the server in it, and waits until it serves. */
void house_begin(struct house *h, uint64_t seed, unsigned switch_every);
/* Makes the server close, and waits for its end. */
void house_end(struct house *h);
/* Waits until n handlers of Sleep have begun; fails if more have. */
void house_await_begun(struct house *h, unsigned n);
/* Makes n quick calls from the test's process. Each may take at most us
 * microseconds. */
void house_call_quickly(struct house *h, unsigned n, uint64_t us);

/* A client of n threads, which all call once it has connected. */
struct guest {
    struct house *house;
    struct vc_channel *channel;
    struct fake_process *process;
    unsigned n, block_ms;
    bool counts;       /* calls Count instead of Sleep */
    uint32_t phase_us; /* from a first, waking call to the others */
    atomic_uint next;
    enum vc_status status[GUEST_MOST];
    uint64_t took[GUEST_MOST];
};

/* Starts the client on a host with this address; waits for its end. */
void guest_begin(struct guest *g, struct house *h, const char *addr);
void guest_end(struct guest *g);
void guest_expect_all(const struct guest *g, enum vc_status status);

#endif
