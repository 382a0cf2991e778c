/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The receiving half of transport/ud/reliable.h: what has arrived, and when to
 * acknowledge it. See transport/ud/reliable.h. Static functions are called by
 * vc__reliable_received(). */
#include "transport/ud/reliable.h"

/* The expected one has arrived. */
static void
reliable_expect_next(struct vc__reliable *r)
{
    bool arrived;

    do {
        arrived = r->later & 1;
        r->later >>= 1;
        r->expected++;
    } while (arrived || r->expected == 0);
}

/* An acknowledgement is to go then, or before. */
static void
reliable_ack_by(struct vc__reliable *r, uint64_t at)
{
    if (at < r->ack_at)
        r->ack_at = at;
}

enum vc__reliable_kind
vc__reliable_received(struct vc__reliable *r, uint32_t sequence, bool asks,
                      uint64_t now)
{
    uint32_t off = sequence - r->expected;
    bool before = off >> 31, gap = off != 0 || r->later != 0;

    if (sequence == 0 || (off >= VC__RELIABLE_WINDOW && !before))
        return VC__RELIABLE_OUTSIDE;
    if (before || (off > 0 && r->later >> (off - 1) & 1)) {
        r->duplicates++;
        reliable_ack_by(r, now);
        return VC__RELIABLE_AGAIN;
    }

    if (++r->unreported >= 2 || gap || asks)
        reliable_ack_by(r, now);
    else
        reliable_ack_by(r, now + VC__RELIABLE_ACK_DELAY);
    if (off > 0) {
        r->later |= 1u << (off - 1);
        return VC__RELIABLE_AHEAD;
    }
    reliable_expect_next(r);
    return VC__RELIABLE_NEXT;
}

void
vc__reliable_ack(struct vc__reliable *r, uint32_t *ack, uint32_t *sack)
{
    *ack = r->expected;
    *sack = r->later;
    r->unreported = 0;
    r->ack_at = UINT64_MAX;
}

bool
vc__reliable_ack_due(const struct vc__reliable *r, uint64_t now)
{
    return r->ack_at <= now;
}
