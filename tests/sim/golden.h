/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What happens between two ends, line by line: each packet with its frames as
 * it goes out, the lines of both logs but those of debugging, and what the test
 * says beside it. Simulated time has steps of 10 ms, so that a change which
 * costs a microsecond changes no file. The whole is compared with
 * tests/sim/golden/NAME.txt; GOLDEN=write in the environment writes that file
 * instead. */
#ifndef VC_TESTS_SIM_GOLDEN_H
#define VC_TESTS_SIM_GOLDEN_H

#include "tests/sim/sim.h"

/* From now on; of the world that runs. */
void golden_begin(void);
void golden_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* No more; and compares. */
void golden_end(const char *name);

/* Compares a text of another kind with the file of this name. */
void golden_compare(const char *name, const char *text);

#endif
