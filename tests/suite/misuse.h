/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Programs that misuse the library. Each case runs in a process of its own with
 * a server and a client. The case either ends by abort() with a line on stderr,
 * or gets a status with a text and continues normally. */
#ifndef VC_TESTS_SUITE_MISUSE_H
#define VC_TESTS_SUITE_MISUSE_H

#include "tests/suite/fixture.h"

struct misuse {
    const char *kind; /* as in doc/bad-input.md */
    const char *name;
    enum vc_status status; /* VC_OK: the case aborts */
    const char *says;      /* expected in the output */
    enum vc_status (*run)(struct fixture *f);
};

/* Runs all cases, one after the other; fails the test at the first case that
 * does not end as expected. */
void misuse_run(const struct misuse *cases, size_t n);

/* Fails the case unless `what` is true. */
#define misuse_need(what)                                                      \
    ((what) ? (void)0 : misuse_fail(#what, __FILE__, __LINE__))
void misuse_fail(const char *what, const char *file, int line);

/* Run what() in a handler of the server, in done() of an asynchronous call, on
 * another thread, or in a child of this process. They return its result; its
 * vc_error() becomes part of the case's output. */
typedef enum vc_status misuse_what(struct fixture *f);
enum vc_status misuse_in_handler(struct fixture *f, misuse_what *what);
enum vc_status misuse_in_done(struct fixture *f, misuse_what *what);
enum vc_status misuse_in_thread(struct fixture *f, misuse_what *what);
enum vc_status misuse_in_child(struct fixture *f, misuse_what *what);

/* The call of the handler that runs or ran last. */
extern struct vc_call *misuse_call;
/* True: the handler answers its call later. */
extern bool misuse_later;
/* Starts a call and waits until its handler has run; the call stays open when
 * misuse_later is set. */
void misuse_start_call(struct fixture *f);

/* Makes an Echo; its reply is freed. */
enum vc_status misuse_echo(struct fixture *f, const struct vc_call_opts *opts);

/* Opens a stream in both directions. */
struct vc_stream *misuse_talk(struct fixture *f);

/* Closes the stream, and returns this status; its text is kept. */
enum vc_status misuse_close_with(struct vc_stream *s, enum vc_status status);

#endif
