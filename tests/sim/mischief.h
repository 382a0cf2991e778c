/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Random faults, in a world of some servers and clients. */
#ifndef VC_TESTS_SIM_MISCHIEF_H
#define VC_TESTS_SIM_MISCHIEF_H

#include "tests/sim/sim.h"

#define CAST_SERVERS 2u
#define CAST_CLIENTS 3u

/* Random numbers of the test, independent of the world's. */
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
    struct fake_host *removed; /* has lost its device; at most one host */
};

/* Injects a fault, now or soon: a process is killed or stopped, calls or
 * allocations fail, packets or events are lost, a port goes down. Temporary
 * faults end before this returns, unless they end by themselves. */
void mischief(struct cast *c);

#endif
