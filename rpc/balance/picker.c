/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/picker.h, also for threads and locks. vc__picker_pick() calls
 * the static functions, directly or not; vc__picker_elsewhere() calls two of
 * them, too. Those that choose return the place of a server in the set. */
#include "rpc/balance/picker.h"

#include "rpc/balance/custom.h"
#include "transport/core/random.h"

/* So often a server is drawn in turn, by weight, while it does not suit. */
#define DRAWS 4u

/* Returns the range of all servers of a set. */
static struct vc__range
range_all(const struct vc__server_set *set)
{
    return (struct vc__range){.first = 0, .end = set->n};
}

/* Takes the server of the last choice while it is connected and suits; else the
 * first of those that suit best, and stays with that, if the former one is not
 * connected, not known to be healthy, or a twin. If all fail or are ejected,
 * has all connected, as no other call does that. */
static unsigned
pick_first(struct vc__picker *k, const struct vc__server_set *set,
           const struct vc__pick *pick)
{
    /* Relaxed, as below: another thread's choice is as good. */
    unsigned at = atomic_load_explicit(&k->at, memory_order_relaxed);
    struct vc__field f;

    if (at >= set->n) /* the set has changed */
        at = 0;
    if (vc__suits_of(set->sub[at], pick) == VC__SUITS)
        return at;
    f = vc__field_of(set, range_all(set), false, pick);
    if (f.suits >= VC__SUITS_EJECTED)
        vc__field_of(set, range_all(set), true, pick);
    if (vc__pool_health(set->sub[at]->pool) != VC__POOL_READY ||
        vc__subchannel_bars(set->sub[at]) & (VC__BAR_HEALTH | VC__BAR_TWIN))
        atomic_store_explicit(&k->at, f.first, memory_order_relaxed);
    return f.first;
}

/* Sets the hint whether all servers, or those of the first tier, are connected.
 * Relaxed: a false hint costs a look at all servers, or a share that is not
 * equal until a server is met that is not connected. */
static void
whole_set(struct vc__picker *k, bool whole)
{
    if (atomic_load_explicit(&k->whole, memory_order_relaxed) != whole)
        atomic_store_explicit(&k->whole, whole, memory_order_relaxed);
}

/* Looks at all servers of the range, has those connected that are not, once
 * their backoff is over, and notes whether all suit (VC__SUITS). Returns those
 * that suit best. */
static struct vc__field
field_survey(struct vc__picker *k, const struct vc__server_set *set,
             struct vc__range range, const struct vc__pick *pick)
{
    struct vc__field f = vc__field_of(set, range, true, pick);

    whole_set(k, f.suits == VC__SUITS && f.n == range.end - range.first);
    return f;
}

/* Returns the first tier that has a server which is connected or may be soon,
 * and is not ejected; if there is none, or only one tier, all servers.
 * connects: has servers connected, of a lower tier only while those above it
 * fail. Also for vc__picker_elsewhere(). */
static struct vc__range
tier_find(const struct vc__server_set *set, bool connects,
          const struct vc__pick *pick)
{
    struct vc__range range = {0, 0};

    for (unsigned i = 0; set->n_tiers > 1 && i < set->n_tiers; i++) {
        range = (struct vc__range){range.end, set->tier_end[i]};
        if (vc__field_of(set, range, connects, pick).suits < VC__SUITS_EJECTED)
            return range;
    }
    return range_all(set);
}

/* The next in turn of the servers that suit best; of the first tier that does
 * not fail, if there are several tiers. While all servers, or those of the
 * first tier, are connected, a choice looks at one only. */
static unsigned
round_robin(struct vc__picker *k, const struct vc__server_set *set,
            const struct vc__pick *pick)
{
    unsigned at = atomic_fetch_add_explicit(&k->at, 1, memory_order_relaxed);
    unsigned n = set->n_tiers > 1 ? set->tier_end[0] : set->n;
    struct vc__field f;

    if (atomic_load_explicit(&k->whole, memory_order_relaxed) &&
        vc__suits_of(set->sub[at % n], pick) == VC__SUITS)
        return at % n;
    f = field_survey(k, set, tier_find(set, true, pick), pick);
    /* The hint is about the first tier. */
    if (set->n_tiers > 1 && f.first >= n)
        whole_set(k, false);
    return vc__field_get(&f, set, at % f.n, pick);
}

/* For weighted_round_robin(): one of the field by chance, by the weights. */
static unsigned
weight_draw(const struct vc__field *f, const struct vc__server_set *set,
            const struct vc__stride *stride, const struct vc__pick *pick)
{
    unsigned at = f->first;
    uint64_t sum = 0, point, seed = pick->seed;

    for (unsigned i = f->first; i < f->end; i++)
        if (vc__suits_of(set->sub[i], pick) == f->suits)
            sum += vc__stride_weight(stride, i);
    point = (uint64_t)vc__random(&seed) * sum >> 32;
    for (unsigned i = f->first; i < f->end; i++) {
        unsigned weight = vc__stride_weight(stride, i);

        /* They may have changed meanwhile: then the last is as good. */
        if (vc__suits_of(set->sub[i], pick) != f->suits)
            continue;
        at = i;
        if (point < weight)
            break;
        point -= weight;
    }
    return at;
}

/* Draws a server in turn by the weights, and again while it is not the best
 * there is: so the others share its calls by their weights. If a heavy one has
 * most turns and does not suit, chance decides, by the weights of the
 * others. */
static unsigned
weighted_round_robin(struct vc__picker *k, const struct vc__server_set *set,
                     const struct vc__stride *stride,
                     const struct vc__pick *pick)
{
    struct vc__field f = {.suits = VC__SUITS};

    if (!atomic_load_explicit(&k->whole, memory_order_relaxed))
        f = field_survey(k, set, range_all(set), pick);
    for (unsigned i = 0; i < DRAWS; i++) {
        unsigned at = vc__stride_next(stride, &k->at);

        if (vc__suits_of(set->sub[at], pick) <= f.suits)
            return at;
        /* One of those that were all connected is not any more. */
        if (i == 0 && f.n == 0)
            f = field_survey(k, set, range_all(set), pick);
    }
    return weight_draw(&f, set, stride, pick);
}

/* Of two servers at random, of those that suit best, the one with fewer calls
 * in progress. */
static unsigned
least_request(struct vc__picker *k, const struct vc__server_set *set,
              const struct vc__pick *pick)
{
    uint32_t one = (uint32_t)(pick->seed >> 32), two = (uint32_t)pick->seed;
    unsigned n = set->n;
    bool whole = atomic_load_explicit(&k->whole, memory_order_relaxed);
    unsigned a = one % n, b = (a + 1 + two % (n - 1)) % n;
    struct vc__field f;

    if (!whole || vc__suits_of(set->sub[a], pick) != VC__SUITS ||
        vc__suits_of(set->sub[b], pick) != VC__SUITS) {
        f = field_survey(k, set, range_all(set), pick);
        a = one % f.n;
        b = f.n > 1 ? (a + 1 + two % (f.n - 1)) % f.n : a;
        a = vc__field_get(&f, set, a, pick);
        b = vc__field_get(&f, set, b, pick);
    }
    return vc__pool_calls(set->sub[a]->pool) <=
                   vc__pool_calls(set->sub[b]->pool)
               ? a
               : b;
}

/* Walks the ring from the place of the call's hash, or without a key from a
 * random one, as A42 and A76 say. With a key the first server is taken also if
 * it is not connected but may be soon, and else the second; from then on, or
 * without a key, the first that is connected; if none is, the one that suits
 * best. Has servers on the way connected, as soon as their backoff allows, up
 * to the first that does not fail. */
static unsigned
ring_hash(const struct vc__server_set *set, const struct vc__pick *pick)
{
    bool waits = pick->key->hashed, prompts = true;
    unsigned entry =
        vc__ring_find(set->ring, waits ? pick->key->hash : pick->seed);
    unsigned first = vc__ring_server(set->ring, entry);
    unsigned size = set->ring->size, best = first, last = UINT32_MAX;
    enum vc__suits suits = VC__SUITS_SAME_FAILING;

    for (unsigned i = 0; i < size; i++) {
        unsigned at = vc__ring_server(set->ring, (entry + i) % size);
        enum vc__suits s;

        if (at == last)
            continue;
        s = vc__suits_of(set->sub[at], pick);
        if (s == VC__SUITS || (s == VC__SUITS_SOON && waits))
            return at;
        if (prompts && s > VC__SUITS_SAME)
            vc__pool_prompt(set->sub[at]->pool, pick->service, pick->now);
        prompts &= s >= VC__SUITS_EJECTED || s == VC__SUITS_SAME;
        waits &= at == first;
        if (s < suits) {
            suits = s;
            best = at;
        }
        last = at;
    }
    return best;
}

struct vc__subchannel *
vc__picker_pick(struct vc__picker *k, const struct vc__server_set *set,
                const struct vc__pick *pick)
{
    const struct vc__stride *stride;
    unsigned at = 0;

    if (set->n == 1 && set->custom == NULL) { /* or none is known yet */
        whole_set(k, true);
        return set->sub[0];
    }
    switch (atomic_load_explicit(&k->policy, memory_order_relaxed)) {
    case VC__POLICY_PICK_FIRST:
        at = pick_first(k, set, pick);
        break;
    case VC__POLICY_WEIGHTED_ROUND_ROBIN:
        stride = vc__server_set_stride(set);
        at = stride == NULL ? round_robin(k, set, pick)
                            : weighted_round_robin(k, set, stride, pick);
        break;
    case VC__POLICY_LEAST_REQUEST:
        at = least_request(k, set, pick);
        break;
    case VC__POLICY_RING_HASH:
        /* A set without a ring was not made for this policy, which is new or
         * about to change. */
        at = set->ring == NULL ? round_robin(k, set, pick)
                               : ring_hash(set, pick);
        break;
    case VC__POLICY_ROUND_ROBIN:
    case VC__POLICY_PRIORITY:
    case VC__POLICY_NEAREST:
        at = round_robin(k, set, pick);
        break;
    case VC__POLICY_CUSTOM:
        return vc__custom_pick(k->custom, &k->at, set, pick);
    }
    return set->sub[at];
}

void
vc__picker_moved(struct vc__picker *k, const struct vc__server_set *from,
                 const struct vc__server_set *to)
{
    unsigned at = atomic_load_explicit(&k->at, memory_order_relaxed);
    unsigned now = to->n;

    while (now > 0 && (at >= from->n || to->sub[now - 1] != from->sub[at]))
        now--;
    if (k->policy == VC__POLICY_PICK_FIRST)
        atomic_store_explicit(&k->at, now > 0 ? now - 1 : 0,
                              memory_order_relaxed);
    atomic_store_explicit(&k->whole, false, memory_order_relaxed);
}

bool
vc__picker_elsewhere(const struct vc__server_set *set,
                     const struct vc__pool *before)
{
    const struct vc__pick pick = {.before = before};
    struct vc__range range = tier_find(set, false, &pick);
    enum vc__suits suits = vc__field_of(set, range, false, &pick).suits;

    return suits == VC__SUITS || suits == VC__SUITS_SOON;
}
