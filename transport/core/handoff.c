/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/handoff.h; vc__engine_release() and resume() are in
 * engine.h. */
#include "transport/core/handoff.h"

#include <stddef.h>

#include "transport/core/crew.h"
#include "transport/core/engine.h"
#include "transport/core/thread.h"

/* Eight bytes of static TLS, which a library may have even when it is loaded
 * later: each call looks here several times. */
static _Thread_local struct vc__handler_run *inmost
    __attribute__((tls_model("initial-exec")));
/* The thread's ID, as of gettid(2); 0: not asked yet. */
static _Thread_local int number __attribute__((tls_model("initial-exec")));

void
vc__handler_run_open(struct vc__handler_run *s, struct vc__engine *e)
{
    s->engine = e;
    s->share = NULL;
    s->habit = NULL;
    s->lost = s->failed = false;
    if (number == 0)
        number = vc__thread_number();
    /* Relaxed: a hint for the watcher. */
    atomic_store_explicit(&e->runner, number, memory_order_relaxed);
    s->outer = inmost;
    inmost = s;
}

void
vc__handler_run_close(struct vc__handler_run *s)
{
    inmost = s->outer;
    if (s->lost && s->share != NULL)
        vc__crew_return(s->engine->crew, s->share);
}

struct vc__handler_run *
vc__handler_run_of(const struct vc__engine *e)
{
    struct vc__handler_run *s = inmost;

    while (s != NULL && s->engine != e)
        s = s->outer;
    return s;
}

struct vc__handler_run *
vc__handler_run_inmost(void)
{
    return inmost;
}

void
vc__handler_run_release(struct vc__handler_run *s)
{
    struct vc__engine *e = s->engine;

    if (s->lost)
        return;
    /* Only the holder, this thread, writes `run` while it is even. */
    s->run = atomic_load_explicit(&e->run, memory_order_relaxed) + 1;
    /* Releases what the holder did to vc__engine_take(). Sequentially
     * consistent, as are the load of `resting` and their counterparts in
     * crew_rest(): either the watcher sees the handler before it rests, or this
     * thread sees that it rests. Without that a handler that blocks could keep
     * the engine for ever. */
    atomic_store(&e->run, s->run);
    if (e->crew != NULL && atomic_load(&e->crew->resting))
        vc__crew_rouse(e->crew);
}

bool
vc__handler_run_resume(struct vc__handler_run *s)
{
    unsigned long long run = s->run;

    if (!s->lost &&
        !atomic_compare_exchange_strong(&s->engine->run, &run, run + 1))
        s->lost = true;
    return !s->lost;
}

struct vc__handler_run *
vc__engine_release(struct vc__engine *e, struct vc__habit *habit,
                   struct vc__share *share)
{
    struct vc__handler_run *s = vc__handler_run_of(e);

    s->failed = false;
    if (s->lost)
        return s;
    e->habit = s->habit = habit;
    e->share = s->share = share;
    vc__handler_run_release(s);
    return s;
}

bool
vc__engine_resume(struct vc__handler_run *s)
{
    return vc__handler_run_resume(s);
}

bool
vc__engine_take(struct vc__engine *e, uint64_t run)
{
    unsigned long long seen = run;

    /* Acquire: pairs with the store in vc__handler_run_release(); without it
     * the new holder could miss what the old one did. */
    return atomic_compare_exchange_strong(&e->run, &seen, seen + 1);
}
