/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A process that refuses everybody, for one reason, or accepts in a way that is
 * none of Verbcall. */
#ifndef VC_TESTS_SIM_REFUSER_H
#define VC_TESTS_SIM_REFUSER_H

#include "cm/connect/hello.h"
#include "tests/sim/sim.h"

struct refuser {
    unsigned reason; /* 0: no words of Verbcall */
    bool accepts;    /* with these */
    uint32_t retry_ms;
    atomic_uint listens, refused, stop;
    struct fake_process *process;
};

/* At SIM_PORT of this host; waits until it listens. */
void refuser_start(struct refuser *r, struct fake_host *host);
void refuser_stop(struct refuser *r);

#endif
