/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Finds what is valid in a .proto file but cannot be generated. generate.c
 * calls check_files() and check_services(), at most once each, on the only
 * thread of the plugin. All other functions run within one of the two.
 *
 * Every function returns NULL when good, else an error text. It lies in the
 * arena: no caller frees it. */
#include "idl/check.h"

#include <inttypes.h>
#include <string.h>

#include "idl/defaults.h"
#include "idl/request.h"

#define METHODS_MAX    1024 /* in a service */
#define TIMEOUT_MAX_MS INT32_MAX

/* field numbers in FileDescriptorProto and DescriptorProto */
#define FILE_EXTENSION    7
#define FILE_SYNTAX       12
#define MESSAGE_FIELD     2
#define MESSAGE_EXTENSION 6
#define MESSAGE_OPTIONS   7

/* Refuses a syntax that is neither proto2 nor proto3, such as editions. None,
 * or an empty one, is proto2. Called by check_file(). */
static const char *
check_syntax(struct arena *arena, const Idl__File *file)
{
    const char *syntax = file->syntax;
    const struct place *place;

    if (syntax == NULL || syntax[0] == '\0' || strcmp(syntax, "proto2") == 0 ||
        strcmp(syntax, "proto3") == 0)
        return NULL;
    place =
        place_child(arena, place_file(arena, file), FILE_SYNTAX, PLACE_ONLY);
    return place_error(arena, place,
                       "syntax '%s' is not supported; write syntax = "
                       "\"proto3\"; or syntax = \"proto2\";",
                       syntax);
}

/* Refuses the first group among n fields or extensions; number is that of their
 * list in the descriptor of parent. Called by check_message() and
 * check_file(). */
static const char *
check_groups(struct arena *arena, Idl__Field *const *fields, size_t n,
             const struct place *parent, int32_t number)
{
    for (size_t i = 0; i < n; i++)
        if (fields[i]->has_type &&
            fields[i]->type == IDL__FIELD__TYPE__TYPE_GROUP)
            return place_error(
                arena, place_child(arena, parent, number, (int32_t)i),
                "'%s' is a group, which protobuf-c does not have; write a "
                "message and a field of its type",
                fields[i]->name);
    return NULL;
}

/* Refuses the first default value in which defaults_problem() finds a problem.
 * Called by check_message(). */
static const char *
check_defaults(struct arena *arena, const struct type *type)
{
    const Idl__Message *m = type->message;

    for (size_t i = 0; i < m->n_field; i++) {
        const char *problem = defaults_problem(arena, m->field[i]);

        if (problem != NULL)
            return place_error(
                arena,
                place_child(arena, type->place, MESSAGE_FIELD, (int32_t)i),
                "the default value of '%s' %s", m->field[i]->name, problem);
    }
    return NULL;
}

/* Refuses a field in no oneof, if the file has the option use_oneof_field_name:
 * protoc-gen-c then looks up the oneof of every field. Called by
 * check_message(). */
static const char *
check_oneof_names(struct arena *arena, const struct type *type)
{
    const Idl__Message *m = type->message;
    const Idl__FileOptions *options = type->place->file->options;

    if (options == NULL || options->pb_c_file == NULL ||
        !options->pb_c_file->use_oneof_field_name)
        return NULL;
    for (size_t i = 0; i < m->n_field; i++)
        if (!m->field[i]->has_oneof_index)
            return place_error(
                arena,
                place_child(arena, type->place, MESSAGE_FIELD, (int32_t)i),
                "'%s' is in no oneof, and protoc-gen-c crashes when it is to "
                "use_oneof_field_name; take that option out",
                m->field[i]->name);
    return NULL;
}

/* Refuses option message_set_wire_format. Called by check_message(). */
static const char *
check_set(struct arena *arena, const struct type *type)
{
    const Idl__MessageOptions *options = type->message->options;

    if (options == NULL || !options->message_set_wire_format)
        return NULL;
    return place_error(
        arena, place_child(arena, type->place, MESSAGE_OPTIONS, PLACE_ONLY),
        "'%s' has the wire format of a message set, whose groups protobuf-c "
        "does not have; take the option out, or write a repeated "
        "google.protobuf.Any",
        type->full_name);
}

/* Checks a message, without those nested in it. Called by check_files() for
 * each message of a file to generate. */
static const char *
check_message(struct arena *arena, const struct type *type)
{
    const Idl__Message *m = type->message;
    const char *problem = check_set(arena, type);

    if (problem == NULL)
        problem = check_defaults(arena, type);
    if (problem == NULL)
        problem = check_oneof_names(arena, type);
    if (problem != NULL)
        return problem;
    problem =
        check_groups(arena, m->field, m->n_field, type->place, MESSAGE_FIELD);
    if (problem != NULL)
        return problem;
    return check_groups(arena, m->extension, m->n_extension, type->place,
                        MESSAGE_EXTENSION);
}

/* Checks the syntax of a file, and its extensions outside of messages. Called
 * by check_files() for each file to generate. */
static const char *
check_file(struct arena *arena, const Idl__File *file)
{
    const char *problem = check_syntax(arena, file);

    if (problem != NULL)
        return problem;
    return check_groups(arena, file->extension, file->n_extension,
                        place_file(arena, file), FILE_EXTENSION);
}

const char *
check_files(struct arena *arena, const Idl__Request *request,
            const struct types *types)
{
    const char *problem = NULL;

    for (size_t i = 0; i < request->n_proto_file && problem == NULL; i++)
        if (request_generates(request, request->proto_file[i]))
            problem = check_file(arena, request->proto_file[i]);
    for (size_t i = 0; i < types->n && problem == NULL; i++) {
        const struct type *type = &types->items[i];

        if (type->message != NULL &&
            request_generates(request, type->place->file))
            problem = check_message(arena, type);
    }
    return problem;
}

/* Refuses a method whose name has the hash of an earlier one of its service.
 * Called by check_service(). */
static const char *
check_hashes(struct arena *arena, const struct model_service *service)
{
    for (size_t i = 1; i < service->n_methods; i++) {
        const struct model_method *m = &service->methods[i];

        for (size_t j = 0; j < i; j++)
            if (service->methods[j].hash == m->hash)
                return place_error(
                    arena, m->place,
                    "methods '%s' and '%s' would be the same on the wire, as "
                    "their names have the same hash 0x%08" PRIx32
                    "; rename one of them",
                    service->methods[j].name, m->name, m->hash);
    }
    return NULL;
}

/* Checks our own options of the methods: one_way, max_reply, timeout_ms. Called
 * by check_service(). */
static const char *
check_options(struct arena *arena, const struct model_service *service)
{
    for (size_t i = 0; i < service->n_methods; i++) {
        const struct model_method *m = &service->methods[i];

        if (m->one_way && model_method_streams(m))
            return place_error(arena, m->place,
                               "method '%s' has a stream and cannot be "
                               "one_way; take one of the two out",
                               m->name);
        if (m->one_way && m->max_reply > 0)
            return place_error(arena, m->place,
                               "method '%s' is one_way and has no reply that "
                               "max_reply could limit; take one of the two "
                               "out",
                               m->name);
        if (m->timeout_ms > TIMEOUT_MAX_MS)
            return place_error(arena, m->place,
                               "timeout_ms of method '%s' is %" PRIu32
                               ", and %d is the most; leave it out for that "
                               "of the channel",
                               m->name, m->timeout_ms, TIMEOUT_MAX_MS);
    }
    return NULL;
}

/* Checks the number of methods first, then their options and hashes. Called by
 * check_services() for each service. */
static const char *
check_service(struct arena *arena, const struct model_service *service)
{
    const char *problem;

    if (service->n_methods > METHODS_MAX)
        return place_error(arena, service->place,
                           "service '%s' has %zu methods, and %d are the most; "
                           "make two services of it",
                           service->full_name, service->n_methods, METHODS_MAX);
    problem = check_options(arena, service);
    return problem != NULL ? problem : check_hashes(arena, service);
}

const char *
check_services(struct arena *arena, const struct model *model)
{
    const char *problem = NULL;

    for (size_t i = 0; i < model->n_files; i++)
        for (size_t j = 0; j < model->files[i].n_services; j++) {
            problem = check_service(arena, &model->files[i].services[j]);
            if (problem != NULL)
                return problem;
        }
    return NULL;
}
