/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A vc:// channel whose RDMA is blocked under load while TCP works, between the
 * two guests of tests/suite/test_wire.c. Calls continue over TCP, return to
 * RDMA when it is allowed again, and each succeeds and runs once. */
#ifndef VC_TESTS_SUITE_WIRE_FAILOVER_H
#define VC_TESTS_SUITE_WIRE_FAILOVER_H

#include "tests/suite/wire.h"

/* Asks the server to block its end by the channel `control`, which is not over
 * RDMA. */
void failover_pass(struct vc_channel *control, unsigned rounds);

/* Removes all blocking, however a test ended. */
void failover_undo(struct vc_channel *control);

#endif
