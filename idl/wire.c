/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Protobuf's wire format, field by field; see wire.h. One thread, as all of the
 * plugin. Error texts are constants. Bytes of a field are those of the message,
 * not copies. */
#include "idl/wire.h"

#define VARINT_MAX 10 /* bytes */

/* Takes a varint from the front of bytes, for wire_next() and value_take().
 * Returns 0; or -1, with bytes unchanged, if it is cut off or too long. */
static int
varint_take(struct bytes *bytes, uint64_t *value)
{
    uint64_t v = 0;

    for (size_t i = 0; i < VARINT_MAX && i < bytes->length; i++) {
        v |= (uint64_t)(bytes->data[i] & 0x7f) << (7 * i);
        if (bytes->data[i] < 0x80) {
            bytes->data += i + 1;
            bytes->length -= i + 1;
            *value = v;
            return 0;
        }
    }
    return -1;
}

/* Takes n bytes from the front of bytes, for value_take(). Returns 0; or -1 if
 * there are not so many. */
static int
bytes_skip(struct bytes *bytes, uint64_t n)
{
    if (n > bytes->length)
        return -1;
    bytes->data += n;
    bytes->length -= n;
    return 0;
}

/* Takes a field's value from the front of bytes, for wire_next(), which has set
 * its type. Returns 0; or -1 if it is cut off, its varint is too long, or it
 * is of another type, as a group. */
static int
value_take(struct bytes *bytes, struct wire_field *field)
{
    uint64_t n;

    switch (field->type) {
    case PROTOBUF_C_WIRE_TYPE_VARINT:
        return varint_take(bytes, &n);
    case PROTOBUF_C_WIRE_TYPE_64BIT:
        return bytes_skip(bytes, 8);
    case PROTOBUF_C_WIRE_TYPE_32BIT:
        return bytes_skip(bytes, 4);
    case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
        if (varint_take(bytes, &n) != 0 || n > bytes->length)
            return -1;
        field->value = (struct bytes){bytes->data, (size_t)n};
        return bytes_skip(bytes, n);
    default:
        return -1;
    }
}

int
wire_next(struct bytes *bytes, struct wire_field *field)
{
    const uint8_t *start = bytes->data;
    uint64_t tag;

    if (bytes->length == 0)
        return 0;
    if (varint_take(bytes, &tag) != 0 || tag >> 3 == 0 || tag > UINT32_MAX)
        return -1;
    field->number = (uint32_t)(tag >> 3);
    field->type = tag & 7;
    field->value = (struct bytes){NULL, 0};
    if (value_take(bytes, field) != 0)
        return -1;
    field->whole = (struct bytes){start, (size_t)(bytes->data - start)};
    return 1;
}

/* Appends a varint, for wire_add_message(). */
static void
varint_add(struct text *text, uint64_t value)
{
    uint8_t out[VARINT_MAX];
    size_t n = 0;

    while (value >= 0x80) {
        out[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out[n++] = (uint8_t)value;
    text_add_bytes(text, out, n);
}

void
wire_add_message(struct text *text, uint32_t number, struct bytes value)
{
    varint_add(text,
               (uint64_t)number << 3 | PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
    varint_add(text, value.length);
    text_add_bytes(text, value.data, value.length);
}

/* Returns the type of a field that is a message in desc and in the bytes, or
 * NULL. Called by check_at() for each field. */
static const ProtobufCMessageDescriptor *
field_message(const ProtobufCMessageDescriptor *desc,
              const struct wire_field *field)
{
    const ProtobufCFieldDescriptor *known;

    known = protobuf_c_message_descriptor_get_field(desc, field->number);
    if (known == NULL || known->type != PROTOBUF_C_TYPE_MESSAGE ||
        field->type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
        return NULL;
    return known->descriptor;
}

/* Checks a message at this depth for wire_check(), and by recursion the
 * messages in it that desc has. Returns NULL when good, else an error text. */
static const char *
check_at(const ProtobufCMessageDescriptor *desc, struct bytes bytes,
         unsigned depth)
{
    const ProtobufCMessageDescriptor *inner;
    struct wire_field field;
    const char *problem;
    int got;

    if (depth > WIRE_DEPTH)
        return "messages are nested too deeply";
    while ((got = wire_next(&bytes, &field)) > 0) {
        inner = field_message(desc, &field);
        if (inner == NULL)
            continue;
        problem = check_at(inner, field.value, depth + 1);
        if (problem != NULL)
            return problem;
    }
    return got == 0 ? NULL : "it is damaged or not a protobuf message";
}

const char *
wire_check(const ProtobufCMessageDescriptor *desc, struct bytes bytes)
{
    return check_at(desc, bytes, 1);
}
