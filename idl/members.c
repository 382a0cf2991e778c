/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See members.h. All of it runs within members_check(), which generate.c calls
 * at most once, on the only thread of the plugin. Names and error texts lie in
 * the arena, or are constants or parts of the request: no caller frees them. */
#include "idl/members.h"

#include <stdlib.h>
#include <string.h>

#include "idl/names.h"
#include "idl/place.h"
#include "idl/request.h"

/* field numbers in DescriptorProto */
#define MESSAGE_FIELD 2
#define MESSAGE_ONEOF 8

#define EACH 2 /* most members that a field has */

struct member {
    const char *c_name;
    const char *kind; /* NULL for protobuf-c's own one */
    const char *name; /* of the field or oneof */
    const struct place *place;
    size_t order;
};

struct members {
    struct arena *arena;
    const struct type *type;
    size_t n;
    struct member *items;
};

/* Appends a member; message_clashes() has made room. kind and name are NULL for
 * protobuf-c's own one. Called by add_field() and add_all(). */
static void
member_add(struct members *members, const char *kind, const char *name,
           const char *c_name, const struct place *place)
{
    members->items[members->n] = (struct member){
        .c_name = c_name,
        .kind = kind,
        .name = name,
        .place = place,
        .order = members->n,
    };
    members->n++;
}

/* Returns the name of protobuf-c's own member, the first of each structure:
 * "base" without the option base_field_name. Called by add_all(). */
static const char *
base_name(const Idl__Message *message)
{
    const Idl__MessageOptions *options = message->options;

    return options != NULL && options->pb_c_msg != NULL
               ? options->pb_c_msg->base_field_name
               : "base";
}

/* True when protoc-gen-c puts a has_... member before the field. Called by
 * add_field() for a field that is not repeated. */
static bool
has_presence(const struct members *members, const Idl__Field *field)
{
    const char *syntax = members->type->place->file->syntax;

    return field->label == IDL__FIELD__LABEL__LABEL_OPTIONAL &&
           !field->has_oneof_index &&
           (syntax == NULL || strcmp(syntax, "proto3") != 0) &&
           field->type != IDL__FIELD__TYPE__TYPE_STRING &&
           field->type != IDL__FIELD__TYPE__TYPE_MESSAGE;
}

/* Adds the member of a field, and its n_... or has_... member if it gets one.
 * Called by add_all(). */
static void
add_field(struct members *members, const Idl__Field *field,
          const struct place *place)
{
    char *name = names_field(members->arena, field->name);

    member_add(members, "field", field->name, name, place);
    if (field->label == IDL__FIELD__LABEL__LABEL_REPEATED)
        member_add(members, "the count of field", field->name,
                   arena_printf(members->arena, "n_%s", name), place);
    else if (has_presence(members, field))
        member_add(members, "the presence of field", field->name,
                   arena_printf(members->arena, "has_%s", name), place);
}

/* Adds all members of a message's structure, for message_clashes(). */
static void
add_all(struct members *members)
{
    const struct type *type = members->type;
    const Idl__Message *m = type->message;

    member_add(members, NULL, NULL, base_name(m), type->place);
    for (size_t i = 0; i < m->n_field; i++)
        add_field(members, m->field[i],
                  place_child(members->arena, type->place, MESSAGE_FIELD,
                              (int32_t)i));
    for (size_t i = 0; i < m->n_oneof_decl; i++) {
        const char *name = m->oneof_decl[i]->name;

        member_add(members, "the case of oneof", name,
                   arena_printf(members->arena, "%s_case",
                                names_lower(members->arena, name)),
                   place_child(members->arena, type->place, MESSAGE_ONEOF,
                               (int32_t)i));
    }
}

/* Orders members by name in C, then in the order of adding; for qsort() in
 * message_clashes(). */
static int
member_compare(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = strcmp(x->c_name, y->c_name);

    if (order != 0)
        return order;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Returns the error text, never NULL, for two members with one name in C;
 * second was added later. Called by message_clashes(). */
static const char *
members_clash_error(const struct members *members, const struct member *first,
                    const struct member *second)
{
    if (first->kind == NULL)
        return place_error(
            members->arena, second->place,
            "%s '%s' is '%s' in C, and so is what protobuf-c has in every "
            "message; rename it, or write option (pb_c_msg).base_field_name "
            "= \"other\"; into '%s'",
            second->kind, second->name, second->c_name,
            members->type->full_name);
    return place_error(
        members->arena, second->place,
        "%s '%s' is '%s' in C, and so is %s '%s' at %s:%d; rename one of them",
        second->kind, second->name, second->c_name, first->kind, first->name,
        first->place->file->name, place_line(first->place));
}

/* Returns an error for the first member that has the name of an earlier one;
 * NULL when there is none. Called by members_check() for each message. */
static const char *
message_clashes(struct arena *arena, const struct type *type)
{
    const Idl__Message *m = type->message;
    struct members members = {.arena = arena, .type = type};
    const struct member *first = NULL, *second = NULL;

    members.items = arena_array(arena, 1 + EACH * m->n_field + m->n_oneof_decl,
                                sizeof *members.items);
    add_all(&members);
    qsort(members.items, members.n, sizeof *members.items, member_compare);
    for (size_t i = 1; i < members.n; i++) {
        const struct member *m1 = &members.items[i - 1], *m2 = m1 + 1;

        if (strcmp(m1->c_name, m2->c_name) == 0 &&
            (second == NULL || m2->order < second->order)) {
            first = m1;
            second = m2;
        }
    }
    return second != NULL ? members_clash_error(&members, first, second) : NULL;
}

/* Returns an error for the first field whose type has no C code; NULL when
 * there is none. Called by members_check() first for each message. */
static const char *
message_types(struct arena *arena, const struct types *types,
              const struct type *type)
{
    const Idl__Message *m = type->message;

    for (size_t i = 0; i < m->n_field; i++) {
        const struct type *of = types_find(types, m->field[i]->type_name);

        if (of != NULL && types_not_generated(of->place->file))
            return place_error(
                arena,
                place_child(arena, type->place, MESSAGE_FIELD, (int32_t)i),
                "field '%s' is of type '%s', which has no C type, as %s says "
                "(pb_c_file).no_generate; take that option out or use another "
                "type",
                m->field[i]->name, of->full_name, of->place->file->name);
    }
    return NULL;
}

const char *
members_check(struct arena *arena, const Idl__Request *request,
              const struct types *types)
{
    const char *problem = NULL;

    for (size_t i = 0; i < types->n && problem == NULL; i++) {
        const struct type *type = &types->items[i];
        const Idl__File *file = type->place->file;

        if (type->message == NULL || types_not_generated(file) ||
            !request_generates(request, file))
            continue;
        problem = message_types(arena, types, type);
        if (problem == NULL)
            problem = message_clashes(arena, type);
    }
    return problem;
}
