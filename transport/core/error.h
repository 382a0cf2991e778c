/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How errors are kept. The function that first knows what went wrong describes
 * it in words, once. On the thread of the caller, vc__fail() keeps the words
 * for vc_error(); between threads they travel in a struct vc__error. Any
 * thread; the last error is the calling thread's own.
 *
 * Called by: rpc/client/attempt.c (copy), rpc/text.c (copy), error.c (copy,
 * status_of_errno), transport/rdma/buffer.c (fail_lacking),
 * transport/rdma/device.c (fail_lacking), transport/rdma/device_queues.c
 * (fail_lacking), transport/rdma/failure.c (put_errno), transport/shm/connect.c
 * (put_errno), transport/tcp/connect.c (put_errno), cm/link/listener.c
 * (lack_text), rpc/server/server_link.c (lack_text, lack_lasts),
 * rpc/client/attempts.c (lack_lasts), rpc/client/stream_again.c (lack_lasts),
 * rpc/server/server_call.c (within), cm/link/link_connect.c (words_put),
 * rpc/balance/health_watch.c (words_put), rpc/balance/watched_file.c
 * (words_put), rpc/probe.c (words_put), log.c (words_put),
 * rpc/client/reply_error.c (text_put), many files (put, raise, fail,
 * fail_errno, last, text_format). */
#ifndef VC_TRANSPORT_ERROR_H
#define VC_TRANSPORT_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <verbcall/status.h>

/* Sizes in bytes, terminator included: of the text that a handler or an
 * interceptor gives its call, and of an error, which has room for that text and
 * what stands before it. */
#define VC__SAID_TEXT  1025
#define VC__ERROR_TEXT VC_ERROR_SIZE

/* What this process lacks for one more connection. */
enum vc__lack {
    VC__LACK_NOTHING = 0, /* the failure has another cause */
    VC__LACK_ROOM,        /* other connections have all that is allowed */
    VC__LACK_PINNED,      /* the memory of even one cannot be pinned */
    VC__LACK_DESCRIPTORS,
    VC__LACKS
};

struct vc__error {
    enum vc_status status;
    enum vc_outcome outcome;
    enum vc__lack lack;
    char text[VC__ERROR_TEXT];
};

/* Copies an error, but no more of the text than there is: it has room for far
 * more. Called by vc__error_raise(), call_failed() of rpc/client/attempt.c and
 * vc__text_name(). */
static inline void
vc__error_copy(struct vc__error *to, const struct vc__error *from)
{
    memcpy(to, from, offsetof(struct vc__error, text) + strlen(from->text) + 1);
}

/* Writes an error to *error; the outcome is "not executed", and nothing is
 * lacking. For errors that travel to another thread, or may be dropped; called
 * by all floors, under any lock. */
void vc__error_put(struct vc__error *error, enum vc_status status,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes it this thread's vc_error() and returns its status; also notes in which
 * handler that was, for vc__error_within(). Called by functions that return a
 * status, with an error that was written before, mostly by another thread. */
enum vc_status vc__error_raise(const struct vc__error *error);

/* vc__error_put() and vc__error_raise() in one: returns `status`. Called by
 * functions of all floors that return a status, when they fail. */
enum vc_status vc__fail(enum vc_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* vc__fail() with VC_RESOURCE_EXHAUSTED, which it returns, because `lack` is
 * lacking. Called by transport/rdma when a device has no memory, receives or
 * entries of its CQ left. */
enum vc_status vc__fail_lacking(enum vc__lack lack, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Write or raise an error for an errno of verbs, rdma_cm or the system; the
 * status is vc__status_of_errno(), which vc__fail_errno() returns. The format
 * says what failed; the errno's text follows, with a remedy if descriptors are
 * lacking, which error->lack then says. Called by the transports, and
 * vc_runtime_new(). */
void vc__error_put_errno(struct vc__error *error, int err, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));
enum vc_status vc__fail_errno(int err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What the server lacks, as text for a client; NULL for VC__LACK_NOTHING. The
 * text is constant, and fits the text of a reject. Called on the holder when a
 * connect request is rejected (cm/link/listener.c,
 * rpc/server/server_link.c). */
const char *vc__lack_text(enum vc__lack lack);

/* True if the lack lasts until the limits of the process are raised: a retry is
 * of no use. Called by the server for a reject, and by the client before it
 * retries a call or a stream. */
static inline bool
vc__lack_lasts(enum vc__lack lack)
{
    return lack >= VC__LACK_PINNED;
}

/* This thread's last error, to be passed to another thread. Never NULL; valid
 * until the thread's next error. Called after a function that sets it has
 * failed. */
const struct vc__error *vc__error_last(void);

/* This thread's last error, if it was raised in the handler or done() callback
 * that this thread is in, since that began, and not in another one nested in
 * it. The handler may then end with this error. Otherwise NULL. Called by
 * vc__call_explain(): on the handler's thread, when the handler has returned,
 * or on the thread that calls vc_call_end(). */
const struct vc__error *vc__error_within(void);

/* Like vsnprintf(), but a truncated text ends with a whole character of UTF-8.
 * Called wherever a text of limited size is made: errors, log lines, rejects,
 * what a handler says. */
void vc__text_format(char *text, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Writes a text of a peer, or of the program, to out, of `size` bytes:
 * truncated to fit at a whole character, and with blanks for control
 * characters, as errors are shown on terminals. `out` may be `words`. Called
 * for texts of accepts and rejects (cm/link/link_connect.c, on the holder;
 * rpc/probe.c), the text of a Watch that has ended (health_watch.c, on the
 * holder), the path of a watched file (vc__watched_file_begin(), when a channel
 * is opened), and each log line, on the thread that logs. */
void vc__words_put(char *out, size_t size, const void *words, size_t len);

/* Writes a handler's text as vc__words_put() does, but keeps its tabs and line
 * ends. Called by vc__reply_error() for a reply with an error. */
void vc__text_put(char *out, size_t size, const void *text, size_t len);

/* The status that stands for an errno of verbs, rdma_cm or the system:
 * VC_INVALID_ARGUMENT, VC_PERMISSION_DENIED, VC_RESOURCE_EXHAUSTED, or
 * VC_UNAVAILABLE for most. For vc__error_put_errno() and vc__fail_errno(). */
enum vc_status vc__status_of_errno(int err);

#endif
