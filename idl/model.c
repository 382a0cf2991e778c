/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Builds the model of a request. generate.c calls model_build() at most once,
 * on the only thread of the plugin. All static functions run within it; their
 * results lie in the arena. The ..._build() functions, but includes_build(),
 * return NULL, or the error text of a method whose types cannot be used: no
 * caller frees it. */
#include "idl/model.h"

#include <string.h>

#include "idl/names.h"
#include "idl/request.h"
#include "idl/schema.h"
#include "transport/core/hash.h"

/* field numbers in FileDescriptorProto and ServiceDescriptorProto */
#define FILE_SERVICE   6
#define SERVICE_METHOD 2

struct builder {
    struct arena *arena;
    const struct types *types;
};

/* Sets the message that a method takes or returns, for method_build(). Returns
 * an error if the request does not have it, or if protoc-gen-c leaves its file
 * out. */
static const char *
message_build(const struct builder *b, struct model_message *message,
              const char *name, const struct place *method)
{
    const struct type *type = types_message(b->types, name);
    const Idl__File *file;

    if (type == NULL)
        return place_error(b->arena, method,
                           "the request does not say what '%s' is",
                           name != NULL ? name : "");
    file = type->place->file;
    if (types_not_generated(file))
        return place_error(b->arena, method,
                           "'%s' has no C type, as %s says "
                           "(pb_c_file).no_generate; take that option out or "
                           "use another message",
                           type->full_name, file->name);
    message->full_name = type->full_name;
    message->c_type = names_type(b->arena, file, type->full_name);
    message->c_lower = names_type_lower(b->arena, file, type->full_name);
    message->file = file;
    return NULL;
}

/* Copies our own options of a method, for method_build(); NULL: it has none. */
static void
verbcall_options(struct model_method *method,
                 const Idl__VerbcallMethod *options)
{
    if (options == NULL)
        return;
    method->one_way = options->one_way;
    method->blocking = options->blocking;
    method->timeout_ms = options->timeout_ms;
    method->max_calls = options->max_calls;
    method->max_reply = options->max_reply;
}

/* Sets all of a method but c_enum, which its caller sets: service_build().
 * Returns NULL, or the error of message_build(). */
static const char *
method_build(const struct builder *b, struct model_method *method,
             const Idl__Method *from, const struct place *place)
{
    const Idl__MethodOptions *options = from->options;
    const char *problem;

    method->name = from->name;
    method->c_name = names_method(b->arena, from->name);
    method->comment = place_comment(place);
    method->place = place;
    method->client_streaming = from->client_streaming;
    method->server_streaming = from->server_streaming;
    method->hash = hash_32(from->name, strlen(from->name));
    if (options != NULL) {
        method->deprecated = options->deprecated;
        method->idempotency = options->idempotency_level;
        verbcall_options(method, options->verbcall_method);
    }
    problem = message_build(b, &method->request, from->input_type, place);
    if (problem != NULL)
        return problem;
    return message_build(b, &method->reply, from->output_type, place);
}

/* Sets a service with its methods, for file_build(). Returns NULL, or the error
 * of its first bad method. */
static const char *
service_build(const struct builder *b, struct model_service *service,
              const Idl__Service *from, const struct place *place)
{
    const Idl__File *file = place->file;
    const char *package = file->package != NULL ? file->package : "";

    service->full_name = arena_printf(
        b->arena, "%s%s%s", package, package[0] != '\0' ? "." : "", from->name);
    service->c_prefix = names_service(b->arena, file, service->full_name);
    service->comment = place_comment(place);
    service->place = place;
    service->deprecated = from->options != NULL && from->options->deprecated;
    service->id = hash_64(service->full_name, strlen(service->full_name));
    service->n_methods = from->n_method;
    service->methods =
        arena_array(b->arena, from->n_method, sizeof *service->methods);

    for (size_t i = 0; i < from->n_method; i++) {
        const struct place *at =
            place_child(b->arena, place, SERVICE_METHOD, (int32_t)i);
        const char *problem =
            method_build(b, &service->methods[i], from->method[i], at);

        if (problem != NULL)
            return problem;
        service->methods[i].c_enum = names_enumerator(
            b->arena, service->c_prefix, service->methods[i].c_name);
    }
    service->fingerprint = schema_fingerprint(b->arena, b->types, service);
    return NULL;
}

/* Adds the header of the messages of a .proto file to the file's #includes,
 * unless it is there. Called by includes_build(), which has made room. */
static void
include_add(struct model_file *file, struct arena *arena,
            const char *proto_name)
{
    const char *name =
        arena_printf(arena, "%s.pb-c.h", names_stem(arena, proto_name));

    for (size_t i = 0; i < file->n_includes; i++)
        if (strcmp(file->includes[i], name) == 0)
            return;
    file->includes[file->n_includes++] = name;
}

/* Lists the #includes of x.vc.h, for file_build(), when the services are built.
 * Room for one of the file itself and two of each method. */
static void
includes_build(struct model_file *file, struct arena *arena,
               const Idl__File *from)
{
    size_t n = 1;

    for (size_t i = 0; i < file->n_services; i++)
        n += 2 * file->services[i].n_methods;
    file->includes = arena_array(arena, n, sizeof *file->includes);

    if (!types_not_generated(from))
        include_add(file, arena, from->name);
    for (size_t i = 0; i < file->n_services; i++) {
        const struct model_service *s = &file->services[i];

        for (size_t j = 0; j < s->n_methods; j++) {
            include_add(file, arena, s->methods[j].request.file->name);
            include_add(file, arena, s->methods[j].reply.file->name);
        }
    }
}

/* Sets all of a file but its set, for model_build(). Returns NULL, or the error
 * of its first bad method. */
static const char *
file_build(const struct builder *b, struct model_file *file,
           const Idl__File *from)
{
    const struct place *place = place_file(b->arena, from);

    file->name = from->name;
    file->stem = names_stem(b->arena, from->name);
    file->guard = names_guard(b->arena, file->stem);
    file->n_services = from->n_service;
    file->services =
        arena_array(b->arena, from->n_service, sizeof *file->services);

    for (size_t i = 0; i < from->n_service; i++) {
        const struct place *at =
            place_child(b->arena, place, FILE_SERVICE, (int32_t)i);
        const char *problem =
            service_build(b, &file->services[i], from->service[i], at);

        if (problem != NULL)
            return problem;
    }
    includes_build(file, b->arena, from);
    return NULL;
}

bool
model_method_streams(const struct model_method *method)
{
    return method->client_streaming || method->server_streaming;
}

bool
model_method_has_async(const struct model_method *method)
{
    return !method->one_way && !model_method_streams(method);
}

const char *
model_build(struct model *model, struct arena *arena,
            const Idl__Request *request, const struct types *types)
{
    const struct builder builder = {arena, types};

    model->n_files = request->n_file_to_generate;
    model->files = arena_array(arena, model->n_files, sizeof *model->files);
    for (size_t i = 0; i < model->n_files; i++) {
        const Idl__File *file =
            request_file(request, request->file_to_generate[i]);
        const char *problem = file_build(&builder, &model->files[i], file);

        if (problem != NULL)
            return problem;
    }
    return NULL;
}
