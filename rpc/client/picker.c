/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/client/picker.h. Any thread; vc__picker_pick() calls the static
 * functions, directly or not, unless a comment says otherwise. */
#include "rpc/client/picker.h"

#include <string.h>

#include "transport/core/error.h"

static const char *const names[] = {
    [VC__POLICY_PICK_FIRST] = "pick_first",
    [VC__POLICY_ROUND_ROBIN] = "round_robin",
    [VC__POLICY_LEAST_REQUEST] = "least_request",
};

#define N_NAMES (sizeof names / sizeof names[0])

enum vc_status
vc__policy_parse(enum vc__policy *policy, const char *name)
{
    *policy = VC__POLICY_PICK_FIRST;
    if (name == NULL)
        return VC_OK;
    for (unsigned i = 0; i < N_NAMES; i++) {
        if (strcmp(name, names[i]) == 0) {
            *policy = (enum vc__policy)i;
            return VC_OK;
        }
    }
    return vc__fail(VC_INVALID_ARGUMENT,
                    "vc_channel_opts.policy: \"%.60s\" is none of pick_first, "
                    "round_robin, least_request",
                    name);
}

/* How well a server suits: the lower the better. */
enum suits {
    SUITS,      /* it is connected */
    SUITS_SOON, /* it may be soon */
    SUITS_SAME, /* connected, but the attempt before went there */
    SUITS_SAME_SOON,
    SUITS_FAILING,
    SUITS_SAME_FAILING,
};

static enum suits
suits_of(const struct vc__subchannel *s, const struct vc__pick *pick)
{
    bool same = s->pool == pick->before;

    switch (vc__pool_health(s->pool)) {
    case VC__POOL_READY:
        return same ? SUITS_SAME : SUITS;
    case VC__POOL_FAILING:
        return same ? SUITS_SAME_FAILING : SUITS_FAILING;
    case VC__POOL_IDLE:
    case VC__POOL_CONNECTING:
        break;
    }
    return same ? SUITS_SAME_SOON : SUITS_SOON;
}

/* Returns the index of the one that suits best, the first of equals from
 * `start` on. connects: has those connected that are not, once their backoff is
 * over. */
static unsigned
best_from(struct vc__subchannel *subs, unsigned n, unsigned start,
          bool connects, const struct vc__pick *pick)
{
    enum suits best = SUITS_SAME_FAILING;
    unsigned at = start;

    for (unsigned k = 0, i = start; k < n; k++, i = i + 1 < n ? i + 1 : 0) {
        enum suits suits = suits_of(&subs[i], pick);

        if (suits == SUITS)
            return i;
        if (connects)
            vc__pool_prompt(subs[i].pool, pick->service, pick->now);
        if (suits < best) {
            best = suits;
            at = i;
        }
    }
    return at;
}

/* Stays with the server of the last choice while it is connected; else begins
 * again with the first of the list. */
static unsigned
pick_first(struct vc__picker *k, struct vc__subchannel *subs, unsigned n,
           const struct vc__pick *pick)
{
    /* Relaxed, as below: another thread's choice is as good. */
    unsigned at = atomic_load_explicit(&k->at, memory_order_relaxed);

    if (suits_of(&subs[at], pick) == SUITS)
        return at;
    at = best_from(subs, n, 0, false, pick);
    atomic_store_explicit(&k->at, at, memory_order_relaxed);
    return at;
}

static unsigned
round_robin(struct vc__picker *k, struct vc__subchannel *subs, unsigned n,
            const struct vc__pick *pick)
{
    unsigned at = atomic_fetch_add_explicit(&k->at, 1, memory_order_relaxed);

    return best_from(subs, n, at % n, true, pick);
}

/* Of two servers at random that are connected, the one with fewer calls in
 * progress. */
static unsigned
least_request(struct vc__subchannel *subs, unsigned n,
              const struct vc__pick *pick)
{
    unsigned a = (unsigned)((pick->seed >> 32) % n);
    unsigned b = (a + 1 + (unsigned)((uint32_t)pick->seed % (n - 1))) % n;

    if (suits_of(&subs[a], pick) != SUITS || suits_of(&subs[b], pick) != SUITS)
        return best_from(subs, n, a, true, pick);
    return vc__pool_calls(subs[a].pool) <= vc__pool_calls(subs[b].pool) ? a : b;
}

struct vc__subchannel *
vc__picker_pick(struct vc__picker *k, struct vc__subchannel *subs, unsigned n,
                const struct vc__pick *pick)
{
    unsigned at = 0;

    if (n > 1 && k->policy == VC__POLICY_PICK_FIRST)
        at = pick_first(k, subs, n, pick);
    else if (n > 1 && k->policy == VC__POLICY_ROUND_ROBIN)
        at = round_robin(k, subs, n, pick);
    else if (n > 1)
        at = least_request(subs, n, pick);
    return &subs[at];
}

bool
vc__picker_elsewhere(const struct vc__subchannel *subs, unsigned n,
                     const struct vc__pool *before)
{
    for (unsigned i = 0; i < n; i++) {
        if (subs[i].pool != before &&
            vc__pool_health(subs[i].pool) != VC__POOL_FAILING)
            return true;
    }
    return false;
}
