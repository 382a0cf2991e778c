/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How fast the machine is at this moment. A guest that is emulated beside other
 * programs runs several times slower at times, and stands still at others. A
 * process of its own sleeps and works in small steps of a known length; a clock
 * that counts these steps goes slower with the machine, so that a test can ask
 * for the documented time and not for a multiple that holds on a bad day.
 *
 * It runs where VC_TEST_PACE is set, as tests/inside.sh does; elsewhere, as in
 * the simulated world, pace_ms() is the fixture's clock. */
#ifndef VC_TESTS_SUITE_PACE_H
#define VC_TESTS_SUITE_PACE_H

#include <stdint.h>

/* A step that took longer than this is a stall. Its length is printed as a TAP
 * comment, "# stalled N ms", before the result of the test that it fell into:
 * tests/tap.sh repeats such a test once if it failed. */
#define PACE_STALL_MS 300

/* Starts the process, which ends with this one. Called by fixture_main(). */
void pace_start(void);

/* Milliseconds of a clock that goes as fast as this machine does now, never
 * faster than real time; any thread and process of the test may read it. */
uint64_t pace_ms(void);

#endif
