/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Pseudo-random numbers for spreading load and retries, from a seed of the
 * caller's; no secret may depend on them (splitmix64: Steele, Lea, Flood, "Fast
 * splittable pseudorandom number generators", OOPSLA 2014). Pure; the seed's
 * owner serialises: the holder, a lock of the owner, or a seed on the stack.
 *
 * Called by: rpc/balance/custom.c (random), rpc/balance/picker.c (random),
 * rpc/client/channel.c (random), many files (below). */
#ifndef VC_TRANSPORT_RANDOM_H
#define VC_TRANSPORT_RANDOM_H

#include <stdint.h>

/* Any 32 bits; advances the seed. Called by vc__random_below(), and for the
 * choice of a server: by weight (picker.c), by a policy of the program's
 * (custom.c), and for the seed of a choice (channel_random()). */
static inline uint32_t
vc__random(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

/* 0..n-1; 0 when n is 0. Called to choose a wait before a retry (cm/connect,
 * rpc/client/retry.c, rpc/server/server_shed.c, rpc/balance/health_rules.c,
 * transport/ud/ask.h), an address of a redirect (cm/connect/dial.c), whether an
 * idle link lives longer (cm/pool/pool_link.c), which calls a client turns down
 * (cm/pool/throttle.c), or whether an outlier is ejected
 * (rpc/balance/outlier.c). */
static inline uint32_t
vc__random_below(uint64_t *seed, uint32_t n)
{
    return (uint32_t)((uint64_t)vc__random(seed) * n >> 32);
}

#endif
