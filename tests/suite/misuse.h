/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Programs that misuse the library, each in a process of its own with a server
 * and a client. A case either ends by abort() with a line on stderr, or gets a
 * status with a text and continues normally. */
#ifndef VC_TESTS_SUITE_MISUSE_H
#define VC_TESTS_SUITE_MISUSE_H

#include "tests/suite/fixture.h"

struct misuse {
    const char *kind; /* as in doc/bad-input.md */
    const char *name;
    enum vc_status status; /* VC_OK: it aborts */
    const char *says;      /* part of the text */
    enum vc_status (*run)(struct fixture *f);
};

/* Runs all cases in turn; fails the test at the first that does not end as it
 * must. */
void misuse_run(const struct misuse *cases, size_t n);

/* Fails the case unless `what` is true. */
#define misuse_need(what)                                                      \
    ((what) ? (void)0 : misuse_fail(#what, __FILE__, __LINE__))
void misuse_fail(const char *what, const char *file, int line);

/* Run what() in a handler of the server, in done() of an asynchronous call, on
 * another thread, or in a child of this process. They return its result; its
 * vc_error() becomes the case's. */
typedef enum vc_status misuse_what(struct fixture *f);
enum vc_status misuse_in_handler(struct fixture *f, misuse_what *what);
enum vc_status misuse_in_done(struct fixture *f, misuse_what *what);
enum vc_status misuse_in_thread(struct fixture *f, misuse_what *what);
enum vc_status misuse_in_child(struct fixture *f, misuse_what *what);

/* The call of the handler that runs, or has run. */
extern struct vc_call *misuse_call;
/* true: the handler ends its call later. */
extern bool misuse_later;
/* Starts a call and waits until its handler has returned; the call stays open
 * if misuse_later is set. */
void misuse_start_call(struct fixture *f);

#endif
