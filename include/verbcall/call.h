/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A call: what its handler may ask and give on the server, and what its
 * caller may say and must free on the client. */
#ifndef VERBCALL_CALL_H
#define VERBCALL_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>
#include <verbcall/metadata.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

/* On the server: one call while its handler runs. Only the handler's thread
 * may use it, if nothing else is said, and not after the handler has returned,
 * unless that was by vc_call_later(). */
struct vc_call;
struct vc_canceller;

/* vc_call_alloc - size bytes, zeroed and aligned for any type, that live
 * until the reply has been packed. NULL when the call's memory limit is met;
 * return vc_call_fail(call, VC_RESOURCE_EXHAUSTED, ...) then. */
VC_API void *vc_call_alloc(struct vc_call *call, size_t size);

/* vc_call_strdup, vc_call_sprintf - strings that live as long. NULL as above.
 * vc_call_sprintf takes printf's format. */
VC_API char *vc_call_strdup(struct vc_call *call, const char *text);
VC_API char *vc_call_sprintf(struct vc_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* vc_call_fail - keeps a text for the caller (its vc_error(); UTF-8, cut at
 * 1024 bytes) and returns status, so that a handler can say
 * return vc_call_fail(call, VC_NOT_FOUND, "no key %s", key);
 * What is longer goes into the details of the status: vc_call_details().
 * A handler that fails without it, and returns the status of a call or function
 * of Verbcall that failed in this run of it, passes on that one's vc_error().
 * So does vc_call_end() in the done() of such a call, but not on a thread of the
 * program's own. Without either the text names service, method and status. */
VC_API enum vc_status vc_call_fail(struct vc_call *call, enum vc_status status,
                                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* vc_call_service, vc_call_method - the names as in the .proto file:
 * "demo.Greeter" and "SayHello". They live as long as the call. Any thread while
 * the call has not ended. */
VC_API const char *vc_call_service(const struct vc_call *call);
VC_API const char *vc_call_method(const struct vc_call *call);

/* vc_call_peer - where the call has come from, in words, for logs: the
 * transport, and the client's address there. "tcp://10.9.0.2:41724" or
 * "rdma://10.9.0.2:41724"; "shm:process 4711 of user 1000"; "inproc:this
 * process". Programs do not take it apart. It says what the client's connection
 * was when the call came; the client may use another one later. The text lives
 * as long as the call. Never NULL. Any thread while the call has not ended. */
VC_API const char *vc_call_peer(const struct vc_call *call);

/* vc_call_time_left_ms - milliseconds that the caller still waits for the
 * reply, rounded up; 0 when it does not wait any more, VC_NO_DEADLINE when it
 * waits for ever, or for longer than 71 minutes, which no request can say. Any
 * thread while the call has not ended. For calls that the handler makes there is
 * the option `parent`, which hands the deadline on. */
VC_API uint32_t vc_call_time_left_ms(const struct vc_call *call);

/* vc_call_deadline_us - the same in microseconds; UINT64_MAX when the caller
 * waits for ever. */
VC_API uint64_t vc_call_deadline_us(const struct vc_call *call);

/* vc_call_is_cancelled - true when nobody waits for the reply any more: the
 * caller has cancelled the call, or its deadline has passed, or the client is
 * gone (one that has lost its connection has ten seconds to come back). A
 * handler that takes long asks now and then, and returns; what it returns then
 * does not matter. Any thread while the call has not ended. */
VC_API bool vc_call_is_cancelled(const struct vc_call *call);

/* vc_call_on_cancel - has tell() called once, when nobody waits for the reply
 * any more: on a thread that advances the runtime or begins a call, which it
 * must not block (the handler's own while that waits in a call), or inside of
 * this function if it is so already. One function at a time: another takes its
 * place, NULL takes it away. When this returns, the former does not run and
 * will not, so a handler whose arg does not outlive it ends by
 * vc_call_on_cancel(call, NULL, NULL). The process hears of a cancellation
 * while threads of the library advance it.
 * VC_RESOURCE_EXHAUSTED  no memory
 * VC_FAILED_PRECONDITION inside of tell(), or on two threads at a time */
VC_API enum vc_status
vc_call_on_cancel(struct vc_call *call,
                  void (*tell)(struct vc_call *call, void *arg), void *arg);

/* vc_call_metadata - the metadata that the caller sent, *n entries in its
 * order; they live as long as the call. */
VC_API const struct vc_metadata *vc_call_metadata(const struct vc_call *call,
                                                  size_t *n);

/* vc_call_metadata_find - the value of the first of them with this key, which
 * has a NUL behind it; NULL when there is none. *length, unless length is
 * NULL, is its length. */
VC_API const void *vc_call_metadata_find(const struct vc_call *call,
                                         const char *key, size_t *length);

/* vc_call_add_initial, vc_call_add_trailing - add metadata to the reply, be it
 * a message or an error; key and value are copied. Initial ones say what is
 * known before the answer is, trailing ones what became of the call; both
 * arrive with the reply. The client of a stream sees those initial ones that
 * were added before the first message was sent with that message, too
 * (vc_stream_initial()).
 * VC_INVALID_ARGUMENT    key or value may not be, see struct vc_metadata
 * VC_RESOURCE_EXHAUSTED  the reply's metadata, details included, would take
 *                        more than VC_METADATA_MAX, or there is no memory
 * VC_FAILED_PRECONDITION the client takes no metadata (doc/wire.md, 2.8); none
 *                        of Verbcall's does so */
VC_API enum vc_status vc_call_add_initial(struct vc_call *call, const char *key,
                                          const void *value, size_t length);
VC_API enum vc_status vc_call_add_trailing(struct vc_call *call,
                                           const char *key, const void *value,
                                           size_t length);

/* vc_call_details - gives the caller details of the status, which it finds in
 * its vc_result: any bytes, by convention a packed google.rpc.Status with the
 * same code and text. Copied; the last ones count, and 0 bytes are none.
 * VC_RESOURCE_EXHAUSTED and VC_FAILED_PRECONDITION as above. */
VC_API enum vc_status vc_call_details(struct vc_call *call, const void *bytes,
                                      size_t length);

/* vc_call_attempt - which attempt of its caller's this is, from 1 on. */
VC_API unsigned vc_call_attempt(const struct vc_call *call);

/* vc_call_pushback - tells the caller's library, in a reply that fails, after
 * how many milliseconds it may try again; below 0: not at all. The last one
 * counts. A client that takes no metadata is not told. VC_RESOURCE_EXHAUSTED
 * without memory. */
VC_API enum vc_status vc_call_pushback(struct vc_call *call, int32_t ms);

/* vc_call_later, vc_call_end - a handler that ends with
 * return vc_call_later(call); leaves its call open, and somebody ends it by
 * vc_call_end(call, status), once, on any thread, be it before the handler has
 * returned. Until then its request and reply and all that is said of calls here
 * may be used, by one thread at a time; afterwards nothing of it. status is
 * what the handler would have returned. It holds no thread meanwhile.
 * A second time ends the program with a text.
 * Every such call must be ended, also when it was cancelled: vc_server_free()
 * waits for it, as for a handler. vc_call_end() does not block, and may be
 * called by what vc_call_on_cancel() has called. A stream whose handler does not
 * wait has callbacks: vc_stream_serve() (verbcall/stream.h). */
VC_API enum vc_status vc_call_later(struct vc_call *call);
VC_API void vc_call_end(struct vc_call *call, enum vc_status status);

/* Which calls an overloaded server sheds first (doc/overload.md). It goes with
 * the request as metadata VC_METADATA_PRIORITY, "critical" or "sheddable". */
enum vc_priority {
    VC_PRIORITY_DEFAULT,
    VC_PRIORITY_CRITICAL,  /* last, and the client never fails it for that */
    VC_PRIORITY_SHEDDABLE, /* first */
};
#define VC_METADATA_PRIORITY "vc-priority"

/* On the client. It begins as VC_CALL_OPTS_INIT, or is written where it is used
 * as VC_CALL_OPTS(.timeout_ms = 100); 0 in a field means its default. A call
 * with a size of 0 or with a number out of its range ends with
 * VC_INVALID_ARGUMENT, before anything is sent. */
struct vc_call_opts {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* Milliseconds, 1..2^31-1, that the call may take, connecting included;
     * default: the method's (verbcall/options.proto), or else the channel's,
     * and of a stream none. VC_NO_DEADLINE waits for ever, or until the link is
     * lost. */
    uint32_t timeout_ms;

    uint32_t flags; /* VC_CALL_NO_RETRY, VC_CALL_WAIT_FOR_READY; no others */

    /* Metadata that go with the request; read until the call returns. None by
     * default. VC_INVALID_ARGUMENT when one may not be, and
     * VC_RESOURCE_EXHAUSTED when they take more than VC_METADATA_MAX. */
    const struct vc_metadata *metadata;
    size_t n_metadata;

    /* Takes all that the call came to, when it ends; NULL: nobody wants to
     * know. Its user calls vc_result_clear() afterwards. A stream refuses one
     * with VC_INVALID_ARGUMENT, see vc_stream_result(). */
    struct vc_result *result;

    /* The call that this one is made for, by its handler: this one ends when
     * the other is cancelled (vc_call_is_cancelled()), and at its deadline if
     * that is sooner. Default NULL. The other must not end before this one has
     * begun. */
    struct vc_call *parent;

    /* Ends the call when vc_cancel() is called (verbcall/cancel.h); default
     * NULL: only its time does. */
    struct vc_canceller *canceller;

    /* Milliseconds, 1..2^31-1, after which a call that has not been answered
     * yet is made once more, beside the first; the first good answer is taken,
     * and the other attempt is given up. Only for methods with
     * idempotency_level NO_SIDE_EFFECTS that do not stream, else
     * VC_INVALID_ARGUMENT. Default 0: never. */
    uint32_t hedge_ms;

    /* enum vc_priority; by default that of `parent`, if there is one. */
    uint32_t priority;
};

/* A call that ends with VC_UNAVAILABLE or VC_RESOURCE_EXHAUSTED and has not
 * been executed is tried again, up to the channel's max_attempts in all; so is
 * one of which this is not known, or that failed by itself, if its method has
 * idempotency_level IDEMPOTENT or NO_SIDE_EFFECTS in the .proto file.
 * Of streams see vc_stream_open(). VC_CALL_NO_RETRY: never. */
#define VC_CALL_NO_RETRY 0x1u

/* The call waits until its deadline for a server that is not there yet, or not
 * any more, in place of VC_UNAVAILABLE; as long as it has not been executed. */
#define VC_CALL_WAIT_FOR_READY 0x2u

#define VC_CALL_OPTS_INIT VC_SIZED_INIT(vc_call_opts)
#define VC_CALL_OPTS(...) VC_SIZED(vc_call_opts, __VA_ARGS__)

/* vc_message_free - frees a message that the library gave to the program: the
 * reply of a client's call, and what a stream received, at the client or in a
 * handler. A handler's `request` and `reply` belong to the call and are not
 * freed. Any thread, once; NULL is fine. The channel or stream need not live
 * any more, the runtime must. */
VC_API void vc_message_free(void *message);

VC_END_DECLS

#endif
