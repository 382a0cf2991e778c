/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server of gRPC's interoperability tests, after the part "Server" of
 * https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md. */
#ifndef VC_TESTS_SUITE_INTEROP_H
#define VC_TESTS_SUITE_INTEROP_H

#include <stdatomic.h>

#include "tests/suite/interop.vc.h"

/* The longest payload; all payloads are zeros. */
#define INTEROP_MOST (1 << 20)
extern uint8_t interop_zeros[INTEROP_MOST];

/* Metadata keys that UnaryCall and FullDuplexCall echo: before the reply
 * (initial) and after it (trailing). */
#define INTEROP_ECHO_INITIAL  "x-grpc-test-echo-initial"
#define INTEROP_ECHO_TRAILING "x-grpc-test-echo-trailing-bin"

/* The number of handlers of StreamingInputCall and FullDuplexCall that run. */
extern atomic_uint interop_reading;

/* Adds TestService, but no UnimplementedService. */
enum vc_status interop_add(struct vc_server *server);

#endif
