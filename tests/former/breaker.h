/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Breaks this process's connection as a failing device would. The library is
 * used by its public headers only. */
#ifndef TESTS_FORMER_BREAKER_H
#define TESTS_FORMER_BREAKER_H

#include <stdbool.h>

/* Moves the QP that was created last to the error state. Returns false if no QP
 * exists. No other thread may create or destroy QPs meanwhile. */
bool breaker_break(void);

#endif
