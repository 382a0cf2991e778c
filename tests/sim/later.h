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
    bool works;                       /* it was begun, by later_serve() */
    enum vc_status status;            /* that they end with */
    atomic_uint us;                   /* after which each is */
    atomic_uint hold, go; /* hold: not before `go`, but for `stop` */
};

/* In the server's process. False when it cannot be started. */
bool later_begin(struct later *l, unsigned us);
/* Ends what is left at once, and the thread. */
void later_end(struct later *l);

/* Has every process of this server begin and end it. */
void later_serve(struct later *l, struct sim_server *s, unsigned us);

/* For a handler: has this call ended; what to return. */
enum vc_status later_take(struct later *l, struct vc_call *call);

#endif
