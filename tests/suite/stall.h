/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Detects whether this machine stalled while a test measured a time: a thread
 * that wakes every few milliseconds keeps the largest gap between two wake-ups.
 * A test prints the gap beside its measurement; no limit is widened by it. */
#ifndef VC_TESTS_SUITE_STALL_H
#define VC_TESTS_SUITE_STALL_H

#define STALL_STEP_MS 5

/* Starts a measurement; only one at a time in a process. */
void stall_begin(void);

/* Ends the measurement; returns the largest gap in milliseconds. */
unsigned stall_end(void);

/* Prints a gap as `# stalled N ms` when it is so large that it may explain a
 * time. */
void stall_print(unsigned ms);

#endif
