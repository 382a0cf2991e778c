/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/picker.h. Any thread; vc__picker_pick() calls the static
 * functions, directly or not, unless a comment says otherwise. */
#include "rpc/balance/picker.h"

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
    SUITS_SAME, /* the same, but the attempt before went there */
    SUITS_SOON, /* it may be connected soon */
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

/* The servers that suit best. */
struct field {
    enum suits suits;
    unsigned n;          /* so many of them */
    unsigned first, end; /* the first in the list; the number of all */
};

/* Looks at all servers. connects: has those connected that are not, once their
 * backoff is over. */
static struct field
picker_field(const struct vc__server_set *set, bool connects,
             const struct vc__pick *pick)
{
    struct field f = {.suits = SUITS_SAME_FAILING, .end = set->n};

    for (unsigned i = 0; i < set->n; i++) {
        enum suits suits = suits_of(set->sub[i], pick);

        if (connects && suits > SUITS_SAME)
            vc__pool_prompt(set->sub[i]->pool, pick->service, pick->now);
        if (suits < f.suits || f.n == 0)
            f = (struct field){.suits = suits, .first = i, .end = set->n};
        f.n += suits == f.suits;
    }
    return f;
}

/* Number k, from 0, of the servers of the field. */
static unsigned
field_get(const struct field *f, const struct vc__server_set *set, unsigned k,
          const struct vc__pick *pick)
{
    unsigned i = f->first;

    /* They may have changed meanwhile: then the last is as good. */
    for (unsigned at = i; k > 0 && at + 1 < f->end;) {
        if (suits_of(set->sub[++at], pick) != f->suits)
            continue;
        i = at;
        k--;
    }
    return i;
}

/* Stays with the server of the last choice while it is connected; else begins
 * again with the first of the list. If all fail, all are tried, as no other
 * call does that. */
static unsigned
pick_first(struct vc__picker *k, const struct vc__server_set *set,
           const struct vc__pick *pick)
{
    /* Relaxed, as below: another thread's choice is as good. */
    unsigned at = atomic_load_explicit(&k->at, memory_order_relaxed);
    struct field f;

    if (at >= set->n) /* the set has changed */
        at = 0;
    if (suits_of(set->sub[at], pick) == SUITS)
        return at;
    f = picker_field(set, false, pick);
    if (f.suits >= SUITS_FAILING)
        picker_field(set, true, pick);
    if (vc__pool_health(set->sub[at]->pool) != VC__POOL_READY)
        atomic_store_explicit(&k->at, f.first, memory_order_relaxed);
    return f.first;
}

/* Relaxed: a false hint costs a look at all servers, or a share that is not
 * equal until a server is met that is not connected. */
static void
whole_set(struct vc__picker *k, bool whole)
{
    if (atomic_load_explicit(&k->whole, memory_order_relaxed) != whole)
        atomic_store_explicit(&k->whole, whole, memory_order_relaxed);
}

/* While all servers are connected, a choice looks at one only. */
static unsigned
round_robin(struct vc__picker *k, const struct vc__server_set *set,
            const struct vc__pick *pick)
{
    unsigned at = atomic_fetch_add_explicit(&k->at, 1, memory_order_relaxed);
    unsigned n = set->n;
    struct field f;

    if (atomic_load_explicit(&k->whole, memory_order_relaxed) &&
        suits_of(set->sub[at % n], pick) == SUITS)
        return at % n;
    f = picker_field(set, true, pick);
    whole_set(k, f.suits == SUITS && f.n == set->n);
    return field_get(&f, set, at % f.n, pick);
}

/* Of two servers at random that are connected, the one with fewer calls in
 * progress. */
static unsigned
least_request(struct vc__picker *k, const struct vc__server_set *set,
              const struct vc__pick *pick)
{
    uint32_t one = (uint32_t)(pick->seed >> 32), two = (uint32_t)pick->seed;
    unsigned n = set->n;
    bool whole = atomic_load_explicit(&k->whole, memory_order_relaxed);
    unsigned a = one % n, b = (a + 1 + two % (n - 1)) % n;
    struct field f;

    if (!whole || suits_of(set->sub[a], pick) != SUITS ||
        suits_of(set->sub[b], pick) != SUITS) {
        f = picker_field(set, true, pick);
        whole_set(k, f.suits == SUITS && f.n == set->n);
        a = one % f.n;
        b = f.n > 1 ? (a + 1 + two % (f.n - 1)) % f.n : a;
        a = field_get(&f, set, a, pick);
        b = field_get(&f, set, b, pick);
    }
    return vc__pool_calls(set->sub[a]->pool) <=
                   vc__pool_calls(set->sub[b]->pool)
               ? a
               : b;
}

struct vc__subchannel *
vc__picker_pick(struct vc__picker *k, const struct vc__server_set *set,
                const struct vc__pick *pick)
{
    unsigned at = 0;

    if (set->n > 1 && k->policy == VC__POLICY_PICK_FIRST)
        at = pick_first(k, set, pick);
    else if (set->n > 1 && k->policy == VC__POLICY_ROUND_ROBIN)
        at = round_robin(k, set, pick);
    else if (set->n > 1)
        at = least_request(k, set, pick);
    return set->sub[at];
}

void
vc__picker_moved(struct vc__picker *k, const struct vc__server_set *from,
                 const struct vc__server_set *to)
{
    unsigned at = atomic_load_explicit(&k->at, memory_order_relaxed);

    for (unsigned i = 0; k->policy == VC__POLICY_PICK_FIRST && i < to->n; i++) {
        if (at < from->n && to->sub[i] == from->sub[at])
            atomic_store_explicit(&k->at, i, memory_order_relaxed);
    }
    atomic_store_explicit(&k->whole, false, memory_order_relaxed);
}

bool
vc__picker_elsewhere(const struct vc__server_set *set,
                     const struct vc__pool *before)
{
    bool ready = before != NULL && vc__pool_health(before) == VC__POOL_READY;

    for (unsigned i = 0; i < set->n; i++) {
        enum vc__pool_health health = vc__pool_health(set->sub[i]->pool);

        if (set->sub[i]->pool != before &&
            (ready ? health == VC__POOL_READY : health != VC__POOL_FAILING))
            return true;
    }
    return false;
}
