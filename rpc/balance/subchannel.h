/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One server of a channel: a pool of links to it, and a client for each service
 * that it was used for. It lives until its last user has dropped it: the
 * channel, where servers come and go, or outliers are looked for, the calls in
 * progress, and who else holds it for a while. Any thread, unless a comment
 * says otherwise.
 *
 * Called by: servers.c (open, cancel), rpc/client/channel.c (client), custom.c
 * (bars, health), field.c (bars, health), picker.c (bars), picker.h (bars),
 * server_line.c (bars), ejections.c (bar), health_watch.c (bar), twin.c (bar),
 * changes.c (cancel), many files (hold, put). */
#ifndef VC_RPC_SUBCHANNEL_H
#define VC_RPC_SUBCHANNEL_H

#include <pthread.h>
#include <stdatomic.h>

#include "cm/pool/client.h"
#include "cm/pool/pools.h"
#include "rpc/balance/load_weight.h"
#include "rpc/balance/outlier.h"

struct vc__health_watch;
struct vc__twin;

/* Why a server gets no calls though it may be connected: bits of a
 * subchannel's `bars`. */
enum vc__bar {
    VC__BAR_EJECTED = 1,   /* ejections.c: it is an outlier */
    VC__BAR_UNKNOWN = 2,   /* health_watch.c: it has not answered yet */
    VC__BAR_UNHEALTHY = 4, /* the same: it is unhealthy */
    VC__BAR_TWIN = 8,      /* twin.c: it redirects to another of the channel */
};
#define VC__BAR_HEALTH ((unsigned)VC__BAR_UNKNOWN | VC__BAR_UNHEALTHY)
#define VC__BAR_SHUT   ((unsigned)VC__BAR_UNHEALTHY | VC__BAR_TWIN)

struct vc__subchannel {
    struct vc__pool *pool;
    struct vc__pools *pools; /* it is one of these */

    /* One for each service used, the newest first. Added under the channel's
     * lock. */
    _Atomic(struct vc__client *) clients;
    atomic_bool first_used;
    struct vc__client first; /* the first one needs no allocation */
    struct vc__outlier outlier;
    struct vc__load load;
    struct vc__health_watch *watch; /* NULL: its health is not watched */
    struct vc__twin *twin;          /* NULL: it has none; see twin.h */
    atomic_uint bars;               /* of enum vc__bar */

    atomic_uint users;
    struct vc__task drop; /* by the last user */
    /* Called on the holder, by a task, when all is closed: frees it. */
    void (*gone)(struct vc__subchannel *s);
    void *owner; /* for gone() */

    /* Of rpc/balance/changes.c. */
    struct cds_list_head node; /* its lock */
    unsigned round;      /* of the last change that has named it; `changing` */
    atomic_bool dropped; /* it is no server of the channel any more */
};

/* What the clients of a channel have in common. */
struct vc__client_opts {
    uint32_t weight, quota;
    /* Of the channel's retry_waits: another lock would be a tenth of what an
     * idle session costs. */
    pthread_mutex_t *lock;
    const atomic_bool *closing; /* true: further clients are closed at once */
    atomic_bool *used;          /* set when a client is made */
};

/* Gets the pool for these options, and has one user, the caller, who has zeroed
 * the memory and sets gone() and owner. False if memory is short; then nothing
 * must be dropped. Called by server_begin() of servers.c, on the thread that
 * opens the channel or calls vc_resolver_set(), which may be the holder. */
bool vc__subchannel_open(struct vc__subchannel *s, struct vc__pools *pools,
                         const struct vc__pool_opts *opts);

/* Returns the client of this service, made at first use; NULL, with the error
 * as this thread's last, if memory is short, or s is the refusal of
 * rpc/balance/custom.h, whose error was set before. A client that is made while
 * the channel is being closed is closed. Called by vc__channel_client_of(), on
 * any thread that starts an attempt or a stream. */
struct vc__client *vc__subchannel_client(struct vc__subchannel *s,
                                         const struct vc_service *service,
                                         const struct vc__client_opts *opts);

/* Returns what keeps calls from the server: bits of enum vc__bar, or 0. */
static inline unsigned
vc__subchannel_bars(const struct vc__subchannel *s)
{
    /* Relaxed: no other data depends on it, and a choice that still sees the
     * old value is one of a moment before. */
    return atomic_load_explicit(&s->bars, memory_order_relaxed);
}

/* Returns how the server's pool does, for calls, with these bars: a connected
 * server whose health is not known yet counts as connecting, and an unhealthy
 * one, or a twin, as failing. Whether it is ejected does not count. Any
 * thread. */
static inline enum vc__pool_health
vc__subchannel_health(const struct vc__subchannel *s, unsigned bars)
{
    enum vc__pool_health health = vc__pool_health(s->pool);

    if (health != VC__POOL_READY || (bars & ~(unsigned)VC__BAR_EJECTED) == 0)
        return health;
    return bars & VC__BAR_SHUT ? VC__POOL_FAILING : VC__POOL_CONNECTING;
}

/* Replaces the bits `which` by `bars`. Any thread; one thread at a time for
 * each bit. */
static inline void
vc__subchannel_bar(struct vc__subchannel *s, unsigned which, unsigned bars)
{
    if (bars != 0)
        atomic_fetch_or_explicit(&s->bars, bars, memory_order_relaxed);
    if ((which & ~bars) != 0)
        atomic_fetch_and_explicit(&s->bars, ~(which & ~bars),
                                  memory_order_relaxed);
}

/* One user more. The caller is one; or has found the subchannel in the set, in
 * a read-side critical section, under a lock of changes.c, or between
 * vc__servers_enter() and vc__servers_exit(). */
static inline void
vc__subchannel_hold(struct vc__subchannel *s)
{
    /* Release: pairs with the acquire in set_drop() of changes.c. RCU orders
     * both, but ThreadSanitizer does not see that. */
    atomic_fetch_add_explicit(&s->users, 1, memory_order_release);
}

/* One user less. After the last one a task on the holder closes the clients,
 * which no call uses any more, and the pool, unless another subchannel uses it,
 * and calls gone(). The engine outlives that, and this function: the caller has
 * entered the channel, opens, changes or closes it, or is the holder. */
void vc__subchannel_put(struct vc__subchannel *s);

/* Called inside vc_channel_close(), on its thread, which is a user. Ends the
 * calls of the clients, and what waits in vc__pool_connect() for this owner,
 * with VC_CANCELLED. No other channel gets the pool from now on, if no other
 * has it. */
void vc__subchannel_cancel(struct vc__subchannel *s, const void *owner);

#endif
