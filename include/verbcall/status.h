/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The status of a call, or of any other function of the library. The codes and
 * their numbers are gRPC's (https://grpc.io/docs/guides/status-codes/). */
#ifndef VERBCALL_STATUS_H
#define VERBCALL_STATUS_H

#include <verbcall/export.h>

VC_BEGIN_DECLS

/* X(name, number, meaning when the library itself returns it) */
#define VC_STATUSES(X)                                                         \
    X(OK, 0, "success")                                                        \
    X(CANCELLED, 1, "the caller cancelled the call")                           \
    X(UNKNOWN, 2, "the handler returned a number that is no code")             \
    X(INVALID_ARGUMENT, 3, "a bad option, target or message")                  \
    X(DEADLINE_EXCEEDED, 4, "the timeout elapsed")                             \
    X(NOT_FOUND, 5, "returned by handlers")                                    \
    X(ALREADY_EXISTS, 6, "the service has been added before")                  \
    X(PERMISSION_DENIED, 7, "the system refuses access")                       \
    X(RESOURCE_EXHAUSTED, 8, "a limit of size, count or memory was reached")   \
    X(FAILED_PRECONDITION, 9, "the object is not in a state to do this")       \
    X(ABORTED, 10, "returned by handlers")                                     \
    X(OUT_OF_RANGE, 11, "returned by handlers")                                \
    X(UNIMPLEMENTED, 12, "the peer does not serve this service or method")     \
    X(INTERNAL, 13, "the peer broke the protocol, or the library has a bug")   \
    X(UNAVAILABLE, 14, "no connection, or it was lost; a retry may help")      \
    X(DATA_LOSS, 15, "returned by handlers")                                   \
    X(UNAUTHENTICATED, 16, "returned by handlers")

enum vc_status {
#define VC_STATUS_ENUM(name, number, text) VC_##name = number,
    VC_STATUSES(VC_STATUS_ENUM)
#undef VC_STATUS_ENUM
};

/* Whether the server's handler ran for a call that ended with an error. */
enum vc_outcome {
    VC_OUTCOME_EXECUTED,     /* the handler ran, and returned the status */
    VC_OUTCOME_NOT_EXECUTED, /* the handler has not run and will not */
    VC_OUTCOME_UNKNOWN,      /* the handler may have run, be running, or run
                              * later */
};

/* vc_status_name - returns "OK", "CANCELLED", ... as gRPC writes them. Never
 * NULL; "UNKNOWN" for a number that is not a status. Any thread. */
VC_API const char *vc_status_name(enum vc_status status);

/* Most bytes of the text of vc_error(), with its NUL: 1024 of a handler's text,
 * and what stands before that. */
#define VC_ERROR_SIZE 1280

/* vc_error - returns a text that says how the last failing Verbcall function on
 * this thread failed, and what to do about it. Use it only right after a
 * failure: a function that succeeds does not clear the text, and may have
 * replaced it, by that of an attempt inside it that failed, as of RDMA before
 * TCP at vc://. For a call that a handler failed it is the handler's text, with
 * blanks for control characters other than tabs and ends of lines. If the
 * handler gave none, it is the text of a call that the handler made and whose
 * status it returned. Other texts of calls begin with
 * "demo.Greeter.SayHello: ". Never NULL; "" only when nothing has failed yet.
 * The library owns the text, which is valid until this thread calls the library
 * again. */
VC_API const char *vc_error(void);

/* vc_error_status - returns the status that belongs to vc_error(); VC_OK when
 * nothing has failed yet. For functions that report failure by returning
 * NULL. */
VC_API enum vc_status vc_error_status(void);

/* vc_error_outcome - returns whether the handler ran for the call that
 * vc_error() describes. */
VC_API enum vc_outcome vc_error_outcome(void);

VC_END_DECLS

#endif
