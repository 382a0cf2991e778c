/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads and checks what protoc sends on standard input. All functions named
 * ..._valid() run within request_parse().
 *
 * One thread, as all of the plugin. Error texts are constants or lie in the
 * arena, as do the bytes and the request: no caller frees them. */
#include "idl/request.h"

#include <string.h>

#include "idl/names.h"
#include "idl/text.h"

#define READ_SIZE 65536

const char *
request_read(FILE *in, struct arena *arena, struct bytes *bytes)
{
    struct text text;
    size_t n;

    text_init(&text, arena);
    do {
        text_reserve(&text, READ_SIZE);
        n = fread(text.data + text.length, 1, READ_SIZE, in);
        text.length += n;
    } while (n > 0);
    if (ferror(in))
        return "the request could not be read from standard input";
    if (text.length == 0)
        return "the request on standard input is empty";
    *bytes = (struct bytes){(const uint8_t *)text.data, text.length};
    return NULL;
}

/* True when the name can stand in an #include: it is not NULL, not empty, and
 * has no quotation mark, backslash or control character. Called by
 * request_check() for each file. */
static bool
file_name_valid(const char *name)
{
    if (name == NULL || name[0] == '\0')
        return false;
    for (; *name != '\0'; name++)
        if ((unsigned char)*name < ' ' || strchr("\"\\\x7f", *name) != NULL)
            return false;
    return true;
}

/* True when all n enums and their values are named by identifiers. Called by
 * file_valid(), and by messages_valid() for nested ones. */
static bool
enums_valid(Idl__Enum *const *enums, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const Idl__Enum *e = enums[i];

        if (e->name == NULL || !names_valid(e->name))
            return false;
        for (size_t j = 0; j < e->n_value; j++)
            if (e->value[j]->name == NULL || !names_valid(e->value[j]->name))
                return false;
    }
    return true;
}

/* True when all n fields or extensions are named by identifiers. Called by
 * file_valid() and messages_valid(). */
static bool
fields_valid(Idl__Field *const *fields, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fields[i]->name == NULL || !names_valid(fields[i]->name))
            return false;
    return true;
}

/* True when all n messages are named by identifiers, and their fields,
 * extensions, enums, oneofs and nested messages too. Called by file_valid() and
 * by itself; wire_check() has bounded the depth. */
static bool
messages_valid(Idl__Message *const *messages, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const Idl__Message *m = messages[i];

        if (m->name == NULL || !names_valid(m->name) ||
            !fields_valid(m->field, m->n_field) ||
            !fields_valid(m->extension, m->n_extension) ||
            !enums_valid(m->enum_type, m->n_enum_type) ||
            !messages_valid(m->nested_type, m->n_nested_type))
            return false;
        for (size_t j = 0; j < m->n_oneof_decl; j++)
            if (m->oneof_decl[j]->name == NULL ||
                !names_valid(m->oneof_decl[j]->name))
                return false;
    }
    return true;
}

/* True when all n services and their methods are named by identifiers. Called
 * by file_valid(). */
static bool
services_valid(Idl__Service *const *services, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const Idl__Service *s = services[i];

        if (s->name == NULL || !names_valid(s->name))
            return false;
        for (size_t j = 0; j < s->n_method; j++)
            if (s->method[j]->name == NULL || !names_valid(s->method[j]->name))
                return false;
    }
    return true;
}

/* True when the package, if any, and all names that the file defines are
 * identifiers. Called by request_check() for each file, imported ones
 * included. */
static bool
file_valid(const Idl__File *file)
{
    const char *package = file->package;

    return (package == NULL || package[0] == '\0' ||
            names_valid_dotted(package)) &&
           enums_valid(file->enum_type, file->n_enum_type) &&
           fields_valid(file->extension, file->n_extension) &&
           messages_valid(file->message_type, file->n_message_type) &&
           services_valid(file->service, file->n_service);
}

const Idl__File *
request_file(const Idl__Request *request, const char *name)
{
    for (size_t i = 0; i < request->n_proto_file; i++)
        if (strcmp(request->proto_file[i]->name, name) == 0)
            return request->proto_file[i];
    return NULL;
}

bool
request_generates(const Idl__Request *request, const Idl__File *file)
{
    for (size_t i = 0; i < request->n_file_to_generate; i++)
        if (strcmp(request->file_to_generate[i], file->name) == 0)
            return true;
    return false;
}

/* Checks what request.h promises of names, for request_check() and
 * request_parse_set(). Returns NULL, or the error text. */
static const char *
names_check(struct arena *arena, const Idl__Request *request)
{
    for (size_t i = 0; i < request->n_proto_file; i++) {
        const Idl__File *file = request->proto_file[i];

        if (!file_name_valid(file->name))
            return "the request has a file whose name C cannot include";
        if (!file_valid(file))
            return arena_printf(arena, "%s has a name that is no identifier",
                                file->name);
    }
    return NULL;
}

/* Checks what request.h promises of names and of files to generate, as the last
 * step of request_parse(). Returns NULL, or the error text. */
static const char *
request_check(struct arena *arena, const Idl__Request *request)
{
    const char *problem = names_check(arena, request);

    if (problem != NULL)
        return problem;
    if (request->n_file_to_generate == 0)
        return "the request names no files to generate";
    for (size_t i = 0; i < request->n_file_to_generate; i++)
        if (request_file(request, request->file_to_generate[i]) == NULL)
            return "the request lacks a file that is to be generated";
    return NULL;
}

const char *
request_parse(struct arena *arena, struct bytes bytes, Idl__Request **request)
{
    ProtobufCAllocator allocator = arena_allocator(arena);
    const char *problem = wire_check(&idl__request__descriptor, bytes);

    if (problem != NULL)
        return arena_printf(arena, "the request cannot be read: %s", problem);
    *request = idl__request__unpack(&allocator, bytes.length, bytes.data);
    if (*request == NULL)
        return "the request cannot be read: protobuf-c refuses it";
    return request_check(arena, *request);
}

const char *
request_parse_set(struct arena *arena, struct bytes bytes,
                  Idl__Request **request)
{
    ProtobufCAllocator allocator = arena_allocator(arena);
    const char *problem = wire_check(&idl__file_set__descriptor, bytes);
    Idl__FileSet *set;

    if (problem != NULL)
        return problem;
    set = idl__file_set__unpack(&allocator, bytes.length, bytes.data);
    if (set == NULL)
        return "protobuf-c refuses it";
    *request = arena_alloc(arena, sizeof **request);
    idl__request__init(*request);
    (*request)->n_proto_file = set->n_file;
    (*request)->proto_file = set->file;
    return names_check(arena, *request);
}
