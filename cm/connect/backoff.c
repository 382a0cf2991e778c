/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See cm/connect/backoff.h. */
#include "cm/connect/backoff.h"

#include "transport/core/random.h"

uint64_t
vc__backoff_failed(struct vc__backoff *b)
{
    uint64_t wait = VC__BACKOFF_MIN_US;

    for (unsigned i = 0; i < b->failures && wait < VC__BACKOFF_MAX_US; i++)
        wait *= 2;
    if (wait < VC__BACKOFF_MAX_US)
        b->failures++;
    else
        wait = VC__BACKOFF_MAX_US;
    /* 80..120 % */
    return wait - wait / 5 +
           vc__random_below(&b->seed, (uint32_t)(wait / 5 * 2) + 1);
}
