/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A handler gives the engine away while it runs, and mostly finds it where it
 * left it. The engine's `run` counts both: odd while a handler runs. Then
 * anybody may make it even and is the holder; the handler's thread finds out
 * when it wants the engine back, and touches nothing of it before.
 *
 * It costs a handler two locked operations on a word of its own engine (36 ns
 * together on the machine where this was written), and no lock, no system call, no look at the clock: whoever
 * watches sees the same number twice (transport/core/crew.h).
 *
 * May run together: take with everything. The rest belongs to the thread that
 * runs the handler. */
#ifndef VC_TRANSPORT_HANDOFF_H
#define VC_TRANSPORT_HANDOFF_H

#include <stdbool.h>
#include <stdint.h>

struct vc__engine;
struct vc__share;

/* A thread's turn at an engine's handlers, on its stack. One thread may have
 * turns at several engines: the handler of one waits in another. */
struct vc__handler_run {
    struct vc__engine *engine;
    struct vc__handler_run *outer;
    struct vc__share *share; /* whose handler it is; NULL: nobody's */
    uint64_t run;            /* the engine's, while the handler runs */
    bool lost;               /* the engine is another's; the share holds it */
    bool failed;             /* an error came up since its handler began */
};

/* Around the running of handlers. The calling thread is the holder, and still
 * is after close unless the handler run is lost: then the share has a thread until
 * there. */
void vc__handler_run_open(struct vc__handler_run *s, struct vc__engine *e);
void vc__handler_run_close(struct vc__handler_run *s);

/* The calling thread's handler run at e; NULL when it runs no handler of e. */
struct vc__handler_run *vc__handler_run_of(const struct vc__engine *e);

/* The innermost one of the calling thread; NULL: it is in no handler. */
struct vc__handler_run *vc__handler_run_inmost(void);

/* Within a handler run: the program's code begins, or goes on; it is over, or waits
 * for something of the engine. resume says whether the calling thread is the
 * holder again; if it is not, the handler run is lost and remains so. */
void vc__handler_run_release(struct vc__handler_run *s);
bool vc__handler_run_resume(struct vc__handler_run *s);

/* A handler has run for too long with this number: makes the caller the
 * holder, if it still does. */
bool vc__engine_take(struct vc__engine *e, uint64_t run);

static inline bool
vc__run_is_handler(uint64_t run)
{
    return run & 1;
}

#endif
