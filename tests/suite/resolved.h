/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Servers, and a channel to "app:", whose resolver is the test: it calls
 * vc_resolver_set() and vc_resolver_fail() itself. */
#ifndef VC_TESTS_SUITE_RESOLVED_H
#define VC_TESTS_SUITE_RESOLVED_H

#include <verbcall/counters.h>
#include <verbcall/resolver.h>

#include "tests/suite/feature.h"

#define RESOLVED_SERVERS 3u
#define RESOLVED_MS      30000u /* the longest wait for a state */
#define RESOLVED_TEXT    8192u

/* What the type "app" was asked, and what it shall do. Zeroed by
 * resolved_start(). */
struct app {
    struct vc_resolver *resolver; /* of the last open() */
    char target[100];             /* that it got */
    enum vc_status refuses;       /* open() returns it */
    const char *why;              /* then, if not NULL, after this failure */
    const char *first; /* open() sets these servers of resolved_set() at once */
    atomic_uint opens, agains, closes; /* calls; for fixture_await() */
    void (*on_again)(void);            /* called by again(); or NULL */
    void (*on_close)(void);            /* called by close(); or NULL */
};
extern struct app app;
extern const struct vc_resolver_type app_type;

/* Each has suite.Probe, suite.Streams and features.Work, where server i is
 * named "0", "1", "2". */
struct resolved {
    struct fixture servers[RESOLVED_SERVERS]; /* without clients */
    struct vc_runtime *runtime;               /* has a thread */
    struct vc_channel *channel;               /* to "app:it" */
};

/* The options of servers that are started from now on; or NULL. */
extern const struct vc_server_opts *resolved_server_opts;

/* Starts the servers, and opens the channel; policy NULL: the default. */
void resolved_start(struct resolved *w, const char *policy);
/* The same, without a channel. */
void resolved_start_servers(struct resolved *w);
void resolved_open(struct resolved *w, const char *policy);
void resolved_stop(struct resolved *w);

void resolved_server_start(struct resolved *w, unsigned i);
void resolved_server_stop(struct resolved *w, unsigned i);

/* Sets the servers with these numbers, in this order: "201". */
enum vc_status resolved_set(struct resolved *w, const char *servers);

/* Handlers that the server has started. */
uint64_t resolved_served(const struct resolved *w, unsigned i);
/* Waits until the server has no connection, stream or running handler. */
void resolved_await_unused(const struct resolved *w, unsigned i);
/* Waits until so many calls of the runtime wait. */
void resolved_await_waiting(const struct resolved *w, unsigned n);
/* The counters of the client's runtime. */
struct vc_counters resolved_counters(const struct resolved *w);

/* Calls Work.Once with options; returns the number of the server in *by, if by
 * is not NULL. */
enum vc_status resolved_call(struct resolved *w,
                             const struct vc_call_opts *opts, unsigned *by);
/* Calls until all n servers are ready. */
void resolved_await_ready(struct resolved *w, unsigned n);
/* Fails the test unless vc_channel_describe() has this text. */
void resolved_described(const struct resolved *w, const char *text);
/* Waits until it has. */
void resolved_await_described(const struct resolved *w, const char *part);
/* Fails the test unless the thread's last error has this text. */
void resolved_says(const char *text);

#endif
