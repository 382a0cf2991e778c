/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/server_thread.h. The holder of the engine only. */
#include "rpc/server/server_thread.h"

#include <verbcall/call.h>

#include "rpc/server/server_adapt.h"
#include "rpc/server/server_counts.h"
#include "rpc/server/server_handler.h"
#include "rpc/server/server_reply.h"
#include "rpc/server/server_shed.h"
#include "rpc/server/server_turn.h"

/* Returns the call's engine. Called by the functions of this file. */
static struct vc__engine *
server_thread_engine_of(const struct vc_call *call)
{
    return &vc__call_part(call)->progress->engine;
}

/* Ends a call whose job will not run: the call's task runs after the engine's
 * present batch of work. Called by vc__thread_take(), on_no_thread() and
 * vc__thread_forgo(). */
static void
job_end(struct vc_call *call, enum vc_status status, const char *text)
{
    vc__adapt_forget(call);
    call->refused = true;
    call->status = vc__call_fault(call, status, "%s", text);
    vc__engine_defer(server_thread_engine_of(call), &call->task);
}

/* Starts the call's timer, which runs fire() when the call has waited too long.
 * Without memory for the timer a call that waits for a thread waits until one
 * is free; a call that waits for its turn gets a timer at the next look. Called
 * by vc__thread_take() and await_turn(). */
static void
thread_wait_start(struct vc_call *call, void (*fire)(struct vc__timer *timer))
{
    uint64_t now = vc__now(),
             left = call->site.due > now ? call->site.due - now : 0;

    vc__timer_start(&server_thread_engine_of(call)->timers, &call->overdue,
                    now + vc__overload_thread_wait(&call->state->usual, left),
                    fire);
}

/* --- a thread of its own -------------------------------------------------- */

#define NO_THREAD                                                              \
    "the limit of handler threads is reached (handler_threads), for this "     \
    "client or in all, and none became free in time: try again later"

#define TOO_MANY                                                               \
    "too many handlers of the method wait at a time (adaptive_limit): try "    \
    "again later"

/* The timer of a call that waits for a thread, started by vc__thread_take():
 * sheds it, unless the crew has found a thread meanwhile. */
static void
on_no_thread(struct vc__timer *timer)
{
    struct vc_call *call = caa_container_of(timer, struct vc_call, overdue);

    if (!vc__crew_withdraw(server_thread_engine_of(call)->crew, &call->job))
        return;
    vc__shed(call, VC__SHED_THREADS);
    job_end(call, VC_RESOURCE_EXHAUSTED, NO_THREAD);
}

bool
vc__thread_take(struct vc_call *call,
                void (*run)(struct vc__job *job,
                            struct vc__handler_run *handler_run))
{
    struct vc__engine *engine = server_thread_engine_of(call);

    if (engine->crew == NULL)
        return false;
    if (!vc__adapt_take(call)) {
        vc__shed(call, VC__SHED_ADAPTIVE);
        job_end(call, VC_RESOURCE_EXHAUSTED, TOO_MANY);
        return true;
    }
    call->job.run = run;
    call->job.engine = engine;
    call->job.share = call->site.session->peer->share;
    switch (vc__crew_begin(engine->crew, &call->job)) {
    case VC__JOB_WAITS:
        thread_wait_start(call, on_no_thread);
        break;
    case VC__JOB_NO_THREAD:
        vc__adapt_forget(call);
        return false;
    case VC__JOB_BEGINS:
        break;
    }
    vc__count(&engine->ledger, VC__COUNT_handlers_apart, 1);
    return true;
}

void
vc__thread_forgo(struct vc_call *call)
{
    struct vc__crew *crew = server_thread_engine_of(call)->crew;

    if (crew != NULL && vc__timer_running(&call->overdue) &&
        vc__crew_withdraw(crew, &call->job))
        job_end(call, VC_CANCELLED, VC__GIVEN_UP);
}

/* --- its turn ------------------------------------------------------------- */

/* The time from one look to the next whether handlers may begin at all. */
#define LOOK_US 100000u

#define NO_TURN                                                                \
    "the limit of handler threads is reached (handler_threads), and none "     \
    "became free in time: try again later"

/* The timer of a call that waits for its turn, started by await_turn(): sheds
 * it. */
static void
on_no_turn(struct vc__timer *timer)
{
    struct vc_call *call = caa_container_of(timer, struct vc_call, overdue);

    vc__turn_leave(call);
    vc__shed(call, VC__SHED_THREADS);
    vc__reply_refuse(call, VC_RESOURCE_EXHAUSTED, NO_TURN);
}

/* Starts the timer of on_no_turn() for a waiting call that has none and may be
 * shed. Called by all_await(). */
static void
await_turn(struct vc_call *call)
{
    if (!vc__timer_running(&call->overdue) &&
        !call->site.session->opened->entry->exempt)
        thread_wait_start(call, on_no_turn);
}

/* No handler may begin: starts a timer for each waiting call that has none.
 * Called by server_thread_on_look(). */
static void
all_await(struct vc__server_part *part)
{
    struct vc__server_peer *peer;
    struct vc_call *call;

    if (part->first != NULL)
        await_turn(part->first);
    cds_list_for_each_entry (peer, &part->turns, turn) {
        cds_list_for_each_entry (call, &peer->queue, queue_node)
            await_turn(call);
    }
}

/* The timer of vc__thread_look(): checks whether handlers may begin, and starts
 * itself again while calls wait for their turn. */
static void
server_thread_on_look(struct vc__timer *timer)
{
    struct vc__server_part *part =
        caa_container_of(timer, struct vc__server_part, no_turn);
    const struct vc__crew *crew = part->progress->engine.crew;

    if (part->overload.waiting == 0)
        return;
    if (crew != NULL && atomic_load(&crew->spent))
        all_await(part);
    vc__thread_look(part);
}

void
vc__thread_look(struct vc__server_part *part)
{
    if (!part->closing)
        vc__timer_start(&part->progress->engine.timers, &part->no_turn,
                        vc__now() + LOOK_US, server_thread_on_look);
}
