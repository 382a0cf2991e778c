/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Protobuf's wire format, field by field: to check a message before protobuf-c
 * unpacks it, and to remove fields from one. Pure.
 *
 * One thread, as all of the plugin.
 *
 * Called by: adapt.c (next, add_message), file_set.c (next, add_message),
 * wire.c (next), chain.c (check), request.c (check). */
#ifndef VC_IDL_WIRE_H
#define VC_IDL_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "idl/text.h"

struct bytes {
    const uint8_t *data;
    size_t length;
};

struct wire_field {
    uint32_t number;
    unsigned type;      /* PROTOBUF_C_WIRE_TYPE_*, no groups */
    struct bytes whole; /* tag included */
    struct bytes value; /* of length-prefixed fields, else empty */
};

/* wire_next - takes the next field from the front of bytes. Called while a
 * message is adapted, stripped or checked. Returns 1 when there was one, 0 at
 * the end, -1 when it is malformed. */
int wire_next(struct bytes *bytes, struct wire_field *field);

/* wire_add_message - appends a length-prefixed field, when a request is adapted
 * and when a set of files is packed. */
void wire_add_message(struct text *text, uint32_t number, struct bytes value);

/* protobuf's own limit in C++, which protoc and protoc-gen-c have too */
#define WIRE_DEPTH 100

/* wire_check - checks that bytes are a well-formed message of type desc, nested
 * at most WIRE_DEPTH deep, the outermost being 1: protobuf-c's unpacking
 * recurses without a limit. Returns NULL when good, else an error text, a
 * constant. Called before the request and protoc-gen-c's answer are
 * unpacked. */
const char *wire_check(const ProtobufCMessageDescriptor *desc,
                       struct bytes bytes);

#endif
