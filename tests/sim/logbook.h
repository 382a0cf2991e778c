/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The lines of the log of all processes of a world, each as "PROCESS LEVEL:
 * LINE". */
#ifndef VC_TESTS_SIM_LOGBOOK_H
#define VC_TESTS_SIM_LOGBOOK_H

#include "tests/sim/sim.h"

/* Keeps the lines of this level and more important ones from now on, and drops
 * former lines. */
void logbook_begin(enum vc_log_level level);

/* Stop, and check that the lines are these, or those of
 * tests/sim/golden/NAME.txt. */
void logbook_end(const char *lines);
void logbook_end_as(const char *name);

/* The lines so far. */
const char *logbook_lines(void);

#endif
