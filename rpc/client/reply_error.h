/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A reply that is an error: how it is told to the program. Any thread. */
#ifndef VC_RPC_REPLY_ERROR_H
#define VC_RPC_REPLY_ERROR_H

#include "cm/pool/session.h"
#include "transport/core/error.h"

/* What a handler or an interceptor has written stays as it is, but for that of
 * an interceptor which refuses with UNIMPLEMENTED. All other texts begin with
 * the names of service and method. */
void vc__reply_error(struct vc__error *error,
                     const struct vc__reply_frame *reply, const char *service,
                     const char *method);

#endif
