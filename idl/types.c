/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * All messages and enums of a request. The walk recurses as deep as messages
 * nest, which request.c has bounded. One thread, as all of the plugin. Types
 * that are returned are those in types->items, and names lie in the arena: no
 * caller frees them. */
#include "idl/types.h"

#include <stdlib.h>
#include <string.h>

/* field numbers in FileDescriptorProto and DescriptorProto */
#define FILE_MESSAGE   4
#define FILE_ENUM      5
#define MESSAGE_NESTED 3
#define MESSAGE_ENUM   4

/* Returns how many types a message is: itself, and all messages and enums
 * nested in it. Called by count_file() and by itself. */
static size_t
count_message(const Idl__Message *message)
{
    size_t n = 1 + message->n_enum_type;

    for (size_t i = 0; i < message->n_nested_type; i++)
        n += count_message(message->nested_type[i]);
    return n;
}

/* Returns how many types a file has. Called by types_build(), which makes room
 * for that many. */
static size_t
count_file(const Idl__File *file)
{
    size_t n = file->n_enum_type;

    for (size_t i = 0; i < file->n_message_type; i++)
        n += count_message(file->message_type[i]);
    return n;
}

/* Adds a type named name in scope, which is a package or a type or empty.
 * Returns it, never NULL: types_build() has made room. Called by add_enums()
 * and add_messages(). */
static const struct type *
types_add(struct types *types, const char *scope, const char *name,
          const struct place *place, const Idl__Message *message,
          const Idl__Enum *enumeration)
{
    struct type *type = &types->items[types->n++];

    type->full_name = arena_printf(types->arena, "%s%s%s", scope,
                                   scope[0] != '\0' ? "." : "", name);
    type->place = place;
    type->message = message;
    type->enumeration = enumeration;
    return type;
}

/* Adds n enums of a file or message; field is the number of their list in the
 * descriptor of parent. Called by add_file() and add_messages(). */
static void
add_enums(struct types *types, const char *scope, Idl__Enum *const *enums,
          size_t n, const struct place *parent, int32_t field)
{
    for (size_t i = 0; i < n; i++)
        types_add(types, scope, enums[i]->name,
                  place_child(types->arena, parent, field, (int32_t)i), NULL,
                  enums[i]);
}

/* Adds n messages, each before the enums and messages nested in it; field as
 * for add_enums(). Called by add_file() and by itself. */
static void
add_messages(struct types *types, const char *scope,
             Idl__Message *const *messages, size_t n,
             const struct place *parent, int32_t field)
{
    for (size_t i = 0; i < n; i++) {
        const Idl__Message *m = messages[i];
        const struct type *type;

        type = types_add(types, scope, m->name,
                         place_child(types->arena, parent, field, (int32_t)i),
                         m, NULL);
        add_enums(types, type->full_name, m->enum_type, m->n_enum_type,
                  type->place, MESSAGE_ENUM);
        add_messages(types, type->full_name, m->nested_type, m->n_nested_type,
                     type->place, MESSAGE_NESTED);
    }
}

/* Adds all types of a file. Called by types_build() for each file, imported
 * ones included. */
static void
add_file(struct types *types, const Idl__File *file)
{
    const char *package = file->package != NULL ? file->package : "";
    const struct place *place = place_file(types->arena, file);

    add_enums(types, package, file->enum_type, file->n_enum_type, place,
              FILE_ENUM);
    add_messages(types, package, file->message_type, file->n_message_type,
                 place, FILE_MESSAGE);
}

/* Orders pointers to types by full name, for qsort() in types_build(). */
static int
type_compare(const void *a, const void *b)
{
    const struct type *x = *(struct type *const *)a;
    const struct type *y = *(struct type *const *)b;

    return strcmp(x->full_name, y->full_name);
}

/* Compares a name with that of a type, as strcmp(), for bsearch() in
 * types_find(). */
static int
type_compare_name(const void *name, const void *type)
{
    return strcmp(name, (*(struct type *const *)type)->full_name);
}

void
types_build(struct types *types, struct arena *arena,
            const Idl__Request *request)
{
    size_t n = 0;

    for (size_t i = 0; i < request->n_proto_file; i++)
        n += count_file(request->proto_file[i]);
    types->arena = arena;
    types->n = 0;
    types->items = arena_array(arena, n, sizeof *types->items);
    types->by_name = arena_array(arena, n, sizeof *types->by_name);

    for (size_t i = 0; i < request->n_proto_file; i++)
        add_file(types, request->proto_file[i]);
    for (size_t i = 0; i < types->n; i++)
        types->by_name[i] = &types->items[i];
    qsort(types->by_name, types->n, sizeof *types->by_name, type_compare);
}

const struct type *
types_find(const struct types *types, const char *name)
{
    struct type **found;

    if (name == NULL || name[0] != '.')
        return NULL;
    found = bsearch(name + 1, types->by_name, types->n, sizeof *types->by_name,
                    type_compare_name);
    return found != NULL ? *found : NULL;
}

const struct type *
types_message(const struct types *types, const char *name)
{
    const struct type *type = types_find(types, name);

    return type != NULL && type->message != NULL ? type : NULL;
}

bool
types_not_generated(const Idl__File *file)
{
    return file->options != NULL && file->options->pb_c_file != NULL &&
           file->options->pb_c_file->no_generate;
}
