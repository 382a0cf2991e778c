/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Consistent hashing: calls with the same key go to the same server, and most
 * keys stay with theirs when servers come or leave. This is the ring of gRPC's
 * ring_hash (A42, A76): each server is at several places of a ring of 2^64
 * numbers, at the XXH64 of "KEY_0", "KEY_1" and so on, KEY being its hash key.
 * A call goes to the server at the first place at or after the hash of the
 * call's key.
 *
 * When a server leaves, its keys move to the others. gRPC's sizes (1,024 to
 * 4,096 entries) give those others more entries, so that the ring keeps its
 * least size: with 10 servers about as many keys again move. The sizes here
 * give each server the same number whatever their number is, so with equal
 * weights no other key moves, unless their number passes 256.
 *
 * A ring does not change; another set of servers needs another ring. It is the
 * same whatever the order of the servers, on any machine. Pure. Any thread.
 *
 * Called by: server_set.c (size_for, new, free), ring.c (hash),
 * rpc/client/channel.c (hash), picker.c (find, server). */
#ifndef VC_RPC_RING_H
#define VC_RPC_RING_H

#include <stddef.h>
#include <stdint.h>

#include "rpc/balance/endpoint.h"

/* The most entries of a ring. */
#define VC__RING_SIZE_MAX 32768u

/* The entries of a ring of n servers: 128 for each; of more than 256 servers
 * 32, as such a ring takes milliseconds to make. */
static inline unsigned
vc__ring_size_for(unsigned n)
{
    return n <= 256 ? 128 * n : 32 * n;
}
_Static_assert(128 * 256 <= VC__RING_SIZE_MAX &&
                   32 * VC_ENDPOINTS_MAX <= VC__RING_SIZE_MAX,
               "a ring has room for all servers");

struct vc__ring_entry {
    uint64_t hash;
    uint32_t rank;   /* of the server, by hash key and target */
    uint32_t server; /* its number, as given to vc__ring_new() */
};

struct vc__ring {
    unsigned size;                   /* 1..VC__RING_SIZE_MAX */
    struct vc__ring_entry entries[]; /* sorted by hash, then by rank */
};

/* Makes a ring of n servers, at least one, for vc__server_set_arrange(); NULL
 * if memory is short. Of each endpoint its hash key, else its target, and its
 * weight count; 0 counts as 1. Free it by vc__ring_free().
 *
 * The ring has at least min entries, and as many more as make the number of
 * those of the lightest server whole, but at most max. min and max below 1
 * count as 1, above VC__RING_SIZE_MAX as that. Each server has entries in
 * proportion to its weight; it has none if its share of max is too small for
 * one. Of servers with the same hash key the one whose target sorts first is
 * first at each place. */
struct vc__ring *vc__ring_new(const struct vc__endpoint *endpoints, unsigned n,
                              unsigned min, unsigned max);

/* Frees the ring, which no thread uses any more. NULL is allowed. Called by
 * vc__server_set_free(). */
void vc__ring_free(struct vc__ring *ring);

/* Returns the hash of a call's key, for vc__channel_hash(), or of a place on a
 * ring that is being made. */
uint64_t vc__ring_hash(const char *text, size_t len);

/* Returns the number of the first entry at or after the hash; that is entry 0
 * if there is none. Called by ring_hash() of picker.c. The entries that follow,
 * entry 0 after the last, have the servers to try next. */
unsigned vc__ring_find(const struct vc__ring *ring, uint64_t hash);

/* Returns the number of the server at this entry. The entry is less than the
 * ring's size. */
static inline unsigned
vc__ring_server(const struct vc__ring *ring, unsigned entry)
{
    return ring->entries[entry].server;
}

#endif
