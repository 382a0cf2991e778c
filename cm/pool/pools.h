/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The pools of one engine. Its channels with equal struct vc__pool_opts share
 * one. Any thread, inside the function that opens or closes a channel, gives it
 * servers (a resolver may do that on the holder), or makes or frees a runtime;
 * or by a task on the holder that leaves a pool. Without the locks of pools.
 *
 * Called by: rpc/runtime.c (init, fini), rpc/balance/subchannel.c (get, retire,
 * leave, close). */
#ifndef VC_CM_POOLS_H
#define VC_CM_POOLS_H

#include "cm/pool/pool.h"

struct vc__pools {
    struct vc__cm *cm;
    const uint8_t *instance; /* of the runtime */
    struct vc__link_cap *cap;
    pthread_mutex_t lock;
    struct cds_list_head list; /* lock */
};

/* Called when the runtime is made. */
void vc__pools_init(struct vc__pools *ps, struct vc__cm *cm,
                    const uint8_t *instance, struct vc__link_cap *cap);
/* Called when the runtime is freed. Every pool must have been left and
 * closed. */
void vc__pools_fini(struct vc__pools *ps);

/* Returns the pool for these options, with one user more; makes it if there is
 * none. NULL if out of memory. vc__pools_leave() must follow, once for each
 * call. Called by vc__subchannel_open(), when a channel is opened, or its
 * resolver names a new server; on that thread. */
struct vc__pool *vc__pools_get(struct vc__pools *ps,
                               const struct vc__pool_opts *opts);

/* The caller is about to leave. If it is the only user, the pool accepts no
 * more requests, and no other channel gets it. Then no further link is made,
 * and a session that has none to send its CLOSE on ends without it. Called by
 * vc_channel_close(), for each server, on its thread. */
void vc__pools_retire(struct vc__pools *ps, struct vc__pool *pool);
/* Leaves the pool. Returns true for the last user: the pool then accepts no
 * more requests, and once its clients are closed, the caller must call
 * vc__pools_close(). Called by subchannel_leave(), a task on the holder. */
bool vc__pools_leave(struct vc__pools *ps, struct vc__pool *pool);
/* Begins to close a pool after the last vc__pools_leave(), when it has no users
 * and clients any more. closed() is called on the holder, by a task, when the
 * pool is closed and freed. Called by subchannel_leave(), on the holder. */
void vc__pools_close(struct vc__pool *pool, void (*closed)(void *owner),
                     void *owner);

#endif
