/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A channel: the servers that its target names, and what its calls have in
 * common. Any thread.
 *
 * Called by: call.c (call_ms), method_config.c (call_ms), method_config.h
 * (call_ms), stream_open.c (pick, hash, request_max), channel.c (client_of),
 * attempt.c (pick_quick, hash, request_max), attempts.c (elsewhere, lost,
 * count), stream_again.c (elsewhere, lost, count), channel_intercept.c
 * (was_used), many files (enter, leave). */
#ifndef VC_RPC_CHANNEL_H
#define VC_RPC_CHANNEL_H

#include <pthread.h>
#include <stdatomic.h>

#include <verbcall/channel.h>
#include <verbcall/service.h>

#include "rpc/balance/servers.h"
#include "rpc/client/retry.h"
#include "rpc/client/retry_wait.h"
#include "rpc/runtime.h"
#include "transport/core/waiter.h"

struct vc__channel_config;
struct vc__publisher;
struct vc__config;

struct vc_channel {
    struct vc__handle handle;
    struct vc_runtime *runtime;
    struct vc__progress *progress;
    struct vc__servers servers;
    uint32_t call_ms;
    char *hash_metadata; /* NULL: not set */
    struct vc__client_opts client_opts;
    size_t reply_memory;
    struct vc__interceptors *interceptors; /* NULL: none */
    struct vc__publisher *publisher; /* of a multicast group, then there are no
                                      * servers; NULL: there are */

    /* rpc/client/method_config.h: the service config in force, under RCU;
     * NULL: none. And where it comes from; NULL: from nowhere. */
    _Atomic(struct vc__config *) config;
    _Atomic(struct vc__channel_config *) settings;

    /* rpc/client/attempts.h */
    struct vc__retry_policy retry;
    struct vc__retry_budget budget;
    atomic_ullong chance; /* seed for random numbers */
    struct vc__retry_waits retry_waits;

    atomic_bool closing;

    /* Calls and connects under way, and the owner. The last one to leave
     * completes `unused`; only then the channel is freed. */
    atomic_uint users;
    struct vc__waiter unused;

    /* Asynchronous calls under way (rpc/client/async.h), and the owner: they
     * end only if their engine is advanced. The last one to leave completes
     * `idle`. */
    atomic_uint asyncs;
    struct vc__waiter idle;
};

/* The servers and their pools are used only between these two: by a call that
 * blocks, a stream or a connect, on any thread; by an asynchronous call between
 * vc__asyncs_enter() and vc__asyncs_leave(). The last one to leave a channel
 * that is being closed wakes the thread that closes it. */
static inline void
vc__channel_enter(struct vc_channel *c)
{
    /* Relaxed: no thread enters a channel that may be freed already. */
    atomic_fetch_add_explicit(&c->users, 1, memory_order_relaxed);
}

static inline void
vc__channel_leave(struct vc_channel *c)
{
    /* Release: the channel is freed after all that its users did. Acquire: for
     * the last user, which reports that. */
    if (atomic_fetch_sub_explicit(&c->users, 1, memory_order_acq_rel) == 1)
        vc__waiter_done(&c->unused);
}

/* The default timeout of a call of this method, in milliseconds: the method's,
 * else the channel's; VC_NO_DEADLINE for a stream whose method sets none. */
static inline uint32_t
vc__channel_call_ms(const struct vc_channel *c, const struct vc_method *method)
{
    const uint32_t streams = VC_METHOD_CLIENT_STREAM | VC_METHOD_SERVER_STREAM;

    if (method->timeout_ms != 0)
        return method->timeout_ms;
    return method->flags & streams ? VC_NO_DEADLINE : c->call_ms;
}

/* --- for an attempt of a call --------------------------------------------- */

/* Chooses a server for an attempt, rather not `before`, the pool of the attempt
 * before (or NULL), if another is connected. The key is that of a struct
 * vc__attempt, or of a struct vc__client_stream. Returns the channel's client
 * of this service there; made at first use, and freed with the server. NULL,
 * with the error as this thread's last, if memory is short, or a policy of the
 * program's own fails the attempt. *held, unless it is NULL, is that server,
 * which the caller must put when the attempt has ended, before it leaves the
 * channel. The caller must have entered the channel. Called when an attempt or
 * a stream starts. */
struct vc__client *vc__channel_pick(struct vc_channel *c,
                                    const struct vc_service *service,
                                    const struct vc__pool *before, uint64_t now,
                                    struct vc__pick_key *key,
                                    struct vc__subchannel **held);

/* The client of a service at the server that was chosen, for vc__channel_pick()
 * and vc__channel_pick_quick(); NULL and *held as of these. */
struct vc__client *vc__channel_client_of(struct vc_channel *c,
                                         struct vc__subchannel *s,
                                         const struct vc_service *service,
                                         struct vc__subchannel **held);

/* As vc__channel_pick(), in few instructions where the choice is the usual one
 * (rpc/balance/servers.h) and the newest client there is of this service. *held
 * is NULL before. Called when an attempt starts. */
static inline struct vc__client *
vc__channel_pick_quick(struct vc_channel *c, const struct vc_service *service,
                       const struct vc__pool *before, uint64_t now,
                       struct vc__pick_key *key, struct vc__subchannel **held)
{
    struct vc__subchannel *s = c->servers.only;
    struct vc__client *client;

    if (s == NULL)
        s = vc__servers_quick(&c->servers, before, now, held);
    if (s == NULL)
        return vc__channel_pick(c, service, before, now, key, held);
    /* Acquire: pairs with the store in client_make() of subchannel.c. */
    client = atomic_load_explicit(&s->clients, memory_order_acquire);
    return client != NULL && client->service == service
               ? client
               : vc__channel_client_of(c, s, service, held);
}

/* For the policy ring_hash: the hash of the metadata that the service config
 * names, or else the option hash_metadata, in *hash. False: there are none, or
 * neither names any. Called by vc__attempt_prepare_all() and
 * stream_open_prepare(), on the thread that makes the call or the stream. */
bool vc__channel_hash(const struct vc_channel *c,
                      const struct vc_metadata *metadata, size_t n,
                      uint64_t *hash);

/* True if an attempt that could not be sent by this pool may be sent to another
 * server at once: the channel has one that is not known to fail, and the call
 * has moved less often than there are others, or the pool's server was dropped.
 * For a pool that leads nowhere: servers are known now. False after eight
 * moves. Called when an attempt or a stream has failed. */
bool vc__channel_elsewhere(struct vc_channel *c, const struct vc__pool *before,
                           unsigned moved);

/* An attempt ended with VC_UNAVAILABLE: the channel's resolver, if it has one,
 * may ask again. Called when an attempt or a stream has failed. Not under a
 * lock. */
void vc__channel_lost(struct vc_channel *c, uint64_t now);

/* The most bytes that the server accepts in a request, as far as the channel
 * knows; VC__MESSAGE_MAX before it was connected, or unless the target is one
 * fixed server, as it is not known then which one gets it. Only a hint: the
 * server checks, too. Called when a request is prepared, or a stream made. */
uint32_t vc__channel_request_max(const struct vc_channel *c);

/* Increments a counter of vc_runtime_counters(): an attempt or a stream has
 * failed and is retried, or only the budget forbids that. Without the lock of a
 * pool, which it takes. */
void vc__channel_count(struct vc_channel *c, enum vc__pool_count which);

/* True once a call or a stream has used a server: then it is too late for
 * interceptors. Called by vc_channel_intercept(). */
bool vc__channel_was_used(const struct vc_channel *c);

#endif
