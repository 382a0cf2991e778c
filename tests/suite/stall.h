/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether this machine stalled while a test measured a time: a thread that
 * wakes every few milliseconds keeps the largest gap between two of its turns.
 * A test prints the gap beside what it measured; no limit is widened by it. */
#ifndef VC_TESTS_SUITE_STALL_H
#define VC_TESTS_SUITE_STALL_H

#define STALL_STEP_MS 5

/* One measurement at a time in a process. */
void stall_begin(void);

/* Ends the measurement; returns the largest gap in milliseconds. */
unsigned stall_end(void);

/* Prints a gap as `# stalled N ms` if it is large enough to explain a late
 * result. */
void stall_print(unsigned ms);

#endif
