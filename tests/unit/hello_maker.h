/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A valid hello, accept and reject, and a reader of exact-sized copies, in
 * which a sanitizer finds every access past the end. */
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

/* One of the three, as functions from bytes to bytes. */
struct kind {
    const char *name;
    size_t size;
    /* Reads the bytes and, if they are valid, writes what was read again. */
    enum vc__said (*echo)(uint8_t *out, const void *data, size_t len);
};

/* Hello, accept, reject. */
extern const struct kind kinds[3];

/* Puts the bytes of the valid one of this kind. */
void good_bytes(uint8_t *out, const struct kind *kind);

/* Reads the bytes in memory of exactly their size. Bytes that are read as valid
 * must be written again as the same bytes. */
enum vc__said read_bytes(const struct kind *kind, const uint8_t *bytes,
                         size_t len);

#endif
