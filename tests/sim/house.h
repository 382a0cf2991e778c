/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server whose handlers take long, clients that call it from many threads,
 * and quick calls of other clients. */
#ifndef VC_TESTS_SIM_HOUSE_H
#define VC_TESTS_SIM_HOUSE_H

#include "tests/sim/sim.h"

#define MS         UINT64_C(1000)
#define S          UINT64_C(1000000)
#define GUEST_MOST 400u
/* How long a handler may delay other calls (include/verbcall/server.h), and how
 * long a call takes in addition, connecting included. */
#define DELAY_US 1000u
#define CALL_US  300u

/* The server; its handlers find it by arg. */
struct house {
    unsigned threads;
    bool stops_first; /* true: the threads end before the server */
    bool nests_at_home;
    char target[80];
    struct fake_process *process;
    struct vc_runtime *runtime;
    struct vc_channel *behind; /* the handler of Count calls it */
    char behind_target[80];
    atomic_bool serves;
    atomic_uint end;
    atomic_uint begun, ended; /* handlers of Sleep */
    uint64_t begun_at[2];     /* the first of them */
};

/* Begins a world with the server in it, and waits until it serves. */
void house_begin(struct house *h, uint64_t seed, unsigned switch_every);
/* Has the server close, and waits for it. */
void house_end(struct house *h);
/* Waits until n handlers of Sleep have begun, and checks that no more have. */
void house_await_begun(struct house *h, unsigned n);
/* Makes n quick calls from this process; none may take longer than us. */
void house_call_quickly(struct house *h, unsigned n, uint64_t us);

/* A client of n threads, which call as soon as it has connected. */
struct guest {
    struct house *house;
    struct vc_channel *channel;
    struct fake_process *process;
    unsigned n, block_ms;
    bool counts;       /* true: calls Count */
    uint32_t phase_us; /* from a call that wakes the server to the rest */
    atomic_uint next;
    enum vc_status status[GUEST_MOST];
    uint64_t took[GUEST_MOST];
};

/* Begin the client at the address, and wait for its end. */
void guest_begin(struct guest *g, struct house *h, const char *addr);
void guest_end(struct guest *g);
void guest_expect_all(const struct guest *g, enum vc_status status);

#endif
