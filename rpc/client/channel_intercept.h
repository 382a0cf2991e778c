/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A client's calls through the interceptors of their channel. */
#ifndef VC_RPC_CHANNEL_INTERCEPT_H
#define VC_RPC_CHANNEL_INTERCEPT_H

#include "rpc/client/channel.h"
#include "rpc/interceptor.h"

/* vc_channel_call() of a channel that has interceptors. */
enum vc_status vc__channel_intercept_call(struct vc_channel *channel,
                                          const struct vc_service *service,
                                          unsigned method, const void *request,
                                          const struct vc_call_opts *opts,
                                          void **reply);

/* The same without them: rpc/client/call.c. */
enum vc_status vc__channel_call(struct vc_channel *channel,
                                const struct vc_service *service,
                                unsigned method, const void *request,
                                const struct vc_call_opts *opts, void **reply);

/* The start of a stream of such a channel: *i is what sees it, and has its
 * options. Else it was refused, and there is nothing to finish. */
enum vc_status vc__channel_intercept_open(struct vc_channel *channel,
                                          const struct vc_service *service,
                                          unsigned method,
                                          const struct vc_call_opts *opts,
                                          struct vc_interception **i);

/* The same of a call that nobody waits for. The options have a result, which is
 * to be filled before the end. */
enum vc_status vc__channel_intercept_begin(struct vc_channel *channel,
                                           const struct vc_service *service,
                                           unsigned method,
                                           const struct vc_call_opts *opts,
                                           struct vc_interception **i);

/* The end of either; frees i. */
void vc__channel_intercept_close(struct vc_interception *i,
                                 const struct vc__error *error);

#endif
