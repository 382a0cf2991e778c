/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * idl/generate.h: any bytes as a request of protoc to protoc-gen-verbcall, up
 * to the generated files. chain_run() replaces protoc-gen-c, which would need a
 * process for each input. It checks the request for protoc-gen-c, and returns
 * the input bytes as the generated file. */
#include <stdbool.h>
#include <string.h>

#include "idl/chain.h"
#include "idl/generate.h"
#include "tests/fuzz/fuzz.h"

static struct bytes input;

/* The parts that protoc-gen-c must not see are removed, and nothing else. */
static void
check_adapted(struct arena *arena, struct bytes request)
{
    ProtobufCAllocator allocator = arena_allocator(arena);
    Idl__Request *whole =
        idl__request__unpack(&allocator, input.length, input.data);
    Idl__Request *adapted =
        idl__request__unpack(&allocator, request.length, request.data);

    FUZZ_CHECK(wire_check(&idl__request__descriptor, request) == NULL);
    FUZZ_CHECK(whole != NULL && adapted != NULL && adapted->parameter == NULL);
    FUZZ_CHECK(adapted->n_file_to_generate == whole->n_file_to_generate);
    FUZZ_CHECK(adapted->n_proto_file == whole->n_proto_file);
    for (size_t i = 0; i < whole->n_proto_file; i++) {
        const Idl__File *a = adapted->proto_file[i], *b = whole->proto_file[i];

        FUZZ_CHECK(a->n_service == 0);
        FUZZ_CHECK(strcmp(a->name, b->name) == 0);
        FUZZ_CHECK(a->n_message_type == b->n_message_type);
        FUZZ_CHECK(a->n_enum_type == b->n_enum_type);
    }
}

const char *
chain_run(struct arena *arena, struct bytes request, Idl__Response **response)
{
    Idl__Response__File *file = arena_alloc(arena, sizeof *file);

    check_adapted(arena, request);
    idl__response__file__init(file);
    file->name = arena_printf(arena, "x.pb-c.h");
    file->has_content = 1;
    file->content.data = arena_alloc(arena, input.length);
    file->content.len = input.length;
    memcpy(file->content.data, input.data, input.length);

    *response = arena_alloc(arena, sizeof **response);
    idl__response__init(*response);
    (*response)->n_file = 1;
    (*response)->file = arena_array(arena, 1, sizeof(*(*response)->file));
    (*response)->file[0] = file;
    return NULL;
}

/* Text from a .proto file cannot leave its comment or string. */
static void
check_comments(const char *text, size_t length)
{
    enum {
        CODE,
        COMMENT,
        STRING
    } at = CODE;

    for (size_t i = 0; i + 1 < length; i++) {
        bool opens = text[i] == '/' && text[i + 1] == '*';
        bool closes = text[i] == '*' && text[i + 1] == '/';

        FUZZ_CHECK(at != COMMENT || !opens);
        FUZZ_CHECK(at != CODE || !closes);
        FUZZ_CHECK(at != STRING || text[i] != '\n');
        if (at == CODE && opens)
            at = COMMENT, i++;
        else if (at == COMMENT && closes)
            at = CODE, i++;
        else if (at != COMMENT && text[i] == '"')
            at = at == CODE ? STRING : CODE;
    }
    FUZZ_CHECK(at == CODE);
}

/* A file for a compiler ends with a newline, and has no NUL bytes. */
static void
check_file(const Idl__Response__File *file, bool ours)
{
    const uint8_t *data = file->content.data;
    size_t length = file->content.len;

    FUZZ_CHECK(file->name != NULL && file->name[0] != '\0');
    FUZZ_CHECK(file->has_content);
    if (!ours) { /* text was only added */
        FUZZ_CHECK(length >= input.length);
        return;
    }
    FUZZ_CHECK(length > 0 && data[length - 1] == '\n');
    FUZZ_CHECK(memchr(data, '\0', length) == NULL);
    check_comments((const char *)data, length);
}

/* An error of a .proto file is "file:line: text", in one line. */
static void
check_error(const char *error)
{
    FUZZ_CHECK(error[0] != '\0' && strchr(error, '\n') == NULL);
}

static bool
is_equal(const Idl__Response *a, const Idl__Response *b)
{
    if (a->n_file != b->n_file)
        return false;
    for (size_t i = 0; i < a->n_file; i++)
        if (a->file[i]->content.len != b->file[i]->content.len ||
            memcmp(a->file[i]->content.data, b->file[i]->content.data,
                   a->file[i]->content.len) != 0)
            return false;
    return true;
}

static void
check_response(const Idl__Response *response)
{
    size_t of_messages = response->n_file % 2; /* ours come in pairs */

    if (response->error != NULL) {
        check_error(response->error);
        FUZZ_CHECK(response->n_file == 0);
        return;
    }
    FUZZ_CHECK(response->n_file > 0);
    for (size_t i = 0; i < response->n_file; i++)
        check_file(response->file[i], i >= of_messages);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct arena arena = {NULL};
    Idl__Response response, again;
    const char *problem;

    input = (struct bytes){data, len};
    problem = generate(&arena, input, &response);
    if (problem != NULL) {
        FUZZ_CHECK(problem[0] != '\0');
        FUZZ_CHECK(response.n_file == 0 && response.error == NULL);
    } else {
        check_response(&response);
        FUZZ_CHECK(generate(&arena, input, &again) == NULL);
        FUZZ_CHECK(is_equal(&response, &again));
    }
    arena_fini(&arena);
    return 0;
}
