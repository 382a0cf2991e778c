/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The threads of a crew (transport/core/crew.h). A hand serves an engine, runs
 * a job, or is idle and waits for an order. All functions are called by crew.c,
 * and by each other, under the crew's lock, on any thread. But vc__crew_kick()
 * needs no lock, and vc__hand_main() runs without it.
 *
 * Called by: crew.c (crew_kick, hands_left, order, put, new, get), hand.c
 * (crew_kick, hands_left, new, main). */
#ifndef VC_TRANSPORT_HAND_H
#define VC_TRANSPORT_HAND_H

#include "transport/core/crew.h"

struct vc__watched {
    struct vc__engine *engine;
    uint64_t seen; /* its `run` at the watcher's last look */
};

/* A thread of the crew. */
struct vc__hand {
    struct vc__crew *crew;
    struct vc__hand *next;
    pthread_t thread;
    struct vc__waiter order;
    struct vc__job *job;       /* to run; NULL: none */
    struct vc__engine *engine; /* to serve; both NULL: the thread is to end */
    bool holds;                /* the thread is the holder already */
    struct cds_list_head node; /* in crew->idle */
};

/* Wakes the holders, which may sleep: handlers may run now, or the crew is to
 * stop. Called when `spent` becomes false (crew_count(), crew_reset()), and by
 * hands_stop(). */
void vc__crew_kick(struct vc__crew *crew);

/* Number of spare threads, idle or not started yet: left for engines whose
 * handlers block, and for jobs. Called by crew_count(), and by crew.c when it
 * chooses the next job, or asks whether a job may begin or threads are
 * short. */
unsigned vc__hands_left(const struct vc__crew *crew);

/* Has a hand that is not in `idle` any more serve the engine (vc__crew_lend(),
 * crew_take(), engines_serve()). e NULL: the thread ends (hands_stop()). If
 * `holds`, the caller was the holder, and the hand's thread is from now on. */
void vc__hand_order(struct vc__hand *h, struct vc__engine *e, bool holds);

/* The hand is idle from now on. Called by hand_rest() on its own thread when
 * its order is done; by crew_take(), which has no use for it; and when the crew
 * starts. */
void vc__hand_put(struct vc__hand *h);

/* Starts a thread. Returns 0 with its hand, which is not idle yet, in *out, or
 * an errno. Called when the crew starts, and by vc__hand_get(). */
int vc__hand_new(struct vc__crew *crew, struct vc__hand **out);

/* Takes an idle hand, or starts a new one; the caller then gives it an order or
 * a job, or puts it back. NULL if neither is possible, or the crew stops.
 * Called by crew.c to lend, take or serve an engine, or to run a job. */
struct vc__hand *vc__hand_get(struct vc__crew *crew);

/* What the thread of a hand (`arg`) runs until the crew stops; returns NULL. In
 * crew.c; vc__hand_new() starts the thread. */
void *vc__hand_main(void *arg);

#endif
