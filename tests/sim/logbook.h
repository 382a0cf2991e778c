/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The log lines of all processes of a world, each as "PROCESS LEVEL: LINE". */
#ifndef VC_TESTS_SIM_LOGBOOK_H
#define VC_TESTS_SIM_LOGBOOK_H

#include "tests/sim/sim.h"

/* Forgets earlier lines, and keeps lines of this level or more severe ones from
 * now on. */
void logbook_begin(enum vc_log_level level);

/* Stops keeping lines. All lines must be these, or those of
 * tests/sim/golden/NAME.txt. */
void logbook_end(const char *lines);
void logbook_end_as(const char *name);

/* The lines so far. */
const char *logbook_lines(void);

#endif
