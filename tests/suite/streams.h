/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The handlers of suite.Streams. */
#ifndef VC_TESTS_SUITE_STREAMS_H
#define VC_TESTS_SUITE_STREAMS_H

#include "tests/suite/suite.vc.h"

/* The indexes of its methods. */
enum {
    TALK,
    DOWN,
    UP
};

extern const struct suite_streams_methods streams_methods;

#endif
