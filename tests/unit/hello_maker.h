/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A good hello, accept and reject, and reading them as a sanitizer wants it. */
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

/* One of the three, seen as bytes in and bytes out. */
struct kind {
    const char *name;
    size_t size;
    /* Reads and, when that is good, writes again what was read. */
    enum vc__said (*echo)(uint8_t *out, const void *data, size_t len);
};

/* Hello, accept, reject. */
extern const struct kind kinds[3];

/* The bytes of the good one of a kind. */
void good_bytes(uint8_t *out, const struct kind *kind);

/* Reads bytes of which the sanitizer knows the end; what is read as good
 * must be written as the same bytes. */
enum vc__said read_bytes(const struct kind *kind, const uint8_t *bytes,
                         size_t len);

#endif
