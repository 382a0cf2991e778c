/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/codec/validate.h. Reads a message as protobuf_c_message_unpack() of
 * protobuf-c 1.4.1 does (1.5.2 does the same), without building anything.
 * Refuses what unpacking would fail on, and counts what it would allocate.
 * "Unpack" in the comments is that function. The check is stricter: a bool is a
 * varint, and https://protobuf.dev/programming-guides/encoding/ is followed.
 * vc__message_is_good() calls check_level(). All other static functions are
 * steps of that, on the same thread. Those that return a text return NULL if
 * all is well. validate_take() and take_*() return false if the memory would
 * pass the limit; take_member() also if no slabs are left. */
#include "rpc/codec/validate.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "rpc/codec/arena.h"
#include "rpc/codec/field_type.h"
#include "transport/core/le.h"
#include "transport/core/utf8.h"

/* What unpack keeps of each field that it has found. The first 16 are on its
 * stack; the others are in slabs, at most 22, each twice as large as the one
 * before. */
struct scanned {
    uint32_t tag;
    uint8_t wire_type, length_prefix_len;
    const ProtobufCFieldDescriptor *field;
    size_t len;
    const uint8_t *data;
};

#define SLAB_FIRST 16
#define SLAB_LAST  ((uint64_t)SLAB_FIRST << 22)

/* For types with more fields, unpack allocates its bitmap of fields seen. */
#define BITMAP_FIELDS 128

/* For so many fields, a level remembers individually whether each was given. */
#define GIVEN_FIELDS 256

struct span {
    const uint8_t *at;
    size_t left;
};

/* One field on the wire. */
struct member {
    uint32_t number;
    unsigned wire;       /* ProtobufCWireType */
    const uint8_t *data; /* its value, after the length if it has one */
    size_t len;          /* of the value */
    size_t whole;        /* of the value and the length before it */
};

/* One vc__message_is_good(). */
struct check {
    unsigned depth;                  /* limit */
    uint64_t left;                   /* memory that may still be used */
    struct vc__message_fault *fault; /* written once: the innermost */
};

/* What unpack touches when it merges a message into another of its type. */
struct joint {
    uint64_t arrays; /* bytes of repeated fields, which are copied together */
    bool oneof;      /* one of the messages that are merged has one */
};

/* One message within the walk. */
struct level {
    const ProtobufCMessageDescriptor *desc;
    unsigned depth;
    const ProtobufCFieldDescriptor *last; /* field of the previous member */
    uint64_t members, slab, slots;        /* slots: of all slabs together */
    bool unknown;                         /* an unknown field was found */
    unsigned runs;                        /* of members of one repeated field */
    uint64_t arrays;                      /* bytes of its repeated fields */
    struct joint below; /* of sub-messages that may be merged */
    uint64_t given[GIVEN_FIELDS / 64];
    unsigned highest;
};

static const char too_large[] = "message needs more memory than is allowed";
static const char cut_short[] = "message ends within a field";
static const char bad_varint[] = "varint is longer than 10 bytes or truncated";

/* --- bytes to members --- */

/* member_next() calls tag_next(), which reads the tag and moves s on, and
 * value_next(). That calls length_next(), which reads the length and moves s
 * on, fixed_next() or varint_next(). All fill in *m, if it is not cut short. */

/* For X_next() and count_varints(): returns the bytes of the varint at s; 0: it
 * is cut, or longer than max. */
static size_t
varint_look(const struct span *s, size_t max, uint64_t *value)
{
    size_t most = s->left < max ? s->left : max;
    uint64_t v = 0;

    for (size_t i = 0; i < most; i++) {
        v |= (uint64_t)(s->at[i] & 0x7f) << (7 * i);
        if (s->at[i] < 0x80) {
            *value = v;
            return i + 1;
        }
    }
    return 0;
}

/* Moves s on by n bytes, for X_next() and count_varints(). */
static void
span_skip(struct span *s, size_t n)
{
    s->at += n;
    s->left -= n;
}

static const char *
tag_next(struct span *s, struct member *m)
{
    uint64_t tag;
    size_t len = varint_look(s, 5, &tag);

    if (len == 0)
        return s->left < 5 ? cut_short : "tag is longer than 5 bytes";
    if (tag > UINT32_MAX || tag >> 3 == 0)
        return "field number is not within 1..2^29-1";

    m->number = (uint32_t)(tag >> 3);
    m->wire = tag & 7;
    span_skip(s, len);
    return NULL;
}

static const char *
length_next(struct span *s, struct member *m)
{
    uint64_t value;
    size_t len = varint_look(s, 5, &value);

    if (len == 0)
        return s->left < 5 ? cut_short : "length is longer than 5 bytes";
    span_skip(s, len);
    if (value > s->left)
        return cut_short;

    m->len = (size_t)value;
    m->whole = len + m->len;
    return NULL;
}

static const char *
fixed_next(struct span *s, struct member *m, size_t len)
{
    if (len > s->left)
        return cut_short;
    m->len = m->whole = len;
    return NULL;
}

static const char *
varint_next(struct span *s, struct member *m)
{
    uint64_t value;
    size_t len = varint_look(s, 10, &value);

    if (len == 0)
        return bad_varint;
    m->len = m->whole = len;
    return NULL;
}

static const char *
value_next(struct span *s, struct member *m)
{
    switch (m->wire) {
    case PROTOBUF_C_WIRE_TYPE_VARINT:
        return varint_next(s, m);
    case PROTOBUF_C_WIRE_TYPE_64BIT:
        return fixed_next(s, m, 8);
    case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
        return length_next(s, m);
    case PROTOBUF_C_WIRE_TYPE_32BIT:
        return fixed_next(s, m, 4);
    default:
        return "a group, or a wire type that does not exist";
    }
}

/* For check_level() and fields_given(): reads the next member of s into *m. */
static const char *
member_next(struct span *s, struct member *m)
{
    const char *wrong = tag_next(s, m);

    if (wrong == NULL)
        wrong = value_next(s, m);
    if (wrong != NULL)
        return wrong;
    m->data = s->at;
    span_skip(s, m->len);
    return NULL;
}

/* Returns the field of this number, or NULL. For check_*(), fields_given(). */
static const ProtobufCFieldDescriptor *
field_of(const struct level *l, uint32_t number)
{
    if (l->last != NULL && l->last->id == number)
        return l->last;
    return protobuf_c_message_descriptor_get_field(l->desc, number);
}

/* --- memory --- */

/* For take_*() and check_joint(): counts bytes, rounded or to be rounded. */
static bool
validate_take(struct check *c, uint64_t bytes)
{
    if (bytes > c->left)
        return false;
    c->left -= bytes;
    return true;
}

/* For take_*() and check_value(): counts one allocation, rounded up. */
static bool
take_piece(struct check *c, uint64_t bytes)
{
    return validate_take(c, (bytes + VC__ARENA_ALIGN - 1) / VC__ARENA_ALIGN *
                                VC__ARENA_ALIGN);
}

/* For check_level(): counts a message, and unpack's bitmap of its fields. */
static bool
take_message(struct check *c, const ProtobufCMessageDescriptor *desc)
{
    return take_piece(c, desc->sizeof_message) &&
           (desc->n_fields <= BITMAP_FIELDS ||
            take_piece(c, (desc->n_fields + 7) / 8));
}

/* For check_member(): counts one more member; a new slab if all are full. */
static bool
take_member(struct check *c, struct level *l)
{
    if (l->members++ < l->slots)
        return true;
    if (l->slab == SLAB_LAST)
        return false;
    l->slab *= 2;
    l->slots += l->slab;
    return take_piece(c, l->slab * sizeof(struct scanned));
}

/* For check_packed() and check_field(): counts `count` more elements of f's
 * array. Each is one allocation: no more of these than fields, or than runs. */
static bool
take_elements(struct check *c, struct level *l,
              const ProtobufCFieldDescriptor *f, size_t count)
{
    uint64_t bytes = (uint64_t)count * vc__field_element_size(f->type);

    if (f != l->last && l->runs < l->desc->n_fields) {
        l->runs++;
        bytes += VC__ARENA_ALIGN - 1;
    }
    l->arrays += bytes;
    return validate_take(c, bytes);
}

/* For check_member(): counts a field that is not in the type. Unpack keeps it:
 * an entry in an array, and its value with the length before it. */
static bool
take_unknown(struct check *c, struct level *l, const struct member *m)
{
    uint64_t entry = sizeof(ProtobufCMessageUnknownField);

    if (!l->unknown)
        entry += VC__ARENA_ALIGN - 1;
    l->unknown = true;
    return validate_take(c, entry) && take_piece(c, m->whole);
}

/* --- required fields --- */

/* Asked by required_missing(). Unpack does without a field with a default. */
static bool
must_be_given(const ProtobufCFieldDescriptor *f)
{
    return f->label == PROTOBUF_C_LABEL_REQUIRED && f->default_value == NULL;
}

/* For required_missing(): returns which of the 64 fields from `first` on are in
 * a message that was read before and found valid. */
static uint64_t
fields_given(const ProtobufCMessageDescriptor *desc, unsigned first,
             struct span s)
{
    struct level l = {.desc = desc};
    uint64_t given = 0;
    struct member m;

    while (s.left > 0 && member_next(&s, &m) == NULL) {
        const ProtobufCFieldDescriptor *f = field_of(&l, m.number);
        size_t i = f == NULL ? 0 : (size_t)(f - desc->fields) - first;

        if (f != NULL && i < 64)
            given |= (uint64_t)1 << i;
        l.last = f;
    }
    return given;
}

/* For check_level(): returns a required field that is missing, or NULL. Uses no
 * memory: reads the level again for each 64 fields with some required ones. */
static const ProtobufCFieldDescriptor *
required_missing(const ProtobufCMessageDescriptor *desc, struct span s)
{
    for (unsigned first = 0; first < desc->n_fields; first += 64) {
        uint64_t needed = 0;

        for (unsigned i = 0; i < 64 && first + i < desc->n_fields; i++)
            if (must_be_given(&desc->fields[first + i]))
                needed |= (uint64_t)1 << i;
        if (needed != 0)
            needed &= ~fields_given(desc, first, s);
        if (needed != 0)
            return &desc->fields[first + (unsigned)__builtin_ctzll(needed)];
    }
    return NULL;
}

/* --- the walk --- */

/* check_level() checks a message and sets *joint. It calls check_member() for
 * each member, that check_field() if the field is known, that check_packed() or
 * check_value(), and that check_submessage(), which calls check_level(). */

static const char *check_level(struct check *c,
                               const ProtobufCMessageDescriptor *desc,
                               struct span s, unsigned depth,
                               struct joint *joint);

/* Asked by check_joint(): true if a sub-message was given for field i before.
 * Exact for the first GIVEN_FIELDS; of the others, those out of order are taken
 * for given. No serialiser writes that, and the error is on the safe side. */
static bool
given_again(struct level *l, size_t i)
{
    uint64_t bit = (uint64_t)1 << i % 64;
    bool again;

    if (i >= GIVEN_FIELDS) {
        again = i <= l->highest;
        if (!again)
            l->highest = (unsigned)i;
        return again;
    }
    again = (l->given[i / 64] & bit) != 0;
    l->given[i / 64] |= bit;
    return again;
}

/* Asked by check_joint(): true if the type has a oneof. */
static bool
has_oneof(const ProtobufCMessageDescriptor *desc)
{
    for (unsigned i = 0; i < desc->n_fields; i++)
        if ((desc->fields[i].flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0)
            return true;
    return false;
}

/* For check_submessage(): checks one that is neither an element nor in a oneof.
 * If it was given before, unpack merges the two. Each merge copies the arrays
 * of both into new ones, so many small ones cost as the square of their number.
 * A merge fails if a oneof is set in neither. To detect that would need memory,
 * so a sub-message with a oneof must not be given twice at all. */
static const char *
check_joint(struct check *c, struct level *l, const ProtobufCFieldDescriptor *f,
            struct joint joint)
{
    joint.oneof = joint.oneof || has_oneof(f->descriptor);
    l->below.arrays += joint.arrays;
    l->below.oneof = l->below.oneof || joint.oneof;

    if (!given_again(l, (size_t)(f - l->desc->fields)))
        return NULL;
    if (joint.oneof)
        return "a sub-message with a oneof is given twice";
    return validate_take(c, l->below.arrays) ? NULL : too_large;
}

static const char *
check_submessage(struct check *c, struct level *l,
                 const ProtobufCFieldDescriptor *f, const struct member *m)
{
    struct span s = {m->data, m->len};
    struct joint joint;
    const char *wrong = check_level(c, f->descriptor, s, l->depth + 1, &joint);

    if (wrong != NULL)
        return wrong;
    if (f->label == PROTOBUF_C_LABEL_REPEATED ||
        (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0)
        return NULL;
    return check_joint(c, l, f, joint);
}

/* For check_packed(): counts the varints in the value. */
static const char *
count_varints(const struct member *m, size_t *count)
{
    struct span s = {m->data, m->len};
    size_t n = 0;

    for (; s.left > 0; n++) {
        uint64_t value;
        size_t len = varint_look(&s, 10, &value);

        if (len == 0)
            return bad_varint;
        span_skip(&s, len);
    }
    *count = n;
    return NULL;
}

static const char *
check_packed(struct check *c, struct level *l,
             const ProtobufCFieldDescriptor *f, const struct member *m)
{
    unsigned wire = vc__field_wire(f->type);
    size_t fixed = wire == PROTOBUF_C_WIRE_TYPE_32BIT ? 4 : 8;
    size_t count = m->len / fixed;
    const char *wrong = NULL;

    if (wire == PROTOBUF_C_WIRE_TYPE_VARINT)
        wrong = count_varints(m, &count);
    else if (m->len % fixed != 0)
        wrong = "packed numbers do not fill their length";
    if (wrong != NULL)
        return wrong;

    /* For packed bools unpack counts the bytes. */
    if (f->type == PROTOBUF_C_TYPE_BOOL)
        count = m->len;
    return take_elements(c, l, f, count) ? NULL : too_large;
}

static const char *
check_value(struct check *c, struct level *l, const ProtobufCFieldDescriptor *f,
            const struct member *m)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
        if (!vc__utf8_valid(m->data, m->len))
            return "not UTF-8, or a NUL in it";
        return take_piece(c, (uint64_t)m->len + 1) ? NULL : too_large;
    case PROTOBUF_C_TYPE_BYTES:
        return take_piece(c, m->len) ? NULL : too_large;
    case PROTOBUF_C_TYPE_MESSAGE:
        return check_submessage(c, l, f, m);
    default:
        return NULL;
    }
}

static const char *
check_field(struct check *c, struct level *l, const ProtobufCFieldDescriptor *f,
            const struct member *m)
{
    bool repeated = f->label == PROTOBUF_C_LABEL_REPEATED;

    if (repeated && m->wire == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED &&
        vc__field_is_packable(f->type))
        return check_packed(c, l, f, m);
    if (m->wire != vc__field_wire(f->type))
        return "wire type is not that of the field: see that both ends have "
               "the same .proto file";
    if (repeated && !take_elements(c, l, f, 1))
        return too_large;
    return check_value(c, l, f, m);
}

static const char *
check_member(struct check *c, struct level *l, const struct member *m)
{
    const ProtobufCFieldDescriptor *f = field_of(l, m->number);
    const char *wrong = NULL;

    if (!take_member(c, l))
        return too_large;
    if (f != NULL)
        wrong = check_field(c, l, f, m);
    else if (!take_unknown(c, l, m))
        wrong = too_large;
    l->last = f;
    return wrong;
}

/* For check_level() and vc__message_is_good(): keeps the first fault, which is
 * in the innermost message, not in those around it. Returns `what`. */
static const char *
wrong_in(const struct check *c, const ProtobufCMessageDescriptor *desc,
         const ProtobufCFieldDescriptor *field, const char *what)
{
    if (c->fault->what == NULL)
        *c->fault = (struct vc__message_fault){what, desc, field};
    return what;
}

static const char *
check_level(struct check *c, const ProtobufCMessageDescriptor *desc,
            struct span s, unsigned depth, struct joint *joint)
{
    const ProtobufCFieldDescriptor *missing;
    struct level l = {.desc = desc,
                      .depth = depth,
                      .slab = SLAB_FIRST,
                      .slots = SLAB_FIRST,
                      .highest = GIVEN_FIELDS - 1};
    struct span rest = s;
    struct member m;

    if (depth > c->depth)
        return wrong_in(c, desc, NULL, "messages are nested too deep");
    if (!take_message(c, desc))
        return wrong_in(c, desc, NULL, too_large);
    while (rest.left > 0) {
        const char *wrong = member_next(&rest, &m);

        if (wrong != NULL)
            return wrong_in(c, desc, NULL, wrong);
        wrong = check_member(c, &l, &m);
        if (wrong != NULL)
            return wrong_in(c, desc, field_of(&l, m.number), wrong);
    }
    missing = required_missing(desc, s);
    if (missing != NULL)
        return wrong_in(c, desc, missing,
                        "the required field is missing: see that both ends "
                        "have the same .proto file");
    joint->arrays = l.arrays + l.below.arrays;
    joint->oneof = l.below.oneof;
    return NULL;
}

bool
vc__message_is_good(const ProtobufCMessageDescriptor *desc, const uint8_t *data,
                    size_t len, const struct vc__message_limits *limits,
                    size_t *memory, struct vc__message_fault *fault)
{
    struct check c = {
        .depth = limits->depth, .left = limits->memory, .fault = fault};
    struct span s = {data, len};
    struct joint joint;

    fault->what = NULL;
    /* Unpack and its fields count in ints. */
    if (len > INT_MAX) {
        wrong_in(&c, desc, NULL, "message is longer than 2 GiB");
        return false;
    }
    if (check_level(&c, desc, s, 1, &joint) != NULL)
        return false;
    if (memory != NULL)
        *memory = limits->memory - (size_t)c.left;
    return true;
}

const char *
vc__message_check(const ProtobufCMessageDescriptor *desc, const uint8_t *data,
                  size_t len, const struct vc__message_limits *limits,
                  size_t *memory)
{
    struct vc__message_fault fault;

    return vc__message_is_good(desc, data, len, limits, memory, &fault)
               ? NULL
               : fault.what;
}

void
vc__message_fault_text(const struct vc__message_fault *fault, char *text,
                       size_t size)
{
    if (fault->message == NULL)
        snprintf(text, size, "%s", fault->what);
    else if (fault->field == NULL)
        snprintf(text, size, "%s: %s", fault->message->name, fault->what);
    else
        snprintf(text, size, "%s.%s: %s", fault->message->name,
                 fault->field->name, fault->what);
}
