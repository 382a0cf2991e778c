/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Where an item stands in its .proto file: the path that source_code_info uses,
 * kept as a chain. It is looked up when a line or a comment is needed.
 *
 * One thread, as all of the plugin.
 *
 * Called by: check.c (file, error), model.c (file, comment, error), types.c
 * (file), members.c (line, error), place.c (line), symbols.c (line, error),
 * compat.c (error), many files (child). */
#ifndef VC_IDL_PLACE_H
#define VC_IDL_PLACE_H

#include <stdint.h>

#include "idl/arena.h"
#include "idl/plugin.pb-c.h"

#define PLACE_ONLY (-1) /* the field is not repeated */

struct place_lookup;

struct place {
    const Idl__File *file;
    struct place_lookup *lookup; /* that of the file */
    const struct place *parent;  /* NULL for the file itself */
    int32_t field;               /* number in the parent's descriptor */
    int32_t index;               /* index in a repeated field, or PLACE_ONLY */
};

/* Return the place of a file, and that of an item in its parent, in the arena
 * and never NULL. Called while types and the model are built, and where errors
 * and clashes are looked for. */
struct place *place_file(struct arena *arena, const Idl__File *file);
struct place *place_child(struct arena *arena, const struct place *parent,
                          int32_t field, int32_t index);

/* Returns the line, from 1, for error texts. An item without a location of its
 * own, as a map's entry, has that of its parent; in a file without locations
 * every item is on line 1. */
int place_line(const struct place *place);

/* Returns the comment before the item, a part of the request, or NULL. Called
 * for services and methods when the model is built. */
const char *place_comment(const struct place *place);

/* place_error - returns "x.proto:12: text", the format of every error, in the
 * arena and never NULL. Called by all checks, and when the model is built. */
char *place_error(struct arena *arena, const struct place *place,
                  const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
