/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A runtime in a program's own event loop: one epoll descriptor covers the
 * descriptors of all engines, and their timers. One thread at a time, that of
 * the loop, or of vc_runtime_free(); vc__runtime_is_within(): any thread. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "rpc/runtime.h"
#include "transport/core/clock.h"
#include "transport/core/error.h"
#include "transport/core/handoff.h"

#define EVENTS 16

/* Called by the first vc_runtime_fd(). Returns 0, or an errno: then there is no
 * loop_fd, and the next vc_runtime_fd() tries again. */
static int
loop_make(struct vc_runtime *r)
{
    int err = 0;

    r->loop_fd = epoll_create1(EPOLL_CLOEXEC);
    if (r->loop_fd < 0)
        return errno;
    for (unsigned i = 0; i < r->n && err == 0; i++)
        err = vc__engine_watch(&r->progress[i].engine, r->loop_fd);
    if (err == 0)
        return 0;
    vc__runtime_loop_fini(r);
    return err;
}

void
vc__runtime_loop_fini(struct vc_runtime *r)
{
    if (r->loop_fd >= 0)
        close(r->loop_fd);
    r->loop_fd = -1;
}

/* Also called by vc_runtime_poll(). */
int
vc_runtime_fd(struct vc_runtime *r)
{
    int err;

    if (!vc__good(r, VC__RUNTIME)) {
        vc__bad(r, VC__RUNTIME);
        return -1;
    }
    err = r->loop_fd < 0 ? loop_make(r) : 0;
    if (err != 0)
        vc__fail(VC_RESOURCE_EXHAUSTED,
                 "no file descriptors for the runtime's loop: %s; raise ulimit "
                 "-n",
                 strerror(err));
    return r->loop_fd;
}

/* For vc_runtime_poll(): waits up to ms milliseconds (-1: for ever) and runs
 * one turn of each engine that has something to do, of 16 at most. Returns true
 * if an engine did something. */
static bool
runtime_loop_turn(struct vc_runtime *r, int ms)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(r->loop_fd, events, EVENTS, ms);
    bool did = false;

    for (int i = 0; i < n; i++)
        did |= vc__engine_turn(events[i].data.ptr);
    return did;
}

bool
vc__runtime_is_within(const struct vc_runtime *r)
{
    for (unsigned i = 0; i < r->n; i++)
        if (vc__handler_run_of(&r->progress[i].engine) != NULL)
            return true;
    return false;
}

enum vc_status
vc_runtime_poll(struct vc_runtime *r, uint32_t timeout_ms)
{
    uint64_t until = vc__due(vc__now(), timeout_ms);
    int ms;

    if (!vc__good(r, VC__RUNTIME))
        return vc__bad(r, VC__RUNTIME);
    if (vc__runtime_is_within(r))
        return vc__fail(VC_FAILED_PRECONDITION,
                        "vc_runtime_poll() within a handler or done(): return "
                        "from it, or make a blocking call");
    if (vc_runtime_fd(r) < 0)
        return VC_RESOURCE_EXHAUSTED;
    do {
        ms = vc__ms_left(vc__now(), until);
        if (runtime_loop_turn(r, ms))
            return VC_OK;
    } while (ms != 0);
    return vc__fail(VC_DEADLINE_EXCEEDED, "no work was ready within %u ms",
                    timeout_ms);
}
