/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A process that rejects all clients for one reason, or accepts them in a way
 * that is not Verbcall's. */
#ifndef VC_TESTS_SIM_REFUSER_H
#define VC_TESTS_SIM_REFUSER_H

#include "cm/connect/hello.h"
#include "tests/sim/sim.h"

struct refuser {
    unsigned reason; /* 0: private data that is not Verbcall's */
    bool accepts;    /* accepts instead, with such data */
    uint32_t retry_ms;
    atomic_uint listens, refused, stop;
    struct fake_process *process;
};

/* Starts the process at SIM_PORT of this host; waits until it listens. */
void refuser_start(struct refuser *r, struct fake_host *host);
void refuser_stop(struct refuser *r);

#endif
