/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How fast the machine is at this moment. A guest that is emulated beside other
 * programs runs several times slower at times, and stands still at others. On
 * each of up to four processors a process sleeps and works in small steps of a
 * known length, and notes when each step has ended. So many steps are so much
 * time at the usual pace: a test can ask for the documented time, not for a
 * multiple that holds on a bad day. The slowest processor counts, as the host
 * may stop one of them while the others go on.
 *
 * The processes run where VC_TEST_PACE is set, which tests/one.sh does for the programs of
 * suites; elsewhere, as in the simulated world, time is what it is. */
#ifndef VC_TESTS_SUITE_PACE_H
#define VC_TESTS_SUITE_PACE_H

#include <stdint.h>

/* A step that took longer than this is a stall. Its length is printed as a TAP
 * comment, "# stalled N ms", before the result of the test that it fell into:
 * tests/one.sh repeats such a test once if it failed. */
#define PACE_STALL_MS 300

/* Starts the processes, which end with this one. Called by fixture_main(). */
void pace_start(void);

/* What of the time between two moments of fixture_ms() this machine would have
 * needed at its usual pace, in milliseconds: never more than the real time. */
uint64_t pace_between(uint64_t since_ms, uint64_t until_ms);

/* The same, until now. */
uint64_t pace_since(uint64_t since_ms);

#endif
