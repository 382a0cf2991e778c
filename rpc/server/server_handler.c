/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs the handlers of calls: on the holder of the engine one after the other,
 * on threads of the crew several at a time. See rpc/server/server_handler.h.
 * All of this file runs on the holder, with these exceptions.
 *
 * The handler's thread has released the engine, or is one of the crew. It runs
 * server_handler_run(), handler_returned(), callbacks_begin(), and
 * call_run_on_crew() with its call_in_vain() and server_handler_run_learn(). In
 * handler_returned() it may be the holder again once it has resumed the engine.
 *
 * The program calls vc_call_later() in a handler, and vc_call_end() on any
 * thread. vc__call_finish() and all that vc_call_end() calls run on any thread,
 * too. */
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

#define TOO_SHORT                                                              \
    "the deadline would pass before the handler ends, judged by its earlier "  \
    "runs: raise the timeout"

/* True if the server streams: the call has no reply message. Asked by
 * call_run(). */
static bool
server_streams(const struct vc_call *call)
{
    return call->method->flags & VC_METHOD_SERVER_STREAM;
}

/* Returns the reply that the handler fills in, in the call's arena; NULL
 * without memory. Called by call_run(). */
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

/* Forgets a call whose session has lost its link, or was closed: if the session
 * gets a new link, its client sends the call again. Called by call_forgo(). May
 * free the session and the peer. */
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

/* Adds n to the counter of handlers that run: 1 in call_handle(), -1 in
 * call_end(). */
static void
handlers_count(struct vc_call *call, int64_t n)
{
    vc__count(&vc__call_part(call)->progress->engine.ledger,
              VC__COUNT_handlers_running, n);
}

/* Asked by call_end(): true if a handler was cancelled by the deadline, as
 * handlers do not tell that from a cancel by the client. The caller may get
 * this reply before it looks at its own clock, and must see DEADLINE_EXCEEDED
 * all the same. */
static bool
ended_by_deadline(const struct vc_call *call, enum vc_status status)
{
    return status == VC_CANCELLED && !call->unwanted &&
           call->site.due <= vc__now();
}

/* Answers a call that has ended; may free it. No reply is packed if no client
 * waits for it. Called by handler_returned(), if its thread is the holder
 * again, else by server_handler_call_finish(). */
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

/* The call's task once its turn was taken, on the holder: the call has ended,
 * and is answered, or waits until a long message of its stream was sent. Posted
 * by handler_returned() if its thread is not the holder, by vc__call_finish(),
 * or by a stream when its long message was sent or lost. Deferred by job_end(),
 * for a call that gets no thread. */
static void
server_handler_call_finish(struct vc__task *task)
{
    struct vc_call *call = caa_container_of(task, struct vc_call, task);

    vc__thread_found(call);
    if (!vc__stream_server_waits(call))
        call_end(call, call->status);
}

/* Once the task is posted, the call may be freed, and the server closed; but
 * the server stays until vc__engine_post() has returned. */
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
 * called. */
#define LATER_RETURNED 1u
#define LATER_ENDED    2u

/* Notes one of the two steps. True for the second one, which ends the call;
 * after the first one the caller must not touch the call any more. Aborts if
 * the program ends a call twice. Called by vc_call_end() on any thread, and by
 * handler_returned() and callbacks_begin() on the handler's. */
static bool
later_step(struct vc_call *call, unsigned step)
{
    /* The release of the first step pairs with the acquire of the second, which
     * sees all that was written to the call and its reply. */
    unsigned before =
        atomic_fetch_or_explicit(&call->later, step, memory_order_acq_rel);

    if (before & step)
        vc__misuse("vc_call_end() of %s.%s a second time: a call is ended once",
                   call->site.session->opened->entry->service->name,
                   call->method->name);
    return before != 0;
}

/* Called in the handler, also by vc_stream_serve() and rpc/protobuf_c. Only
 * returns VC__LATER, which the handler must return. */
enum vc_status
vc_call_later(struct vc_call *call)
{
    vc__must(call, VC__CALL);
    (void)call;
    return VC__LATER;
}

/* For a stream with callbacks: only on_end() is left, and the call ends after
 * it. Called by vc_call_end() when the handler has returned, too. */
static void
callbacks_close(struct vc_call *call)
{
    struct vc_server *server = vc__call_part(call)->server;

    vc__server_enter(server);
    vc__stream_events_close(call->stream);
    vc__server_leave(server);
}

/* True if the handler has chosen callbacks for its stream: the call then ends
 * after the last of them. Asked by handler_returned(), on the handler's thread,
 * and by vc_call_end(), on any thread. */
static bool
has_callbacks(const struct vc_call *call)
{
    return call->stream != NULL && call->stream->events != NULL;
}

/* Called by the program, by rpc/protobuf_c and by watcher_run()
 * (rpc/services/health.c). Ends the call, or the stream's callbacks, if the
 * handler has returned; else handler_returned() does that. */
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

/* The handler has chosen callbacks and returned: starts them. If it did not
 * return VC__LATER, only on_end() is left. They may end the call before this
 * returns. Called by handler_returned() before it resumes the engine. */
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

/* Runs the handler, within the server's interceptors if it has any. Called by
 * call_handle(), on the holder, which has released the engine, or by
 * call_run_on_crew(), on a thread of the crew. Returns the call's status, or
 * VC__LATER. */
static enum vc_status
server_handler_run(struct vc_call *call, const struct vc__service_entry *entry)
{
    if (vc__call_part(call)->server->interceptors != NULL)
        return vc__server_intercept_run(call, entry);
    return vc__call_method(call, entry);
}

/* Resumes the engine and ends the call, unless vc_call_end() or a callback
 * will: answers it (a stream's once its last message is sent), or posts its
 * task if another thread is the holder. Called by call_handle() and
 * call_run_on_crew(), after the handler or in its place. Inlined into both:
 * that saves 38 instructions per call. */
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

/* Called by call_run_on_crew(): checks whether the call was cancelled, or has
 * waited for a thread so long that it is not worth running. VC_OK: run it. Else
 * returns the status to end it with; the call has the text. */
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

/* Called by call_run_on_crew(): updates what is known of the method, whose
 * handler took `us`, and gives its place in the adaptive limit back. The time
 * says nothing if the handler has asked for its deadline, and little if the
 * call ends later. blocks: the handler has waited, not used the processor. */
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

/* call->job.run, which call_handle() gives to vc__thread_take(). The crew calls
 * it on one of its threads, perhaps after a wait for one. Runs the handler
 * there, or ends the call if it was cancelled or it is too late for that. */
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
        /* A handler that used the processor all the time did not block. */
        server_handler_run_learn(call, status, vc__now() - now,
                                 vc__thread_waits() != waits);
    } else {
        vc__adapt_forget(call);
    }
    handler_returned(call, status, handler_run);
}

/* Asked by call_handle(): true if the handler must begin on a thread of its
 * own. Its method tends to block; or its runs tend to be taken over, and
 * threads are short: calls wait for one, or the client may have no further
 * one. */
static bool
call_begins_apart(const struct vc_call *call, const struct vc__engine *engine)
{
    const struct vc__habit *habit = &call->state->habit;

    if (vc__habit_blocks(habit))
        return true;
    return vc__habit_is_long(habit) && engine->crew != NULL &&
           vc__crew_is_short(engine->crew, call->site.session->peer->share);
}

/* Called by call_run(). Begins the handler on a thread of the crew, now or once
 * one is free, or on this thread, with the engine released; vc__thread_take()
 * may shed the call instead. While the handler runs here, another thread may
 * become the holder: then this one may use the call only. The call holds its
 * session, which holds the entry. */
static void
call_handle(struct vc_call *call, struct vc__service_entry *entry)
{
    struct vc__engine *engine = &vc__call_part(call)->progress->engine;
    struct vc__handler_run *handler_run;

    vc__count(&engine->ledger, VC__COUNT_handlers_started, 1);
    handlers_count(call, 1);
    call->task.run = server_handler_call_finish;
    /* Relaxed: a hint, used in a text only. */
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

/* Returns how many handlers the engine has begun. Called by vc__call_came() and
 * call_judge(). */
static uint64_t
handlers_begun(const struct vc_call *call)
{
    return vc__count_get(&vc__call_part(call)->progress->engine.ledger,
                         VC__COUNT_handlers_started);
}

/* --- its turn ----------------------------------------------------------- */

static void call_run(struct vc__task *task);

/* Called by vc__call_came(): queues a call that came while others wait, and
 * starts the timer of vc__thread_look(), unless that runs. */
static void
came_after_others(struct vc_call *call)
{
    struct vc__server_part *part = vc__call_part(call);
    struct vc__overload *o = &part->overload;

    if (call->site.due != VC__FOREVER && call->site.due > o->clock)
        vc__overload_given(o, call->site.due - o->clock);
    if (o->since != 0) /* its clock may be rough, and waits are short */
        call->came = vc__now();
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
        came_after_others(call);
    else
        vc__turn_await_first(call);
    vc__overload_came(o, &call->site.session->peer->waiting);
}

/* Returns the counter for the call's wait until now, for judge_after_others().
 * If the arrival time is not known, the call has waited at least since the
 * queue was first seen. */
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

/* Called by call_judge() for a call since whose arrival other handlers have
 * begun. Returns VC__OVERLOAD_RUN, or why the call is not worth beginning;
 * counts its wait. The rare case, kept out of the common path. */
static __attribute__((noinline)) enum vc__overload_verdict
judge_after_others(struct vc_call *call, struct vc__service_entry *entry)
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

/* Called by call_run(). Returns VC__OVERLOAD_RUN if the call is worth
 * beginning, or why it is not. Reads the clock only if the call had to wait for
 * others. */
static enum vc__overload_verdict
call_judge(struct vc_call *call, struct vc__service_entry *entry)
{
    if (handlers_begun(call) != call->turn)
        return judge_after_others(call, entry);
    return vc__overload_judge_first(&vc__call_part(call)->overload,
                                    call->site.due, &call->state->usual);
}

/* Called by call_run(): refuses a call that is not begun, or for whose reply
 * there is no memory (VC__OVERLOAD_RUN). */
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
        vc__overload_apart(&vc__call_part(call)->overload);
        vc__reply_refuse(call, VC_RESOURCE_EXHAUSTED,
                         "the server has no memory for the call");
        break;
    }
}

/* Called by call_run(): the call's turn has come, but it was cancelled, and is
 * refused; or its session has no link, or is closed (`linked` is false), and
 * the call is forgotten. */
static void
call_forgo(struct vc_call *call, bool linked)
{
    if (linked)
        vc__reply_refuse(call, VC_CANCELLED, VC__GIVEN_UP);
    else
        call_skip(call);
}

/* A task, queued by vc__turn_await() or vc__turn_await_first(), run by the
 * engine as handlers are: the turn of this call has come, or that of another
 * one. Begins the call whose turn it is, refuses it or forgets it. */
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
    /* Judged before it leaves: it counts among the waiting calls. */
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
