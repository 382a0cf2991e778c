/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The types that fuzz_message.c tests, by the number in an input's first byte.
 * Append new types at the end, or the corpus changes its meaning. */
#ifndef VC_TESTS_FUZZ_MESSAGE_TYPES_H
#define VC_TESTS_FUZZ_MESSAGE_TYPES_H

#include "tests/unit/test_message.pb-c.h"
#include "tests/unit/test_message_proto2.pb-c.h"

enum type {
    SCALARS,
    PLAIN,
    PACKED,
    UNPACKED,
    TREE,
    CHOICE,
    MAPS,
    ALL,
    EMPTIES,
    INNER2,
    OUTER2,
    PLAIN2,
    N_TYPES
};

static const ProtobufCMessageDescriptor *const types[N_TYPES] = {
    [SCALARS] = &unit__scalars__descriptor,
    [PLAIN] = &unit__plain__descriptor,
    [PACKED] = &unit__packed__descriptor,
    [UNPACKED] = &unit__unpacked__descriptor,
    [TREE] = &unit__tree__descriptor,
    [CHOICE] = &unit__choice__descriptor,
    [MAPS] = &unit__maps__descriptor,
    [ALL] = &unit__all__descriptor,
    [EMPTIES] = &unit__empties__descriptor,
    [INNER2] = &unit2__inner__descriptor,
    [OUTER2] = &unit2__outer__descriptor,
    [PLAIN2] = &unit2__plain__descriptor,
};

#endif
