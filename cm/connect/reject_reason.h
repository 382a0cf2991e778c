/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The reasons of a reject: the text, the client's reaction, and the server's
 * counter of each (doc/wire.md, sections 2.5 and 2.6). A new reason needs one
 * line here, a counter, and a line in doc/wire.md. Pure; any thread.
 *
 * Called by: dial.c (reject_rule), reject_reason.c (reject_rule),
 * cm/link/link_connect.c (reject_rule), cm/link/listener.c (reject_rule),
 * rpc/probe.c (reject_rule). */
#ifndef VC_CM_REJECT_REASON_H
#define VC_CM_REJECT_REASON_H

#include <verbcall/status.h>

/* What the client does about the address that rejected it. */
enum vc__reaction {
    VC__REACTION_GIVE_UP,
    VC__REACTION_WAIT,  /* retry after the reject's time; if none: give up */
    VC__REACTION_LOWER, /* retry with the counter-offer, once */
    VC__REACTION_MOVE,  /* try the reject's addresses */
};

/* X(name, number, status of the waiting calls, reaction, the server's counter,
 * text for humans) */
#define VC__REJECT_REASONS(X)                                                  \
    X(VERSION, 1, UNIMPLEMENTED, GIVE_UP, rejects_version,                     \
      "no protocol version in common")                                         \
    X(SERVICE, 2, UNIMPLEMENTED, GIVE_UP, rejects_service,                     \
      "service not served here")                                               \
    X(SCHEMA, 3, FAILED_PRECONDITION, GIVE_UP, rejects_schema,                 \
      "schemas of the service differ")                                         \
    X(BUSY, 4, UNAVAILABLE, WAIT, rejects_busy,                                \
      "too busy for another connection")                                       \
    X(LIMIT, 5, RESOURCE_EXHAUSTED, LOWER, rejects_limit,                      \
      "offered sizes or credits are not acceptable")                           \
    X(DRAINING, 6, UNAVAILABLE, WAIT, rejects_draining, "draining")            \
    X(MOVED, 7, UNAVAILABLE, MOVE, rejects_moved, "served elsewhere")          \
    X(SECURITY, 8, UNAUTHENTICATED, GIVE_UP, rejects_security,                 \
      "security modes do not match")                                           \
    X(MALFORMED, 9, INTERNAL, GIVE_UP, rejects_malformed, "hello malformed")   \
    X(POOL, 10, UNAVAILABLE, GIVE_UP, rejects_pool,                            \
      "the connection pool of the client is unknown")                          \
    X(UNABLE, 11, UNAVAILABLE, GIVE_UP, rejects_unable,                        \
      "it cannot accept connections now")

enum vc__reject_reason {
#define VC__REJECT_ENUM(name, number, status, reaction, counter, text)         \
    VC__REJECT_##name = number,
    VC__REJECT_REASONS(VC__REJECT_ENUM)
#undef VC__REJECT_ENUM
};

struct vc__reject_rule {
    const char *text;
    enum vc_status status;
    enum vc__reaction reaction;
    int counter; /* enum vc__count; below 0: none */
};

/* The rule of a reason; any number is allowed. For an unknown one, of a later
 * version, the status is UNAVAILABLE and the client abandons the address. Never
 * NULL; constant. Called when a reject is sent or has come, on the holder, and
 * by vc_probe(). */
const struct vc__reject_rule *vc__reject_rule(unsigned reason);

#endif
