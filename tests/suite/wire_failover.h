/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A vc:// channel whose RDMA is blocked under load while TCP lives, between the
 * two guests of tests/suite/test_wire.c: calls go on over TCP, come back to
 * RDMA once it is allowed again, and each is good and runs once. */
#ifndef VC_TESTS_SUITE_WIRE_FAILOVER_H
#define VC_TESTS_SUITE_WIRE_FAILOVER_H

#include "tests/suite/wire.h"

/* By the channel `control`, which is not over RDMA, the server is asked to
 * block its end. */
void failover_pass(struct vc_channel *control, unsigned rounds);

/* Nothing is blocked any more, whatever became of a test. */
void failover_undo(struct vc_channel *control);

#endif
