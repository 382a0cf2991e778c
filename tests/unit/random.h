/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Random numbers for tests: the same numbers from the same seed on every system
 * (the upper half of Knuth's 64-bit linear congruential generator). */
#ifndef VC_TESTS_UNIT_RANDOM_H
#define VC_TESTS_UNIT_RANDOM_H

#include <stdint.h>

static inline uint32_t
random_next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 32);
}

/* 0..n-1 */
static inline uint32_t
random_below(uint64_t *seed, uint32_t n)
{
    return (uint32_t)((uint64_t)random_next(seed) * n >> 32);
}

#endif
