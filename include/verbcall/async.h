/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls that nobody waits for while they run: their ends come to a function,
 * or into a queue.
 *
 * A call goes on while some thread advances the runtime: one of the library's
 * (vc_runtime_start(), or vc_server_listen()), one that waits in vc_completions_next() or in a
 * blocking call, or a loop of the program's own (vc_runtime_fd()). */
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

/* A call that was started; it may be over. */
struct vc_async;

/* Told once that a call is over, on a thread that advances the runtime, never
 * inside of the function that started it. On VC_OK reply is the receiver's,
 * freed by vc_message_free(); else NULL, and vc_error() and vc_error_outcome()
 * speak of this call. It may block, as handlers of servers may (see
 * vc_runtime_start()), and start calls; it may not close channels. */
typedef void vc_async_done(enum vc_status status, void *reply, void *arg);

/* vc_channel_call_async - starts a call of a generated client function. Any
 * thread. When it returns, the request and opts.metadata may be freed; opts may
 * be NULL. On VC_OK done(status, reply, arg) follows, with the codes of
 * vc_channel_call(); opts.result is filled before that, and lives so long. And
 * *call, unless call is NULL, is the caller's, who frees it by vc_async_free();
 * it is set before done() can run. Of a VC_METHOD_ONE_WAY done() runs when the
 * server has answered. Otherwise there is no call:
 * VC_INVALID_ARGUMENT   the request lacks something that must be set; an option
 *                       may not be
 * VC_RESOURCE_EXHAUSTED the request is over the limit; no memory
 * VC_CANCELLED          its canceller was cancelled, or its parent
 * VC_DEADLINE_EXCEEDED  the deadline of its parent has passed */
VC_API enum vc_status
vc_channel_call_async(struct vc_channel *channel,
                      const struct vc_service *service, unsigned method,
                      const void *request, const struct vc_call_opts *opts,
                      vc_async_done *done, void *arg, struct vc_async **call);

/* Calls `done` with the types that it has; generated code has one for each
 * method. */
typedef void vc_async_run(vc_function *done, enum vc_status status, void *reply,
                          void *arg);

/* vc_channel_call_typed - as vc_channel_call_async(), with a done() of any type
 * that run() calls: of generated code, whose X_async() takes a done() with the
 * type of the method's reply. */
VC_API enum vc_status vc_channel_call_typed(
    struct vc_channel *channel, const struct vc_service *service,
    unsigned method, const void *request, const struct vc_call_opts *opts,
    vc_async_run *run, vc_function *done, void *arg, struct vc_async **call);

/* vc_async_cancel - ends the call with VC_CANCELLED, soon; done() still runs.
 * Too late when the call is over, then it does nothing. Any thread, also
 * within done(). */
VC_API void vc_async_cancel(struct vc_async *call);

/* vc_async_free - gives the caller's part in it back. The call goes on. Any
 * thread, before the runtime is freed. NULL is fine. */
VC_API void vc_async_free(struct vc_async *call);

/* --- completion queues ------------------------------------------------- */

/* Keeps the ends of calls until a thread asks for them. */
struct vc_completions;

/* The end of a call. */
struct vc_completion {
    void *tag; /* as given when it was started */
    enum vc_status status;
    enum vc_outcome outcome;
    void *reply;              /* on VC_OK, for vc_message_free(); else NULL */
    char text[VC_ERROR_SIZE]; /* what vc_error() would say; "" on VC_OK */
};

/* vc_completions_new - makes a queue for calls of channels of this runtime. On
 * VC_OK the caller owns *queue.
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_completions_new(struct vc_runtime *runtime,
                                         struct vc_completions **queue);

/* vc_completions_free - Calls that are under way go on, and their ends are
 * dropped. No thread may be in vc_completions_next(). Before the runtime is
 * freed. NULL is fine. */
VC_API void vc_completions_free(struct vc_completions *queue);

/* vc_channel_call_queued - as vc_channel_call_async(), but the end comes into
 * the queue, with this tag. */
VC_API enum vc_status vc_channel_call_queued(
    struct vc_channel *channel, const struct vc_service *service,
    unsigned method, const void *request, const struct vc_call_opts *opts,
    struct vc_completions *queue, void *tag, struct vc_async **call);

/* vc_completions_next - takes the oldest end out, or waits for one and advances
 * the runtime meanwhile. Any number of threads. timeout_ms 0: only looks;
 * VC_NO_DEADLINE: waits for ever.
 * VC_DEADLINE_EXCEEDED there was none in time */
VC_API enum vc_status vc_completions_next(struct vc_completions *queue,
                                          uint32_t timeout_ms,
                                          struct vc_completion *completion);

/* vc_completions_fd - a descriptor for poll(), readable while an end is in the
 * queue. It advances nothing: the runtime must have threads of its own, or
 * vc_runtime_poll() be called in the same loop. It is the queue's; use it for
 * nothing else. -1 when the system gives none. */
VC_API int vc_completions_fd(struct vc_completions *queue);

VC_END_DECLS

#endif
