/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Measures how fast the machine is at this moment. A guest that is emulated
 * beside other programs runs several times slower at times, and stands still at
 * others. On each of up to four processors a process sleeps and works in small
 * steps of a known length, and records when each step has ended. The number of
 * steps gives the time at the usual pace. So a test can require the documented
 * time, not a multiple that allows for slow days. The slowest processor counts,
 * as the host may stop one of them while the others run.
 *
 * The processes run only if VC_TEST_PACE is set; tests/one.sh sets it for the
 * programs of suites. Elsewhere, as in the simulated world, the real time is
 * returned. */
#ifndef VC_TESTS_SUITE_PACE_H
#define VC_TESTS_SUITE_PACE_H

#include <stdint.h>

/* A step that took longer than this is a stall. Its length is printed as a TAP
 * comment, "# stalled N ms", before the result of the running test:
 * tests/one.sh repeats such a test once if it failed. */
#define PACE_STALL_MS 300

/* Starts the processes, which end with this process. Called by
 * fixture_main(). */
void pace_start(void);

/* The part of the time between two values of fixture_ms() that this machine
 * would have needed at its usual pace, in milliseconds: never more than the
 * real time. */
uint64_t pace_between(uint64_t since_ms, uint64_t until_ms);

/* The same, from since_ms until now. */
uint64_t pace_since(uint64_t since_ms);

#endif
