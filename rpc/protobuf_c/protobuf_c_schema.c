/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Hashes the text of a schema, as idl/schema.c writes it. See
 * rpc/protobuf_c/protobuf_c_schema.h. All static functions run within
 * vc__protobuf_c_schema(). */
#include "rpc/protobuf_c/protobuf_c_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/core/hash.h"

/* A type that the text leads to: a message, or an enum. */
struct schema_type {
    const ProtobufCMessageDescriptor *message; /* NULL: an enum */
    const ProtobufCEnumDescriptor *enumeration;
};

struct schema_walk {
    uint32_t hash; /* of the text so far */
    bool starved, nameless;
    struct schema_type *list; /* in the order in which they were named */
    size_t n, room;
};

/* Adds to the text. NULL: a name that the descriptor lacks. Called by all
 * functions that write. */
static void
protobuf_c_schema_text(struct schema_walk *w, const char *text)
{
    if (text == NULL)
        w->nameless = true;
    else
        w->hash = hash_32_more(w->hash, text, strlen(text));
}

/* Adds a number to the text, and what stands before and after it. Called by
 * protobuf_c_schema_field() and protobuf_c_schema_enum(). */
static void
protobuf_c_schema_number(struct schema_walk *w, const char *before, long number,
                         const char *after)
{
    char text[32];

    snprintf(text, sizeof text, "%s%ld%s", before, number, after);
    protobuf_c_schema_text(w, text);
}

/* Makes room for one more type in the list. False without memory. Called by
 * protobuf_c_schema_add(). */
static bool
protobuf_c_schema_grow(struct schema_walk *w)
{
    size_t room = w->room == 0 ? 16 : 2 * w->room;
    struct schema_type *list;

    if (w->n < w->room)
        return true;
    list = realloc(w->list, room * sizeof *list);
    if (list == NULL) {
        w->starved = true;
        return false;
    }
    w->list = list;
    w->room = room;
    return true;
}

/* Adds a message or enum to the list, unless it is there. Called by
 * protobuf_c_schema_methods() and protobuf_c_schema_field(). */
static void
protobuf_c_schema_add(struct schema_walk *w,
                      const ProtobufCMessageDescriptor *message,
                      const ProtobufCEnumDescriptor *enumeration)
{
    for (size_t i = 0; i < w->n; i++) {
        if (w->list[i].message == message &&
            w->list[i].enumeration == enumeration)
            return;
    }
    if (protobuf_c_schema_grow(w))
        w->list[w->n++] = (struct schema_type){message, enumeration};
}

/* Hashes a line for each method, and adds their messages to the list. Called by
 * vc__protobuf_c_schema(). */
static void
protobuf_c_schema_methods(struct schema_walk *w,
                          const ProtobufCServiceDescriptor *d)
{
    for (unsigned i = 0; i < d->n_methods; i++) {
        const ProtobufCMethodDescriptor *m =
            &d->methods[d->method_indices_by_name[i]];

        protobuf_c_schema_text(w, m->name);
        protobuf_c_schema_text(w, " (");
        protobuf_c_schema_text(w, m->input->name);
        protobuf_c_schema_text(w, ") returns (");
        protobuf_c_schema_text(w, m->output->name);
        protobuf_c_schema_text(w, ")\n");
        protobuf_c_schema_add(w, m->input, NULL);
        protobuf_c_schema_add(w, m->output, NULL);
    }
}

/* Returns the name of a type in a .proto file. Called by
 * protobuf_c_schema_field(). */
static const char *
protobuf_c_schema_type_name(ProtobufCType type)
{
    static const char *const names[] = {
        [PROTOBUF_C_TYPE_INT32] = "int32",
        [PROTOBUF_C_TYPE_SINT32] = "sint32",
        [PROTOBUF_C_TYPE_SFIXED32] = "sfixed32",
        [PROTOBUF_C_TYPE_INT64] = "int64",
        [PROTOBUF_C_TYPE_SINT64] = "sint64",
        [PROTOBUF_C_TYPE_SFIXED64] = "sfixed64",
        [PROTOBUF_C_TYPE_UINT32] = "uint32",
        [PROTOBUF_C_TYPE_FIXED32] = "fixed32",
        [PROTOBUF_C_TYPE_UINT64] = "uint64",
        [PROTOBUF_C_TYPE_FIXED64] = "fixed64",
        [PROTOBUF_C_TYPE_FLOAT] = "float",
        [PROTOBUF_C_TYPE_DOUBLE] = "double",
        [PROTOBUF_C_TYPE_BOOL] = "bool",
        [PROTOBUF_C_TYPE_ENUM] = "enum",
        [PROTOBUF_C_TYPE_STRING] = "string",
        [PROTOBUF_C_TYPE_BYTES] = "bytes",
        [PROTOBUF_C_TYPE_MESSAGE] = "message",
    };

    return (size_t)type < sizeof names / sizeof names[0] ? names[type] : "?";
}

/* True if both are fields of one oneof. Asked by protobuf_c_schema_oneof(). */
static bool
is_of_oneof(const ProtobufCFieldDescriptor *a,
            const ProtobufCFieldDescriptor *b)
{
    return (b->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0 &&
           a->quantifier_offset == b->quantifier_offset;
}

/* Returns the least number of the fields of this one's oneof; 0 if it is in
 * none, or alone. Fields are in the order of their numbers. Called by
 * protobuf_c_schema_field(). */
static uint32_t
protobuf_c_schema_oneof(const ProtobufCMessageDescriptor *m,
                        const ProtobufCFieldDescriptor *f)
{
    uint32_t least = 0;
    unsigned n = 0;

    if (!(f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF))
        return 0;
    for (unsigned i = 0; i < m->n_fields; i++) {
        if (!is_of_oneof(f, &m->fields[i]))
            continue;
        if (n++ == 0)
            least = m->fields[i].id;
    }
    return n > 1 ? least : 0;
}

/* Hashes the line of a field, and adds its type to the list. Called by
 * protobuf_c_schema_message(). */
static void
protobuf_c_schema_field(struct schema_walk *w,
                        const ProtobufCMessageDescriptor *m,
                        const ProtobufCFieldDescriptor *f)
{
    uint32_t oneof = protobuf_c_schema_oneof(m, f);

    protobuf_c_schema_number(
        w, "", (long)f->id,
        f->label == PROTOBUF_C_LABEL_REPEATED   ? " repeated "
        : f->label == PROTOBUF_C_LABEL_REQUIRED ? " required "
                                                : " ");
    protobuf_c_schema_text(w, protobuf_c_schema_type_name(f->type));
    if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
        const ProtobufCMessageDescriptor *of = f->descriptor;

        protobuf_c_schema_text(w, " ");
        protobuf_c_schema_text(w, of->name);
        protobuf_c_schema_add(w, of, NULL);
    } else if (f->type == PROTOBUF_C_TYPE_ENUM) {
        const ProtobufCEnumDescriptor *of = f->descriptor;

        protobuf_c_schema_text(w, " ");
        protobuf_c_schema_text(w, of->name);
        protobuf_c_schema_add(w, NULL, of);
    }
    if (oneof != 0)
        protobuf_c_schema_number(w, " oneof ", (long)oneof, "");
    protobuf_c_schema_text(w, "\n");
}

/* Hashes a message. Called by vc__protobuf_c_schema(). */
static void
protobuf_c_schema_message(struct schema_walk *w,
                          const ProtobufCMessageDescriptor *m)
{
    protobuf_c_schema_text(w, "message ");
    protobuf_c_schema_text(w, m->name);
    protobuf_c_schema_text(w, "\n");
    for (unsigned i = 0; i < m->n_fields; i++)
        protobuf_c_schema_field(w, m, &m->fields[i]);
}

/* Hashes the numbers of an enum: they are in their order, each once. Called by
 * vc__protobuf_c_schema(). */
static void
protobuf_c_schema_enum(struct schema_walk *w, const ProtobufCEnumDescriptor *e)
{
    protobuf_c_schema_text(w, "enum ");
    protobuf_c_schema_text(w, e->name);
    protobuf_c_schema_text(w, "\n");
    for (unsigned i = 0; i < e->n_values; i++)
        protobuf_c_schema_number(w, "", e->values[i].value, "\n");
}

bool
vc__protobuf_c_schema(const ProtobufCServiceDescriptor *d,
                      uint32_t *fingerprint)
{
    struct schema_walk w = {.hash = HASH_32_OF_NOTHING};

    protobuf_c_schema_methods(&w, d);
    for (size_t i = 0; i < w.n; i++) {
        if (w.list[i].message != NULL)
            protobuf_c_schema_message(&w, w.list[i].message);
        else
            protobuf_c_schema_enum(&w, w.list[i].enumeration);
    }
    free(w.list);
    if (w.hash == 0)
        w.hash = 1;
    *fingerprint = w.nameless ? 0 : w.hash;
    return !w.starved;
}
