/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One server of a channel: a pool of links to it, and a client for each service
 * that it was used for. Any thread, unless a comment says otherwise.
 *
 * Called by: channel.c (all). */
#ifndef VC_RPC_SUBCHANNEL_H
#define VC_RPC_SUBCHANNEL_H

#include <pthread.h>
#include <stdatomic.h>

#include "cm/pool/client.h"
#include "cm/pool/pools.h"

struct vc__subchannel {
    struct vc__pool *pool;

    /* One for each service used, the newest first. Added under the channel's
     * lock. */
    _Atomic(struct vc__client *) clients;
    atomic_bool first_used;
    struct vc__client first; /* the first one needs no allocation */
    bool last;               /* closing: no other channel uses the pool */
};

/* What the clients of a channel have in common. */
struct vc__client_opts {
    uint32_t weight, quota;
    /* Of the channel's retry_waits: another lock would be a tenth of what an
     * idle session costs. */
    pthread_mutex_t *lock;
    const atomic_bool *closing; /* true: further clients are closed at once */
};

/* Gets the pool for these options. False if memory is short; then nothing must
 * be closed. Called by vc_channel_open(), on zeroed memory. */
bool vc__subchannel_open(struct vc__subchannel *s, struct vc__pools *pools,
                         const struct vc__pool_opts *opts);

/* Returns the client of this service, made at first use; NULL if memory is
 * short. Called by vc__channel_pick(). */
struct vc__client *vc__subchannel_client(struct vc__subchannel *s,
                                         const struct vc_service *service,
                                         const struct vc__client_opts *opts);

/* The next four are called by vc_channel_close(), in this order, on its
 * thread. Leaves the pool, after `closing` was set. */
void vc__subchannel_leave(struct vc__subchannel *s, struct vc__pools *pools);
/* Ends the calls of its clients, and what waits in vc__pool_connect() for this
 * owner. */
void vc__subchannel_cancel(struct vc__subchannel *s, const void *owner);
/* Frees the clients, and begins to close the pool with the last channel that
 * used it. The channel has no users any more. */
void vc__subchannel_close(struct vc__subchannel *s);
/* Waits until the pool is closed, and frees it. So several are closed at a
 * time. */
void vc__subchannel_await(struct vc__subchannel *s);

#endif
