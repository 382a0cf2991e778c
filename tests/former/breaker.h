/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Breaks this process's connection as a device would, of a library that is used
 * by its public headers alone. */
#ifndef TESTS_FORMER_BREAKER_H
#define TESTS_FORMER_BREAKER_H

#include <stdbool.h>

/* Moves the QP that was created last to its error state. False when there is
 * none. While no other thread creates or destroys QPs. */
bool breaker_break(void);

#endif
