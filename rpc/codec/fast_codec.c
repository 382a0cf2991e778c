/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/codec/fast_codec.h. Unpacking reads the members into a table, which
 * shows whether the message is plain and how much memory it takes, then stores
 * them. Packing first computes the length, which is always needed, and whether
 * the message is plain.
 *
 * All static functions are pure but for the allocator, too, and run on the
 * thread of vc__fast_unpack() or, from varint_size() on, of vc__fast_size() and
 * vc__fast_pack(). Those that read return false if the message is malformed,
 * not plain, or over its memory: then vc__fast_unpack() leaves it to the slow
 * path. Those that store return false if the allocator has no memory. */
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
    uint64_t number;     /* of other types; else the length */
};

struct reader {
    const uint8_t *at, *end;
    const ProtobufCFieldDescriptor *field, *last; /* the next to look at; end */
    size_t memory;                                /* may still be taken */
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

/* Asked by member_read() and vc__fast_size(): false for a repeated or required
 * field, and for one of a oneof. */
static bool
is_plain(const ProtobufCFieldDescriptor *f)
{
    return (f->label == PROTOBUF_C_LABEL_NONE ||
            f->label == PROTOBUF_C_LABEL_OPTIONAL) &&
           (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) == 0;
}

/* Called by value_read(): reads a string or bytes, and counts their memory.
 * False also if the string is not UTF-8 or has a NUL. */
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
    return v->field != NULL && is_plain(v->field) && value_read(r, v, tag & 7);
}

/* Called by vc__fast_unpack(). Reads all members; returns how many, or -1 if
 * they make no plain message. A type with required fields makes none:
 * is_plain() refuses those that are there, fields_pass() those that are not. */
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

/* Called by value_store(): copies bytes. Empty bytes get no memory. */
static bool
bytes_store(ProtobufCAllocator *a, ProtobufCBinaryData *out,
            const struct value *v)
{
    uint8_t *data = NULL;

    if (v->number > 0) {
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
                const uint8_t *data, size_t len, void **message)
{
    struct value values[VC__PLAIN_FIELDS];
    struct reader r = {data, len > 0 ? data + len : data, desc->fields,
                       desc->fields + desc->n_fields, memory};
    int n;

    if (len > INT_MAX || desc->message_init == NULL ||
        !fast_codec_take(&r, desc->sizeof_message))
        return false;
    n = members_read(&r, values);
    if (n < 0)
        return false;
    *message = message_make(desc, allocator, values, n);
    return true;
}

/* --- packing ----------------------------------------------------------- */

/* Returns the bytes of the varint of n, for piece_size() and
 * vc__fast_size(). */
static size_t
varint_size(uint64_t n)
{
    size_t size = 1;

    while ((n >>= 7) != 0)
        size++;
    return size;
}

/* Called by piece_put() and vc__fast_pack(). Returns the end of what it
 * wrote. */
static uint8_t *
varint_put(uint8_t *out, uint64_t n)
{
    while (n >= 0x80) {
        *out++ = (uint8_t)(n | 0x80);
        n >>= 7;
    }
    *out++ = (uint8_t)n;
    return out;
}

/* Returns a member of 8 bytes, for varint_of() and piece_get(). */
static uint64_t
fast_codec_get64(const void *member)
{
    uint64_t n;

    memcpy(&n, member, sizeof n);
    return n;
}

/* Returns a member of 4 bytes, for varint_of() and piece_get(). */
static uint32_t
fast_codec_get32(const void *member)
{
    uint32_t n;

    memcpy(&n, member, sizeof n);
    return n;
}

/* Called by piece_get(). Returns the value that the varint of a member
 * encodes. */
static uint64_t
varint_of(ProtobufCType type, const void *member)
{
    uint64_t n;

    switch (type) {
    case PROTOBUF_C_TYPE_UINT32:
        return fast_codec_get32(member);
    case PROTOBUF_C_TYPE_SINT32:
        n = fast_codec_get32(member);
        return (uint32_t)(n << 1 ^ -(n >> 31));
    case PROTOBUF_C_TYPE_SINT64:
        n = fast_codec_get64(member);
        return n << 1 ^ -(n >> 63);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
        return fast_codec_get64(member);
    case PROTOBUF_C_TYPE_BOOL:
        return *(const protobuf_c_boolean *)member != 0;
    default: /* int32 and enums are signed, in 64 bits */
        return (uint64_t)(int64_t)(int32_t)fast_codec_get32(member);
    }
}

/* One member to be packed. */
struct piece {
    unsigned wire;
    const void *data; /* of a string or bytes, else not set */
    uint64_t number;  /* of other types; else the length */
};

/* Asked by piece_given(): true if the number is zero. Like protobuf-c, takes a
 * negative zero for zero. */
static bool
fast_codec_is_zero(ProtobufCType type, uint64_t number)
{
    if (type == PROTOBUF_C_TYPE_FLOAT)
        return (number & INT32_MAX) == 0;
    if (type == PROTOBUF_C_TYPE_DOUBLE)
        return (number & INT64_MAX) == 0;
    return number == 0;
}

/* Asked by vc__fast_size() and vc__fast_pack(). False if the member is not
 * packed: it has no presence and is zero, or it has presence and is not set. */
static bool
piece_given(const ProtobufCFieldDescriptor *f, const uint8_t *message,
            const struct piece *p)
{
    if (f->label == PROTOBUF_C_LABEL_NONE)
        return !fast_codec_is_zero(f->type, p->number);
    if (f->type == PROTOBUF_C_TYPE_STRING)
        return p->data != NULL && p->data != f->default_value;
    return *(const protobuf_c_boolean *)(message + f->quantifier_offset) != 0;
}

/* Called by vc__fast_size() and vc__fast_pack(): fills in *p from the member.
 * p->data points into the message. */
static void
piece_get(const ProtobufCFieldDescriptor *f, const void *member,
          struct piece *p)
{
    const ProtobufCBinaryData *bytes = member;

    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
        p->wire = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
        memcpy(&p->data, member, sizeof p->data);
        p->number = p->data == NULL ? 0 : strlen(p->data);
        break;
    case PROTOBUF_C_TYPE_BYTES:
        p->wire = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
        p->data = bytes->data;
        p->number = bytes->len;
        break;
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        p->wire = PROTOBUF_C_WIRE_TYPE_32BIT;
        p->number = fast_codec_get32(member);
        break;
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        p->wire = PROTOBUF_C_WIRE_TYPE_64BIT;
        p->number = fast_codec_get64(member);
        break;
    default:
        p->wire = PROTOBUF_C_WIRE_TYPE_VARINT;
        p->number = varint_of(f->type, member);
        break;
    }
}

/* Called by vc__fast_size(): returns the bytes of the packed value, without its
 * tag. */
static size_t
piece_size(const struct piece *p)
{
    switch (p->wire) {
    case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
        return varint_size(p->number) + p->number;
    case PROTOBUF_C_WIRE_TYPE_32BIT:
        return 4;
    case PROTOBUF_C_WIRE_TYPE_64BIT:
        return 8;
    default:
        return varint_size(p->number);
    }
}

/* Called by vc__fast_pack(): writes the packed value after its tag. Returns the
 * end of what it wrote. */
static uint8_t *
piece_put(uint8_t *out, const struct piece *p)
{
    switch (p->wire) {
    case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
        out = varint_put(out, p->number);
        if (p->number > 0)
            memcpy(out, p->data, p->number);
        return out + p->number;
    case PROTOBUF_C_WIRE_TYPE_32BIT:
        vc__put32(out, (uint32_t)p->number);
        return out + 4;
    case PROTOBUF_C_WIRE_TYPE_64BIT:
        vc__put64(out, p->number);
        return out + 8;
    default:
        return varint_put(out, p->number);
    }
}

bool
vc__fast_size(const ProtobufCMessage *message, size_t *size)
{
    const ProtobufCMessageDescriptor *desc = message->descriptor;
    const uint8_t *m = (const uint8_t *)message;
    size_t total = 0;

    if (message->n_unknown_fields > 0 || desc->n_fields > VC__PLAIN_FIELDS)
        return false;
    for (unsigned i = 0; i < desc->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &desc->fields[i];
        struct piece p;

        if (!is_plain(f) || f->type == PROTOBUF_C_TYPE_MESSAGE)
            return false;
        piece_get(f, m + f->offset, &p);
        if (!piece_given(f, m, &p))
            continue;
        if (p.wire == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED && p.number > 0 &&
            p.data == NULL)
            return false;
        total += varint_size((uint64_t)f->id << 3) + piece_size(&p);
    }
    *size = total;
    return true;
}

void
vc__fast_pack(const ProtobufCMessage *message, uint8_t *out)
{
    const ProtobufCMessageDescriptor *desc = message->descriptor;
    const uint8_t *m = (const uint8_t *)message;

    for (unsigned i = 0; i < desc->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &desc->fields[i];
        struct piece p;

        piece_get(f, m + f->offset, &p);
        if (!piece_given(f, m, &p))
            continue;
        out = varint_put(out, (uint64_t)f->id << 3 | p.wire);
        out = piece_put(out, &p);
    }
}
