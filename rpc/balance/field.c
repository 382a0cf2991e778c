/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/field.h. */
#include "rpc/balance/field.h"

enum vc__suits
vc__suits_of(const struct vc__subchannel *s, const struct vc__pick *pick)
{
    bool same = s->pool == pick->before;
    unsigned bars = vc__subchannel_bars(s);
    enum vc__pool_health health = vc__subchannel_health(s, bars);

    if (bars & VC__BAR_EJECTED) {
        if (health == VC__POOL_READY)
            return same ? VC__SUITS_SAME_EJECTED : VC__SUITS_EJECTED;
        health = VC__POOL_FAILING;
    }
    if (health == VC__POOL_FAILING)
        return same ? VC__SUITS_SAME_FAILING : VC__SUITS_FAILING;
    if (health == VC__POOL_READY)
        return same ? VC__SUITS_SAME : VC__SUITS;
    return same ? VC__SUITS_SAME_SOON : VC__SUITS_SOON;
}

struct vc__field
vc__field_of(const struct vc__server_set *set, struct vc__range range,
             bool connects, const struct vc__pick *pick)
{
    struct vc__field f = {.suits = VC__SUITS_SAME_FAILING, .end = range.end};

    for (unsigned i = range.first; i < range.end; i++) {
        enum vc__suits suits = vc__suits_of(set->sub[i], pick);

        if (connects && suits > VC__SUITS_SAME)
            vc__pool_prompt(set->sub[i]->pool, pick->service, pick->now);
        if (suits < f.suits || f.n == 0)
            f = (struct vc__field){
                .suits = suits, .first = i, .end = range.end};
        f.n += suits == f.suits;
    }
    return f;
}

unsigned
vc__field_get(const struct vc__field *f, const struct vc__server_set *set,
              unsigned k, const struct vc__pick *pick)
{
    unsigned i = f->first;

    /* They may have changed meanwhile: then the last is as good. */
    for (unsigned at = i; k > 0 && at + 1 < f->end;) {
        if (vc__suits_of(set->sub[++at], pick) != f->suits)
            continue;
        i = at;
        k--;
    }
    return i;
}
