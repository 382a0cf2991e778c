/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * On the client: ending calls that are under way, from another thread. */
#ifndef VERBCALL_CANCEL_H
#define VERBCALL_CANCEL_H

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

/* Ends all calls that were given it in their options (struct vc_call_opts):
 * any number, one after the other and at a time, of any channels. */
struct vc_canceller;

/* vc_canceller_new - makes one. On VC_OK the caller owns *canceller.
 * VC_RESOURCE_EXHAUSTED no memory */
VC_API enum vc_status vc_canceller_new(struct vc_canceller **canceller);

/* vc_cancel - ends its calls with VC_CANCELLED, within milliseconds;
 * vc_error_outcome() says of each whether it may have run. Their handlers are
 * told (vc_call_is_cancelled()). A call that ends this moment may still end in
 * another way. Calls that are given it from now on end at once. Any thread,
 * any number of times; does not wait for the calls to return. */
VC_API void vc_cancel(struct vc_canceller *canceller);

/* vc_canceller_free - gives it back. Calls that were given it may still run,
 * but none may begin with it any more. NULL is fine. */
VC_API void vc_canceller_free(struct vc_canceller *canceller);

VC_END_DECLS

#endif
