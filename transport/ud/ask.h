/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * When a client of datagrams asks its server again: after 500 ms, then after
 * twice as long each time, up to 8 s; and after up to half of that more, at
 * random, as clients whose server has restarted would otherwise all ask at the
 * same instants. Pure.
 *
 * Called by: connect.c (wait_ms). */
#ifndef VC_TRANSPORT_UD_ASK_H
#define VC_TRANSPORT_UD_ASK_H

#include "transport/core/random.h"

#define VC__ASK_AGAIN_MS  500u
#define VC__ASK_DOUBLINGS 4u

/* How long to wait for the answer to this ask, the first of which is 1. */
static inline uint32_t
vc__ask_wait_ms(unsigned ask, uint64_t *seed)
{
    unsigned doublings =
        ask - 1 < VC__ASK_DOUBLINGS ? ask - 1 : VC__ASK_DOUBLINGS;
    uint32_t ms = VC__ASK_AGAIN_MS << doublings;

    return ms + vc__random_below(seed, ms / 2);
}

#endif
