/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Helpers that several benchmarks share: the time, medians, memory. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline double
now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static inline int
by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Returns the median; sorts the values. */
static inline double
median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_size);
    return n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Returns the bytes that malloc() has allocated in this process. */
static inline uint64_t
heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

#endif
