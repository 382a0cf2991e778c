/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A valid hello, accept and reject, and functions that read them within exact
 * bounds, for the sanitizer. */
#ifndef VC_TESTS_UNIT_HELLO_MAKER_H
#define VC_TESTS_UNIT_HELLO_MAKER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm/connect/hello.h"

extern const struct vc__hello good_hello;
extern const struct vc__accept good_accept;
extern const struct vc__reject good_reject;

/* One of the three, as bytes in and bytes out. */
struct kind {
    const char *name;
    size_t size;
    /* Reads the bytes, and writes what was read again if it is valid. */
    enum vc__said (*echo)(uint8_t *out, const void *data, size_t len);
};

/* Hello, accept, reject. */
extern const struct kind kinds[3];

/* Writes the bytes of the valid one of a kind. */
void good_bytes(uint8_t *out, const struct kind *kind);

/* Reads bytes whose end the sanitizer knows; what is read as valid must be
 * written as the same bytes. */
enum vc__said read_bytes(const struct kind *kind, const uint8_t *bytes,
                         size_t len);

#endif
