/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See generate.h. All of it runs within generate(), which main.c calls at most
 * once, on the only thread of the plugin. Steps that can fail return NULL, or
 * an error text. Such texts are constants or lie in the arena, as do the files:
 * no caller frees them. */
#include "idl/generate.h"

#include <stdbool.h>
#include <string.h>

#include "idl/adapt.h"
#include "idl/chain.h"
#include "idl/check.h"
#include "idl/compat.h"
#include "idl/emit.h"
#include "idl/file_set.h"
#include "idl/members.h"
#include "idl/model.h"
#include "idl/request.h"
#include "idl/symbols.h"
#include "idl/text.h"
#include "idl/types.h"
#include "idl/unions.h"

/* of CodeGeneratorResponse.Feature */
#define FEATURE_PROTO3_OPTIONAL 1

struct params {
    bool services; /* generate only .vc files */
    size_t n_compat;
    const char **compat; /* files of older versions */
};

/* Parses the parameters of --verbcall_opt, as the first step of
 * files_generate(); text may be NULL. Returns NULL, or the error text for an
 * unknown parameter. */
static const char *
params_parse(struct arena *arena, const char *text, struct params *params)
{
    params->compat = arena_array(arena, text != NULL ? strlen(text) : 0,
                                 sizeof *params->compat);
    while (text != NULL && *text != '\0') {
        int length = (int)strcspn(text, ",");

        if (length == 8 && strncmp(text, "services", 8) == 0)
            params->services = true;
        else if (length > 7 && strncmp(text, "compat=", 7) == 0)
            params->compat[params->n_compat++] =
                arena_printf(arena, "%.*s", length - 7, text + 7);
        else if (length > 0)
            return arena_printf(arena,
                                "unknown parameter '%.*s'; there are "
                                "'services', for services without messages, "
                                "and 'compat=FILE', for an older version",
                                length, text);
        text += length;
        text += *text == ',';
    }
    return NULL;
}

/* Makes one of our files, for files_make(); emit, which is emit_header() or
 * emit_source(), writes its content. Returns it, in the arena; never NULL. */
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

/* Puts the files of messages, if any, and then ours into the response: the last
 * step of files_generate(). With the parameter `services`, messages has
 * none. */
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

/* Makes x.pb-c.h and x.pb-c.c of all files, by protoc-gen-c. Called by
 * files_generate(), unless the parameter is `services`. Returns NULL and the
 * files in *messages, which lies in the arena; or the error text for the
 * user. */
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

/* Called by generate() with the parsed request: checks it and makes all files.
 * Returns NULL and the files in response, or the error text for the user. */
static const char *
files_generate(struct arena *arena, struct bytes bytes,
               const Idl__Request *request, Idl__Response *response)
{
    Idl__Response none = IDL__RESPONSE__INIT, *messages = &none;
    struct params params = {.services = false};
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
    for (size_t i = 0; i < params.n_compat && problem == NULL; i++)
        problem = compat_add(arena, params.compat[i], &types, &model);
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

/* Makes the error text for the response one line, for generate(): nothing that
 * it quotes of the request can end it. Control characters become `?`. Returns a
 * copy, in the arena. */
static char *
error_make(struct arena *arena, const char *problem)
{
    char *error = arena_printf(arena, "%s", problem);

    for (char *c = error; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == '\x7f')
            *c = '?';
    return error;
}

const char *
generate(struct arena *arena, struct bytes bytes, Idl__Response *response)
{
    Idl__Request *request;
    const char *problem = request_parse(arena, bytes, &request);

    idl__response__init(response);
    if (problem != NULL)
        return problem;
    problem = files_generate(arena, bytes, request, response);
    if (problem != NULL)
        response->error = error_make(arena, problem);
    response->has_supported_features = 1;
    response->supported_features = FEATURE_PROTO3_OPTIONAL;
    return NULL;
}
