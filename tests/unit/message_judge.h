/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Compares rpc/codec/validate.c with protobuf-c. In every test a message that
 * the check accepts is unpacked into an arena that allows no more memory than
 * the check has calculated. */
#ifndef VC_TESTS_UNIT_MESSAGE_JUDGE_H
#define VC_TESTS_UNIT_MESSAGE_JUDGE_H

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/codec/validate.h"
#include "tests/unit/message_maker.h"
#include "tests/unit/test_message.pb-c.h"
#include "tests/unit/test_message_proto2.pb-c.h"

/* Message types with fields of every kind. */
#define N_TYPES 10
extern const ProtobufCMessageDescriptor *const types[N_TYPES];

/* Limits that no message here reaches. */
extern const struct vc__message_limits roomy;

/* For cmocka; maker_setup() and maker_teardown() are in them. */
int judge_setup(void **state);
int judge_teardown(void **state);

/* The result of one check. */
struct verdict {
    const char *wrong; /* NULL when good */
    size_t memory;     /* calculated by the check */
    size_t taken;      /* used by unpacking */
};

/* Checks bytes in memory of exactly their size, and unpacks them if valid. */
struct verdict judge(const ProtobufCMessageDescriptor *desc,
                     const uint8_t *bytes, size_t len,
                     const struct vc__message_limits *limits);
bool is_good(const ProtobufCMessageDescriptor *desc, const void *bytes,
             size_t len);

#define GOOD(desc, bytes)                                                      \
    assert_true(is_good(&(desc), bytes, sizeof(bytes) - 1))
#define BAD(desc, bytes)                                                       \
    assert_false(is_good(&(desc), bytes, sizeof(bytes) - 1))

#endif
