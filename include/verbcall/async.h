/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Asynchronous calls: no thread waits while they run. The end of a call is
 * reported to a callback, or put into a completion queue.
 *
 * A call makes progress while some thread advances the runtime. This is a
 * thread of the library (vc_runtime_start(), or vc_server_listen()), a thread
 * that waits in vc_completions_next() or in a blocking call, or the program's
 * own event loop (vc_runtime_fd()). */
#ifndef VERBCALL_ASYNC_H
#define VERBCALL_ASYNC_H

#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_call_opts;
struct vc_channel;
struct vc_runtime;
struct vc_service;

/* A call that was started; it may have ended already. */
struct vc_async;

/* The callback of a call: runs once, when the call has ended, on a thread that
 * advances the runtime. It never runs inside the function that started the
 * call. On VC_OK the callback owns reply and frees it by vc_message_free().
 * Otherwise reply is NULL, and vc_error() and vc_error_outcome() describe this
 * call. The callback may block, as handlers of servers may (see
 * vc_runtime_start()), and may start calls. It must not close a channel that
 * has asynchronous calls or streams with callbacks under way, as this call is
 * until the callback returns: vc_channel_close() then returns
 * VC_FAILED_PRECONDITION. */
typedef void vc_async_done(enum vc_status status, void *reply, void *arg);

/* vc_channel_call_async - starts a call of a generated client function. Any
 * thread. When the function returns, the caller may free the request and
 * opts.metadata; opts may be NULL. On VC_OK done(status, reply, arg) follows,
 * with the codes of vc_channel_call(). opts.result must stay valid until then:
 * it is filled just before done() runs. *call, unless call is NULL, belongs to
 * the caller, who frees it by vc_async_free(); it is set before done() can run.
 * For a VC_METHOD_ONE_WAY done() runs when the server has answered. On an error
 * no call was started:
 * VC_INVALID_ARGUMENT   a required field of the request is not set; an option
 *                       is not allowed
 * VC_RESOURCE_EXHAUSTED the request is over the limit; no memory
 * VC_CANCELLED          the call's canceller, or its parent, was cancelled
 * VC_DEADLINE_EXCEEDED  the deadline of its parent has passed
 * others                that of an interceptor which refuses the call */
VC_API enum vc_status
vc_channel_call_async(struct vc_channel *channel,
                      const struct vc_service *service, unsigned method,
                      const void *request, const struct vc_call_opts *opts,
                      vc_async_done *done, void *arg, struct vc_async **call);

/* Calls `done` with its real types. Generated code has one such function for
 * each method. */
typedef void vc_async_run(vc_function *done, enum vc_status status, void *reply,
                          void *arg);

/* vc_channel_call_typed - as vc_channel_call_async(), with a done() of any
 * type, which run() calls. It is for generated code: the done() of an X_async()
 * has the type of the method's reply. */
VC_API enum vc_status vc_channel_call_typed(
    struct vc_channel *channel, const struct vc_service *service,
    unsigned method, const void *request, const struct vc_call_opts *opts,
    vc_async_run *run, vc_function *done, void *arg, struct vc_async **call);

/* vc_async_cancel - ends the call with VC_CANCELLED, soon; done() still runs.
 * Does nothing when the call has ended already. Any thread, also inside
 * done(). */
VC_API void vc_async_cancel(struct vc_async *call);

/* vc_async_free - releases the caller's reference to the call. The call itself
 * goes on. Any thread, before the runtime is freed. NULL is allowed. */
VC_API void vc_async_free(struct vc_async *call);

/* --- completion queues ------------------------------------------------- */

/* A completion queue: keeps the completions of calls until a thread takes
 * them. */
struct vc_completions;

/* The completion of one call. */
struct vc_completion {
    void *tag; /* as given to vc_channel_call_queued() */
    enum vc_status status;
    enum vc_outcome outcome;
    void *reply;              /* on VC_OK, for vc_message_free(); else NULL */
    char text[VC_ERROR_SIZE]; /* the text of vc_error(); "" on VC_OK */
};

/* vc_completions_new - creates a queue for calls of channels of this runtime.
 * On VC_OK the caller owns *queue.
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_completions_new(struct vc_runtime *runtime,
                                         struct vc_completions **queue);

/* vc_completions_free - frees the queue, before the runtime is freed. Calls
 * that are under way go on, and their completions are dropped. No thread may be
 * in vc_completions_next(). NULL is allowed. */
VC_API void vc_completions_free(struct vc_completions *queue);

/* vc_channel_call_queued - as vc_channel_call_async(), but the completion is
 * put into the queue, with this tag.
 * VC_INVALID_ARGUMENT also if the queue is of another runtime than the
 *                     channel */
VC_API enum vc_status vc_channel_call_queued(
    struct vc_channel *channel, const struct vc_service *service,
    unsigned method, const void *request, const struct vc_call_opts *opts,
    struct vc_completions *queue, void *tag, struct vc_async **call);

/* vc_completions_next - takes the oldest completion out of the queue. If the
 * queue is empty, it waits for one and advances the runtime meanwhile. Any
 * number of threads. timeout_ms 0: does not wait; VC_NO_DEADLINE: no timeout.
 * VC_DEADLINE_EXCEEDED no call completed in time */
VC_API enum vc_status vc_completions_next(struct vc_completions *queue,
                                          uint32_t timeout_ms,
                                          struct vc_completion *completion);

/* vc_completions_fd - returns a descriptor for poll(), which is readable while
 * the queue holds a completion. The descriptor does not advance the runtime:
 * either the runtime has threads of its own, or the same loop calls
 * vc_runtime_poll(). The queue owns the descriptor; use it for nothing else.
 * Returns -1 when the system has no descriptor left. */
VC_API int vc_completions_fd(struct vc_completions *queue);

VC_END_DECLS

#endif
