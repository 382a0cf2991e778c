/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the fuzz targets have in common: the function that libFuzzer calls,
 * with bytes in memory of exactly their size, and how a target says that
 * something does not hold. Always on, whatever NDEBUG says. */
#ifndef VC_TESTS_FUZZ_FUZZ_H
#define VC_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Ends the program, by which libFuzzer keeps the input. */
#define FUZZ_CHECK(holds)                                                      \
    do {                                                                       \
        if (!(holds)) {                                                        \
            fprintf(stderr, "ERROR: %s:%d: does not hold: %s\n", __FILE__,     \
                    __LINE__, #holds);                                         \
            abort();                                                           \
        }                                                                      \
    } while (0)

#endif
