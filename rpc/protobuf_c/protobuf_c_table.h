/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Tables of services as protoc-gen-verbcall generates them, made while the
 * program runs from what protoc-gen-c has left of the .proto file. Sessions,
 * channels and servers point to tables of services for as long as they like,
 * so these are the runtime's: one for each descriptor, until it is freed.
 *
 * May run together: get from any threads. */
#ifndef VC_RPC_PROTOBUF_C_TABLE_H
#define VC_RPC_PROTOBUF_C_TABLE_H

#include <pthread.h>

#include <verbcall/service.h>

#include "rpc/runtime.h"

struct vc__table {
    struct vc__kept kept; /* by the runtime */
    struct vc_service service;
    const ProtobufCServiceDescriptor *descriptor;
    pthread_mutex_t
        turns; /* of those who serve it: rpc/protobuf_c/protobuf_c_server.c */
    struct vc_method methods[];
};

/* The table of this descriptor, made if it was not asked for before. NULL with
 * VC_INVALID_ARGUMENT or VC_RESOURCE_EXHAUSTED, see vc_runtime_service(). */
struct vc__table *vc__table_get(struct vc_runtime *runtime,
                                const ProtobufCServiceDescriptor *descriptor);

#endif
