/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The library's threads. Each serves an engine, or is free; and one more, the
 * watcher, looks whether a handler keeps an engine for too long, and gives the
 * engine to a thread that is free, or to a new one. When the handler is over,
 * its thread is free.
 *
 * The watcher looks every millisecond or so (transport/core/watch_interval.h), once more
 * 100 us after it saw a handler, and rests when none has run for twenty looks,
 * until one begins.
 *
 * A handler that is expected to block begins on a thread that is free, or waits
 * for one, in turns of clients; no client gets all threads
 * (transport/core/share.h).
 *
 * So that engines go on when all threads there may be are in handlers, no
 * handler begins while fewer are left than there are engines.
 *
 * May run together: lend, begin, withdraw, is_short, return and rouse from any
 * threads. Init, start, stop and fini exclude each other. */
#ifndef VC_TRANSPORT_CREW_H
#define VC_TRANSPORT_CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <urcu/list.h>

#include "transport/core/share.h"
#include "transport/core/waiter.h"

struct vc__engine;
struct vc__hand;

struct vc__crew {
    /* What holders look at. */
    atomic_bool resting; /* the watcher waits to be roused */
    atomic_bool spent;   /* no handler may begin */
    atomic_bool stop;    /* written under the lock */

    pthread_mutex_t lock;
    struct cds_list_head idle;  /* lock; hands that are free */
    struct vc__hand *hands;     /* lock; all */
    struct vc__job_queue queue; /* lock; jobs that wait for a thread */
    unsigned n_working;         /* lock; hands with a job */
    unsigned n, n_idle, max;    /* lock */
    uint64_t retry;             /* lock; no thread is started before */

    /* The watcher's. */
    pthread_t watcher;
    struct vc__waiter rouse;
    struct vc__watched *watched; /* one an engine */
    bool started;                /* for start and stop */
    unsigned n_engines;
};

/* 0 or ENOMEM. The engines are told by vc__crew_watch() before anything runs
 * on them. */
int vc__crew_init(struct vc__crew *crew, unsigned n_engines);
void vc__crew_watch(struct vc__crew *crew, unsigned i, struct vc__engine *e);
void vc__crew_fini(struct vc__crew *crew);

/* Starts a thread for each engine, and the watcher, which starts up to
 * `spares` more, and at least one for each engine. 0 or an errno; then no
 * thread is left, and none has served an engine. */
int vc__crew_start(struct vc__crew *crew, unsigned spares);

/* Waits for handlers that run on them, ends and joins them. */
void vc__crew_stop(struct vc__crew *crew);

/* The holder of e gives it to a thread that is free. False when there is
 * none. */
bool vc__crew_lend(struct vc__crew *crew, struct vc__engine *e);

enum vc__job_begin {
    VC__JOB_BEGINS,
    VC__JOB_WAITS,     /* until a thread is free that its share may have */
    VC__JOB_NO_THREAD, /* there is none for jobs: it is the caller's */
};

/* Has a thread run the job. The holder. */
enum vc__job_begin vc__crew_begin(struct vc__crew *crew, struct vc__job *job);

/* True: the job waited, and will not run. */
bool vc__crew_withdraw(struct vc__crew *crew, struct vc__job *job);

/* Has the share as many threads as it may, or does anybody else's job wait for
 * one? */
bool vc__crew_is_short(struct vc__crew *crew, const struct vc__share *share);

/* A handler of the share is over, which did not hold its engine any more. */
void vc__crew_return(struct vc__crew *crew, struct vc__share *share);

/* A handler begins, and the watcher rests. */
void vc__crew_rouse(struct vc__crew *crew);

#endif
