/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/ring.h, also for the threads. vc__ring_new() calls all static
 * functions, directly or not. */
#include "rpc/balance/ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So the functions are in this file, and no library is linked. */
#define XXH_INLINE_ALL
#include <xxhash.h>

/* gRPC's seed. */
#define SEED 0

/* "KEY_i": the key is a hash key or a target, i has ten digits at most. */
#define PLACE_MAX (VC_ENDPOINT_TARGET_MAX + sizeof "_4294967295")

/* --- the servers, in the order of their keys ---------------------------- */

/* A server of the ring that is being made. */
struct ring_member {
    const struct vc__endpoint *endpoint;
    unsigned server; /* its number */
};

/* The key by which a server is placed on the ring. */
static const char *
ring_key_of(const struct vc__endpoint *e)
{
    return e->hash_key[0] != '\0' ? e->hash_key : e->target;
}

/* The weight of a server, at least 1. */
static uint32_t
ring_weight_of(const struct vc__endpoint *e)
{
    return e->weight != 0 ? e->weight : 1;
}

/* For qsort(). No two members are equal. */
static int
ring_member_order(const void *a, const void *b)
{
    const struct ring_member *x = a, *y = b;
    int order = strcmp(ring_key_of(x->endpoint), ring_key_of(y->endpoint));

    if (order == 0)
        order = strcmp(x->endpoint->target, y->endpoint->target);
    return order != 0 ? order
                      : (x->server > y->server) - (x->server < y->server);
}

/* The servers, sorted by ring_member_order(); the caller frees them. NULL if
 * memory is short. */
static struct ring_member *
ring_members_new(const struct vc__endpoint *endpoints, unsigned n)
{
    struct ring_member *members = malloc(n * sizeof *members);

    if (members == NULL)
        return NULL;
    for (unsigned i = 0; i < n; i++)
        members[i] = (struct ring_member){&endpoints[i], i};
    qsort(members, n, sizeof *members, ring_member_order);
    return members;
}

/* --- how many entries each of them has ---------------------------------- */

/* Servers of `weight` together have weight * times / by entries. gRPC computes
 * this by floating point numbers; integers have no errors of rounding, which
 * would differ between machines. Nothing exceeds 64 bits: a sum of weights is
 * below 2^32 * VC_ENDPOINTS_MAX, `times` at most VC__RING_SIZE_MAX. */
struct ring_scale {
    uint64_t times, by;
};

/* a / b, rounded up. */
static uint64_t
ring_divide_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* A size within the limits of a ring, 1..VC__RING_SIZE_MAX. */
static unsigned
ring_size_within(unsigned size)
{
    if (size == 0)
        return 1;
    return size < VC__RING_SIZE_MAX ? size : VC__RING_SIZE_MAX;
}

/* Returns the scale by gRPC's rule: the lightest server, whose weight is
 * `least`, has its share of `min`, rounded up, and the others as many for their
 * weights. If that is more than max, all have their share of max. sum: of all
 * weights. */
static struct ring_scale
ring_scale_of(uint64_t least, uint64_t sum, unsigned min, unsigned max)
{
    uint64_t entries = ring_divide_up(min * least, sum);

    if (entries * sum <= max * least)
        return (struct ring_scale){.times = entries, .by = least};
    return (struct ring_scale){.times = max, .by = sum};
}

/* The entries of several servers whose weights have this sum: in all, so that
 * fractions are not lost. */
static unsigned
ring_scale_entries(const struct ring_scale *scale, uint64_t weight)
{
    return (unsigned)ring_divide_up(weight * scale->times, scale->by);
}

/* --- the ring ----------------------------------------------------------- */

/* For qsort(). Entries of one hash and rank are equal, also to the caller. */
static int
ring_entry_order(const void *a, const void *b)
{
    const struct vc__ring_entry *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Writes `count` entries of a server. */
static void
ring_add(struct vc__ring_entry *entries, unsigned count,
         const struct ring_member *m, unsigned rank)
{
    char place[PLACE_MAX];
    int key = snprintf(place, sizeof place, "%s_", ring_key_of(m->endpoint));

    for (unsigned i = 0; i < count; i++) {
        int digits = snprintf(place + key, sizeof place - (size_t)key, "%u", i);

        entries[i] = (struct vc__ring_entry){
            .hash = vc__ring_hash(place, (size_t)(key + digits)),
            .rank = rank,
            .server = m->server,
        };
    }
}

/* Makes the ring of these members, whose weights have this sum. NULL if memory
 * is short. */
static struct vc__ring *
ring_new_of(const struct ring_member *members, unsigned n,
            const struct ring_scale *scale, uint64_t sum)
{
    unsigned size = ring_scale_entries(scale, sum), filled = 0;
    struct vc__ring *ring =
        malloc(sizeof *ring + size * sizeof ring->entries[0]);
    uint64_t weight = 0;

    if (ring == NULL)
        return NULL;
    ring->size = size;
    for (unsigned i = 0; i < n; i++) {
        unsigned upto;

        weight += ring_weight_of(members[i].endpoint);
        upto = ring_scale_entries(scale, weight);
        ring_add(ring->entries + filled, upto - filled, &members[i], i);
        filled = upto;
    }
    qsort(ring->entries, size, sizeof ring->entries[0], ring_entry_order);
    return ring;
}

struct vc__ring *
vc__ring_new(const struct vc__endpoint *endpoints, unsigned n, unsigned min,
             unsigned max)
{
    struct ring_member *members = ring_members_new(endpoints, n);
    struct ring_scale scale;
    struct vc__ring *ring;
    uint64_t sum = 0, least = UINT32_MAX;

    if (members == NULL)
        return NULL;
    for (unsigned i = 0; i < n; i++) {
        uint32_t weight = ring_weight_of(&endpoints[i]);

        sum += weight;
        least = weight < least ? weight : least;
    }
    scale =
        ring_scale_of(least, sum, ring_size_within(min), ring_size_within(max));
    ring = ring_new_of(members, n, &scale, sum);
    free(members);
    return ring;
}

void
vc__ring_free(struct vc__ring *ring)
{
    free(ring);
}

uint64_t
vc__ring_hash(const char *text, size_t len)
{
    return XXH64(text, len, SEED);
}

/* Halves what remains, without a branch that depends on the hash: that branch
 * would be mispredicted half of the time. */
unsigned
vc__ring_find(const struct vc__ring *ring, uint64_t hash)
{
    const struct vc__ring_entry *at = ring->entries;
    unsigned entry;

    for (unsigned left = ring->size; left > 1;) {
        unsigned half = left / 2;

        at += (size_t)(at[half - 1].hash < hash) * half;
        left -= half;
    }
    entry = (unsigned)(at - ring->entries) + (at->hash < hash);
    return entry < ring->size ? entry : 0;
}
