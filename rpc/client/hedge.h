/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Hedging: a second attempt beside one that takes long (Dean, Barroso, "The
 * tail at scale", CACM 2013); the first good reply is used. A hedge is part of
 * an asynchronous call; a blocking call with a hedge runs as one. For the
 * holder of the engine, except vc__hedge_check() and vc__hedge_call(): any
 * thread.
 *
 * Called by: async.c (begin, give_up, ended, is_fatal, unary, check), hedge.c
 * (is_fatal), stream_open.c (check), call.c (call). */
#ifndef VC_RPC_HEDGE_H
#define VC_RPC_HEDGE_H

#include "rpc/client/async.h"

/* Starts the hedge. Called by the call's timer when hedge_ms have passed. There
 * is none if the attempt has ended, the server sheds calls of this process, or
 * memory is short. If the attempt still waits for the channel's servers to be
 * known, only a->attempts.began is set to now, so that hedge_ms begin again. */
void vc__hedge_begin(struct vc_async *a);

/* Abandons the hedge, if there is one: the call ends without it. Frees it, or
 * leaves that to vc__hedge_ended() if the hedge is just ending by itself. */
void vc__hedge_give_up(struct vc_async *a);

/* Handles VC__ASYNC_EV_HEDGE: the hedge has ended. True if it has a good reply
 * that the call still waits for, or a fatal error; then the call keeps the
 * hedge. False if the hedge was freed. */
bool vc__hedge_ended(struct vc_async *a);

/* True if the error of this attempt ends the call, though another attempt is
 * under way: the hedge is that of a service config, whose nonFatalStatusCodes
 * do not have the status. Not if the server has not answered, and the call was
 * certainly not executed. */
bool vc__hedge_is_fatal(const struct vc_async *a, const struct vc__attempt *u);

/* The hedge's attempt, which belongs to the hedge. Called when the hedge has
 * won. */
struct vc__attempt *vc__hedge_unary(struct vc__hedge *h);

/* VC_INVALID_ARGUMENT, as this thread's last error, if hedge_ms is set and the
 * method streams, or may have side effects; else VC_OK. Called before an
 * asynchronous call, of which a hedged one is a kind, or a stream is made. */
enum vc_status vc__hedge_check(const struct vc_method *method,
                               uint32_t hedge_ms);

/* vc_channel_call() with a hedge, for vc__channel_call(), on the thread that
 * makes the call: waits for its end and advances the engine meanwhile. Returns
 * its status. On VC_OK *reply is the caller's; else the error is the thread's
 * last. */
enum vc_status vc__hedge_call(struct vc_channel *channel,
                              const struct vc_service *service, unsigned method,
                              const void *request,
                              const struct vc_call_opts *opts, void **reply);

#endif
