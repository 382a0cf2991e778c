/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How well the servers of a set suit an attempt, by what their pools publish;
 * for the policies of rpc/balance/picker.h. Any thread. Nothing here takes a
 * lock but vc__field_of() where it has servers connected: vc__pool_prompt()
 * takes the lock of the pool.
 *
 * Called by: rpc/client/attempts.c (pick_key_insists),
 * rpc/client/stream_again.c (pick_key_insists), field.c (suits_of), picker.c
 * (suits_of, of, get). */
#ifndef VC_RPC_FIELD_H
#define VC_RPC_FIELD_H

#include "rpc/balance/server_set.h"

/* So many servers that a call has tried a policy of the program's own knows
 * of. */
#define VC__PICK_TRIED 8u

/* What a call, or a stream, keeps for all of its choices. The first three
 * fields are zeroed at the beginning, by one instruction. */
struct vc__pick_key {
    bool hashed;      /* the call has a key for ring_hash: `hash` */
    bool of_stream;   /* it is a stream's: see rpc/client/pick_facts.c */
    uint16_t n_tried; /* counts on, to 65535 */
    uint64_t hash;
    /* The last ones, only to be compared: they may be freed. Of a policy of the
     * program's own. */
    const struct vc__pool *tried[VC__PICK_TRIED];
};

/* True if a policy of the program's own has chosen the same server for the last
 * two attempts of the call, hedges included: it insists on that. False for a
 * policy of the library. Called when an attempt has failed, on any thread. */
static inline bool
vc__pick_key_insists(const struct vc__pick_key *key)
{
    unsigned n = key->n_tried;

    return n >= 2 && key->tried[(n - 1) % VC__PICK_TRIED] ==
                         key->tried[(n - 2) % VC__PICK_TRIED];
}

/* What an attempt brings. */
struct vc__pick {
    const struct vc_service *service;
    const struct vc__pool *before; /* where the one before went; or NULL */
    uint64_t now;
    uint64_t seed; /* random for least_request, and for ring_hash if the call
                      has no key; else perhaps the time */
    struct vc__pick_key *key;
};

/* How well a server suits: the lower the better. */
enum vc__suits {
    VC__SUITS,      /* it is connected, and healthy if that is watched */
    VC__SUITS_SAME, /* the same, but the attempt before went there */
    VC__SUITS_SOON, /* it may be connected, or known to be healthy, soon */
    VC__SUITS_SAME_SOON,
    VC__SUITS_EJECTED, /* it is connected, but ejected as an outlier */
    VC__SUITS_SAME_EJECTED,
    VC__SUITS_FAILING, /* it cannot be reached, is unhealthy, or a twin; or it
                          is ejected, and not connected, or its health is not
                          known */
    VC__SUITS_SAME_FAILING,
};

/* Returns how well this server suits now. */
enum vc__suits vc__suits_of(const struct vc__subchannel *s,
                            const struct vc__pick *pick);

/* Some servers of a set that lie side by side: first to end - 1. */
struct vc__range {
    unsigned first, end;
};

/* The servers of a range that suit best. */
struct vc__field {
    enum vc__suits suits;
    unsigned n;     /* so many of them */
    unsigned first; /* the first of them */
    unsigned end;   /* of the range */
};

/* Looks at all servers of the range, which is not empty, and returns those that
 * suit best. connects: has those connected that are not, once their backoff is
 * over. */
struct vc__field vc__field_of(const struct vc__server_set *set,
                              struct vc__range range, bool connects,
                              const struct vc__pick *pick);

/* Returns the place in the set of number k, from 0, of the servers of the
 * field; that of the last of them, if they are fewer by now. */
unsigned vc__field_get(const struct vc__field *f,
                       const struct vc__server_set *set, unsigned k,
                       const struct vc__pick *pick);

#endif
