/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A vc:// channel whose RDMA is blocked under load while TCP works, between the
 * two guests of tests/suite/test_wire.c. Calls continue over TCP and return to
 * RDMA once it is allowed again; each call succeeds and runs once. */
#ifndef VC_TESTS_SUITE_WIRE_FAILOVER_H
#define VC_TESTS_SUITE_WIRE_FAILOVER_H

#include "tests/suite/wire.h"

/* Runs the test. By the channel `control`, which is not over RDMA, the server
 * is asked to block RDMA at its end. */
void failover_pass(struct vc_channel *control, unsigned rounds);

/* Removes all blocks that are left, also after a failed test. */
void failover_undo(struct vc_channel *control);

#endif
