/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Records what happens between two ends, line by line: each packet with its
 * frames as it is sent, the lines of both logs except debug lines, and lines of
 * the test. Simulated time has steps of 10 ms, so a change that costs a
 * microsecond changes no file. The record is compared with
 * tests/sim/golden/NAME.txt; GOLDEN=write in the environment writes that file
 * instead. */
#ifndef VC_TESTS_SIM_GOLDEN_H
#define VC_TESTS_SIM_GOLDEN_H

#include "tests/sim/sim.h"

/* golden_begin() starts recording the running world; golden_say() adds a
 * line. */
void golden_begin(void);
void golden_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Stops recording, and compares. */
void golden_end(const char *name);

/* Compares any other text with the file of this name. */
void golden_compare(const char *name, const char *text);

#endif
