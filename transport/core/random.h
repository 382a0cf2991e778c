/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Pseudo-random numbers for spreading load and retries, from a seed of the
 * caller's; no secret may depend on them (splitmix64: Steele, Lea, Flood, "Fast
 * splittable pseudorandom number generators", OOPSLA 2014). Pure; the seed's
 * owner serialises.
 *
 * Called by: many files (below). */
#ifndef VC_TRANSPORT_RANDOM_H
#define VC_TRANSPORT_RANDOM_H

#include <stdint.h>

static inline uint32_t
vc__random(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

/* 0..n-1; 0 when n is 0. */
static inline uint32_t
vc__random_below(uint64_t *seed, uint32_t n)
{
    return (uint32_t)((uint64_t)vc__random(seed) * n >> 32);
}

#endif
