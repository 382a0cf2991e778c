/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Packing, see rpc/codec/fast_codec.h. It first computes the length, which is
 * always needed, and whether the message is plain. All static functions are
 * pure, and run on the thread of vc__fast_size() or vc__fast_pack(). */
#include "rpc/codec/fast_codec.h"

#include <string.h>

#include "transport/core/le.h"

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

        if (!vc__field_is_plain(f) || f->type == PROTOBUF_C_TYPE_MESSAGE)
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
