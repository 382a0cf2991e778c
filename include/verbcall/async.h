/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls that nobody waits for. The generated functions give these their
 * types. */
#ifndef VERBCALL_ASYNC_H
#define VERBCALL_ASYNC_H

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_async;
struct vc_call_opts;
struct vc_channel;
struct vc_service;

/* How a call ended: on VC_OK reply is the function's and freed by
 * vc_reply_free(), otherwise NULL. */
typedef void vc_async_done(enum vc_status status, void *reply, void *arg);

/* vc_channel_call_async - starts a unary call. The request may be freed when it
 * returns; done is called once when it returned VC_OK, and never otherwise. */
VC_API enum vc_status
vc_channel_call_async(struct vc_channel *channel,
                      const struct vc_service *service, unsigned method,
                      const void *request, const struct vc_call_opts *opts,
                      vc_async_done *done, void *arg, struct vc_async **call);

VC_END_DECLS

#endif
