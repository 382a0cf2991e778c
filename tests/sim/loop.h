/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A program's own event loop around a runtime without threads: only poll() on
 * the runtime's descriptor advances it. */
#ifndef VC_TESTS_SIM_LOOP_H
#define VC_TESTS_SIM_LOOP_H

#include <pthread.h>

#include "tests/sim/sim.h"

struct loop {
    struct vc_runtime *runtime;
    int wake;       /* an eventfd of the program */
    unsigned wakes; /* times the runtime's descriptor was readable */
    atomic_uint over;
    pthread_t thread;
};

void loop_open(struct loop *l, struct vc_runtime *runtime);
void loop_close(struct loop *l);

/* Runs the loop until *word is set, for us microseconds at most. Returns false
 * if *word is not set. */
bool loop_until(struct loop *l, atomic_uint *word, uint64_t us);

/* The same on a thread of its own, between these two. */
void loop_start(struct loop *l, struct vc_runtime *runtime);
void loop_stop(struct loop *l);

#endif
