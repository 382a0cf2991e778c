/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Tables of services like the ones that protoc-gen-verbcall generates, made at
 * run time from the descriptors that protoc-gen-c generates. Sessions,
 * channels and servers keep pointers to these tables for as long as they like.
 * So the runtime owns the tables, one for each descriptor, until the runtime
 * is freed.
 *
 * Any thread.
 *
 * Called by: protobuf_c_client.c (table_get), protobuf_c_server.c (table_get),
 * protobuf_c_table.c (table_get). */
#ifndef VC_RPC_PROTOBUF_C_TABLE_H
#define VC_RPC_PROTOBUF_C_TABLE_H

#include <pthread.h>

#include <verbcall/service.h>

#include "rpc/runtime.h"

struct vc__table {
    struct vc__kept kept; /* in the runtime's list */
    struct vc_service service;
    const ProtobufCServiceDescriptor *descriptor;
    pthread_mutex_t turns; /* of the servers that serve it:
                            * rpc/protobuf_c/protobuf_c_server.c */
    struct vc_method methods[];
};

/* Returns the table of this descriptor, made at the first request; the runtime
 * owns it. NULL with VC_INVALID_ARGUMENT or VC_RESOURCE_EXHAUSTED, see
 * vc_runtime_service(). Called by vc_channel_service(),
 * vc_server_add_protobuf_c() and vc_runtime_service(). */
struct vc__table *vc__table_get(struct vc_runtime *runtime,
                                const ProtobufCServiceDescriptor *descriptor);

#endif
