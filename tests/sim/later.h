/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread of a server's program that ends calls which their handlers have
 * left open. */
#ifndef VC_TESTS_SIM_LATER_H
#define VC_TESTS_SIM_LATER_H

#include <pthread.h>

#include "tests/sim/sim.h"

#define LATER_MAX 4096u

struct later {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct vc_call *calls[LATER_MAX]; /* lock; those to end next */
    unsigned n, at;                   /* lock */
    bool stop;                        /* lock */
    bool works;                       /* true: begun by later_serve() */
    enum vc_status status;            /* with which the calls end */
    atomic_uint us;                   /* delay before each end */
    atomic_uint hold, go;             /* hold: not before `go` or `stop` */
};

/* Starts the thread, in the server's process. False if that fails. */
bool later_begin(struct later *l, unsigned us);
/* Ends the remaining calls at once, and then the thread. */
void later_end(struct later *l);

/* Makes every process of this server begin and end it. */
void later_serve(struct later *l, struct sim_server *s, unsigned us);

/* For a handler: leaves this call for the thread to end. Returns the value that
 * the handler must return. */
enum vc_status later_take(struct later *l, struct vc_call *call);

#endif
