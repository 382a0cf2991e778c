/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The servers of a channel: one, a list that stays as it is, or those that a
 * resolver names at the time (rpc/balance/changes.h). Any thread, unless a
 * comment says otherwise.
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
    struct vc__subchannel *only; /* the one server of a fixed target; or NULL,
                                    also if the policy is the program's own */
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

/* Opens the servers of a fixed target: "list:", or one server. Returns VC_OK;
 * or, as this thread's last error, VC_INVALID_ARGUMENT if the target is
 * malformed, another error of vc__target_opts_fill(), what build() of a policy
 * of the program's own has returned, or VC_RESOURCE_EXHAUSTED: then nothing
 * must be closed. Called by vc_channel_open(), on its thread, on memory that is
 * zeroed but for what comes from the options, as the picker's policy. */
enum vc_status vc__servers_open(struct vc__servers *sv,
                                struct vc__progress *progress,
                                const char *target,
                                struct vc__target_opts *opts);

/* The channel has a policy of the program's own, and its servers, or their
 * resolver, are open: opens the place where calls wait (rpc/balance/custom.h).
 * Returns VC_OK; or VC_RESOURCE_EXHAUSTED, as this thread's last error, without
 * memory: then it has closed all servers and the resolver. Called by
 * vc_channel_open(), on its thread. */
enum vc_status vc__servers_place(struct vc__servers *sv,
                                 const struct vc__target_opts *opts);

/* Between these two the set, which vc__servers_enter() returns, does not
 * change: where it may change they take and leave the lock of the changes. For
 * ejections.c, loads.c and twin.c, on the holder, and for servers.c, on any
 * thread. */
struct vc__server_set *vc__servers_enter(const struct vc__servers *sv);
void vc__servers_exit(const struct vc__servers *sv);

/* Initializes what is zeroed but for the options, and has no servers yet. For
 * vc__servers_open() and vc__changes_open(), inside vc_channel_open(), on its
 * thread. */
void vc__servers_init(struct vc__servers *sv, struct vc__progress *progress);

/* Makes a subchannel, not yet in a set, with one user: the caller. Its health
 * is watched, and it is connected ahead, if the options say so. NULL: no
 * memory; no error is set. For servers.c and changes.c: on the thread that
 * opens the channel or calls vc_resolver_set(), which may be the holder. */
struct vc__subchannel *vc__servers_add(struct vc__servers *sv,
                                       const struct vc__pool_opts *opts);

/* Returns the server for an attempt, or a stream, never NULL: see
 * rpc/balance/picker.h. *held is the same if the caller must put it when the
 * attempt has ended, before it leaves the channel; else NULL. If a server
 * fails, has the resolver, if any, asked again, once a second at most. Called
 * by subchannel_pick() of channel.c, on any thread that starts an attempt. */
struct vc__subchannel *vc__servers_pick(struct vc__servers *sv,
                                        const struct vc__pick *pick,
                                        struct vc__subchannel **held);

/* The usual choice, in few instructions, as vc__picker_quick(). NULL: then
 * vc__servers_pick() is to choose. *held is NULL before, and as of
 * vc__servers_pick() afterwards. Called when an attempt of a call starts, not
 * of a stream. */
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

/* An attempt at the server `held`, as of vc__servers_pick(), has ended, well or
 * not: counts that for outlier detection, if there is one and held is not NULL.
 * Called, on any thread, when the server has replied, or the attempt may have
 * been executed and was not cancelled: as it was lost, or was not answered in
 * time. */
static inline void
vc__servers_judge(const struct vc__servers *sv, struct vc__subchannel *held,
                  bool good)
{
    if (sv->ejections != NULL && held != NULL)
        vc__outlier_count(&held->outlier, good);
}

/* An attempt has failed at its server: counts that in the pool of its client,
 * for vc_channel_describe(). Called where vc__servers_judge() is, for failures.
 * Where choices hold servers (`holds`) and held is NULL nothing is counted, as
 * the client may be freed. */
static inline void
vc__servers_failed(const struct vc__servers *sv,
                   const struct vc__client *client,
                   const struct vc__subchannel *held)
{
    if (held != NULL || !sv->holds)
        vc__pool_call_failed(client->pool);
}

/* True if a call whose attempt could not be sent by this pool may go to another
 * server at once: see vc__picker_elsewhere(). For a pool that leads nowhere:
 * true if the set begins with another one. False if there is only one server;
 * after eight moves, and, while the set has the pool, after as many as there
 * are other servers. moved: how often the call went elsewhere. Not under a
 * lock. Called when an attempt of a call or a stream has failed, unless its
 * server has answered, on any thread that ends it. */
bool vc__servers_elsewhere(struct vc__servers *sv,
                           const struct vc__pool *before, unsigned moved);

/* Connects to the first server that can be reached, unless one is connected:
 * blocks. Returns VC_OK; or, as this thread's last error, VC_CANCELLED if the
 * channel is closed meanwhile, else what vc__pool_connect() has returned for
 * the last server. Called by vc_channel_connect(). */
enum vc_status vc__servers_connect(struct vc__servers *sv,
                                   const struct vc_service *service,
                                   const void *owner,
                                   const atomic_bool *closing);

/* Writes what vc_channel_describe() says of the servers, truncated to size.
 * Returns the length of all of it, as snprintf(). Called by
 * vc_channel_describe(). */
size_t vc__servers_describe(const struct vc__servers *sv, char *text,
                            size_t size);

/* Counts in the pool of the first server of the set. Called by
 * vc__channel_count(), when a call or a stream is retried, or is not for want
 * of budget. */
void vc__servers_count(struct vc__servers *sv, enum vc__pool_count which);

/* For vc_channel_close() and, except cancel, for a vc_channel_open() that
 * fails, on its thread and in this order. Shut stops the timers of ejections.c
 * and loads.c, and closes the resolver. Cancel ends the calls, and what waits
 * in vc__servers_connect() for this owner, with VC_CANCELLED. Close, when the
 * channel has no users any more, puts the servers, waits until all are closed,
 * and frees the set, the ejections and the changes. */
void vc__servers_shut(struct vc__servers *sv);
void vc__servers_cancel(struct vc__servers *sv, const void *owner);
void vc__servers_close(struct vc__servers *sv);

#endif
