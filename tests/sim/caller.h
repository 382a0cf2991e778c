/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A call of Echo on a thread of its own. */
#ifndef VC_TESTS_SIM_CALLER_H
#define VC_TESTS_SIM_CALLER_H

#include <pthread.h>

#include "tests/sim/sim.h"

struct caller {
    struct vc_channel *channel;
    unsigned tag;
    size_t size;
    uint32_t timeout_ms;            /* 0: no deadline */
    struct vc_canceller *canceller; /* or NULL; freed when the call ends */

    pthread_t thread;
    enum vc_status status;
    enum vc_outcome outcome;
    uint64_t ended_at;
};

/* Starts the call. The caller has set the fields down to `canceller`; the
 * others are zero. */
void caller_begin(struct caller *c);
void caller_join(struct caller *c);

#endif
