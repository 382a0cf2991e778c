/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The schema of a service: its methods, and the messages and enums that they
 * lead to. Its fingerprint tells equal schemas from different ones.
 *
 * One thread, as all of the plugin.
 *
 * Called by: compat.c (all), model.c (fingerprint), schema.c (type_name). */
#ifndef VC_IDL_SCHEMA_H
#define VC_IDL_SCHEMA_H

#include "idl/model.h"

/* Returns the hash of a text with all that a peer may not differ in: a line for
 * each method in the order of their names, "SayHello (demo.HelloRequest)
 * returns (demo.HelloReply)\n", with "stream " before a streamed type; then
 * each message and enum, in the order in which they are first named:
 *
 *     message demo.HelloReply
 *     1 string
 *     2 repeated message demo.Part
 *     3 required enum demo.Kind
 *     4 int32 oneof 4
 *     enum demo.Kind
 *     0
 *
 * Fields are in the order of their numbers, and so are an enum's. `oneof` has
 * the least number of the oneof's fields, and is left out if that is the only
 * one. Left out are comments, options, names of fields and the order in the
 * file. rpc/protobuf_c/protobuf_c_schema.c has the same text. Called by
 * service_build(). Never 0. */
uint32_t schema_fingerprint(struct arena *arena, const struct types *types,
                            const struct model_service *service);

/* Returns the name of a field's type in a .proto file, as "int32"; "?" for a
 * number that is none. Also called by compat.c, for errors. */
const char *schema_type_name(int type);

#endif
