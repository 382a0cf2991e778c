/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * protoc-gen-verbcall: protoc runs it, writes a CodeGeneratorRequest to its
 * standard input and reads a CodeGeneratorResponse from its standard output.
 * What a user can mend goes into the response as an error, which protoc
 * prints; what only a broken protoc does goes to standard error. */
#define _POSIX_C_SOURCE 200809L
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "idl/adapt.h"
#include "idl/arena.h"
#include "idl/chain.h"
#include "idl/check.h"
#include "idl/emit.h"
#include "idl/file_set.h"
#include "idl/members.h"
#include "idl/model.h"
#include "idl/plugin.pb-c.h"
#include "idl/request.h"
#include "idl/symbols.h"
#include "idl/text.h"
#include "idl/types.h"
#include "idl/unions.h"

#define PROGRAM "protoc-gen-verbcall"

#define EXIT_USAGE 2

/* of CodeGeneratorResponse.Feature */
#define FEATURE_PROTO3_OPTIONAL 1

static const char help[] =
    "This is a plugin of protoc, which runs it by the name of its option:\n"
    "\n"
    "    protoc --verbcall_out=DIR FILE.proto...\n"
    "\n"
    "For each x.proto it writes into DIR\n"
    "    x.pb-c.h, x.pb-c.c  messages, made by protoc-gen-c\n"
    "    x.vc.h, x.vc.c      services: tables, handlers, client functions\n"
    "\n"
    "Parameters, before DIR and a colon or in --verbcall_opt:\n"
    "    services  only x.vc.h and x.vc.c; --c_out may make the others\n"
    "\n"
    "If it is not in PATH: protoc --plugin=/path/to/" PROGRAM " ...\n"
    "\n"
    "    --help     says this\n"
    "    --version  says the version\n";

struct params {
    bool services; /* only .vc files */
};

static const char *
params_parse(struct arena *arena, const char *text, struct params *params)
{
    while (text != NULL && *text != '\0') {
        int length = (int)strcspn(text, ",");

        if (length == 8 && strncmp(text, "services", 8) == 0)
            params->services = true;
        else if (length > 0)
            return arena_printf(arena,
                                "unknown parameter '%.*s'; there is only "
                                "'services', for services without messages",
                                length, text);
        text += length;
        text += *text == ',';
    }
    return NULL;
}

/* One of our files, as emit writes it. */
static Idl__Response__File *
file_make(struct arena *arena, const struct model_file *file,
          const char *ending,
          void (*emit)(struct text *out, const struct model_file *file))
{
    Idl__Response__File *made = arena_alloc(arena, sizeof *made);
    struct text text;

    text_init(&text, arena);
    emit(&text, file);
    idl__response__file__init(made);
    made->name = arena_printf(arena, "%s%s", file->stem, ending);
    made->has_content = 1;
    made->content.data = (uint8_t *)text.data;
    made->content.len = text.length;
    return made;
}

/* The files of messages, which may be none, and then ours. */
static void
files_make(struct arena *arena, const Idl__Response *messages,
           const struct model *model, Idl__Response *response)
{
    size_t n = messages->n_file;

    response->file =
        arena_array(arena, n + 2 * model->n_files, sizeof(*response->file));
    if (n > 0)
        memcpy(response->file, messages->file, n * sizeof(*response->file));
    for (size_t i = 0; i < model->n_files; i++) {
        const struct model_file *file = &model->files[i];

        response->file[n++] = file_make(arena, file, ".vc.h", emit_header);
        response->file[n++] = file_make(arena, file, ".vc.c", emit_source);
    }
    response->n_file = n;
}

static const char *
messages_make(struct arena *arena, struct bytes bytes, Idl__Response **messages)
{
    const char *problem;
    struct text adapted;

    text_init(&adapted, arena);
    adapt_request(&adapted, bytes);
    problem = chain_run(
        arena, (struct bytes){(const uint8_t *)adapted.data, adapted.length},
        messages);
    if (problem == NULL)
        unions_mark(arena, *messages);
    return problem;
}

/* NULL and the files in response, or what the user is to be told. */
static const char *
generate(struct arena *arena, struct bytes bytes, const Idl__Request *request,
         Idl__Response *response)
{
    Idl__Response none = IDL__RESPONSE__INIT, *messages = &none;
    struct params params = {false};
    struct types types;
    struct model model;
    const char *problem = params_parse(arena, request->parameter, &params);

    if (problem != NULL)
        return problem;
    types_build(&types, arena, request);
    problem = check_files(arena, request, &types);
    if (problem == NULL)
        problem = members_check(arena, request, &types);
    if (problem == NULL)
        problem = model_build(&model, arena, request, &types);
    if (problem == NULL)
        problem = check_services(arena, &model);
    if (problem == NULL)
        problem = symbols_check(arena, request, &types, &model);
    if (problem == NULL && !params.services)
        problem = messages_make(arena, bytes, &messages);
    if (problem != NULL)
        return problem;
    file_sets_build(arena, bytes, request, &model);
    files_make(arena, messages, &model, response);
    return NULL;
}

static const char *
response_write(struct arena *arena, const Idl__Response *response)
{
    size_t size = idl__response__get_packed_size(response);
    uint8_t *data = arena_alloc(arena, size);

    idl__response__pack(response, data);
    if (fwrite(data, 1, size, stdout) != size || fflush(stdout) != 0)
        return "the answer could not be written to standard output";
    return NULL;
}

/* NULL, or what is to be said on standard error. */
static const char *
run(struct arena *arena)
{
    Idl__Response response = IDL__RESPONSE__INIT;
    Idl__Request *request;
    struct bytes bytes;
    const char *problem = request_read(stdin, arena, &bytes);

    if (problem == NULL)
        problem = request_parse(arena, bytes, &request);
    if (problem != NULL)
        return problem;

    problem = generate(arena, bytes, request, &response);
    if (problem != NULL)
        response.error = arena_printf(arena, "%s", problem);
    response.has_supported_features = 1;
    response.supported_features = FEATURE_PROTO3_OPTIONAL;
    return response_write(arena, &response);
}

/* Answers a command line that is not protoc's; -1 when it is. */
static int
options(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return printf("%s\n", PROGRAM " " PACKAGE_VERSION) > 0 ? 0 : 1;
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return fputs(help, stdout) >= 0 ? 0 : 1;
    if (argc == 1 && !isatty(STDIN_FILENO))
        return -1;
    if (argc > 1)
        fprintf(stderr, PROGRAM ": takes no arguments, as protoc gives none; "
                                "but --help and --version\n");
    else
        fputs(help, stderr);
    return EXIT_USAGE;
}

int
main(int argc, char **argv)
{
    struct arena arena = {NULL};
    const char *problem;
    int status = options(argc, argv);

    if (status >= 0)
        return status;
    /* A child or a protoc that went away is told by a failing write. */
    signal(SIGPIPE, SIG_IGN);
    problem = run(&arena);
    if (problem != NULL)
        fprintf(stderr, PROGRAM ": %s\n", problem);
    arena_fini(&arena);
    return problem == NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}
