/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Programs that use the library in a wrong way: each in a process of its own,
 * which has a server and a client, and either ends by abort() with a line on
 * stderr, or gets a status with a text and goes on as if nothing were. */
#ifndef VC_TESTS_SUITE_MISUSE_H
#define VC_TESTS_SUITE_MISUSE_H

#include "tests/suite/fixture.h"

struct misuse {
    const char *kind; /* as in doc/bad-input.md */
    const char *name;
    enum vc_status status; /* VC_OK: it aborts */
    const char *says;      /* in the text */
    enum vc_status (*run)(struct fixture *f);
};

/* Runs all of them, one after the other; fails the test at the first that does
 * not end as it is to. */
void misuse_run(const struct misuse *cases, size_t n);

/* Fails the case. */
#define misuse_need(what)                                                      \
    ((what) ? (void)0 : misuse_fail(#what, __FILE__, __LINE__))
void misuse_fail(const char *what, const char *file, int line);

/* Runs what(): in a handler of the server, in done() of an asynchronous call, on
 * another thread, or in a child of this process, and returns what it returns;
 * its vc_error() is the case's. */
typedef enum vc_status misuse_what(struct fixture *f);
enum vc_status misuse_in_handler(struct fixture *f, misuse_what *what);
enum vc_status misuse_in_done(struct fixture *f, misuse_what *what);
enum vc_status misuse_in_thread(struct fixture *f, misuse_what *what);
enum vc_status misuse_in_child(struct fixture *f, misuse_what *what);

/* The call of the handler that runs, or has run. */
extern struct vc_call *misuse_call;
/* The handler ends its call later, when this is set. */
extern bool misuse_later;
/* A call whose handler has returned, open when misuse_later is set. */
void misuse_start_call(struct fixture *f);

#endif
