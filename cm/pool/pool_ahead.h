/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A pool that is connected ahead (option `ahead`, the service of its hello):
 * its first link is made when a channel gets the pool, and again after each
 * loss, without a call. Its last min_links links stay when they are idle, as
 * those of any pool. Its attempts begin when the pool's backoff is over, by
 * vc__pool_prompt_now(), as those that a policy wants; a call that comes before
 * is treated as by any pool. A backoff of its own counts connections that were
 * lost soon: else a server that takes connections and drops them would be
 * connected without a pause. Any thread, unless a comment says otherwise.
 *
 * Called by: rpc/balance/servers.c (begin), pool_health.c (follow,
 * pool_is_busy), pool_close.c (stop), pool_ahead.c (pool_is_busy). */
#ifndef VC_CM_POOL_AHEAD_H
#define VC_CM_POOL_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/connect/backoff.h"
#include "transport/core/engine.h"
#include "transport/core/timer.h"

struct vc__pool;

/* Part of a pool. */
struct vc__pool_ahead {
    struct vc__task task;       /* sets the timer, or connects */
    struct vc__timer timer;     /* the holder's: to the next attempt */
    struct vc__backoff backoff; /* the pool's lock; of connections lost soon */
    uint64_t at;                /* the pool's lock: no attempt before */
    uint64_t since;             /* the pool's lock: when it was ready */
    bool posted;                /* the pool's lock: `task` is */
};

/* Has a pool connected, by a task, if it has the option, and no link is up or
 * being made. Without the pool's lock. Called when a channel has got the pool,
 * on the thread that adds the server. */
void vc__pool_ahead_begin(struct vc__pool *p);

/* The health of a pool with the option was published. was, is: it was ready
 * before, and is ready now. Counts a loss in the backoff. If no link is up or
 * being made, a task begins the next attempt, or waits for its time. Under the
 * lock. For vc__pool_health_update(). */
void vc__pool_ahead_follow(struct vc__pool *p, bool was, bool is);

/* The pool closes: stops the timer. Called by pool_close(), on the holder,
 * without the lock. */
void vc__pool_ahead_stop(struct vc__pool *p);

/* pool_health.c: true if a link is being made, or there is one, even if it only
 * finds the server (cm/pool/upgrade.c). Called before a link is made without a
 * call, and when the health is published. Under the lock. */
bool vc__pool_is_busy(const struct vc__pool *p);

#endif
