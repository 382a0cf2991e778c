/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A second attempt beside one that takes long (Dean, Barroso, "The tail at
 * scale", CACM 2013): the first good answer is taken. It is part of a call that
 * nobody waits for, which a blocking one with a hedge is inside. The holder of
 * the engine, but for the blocking call. */
#ifndef VC_RPC_HEDGE_H
#define VC_RPC_HEDGE_H

#include "rpc/client/async.h"

/* Begins it; without memory there is none. */
void vc__hedge_begin(struct vc_async *a);

/* The call ends by another attempt, or is given up. */
void vc__hedge_give_up(struct vc_async *a);

/* It has ended, as VC__TOLD_HEDGE says. True: with a good answer that the call
 * still waits for. False: it is gone. */
bool vc__hedge_ended(struct vc_async *a);

struct vc__attempt *vc__hedge_unary(struct vc__hedge *h);

/* May this method's calls be made twice at a time? Or VC_INVALID_ARGUMENT. */
enum vc_status vc__hedge_check(const struct vc_method *method,
                               uint32_t hedge_ms);

/* vc_channel_call() with a hedge. */
enum vc_status vc__hedge_call(struct vc_channel *channel,
                              const struct vc_service *service, unsigned method,
                              const void *request,
                              const struct vc_call_opts *opts, void **reply);

#endif
