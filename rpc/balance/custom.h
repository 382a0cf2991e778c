/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A policy of the program's own on one channel (verbcall/policy.h): makes its
 * state for each set of servers, and asks it for each attempt. Any thread,
 * unless a comment says otherwise.
 *
 * Called by: rpc/client/channel.c (choose, free), changes.c (build, settle),
 * servers.c (build), custom.c (set_free), server_set.c (set_free), picker.c
 * (pick). */
#ifndef VC_RPC_CUSTOM_H
#define VC_RPC_CUSTOM_H

#include <verbcall/policy.h>

#include "rpc/balance/picker.h"

/* What a policy may ask of the call. */
struct vc__pick_facts {
    const struct vc_method *method;
    unsigned attempt;
    struct vc__metadata metadata;
};

struct vc__custom {
    const struct vc_policy_type *type;
    char *config; /* or NULL */
    /* Finds out about the call whose key this is. */
    struct vc__pick_facts (*facts)(const struct vc__pick_key *key);

    /* Where calls wait for a server: its pool leads nowhere, and recalls them
     * (cm/pool/pool.h). Opened by vc__servers_place(): before the first call,
     * but a resolver may set servers before. */
    _Atomic(struct vc__subchannel *) place;
    /* Chosen for a call that is to fail: it has no pool, and one user, so it is
     * never dropped. */
    struct vc__subchannel refusal;
};

/* Of a set of servers: the policy's state, and what the policy knows of the
 * servers, which points into the set. */
struct vc__custom_set {
    const struct vc_policy_type *type;
    void *state;
    const struct vc_endpoint **servers;
    struct vc_endpoint about[];
};

/* Reads the option `policy`, into a zeroed picker: the name of one of the
 * library, or of one that is registered, with its config; NULL: pick_first.
 * facts: for vc__custom_pick(). Returns VC_OK; or, as this thread's last error,
 * VC_INVALID_ARGUMENT if there is no such policy, or it takes no config, or
 * VC_RESOURCE_EXHAUSTED without memory. Called by vc_channel_open(), on its
 * thread. */
enum vc_status
vc__custom_choose(struct vc__picker *k, const char *policy,
                  struct vc__pick_facts (*facts)(const struct vc__pick_key *));

/* Frees it: the channel is closed, or could not be opened. NULL is allowed. On
 * the thread that closes or opens the channel. */
void vc__custom_free(struct vc__custom *custom);

/* All servers are in the set, which is not yet published: has the policy make
 * its state. label: the channel's, or NULL. True; also if custom is NULL, as
 * the policy is one of the library: then nothing is made. False, with the error
 * as this thread's last, if build() of the policy fails, or memory is short. On
 * the thread that opens the channel, or calls vc_resolver_set(), which may be
 * the holder. */
bool vc__custom_build(const struct vc__custom *custom, const char *label,
                      struct vc__server_set *set);

/* No choice reads the former set any more. RCU orders that, but ThreadSanitizer
 * does not see it: as set_drop() of changes.c does for the servers, this pairs
 * with vc__subchannel_hold() of the place and the refusal. Does nothing if
 * custom is NULL, as the policy is one of the library. Called by set_publish()
 * of changes.c, in vc__changes_set(), before vc__custom_set_free(). */
void vc__custom_settle(const struct vc__custom *custom);

/* Has the state destroyed, and frees the set. Called when no thread reads the
 * set any more, by the thread that frees the set of servers, or by
 * vc__custom_build() when it fails. NULL is allowed. */
void vc__custom_set_free(struct vc__custom_set *cs);

/* Asks the policy. Returns a server of the set; or custom->place, if the call
 * is to wait; or custom->refusal, with the error as this thread's last, if it
 * is to fail. turn: counts the choices. For vc__picker_pick(), on any thread
 * that starts an attempt. */
struct vc__subchannel *vc__custom_pick(struct vc__custom *custom,
                                       atomic_uint *turn,
                                       const struct vc__server_set *set,
                                       const struct vc__pick *pick);

#endif
