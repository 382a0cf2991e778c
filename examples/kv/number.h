/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Numbers in command lines. */
#ifndef KV_NUMBER_H
#define KV_NUMBER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* number_parse - true when text is a decimal number of min..max and nothing
 * else; then *number is set. */
static inline bool
number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
    unsigned long long n;
    char *end;

    if (text[0] < '0' || text[0] > '9') /* strtoull() also accepts signs and
                                         * spaces */
        return false;
    errno = 0;
    n = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || n < min || n > max)
        return false;
    *number = n;
    return true;
}

#endif
