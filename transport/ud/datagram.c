/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/ud/datagram.h. */
#include "transport/ud/datagram.h"

#include <string.h>

#include "transport/core/le.h"

#define INTRO_VERSION 1

static const uint8_t intro_magic[4] = {'V', 'B', 'U', 'D'};

void
vc__datagram_put(uint8_t out[VC__DATAGRAM_HEADER], const struct vc__datagram *d)
{
    vc__put32(out, d->key);
    vc__put32(out + 4, d->sequence);
    vc__put32(out + 8, d->ack);
    vc__put32(out + 12, d->sack);
    out[16] = d->flags;
    out[17] = d->pieces == 0 ? 0 : (uint8_t)(d->piece << 4 | (d->pieces - 1u));
    out[18] = d->window;
    out[19] = 0;
}

bool
vc__datagram_get(struct vc__datagram *d, const uint8_t *in, uint32_t len)
{
    if (len < VC__DATAGRAM_HEADER)
        return false;
    d->key = vc__get32(in);
    d->sequence = vc__get32(in + 4);
    d->ack = vc__get32(in + 8);
    d->sack = vc__get32(in + 12);
    d->flags = in[16];
    d->piece = in[17] >> 4;
    d->pieces = (uint8_t)((in[17] & 0x0f) + 1);
    d->window = in[18];
    if (in[19] != 0 || (d->flags & ~VC__DATAGRAM_FLAGS) != 0)
        return false;
    if (d->sequence == 0)
        return len == VC__DATAGRAM_HEADER && in[17] == 0;
    return d->piece < d->pieces && d->pieces <= VC__DATAGRAM_PIECES &&
           len > VC__DATAGRAM_HEADER;
}

void
vc__intro_put(uint8_t out[VC__INTRO], const struct vc__intro *i)
{
    memcpy(out, intro_magic, sizeof intro_magic);
    out[4] = INTRO_VERSION;
    out[5] = i->window;
    vc__put16(out + 6, i->mtu);
    vc__put32(out + 8, i->key);
    vc__put32(out + 12, i->qpn);
}

bool
vc__intro_get(struct vc__intro *i, const uint8_t *in, uint32_t len)
{
    if (len < VC__INTRO || memcmp(in, intro_magic, sizeof intro_magic) != 0 ||
        in[4] != INTRO_VERSION)
        return false;
    i->window = in[5];
    i->mtu = vc__get16(in + 6);
    i->key = vc__get32(in + 8);
    i->qpn = vc__get32(in + 12);
    return i->window >= 1 && i->mtu >= VC__DATAGRAM_MTU && i->qpn <= 0xffffff;
}
