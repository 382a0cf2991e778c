/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Starts and stops a runtime's threads. vc_server_listen() and
 * vc_runtime_start() start them, unless they run or the option threads is
 * VC_THREADS_NONE; they run until vc_runtime_stop(). For what they do see transport/core/crew.h. Any thread;
 * vc_runtime_stop() not from a handler or done(), and on one thread at a
 * time. */
#include <string.h>

#include "rpc/runtime.h"
#include "transport/core/error.h"
#include "transport/core/misuse.h"

/* Called by vc_runtime_start() and vc__runtime_serve(). VC_OK, also if the
 * threads run already; VC_FAILED_PRECONDITION while they are being stopped;
 * VC_RESOURCE_EXHAUSTED if one cannot be started. Handlers may call
 * vc_server_listen(), too. So the thread in vc_runtime_stop() does not hold the
 * lock while it waits for handlers. */
static enum vc_status
runtime_threads_start(struct vc_runtime *r)
{
    enum vc__threads were;
    int err = 0;

    pthread_mutex_lock(&r->starting);
    were = r->threads;
    if (were == VC__THREADS_STOPPED)
        err = vc__crew_start(&r->crew, r->handler_threads);
    if (were == VC__THREADS_STOPPED && err == 0)
        r->threads = VC__THREADS_RUN;
    pthread_mutex_unlock(&r->starting);
    if (were == VC__THREADS_STOP)
        return vc__fail(VC_FAILED_PRECONDITION,
                        "vc_runtime_stop() is ending the threads of this "
                        "runtime: start them when it has returned");
    if (err == 0)
        return VC_OK;
    return vc__fail(VC_RESOURCE_EXHAUSTED,
                    "cannot start the runtime's threads (option threads: %u, "
                    "and one that watches them): %s; raise ulimit -u or the "
                    "container's limit of processes",
                    r->n, strerror(err));
}

enum vc_status
vc_runtime_start(struct vc_runtime *r)
{
    if (!vc__good(r, VC__RUNTIME))
        return vc__bad(r, VC__RUNTIME);
    if (!r->polls_itself)
        return runtime_threads_start(r);
    return vc__fail(VC_FAILED_PRECONDITION,
                    "the runtime's option threads is VC_THREADS_NONE, so it "
                    "has no threads to start: call vc_runtime_poll() in the "
                    "program's own loop, or set threads to 1 or more");
}

enum vc_status
vc__runtime_serve(struct vc_runtime *r)
{
    return r->polls_itself ? VC_OK : runtime_threads_start(r);
}

/* Called by vc_runtime_stop(). Returns true if the caller must stop the
 * threads, and marks them as being stopped; false if none run, or another
 * thread stops them. */
static bool
stop_begin(struct vc_runtime *r)
{
    bool ran;

    pthread_mutex_lock(&r->starting);
    ran = r->threads == VC__THREADS_RUN;
    if (ran)
        r->threads = VC__THREADS_STOP;
    pthread_mutex_unlock(&r->starting);
    return ran;
}

/* Called by vc_runtime_stop() when the threads have ended: they may be started
 * again. */
static void
stop_end(struct vc_runtime *r)
{
    pthread_mutex_lock(&r->starting);
    r->threads = VC__THREADS_STOPPED;
    pthread_mutex_unlock(&r->starting);
}

/* Also called by vc_runtime_free(). At last, also if no threads ran, runs the
 * tasks that were posted to engines without a holder, on this thread. */
void
vc_runtime_stop(struct vc_runtime *r)
{
    vc__must(r, VC__RUNTIME);
    if (vc__runtime_is_within(r))
        vc__misuse("vc_runtime_stop() within a handler or done() would wait "
                   "for itself: call it elsewhere");
    if (stop_begin(r)) {
        vc__crew_stop(&r->crew);
        stop_end(r);
    }
    /* Handles results of handlers that ended after the engines' holders had. */
    for (unsigned i = 0; i < r->n; i++)
        vc__engine_settle(&r->progress[i].engine);
}
