/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/multicast_loss.h. Static functions are called by
 * vc__multicast_loss_note(). */
#include "rpc/server/multicast_loss.h"

#define WINDOW 64u

/* A number higher than all before: those between are missing. */
static enum vc__multicast_came
loss_ahead(struct vc__multicast_loss *l, uint64_t sequence)
{
    uint64_t n = sequence - l->last;

    if (n > VC__MULTICAST_AHEAD)
        return VC__MULTICAST_WILD;
    l->lost += n - 1;
    l->got = n < WINDOW ? l->got << n : 0;
    l->got |= 1;
    l->last = sequence;
    l->received++;
    return VC__MULTICAST_NEXT;
}

/* A number that is not higher than all before: one that was missing, or that
 * the publisher sent before this member's first, or a duplicate. */
static enum vc__multicast_came
loss_not_ahead(struct vc__multicast_loss *l, uint64_t sequence)
{
    uint64_t age = l->last - sequence;

    if (age >= WINDOW || l->got & (uint64_t)1 << age) {
        l->duplicates++;
        return VC__MULTICAST_AGAIN;
    }
    l->got |= (uint64_t)1 << age;
    if (sequence > l->first) /* it was counted */
        l->lost--;
    l->late++;
    l->received++;
    return VC__MULTICAST_LATE;
}

enum vc__multicast_came
vc__multicast_loss_note(struct vc__multicast_loss *l, uint64_t sequence)
{
    if (l->first == 0) {
        l->first = l->last = sequence;
        l->got = 1;
        l->received = 1;
        return VC__MULTICAST_NEXT;
    }
    return sequence > l->last ? loss_ahead(l, sequence)
                              : loss_not_ahead(l, sequence);
}
