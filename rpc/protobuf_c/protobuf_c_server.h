/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server of services as protoc-gen-c makes them: a call's handler is the
 * service's invoke(), and its end is when the closure is called. */
#ifndef VC_RPC_PROTOBUF_C_SERVER_H
#define VC_RPC_PROTOBUF_C_SERVER_H

#include <verbcall/service.h>

/* Of every method in a table of rpc/protobuf_c/protobuf_c_table.h. */
vc_method_run vc__protobuf_c_run;

#endif
