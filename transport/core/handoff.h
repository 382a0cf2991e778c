/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A handler gives the engine away while it runs, and mostly gets it back
 * unchanged. The engine's `run` counts both: it is odd while a handler runs.
 * Then the watcher may make it even, and so becomes the holder. The handler's
 * thread finds out when it wants the engine back, and touches nothing of the
 * engine before.
 *
 * This costs a handler two locked operations on a word of its own engine (36 ns
 * together on the machine where this was written). It needs no lock, no system
 * call and no look at the clock: the watcher sees the same number twice
 * (transport/core/crew.h).
 *
 * May run together: take with everything. The rest belongs to the thread that
 * runs the handler.
 *
 * Called by: crew.c (handler_run_open, handler_run_close, engine_take,
 * run_is_handler), engine.c (handler_run_open, handler_run_close,
 * handler_run_of, handler_run_release, handler_run_resume), rpc/runtime_loop.c
 * (handler_run_of), handoff.c (handler_run_of, handler_run_release,
 * handler_run_resume), error.c (handler_run_inmost). */
#ifndef VC_TRANSPORT_HANDOFF_H
#define VC_TRANSPORT_HANDOFF_H

#include <stdbool.h>
#include <stdint.h>

struct vc__engine;
struct vc__habit;
struct vc__share;

/* A thread's run of an engine's handlers, on the thread's stack. One thread may
 * have runs of several engines: the handler of one waits in another. */
struct vc__handler_run {
    struct vc__engine *engine;
    struct vc__handler_run *outer;
    struct vc__share *share; /* of the handler; NULL: none */
    struct vc__habit *habit; /* of its method; NULL: none */
    uint64_t run;            /* engine->run while the handler runs */
    bool lost;               /* another thread has the engine; the share has
                              * this */
    bool failed;             /* an error was raised since its handler began */
};

/* Called before and after the running of handlers: by engine_run_handlers().
 * The calling thread is the holder, and still is after close unless the handler
 * run is lost: then the share has the thread until close. Also called by
 * job_run() (crew.c), around a handler that begins on a crew thread: that run
 * is lost from the start. */
void vc__handler_run_open(struct vc__handler_run *s, struct vc__engine *e);
void vc__handler_run_close(struct vc__handler_run *s);

/* The calling thread's handler run at e; NULL when it runs no handler of e. Any
 * thread: called by vc__engine_wait(), engine_lend(), vc__engine_catch_up(),
 * vc__engine_release() and vc__runtime_is_within(). */
struct vc__handler_run *vc__handler_run_of(const struct vc__engine *e);

/* The innermost handler run of the calling thread; NULL: it is in no handler.
 * Any thread: error.c asks where an error was raised. */
struct vc__handler_run *vc__handler_run_inmost(void);

/* Within a handler run, on its thread, called by engine.c and, for the two
 * functions of engine.h that it has, by handoff.c. release, in
 * vc__engine_release() or at the end of vc__engine_wait(): the program's code
 * begins, or continues. resume, in vc__engine_resume() or vc__engine_wait():
 * that code has returned, or waits for something of the engine. resume returns
 * true if the calling thread is the holder again; otherwise the handler run is
 * lost and remains so. */
void vc__handler_run_release(struct vc__handler_run *s);
bool vc__handler_run_resume(struct vc__handler_run *s);

/* Makes the caller the holder if engine->run still is `run`; then returns true.
 * For a handler that has run too long with this number: called by crew_take(),
 * on the watcher's thread, under the crew's lock. */
bool vc__engine_take(struct vc__engine *e, uint64_t run);

/* True if a handler runs, by this number. Pure; for the watcher's look. */
static inline bool
vc__run_is_handler(uint64_t run)
{
    return run & 1;
}

#endif
