/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Checksums of files: XXH3 with 128 bits. It detects all accidental errors of
 * disks, memory and network; it gives no protection against deliberate
 * changes. */
#ifndef FILE_SUM_H
#define FILE_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xxhash.h>

#define SUM_DIGITS 32

struct sum {
    XXH3_state_t *state;
    uint64_t size; /* bytes so far */
};

/* sum_begin - returns false without memory. */
bool sum_begin(struct sum *sum);
void sum_add(struct sum *sum, const void *data, size_t size);
/* sum_get - writes the checksum of all data added so far. */
void sum_get(const struct sum *sum, char text[SUM_DIGITS + 1]);
/* sum_end - frees the state; a zeroed sum is allowed. */
void sum_end(struct sum *sum);

#endif
