/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A log of what happens between two endpoints, line by line: each packet with
 * its frames as it is sent, the log lines of both except debug lines, and lines
 * that the test adds. Simulated time is rounded down to 10 ms, so that a change
 * which costs a microsecond changes no file. The text is compared with
 * tests/sim/golden/NAME.txt; GOLDEN=write in the environment writes that file
 * instead. */
#ifndef VC_TESTS_SIM_GOLDEN_H
#define VC_TESTS_SIM_GOLDEN_H

#include "tests/sim/sim.h"

/* Starts recording, in the current world; adds a line. */
void golden_begin(void);
void golden_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends recording, and compares the text with the file of this name. */
void golden_end(const char *name);

/* Compares a text of another kind with the file of this name. */
void golden_compare(const char *name, const char *text);

#endif
