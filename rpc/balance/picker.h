/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Chooses a server for each attempt of a call, by the policy of its channel.
 * The policies have gRPC's names and its rules: pick_first (proposal A62),
 * round_robin, weighted_round_robin (A58), least_request (A48), ring_hash
 * (A42), priority; nearest is ours. A choice reads what the pools have
 * published (cm/pool/pool.h, "health"), without a lock. Only vc__picker_pick()
 * may take one: that of a pool which it has connect (vc__pool_prompt()), once
 * for each backoff. Any thread; where the set may change, in a read-side
 * critical section of RCU, or under the lock of the changes. See
 * doc/balancing.md.
 *
 * Called by: servers.c (pick, elsewhere), servers.h (quick), changes.c (moved).
 */
#ifndef VC_RPC_PICKER_H
#define VC_RPC_PICKER_H

#include "rpc/balance/field.h"

struct vc__custom;

/* Zeroed, with the policy set. Any thread. */
struct vc__picker {
    _Atomic(enum vc__policy) policy; /* may differ from that of the set for a
                                        moment, when both change */
    atomic_uint at;    /* pick_first: the last choice; others: the next turn */
    atomic_bool whole; /* a hint: all servers were connected at the last look */
    struct vc__custom *custom; /* a policy of the program's own; or NULL */
};

/* Returns the server for this attempt: one that is connected, rather not the
 * one before. If none is, one that may be soon: the call then waits for the
 * connection, or fails with what is wrong; ring_hash may take such a one though
 * others are connected. Has servers connected that the policy wants connected.
 * A policy of the program's own may choose any, or, by rpc/balance/custom.h,
 * none. Called by vc__servers_pick(). */
struct vc__subchannel *vc__picker_pick(struct vc__picker *k,
                                       const struct vc__server_set *set,
                                       const struct vc__pick *pick);

/* The usual choice, in few instructions: pick_first's server, or the next in
 * turn of round_robin and weighted_round_robin while all are connected. NULL if
 * that one does not suit, not all are connected, or for another policy: then
 * vc__picker_pick() is to choose. Called by vc__servers_quick(). Always
 * inlined: the compiler finds it too long for that, and a call costs as much
 * again. */
static inline __attribute__((always_inline)) struct vc__subchannel *
vc__picker_quick(struct vc__picker *k, const struct vc__server_set *set,
                 const struct vc__pool *before)
{
    const struct vc__stride *stride;
    /* Relaxed, as in picker.c: another thread's choice is as good. */
    enum vc__policy policy =
        atomic_load_explicit(&k->policy, memory_order_relaxed);
    struct vc__subchannel *s;
    unsigned at;

    if (policy == VC__POLICY_PICK_FIRST) {
        at = atomic_load_explicit(&k->at, memory_order_relaxed);
        if (at >= set->n) /* the set has changed */
            return NULL;
    } else if (policy <= VC__POLICY_WEIGHTED_ROUND_ROBIN &&
               atomic_load_explicit(&k->whole, memory_order_relaxed)) {
        stride = vc__server_set_stride(set);
        at = stride != NULL
                 ? vc__stride_next(stride, &k->at)
                 : atomic_fetch_add_explicit(&k->at, 1, memory_order_relaxed) %
                       set->n;
    } else {
        return NULL;
    }
    s = set->sub[at];
    if (s->pool != before && vc__pool_health(s->pool) == VC__POOL_READY &&
        vc__subchannel_bars(s) == 0)
        return s;
    /* Has vc__picker_pick() look at all of them. */
    if (policy != VC__POLICY_PICK_FIRST)
        atomic_store_explicit(&k->whole, false, memory_order_relaxed);
    return NULL;
}

/* The set, or the policy, has changed: pick_first stays with its server, if
 * that is still there; else it begins with the first. The hint that all servers
 * are connected is over. Called by changes.c, under its lock. */
void vc__picker_moved(struct vc__picker *k, const struct vc__server_set *from,
                      const struct vc__server_set *to);

/* True if another server than this one is connected, or this one is not and
 * another may be soon; of the first tier that does not fail. What a policy, as
 * ring_hash or one of the program's own, chooses next may still be this one.
 * Called by vc__servers_elsewhere(), when an attempt has failed. */
bool vc__picker_elsewhere(const struct vc__server_set *set,
                          const struct vc__pool *before);

#endif
