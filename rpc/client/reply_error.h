/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Converts a reply that is an error to one for the program. On the holder, when
 * the reply has come.
 *
 * Called by: attempt.c (reply_error), stream_reply.c (reply_error). */
#ifndef VC_RPC_REPLY_ERROR_H
#define VC_RPC_REPLY_ERROR_H

#include "cm/pool/session.h"
#include "transport/core/error.h"

/* Sets all of *error. A text that a handler or an interceptor has written is
 * kept, except that of an interceptor which refuses with UNIMPLEMENTED. All
 * other texts begin with the names of service and method. A status that this
 * version does not know becomes VC_UNKNOWN. */
void vc__reply_error(struct vc__error *error,
                     const struct vc__reply_frame *reply, const char *service,
                     const char *method);

#endif
