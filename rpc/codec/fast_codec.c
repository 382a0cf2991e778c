/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Unpacking, see rpc/codec/fast_codec.h. It reads the members into a table,
 * which shows whether the message is plain and how much memory it takes, then
 * stores them.
 *
 * All static functions are pure but for the allocator, too, and run on the
 * thread of vc__fast_unpack() or vc__fast_lead(). Those that read return false
 * if the message is malformed, not plain, or over its memory: then
 * vc__fast_unpack() leaves it to the slow path. Those that store return false
 * if the allocator has no memory. */
#include "rpc/codec/fast_codec.h"

#include <limits.h>
#include <string.h>

#include "rpc/codec/arena.h"
#include "transport/core/le.h"
#include "transport/core/utf8.h"

/* Most bytes of a varint. */
#define TAG_MAX    5
#define LENGTH_MAX 5
#define VALUE_MAX  10

struct value {
    const ProtobufCFieldDescriptor *field;
    const uint8_t *data; /* of a string or bytes */
    uint8_t *in_place;   /* the same, if it is bytes and not copied, or NULL */
    uint64_t number;     /* of other types; else the length */
};

struct reader {
    const uint8_t *at, *end;
    const ProtobufCFieldDescriptor *field, *last; /* the next to look at; end */
    size_t memory;                                /* may still be taken */
    struct vc__bytes *from;
};

/* Counts an allocation, for vc__fast_unpack() and fast_codec_block(). False if
 * it is more than may still be taken. */
static bool
fast_codec_take(struct reader *r, size_t bytes)
{
    size_t piece =
        (bytes + VC__ARENA_ALIGN - 1) & ~(size_t)(VC__ARENA_ALIGN - 1);

    if (piece < bytes || piece > r->memory)
        return false;
    r->memory -= piece;
    return true;
}

/* Called by fast_codec_varint() unless the varint has one byte. Reads one of at
 * most max bytes; one of more than 64 bits is not plain. */
static bool
varint_long(struct reader *r, unsigned max, uint64_t *value)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < max && r->at < r->end; i++) {
        uint8_t byte = *r->at++;

        v |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *value = v;
            return i < 9 || byte <= 1;
        }
    }
    return false;
}

/* Reads a tag, a length or a value, for member_read(), fast_codec_block() and
 * value_read(), as varint_long(). */
static inline bool
fast_codec_varint(struct reader *r, unsigned max, uint64_t *value)
{
    if (r->at == r->end || *r->at >= 0x80)
        return varint_long(r, max, value);
    *value = *r->at++;
    return true;
}

/* Called by value_read(): reads 4 or 8 bytes. False if fewer are left. */
static bool
fast_codec_fixed(struct reader *r, unsigned size, uint64_t *value)
{
    if ((size_t)(r->end - r->at) < size)
        return false;
    *value = size == 4 ? vc__get32(r->at) : vc__get64(r->at);
    r->at += size;
    return true;
}

/* Called by field_find(), and by members_read() after the last member. Passes
 * the fields before this number, which the message does not have. False if one
 * of them is required. */
static bool
fields_pass(struct reader *r, uint64_t number)
{
    for (; r->field < r->last && r->field->id < number; r->field++) {
        if (r->field->label == PROTOBUF_C_LABEL_REQUIRED)
            return false;
    }
    return true;
}

/* Called by member_read(). Returns the field with this number; NULL if there is
 * none, if it comes twice or out of order, or if a required field is missing
 * before it. */
static const ProtobufCFieldDescriptor *
field_find(struct reader *r, uint64_t number)
{
    if (!fields_pass(r, number))
        return NULL;
    return r->field < r->last && r->field->id == number ? r->field++ : NULL;
}

/* Called by fast_codec_block() for bytes that last: they are not copied if they
 * are long, and aligned as a program expects of what was allocated. */
static __attribute__((noinline, cold)) void
block_keep(struct vc__bytes *from, struct value *v)
{
    uint8_t *at = from->lasting + (v->data - from->data);

    if (v->number < from->len / 2 || (uintptr_t)at % VC__ARENA_ALIGN != 0)
        return;
    v->in_place = at;
    from->in_use = true;
}

/* Called by value_read(): reads a string or bytes, and counts their memory,
 * also if they are not copied. False also if the string is not UTF-8 or has a
 * NUL. */
static bool
fast_codec_block(struct reader *r, struct value *v)
{
    if (!fast_codec_varint(r, LENGTH_MAX, &v->number) ||
        v->number > (size_t)(r->end - r->at))
        return false;
    v->data = r->at;
    r->at += v->number;
    if (v->field->type == PROTOBUF_C_TYPE_STRING)
        return vc__utf8_valid(v->data, v->number) &&
               fast_codec_take(r, v->number + 1);
    v->in_place = NULL;
    if (r->from->lasting != NULL)
        block_keep(r->from, v);
    return v->number == 0 || fast_codec_take(r, v->number);
}

/* Called by member_read(). Reads the value of v->field; false also if this wire
 * type is not that of the field, or the field is a message. */
static bool
value_read(struct reader *r, struct value *v, unsigned wire)
{
    switch (v->field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return false;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
        return wire == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED &&
               fast_codec_block(r, v);
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return wire == PROTOBUF_C_WIRE_TYPE_32BIT &&
               fast_codec_fixed(r, 4, &v->number);
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return wire == PROTOBUF_C_WIRE_TYPE_64BIT &&
               fast_codec_fixed(r, 8, &v->number);
    default:
        return wire == PROTOBUF_C_WIRE_TYPE_VARINT &&
               fast_codec_varint(r, VALUE_MAX, &v->number);
    }
}

/* Called by members_read(): reads a tag and the value after it. */
static bool
member_read(struct reader *r, struct value *v)
{
    uint64_t tag;

    if (!fast_codec_varint(r, TAG_MAX, &tag))
        return false;
    v->field = field_find(r, tag >> 3);
    return v->field != NULL && vc__field_is_plain(v->field) &&
           value_read(r, v, tag & 7);
}

/* Called by vc__fast_unpack(). Reads all members; returns how many, or -1 if
 * they make no plain message. A type with required fields makes none:
 * vc__field_is_plain() refuses those that are there, fields_pass() those that
 * are not. */
static int
members_read(struct reader *r, struct value values[VC__PLAIN_FIELDS])
{
    int n = 0;

    while (r->at < r->end) {
        if (n == VC__PLAIN_FIELDS || !member_read(r, &values[n]))
            return -1;
        n++;
    }
    return fields_pass(r, UINT64_MAX) ? n : -1;
}

/* Called by value_store(): copies a string; the copy gets a NUL at its end. */
static bool
string_store(ProtobufCAllocator *a, char **out, const struct value *v)
{
    char *s = a->alloc(a->allocator_data, v->number + 1);

    if (s == NULL)
        return false;
    memcpy(s, v->data, v->number);
    s[v->number] = '\0';
    *out = s;
    return true;
}

/* Called by value_store(): copies bytes, or points to them. Empty bytes get no
 * memory. */
static bool
bytes_store(ProtobufCAllocator *a, ProtobufCBinaryData *out,
            const struct value *v)
{
    uint8_t *data = v->in_place;

    if (data == NULL && v->number > 0) {
        data = a->alloc(a->allocator_data, v->number);
        if (data == NULL)
            return false;
        memcpy(data, v->data, v->number);
    }
    out->len = v->number;
    out->data = data;
    return true;
}

/* Called by member_store(): stores the value in the member `out`. */
static bool
value_store(ProtobufCAllocator *a, void *out, const struct value *v)
{
    uint64_t n = v->number;
    uint32_t n32 = (uint32_t)n;

    switch (v->field->type) {
    case PROTOBUF_C_TYPE_STRING:
        return string_store(a, out, v);
    case PROTOBUF_C_TYPE_BYTES:
        return bytes_store(a, out, v);
    case PROTOBUF_C_TYPE_SINT32:
        n32 = n32 >> 1 ^ -(n32 & 1);
        break;
    case PROTOBUF_C_TYPE_SINT64:
        n = n >> 1 ^ -(n & 1);
        memcpy(out, &n, sizeof n);
        return true;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        memcpy(out, &n, sizeof n);
        return true;
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)out = n != 0;
        return true;
    default:
        break;
    }
    memcpy(out, &n32, sizeof n32);
    return true;
}

/* Called by message_make(): stores the value, and marks the member as set. */
static bool
member_store(ProtobufCAllocator *a, uint8_t *message, const struct value *v)
{
    const ProtobufCFieldDescriptor *f = v->field;

    if (!value_store(a, message + f->offset, v))
        return false;
    if (f->quantifier_offset != 0)
        *(protobuf_c_boolean *)(message + f->quantifier_offset) = true;
    return true;
}

/* Called by vc__fast_unpack() with the n values that were read. Returns the
 * message, in memory of the allocator; NULL if memory is short. */
static void *
message_make(const ProtobufCMessageDescriptor *desc, ProtobufCAllocator *a,
             const struct value *values, int n)
{
    void *message = a->alloc(a->allocator_data, desc->sizeof_message);

    if (message == NULL)
        return NULL;
    desc->message_init(message);
    for (int i = 0; i < n; i++) {
        if (!member_store(a, message, &values[i]))
            return NULL;
    }
    return message;
}

bool
vc__fast_unpack(const ProtobufCMessageDescriptor *desc,
                ProtobufCAllocator *allocator, size_t memory,
                struct vc__bytes *from, void **message)
{
    struct value values[VC__PLAIN_FIELDS];
    struct reader r = {
        .at = from->data,
        .end = from->len > 0 ? from->data + from->len : from->data,
        .field = desc->fields,
        .last = desc->fields + desc->n_fields,
        .memory = memory,
        .from = from,
    };
    int n;

    if (from->len > INT_MAX || desc->message_init == NULL ||
        !fast_codec_take(&r, desc->sizeof_message))
        return false;
    n = members_read(&r, values);
    if (n < 0) {
        from->in_use = false;
        return false;
    }
    *message = message_make(desc, allocator, values, n);
    return true;
}

/* Called by vc__fast_lead(): passes the value of a member that is no string,
 * bytes or message. */
static bool
value_pass(struct reader *r, unsigned wire)
{
    uint64_t value;

    switch (wire) {
    case PROTOBUF_C_WIRE_TYPE_VARINT:
        return fast_codec_varint(r, VALUE_MAX, &value);
    case PROTOBUF_C_WIRE_TYPE_64BIT:
        return fast_codec_fixed(r, 8, &value);
    case PROTOBUF_C_WIRE_TYPE_32BIT:
        return fast_codec_fixed(r, 4, &value);
    default:
        return false;
    }
}

size_t
vc__fast_lead(const uint8_t *data, size_t len)
{
    struct reader r = {.at = data, .end = data + len};
    uint64_t tag, length;

    while (fast_codec_varint(&r, TAG_MAX, &tag)) {
        if ((tag & 7) == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) {
            if (!fast_codec_varint(&r, LENGTH_MAX, &length))
                break;
            if (length > (size_t)(r.end - r.at))
                return (size_t)(r.at - data);
            r.at += length;
        } else if (!value_pass(&r, tag & 7)) {
            break;
        }
    }
    return 0;
}
