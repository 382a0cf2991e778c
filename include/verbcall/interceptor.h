/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Interceptors see the calls that a channel makes or a server runs, from
 * outside of the program's own code: for logs, metrics, tracing, and for
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

/* One call on its way through a chain: valid inside of a callback only. */
struct vc_interception;

/* Interceptors of a chain. */
#define VC_INTERCEPTORS_MAX 16

enum vc_message_kind {
    VC_MESSAGE_REQUEST,
    VC_MESSAGE_REPLY,
};

/* How a call ended. */
struct vc_interception_end {
    enum vc_status status;
    /* Of a call that ended with VC_OK: VC_OUTCOME_EXECUTED. */
    enum vc_outcome outcome;
    uint64_t us;      /* since its first start */
    const char *text; /* what was wrong; "" for VC_OK, or without words */
    /* Of a client's call that is no stream: what came with the reply, as
     * metadata and details; the caller's, too, if it wants to know. Else
     * NULL. */
    const struct vc_result *result;
};

/* What an interceptor does. Each callback may be NULL, and each gets `arg` and
 * a `state`: a word of its own for this call, NULL at the start.
 *
 * Starts and requests come in the order in which interceptors were added,
 * replies and finishes in the opposite one: the first is the outermost. All
 * callbacks of one call come one after the other, those of different calls at
 * the same time. On a client they run on the caller's thread, around all that
 * the call does, and may not close the channel; on a server they run on the
 * handler's thread, around the handler, and as handlers they may block; the
 * end of a call that is ended later comes on the thread that ends it, or the
 * handler's.
 *
 * Of a stream, messages are seen as they are sent and received, on the threads
 * that do, which may be two at a time; on a client its finish comes with
 * vc_stream_close(), which may be after the channel was closed. The reply and
 * the finish of an asynchronous call are seen on a thread that advances the
 * runtime or begins another call, and must not block it.
 *
 * It begins as VC_INTERCEPTOR_INIT, or is written where it is used as
 * VC_INTERCEPTOR(.start = on_start). */
struct vc_interceptor {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* A call begins. Another status than VC_OK refuses it: it ends with that
     * status and outcome "not executed", and neither the interceptors behind
     * this one nor the handler see anything of it. On a client, time spent
     * here is the call's. */
    enum vc_status (*start)(struct vc_interception *call, void **state,
                            void *arg);

    /* A message passes: to read, and only now. Not called for what cannot be
     * packed or unpacked. */
    void (*message)(struct vc_interception *call, enum vc_message_kind kind,
                    const ProtobufCMessage *message, void **state, void *arg);

    /* It is over: comes exactly once after each start, also after one that has
     * refused. On a client the end is what the caller is told; on a server it
     * is what the handler returned, or was refused with. */
    void (*finish)(struct vc_interception *call,
                   const struct vc_interception_end *end, void **state,
                   void *arg);

    void *arg;
};

#define VC_INTERCEPTOR_INIT VC_SIZED_INIT(vc_interceptor)
#define VC_INTERCEPTOR(...) VC_SIZED(vc_interceptor, __VA_ARGS__)

/* vc_channel_intercept, vc_server_intercept - add an interceptor, which is
 * copied, behind those that are there. Before the channel's first call and the
 * server's vc_server_listen(); one thread at a time. A server's chain sees the
 * calls for which a handler is about to run: none of unknown services and
 * methods, or whose request is malformed or came too late.
 * VC_INVALID_ARGUMENT    it is NULL, or its size is not set, see struct
 *                        vc_interceptor
 * VC_FAILED_PRECONDITION too late: there was a call, or the server listens
 * VC_RESOURCE_EXHAUSTED  VC_INTERCEPTORS_MAX are there; no memory */
VC_API enum vc_status
vc_channel_intercept(struct vc_channel *channel,
                     const struct vc_interceptor *interceptor);
VC_API enum vc_status
vc_server_intercept(struct vc_server *server,
                    const struct vc_interceptor *interceptor);

/* vc_interception_service, vc_interception_method - the names as in the .proto
 * file: "demo.Greeter" and "SayHello". */
VC_API const char *vc_interception_service(const struct vc_interception *call);
VC_API const char *vc_interception_method(const struct vc_interception *call);

/* vc_interception_deadline_us - microseconds left for the call, 0 when none
 * are, UINT64_MAX without a deadline. */
VC_API uint64_t vc_interception_deadline_us(const struct vc_interception *call);

/* vc_interception_call - on a server the call as its handler has it, on a
 * client NULL. */
VC_API struct vc_call *vc_interception_call(const struct vc_interception *call);

/* vc_interception_parent - the call that this one is made for, by its handler:
 * the option `parent` of the caller. In a start on a client; elsewhere, and
 * without the option, NULL. So a start can pass on what came with the parent:
 * vc_call_metadata_find() of its trace, and vc_interception_add_metadata(). */
VC_API const struct vc_call *
vc_interception_parent(const struct vc_interception *call);

/* vc_interception_metadata - the metadata of the request, *n entries: on a
 * client the caller's and what was added so far, on a server what came. */
VC_API const struct vc_metadata *
vc_interception_metadata(const struct vc_interception *call, size_t *n);

/* vc_interception_add_metadata - adds metadata to the request: in a start on a
 * client; key and value are copied. A server's interceptor adds to the reply,
 * by vc_call_add_initial() and vc_call_add_trailing() with
 * vc_interception_call().
 * VC_INVALID_ARGUMENT    key or value may not be, see struct vc_metadata
 * VC_FAILED_PRECONDITION not in a start on a client
 * VC_RESOURCE_EXHAUSTED  more than VC_METADATA_MAX; no memory */
VC_API enum vc_status vc_interception_add_metadata(struct vc_interception *call,
                                                   const char *key,
                                                   const void *value,
                                                   size_t length);

/* vc_interception_fail - keeps a text for the caller (its vc_error(); UTF-8,
 * cut at 1024 bytes) and returns status, so that a start can say
 * return vc_interception_fail(call, VC_UNAUTHENTICATED, "no token"); */
VC_API enum vc_status vc_interception_fail(struct vc_interception *call,
                                           enum vc_status status,
                                           const char *format, ...)
    __attribute__((format(printf, 3, 4)));

VC_END_DECLS

#endif
