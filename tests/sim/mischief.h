/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Random faults in a world of some servers and clients. */
#ifndef VC_TESTS_SIM_MISCHIEF_H
#define VC_TESTS_SIM_MISCHIEF_H

#include "tests/sim/sim.h"

#define CAST_SERVERS 2u
#define CAST_CLIENTS 3u

/* The test's own random numbers; the world has its own. */
struct dice {
    uint64_t state;
};

/* Returns 0..n-1. */
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
    struct fake_host *removed; /* the host that lost its device; at most one */
};

/* Causes a fault, now or soon: a process is killed or frozen, a server stops,
 * calls or allocations fail, packets or events are lost, delayed or flushed, a
 * port goes down, a device is removed, a path is cut or clogged or delivers
 * packets twice. Before this returns, frozen processes run again, and ports and
 * networks are up; a path may still deliver packets twice. */
void mischief(struct cast *c);

#endif
