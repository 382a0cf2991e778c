/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs a client's calls through the interceptors of their channel. On the
 * thread that makes the call or the stream; vc__channel_intercept_close(): also
 * on the holder, which ends an asynchronous call, and on the thread that closes
 * a stream, or ran the last callback of one.
 *
 * Called by: call.c (call, channel_call), channel_intercept.c (channel_call,
 * request, close), stream_open.c (open, close), async_seen.c (begin, request,
 * close), async.c (close), stream_client.c (close). */
#ifndef VC_RPC_CHANNEL_INTERCEPT_H
#define VC_RPC_CHANNEL_INTERCEPT_H

#include "rpc/client/channel.h"
#include "rpc/interceptor.h"

/* vc_channel_call() on a channel that has interceptors. Returns the status of
 * the one that refuses the call, else as vc_channel_call(). */
enum vc_status vc__channel_intercept_call(struct vc_channel *channel,
                                          const struct vc_service *service,
                                          unsigned method, const void *request,
                                          const struct vc_call_opts *opts,
                                          void **reply);

/* vc_channel_call() without interceptors, which returns the same:
 * rpc/client/call.c. */
enum vc_status vc__channel_call(struct vc_channel *channel,
                                const struct vc_service *service,
                                unsigned method, const void *request,
                                const struct vc_call_opts *opts, void **reply);

/* Starts the interception of a stream on a channel that has interceptors. On
 * VC_OK *i is the interception, which has the stream's options;
 * vc__channel_intercept_close() must follow. Otherwise an interceptor has
 * refused the stream, an option is not allowed, or memory is short: there is
 * nothing to close, and the error is the thread's last. */
enum vc_status vc__channel_intercept_open(struct vc_channel *channel,
                                          const struct vc_service *service,
                                          unsigned method,
                                          const struct vc_call_opts *opts,
                                          struct vc_interception **i);

/* Starts the interception of an asynchronous call, as the above does that of a
 * stream. i->opts->result is not NULL; the caller fills it before it closes the
 * interception. */
enum vc_status vc__channel_intercept_begin(struct vc_channel *channel,
                                           const struct vc_service *service,
                                           unsigned method,
                                           const struct vc_call_opts *opts,
                                           struct vc_interception **i);

/* Reports the request of a call to the interceptors, if it can be packed.
 * Called for blocking calls, and by seen_new() of asynchronous ones. */
void vc__channel_intercept_request(struct vc_interception *i,
                                   const void *request);

/* Ends the interception of a stream or an asynchronous call: reports this end,
 * error->status VC_OK if it succeeded, to the interceptors, and frees i. Called
 * when it has ended, and when it could not be made. */
void vc__channel_intercept_close(struct vc_interception *i,
                                 const struct vc__error *error);

#endif
