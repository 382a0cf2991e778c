/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause */
#include "histogram.h"

#include <stddef.h>

/* A time below 2 * CUTS has a bucket of its own. A longer one is shifted right
 * until it is below 2 * CUTS, and each shift has CUTS buckets of its own. */
#define CUT_BITS 8
#define CUTS     (1u << CUT_BITS)
#define LONGEST  (((uint64_t)1 << 40) - 1)

_Static_assert(HISTOGRAM_BUCKETS == 31 * CUTS + (LONGEST >> 31) + 1,
               "the last bucket is that of the longest time");

static size_t
bucket_of(uint64_t ns)
{
    unsigned shift = 0;

    if (ns > LONGEST)
        ns = LONGEST;
    if (ns >= 2 * CUTS)
        shift = 63 - (unsigned)__builtin_clzll(ns) - CUT_BITS;
    return shift * CUTS + (size_t)(ns >> shift);
}

/* The time in the middle of a bucket. */
static uint64_t
middle_of(size_t bucket)
{
    size_t shift = bucket < 2 * CUTS ? 0 : bucket / CUTS - 1;
    uint64_t low = (uint64_t)(bucket - shift * CUTS) << shift;

    return low + ((uint64_t)1 << shift) / 2;
}

void
histogram_record(struct histogram *histogram, uint64_t ns)
{
    if (histogram->count == 0 || ns < histogram->min)
        histogram->min = ns;
    if (ns > histogram->max)
        histogram->max = ns;
    histogram->count++;
    histogram->buckets[bucket_of(ns)]++;
}

void
histogram_merge(struct histogram *histogram, const struct histogram *other)
{
    if (other->count == 0)
        return;
    if (histogram->count == 0 || other->min < histogram->min)
        histogram->min = other->min;
    if (other->max > histogram->max)
        histogram->max = other->max;
    histogram->count += other->count;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        histogram->buckets[i] += other->buckets[i];
}

uint64_t
histogram_quantile(const struct histogram *histogram, unsigned permille)
{
    uint64_t rank = (histogram->count * permille + 999) / 1000;
    uint64_t seen = 0, ns;
    size_t bucket = 0;

    if (rank <= 1)
        return histogram->min;
    while ((seen += histogram->buckets[bucket]) < rank)
        bucket++;
    ns = middle_of(bucket);
    return ns < histogram->max ? ns : histogram->max;
}
