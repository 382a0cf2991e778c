/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bytes that look like noise, always the same, for payloads. */
#ifndef VC_TESTS_SUITE_NOISE_H
#define VC_TESTS_SUITE_NOISE_H

#include <stddef.h>
#include <stdint.h>

static inline void
noise_make(uint8_t *noise, size_t size)
{
    uint32_t x = 1;

    for (size_t i = 0; i < size; i++) {
        x = x * 1664525u + 1013904223u;
        noise[i] = (uint8_t)(x >> 24);
    }
}

#endif
