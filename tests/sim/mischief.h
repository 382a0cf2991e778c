/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Faults at random, in a world of some servers and clients. */
#ifndef VC_TESTS_SIM_MISCHIEF_H
#define VC_TESTS_SIM_MISCHIEF_H

#include "tests/sim/sim.h"

#define CAST_SERVERS 2u
#define CAST_CLIENTS 3u

/* Chance of the test's own, which is not the world's. */
struct dice {
    uint64_t state;
};

/* 0..n-1 */
uint64_t roll(struct dice *d, uint64_t n);

struct cast {
    struct dice dice;
    unsigned n_servers, n_clients;
    struct sim_server servers[CAST_SERVERS];
    struct fake_host *server_hosts[CAST_SERVERS];
    struct {
        struct fake_host *host;
        struct fake_process *process;
    } clients[CAST_CLIENTS];
    struct fake_host *removed; /* has lost its device; one at most */
};

/* Something goes wrong, now or soon: a process is killed or stands still, calls
 * or allocations fail, packets or events are lost, a port goes down. What does
 * not end with it, but is not for ever, ends before this returns. */
void mischief(struct cast *c);

#endif
