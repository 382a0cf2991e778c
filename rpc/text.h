/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The error texts of calls. They begin with the names of service and method,
 * "demo.Greeter.SayHello: ", except those written by handlers and interceptors.
 * Texts used in more than one place are here, so that one cause has one text.
 * Any thread.
 *
 * Called by: rpc/client/attempt.c (of_method), rpc/server/server_reply.c
 * (of_method), rpc/client/async.c (name_last), rpc/client/call.c (name_last),
 * rpc/client/publisher.c (name_last), rpc/client/stream_open.c (name_last),
 * rpc/client/attempts.c (without_names), rpc/client/stream_again.c
 * (without_names), text.c (without_names), many files (name). */
#ifndef VC_RPC_TEXT_H
#define VC_RPC_TEXT_H

#include "transport/core/error.h"

/* Written by the server, or by the client if the server sent no text. The last
 * argument is vc_status_name(). */
#define VC__TEXT_BARE "%s.%s: the handler ended with %s and no text"

/* Without the names: the caller puts them in front. */
#define VC__TEXT_CANCELLED "the call was cancelled"
#define VC__TEXT_CLOSED    "the channel was closed"
/* Followed by " within" and the timeout. */
#define VC__TEXT_NOWHERE "the channel's servers were not known"
#define VC__TEXT_WAITS   "the channel's policy had no server for it"

/* After the names: the timeout in milliseconds, and the last attempt's
 * error. */
#define VC__TEXT_NO_SERVER "%s.%s: no server within %u ms: %s"

/* The reply is longer than its method allows. After the names: the reply's
 * bytes, and the limit. */
#define VC__TEXT_MAX_REPLY                                                     \
    "%s.%s: the reply has %u bytes, more than (verbcall.method).max_reply, "   \
    "which is %u: see that both ends have the same .proto file"

/* The reply is longer than the service config allows. After the names: its
 * bytes, and the limit. */
#define VC__TEXT_CONFIG_REPLY                                                  \
    "%s.%s: the reply has %u bytes, more than maxResponseMessageBytes of the " \
    "service config, which is %u"

/* Writes "SERVICE.METHOD: text" to out, cut to its size. For the errors of an
 * overload, where printf() would be most of what a refused call costs: called
 * by a client for a call that it does not send (fail_unsent()), and by
 * vc__reply_refuse() of a server. */
void vc__text_of_method(char *out, size_t size, const char *service,
                        const char *method, const char *text);

/* Puts the names in front of the error's text, unless it begins with them. For
 * errors of layers that do not know the names: called by rpc/client when a
 * call, an attempt or a stream has failed. */
void vc__text_name(struct vc__error *error, const char *service,
                   const char *method);

/* Puts the names in front of this thread's last error; returns its status. For
 * a client's call or stream that could not be made: called by fail_unmade(),
 * vc__async_new() and stream_open(). */
enum vc_status vc__text_name_last(const char *service, const char *method);

/* Returns the text after the names, or all of it if it has no names; it points
 * into `text`. Called by vc__text_name(), and by a client for a call or stream
 * that has found no server in time (VC__TEXT_NO_SERVER). */
const char *vc__text_without_names(const char *text, const char *service,
                                   const char *method);

#endif
