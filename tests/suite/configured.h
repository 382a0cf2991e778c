/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A channel with a service config to the server of features.proto, and how its
 * calls go. */
#ifndef VC_TESTS_SUITE_CONFIGURED_H
#define VC_TESTS_SUITE_CONFIGURED_H

#include <verbcall/interceptor.h>

#include "tests/suite/feature.h"

#define WORK "\"service\":\"features.Work\""
#define RETRIES                                                                \
    "\"maxAttempts\":4,\"initialBackoff\":\"0.001s\",\"maxBackoff\":\"0."      \
    "002s\",\"backoffMultiplier\":2,"
#define ENTRY(name, what) "{\"name\":[{" name "}]," what "}"
#define METHODS(entries)  "{\"methodConfig\":[" entries "]}"
#define ALL(what)         METHODS(ENTRY("", what))

/* The methods of Work. */
enum {
    ONCE,
    AGAIN,
    LOOK,
    TELL
};

/* Starts a server, and a client with a thread and this config, whose calls have
 * 30 s by default. */
void configured_start(struct fixture *f, const char *json);

/* Makes a call of Work; returns its status, and the attempt that the server
 * answered. */
enum vc_status configured_work(struct fixture *f, unsigned method,
                               const Features__Order *order,
                               const struct vc_call_opts *opts,
                               unsigned *attempt);

/* Fails the test unless the thread's last error has this text. */
void configured_error(const char *text);

/* To be added to a channel, for configured_timeout(). */
extern const struct vc_interceptor configured_sees;

/* Makes a good call. Returns the timeout that it had in seconds, rounded up to
 * tens. */
unsigned configured_timeout(struct fixture *f, unsigned method,
                            const struct vc_call_opts *opts);

#endif
