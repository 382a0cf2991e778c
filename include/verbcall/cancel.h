/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * On the client: cancels calls that are under way, from another thread. */
#ifndef VERBCALL_CANCEL_H
#define VERBCALL_CANCEL_H

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

/* Cancels all calls that have it in their options (struct vc_call_opts). These
 * may be any number of calls, in sequence and in parallel, of any channels. */
struct vc_canceller;

/* vc_canceller_new - creates a canceller. On VC_OK the caller owns *canceller.
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_canceller_new(struct vc_canceller **canceller);

/* vc_cancel - ends the calls of this canceller with VC_CANCELLED, within
 * milliseconds. vc_error_outcome() says of each call whether it may have run.
 * Their handlers are notified (vc_call_is_cancelled()). A call that ends at the
 * same moment may still end with another status. A call that is started with
 * this canceller later ends at once. Any thread, any number of times; does not
 * wait for the calls to return. */
VC_API void vc_cancel(struct vc_canceller *canceller);

/* vc_canceller_free - frees the canceller. Calls that use it may still run, but
 * no call may be started with it any more. NULL is allowed. */
VC_API void vc_canceller_free(struct vc_canceller *canceller);

VC_END_DECLS

#endif
