/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One call after the other through its handler. */
#include "rpc/server/server_handler.h"

#include <verbcall/call.h>

#include "rpc/server/server_adapt.h"
#include "rpc/server/server_cancel.h"
#include "rpc/server/server_counts.h"
#include "rpc/server/server_deadline.h"
#include "rpc/server/server_intercept.h"
#include "rpc/server/server_limit.h"
#include "rpc/server/server_link.h"
#include "rpc/server/server_reply.h"
#include "rpc/server/server_shed.h"
#include "rpc/server/server_thread.h"
#include "rpc/server/server_turn.h"
#include "rpc/server/stream_server.h"
#include "rpc/stream/stream_events.h"
#include "transport/core/crew.h"
#include "transport/core/misuse.h"
#include "transport/core/thread.h"

#define TOO_SHORT "less time is left than the handler nearly always takes"

static bool
server_streams(const struct vc_call *call)
{
    return call->method->flags & VC_METHOD_SERVER_STREAM;
}

static ProtobufCMessage *
reply_new(struct vc_call *call)
{
    const ProtobufCMessageDescriptor *desc = call->method->reply.desc;
    ProtobufCMessage *reply =
        vc__arena_alloc(&call->arena, desc->sizeof_message);

    if (reply != NULL)
        protobuf_c_message_init(desc, reply);
    return reply;
}

/* Nobody is there for the reply; who comes back for it sends it again. */
static void
call_skip(struct vc_call *call)
{
    struct vc__call_site site = call->site;

    if (call->counted != 0)
        vc__limit_give(call);
    vc__handle_fini(&call->handle);
    vc__call_release(call);
    vc__server_session_skip(site.session, site.slot);
}

static void
handlers_count(struct vc_call *call, int64_t n)
{
    vc__count(&vc__call_part(call)->progress->engine.ledger,
              VC__COUNT_handlers_running, n);
}

/* Its caller may see our answer before it looks at its own clock, and is to
 * hear of its deadline all the same: handlers take both for a cancellation. */
static bool
ended_by_deadline(const struct vc_call *call, enum vc_status status)
{
    return status == VC_CANCELLED && !call->unwanted &&
           call->site.due <= vc__now();
}

/* The holder. What nobody waits for any more need not be packed. */
static void
call_end(struct vc_call *call, enum vc_status status)
{
    handlers_count(call, -1);
    if (atomic_load_explicit(&call->parent.asked, memory_order_relaxed))
        vc__overload_apart(&vc__call_part(call)->overload);
    if (atomic_load_explicit(&call->watch, memory_order_relaxed) != NULL)
        vc__call_unwatch(call);
    vc__parent_end(&call->parent);
    if (ended_by_deadline(call, status))
        status = vc__call_fault(call, VC_DEADLINE_EXCEEDED,
                                "the handler was cancelled at the deadline");
    if (call->stream != NULL)
        status = vc__stream_server_status(call, status);
    vc__reply_result(call, call->unwanted ? VC_CANCELLED : status);
}

/* The handler was taken over and has ended, or the call was answered later:
 * back on the holder. */
static void
server_handler_call_finish(struct vc__task *task)
{
    struct vc_call *call = caa_container_of(task, struct vc_call, task);

    vc__thread_found(call);
    if (!vc__stream_server_waits(call))
        call_end(call, call->status);
}

/* The call, and the server with it, may be gone when the task has been posted,
 * but not when that has returned. */
void
vc__call_finish(struct vc_call *call)
{
    struct vc__server_part *part = vc__call_part(call);
    struct vc_server *server = part->server;

    vc__server_enter(server);
    vc__engine_post(&part->progress->engine, &call->task);
    vc__server_leave(server);
}

/* --- calls that are answered later ------------------------------------- */

/* Such a call is over when its handler has returned and vc_call_end() was
 * called. True for the one that comes second; the other may not touch it any
 * more. */
#define LATER_RETURNED 1u
#define LATER_ENDED    2u

static bool
later_step(struct vc_call *call, unsigned step)
{
    /* The release of the first pairs with the acquire of the second, which
     * sees all that was written to the call and its reply. */
    unsigned before =
        atomic_fetch_or_explicit(&call->later, step, memory_order_acq_rel);

    if (before & step)
        vc__misuse("vc_call_end() of %s.%s a second time: a call is ended once",
                   call->site.session->opened->entry->service->name,
                   call->method->name);
    return before != 0;
}

enum vc_status
vc_call_later(struct vc_call *call)
{
    vc__must(call, VC__CALL);
    (void)call;
    return VC__LATER;
}

/* Of a stream with callbacks: the call ends behind the last of them. */
static void
callbacks_close(struct vc_call *call)
{
    struct vc_server *server = vc__call_part(call)->server;

    vc__server_enter(server);
    vc__stream_events_close(call->stream);
    vc__server_leave(server);
}

static bool
has_callbacks(const struct vc_call *call)
{
    return call->stream != NULL && call->stream->events != NULL;
}

void
vc_call_end(struct vc_call *call, enum vc_status status)
{
    vc__must(call, VC__CALL);
    if (atomic_load_explicit(&call->later, memory_order_relaxed) & LATER_ENDED)
        later_step(call, LATER_ENDED);
    if (status != VC_OK)
        vc__call_explain(call, status);
    call->status = status;
    if (!later_step(call, LATER_ENDED))
        return;
    if (has_callbacks(call)) {
        callbacks_close(call);
        return;
    }
    call->status = vc__server_intercept_end(call, status);
    vc__call_finish(call);
}

/* The handler has chosen callbacks and returned: they begin. They may end the
 * call before this returns. */
static void
callbacks_begin(struct vc_call *call, enum vc_status status)
{
    struct vc_server *server = vc__call_part(call)->server;

    vc__server_enter(server);
    if (status != VC__LATER) {
        call->status = status;
        vc__stream_events_close(call->stream);
        vc__stream_events_open(call->stream);
    } else {
        vc__stream_events_open(call->stream);
        if (later_step(call, LATER_RETURNED))
            vc__stream_events_close(call->stream);
    }
    vc__server_leave(server);
}

/* --- running ----------------------------------------------------------- */

static enum vc_status
server_handler_run(struct vc_call *call, const struct vc__service_entry *entry)
{
    if (vc__call_part(call)->server->interceptors != NULL)
        return vc__server_intercept_run(call, entry);
    return vc__call_method(call, entry);
}

/* What is left to do on the handler's thread, which may not hold the engine any
 * more: then nothing but the call is ours, and the holder does the rest. Inlined
 * into both who call it: 38 instructions of each call. */
static inline __attribute__((always_inline)) void
handler_returned(struct vc_call *call, enum vc_status status,
                 struct vc__handler_run *handler_run)
{
    struct vc__engine *engine = &vc__call_part(call)->progress->engine;
    bool holds, mine;

    if (has_callbacks(call)) {
        callbacks_begin(call, status);
        vc__engine_resume(handler_run);
        return;
    }
    mine = status != VC__LATER || later_step(call, LATER_RETURNED);
    if (status == VC__LATER && mine)
        status = vc__server_intercept_end(call, call->status);
    holds = vc__engine_resume(handler_run);
    if (!mine)
        return;
    if (holds)
        vc__habit_was_quick(&call->state->habit);
    if (holds && call->stream == NULL) {
        call_end(call, status);
        return;
    }
    call->status = status;
    if (!holds)
        vc__engine_post(engine, &call->task);
    else if (!vc__stream_server_waits(call))
        call_end(call, status);
}

/* It may have waited for a thread so long that it is in vain. VC_OK: not yet. */
static enum vc_status
call_in_vain(struct vc_call *call, uint64_t now)
{
    call->refused = true;
    if (atomic_load(&call->parent.cancelled))
        return vc__call_fault(call, VC_CANCELLED, VC__GIVEN_UP);
    if (call->site.due <= now)
        return vc__call_fault(call, VC_DEADLINE_EXCEEDED, VC__SERVER_LATE);
    if (vc__usual_is_over(&call->state->usual, call->site.due - now))
        return vc__call_fault(call, VC_DEADLINE_EXCEEDED, TOO_SHORT);
    call->refused = false;
    return VC_OK;
}

/* What its method learns of a run. How long it took says nothing if it went by
 * its deadline, and little if the call ends later. */
static void
server_handler_run_learn(struct vc_call *call, enum vc_status status,
                         uint64_t us, bool blocks)
{
    bool asked =
        atomic_load_explicit(&call->parent.asked, memory_order_relaxed);

    if (!asked)
        vc__usual_ran(&call->state->usual, us);
    if (asked || status == VC__LATER)
        vc__adapt_forget(call);
    else
        vc__adapt_ran(call, us);
    vc__habit_ran(&call->state->habit, blocks ? us : 0);
    if (us < VC__HABIT_QUICK_US)
        vc__habit_was_quick(&call->state->habit);
}

/* On a thread of the crew, perhaps after it has waited for one. */
static void
call_run_on_crew(struct vc__job *job, struct vc__handler_run *handler_run)
{
    struct vc_call *call = caa_container_of(job, struct vc_call, job);
    struct vc__service_entry *entry = call->site.session->opened->entry;
    uint64_t now = vc__now();
    enum vc_status status = call_in_vain(call, now);

    if (status == VC_OK) {
        long waits = vc__thread_waits();

        status = server_handler_run(call, entry);
        /* One that has used the processor all the time did not block. */
        server_handler_run_learn(call, status, vc__now() - now,
                                 vc__thread_waits() != waits);
    } else {
        vc__adapt_forget(call);
    }
    handler_returned(call, status, handler_run);
}

/* True when the handler begins on a thread of its own: its method tends to
 * block; or its runs tend to be taken over, and then it would have one more
 * thread than its client may have. */
static bool
call_begins_apart(const struct vc_call *call, const struct vc__engine *engine)
{
    const struct vc__habit *habit = &call->state->habit;

    if (vc__habit_blocks(habit))
        return true;
    return vc__habit_is_long(habit) && engine->crew != NULL &&
           vc__crew_is_short(engine->crew, call->site.session->peer->share);
}

/* While the handler runs the engine may go on without us: nothing but the
 * call is ours then. It holds its session, which holds the entry. */
static void
call_handle(struct vc_call *call, struct vc__service_entry *entry)
{
    struct vc__engine *engine = &vc__call_part(call)->progress->engine;
    struct vc__handler_run *handler_run;

    vc__count(&engine->ledger, VC__COUNT_handlers_started, 1);
    handlers_count(call, 1);
    call->task.run = server_handler_call_finish;
    /* Relaxed: a hint, for a text. */
    call->began = atomic_load_explicit(&engine->looked, memory_order_relaxed);
    if (call_begins_apart(call, engine) &&
        vc__thread_take(call, call_run_on_crew)) {
        vc__overload_apart(&vc__call_part(call)->overload);
        return;
    }
    handler_run = vc__engine_release(engine, &call->state->habit,
                                     call->site.session->peer->share);
    handler_returned(call, server_handler_run(call, entry), handler_run);
}

static uint64_t
handlers_begun(const struct vc_call *call)
{
    return vc__count_get(&vc__call_part(call)->progress->engine.ledger,
                         VC__COUNT_handlers_started);
}

/* --- its turn ----------------------------------------------------------- */

static void call_run(struct vc__task *task);

static void
came_behind_others(struct vc_call *call)
{
    struct vc__server_part *part = vc__call_part(call);
    struct vc__overload *o = &part->overload;

    if (call->site.due != VC__FOREVER && call->site.due > o->clock)
        vc__overload_given(o, call->site.due - o->clock);
    if (o->since != 0)
        call->came = o->clock;
    vc__turn_await(call);
    if (!vc__timer_running(&part->no_turn))
        vc__thread_look(part);
}

void
vc__call_came(struct vc_call *call)
{
    struct vc__overload *o = &vc__call_part(call)->overload;

    call->task.run = call_run;
    call->turn = handlers_begun(call);
    call->came = 0;
    if (o->waiting > 0)
        came_behind_others(call);
    else
        vc__turn_await_first(call);
    vc__overload_came(o, &call->site.session->peer->waiting);
}

/* One that came when nobody knew yet that others are in front of it has waited
 * since then at least. */
static enum vc__count
server_handler_waited(const struct vc__server_part *part,
                      const struct vc_call *call, uint64_t now)
{
    uint64_t since = call->came != 0 ? call->came : part->overload.since;
    uint64_t us = since != 0 ? now - since : 0;

    if (us < 1000)
        return VC__COUNT_waits_below_1ms;
    if (us < 10000)
        return VC__COUNT_waits_below_10ms;
    if (us < 100000)
        return VC__COUNT_waits_below_100ms;
    return us < 1000000 ? VC__COUNT_waits_below_1s : VC__COUNT_waits_longer;
}

/* The rare case, kept out of the way of the others. */
static __attribute__((noinline)) enum vc__overload_verdict
judge_behind_others(struct vc_call *call, struct vc__service_entry *entry)
{
    struct vc__server_part *part = vc__call_part(call);
    const struct vc__overload_call facts = {
        .came = call->came,
        .due = call->site.due,
        .waiting = call->site.session->peer->waiting,
        .usual = &call->state->usual,
        .takeover = part->progress->engine.takeovers,
        .priority = call->parent.priority,
        .exempt = entry->exempt,
    };
    uint64_t now = vc__now();

    vc__engine_handled(&part->progress->engine, now);
    vc__server_count(call->site.session, server_handler_waited(part, call, now),
                     1);
    return vc__overload_judge(&part->overload, now, &facts);
}

/* The clock is asked only if it had to wait for others. */
static enum vc__overload_verdict
call_judge(struct vc_call *call, struct vc__service_entry *entry)
{
    if (handlers_begun(call) != call->turn)
        return judge_behind_others(call, entry);
    return vc__overload_judge_first(&vc__call_part(call)->overload,
                                    call->site.due, &call->state->usual);
}

/* What is not begun, or when there is no memory for its reply, is refused. */
static void
call_turn_down(struct vc_call *call, enum vc__overload_verdict verdict)
{
    switch (verdict) {
    case VC__OVERLOAD_LATE:
        vc__server_count(call->site.session, VC__COUNT_calls_expired, 1);
        vc__reply_refuse(call, VC_DEADLINE_EXCEEDED, VC__SERVER_LATE);
        break;
    case VC__OVERLOAD_SHORT:
        vc__server_count(call->site.session, VC__COUNT_calls_expired, 1);
        vc__reply_refuse(call, VC_DEADLINE_EXCEEDED, TOO_SHORT);
        break;
    case VC__OVERLOAD_SHED:
        vc__shed(call, VC__SHED_QUEUE);
        vc__reply_refuse(call, VC_RESOURCE_EXHAUSTED,
                         "the server is overloaded: try again later");
        break;
    case VC__OVERLOAD_RUN:
        vc__reply_refuse(call, VC_RESOURCE_EXHAUSTED,
                         "the server has no memory for the call");
        break;
    }
}

/* Nobody waits for it any more. */
static void
call_forgo(struct vc_call *call, bool linked)
{
    if (linked)
        vc__reply_refuse(call, VC_CANCELLED, VC__GIVEN_UP);
    else
        call_skip(call);
}

static void
call_run(struct vc__task *task)
{
    struct vc_call *call =
        vc__turn_take(caa_container_of(task, struct vc_call, task));
    struct vc__server_session *session = call->site.session;
    struct vc__service_entry *entry = session->opened->entry;
    bool linked = session->link != NULL, wanted = linked && !call->unwanted;
    enum vc__overload_verdict verdict = VC__OVERLOAD_RUN;

    vc__thread_found(call);
    /* Before it leaves: itself is one of those that wait. */
    if (wanted)
        verdict = call_judge(call, entry);
    vc__overload_left(&session->peer->part->overload, &session->peer->waiting);
    if (!wanted)
        call_forgo(call, linked);
    else if (verdict != VC__OVERLOAD_RUN ||
             (!server_streams(call) && (call->reply = reply_new(call)) == NULL))
        call_turn_down(call, verdict);
    else
        call_handle(call, entry);
}
