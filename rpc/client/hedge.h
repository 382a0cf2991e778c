/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Hedging: a second attempt beside one that takes long (Dean, Barroso, "The
 * tail at scale", CACM 2013); the first good reply is used. A hedge is part of
 * an asynchronous call; a blocking call with a hedge runs as one. For the
 * holder of the engine, except vc__hedge_check() and vc__hedge_call(): any
 * thread.
 *
 * Called by: async.c (begin, give_up, ended, unary, check), stream_open.c
 * (check), call.c (call). */
#ifndef VC_RPC_HEDGE_H
#define VC_RPC_HEDGE_H

#include "rpc/client/async.h"

/* Starts the hedge; if memory is short there is none. */
void vc__hedge_begin(struct vc_async *a);

/* Abandons the hedge, if there is one: the call ends without it. */
void vc__hedge_give_up(struct vc_async *a);

/* Handles VC__ASYNC_EV_HEDGE: the hedge has ended. True if it has a good reply that
 * the call still waits for. False if the hedge was freed. */
bool vc__hedge_ended(struct vc_async *a);

/* The hedge's attempt. */
struct vc__attempt *vc__hedge_unary(struct vc__hedge *h);

/* VC_INVALID_ARGUMENT if hedge_ms is set and calls of this method must not run
 * twice at a time. */
enum vc_status vc__hedge_check(const struct vc_method *method,
                               uint32_t hedge_ms);

/* vc_channel_call() with a hedge. */
enum vc_status vc__hedge_call(struct vc_channel *channel,
                              const struct vc_service *service, unsigned method,
                              const void *request,
                              const struct vc_call_opts *opts, void **reply);

#endif
