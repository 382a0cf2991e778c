/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The threads of a crew (transport/core/crew.h). A hand serves an engine, runs
 * a job, or is idle and waits for an order. All functions are called under the
 * crew's lock, on any thread. But vc__crew_kick() needs no lock, and
 * vc__hand_main() runs without it.
 *
 * Called by: crew.c (crew_kick, hands_left, order, put, new, get), hand.c
 * (main). */
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
 * stop. */
void vc__crew_kick(struct vc__crew *crew);

/* Spare threads, started or not: left for engines whose handlers block. */
unsigned vc__hands_left(const struct vc__crew *crew);

/* Has an idle hand serve the engine, which it holds already if `holds`; NULL:
 * the hand ends. */
void vc__hand_order(struct vc__hand *h, struct vc__engine *e, bool holds);

/* The hand is idle from now on. */
void vc__hand_put(struct vc__hand *h);

/* Returns 0 with a new hand in *out, or an errno. */
int vc__hand_new(struct vc__crew *crew, struct vc__hand **out);

/* Takes an idle hand, or starts a new one; NULL if neither is possible. */
struct vc__hand *vc__hand_get(struct vc__crew *crew);

/* What the thread of a hand runs; in crew.c. */
void *vc__hand_main(void *arg);

#endif
