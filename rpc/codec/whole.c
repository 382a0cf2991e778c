/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/codec/whole.h. message_check() checks a message, for the two
 * functions of the header, and, by element_check() and single_check(), each
 * message in it. All other static functions are its steps, pure and on the same
 * thread. A function with a name in _check returns true if its part can be
 * packed, else false with *gap set. The first gap is kept, with the innermost
 * message that has it. */
#include "rpc/codec/whole.h"

#include <stdint.h>
#include <stdio.h>

struct gap {
    const ProtobufCMessageDescriptor *message; /* NULL: not a message */
    const ProtobufCFieldDescriptor *field;
    const char *why;
    size_t n; /* elements or bytes, for `why` */
};

static bool message_check(const ProtobufCMessage *m, struct gap *gap);

/* Called by the steps that find a gap: bytes_check(), pointer_check() and
 * repeated_check(). Notes the gap. Always false, which they return. */
static bool
gap_set(struct gap *gap, size_t n, const char *why)
{
    gap->n = n;
    gap->why = why;
    return false;
}

/* Called by element_check() and single_check(): bytes with a length must have
 * data. */
static bool
bytes_check(const ProtobufCBinaryData *bytes, struct gap *gap)
{
    return bytes->len == 0 || bytes->data != NULL ||
           gap_set(gap, bytes->len, "bytes, and data is NULL");
}

/* Called by element_check() and single_check(): p must not be NULL. */
static bool
pointer_check(const void *p, struct gap *gap)
{
    return p != NULL || gap_set(gap, 0, "NULL, and must be set");
}

/* --- fields --------------------------------------------------------------- */

/* Called by repeated_check(): checks element i of the array. */
static bool
element_check(ProtobufCType type, const void *array, size_t i, struct gap *gap)
{
    switch (type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return pointer_check(((void *const *)array)[i], gap) &&
               message_check(((ProtobufCMessage *const *)array)[i], gap);
    case PROTOBUF_C_TYPE_STRING:
        return pointer_check(((char *const *)array)[i], gap);
    case PROTOBUF_C_TYPE_BYTES:
        return bytes_check(&((const ProtobufCBinaryData *)array)[i], gap);
    default:
        return true;
    }
}

/* Asked by repeated_check(): true if an element may be NULL or lack its
 * data. */
static bool
has_pointers(ProtobufCType type)
{
    return type == PROTOBUF_C_TYPE_MESSAGE || type == PROTOBUF_C_TYPE_STRING ||
           type == PROTOBUF_C_TYPE_BYTES;
}

/* Called by field_check(): checks the n elements of a repeated field. */
static bool
repeated_check(const ProtobufCFieldDescriptor *f, const void *array, size_t n,
               struct gap *gap)
{
    if (n > 0 && array == NULL)
        return gap_set(gap, n, "elements, and the array is NULL");
    if (!has_pointers(f->type))
        return true;
    for (size_t i = 0; i < n; i++) {
        if (!element_check(f->type, array, i, gap))
            return false;
    }
    return true;
}

/* Asked by single_check(): false if optional bytes are not set. Bytes of proto3
 * without presence have no flag: they are present if their length is not 0. */
static bool
has_bytes(const ProtobufCFieldDescriptor *f, const uint8_t *message)
{
    if (f->label != PROTOBUF_C_LABEL_OPTIONAL ||
        (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0)
        return true;
    return *(const protobuf_c_boolean *)(message + f->quantifier_offset) != 0;
}

/* Called by field_check(): checks a field that is not repeated. */
static bool
single_check(const ProtobufCFieldDescriptor *f, const uint8_t *message,
             struct gap *gap)
{
    const void *member = message + f->offset;
    bool required = f->label == PROTOBUF_C_LABEL_REQUIRED;
    const void *p;

    switch (f->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        p = *(void *const *)member;
        return p == NULL ? !required || pointer_check(p, gap)
                         : message_check(p, gap);
    case PROTOBUF_C_TYPE_STRING:
        return !required || pointer_check(*(char *const *)member, gap);
    case PROTOBUF_C_TYPE_BYTES:
        return !has_bytes(f, message) || bytes_check(member, gap);
    default:
        return true;
    }
}

/* Called by message_check() for each field of the message: checks it. */
static bool
field_check(const ProtobufCFieldDescriptor *f, const uint8_t *message,
            struct gap *gap)
{
    const uint8_t *quantifier = message + f->quantifier_offset;

    /* A member of a oneof that is not the one set. */
    if ((f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0 &&
        *(const uint32_t *)quantifier != f->id)
        return true;
    if (f->label == PROTOBUF_C_LABEL_REPEATED)
        return repeated_check(f, *(void *const *)(message + f->offset),
                              *(const size_t *)quantifier, gap);
    return single_check(f, message, gap);
}

/* --- messages ------------------------------------------------------------- */

/* Called by vc__message_is_whole() and vc__message_gap(), and for a message in
 * another by element_check() and single_check(). If m is not initialised, it
 * returns false, and gap->message is NULL unless another message is around
 * m. */
static bool
message_check(const ProtobufCMessage *m, struct gap *gap)
{
    const ProtobufCMessageDescriptor *desc = m->descriptor;

    if (desc == NULL || desc->magic != PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC) {
        gap->message = NULL;
        return false;
    }
    for (unsigned i = 0; i < desc->n_fields; i++) {
        if (field_check(&desc->fields[i], (const uint8_t *)m, gap))
            continue;
        /* Otherwise the innermost message has set it. */
        if (gap->field == NULL) {
            gap->message = desc;
            gap->field = &desc->fields[i];
        }
        return false;
    }
    return true;
}

bool
vc__message_is_whole(const ProtobufCMessage *message)
{
    struct gap gap;

    gap.field = NULL;
    return message_check(message, &gap);
}

void
vc__message_gap(const ProtobufCMessage *message, char *text, size_t size)
{
    struct gap gap = {.why = NULL};

    message_check(message, &gap);
    if (gap.why == NULL)
        snprintf(text, size,
                 "it, or a message in it, was not initialized by its _INIT");
    else if (gap.n > 0)
        snprintf(text, size, "%s.%s: %zu %s", gap.message->name,
                 gap.field->name, gap.n, gap.why);
    else
        snprintf(text, size, "%s.%s: %s", gap.message->name, gap.field->name,
                 gap.why);
}
