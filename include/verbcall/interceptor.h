/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Interceptors see the calls that a channel makes or a server runs, without
 * changes to the program's own code: for logs, metrics, tracing, and for
 * refusing calls. A channel or server has a chain of them. Calls without a
 * chain pay nothing for it. */
#ifndef VERBCALL_INTERCEPTOR_H
#define VERBCALL_INTERCEPTOR_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include <verbcall/export.h>
#include <verbcall/metadata.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_call;
struct vc_channel;
struct vc_server;

/* One call on its way through a chain: valid only inside a callback. */
struct vc_interception;

/* Most interceptors of a chain. */
#define VC_INTERCEPTORS_MAX 16

enum vc_message_kind {
    VC_MESSAGE_REQUEST,
    VC_MESSAGE_REPLY,
};

/* How a call ended. */
struct vc_interception_end {
    enum vc_status status;
    /* If status is VC_OK: VC_OUTCOME_EXECUTED. */
    enum vc_outcome outcome;
    uint64_t us;      /* since its first start() */
    const char *text; /* error text; "" for VC_OK, or without a text */
    /* On a client, for a call that is not a stream: the result, with the
     * metadata and details of the reply. It is the result of the caller's
     * options, if they have one. Else NULL. */
    const struct vc_result *result;
};

/* An interceptor. Each callback may be NULL. Each gets `arg` and a `state`: a
 * pointer of its own for this call, NULL at the start.
 *
 * Starts and requests are called in the order in which interceptors were added,
 * replies and finishes in the opposite order: the first interceptor is the
 * outermost. All callbacks of one call run one after the other, those of
 * different calls run concurrently. On a client they run on the caller's
 * thread, around the whole call, and must not close the channel. On a server
 * they run on the handler's thread, around the handler, and may block as
 * handlers may.
 *
 * A call of a server that vc_call_end() ends is different. If its handler has
 * returned before, reply and finish run inside vc_call_end(), on the thread
 * that called it. That may be one that advances the runtime, as in the callback
 * of vc_call_on_cancel(). So the reply and the finish of such a call must not
 * block, nor drain, close or free a server. The interceptors are around the
 * callbacks of a stream, too: there reply and finish run after on_end(), on its
 * thread, and may block.
 *
 * The messages of a stream are seen when they are sent and received, on the
 * threads that do so, which may be two at a time. On a client the finish of a
 * stream runs inside vc_stream_close(), which may be after the channel was
 * closed; with callbacks after on_end(), on its thread, if that is later. The
 * reply and the finish of an asynchronous call are seen on a thread that
 * advances the runtime or begins another call, and must not block it.
 *
 * Initialize it with VC_INTERCEPTOR_INIT, or write VC_INTERCEPTOR(.start =
 * on_start) where it is used. */
struct vc_interceptor {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* A call begins. Any status other than VC_OK refuses it. The call then ends
     * with that status and outcome "not executed" (an asynchronous one is not
     * begun: no done() and no completion follow), and neither the interceptors
     * after this one nor the handler see it. On a client, time spent here
     * counts for the call. */
    enum vc_status (*start)(struct vc_interception *call, void **state,
                            void *arg);

    /* A message passes: it is valid, for reading, only during the callback. Not
     * called for a message that cannot be packed or unpacked. */
    void (*message)(struct vc_interception *call, enum vc_message_kind kind,
                    const ProtobufCMessage *message, void **state, void *arg);

    /* The call has ended. Runs exactly once after each start, also after one
     * that has refused. On a client `end` is what the caller gets; on a server
     * it is what the handler returned, or what the call was refused with. */
    void (*finish)(struct vc_interception *call,
                   const struct vc_interception_end *end, void **state,
                   void *arg);

    void *arg;
};

#define VC_INTERCEPTOR_INIT VC_SIZED_INIT(vc_interceptor)
#define VC_INTERCEPTOR(...) VC_SIZED(vc_interceptor, __VA_ARGS__)

/* vc_channel_intercept, vc_server_intercept - add an interceptor, which is
 * copied, after the existing ones. To be called before the channel's first call
 * and before vc_server_listen(); one thread at a time. A server's chain sees
 * only calls whose handler is about to run. It does not see calls of unknown
 * services and methods, or whose request is malformed or arrived too late.
 * VC_INVALID_ARGUMENT    interceptor is NULL, or its size is not set, see
 *                        struct vc_interceptor
 * VC_FAILED_PRECONDITION too late: there was a call, or the server listens
 * VC_RESOURCE_EXHAUSTED  the chain has VC_INTERCEPTORS_MAX already; no
 *                        memory */
VC_API enum vc_status
vc_channel_intercept(struct vc_channel *channel,
                     const struct vc_interceptor *interceptor);
VC_API enum vc_status
vc_server_intercept(struct vc_server *server,
                    const struct vc_interceptor *interceptor);

/* vc_interception_service, vc_interception_method - return the names as in the
 * .proto file: "demo.Greeter" and "SayHello". */
VC_API const char *vc_interception_service(const struct vc_interception *call);
VC_API const char *vc_interception_method(const struct vc_interception *call);

/* vc_interception_deadline_us - returns the microseconds until the deadline of
 * the call, 0 when it has passed, UINT64_MAX without a deadline. */
VC_API uint64_t vc_interception_deadline_us(const struct vc_interception *call);

/* vc_interception_call - returns, on a server, the call that its handler gets;
 * on a client NULL. */
VC_API struct vc_call *vc_interception_call(const struct vc_interception *call);

/* vc_interception_parent - returns the call whose handler makes this one: the
 * option `parent` of the caller. Only in a start on a client; elsewhere, and
 * without the option, NULL. So a start can pass on metadata of the parent: it
 * reads a trace by vc_call_metadata_find(), and adds it by
 * vc_interception_add_metadata(). */
VC_API const struct vc_call *
vc_interception_parent(const struct vc_interception *call);

/* vc_interception_metadata - returns the metadata of the request, *n entries.
 * On a client they are the caller's and those added so far, on a server those
 * received. */
VC_API const struct vc_metadata *
vc_interception_metadata(const struct vc_interception *call, size_t *n);

/* vc_interception_add_metadata - adds metadata to the request, in a start on a
 * client; key and value are copied. A server's interceptor adds metadata to the
 * reply: it calls vc_call_add_initial() and vc_call_add_trailing() with
 * vc_interception_call().
 * VC_INVALID_ARGUMENT    key or value is not allowed, see struct vc_metadata
 * VC_FAILED_PRECONDITION not in a start on a client
 * VC_RESOURCE_EXHAUSTED  more than VC_METADATA_MAX; no memory */
VC_API enum vc_status vc_interception_add_metadata(struct vc_interception *call,
                                                   const char *key,
                                                   const void *value,
                                                   size_t length);

/* vc_interception_fail - keeps a text for the caller (its vc_error(); UTF-8,
 * cut at 1024 bytes) and returns status, so that a start can write
 * return vc_interception_fail(call, VC_UNAUTHENTICATED, "no token"); */
VC_API enum vc_status vc_interception_fail(struct vc_interception *call,
                                           enum vc_status status,
                                           const char *format, ...)
    __attribute__((format(printf, 3, 4)));

VC_END_DECLS

#endif
