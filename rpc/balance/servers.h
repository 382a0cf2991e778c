/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The servers of a channel: one, a list that stays as it is, or those that a
 * resolver names at the time (rpc/balance/changes.h). Any thread.
 *
 * Called by: rpc/client/channel.c (open, place, pick, elsewhere, connect,
 * describe, count, shut, cancel, close), ejections.c (enter, exit), loads.c
 * (enter, exit), servers.c (enter, exit, init, add, shut, close), twin.c
 * (enter, exit), changes.c (init, add, close), rpc/client/channel.h (quick),
 * rpc/client/attempt.c (judge, failed), rpc/client/attempts.c (judge, failed),
 * rpc/client/stream_again.c (judge, failed), rpc/client/stream_client.c (judge,
 * failed). */
#ifndef VC_RPC_SERVERS_H
#define VC_RPC_SERVERS_H

#include "rpc/balance/picker.h"
#include "rpc/balance/server_set.h"
#include "rpc/balance/subchannel.h"
#include "rpc/balance/target_opts.h"
#include "transport/core/rcu.h"
#include "transport/core/waiter.h"

struct vc__changes;
struct vc__ejections;
struct vc__loads;
struct vc__progress;

struct vc__servers {
    struct vc__engine *engine;
    struct vc__pools *pools;
    struct vc__subchannel *only; /* the one server of a fixed target; or NULL */
    struct vc__subchannel first; /* memory of `only` */

    /* Fixed, unless there are changes: then under RCU. */
    _Atomic(struct vc__server_set *) set;
    struct vc__changes *changes;     /* NULL: a fixed target */
    struct vc__ejections *ejections; /* NULL: calls are not counted */
    struct vc__loads *loads;         /* NULL: load reports do not count */
    struct vc__picker picker;
    char *label;          /* of this program, or NULL */
    char *health_service; /* whose health is watched; or NULL */
    bool holds;           /* a choice holds the server, and is under RCU: there
                             are changes or ejections */

    atomic_uint alive; /* subchannels, and the channel until it closes */
    struct vc__waiter no_more; /* done by the last */
    atomic_bool used;          /* a client was made */
    atomic_bool moves;         /* a server has redirected: twin.c */
    _Atomic(uint64_t) look_at; /* for the resolver: when to look at all again;
                                  VC__FOREVER: there is none */
};

/* Opens the servers of a fixed target: "list:", or one server. The picker's
 * policy is set. VC_INVALID_ARGUMENT if the target is malformed, the other
 * errors of vc__target_opts_fill(), what build() of a policy of the program's
 * own has returned, or VC_RESOURCE_EXHAUSTED; after an error nothing must be
 * closed. Called by vc_channel_open(), on zeroed memory. */
enum vc_status vc__servers_open(struct vc__servers *sv,
                                struct vc__progress *progress,
                                const char *target,
                                struct vc__target_opts *opts);

/* The channel has a policy of the program's own, and its servers, or their
 * resolver, are open: opens the place where calls wait (rpc/balance/custom.h).
 * VC_RESOURCE_EXHAUSTED without memory; then all is closed. Called by
 * vc_channel_open(). */
enum vc_status vc__servers_place(struct vc__servers *sv,
                                 const struct vc__target_opts *opts);

/* Between these two the set, which vc__servers_enter() returns, does not
 * change: where it may change they take and leave the lock of the changes. For
 * ejections.c, loads.c, twin.c and this file. */
struct vc__server_set *vc__servers_enter(const struct vc__servers *sv);
void vc__servers_exit(const struct vc__servers *sv);

/* Initializes what is zeroed but for the policy, and has no servers yet. For
 * vc__servers_open() and changes.c, inside vc_channel_open(). */
void vc__servers_init(struct vc__servers *sv, struct vc__progress *progress);

/* A new subchannel, not yet in a set, with one user: the caller. Its health is
 * watched, if that is wanted. NULL: no memory. For this file and changes.c: on
 * the thread that opens or changes the channel. */
struct vc__subchannel *vc__servers_add(struct vc__servers *sv,
                                       const struct vc__pool_opts *opts);

/* The server for an attempt, or a stream: see rpc/balance/picker.h. *held is
 * the same if the caller must put it when the attempt has ended, before it
 * leaves the channel; else NULL. */
struct vc__subchannel *vc__servers_pick(struct vc__servers *sv,
                                        const struct vc__pick *pick,
                                        struct vc__subchannel **held);

/* The usual choice, in few instructions, as vc__picker_quick(). NULL: then
 * vc__servers_pick() chooses. *held is NULL before, and as of
 * vc__servers_pick() then. Called when an attempt starts. */
static inline __attribute__((always_inline)) struct vc__subchannel *
vc__servers_quick(struct vc__servers *sv, const struct vc__pool *before,
                  uint64_t now, struct vc__subchannel **held)
{
    struct urcu_bp_reader *reader;
    struct vc__subchannel *s;

    if (!sv->holds)
        return vc__picker_quick(
            &sv->picker, atomic_load_explicit(&sv->set, memory_order_relaxed),
            before);
    /* one_fails() of servers.c is due: a hint. */
    if (now >= atomic_load_explicit(&sv->look_at, memory_order_relaxed))
        return NULL;
    reader = vc__rcu_enter();
    if (reader == NULL)
        return NULL;
    /* Acquire: pairs with the store in set_publish() of changes.c. */
    s = vc__picker_quick(&sv->picker,
                         atomic_load_explicit(&sv->set, memory_order_acquire),
                         before);
    if (s != NULL) {
        vc__subchannel_hold(s); /* last: as in vc__servers_pick() */
        *held = s;
    }
    vc__rcu_exit(reader);
    return s;
}

/* An attempt at a server that the picker gave has ended, well or not: counts it
 * if outliers are looked for. Called when the server has replied, was lost, or
 * has not answered in time. */
static inline void
vc__servers_judge(const struct vc__servers *sv, struct vc__subchannel *held,
                  bool good)
{
    if (sv->ejections != NULL && held != NULL)
        vc__outlier_count(&held->outlier, good);
}

/* The same, of an attempt that has failed: counts that in the pool, for
 * vc_channel_describe(). client: of the attempt; where servers come and go it
 * is read only while its server is held. */
static inline void
vc__servers_failed(const struct vc__servers *sv,
                   const struct vc__client *client,
                   const struct vc__subchannel *held)
{
    if (held != NULL || !sv->holds)
        vc__pool_call_failed(client->pool);
}

/* True if a call whose attempt could not be sent by this pool may go to another
 * server at once: see vc__picker_elsewhere(). False if there is only one
 * server, or after eight moves. moved: how often the call went elsewhere. Not
 * under a lock. Called when an attempt has failed. */
bool vc__servers_elsewhere(struct vc__servers *sv,
                           const struct vc__pool *before, unsigned moved);

/* Connects to the first server that can be reached, unless one is connected.
 * Returns as vc__pool_connect(). Called by vc_channel_connect(). */
enum vc_status vc__servers_connect(struct vc__servers *sv,
                                   const struct vc_service *service,
                                   const void *owner,
                                   const atomic_bool *closing);

/* The text of vc_channel_describe(), truncated to size. Returns the length of
 * all of it, as snprintf(). */
size_t vc__servers_describe(const struct vc__servers *sv, char *text,
                            size_t size);

/* Counts in the pool of one of them. Called by vc__channel_count(). */
void vc__servers_count(struct vc__servers *sv, enum vc__pool_count which);

/* For vc_channel_close() and, except cancel, for a vc_channel_open() that
 * fails, on its thread and in this order. Shut stops the resolver and the
 * timers of ejections.c and loads.c. Cancel ends the calls, and what waits in
 * vc__servers_connect() for this owner. Close, when the channel has no users
 * any more, waits until all is closed, and frees the set. */
void vc__servers_shut(struct vc__servers *sv);
void vc__servers_cancel(struct vc__servers *sv, const void *owner);
void vc__servers_close(struct vc__servers *sv);

#endif
