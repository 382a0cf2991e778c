/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes the text of a schema, and hashes it. See schema.h. All static
 * functions run within schema_fingerprint(), on the only thread of the plugin;
 * the text and all lists lie in the arena. */
#include "idl/schema.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "idl/text.h"
#include "transport/core/hash.h"

/* The types that the text leads to, in the order in which they were named. */
struct walk {
    const struct types *types;
    struct text text;
    const struct type **list;
    size_t n;
    bool *seen; /* by the index in types->items */
};

const char *
schema_type_name(int type)
{
    static const char *const names[] = {
        "?",        "double",   "float",   "int64",  "uint64",
        "int32",    "fixed64",  "fixed32", "bool",   "string",
        "group",    "message",  "bytes",   "uint32", "enum",
        "sfixed32", "sfixed64", "sint32",  "sint64",
    };

    return type > 0 && (size_t)type < sizeof names / sizeof names[0]
               ? names[type]
               : names[0];
}

/* Orders pointers to methods by name, for qsort() in schema_methods(). */
static int
method_compare(const void *a, const void *b)
{
    const struct model_method *x = *(struct model_method *const *)a;
    const struct model_method *y = *(struct model_method *const *)b;

    return strcmp(x->name, y->name);
}

/* Orders pointers to fields by number, for qsort() in schema_message(). */
static int
field_compare(const void *a, const void *b)
{
    const Idl__Field *x = *(Idl__Field *const *)a;
    const Idl__Field *y = *(Idl__Field *const *)b;

    return (x->number > y->number) - (x->number < y->number);
}

/* Orders numbers, for qsort() in schema_enum(). */
static int
number_compare(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* Adds a type to the list, unless it is there or the request lacks it. Called
 * by schema_methods() and schema_field(). */
static void
walk_add(struct walk *w, const struct type *type)
{
    if (type == NULL || w->seen[type - w->types->items])
        return;
    w->seen[type - w->types->items] = true;
    w->list[w->n++] = type;
}

/* Called by schema_methods(): adds the message of a method to the list. */
static void
walk_add_message(struct walk *w, const struct model_message *message)
{
    walk_add(w, types_find(w->types, arena_printf(w->types->arena, ".%s",
                                                  message->full_name)));
}

/* Writes a line for each method, and adds their messages to the list. Called
 * by schema_fingerprint(). */
static void
schema_methods(struct walk *w, const struct model_service *service)
{
    struct model_method **sorted =
        arena_array(w->text.arena, service->n_methods, sizeof(*sorted));

    for (size_t i = 0; i < service->n_methods; i++)
        sorted[i] = &service->methods[i];
    qsort(sorted, service->n_methods, sizeof(*sorted), method_compare);

    for (size_t i = 0; i < service->n_methods; i++) {
        const struct model_method *m = sorted[i];

        text_addf(&w->text, "%s (%s%s) returns (%s%s)\n", m->name,
                  m->client_streaming ? "stream " : "", m->request.full_name,
                  m->server_streaming ? "stream " : "", m->reply.full_name);
        walk_add_message(w, &m->request);
        walk_add_message(w, &m->reply);
    }
}

/* Returns the least number of the fields of this one's oneof; 0 if it is in
 * none, or alone. Called by schema_field(). */
static int32_t
schema_oneof(const Idl__Message *m, const Idl__Field *f)
{
    int32_t least = f->number;
    unsigned n = 0;

    for (size_t i = 0; f->has_oneof_index && i < m->n_field; i++) {
        const Idl__Field *other = m->field[i];

        if (!other->has_oneof_index || other->oneof_index != f->oneof_index)
            continue;
        n++;
        if (other->number < least)
            least = other->number;
    }
    return n > 1 ? least : 0;
}

/* Writes the line of a field, and adds its type to the list. Called by
 * schema_message(). */
static void
schema_field(struct walk *w, const Idl__Message *m, const Idl__Field *f)
{
    const struct type *type = types_find(w->types, f->type_name);
    int32_t oneof = schema_oneof(m, f);

    text_addf(&w->text, "%" PRId32 " %s%s", f->number,
              f->label == IDL__FIELD__LABEL__LABEL_REPEATED   ? "repeated "
              : f->label == IDL__FIELD__LABEL__LABEL_REQUIRED ? "required "
                                                              : "",
              schema_type_name((int)f->type));
    if (type != NULL)
        text_addf(&w->text, " %s", type->full_name);
    if (oneof != 0)
        text_addf(&w->text, " oneof %" PRId32, oneof);
    text_add(&w->text, "\n");
    walk_add(w, type);
}

/* Writes a message. Called by schema_fingerprint(). */
static void
schema_message(struct walk *w, const Idl__Message *m)
{
    const Idl__Field **sorted =
        arena_array(w->text.arena, m->n_field, sizeof(*sorted));

    for (size_t i = 0; i < m->n_field; i++)
        sorted[i] = m->field[i];
    qsort(sorted, m->n_field, sizeof(*sorted), field_compare);
    for (size_t i = 0; i < m->n_field; i++)
        schema_field(w, m, sorted[i]);
}

/* Writes the numbers of an enum, each once. Called by schema_fingerprint(). */
static void
schema_enum(struct walk *w, const Idl__Enum *e)
{
    int32_t *sorted = arena_array(w->text.arena, e->n_value, sizeof(*sorted));

    for (size_t i = 0; i < e->n_value; i++)
        sorted[i] = e->value[i]->number;
    qsort(sorted, e->n_value, sizeof(*sorted), number_compare);
    for (size_t i = 0; i < e->n_value; i++)
        if (i == 0 || sorted[i] != sorted[i - 1])
            text_addf(&w->text, "%" PRId32 "\n", sorted[i]);
}

uint32_t
schema_fingerprint(struct arena *arena, const struct types *types,
                   const struct model_service *service)
{
    struct walk w = {.types = types};
    uint32_t hash;

    text_init(&w.text, arena);
    w.list = arena_array(arena, types->n, sizeof(*w.list));
    w.seen = arena_array(arena, types->n, sizeof *w.seen);
    schema_methods(&w, service);
    for (size_t i = 0; i < w.n; i++) {
        const struct type *type = w.list[i];

        text_addf(&w.text, "%s %s\n",
                  type->message != NULL ? "message" : "enum", type->full_name);
        if (type->message != NULL)
            schema_message(&w, type->message);
        else
            schema_enum(&w, type->enumeration);
    }
    hash = hash_32(w.text.data, w.text.length);
    return hash != 0 ? hash : 1;
}
