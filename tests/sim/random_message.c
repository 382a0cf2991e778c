/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See random_message.h. One message is made at a time, all of it in one block
 * of memory. */
#include "tests/sim/random_message.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/random.h"

#define DEPTH   3
#define ROOM    ((size_t)4 << 20)
#define LONG    20000 /* length limit, of one in LONG_IN */
#define LONG_IN 400

struct maker {
    uint64_t *seed;
    uint8_t *room; /* zeroed; begins with the message itself */
    size_t used;
};

static void *
take(struct maker *m, size_t size)
{
    void *piece = m->room + m->used;

    m->used += (size + 15) & ~(size_t)15;
    if (m->used > ROOM)
        abort();
    return piece;
}

static bool
coin(struct maker *m)
{
    return random_below(m->seed, 2) == 0;
}

/* Returns a number of any magnitude, often one of the extremes. */
static uint64_t
number(struct maker *m)
{
    uint64_t n = (uint64_t)random_next(m->seed) << 32 | random_next(m->seed);

    switch (random_below(m->seed, 8)) {
    case 0:
        return UINT64_MAX;
    case 1:
        return UINT64_C(1) << random_below(m->seed, 64);
    case 2:
        return 0;
    default:
        return n >> random_below(m->seed, 64);
    }
}

static double
finite_double(struct maker *m)
{
    uint64_t bits = number(m);
    double d;

    memcpy(&d, &bits, sizeof d);
    return isfinite(d) && d != 0 ? d : coin(m) ? -1.5 : (double)INFINITY;
}

static float
finite_float(struct maker *m)
{
    uint32_t bits = (uint32_t)number(m);
    float f;

    memcpy(&f, &bits, sizeof f);
    return isfinite(f) && f != 0 ? f : coin(m) ? 0.1f : -(float)INFINITY;
}

static char *
text(struct maker *m)
{
    static const char *const letters[] = {
        "a",     "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
        "\"\\'", "\n\t\1",   "?\?/"};
    unsigned n = random_below(m->seed, 12);
    char *out = take(m, n * 4 + 1);

    for (; n > 0; n--)
        strcat(out, letters[random_below(m->seed, 7)]);
    return out;
}

static ProtobufCBinaryData
bytes(struct maker *m)
{
    bool is_long = random_below(m->seed, LONG_IN) == 0;
    ProtobufCBinaryData b = {.len = random_below(m->seed, is_long ? LONG : 40)};

    b.data = take(m, b.len + 1);
    for (size_t i = 0; i < b.len; i++)
        b.data[i] = (uint8_t)random_next(m->seed);
    return b;
}

static int
enumerator(struct maker *m, const ProtobufCEnumDescriptor *e)
{
    return e->values[random_below(m->seed, e->n_values)].value;
}

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

static ProtobufCMessage *
fill(struct maker *m, const ProtobufCMessageDescriptor *desc, unsigned depth);

static void
value(struct maker *m, const ProtobufCFieldDescriptor *f, void *out,
      unsigned depth)
{
    uint64_t n;

    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
        *(char **)out = text(m);
        break;
    case PROTOBUF_C_TYPE_BYTES:
        *(ProtobufCBinaryData *)out = bytes(m);
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        *(ProtobufCMessage **)out = fill(m, f->descriptor, depth - 1);
        break;
    case PROTOBUF_C_TYPE_ENUM:
        *(int *)out = enumerator(m, f->descriptor);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)out = coin(m);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        *(double *)out = finite_double(m);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        *(float *)out = finite_float(m);
        break;
    default:
        n = number(m);
        memcpy(out, &n, size_of(f->type));
    }
}

/* True for the message types of map fields. */
static bool
is_entry(const ProtobufCMessageDescriptor *desc)
{
    size_t n = strlen(desc->short_name);

    return desc->n_fields == 2 && n > 5 &&
           strcmp(desc->short_name + n - 5, "Entry") == 0;
}

/* A map has at most two entries. The key of the first is zero or empty. */
static void
entry_key(ProtobufCMessage *entry, unsigned i)
{
    static char no_key[] = "", key[] = "key";
    const ProtobufCFieldDescriptor *f = &entry->descriptor->fields[0];
    void *out = (char *)entry + f->offset;
    uint64_t n = i;

    if (f->type == PROTOBUF_C_TYPE_STRING)
        *(char **)out = i == 0 ? no_key : key;
    else
        memcpy(out, &n, size_of(f->type));
}

static void
array(struct maker *m, ProtobufCMessage *message,
      const ProtobufCFieldDescriptor *f, unsigned depth)
{
    bool map = f->type == PROTOBUF_C_TYPE_MESSAGE && is_entry(f->descriptor);
    size_t size = size_of(f->type);
    size_t n = random_below(m->seed, random_below(m->seed, 20) == 0 ? 60 : 4);
    char *items;

    if (f->type == PROTOBUF_C_TYPE_MESSAGE)
        n = depth <= 1 ? 0 : map ? n % 3 : n % 4;
    items = take(m, n * size);
    for (size_t i = 0; i < n; i++) {
        value(m, f, items + i * size, depth);
        if (map)
            entry_key(((ProtobufCMessage **)items)[i], (unsigned)i);
    }
    memcpy((char *)message + f->quantifier_offset, &n, sizeof n);
    memcpy((char *)message + f->offset, &items, sizeof items);
}

static void
field(struct maker *m, ProtobufCMessage *message,
      const ProtobufCFieldDescriptor *f, unsigned depth)
{
    uint32_t *quantifier = (uint32_t *)((char *)message + f->quantifier_offset);
    bool deep = f->type == PROTOBUF_C_TYPE_MESSAGE && depth <= 1;

    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        array(m, message, f, depth);
        return;
    }
    if (f->label != PROTOBUF_C_LABEL_REQUIRED &&
        !is_entry(message->descriptor) && (deep || coin(m)))
        return;
    if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        if (*quantifier != 0)
            return;
        *quantifier = f->id;
    } else if (f->quantifier_offset != 0) {
        *quantifier = 1;
    }
    value(m, f, (char *)message + f->offset, depth);
}

static ProtobufCMessage *
fill(struct maker *m, const ProtobufCMessageDescriptor *desc, unsigned depth)
{
    ProtobufCMessage *message = take(m, desc->sizeof_message);

    protobuf_c_message_init(desc, message);
    for (unsigned i = 0; i < desc->n_fields; i++)
        field(m, message, &desc->fields[i], depth);
    return message;
}

ProtobufCMessage *
random_message_new(const ProtobufCMessageDescriptor *desc, uint64_t *seed)
{
    struct maker maker = {.seed = seed, .room = calloc(1, ROOM)};

    return maker.room != NULL ? fill(&maker, desc, DEPTH) : NULL;
}

void
random_message_free(ProtobufCMessage *message)
{
    free(message); /* the start of the room */
}
