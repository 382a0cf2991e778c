/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Counts the credits of one link; doc/wire.md, section 3, has the rules and
 * why two ends that keep them never wait for each other for ever. For each
 * buffer that we granted there is one place: allowed (the peer may fill it),
 * filled and not yet posted again (not counted here), or owed. */
#include "transport/credit.h"

#include <assert.h>

void
vc__credit_init(struct vc__credit *c, uint32_t granted, uint32_t got)
{
    c->have = got;
    c->window = granted;
    c->owed = 0;
    c->limit = got;
    c->allowed = granted;
}

/* doc/wire.md 3.2: the last credit is kept for a packet without frames. */
bool
vc__credit_can_send(const struct vc__credit *c)
{
    return c->have >= 2;
}

/* doc/wire.md 3.3: with half the window, rounded up, and never less than two,
 * as VC__CREDIT_MIN is three: each such packet is answered by less than one,
 * and silence follows. */
bool
vc__credit_must_tell(const struct vc__credit *c)
{
    return c->have >= 1 && c->owed * 2 >= c->window;
}

uint16_t
vc__credit_sent(struct vc__credit *c)
{
    uint32_t told = c->owed;

    assert(c->have > 0);
    assert(told <= UINT16_MAX);

    c->have--;
    c->owed = 0;
    c->allowed += told;
    return (uint16_t)told;
}

bool
vc__credit_arrived(struct vc__credit *c)
{
    if (c->allowed == 0)
        return false;
    c->allowed--;
    return true;
}

void
vc__credit_reposted(struct vc__credit *c, uint32_t n)
{
    c->owed += n;
}

bool
vc__credit_got(struct vc__credit *c, uint32_t n)
{
    if (n > c->limit - c->have)
        return false;
    c->have += n;
    return true;
}
