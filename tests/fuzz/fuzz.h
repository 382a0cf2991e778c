/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the fuzz targets share: the function that libFuzzer calls, with input
 * in memory of exactly its size, and a check. The check is always on, also
 * with NDEBUG. */
#ifndef VC_TESTS_FUZZ_FUZZ_H
#define VC_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Aborts the program if the condition is false; libFuzzer then
 * keeps the input. */
#define FUZZ_CHECK(holds)                                                      \
    do {                                                                       \
        if (!(holds)) {                                                        \
            fprintf(stderr, "ERROR: %s:%d: does not hold: %s\n", __FILE__,     \
                    __LINE__, #holds);                                         \
            abort();                                                           \
        }                                                                      \
    } while (0)

#endif
