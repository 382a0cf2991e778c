/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The fingerprint of a service of protobuf-c. Pure; called when the table of
 * such a service is made, on the thread that asks for it.
 *
 * Called by: protobuf_c_table.c (protobuf_c_schema). */
#ifndef VC_RPC_PROTOBUF_C_SCHEMA_H
#define VC_RPC_PROTOBUF_C_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

/* Sets *fingerprint to that of generated code for the same .proto file: see
 * idl/schema.h. There are three exceptions, as the descriptors do not say
 * more: methods that stream are taken for unary ones, a string with
 * (pb_c_field).string_as_bytes for bytes, and without names (optimize_for =
 * CODE_SIZE) it is 0. False without memory. Called by table_new(). */
bool vc__protobuf_c_schema(const ProtobufCServiceDescriptor *d,
                           uint32_t *fingerprint);

#endif
