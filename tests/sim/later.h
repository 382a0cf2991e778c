/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread of a server's program that ends calls which their handlers have left
 * open. */
#ifndef VC_TESTS_SIM_LATER_H
#define VC_TESTS_SIM_LATER_H

#include <pthread.h>

#include "tests/sim/sim.h"

#define LATER_MAX 4096u

struct later {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct vc_call *calls[LATER_MAX]; /* lock; calls to end, in this order */
    unsigned n, at;                   /* lock */
    bool stop;                        /* lock */
    bool works;                       /* later_serve() has started the thread */
    enum vc_status status;            /* of the calls that it ends */
    atomic_uint us;                   /* delay before each call is ended */
    atomic_uint hold, go;             /* hold: wait for `go`, unless `stop` */
};

/* Starts the thread, in the server's process. Returns false if that fails. */
bool later_begin(struct later *l, unsigned us);
/* Ends the remaining calls at once, and then the thread. */
void later_end(struct later *l);

/* Makes each process of this server start and end the thread. */
void later_serve(struct later *l, struct sim_server *s, unsigned us);

/* For a handler: hands the call over. The handler returns the result. */
enum vc_status later_take(struct later *l, struct vc_call *call);

#endif
