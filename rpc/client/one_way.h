/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A call of a method without a reply: VC_METHOD_ONE_WAY. On the thread that
 * makes the call: any.
 *
 * Called by: call.c (one_way). */
#ifndef VC_RPC_ONE_WAY_H
#define VC_RPC_ONE_WAY_H

#include <verbcall/call.h>
#include <verbcall/service.h>

#include "rpc/client/channel.h"

/* Makes the call for vc__channel_call(), on the caller's thread, which advances
 * the engine meanwhile. opts are complete; fills their result. Returns VC_OK
 * when the request was handed to the adapter, or a reply has come before. Else
 * the call has failed with this status and the thread's last error. */
enum vc_status vc__one_way(struct vc_channel *channel,
                           const struct vc_service *service, unsigned method,
                           const void *request,
                           const struct vc_call_opts *opts);

#endif
