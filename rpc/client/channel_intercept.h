/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs a client's calls through the interceptors of their channel. */
#ifndef VC_RPC_CHANNEL_INTERCEPT_H
#define VC_RPC_CHANNEL_INTERCEPT_H

#include "rpc/client/channel.h"
#include "rpc/interceptor.h"

/* vc_channel_call() on a channel that has interceptors. */
enum vc_status vc__channel_intercept_call(struct vc_channel *channel,
                                          const struct vc_service *service,
                                          unsigned method, const void *request,
                                          const struct vc_call_opts *opts,
                                          void **reply);

/* The same without interceptors: rpc/client/call.c. */
enum vc_status vc__channel_call(struct vc_channel *channel,
                                const struct vc_service *service,
                                unsigned method, const void *request,
                                const struct vc_call_opts *opts, void **reply);

/* Starts the interception of a stream on such a channel. On VC_OK *i is the
 * interception, which has the stream's options. Otherwise the stream was
 * refused, and there is nothing to close. */
enum vc_status vc__channel_intercept_open(struct vc_channel *channel,
                                          const struct vc_service *service,
                                          unsigned method,
                                          const struct vc_call_opts *opts,
                                          struct vc_interception **i);

/* The same for an asynchronous call. i->opts->result is not NULL; the caller
 * fills it before it closes the interception. */
enum vc_status vc__channel_intercept_begin(struct vc_channel *channel,
                                           const struct vc_service *service,
                                           unsigned method,
                                           const struct vc_call_opts *opts,
                                           struct vc_interception **i);

/* Ends the interception of either with this error; frees i. */
void vc__channel_intercept_close(struct vc_interception *i,
                                 const struct vc__error *error);

#endif
