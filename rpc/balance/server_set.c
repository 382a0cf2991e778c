/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/server_set.h. */
#include "rpc/balance/server_set.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/balance/custom.h"
#include "rpc/balance/near.h"

struct vc__server_set *
vc__server_set_new(unsigned n, struct vc__endpoint *about)
{
    struct vc__server_set *set =
        calloc(1, sizeof *set + n * sizeof set->sub[0]);

    if (set == NULL) {
        free(about);
        return NULL;
    }
    set->n = n;
    set->about = about;
    set->n_tiers = 1;
    return set;
}

void
vc__server_set_free(struct vc__server_set *set)
{
    if (set == NULL)
        return;
    vc__stride_free(set->stride);
    vc__stride_free(set->by_load);
    free(set->weights);
    vc__ring_free(set->ring);
    vc__custom_set_free(set->custom);
    free(set->tier_end);
    free(set->about);
    free(set);
}

bool
vc__server_set_is_equal(const struct vc__server_set *set)
{
    for (unsigned i = 1; set->about != NULL && i < set->n; i++) {
        if (set->about[i].weight != set->about[0].weight)
            return false;
    }
    return true;
}

/* For vc__server_set_arrange(): makes the schedulers of weighted_round_robin.
 * False if memory is short. */
static bool
strides_make(struct vc__server_set *set)
{
    bool equal = vc__server_set_is_equal(set);

    set->weights = calloc(set->n, sizeof *set->weights);
    if (set->weights == NULL)
        return false;
    for (unsigned i = 0; i < set->n; i++)
        set->weights[i] = (float)set->about[i].weight;
    set->by_load = vc__stride_new(set->weights, set->n);
    if (!equal)
        set->stride = vc__stride_new(set->weights, set->n);
    atomic_init(&set->in_use, set->stride);
    return set->by_load != NULL && (equal || set->stride != NULL);
}

void
vc__server_set_weigh(struct vc__server_set *set)
{
    unsigned known = 0;

    if (set->by_load == NULL)
        return;
    for (unsigned i = 0; i < set->n; i++) {
        set->weights[i] = vc__load_used(&set->sub[i]->load);
        known += set->weights[i] > 0;
    }
    if (known >= 2)
        vc__stride_weigh(set->by_load, set->weights);
    /* Release: pairs with the load in vc__server_set_stride(). */
    atomic_store_explicit(&set->in_use, known >= 2 ? set->by_load : set->stride,
                          memory_order_release);
}

/* The servers of a set in another order, for tiers_make(). */
struct order {
    struct vc__endpoint *about;
    struct vc__subchannel **sub;
    unsigned n;
};

/* For tiers_lay(): appends the servers of this tier. */
static void
tier_append(struct order *to, const struct vc__server_set *set,
            const unsigned *tiers, unsigned tier)
{
    for (unsigned i = 0; i < set->n; i++) {
        if (tiers[i] != tier)
            continue;
        to->about[to->n] = set->about[i];
        to->sub[to->n++] = set->sub[i];
    }
}

/* Lays the servers by their tiers, for tiers_make(). `to` has room for all. */
static void
tiers_lay(struct vc__server_set *set, const unsigned *tiers, struct order *to)
{
    set->n_tiers = 0;
    for (unsigned tier = 0; to->n < set->n; tier++) {
        unsigned before = to->n;

        tier_append(to, set, tiers, tier);
        if (to->n > before)
            set->tier_end[set->n_tiers++] = to->n;
    }
    memcpy(set->about, to->about, set->n * sizeof set->about[0]);
    memcpy(set->sub, to->sub, set->n * sizeof set->sub[0]);
}

/* For vc__server_set_arrange(): lays the servers by tiers: of priority these
 * are the priorities, of nearest those of rpc/balance/near.h. False if memory
 * is short. */
static bool
tiers_make(struct vc__server_set *set, enum vc__policy policy,
           const char *label)
{
    unsigned n = set->n, *tiers = calloc(n, sizeof *tiers);
    struct order to = {.about = calloc(n, sizeof *to.about),
                       .sub = calloc(n, sizeof *to.sub)};
    struct vc__near near;
    bool good;

    vc__near_begin(&near, label);
    set->tier_end = calloc(n, sizeof *set->tier_end);
    good = tiers != NULL && to.about != NULL && to.sub != NULL &&
           set->tier_end != NULL;
    for (unsigned i = 0; good && i < n; i++)
        tiers[i] = policy == VC__POLICY_PRIORITY
                       ? set->about[i].priority
                       : vc__near_tier(&near, &set->about[i]);
    if (good)
        tiers_lay(set, tiers, &to);
    vc__near_end(&near);
    free(tiers);
    free(to.about);
    free(to.sub);
    return good;
}

bool
vc__server_set_arrange(struct vc__server_set *set, enum vc__policy policy,
                       const char *label)
{
    if (set->about == NULL || set->n == 1)
        return true;
    switch (policy) {
    case VC__POLICY_WEIGHTED_ROUND_ROBIN:
        return strides_make(set);
    case VC__POLICY_RING_HASH:
        set->ring = vc__ring_new(set->about, set->n, vc__ring_size_for(set->n),
                                 VC__RING_SIZE_MAX);
        return set->ring != NULL;
    case VC__POLICY_PRIORITY:
    case VC__POLICY_NEAREST:
        return tiers_make(set, policy, label);
    case VC__POLICY_PICK_FIRST:
    case VC__POLICY_ROUND_ROBIN:
    case VC__POLICY_LEAST_REQUEST:
    case VC__POLICY_CUSTOM:
        break;
    }
    return true;
}
