/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A channel: a pool of links to its target, and a client of each service that
 * it was used for. */
#ifndef VC_RPC_CHANNEL_H
#define VC_RPC_CHANNEL_H

#include <pthread.h>
#include <stdatomic.h>

#include <verbcall/channel.h>
#include <verbcall/service.h>

#include "cm/pool/client.h"
#include "cm/pool/pool.h"
#include "rpc/client/retry.h"
#include "rpc/client/retry_wait.h"
#include "rpc/runtime.h"
#include "transport/core/waiter.h"

struct vc_channel {
    struct vc__handle handle;
    struct vc_runtime *runtime;
    struct vc__progress *progress;
    struct vc__pool *pool;
    uint32_t call_ms;
    uint32_t weight, quota;
    size_t reply_memory;
    struct vc__interceptors *interceptors; /* NULL: none */

    /* rpc/client/attempts.h */
    struct vc__retry_policy retry;
    struct vc__retry_budget budget;
    atomic_ullong chance; /* seeds */
    struct vc__retry_waits retry_waits;

    /* One for each service that it was used for, the last one first; added
     * under the lock of `pauses`, as one more would be a tenth of what an idle
     * session costs. */
    _Atomic(struct vc__client *) clients;
    atomic_bool first_used;
    struct vc__client first; /* needs no allocation */
    atomic_bool closing;     /* further ones are closed at once */

    /* Calls and connects under way, and the owner: none of them may be left
     * when it is freed. `unused` is done by the last. */
    atomic_uint users;
    struct vc__waiter unused;

    /* The same for calls that nobody waits for, rpc/client/async.h: they need an
     * engine that is advanced to end. */
    atomic_uint asyncs;
    struct vc__waiter idle;
};

/* Whoever uses the pool does so between these two. Any thread. */
static inline void
vc__channel_enter(struct vc_channel *c)
{
    /* Relaxed: nobody enters a channel that may be freed already. */
    atomic_fetch_add_explicit(&c->users, 1, memory_order_relaxed);
}

static inline void
vc__channel_leave(struct vc_channel *c)
{
    /* Release, so that the channel is freed after all that its users did, and
     * acquire for the last of them, who says so. */
    if (atomic_fetch_sub_explicit(&c->users, 1, memory_order_acq_rel) == 1)
        vc__waiter_done(&c->unused);
}

/* Milliseconds that a call of this method may take whose options say none. A
 * stream has no deadline but one that it, or its method, asks for. */
static inline uint32_t
vc__channel_call_ms(const struct vc_channel *c, const struct vc_method *method)
{
    const uint32_t streams = VC_METHOD_CLIENT_STREAM | VC_METHOD_SERVER_STREAM;

    if (method->timeout_ms != 0)
        return method->timeout_ms;
    return method->flags & streams ? VC_NO_DEADLINE : c->call_ms;
}

/* --- for an attempt of a call: any thread --------------------------------- */

/* Chooses the server that one attempt goes to: the channel's client of this
 * service there, made at the first use. NULL without memory. For those who have
 * entered. */
struct vc__client *vc__channel_pick(struct vc_channel *c,
                                    const struct vc_service *service);

/* Bytes of the longest request that the server takes, as far as the channel
 * knows. A hint: the server checks for itself. */
uint32_t vc__channel_request_max(const struct vc_channel *c);

/* Counts one of these for vc_runtime_counters(). */
void vc__channel_count(struct vc_channel *c, enum vc__pool_count which);

/* Where the channel leads to, for texts. */
static inline const struct vc__target *
vc__channel_target(const struct vc_channel *c)
{
    return &c->pool->opts.target;
}

#endif
