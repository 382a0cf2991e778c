/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A call that runs, and that nobody waits for any more: its client has given
 * it up or is gone, or its deadline has passed. What is needed to tell the
 * handler is made when it asks to be told.
 *
 * May run together: vc_call_is_cancelled() and vc_call_on_cancel() of
 * verbcall/call.h with everything, while the call has not ended. The rest
 * belongs to the holder of the engine. */
#ifndef VC_RPC_SERVER_CANCEL_H
#define VC_RPC_SERVER_CANCEL_H

#include "rpc/server/server_call.h"

/* Its client has given it up, or is gone: its handler is told. Once more does
 * nothing. */
void vc__call_cancel(struct vc_call *call);

/* It has ended: nothing is told any more. */
void vc__call_unwatch(struct vc_call *call);

#endif
