/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A program's own loop around a runtime without threads: it uses poll() on the
 * runtime's descriptor, and no other thread advances the runtime. */
#ifndef VC_TESTS_SIM_LOOP_H
#define VC_TESTS_SIM_LOOP_H

#include <pthread.h>

#include "tests/sim/sim.h"

struct loop {
    struct vc_runtime *runtime;
    int wake;       /* an eventfd of the program */
    unsigned wakes; /* times that the runtime's descriptor was readable */
    atomic_uint over;
    pthread_t thread;
};

void loop_open(struct loop *l, struct vc_runtime *runtime);
void loop_close(struct loop *l);

/* Runs the loop until *word is set, or for us microseconds; false if *word is
 * not set then. */
bool loop_until(struct loop *l, atomic_uint *word, uint64_t us);

/* The same on a thread of its own, until loop_stop(). */
void loop_start(struct loop *l, struct vc_runtime *runtime);
void loop_stop(struct loop *l);

#endif
