/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The texts of errors of calls. They begin with the names of service and
 * method, "demo.Greeter.SayHello: ", but those that handlers and interceptors
 * have written. What more than one place says is here, so that one cause has
 * one text. */
#ifndef VC_RPC_TEXT_H
#define VC_RPC_TEXT_H

#include "transport/core/error.h"

/* The server fills this in; the client does for a server that has not. It goes
 * on with vc_status_name(). */
#define VC__TEXT_BARE "%s.%s: the handler ended with %s and no text"

/* Of streams, whichever end notices it. */
#define VC__TEXT_LATE "%s.%s: the deadline has passed"

/* Without the names. */
#define VC__TEXT_CANCELLED "the call was cancelled"
#define VC__TEXT_CLOSED    "the channel was closed"

/* Then the milliseconds, and what the last attempt ended with. */
#define VC__TEXT_NO_SERVER "%s.%s: no server within %u ms: %s"

/* The reply is longer than its method allows: then its bytes, and how many
 * there may be. */
#define VC__TEXT_MAX_REPLY                                                     \
    "%s.%s: the reply has %u bytes, and (verbcall.method).max_reply is %u"

/* Has the text begin with the names, unless it does: for an error of a layer
 * that does not know them. */
void vc__text_name(struct vc__error *error, const char *service,
                   const char *method);

/* The same of this thread's last error; its status. */
enum vc_status vc__text_name_last(const char *service, const char *method);

/* The text behind the names, if it begins with them. */
const char *vc__text_behind(const char *text, const char *service,
                            const char *method);

#endif
