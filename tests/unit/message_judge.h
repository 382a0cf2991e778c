/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/codec/validate.c against protobuf-c itself. In every test, a message that
 * the check accepts is unpacked into an arena. The arena may take no more
 * memory than the check reported. */
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

/* Types with fields of every kind. */
#define N_TYPES 10
extern const ProtobufCMessageDescriptor *const types[N_TYPES];

/* Limits that no test reaches. */
extern const struct vc__message_limits roomy;

/* For cmocka; they call maker_setup() and maker_teardown(). */
int judge_setup(void **state);
int judge_teardown(void **state);

/* The result of one check. */
struct verdict {
    const char *wrong; /* NULL if the message is valid */
    size_t memory;     /* reported by the check */
    size_t taken;      /* by unpacking */
};

/* Checks bytes in memory of exactly their size, and unpacks valid ones. */
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
