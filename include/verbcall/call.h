/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A call: on the server, what its handler may read and set; on the client, its
 * options, and how replies are freed. */
#ifndef VERBCALL_CALL_H
#define VERBCALL_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>
#include <verbcall/metadata.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

/* On the server: one call while its handler runs. Only the handler's thread may
 * use it, unless a function says otherwise. It must not be used after the
 * handler has returned, unless the handler returned by vc_call_later(). */
struct vc_call;
struct vc_canceller;

/* vc_call_alloc - allocates size bytes, zeroed and aligned for any type, which
 * live until the reply has been packed. Returns NULL when the call has reached
 * its memory limit, or memory is short (max_memory of the server, or the
 * system's); return vc_call_fail(call, VC_RESOURCE_EXHAUSTED, ...)
 * then. */
VC_API void *vc_call_alloc(struct vc_call *call, size_t size);

/* vc_call_strdup, vc_call_sprintf - return strings with the lifetime of
 * vc_call_alloc(); NULL as there. vc_call_sprintf takes printf's format. */
VC_API char *vc_call_strdup(struct vc_call *call, const char *text);
VC_API char *vc_call_sprintf(struct vc_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* vc_call_fail - keeps an error text for the caller (its vc_error(); UTF-8, cut
 * at 1024 bytes) and returns status, so that a handler can write
 * return vc_call_fail(call, VC_NOT_FOUND, "no key %s", key);
 * Longer text belongs into the details of the status: see vc_call_details().
 * Without vc_call_fail(), a handler may return the status of a call or Verbcall
 * function that failed in this handler run; its vc_error() is then passed on.
 * vc_call_end() in the done() of such a call does the same, but not on a thread
 * of the program's own. Without either, the text names service, method and
 * status. */
VC_API enum vc_status vc_call_fail(struct vc_call *call, enum vc_status status,
                                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* vc_call_service, vc_call_method - return the names as in the .proto file:
 * "demo.Greeter" and "SayHello". They live as long as the call. Any thread
 * while the call has not ended. */
VC_API const char *vc_call_service(const struct vc_call *call);
VC_API const char *vc_call_method(const struct vc_call *call);

/* vc_call_peer - returns the transport and the client's address as text, for
 * logs: "tcp://10.9.0.2:41724" or "rdma://10.9.0.2:41724"; "shm:process 4711 of
 * user 1000"; "inproc:this process". Programs must not parse it. It describes
 * the client's connection at the time when the call arrived; the client may use
 * another one later. The text lives as long as the call. Never NULL. Any thread
 * while the call has not ended. */
VC_API const char *vc_call_peer(const struct vc_call *call);

/* vc_call_time_left_ms - returns the milliseconds until the call's deadline,
 * rounded up; 0 when the caller does not wait any more. VC_NO_DEADLINE means
 * that the call has no deadline, or one later than 71 minutes, which a request
 * cannot carry. Any thread while the call has not ended. For calls that the
 * handler makes use the option `parent`, which passes the deadline on. */
VC_API uint32_t vc_call_time_left_ms(const struct vc_call *call);

/* vc_call_deadline_us - the same in microseconds; UINT64_MAX when the call has
 * no deadline. */
VC_API uint64_t vc_call_deadline_us(const struct vc_call *call);

/* vc_call_is_cancelled - true when the caller does not wait for the reply any
 * more: the caller has cancelled the call, its deadline has passed, or the
 * client is gone. A client that has lost its connection has ten seconds to
 * reconnect. A handler that runs long should poll this now and then, and
 * return; what it returns then does not matter. Any thread while the call has
 * not ended. */
VC_API bool vc_call_is_cancelled(const struct vc_call *call);

/* vc_call_on_cancel - sets a callback, tell(), that runs once, when the caller
 * does not wait for the reply any more. tell() runs on a thread that advances
 * the runtime or begins a call; that may be the handler's own while it waits in
 * a call. tell() must not block that thread. If the call is cancelled already,
 * tell() runs inside this function. A call has one callback at a time: another
 * one replaces it, and NULL removes it. When this function returns, the former
 * callback is not running and will not run. So a handler whose arg does not
 * outlive it ends by vc_call_on_cancel(call, NULL, NULL). The process learns of
 * a cancellation while threads of the library advance the runtime.
 * VC_RESOURCE_EXHAUSTED  no memory
 * VC_FAILED_PRECONDITION inside tell(), or on two threads at a time */
VC_API enum vc_status
vc_call_on_cancel(struct vc_call *call,
                  void (*tell)(struct vc_call *call, void *arg), void *arg);

/* vc_call_metadata - returns the metadata that the caller sent, *n entries in
 * its order; they live as long as the call. */
VC_API const struct vc_metadata *vc_call_metadata(const struct vc_call *call,
                                                  size_t *n);

/* vc_call_metadata_find - returns the value of the first metadata entry with
 * this key, followed by a NUL; NULL when there is none. *length, unless length
 * is NULL, is set to the length of the value. */
VC_API const void *vc_call_metadata_find(const struct vc_call *call,
                                         const char *key, size_t *length);

/* vc_call_add_initial, vc_call_add_trailing - add metadata to the reply,
 * whether that is a message or an error; key and value are copied. Initial
 * metadata is known before the answer is, trailing metadata describes how the
 * call ended; both arrive with the reply. The client of a stream gets the
 * initial metadata that was added before the first message already with that
 * message (vc_stream_initial()).
 * VC_INVALID_ARGUMENT    key or value is not allowed, see struct vc_metadata
 * VC_RESOURCE_EXHAUSTED  the reply's metadata, details included, would take
 *                        more than VC_METADATA_MAX, or there is no memory
 * VC_FAILED_PRECONDITION the client takes no metadata (doc/wire.md, 2.8); all
 *                        clients of Verbcall do take it */
VC_API enum vc_status vc_call_add_initial(struct vc_call *call, const char *key,
                                          const void *value, size_t length);
VC_API enum vc_status vc_call_add_trailing(struct vc_call *call,
                                           const char *key, const void *value,
                                           size_t length);

/* vc_call_details - sends details of the status, which the client finds in its
 * vc_result: any bytes, by convention a packed google.rpc.Status with the same
 * code and text. They are copied; another call replaces them, and 0 bytes
 * remove them. VC_RESOURCE_EXHAUSTED and VC_FAILED_PRECONDITION as above. */
VC_API enum vc_status vc_call_details(struct vc_call *call, const void *bytes,
                                      size_t length);

/* vc_call_attempt - returns the number of the caller's attempt, from 1 on. */
VC_API unsigned vc_call_attempt(const struct vc_call *call);

/* vc_call_pushback - sends with a failed reply after how many milliseconds the
 * client's library may retry; below 0: it must not. The last value counts. A
 * client that takes no metadata does not get it. VC_RESOURCE_EXHAUSTED without
 * memory. */
VC_API enum vc_status vc_call_pushback(struct vc_call *call, int32_t ms);

/* vc_call_later, vc_call_end - a handler that ends with
 * return vc_call_later(call); leaves its call open. The program then ends the
 * call by vc_call_end(call, status), once, on any thread, even before the
 * handler has returned. Until then the program may use the call's request and
 * reply and all functions for calls, by one thread at a time; afterwards none
 * of them. status is what the handler would have returned. An open call holds
 * no thread. A second vc_call_end() prints a text and ends the program.
 * The program must end every such call, also a cancelled one: vc_server_free()
 * waits for it, as for a handler. vc_call_end() itself does not block, and may
 * be called inside the callback of vc_call_on_cancel(). But the server's
 * interceptors see the reply and the end of the call inside vc_call_end(), on
 * its thread, if the handler has returned before. There they must not block,
 * nor drain, close or free a server (verbcall/interceptor.h). For a stream
 * whose handler does not wait there are callbacks: vc_stream_serve()
 * (verbcall/stream.h). */
VC_API enum vc_status vc_call_later(struct vc_call *call);
VC_API void vc_call_end(struct vc_call *call, enum vc_status status);

/* Which calls an overloaded server sheds first (doc/overload.md). The priority
 * goes with the request as metadata VC_METADATA_PRIORITY, "critical" or
 * "sheddable". */
enum vc_priority {
    VC_PRIORITY_DEFAULT,
    VC_PRIORITY_CRITICAL,  /* shed last, and never by the client */
    VC_PRIORITY_SHEDDABLE, /* shed first */
};
#define VC_METADATA_PRIORITY "vc-priority"

/* Options of a call, on the client. Initialize it with VC_CALL_OPTS_INIT, or
 * write VC_CALL_OPTS(.timeout_ms = 100) where it is used; 0 in a field means
 * its default. If its size is 0 or a number is out of range, the call ends with
 * VC_INVALID_ARGUMENT before anything is sent. */
struct vc_call_opts {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* Timeout of the call in milliseconds, 1..2^31-1, connecting included.
     * Default: the method's (verbcall/options.proto), else the channel's; a
     * stream has none. VC_NO_DEADLINE: no timeout; the call waits until its
     * link is lost. One of 5 s or more may end three ticks of the kernel too
     * late, 3 to 30 ms, and its handler be cancelled as much too early, or
     * twice as much if the call waited for a connection
     * (CLOCK_MONOTONIC_COARSE of clock_gettime(2)). */
    uint32_t timeout_ms;

    uint32_t flags; /* VC_CALL_NO_RETRY, VC_CALL_WAIT_FOR_READY; no others */

    /* Metadata of the request; read until the call returns. Default: none. The
     * call ends with VC_INVALID_ARGUMENT when an entry is not allowed, and with
     * VC_RESOURCE_EXHAUSTED when all take more than VC_METADATA_MAX. */
    const struct vc_metadata *metadata;
    size_t n_metadata;

    /* Filled with the result of the call when it ends; NULL: not wanted. The
     * caller releases it by vc_result_clear(). A stream refuses this option
     * with VC_INVALID_ARGUMENT, see vc_stream_result(). */
    struct vc_result *result;

    /* The call of a handler that makes this call. This call ends when the
     * parent is cancelled (vc_call_is_cancelled()), and at the parent's
     * deadline if that is sooner. Default NULL. The parent must not end before
     * this call has begun. */
    struct vc_call *parent;

    /* Cancels the call when vc_cancel() is called (verbcall/cancel.h). Default
     * NULL: only its timeout ends the call early. */
    struct vc_canceller *canceller;

    /* Milliseconds, 1..2^31-1, after which an unanswered call is sent once
     * more, in parallel to the first attempt. The first good answer is taken,
     * and the other attempt is cancelled. Only for methods with
     * idempotency_level NO_SIDE_EFFECTS that do not stream; for others the call
     * ends with VC_INVALID_ARGUMENT. Default 0: never. */
    uint32_t hedge_ms;

    /* enum vc_priority; default: that of `parent`, if there is one. */
    uint32_t priority;
};

/* Retries: a call that ends with VC_UNAVAILABLE or VC_RESOURCE_EXHAUSTED and
 * was not executed is retried, up to the channel's max_attempts in all. A call
 * that was or may have been executed is retried only if its method has
 * idempotency_level IDEMPOTENT or NO_SIDE_EFFECTS in the .proto file. For
 * streams see vc_stream_open(). VC_CALL_NO_RETRY: the call is never retried. */
#define VC_CALL_NO_RETRY 0x1u

/* Instead of failing with VC_UNAVAILABLE, the call waits until its deadline for
 * a server that is not there yet, or not any more. This holds as long as the
 * call has not been executed. */
#define VC_CALL_WAIT_FOR_READY 0x2u

#define VC_CALL_OPTS_INIT VC_SIZED_INIT(vc_call_opts)
#define VC_CALL_OPTS(...) VC_SIZED(vc_call_opts, __VA_ARGS__)

/* vc_message_free - frees a message that the library gave to the program: the
 * reply of a client's call, or a message that a stream received, at the client
 * or in a handler. A handler's `request` and `reply` belong to the call and
 * must not be freed. Any thread, once; NULL is allowed. A message that was
 * freed already, or is none of these, makes it write a line to stderr and
 * abort(). The channel and the stream may be freed before; the runtime must
 * still exist. */
VC_API void vc_message_free(void *message);

VC_END_DECLS

#endif
