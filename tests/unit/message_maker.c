/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes messages; see message_maker.h. It knows the encoding, but not what
 * rpc/codec/validate.c refuses. */
#include "tests/unit/message_maker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/codec/arena.h"
#include "tests/unit/random.h"

static struct vc__arena scratch;

int
maker_setup(void **state)
{
    (void)state;
    return vc__arena_init(&scratch, 1 << 22, (size_t)1 << 30);
}

int
maker_teardown(void **state)
{
    (void)state;
    vc__arena_fini(&scratch);
    return 0;
}

void
maker_reset(void)
{
    vc__arena_reset(&scratch);
}

static void *
scratch_alloc(size_t size)
{
    void *p = vc__arena_alloc(&scratch, size);

    assert_non_null(p);
    return memset(p, 0, size);
}

/* --- writing --- */

struct bytes
bytes_new(size_t room)
{
    struct bytes b = {scratch_alloc(room), 0, room};

    return b;
}

void
put_byte(struct bytes *b, unsigned byte)
{
    assert_in_range(b->len, 0, b->room - 1);
    b->at[b->len++] = (uint8_t)byte;
}

void
put_bytes(struct bytes *b, const void *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        put_byte(b, ((const uint8_t *)data)[i]);
}

void
put_varint(struct bytes *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        put_byte(b, (unsigned)(v & 0x7f) | 0x80);
    put_byte(b, (unsigned)v);
}

void
put_tag(struct bytes *b, uint32_t number, unsigned wire)
{
    put_varint(b, (uint64_t)number << 3 | wire);
}

void
put_block(struct bytes *b, uint32_t number, const void *data, size_t len)
{
    put_tag(b, number, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
    put_varint(b, len);
    put_bytes(b, data, len);
}

/* --- random messages of a type, for protobuf-c to pack --- */

static size_t
size_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return 4;
    }
}

static char *
random_text(uint64_t *seed)
{
    static const char *const letters[] = {"a", "\xc3\xa4", "\xe2\x82\xac",
                                          "\xf0\x9f\x98\x80", "zzzzzzzz"};
    unsigned n = random_below(seed, 12);
    char *text = scratch_alloc(n * 8 + 1);

    while (n-- > 0)
        strcat(text, letters[random_below(seed, 5)]);
    return text;
}

static ProtobufCMessage *random_message(const ProtobufCMessageDescriptor *desc,
                                        unsigned depth, uint64_t *seed);

static void
random_value(void *out, const ProtobufCFieldDescriptor *f, unsigned depth,
             uint64_t *seed)
{
    uint64_t number = (uint64_t)random_next(seed) << 32 | random_next(seed);
    ProtobufCBinaryData *data = out;

    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
        *(char **)out = random_text(seed);
        break;
    case PROTOBUF_C_TYPE_BYTES:
        data->len = random_below(seed, 40);
        data->data = scratch_alloc(data->len);
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        *(ProtobufCMessage **)out =
            random_message(f->descriptor, depth - 1, seed);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)out = (protobuf_c_boolean)(number & 1);
        break;
    default:
        number >>= random_below(seed, 64);
        memcpy(out, &number, size_of(f->type));
    }
}

static void
random_array(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
             unsigned depth, uint64_t *seed)
{
    size_t n = random_below(seed, random_below(seed, 20) == 0 ? 60 : 4);
    char *array = scratch_alloc(n * size_of(f->type));

    if (f->type == PROTOBUF_C_TYPE_MESSAGE && depth <= 1)
        n = 0;
    for (size_t i = 0; i < n; i++)
        random_value(array + i * size_of(f->type), f, depth, seed);
    memcpy((char *)m + f->quantifier_offset, &n, sizeof n);
    memcpy((char *)m + f->offset, &array, sizeof array);
}

static void
random_field(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
             unsigned depth, uint64_t *seed)
{
    uint32_t *quantifier = (uint32_t *)((char *)m + f->quantifier_offset);

    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        random_array(m, f, depth, seed);
        return;
    }
    if (f->label != PROTOBUF_C_LABEL_REQUIRED &&
        (random_below(seed, 2) == 0 ||
         (f->type == PROTOBUF_C_TYPE_MESSAGE && depth <= 1)))
        return;
    if ((f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
        if (*quantifier != 0)
            return;
        *quantifier = f->id;
    } else if (f->quantifier_offset != 0) {
        *quantifier = 1;
    }
    random_value((char *)m + f->offset, f, depth, seed);
}

static ProtobufCMessage *
random_message(const ProtobufCMessageDescriptor *desc, unsigned depth,
               uint64_t *seed)
{
    ProtobufCMessage *m = scratch_alloc(desc->sizeof_message);

    protobuf_c_message_init(desc, m);
    for (unsigned i = 0; i < desc->n_fields; i++)
        random_field(m, &desc->fields[i], depth, seed);
    return m;
}

struct bytes
random_packed(const ProtobufCMessageDescriptor *desc, uint64_t *seed)
{
    ProtobufCMessage *m = random_message(desc, 4, seed);
    struct bytes b = bytes_new(protobuf_c_message_get_packed_size(m) + 1);

    b.len = protobuf_c_message_pack(m, b.at);
    return b;
}

/* --- random fields in a row, which may make sense or not --- */

unsigned
usual_wire(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return 5;
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 1;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return 2;
    default:
        return 0;
    }
}

static void scribble(struct bytes *b, const ProtobufCMessageDescriptor *desc,
                     unsigned depth, uint64_t *seed);

static void
scribble_block(struct bytes *b, const ProtobufCFieldDescriptor *f,
               unsigned depth, uint64_t *seed)
{
    struct bytes inner = bytes_new(b->room / 2);
    size_t n = random_below(seed, 4) * 4;

    if (f != NULL && f->type == PROTOBUF_C_TYPE_MESSAGE && depth > 0)
        scribble(&inner, f->descriptor, depth - 1, seed);
    else
        while (n-- > 0)
            put_byte(&inner, random_below(seed, 0x80));
    put_varint(b, inner.len);
    put_bytes(b, inner.at, inner.len);
}

static void
scribble_field(struct bytes *b, const ProtobufCMessageDescriptor *desc,
               unsigned depth, uint64_t *seed)
{
    const ProtobufCFieldDescriptor *f = NULL;
    unsigned wire = random_below(seed, 6);
    uint32_t number = 1 + random_below(seed, 40);

    if (desc->n_fields > 0 && random_below(seed, 10) != 0) {
        f = &desc->fields[random_below(seed, desc->n_fields)];
        number = f->id;
        if (random_below(seed, 200) != 0)
            wire = usual_wire(f->type);
        if (f->label == PROTOBUF_C_LABEL_REPEATED && random_below(seed, 3) == 0)
            wire = 2;
    }
    put_tag(b, number, wire);
    if (wire == 0)
        put_varint(b, (uint64_t)random_next(seed) << random_below(seed, 30));
    else if (wire == 2)
        scribble_block(b, f, depth, seed);
    else
        put_bytes(b, "abcdefgh", wire == 1 ? 8 : 4);
}

static void
scribble(struct bytes *b, const ProtobufCMessageDescriptor *desc,
         unsigned depth, uint64_t *seed)
{
    unsigned n = random_below(seed, random_below(seed, 8) == 0 ? 40 : 6);

    while (n-- > 0 && b->len < b->room / 4)
        scribble_field(b, desc, depth, seed);
}

static struct bytes
scribbled(const ProtobufCMessageDescriptor *desc, uint64_t *seed)
{
    struct bytes b = bytes_new(4096);

    scribble(&b, desc, 3, seed);
    return b;
}

/* --- mutations -- */

static void
mutate(struct bytes *b, uint64_t *seed)
{
    size_t from = random_below(seed, (uint32_t)b->len + 1);
    size_t n = random_below(seed, (uint32_t)(b->len - from) + 1);

    switch (random_below(seed, 5)) {
    case 0: /* change a byte */
        if (from < b->len)
            b->at[from] = (uint8_t)random_next(seed);
        break;
    case 1: /* change a bit */
        if (from < b->len)
            b->at[from] ^= (uint8_t)(1 << random_below(seed, 8));
        break;
    case 2: /* cut the end off */
        b->len = from;
        break;
    case 3: /* cut a part out */
        memmove(b->at + from, b->at + from + n, b->len - from - n);
        b->len -= n;
        break;
    default: /* append a part again */
        if (b->len + n <= b->room)
            memmove(b->at + b->len, b->at + from, n);
        if (b->len + n <= b->room)
            b->len += n;
    }
}

struct bytes
any_bytes(const ProtobufCMessageDescriptor *desc, uint64_t *seed)
{
    struct bytes b;

    switch (random_below(seed, 3)) {
    case 0:
        b = random_packed(desc, seed);
        break;
    case 1:
        b = scribbled(desc, seed);
        break;
    default:
        b = bytes_new(64);
        while (b.len < b.room && random_below(seed, 20) != 0)
            put_byte(&b, random_next(seed) & 0xff);
    }
    for (unsigned n = random_below(seed, 4); n > 0; n--)
        mutate(&b, seed);
    return b;
}

/* --- messages of a given */

struct bytes
nested(unsigned levels)
{
    struct bytes b = bytes_new((size_t)levels * 6 + 1);

    /* Built from the inside out, and so from the end. */
    b.len = 0;
    for (unsigned i = 1; i < levels; i++) {
        struct bytes head = bytes_new(8);

        put_tag(&head, 2, 2);
        put_varint(&head, b.len);
        memmove(b.at + head.len, b.at, b.len);
        memcpy(b.at, head.at, head.len);
        b.len += head.len;
    }
    return b;
}

ProtobufCMessageDescriptor *
wide_type(unsigned n, ProtobufCLabel label, unsigned subs,
          const ProtobufCMessageDescriptor *sub)
{
    ProtobufCFieldDescriptor *fields = scratch_alloc(n * sizeof *fields);
    ProtobufCMessageDescriptor *desc = scratch_alloc(sizeof *desc);
    ProtobufCIntRange *ranges = scratch_alloc(2 * sizeof *ranges);
    unsigned base = sizeof(ProtobufCMessage);

    for (unsigned i = 0; i < n; i++) {
        fields[i].name = "field";
        fields[i].id = i + 1;
        fields[i].label = label;
        fields[i].offset = base + i * 8;
        fields[i].type =
            i < subs ? PROTOBUF_C_TYPE_INT32 : PROTOBUF_C_TYPE_MESSAGE;
        fields[i].descriptor = i < subs ? NULL : sub;
    }
    ranges[0].start_value = 1;
    ranges[1].orig_index = n;
    desc->magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC;
    desc->name = "Wide";
    desc->sizeof_message = base + n * 8;
    desc->n_fields = n;
    desc->fields = fields;
    desc->n_field_ranges = 1;
    desc->field_ranges = ranges;
    return desc;
}
