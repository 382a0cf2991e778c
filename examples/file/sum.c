/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See sum.h. */
#include "sum.h"

#include <stdio.h>

bool
sum_begin(struct sum *sum)
{
    sum->size = 0;
    sum->state = XXH3_createState();
    return sum->state != NULL && XXH3_128bits_reset(sum->state) == XXH_OK;
}

void
sum_add(struct sum *sum, const void *data, size_t size)
{
    if (size > 0)
        XXH3_128bits_update(sum->state, data, size);
    sum->size += size;
}

void
sum_get(const struct sum *sum, char text[SUM_DIGITS + 1])
{
    XXH128_canonical_t bytes;

    XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(sum->state));
    for (size_t i = 0; i < sizeof bytes.digest; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes.digest[i]);
}

void
sum_end(struct sum *sum)
{
    XXH3_freeState(sum->state);
    sum->state = NULL;
}
