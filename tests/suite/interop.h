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

/* Metadata that UnaryCall and FullDuplexCall echo, as initial and as trailing
 * metadata. */
#define INTEROP_ECHO_INITIAL  "x-grpc-test-echo-initial"
#define INTEROP_ECHO_TRAILING "x-grpc-test-echo-trailing-bin"

/* Running handlers of StreamingInputCall and FullDuplexCall. */
extern atomic_uint interop_reading;

/* Adds TestService, but no UnimplementedService. */
enum vc_status interop_add(struct vc_server *server);

#endif
