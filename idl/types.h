/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * All messages and enums of a request, those of imported files included. They
 * can be walked in the order of the files or found by name.
 *
 * One thread, as all of the plugin.
 *
 * Called by: compat.c (build, find, message), generate.c (build), members.c
 * (find, not_generated), schema.c (find), types.c (find), model.c (message,
 * not_generated), symbols.c (not_generated). */
#ifndef VC_IDL_TYPES_H
#define VC_IDL_TYPES_H

#include <stdbool.h>
#include <stddef.h>

#include "idl/arena.h"
#include "idl/place.h"
#include "idl/plugin.pb-c.h"

struct type {
    const char *full_name; /* without a leading dot */
    const struct place *place;
    const Idl__Message *message;  /* NULL for an enum */
    const Idl__Enum *enumeration; /* NULL for a message */
};

struct types {
    struct arena *arena;
    size_t n;
    struct type *items; /* in the order of the files, outer before inner */
    struct type **by_name;
};

/* types_build - sets types: all messages and enums of the request. Called
 * within generate(), after it has parsed the request and its parameters. */
void types_build(struct types *types, struct arena *arena,
                 const Idl__Request *request);

/* types_find - returns the message or enum with a name as fields have it, with
 * a leading dot. Called for each field of a message to generate, and by
 * types_message(). NULL when there is none, or name is NULL. */
const struct type *types_find(const struct types *types, const char *name);

/* types_message - returns the message with a name as method descriptors have
 * it, with its leading dot; NULL when there is none. Called for what a method
 * takes and returns. */
const struct type *types_message(const struct types *types, const char *name);

/* True when protoc-gen-c leaves the file out: (pb_c_file).no_generate. Asked
 * for each file or type whose C code is needed. */
bool types_not_generated(const Idl__File *file);

#endif
