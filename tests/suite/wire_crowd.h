/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A crowd of clients (tests/suite/crowd.h) of rdma+ud:// between the two guests
 * of tests/suite/test_wire.c, while the network loses and reorders what both
 * send. */
#ifndef VC_TESTS_SUITE_WIRE_CROWD_H
#define VC_TESTS_SUITE_WIRE_CROWD_H

/* The test. It opens channels of its own. */
void
each_call_of_a_crowd_over_a_bad_wire_is_good_and_executed_once(void **state);

#endif
