/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Collects a file with all that it imports. protoc sends each file after those
 * that it imports. If a broken protoc sends an import later, it is not found.
 *
 * All of it runs within file_sets_build(), which generate.c calls at most once,
 * on the only thread of the plugin. All that it makes lies in the arena. */
#include "idl/file_set.h"

#include <string.h>

#include "idl/text.h"

/* field numbers in CodeGeneratorRequest, FileDescriptorProto and
 * FileDescriptorSet */
#define REQUEST_FILE  15
#define FILE_LOCATION 9
#define SET_FILE      1

struct import {
    size_t n;
    size_t *files; /* indices of earlier files */
};

struct files {
    struct arena *arena;
    const Idl__Request *request;
    struct bytes *packed; /* without locations */
    struct import *imports;
};

/* Returns the file's descriptor without locations, as new bytes. Called by
 * packed_build() for each file. */
static struct bytes
file_strip(struct arena *arena, struct bytes file)
{
    struct wire_field field;
    struct text out;

    text_init(&out, arena);
    while (wire_next(&file, &field) > 0)
        if (field.number != FILE_LOCATION)
            text_add_bytes(&out, field.whole.data, field.whole.length);
    return (struct bytes){(const uint8_t *)out.data, out.length};
}

/* Sets files->packed, in the order of proto_file. The first step of
 * file_sets_build(); request is the request, packed. */
static void
packed_build(struct files *files, struct bytes request)
{
    size_t n = files->request->n_proto_file, i = 0;
    struct wire_field field;

    files->packed = arena_array(files->arena, n, sizeof *files->packed);
    while (i < n && wire_next(&request, &field) > 0)
        if (field.number == REQUEST_FILE)
            files->packed[i++] = file_strip(files->arena, field.value);
}

/* Adds the file with this name to the imports of file i, for imports_build().
 * It does nothing if that file is not before file i. */
static void
import_add(struct files *files, size_t i, const char *name)
{
    struct import *import = &files->imports[i];

    for (size_t j = 0; j < i; j++)
        if (strcmp(files->request->proto_file[j]->name, name) == 0) {
            import->files[import->n++] = j;
            return;
        }
}

/* Sets files->imports, the direct imports of each file. The second step of
 * file_sets_build(). */
static void
imports_build(struct files *files)
{
    size_t n = files->request->n_proto_file;

    files->imports = arena_array(files->arena, n, sizeof *files->imports);
    for (size_t i = 0; i < n; i++) {
        const Idl__File *file = files->request->proto_file[i];

        files->imports[i].files = arena_array(files->arena, file->n_dependency,
                                              sizeof(*files->imports->files));
        for (size_t j = 0; j < file->n_dependency; j++)
            import_add(files, i, file->dependency[j]);
    }
}

/* Marks all direct and indirect imports of the marked files, up to file `last`.
 * Called by set_pack(), with only `last` marked. */
static void
imports_mark(const struct files *files, bool *marked, size_t last)
{
    for (size_t i = last + 1; i-- > 0;)
        for (size_t j = 0; marked[i] && j < files->imports[i].n; j++)
            marked[files->imports[i].files[j]] = true;
}

/* Returns the set of the file with this name, which the request has, as new
 * bytes. Called by file_sets_build() for each file with services. */
static struct bytes
set_pack(const struct files *files, const char *name)
{
    size_t n = files->request->n_proto_file, own = 0;
    bool *marked = arena_array(files->arena, n, sizeof *marked);
    struct text out;

    while (strcmp(files->request->proto_file[own]->name, name) != 0)
        own++;
    marked[own] = true;
    imports_mark(files, marked, own);

    text_init(&out, files->arena);
    for (size_t i = 0; i <= own; i++)
        if (marked[i])
            wire_add_message(&out, SET_FILE, files->packed[i]);
    return (struct bytes){(const uint8_t *)out.data, out.length};
}

void
file_sets_build(struct arena *arena, struct bytes bytes,
                const Idl__Request *request, struct model *model)
{
    struct files files = {.arena = arena, .request = request};

    packed_build(&files, bytes);
    imports_build(&files);
    for (size_t i = 0; i < model->n_files; i++)
        if (model->files[i].n_services > 0)
            model->files[i].set = set_pack(&files, model->files[i].name);
}
