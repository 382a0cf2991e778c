/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The library's threads that advance engines and run handlers. Each serves an
 * engine, runs a handler apart (a job), or is free. One more thread, the
 * watcher, finds handlers that keep an engine for too long. It gives the engine
 * to a free thread, or to a new one. When the handler returns, its thread, if
 * it is one of the crew, is free.
 *
 * The watcher looks about every millisecond, but as seldom as every 8 ms where
 * waking it is slow (transport/core/watch_interval.h), and once more 100 us
 * after it saw a new handler. When no handler has run for twenty looks, it
 * rests until one begins.
 *
 * A handler that is expected to block, or likely to lose its engine while its
 * client has its share, begins on a free thread or waits for one; the clients
 * take turns. No client gets all threads
 * (transport/core/share.h).
 *
 * No handler begins while fewer spare threads are left than there are engines.
 * So engines go on when all other threads are in handlers.
 *
 * May run together: lend, begin, withdraw, is_short, return and rouse from any
 * threads; lend and begin by the holder of the engine. Init, watch, start, stop
 * and fini exclude each other. None is called under the crew's lock.
 *
 * Called by: rpc/runtime.c (init, watch, fini), rpc/runtime_threads.c (start,
 * stop), engine.c (lend), rpc/server/server_thread.c (begin, withdraw),
 * rpc/server/server_handler.c (is_short), rpc/server/stream_server.c
 * (is_short), handoff.c (return, rouse). */
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
    /* Read by the engines' holders. */
    atomic_bool resting; /* the watcher sleeps until roused */
    atomic_bool spent;   /* no handler may begin now */
    atomic_bool stop;    /* set under the lock */

    pthread_mutex_t lock;
    struct cds_list_head idle;  /* lock; free hands */
    struct vc__hand *hands;     /* lock; all hands */
    struct vc__job_queue queue; /* lock; jobs that wait for a thread */
    unsigned n_working;         /* lock; hands with a job */
    unsigned n, n_idle, max;    /* lock; hands: all, idle, at most */
    uint64_t retry;             /* lock; no thread is started before then */

    /* Used by the watcher. Other threads read `n_engines` and watched[].engine,
     * which do not change once all engines were added. */
    pthread_t watcher;
    struct vc__waiter rouse;
    struct vc__watched *watched; /* one per engine */
    bool started;                /* for start and stop */
    unsigned n_engines;
};

/* Makes a crew without threads. Returns 0 or ENOMEM. Each engine is then added
 * by vc__crew_watch(), as engine i, before anything runs on it. Both are called
 * inside vc_runtime_new(). */
int vc__crew_init(struct vc__crew *crew, unsigned n_engines);
void vc__crew_watch(struct vc__crew *crew, unsigned i, struct vc__engine *e);
/* Frees a crew that was stopped or never started. Does nothing if
 * vc__crew_init() has failed, or was not called and all bytes are 0. Called by
 * vc_runtime_free(), also for a runtime that vc_runtime_new() could not
 * complete. */
void vc__crew_fini(struct vc__crew *crew);

/* Starts the watcher, and a thread for each engine to serve it. The watcher,
 * lend, begin and return start spare threads when they need them: at most
 * `spares`, or as many as there are engines if that is more. Returns 0 or an
 * errno; with an errno no thread is left, and none has served an engine. Called
 * by runtime_threads_start(), for vc_runtime_start() or a vc_server_listen()
 * while no threads run, on any thread, under the runtime's lock `starting`. */
int vc__crew_start(struct vc__crew *crew, unsigned spares);

/* Waits for handlers that run on the threads, ends the threads and joins them.
 * Does nothing if they were not started. Called by vc_runtime_stop(), without
 * locks and not on one of them. */
void vc__crew_stop(struct vc__crew *crew);

/* Gives e to a free thread, or to a new one, because the holder's handler waits
 * while others are ready. Called by engine_lend(), on the holder, without
 * locks. Returns true if the other thread is the holder now; false if no thread
 * is free and none can be started, or the crew stops: the caller remains the
 * holder. */
bool vc__crew_lend(struct vc__crew *crew, struct vc__engine *e);

enum vc__job_begin {
    VC__JOB_BEGINS,    /* run() is called soon, or runs already */
    VC__JOB_WAITS,     /* until its share may have a thread */
    VC__JOB_NO_THREAD, /* and none will come free: the caller runs it */
};

/* Has a thread run the job, now or later. Called by vc__thread_take()
 * (rpc/server/server_thread.c) for a call whose handler is to begin on a thread
 * of its own, on the holder of job->engine. */
enum vc__job_begin vc__crew_begin(struct vc__crew *crew, struct vc__job *job);

/* Takes a job back. Returns true if it was waiting; then it will not run.
 * Called by rpc/server/server_thread.c on the holder, when the call has waited
 * too long or is no longer wanted. False: a thread runs the job, soon will, or
 * has run it. */
bool vc__crew_withdraw(struct vc__crew *crew, struct vc__job *job);

/* True if the share has as many threads as it may, or if any job waits for a
 * thread, also one of the same share. False while the crew is not started.
 * Called on the holder before a handler begins whose method's runs tend to be
 * taken over; and on a thread, mostly a handler's, that waits to send in a
 * stream whose client takes nothing (server_stalled()). */
bool vc__crew_is_short(struct vc__crew *crew, const struct vc__share *share);

/* A handler of the share has returned that no longer held its engine: puts the
 * share, and starts the next waiting job. Called by vc__handler_run_close() on
 * the handler's thread, which may be the program's own. */
void vc__crew_return(struct vc__crew *crew, struct vc__share *share);

/* Wakes the watcher if it rests; called by vc__handler_run_release(), when a
 * handler begins or goes on after a wait, on the handler's thread. */
void vc__crew_rouse(struct vc__crew *crew);

#endif
