/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The servers of a channel at one time, arranged for its policy. Constant once
 * it is published, but for the weights by load reports. On the thread that
 * opens, changes or closes the channel, unless a comment says otherwise: one of
 * the program, or the holder, where a resolver or the file of a service config
 * may change it.
 *
 * Called by: changes.c (new, arrange, weigh, free), servers.c (new, arrange,
 * is_equal, free), server_set.c (is_equal), loads.c (weigh), picker.c (stride),
 * picker.h (stride), server_line.c (stride). */
#ifndef VC_RPC_SERVER_SET_H
#define VC_RPC_SERVER_SET_H

#include "rpc/balance/endpoint.h"
#include "rpc/balance/policy.h"
#include "rpc/balance/ring.h"
#include "rpc/balance/stride.h"
#include "rpc/balance/subchannel.h"

struct vc__custom_set;

struct vc__server_set {
    unsigned n;                 /* at least 1 */
    struct vc__endpoint *about; /* what is said of each; NULL: nothing */

    /* Of weighted_round_robin. */
    struct vc__stride *stride;  /* by the resolver; NULL: all are equal */
    struct vc__stride *by_load; /* by load reports */
    _Atomic(const struct vc__stride *) in_use; /* one of the two, or NULL */
    float *weights;                            /* for vc__server_set_weigh() */
    struct vc__ring *ring;                     /* NULL: the policy needs none */
    struct vc__custom_set
        *custom; /* of a policy of the program's own; or NULL */
    /* Of priority and nearest: the servers lie by tiers, and tier i ends before
     * tier_end[i]. Of others there is one tier, and no array. */
    unsigned n_tiers;
    unsigned *tier_end;

    struct vc__subchannel *sub[]; /* n; not owned */
};

/* Makes a set with room for n servers. It owns `about`, which is of malloc(),
 * or NULL; if this fails `about` is freed. NULL: no memory; no error is set. */
struct vc__server_set *vc__server_set_new(unsigned n,
                                          struct vc__endpoint *about);

/* All servers are in it: makes what a policy of the library needs, and lays
 * them by tiers. label: of this program, for nearest; or NULL. False if memory
 * is short: no error is set, and the set can only be freed. A set without
 * `about`, or with one server, needs nothing. */
bool vc__server_set_arrange(struct vc__server_set *set, enum vc__policy policy,
                            const char *label);

/* True if no server is heavier than another, as the resolver says, or nothing
 * is said of them. Called when a set is arranged, and for
 * vc_channel_describe(), by any thread. */
bool vc__server_set_is_equal(const struct vc__server_set *set);

/* The weights by load of its servers (struct vc__load, `used`) have changed, or
 * it is about to be published: if at least two have one, servers are chosen by
 * these; else by the weights of the resolver. Does nothing for other policies
 * than weighted_round_robin. Between vc__servers_enter() and
 * vc__servers_exit(), or under the same lock, while choices go on: on the
 * holder, or the thread that changes the set. */
void vc__server_set_weigh(struct vc__server_set *set);

/* Returns the scheduler that counts now, of weighted_round_robin; NULL: all
 * servers are equal, or the set is for another policy. Any thread that chooses
 * a server, or describes the channel. */
static inline const struct vc__stride *
vc__server_set_stride(const struct vc__server_set *set)
{
    /* Acquire: pairs with the store in vc__server_set_weigh(). */
    return atomic_load_explicit(&set->in_use, memory_order_acquire);
}

/* Frees the set and `about`, not the servers, and has the state of a policy of
 * the program's own destroyed. Called when no thread reads the set any more, or
 * it was not published. NULL is allowed. */
void vc__server_set_free(struct vc__server_set *set);

#endif
