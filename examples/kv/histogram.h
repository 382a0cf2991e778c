/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Records times in fixed memory and returns their percentiles, as HdrHistogram
 * does. Each power of two is divided into 256 buckets, so that a returned time
 * is within 0.2 % of the recorded one. Times are nanoseconds. Those over 2^40
 * (18 minutes) count as 2^40, but the minimum and maximum are exact. */
#ifndef KV_HISTOGRAM_H
#define KV_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BUCKETS 8448

/* Used by one thread at a time; all zero: empty. */
struct histogram {
    uint64_t count;
    uint64_t min, max; /* valid when count is not 0 */
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_record(struct histogram *histogram, uint64_t ns);

/* histogram_merge - adds all times that `other` has recorded. */
void histogram_merge(struct histogram *histogram,
                     const struct histogram *other);

/* histogram_quantile - returns the time that permille of a thousand recorded
 * times, 0..1000, do not exceed: 500 gives the median. 0 when nothing was
 * recorded. */
uint64_t histogram_quantile(const struct histogram *histogram,
                            unsigned permille);

#endif
