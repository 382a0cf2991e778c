/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Compares an older version of services with the present one, by what
 * protobuf's documentation allows to change ("Updating a message type"). See
 * compat.h. All of it runs within compat_add(), on the only thread of the
 * plugin. Functions that compare return NULL, or an error text in the arena. */
#include "idl/compat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "idl/request.h"
#include "idl/schema.h"

#define MESSAGE_FIELD 2 /* of DescriptorProto */

/* A pair of types that is compared, or was. */
struct compat_pair {
    const struct type *old, *now;
};

struct compat {
    struct arena *arena;
    const char *file; /* of the older version, for errors */
    const struct types *old, *now;
    struct compat_pair *pairs;
    size_t n, room;
};

/* Adds a pair of types, unless it is there. Called by compat_method() and
 * compat_field(). */
static void
compat_pair_add(struct compat *c, const struct type *old,
                const struct type *now)
{
    struct compat_pair *more;

    for (size_t i = 0; i < c->n; i++)
        if (c->pairs[i].old == old && c->pairs[i].now == now)
            return;
    if (c->n == c->room) {
        c->room = c->room == 0 ? 64 : 2 * c->room;
        more = arena_array(c->arena, c->room, sizeof *more);
        if (c->n > 0)
            memcpy(more, c->pairs, c->n * sizeof *more);
        c->pairs = more;
    }
    c->pairs[c->n++] = (struct compat_pair){old, now};
}

/* --- fields -------------------------------------------------------------- */

/* Returns the field of this number, or NULL. Called by all comparisons of
 * messages. */
static const Idl__Field *
compat_find(const Idl__Message *m, int32_t number)
{
    for (size_t i = 0; i < m->n_field; i++)
        if (m->field[i]->number == number)
            return m->field[i];
    return NULL;
}

/* True if the message reserves the number; the end of a range is not part of
 * it. Asked by compat_removed() and compat_added(). */
static bool
compat_reserves(const Idl__Message *m, int32_t number)
{
    for (size_t i = 0; i < m->n_reserved_range; i++)
        if (number >= m->reserved_range[i]->start &&
            number < m->reserved_range[i]->end)
            return true;
    return false;
}

/* Returns a number that types have in common which can stand for each other, 0
 * for one that stands for itself alone. Called by compat_types(). */
static int
compat_kind(int type)
{
    switch (type) {
    case IDL__FIELD__TYPE__TYPE_INT32:
    case IDL__FIELD__TYPE__TYPE_UINT32:
    case IDL__FIELD__TYPE__TYPE_INT64:
    case IDL__FIELD__TYPE__TYPE_UINT64:
        return 1;
    case IDL__FIELD__TYPE__TYPE_SINT32:
    case IDL__FIELD__TYPE__TYPE_SINT64:
        return 2;
    case IDL__FIELD__TYPE__TYPE_FIXED32:
    case IDL__FIELD__TYPE__TYPE_SFIXED32:
        return 3;
    case IDL__FIELD__TYPE__TYPE_FIXED64:
    case IDL__FIELD__TYPE__TYPE_SFIXED64:
        return 4;
    case IDL__FIELD__TYPE__TYPE_STRING:
    case IDL__FIELD__TYPE__TYPE_BYTES:
        return 5;
    default:
        return 0;
    }
}

/* True if a value of one type can be read as the other: bool and enum each as
 * the integers without "s", but not as each other. Asked by compat_field(). */
static bool
compat_types(int a, int b)
{
    bool a_small =
        a == IDL__FIELD__TYPE__TYPE_BOOL || a == IDL__FIELD__TYPE__TYPE_ENUM;
    bool b_small =
        b == IDL__FIELD__TYPE__TYPE_BOOL || b == IDL__FIELD__TYPE__TYPE_ENUM;

    if (a == b)
        return true;
    if (a_small || b_small)
        return compat_kind(a_small ? b : a) == 1;
    return compat_kind(a) != 0 && compat_kind(a) == compat_kind(b);
}

/* True if one value and many of this type can be read as each other: numbers
 * may be packed, others not. Asked by compat_field(). */
static bool
compat_repeats(int type)
{
    return type == IDL__FIELD__TYPE__TYPE_MESSAGE || compat_kind(type) == 5;
}

/* Returns the error for a field of a message, or without a field for the
 * message. `rule` says what is not compatible. Called by the functions that
 * compare fields. */
static const char *
compat_breaks(const struct compat *c, const struct type *now,
              const Idl__Field *at, const Idl__Field *field, const char *rule)
{
    const struct place *place = now->place;

    for (size_t i = 0; at != NULL && i < now->message->n_field; i++)
        if (now->message->field[i] == at)
            place = place_child(c->arena, place, MESSAGE_FIELD, (int32_t)i);
    return place_error(c->arena, place,
                       "field %" PRId32 " '%s' of '%s' is not compatible with "
                       "compat=%s: %s",
                       field->number, field->name, now->full_name, c->file,
                       rule);
}

/* Checks a field that both versions have. Called by compat_message(). */
static const char *
compat_field(struct compat *c, const struct type *now, const Idl__Field *f,
             const Idl__Field *g)
{
    bool was_many = f->label == IDL__FIELD__LABEL__LABEL_REPEATED;
    bool is_many = g->label == IDL__FIELD__LABEL__LABEL_REPEATED;
    const struct type *a, *b;

    if (!compat_types((int)f->type, (int)g->type))
        return compat_breaks(
            c, now, g, g,
            arena_printf(c->arena,
                         "its type was %s and is %s, which cannot be read as "
                         "each other; give the new type a new number, and "
                         "reserve this one",
                         schema_type_name((int)f->type),
                         schema_type_name((int)g->type)));
    if ((f->label == IDL__FIELD__LABEL__LABEL_REQUIRED) !=
        (g->label == IDL__FIELD__LABEL__LABEL_REQUIRED))
        return compat_breaks(c, now, g, g,
                             "a field may not become required, or be so no "
                             "more");
    if (was_many != is_many &&
        (!compat_repeats((int)f->type) || !compat_repeats((int)g->type)))
        return compat_breaks(c, now, g, g,
                             "only strings, bytes and messages may change "
                             "between singular and repeated");
    a = types_find(c->old, f->type_name);
    b = types_find(c->now, g->type_name);
    if (f->type_name != NULL && f->type_name[0] != '\0' && a == NULL)
        return compat_breaks(c, now, g, g,
                             "its type is not in that file; write the file by "
                             "protoc --include_imports -o");
    if (a != NULL && b != NULL)
        compat_pair_add(c, a, b);
    return NULL;
}

/* Checks a field that only the older version has. Called by
 * compat_message(). */
static const char *
compat_removed(const struct compat *c, const struct type *now,
               const Idl__Field *f)
{
    if (f->label == IDL__FIELD__LABEL__LABEL_REQUIRED)
        return compat_breaks(c, now, NULL, f,
                             "a required field may not be removed");
    if (!compat_reserves(now->message, f->number))
        return compat_breaks(c, now, NULL, f,
                             "it was removed without reserving its number; "
                             "write that in a line `reserved`");
    return NULL;
}

/* Checks a field that only the present version has. Called by
 * compat_message(). */
static const char *
compat_added(const struct compat *c, const struct type *old,
             const struct type *now, const Idl__Field *g)
{
    if (g->label == IDL__FIELD__LABEL__LABEL_REQUIRED)
        return compat_breaks(c, now, g, g, "a required field may not be added");
    if (compat_reserves(old->message, g->number))
        return compat_breaks(c, now, g, g,
                             "its number was reserved; take one that was never "
                             "used");
    return NULL;
}

/* True if both fields are in one oneof. Asked by compat_oneofs(). */
static bool
compat_same_oneof(const Idl__Field *a, const Idl__Field *b)
{
    return a->has_oneof_index && b->has_oneof_index &&
           a->oneof_index == b->oneof_index;
}

/* Checks that fields which both versions have are in one oneof in both or in
 * neither. Called by compat_message(). */
static const char *
compat_oneofs(const struct compat *c, const struct type *old,
              const struct type *now, const Idl__Field *g)
{
    const Idl__Field *f = compat_find(old->message, g->number);

    for (size_t i = 0; i < now->message->n_field; i++) {
        const Idl__Field *h = now->message->field[i];
        const Idl__Field *e = compat_find(old->message, h->number);

        if (h == g || e == NULL ||
            compat_same_oneof(f, e) == compat_same_oneof(g, h))
            continue;
        return compat_breaks(c, now, g, g,
                             arena_printf(c->arena,
                                          "it and field %" PRId32
                                          " '%s' are in one oneof in "
                                          "one version only",
                                          h->number, h->name));
    }
    return NULL;
}

/* --- types --------------------------------------------------------------- */

/* Checks two versions of a message; those of its fields' types follow. Called
 * by compat_pairs(). */
static const char *
compat_message(struct compat *c, const struct type *old, const struct type *now)
{
    const char *problem = NULL;

    for (size_t i = 0; i < old->message->n_field && problem == NULL; i++) {
        const Idl__Field *f = old->message->field[i];
        const Idl__Field *g = compat_find(now->message, f->number);

        problem =
            g != NULL ? compat_field(c, now, f, g) : compat_removed(c, now, f);
        if (problem == NULL && g != NULL &&
            g->has_oneof_index + f->has_oneof_index > 0)
            problem = compat_oneofs(c, old, now, g);
    }
    for (size_t i = 0; i < now->message->n_field && problem == NULL; i++) {
        const Idl__Field *g = now->message->field[i];

        if (compat_find(old->message, g->number) == NULL)
            problem = compat_added(c, old, now, g);
    }
    return problem;
}

/* True if the enum has the number, or reserves it; the end of a range is part
 * of it. Asked by compat_enum(). */
static bool
compat_enum_has(const Idl__Enum *e, int32_t number)
{
    for (size_t i = 0; i < e->n_value; i++)
        if (e->value[i]->number == number)
            return true;
    for (size_t i = 0; i < e->n_reserved_range; i++)
        if (number >= e->reserved_range[i]->start &&
            number <= e->reserved_range[i]->end)
            return true;
    return false;
}

/* Checks two versions of an enum. Called by compat_pairs(). */
static const char *
compat_enum(const struct compat *c, const struct type *old,
            const struct type *now)
{
    for (size_t i = 0; i < old->enumeration->n_value; i++) {
        const Idl__EnumValue *v = old->enumeration->value[i];

        if (!compat_enum_has(now->enumeration, v->number))
            return place_error(
                c->arena, now->place,
                "enum '%s' is not compatible with compat=%s: its value %" PRId32
                " '%s' was removed without reserving the number; write that in "
                "a line `reserved`",
                now->full_name, c->file, v->number, v->name);
    }
    return NULL;
}

/* Checks all pairs of types that methods lead to. Called by
 * compat_service(). */
static const char *
compat_pairs(struct compat *c)
{
    const char *problem = NULL;

    for (size_t i = 0; i < c->n && problem == NULL; i++) {
        const struct type *old = c->pairs[i].old, *now = c->pairs[i].now;

        if (old->message != NULL && now->message != NULL)
            problem = compat_message(c, old, now);
        else if (old->enumeration != NULL && now->enumeration != NULL)
            problem = compat_enum(c, old, now);
    }
    return problem;
}

/* --- services ------------------------------------------------------------ */

/* True if the older method is one_way. Asked by compat_method(). */
static bool
compat_one_way(const Idl__Method *m)
{
    return m->options != NULL && m->options->verbcall_method != NULL &&
           m->options->verbcall_method->one_way;
}

/* Sets the older version of a method, for the fingerprint, and compares it with
 * the present one. Called by compat_service(). */
static const char *
compat_method(struct compat *c, struct model_method *m, const Idl__Method *from,
              const struct model_service *now)
{
    const struct type *request = types_message(c->old, from->input_type);
    const struct type *reply = types_message(c->old, from->output_type);
    const struct model_method *n = now->methods;

    if (request == NULL || reply == NULL)
        return arena_printf(c->arena,
                            "compat=%s lacks a message of method '%s': write "
                            "the file by protoc --include_imports -o",
                            c->file, from->name);
    m->name = from->name;
    m->client_streaming = from->client_streaming;
    m->server_streaming = from->server_streaming;
    m->request.full_name = request->full_name;
    m->reply.full_name = reply->full_name;
    while (n < now->methods + now->n_methods && strcmp(n->name, m->name) != 0)
        n++;
    if (n == now->methods + now->n_methods)
        return place_error(c->arena, now->place,
                           "service '%s' is not compatible with compat=%s: "
                           "its method '%s' was removed",
                           now->full_name, c->file, m->name);
    if (m->client_streaming != n->client_streaming ||
        m->server_streaming != n->server_streaming ||
        compat_one_way(from) != n->one_way)
        return place_error(c->arena, n->place,
                           "method '%s' is not compatible with compat=%s: "
                           "which sides stream, and one_way, may not change",
                           m->name, c->file);
    compat_pair_add(c, request,
                    types_find(c->now, arena_printf(c->arena, ".%s",
                                                    n->request.full_name)));
    compat_pair_add(
        c, reply,
        types_find(c->now, arena_printf(c->arena, ".%s", n->reply.full_name)));
    return NULL;
}

/* Adds a fingerprint to those that the service accepts, unless it is there or
 * its own. Called by compat_service(). */
static void
compat_accept(struct arena *arena, struct model_service *service,
              uint32_t fingerprint)
{
    uint32_t *more = arena_array(arena, service->n_accepted + 1, sizeof *more);

    if (fingerprint == service->fingerprint)
        return;
    for (size_t i = 0; i < service->n_accepted; i++) {
        if (service->accepted[i] == fingerprint)
            return;
        more[i] = service->accepted[i];
    }
    more[service->n_accepted++] = fingerprint;
    service->accepted = more;
}

/* Compares the older version of a service with the present one, and has the
 * present one accept it. Called by compat_file(). */
static const char *
compat_service(struct compat *c, const Idl__Service *from,
               struct model_service *now)
{
    struct model_service old = {.full_name = now->full_name,
                                .n_methods = from->n_method};
    const char *problem = NULL;

    c->n = 0;
    old.methods = arena_array(c->arena, from->n_method, sizeof *old.methods);
    for (size_t i = 0; i < from->n_method && problem == NULL; i++)
        problem = compat_method(c, &old.methods[i], from->method[i], now);
    if (problem == NULL)
        problem = compat_pairs(c);
    if (problem == NULL)
        compat_accept(c->arena, now,
                      schema_fingerprint(c->arena, c->old, &old));
    return problem;
}

/* Compares the services of one file of the set. Called by compat_add(). */
static const char *
compat_file(struct compat *c, const Idl__File *from, struct model_file *now)
{
    const char *package = from->package != NULL ? from->package : "";
    const char *problem = NULL;

    for (size_t i = 0; i < from->n_service && problem == NULL; i++) {
        const char *name =
            arena_printf(c->arena, "%s%s%s", package,
                         package[0] != '\0' ? "." : "", from->service[i]->name);

        for (size_t j = 0; j < now->n_services && problem == NULL; j++)
            if (strcmp(now->services[j].full_name, name) == 0)
                problem =
                    compat_service(c, from->service[i], &now->services[j]);
    }
    return problem;
}

/* Reads the file. Called by compat_add(). */
static const char *
compat_read(struct arena *arena, const char *file, Idl__Request **request)
{
    FILE *in = fopen(file, "rb");
    const char *problem;
    struct bytes bytes;

    if (in == NULL)
        return arena_printf(arena, "compat=%s cannot be opened: %s", file,
                            strerror(errno));
    problem = request_read(in, arena, &bytes);
    fclose(in);
    if (problem == NULL)
        problem = request_parse_set(arena, bytes, request);
    return problem == NULL
               ? NULL
               : arena_printf(arena,
                              "compat=%s is no FileDescriptorSet, as protoc "
                              "--include_imports -o writes it: %s",
                              file, problem);
}

const char *
compat_add(struct arena *arena, const char *file, const struct types *types,
           struct model *model)
{
    struct compat c = {.arena = arena, .file = file, .now = types};
    struct types old;
    Idl__Request *request;
    const char *problem = compat_read(arena, file, &request);

    if (problem != NULL)
        return problem;
    types_build(&old, arena, request);
    c.old = &old;
    for (size_t i = 0; i < request->n_proto_file && problem == NULL; i++)
        for (size_t j = 0; j < model->n_files && problem == NULL; j++)
            problem = compat_file(&c, request->proto_file[i], &model->files[j]);
    return problem;
}
