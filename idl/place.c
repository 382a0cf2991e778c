/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Where an item stands in its .proto file. One thread, as all of the plugin.
 * Places and errors lie in the arena and are never NULL. Locations and comments
 * are parts of the request. No caller frees any of them. */
#include "idl/place.h"

#include <stdlib.h>

#include "idl/wire.h"

/* Messages nest at most WIRE_DEPTH deep; their fields are one level deeper. */
#define PATH_MAX_LENGTH (2 * (WIRE_DEPTH + 2))

typedef Idl__SourceCodeInfo__Location Location;

/* The locations of a file, sorted by path when the first one is looked up: a
 * request has several of them for each line. */
struct place_lookup {
    struct arena *arena;
    size_t n;
    const Location **by_path;
};

struct path {
    const int32_t *items;
    size_t length;
    int32_t room[PATH_MAX_LENGTH];
};

struct place *
place_file(struct arena *arena, const Idl__File *file)
{
    struct place *place = arena_alloc(arena, sizeof *place);

    place->file = file;
    place->lookup = arena_alloc(arena, sizeof *place->lookup);
    place->lookup->arena = arena;
    return place;
}

struct place *
place_child(struct arena *arena, const struct place *parent, int32_t field,
            int32_t index)
{
    struct place *place = arena_alloc(arena, sizeof *place);

    *place = (struct place){parent->file, parent->lookup, parent, field, index};
    return place;
}

/* Returns less than, equal to or more than 0, as strcmp(), for two paths.
 * Called by the two functions below. */
static int
path_compare(const int32_t *a, size_t a_length, const int32_t *b,
             size_t b_length)
{
    for (size_t i = 0; i < a_length && i < b_length; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return a_length < b_length ? -1 : a_length > b_length;
}

/* Orders locations by path, for qsort() in lookup_build(). */
static int
location_compare(const void *a, const void *b)
{
    const Location *x = *(const Location *const *)a;
    const Location *y = *(const Location *const *)b;

    return path_compare(x->path, x->n_path, y->path, y->n_path);
}

/* Compares a struct path with the path of a location, as path_compare(), for
 * bsearch() in place_find(). */
static int
location_compare_path(const void *path, const void *at)
{
    const struct path *p = path;
    const Location *l = *(const Location *const *)at;

    return path_compare(p->items, p->length, l->path, l->n_path);
}

/* Sorts the locations of a file; info may be NULL. Called by place_find() at
 * the first lookup after place_file(). */
static void
lookup_build(struct place_lookup *lookup, const Idl__SourceCodeInfo *info)
{
    lookup->n = info != NULL ? info->n_location : 0;
    lookup->by_path =
        arena_array(lookup->arena, lookup->n, sizeof(*lookup->by_path));
    for (size_t i = 0; i < lookup->n; i++)
        lookup->by_path[i] = info->location[i];
    qsort(lookup->by_path, lookup->n, sizeof(*lookup->by_path),
          location_compare);
}

/* Writes the place as a path of field numbers and indices, for place_find(). */
static void
path_build(struct path *path, const struct place *place)
{
    size_t at = PATH_MAX_LENGTH;

    while (place->parent != NULL && at >= 2) {
        if (place->index >= 0)
            path->room[--at] = place->index;
        path->room[--at] = place->field;
        place = place->parent;
    }
    path->items = path->room + at;
    path->length = PATH_MAX_LENGTH - at;
}

/* Returns the location of the item, not that of a parent; NULL if it has none.
 * Called by place_line() and place_comment(). */
static const Location *
place_find(const struct place *place)
{
    struct place_lookup *lookup = place->lookup;
    const Location **found;
    struct path path;

    if (lookup->by_path == NULL)
        lookup_build(lookup, place->file->source_code_info);
    path_build(&path, place);
    found = bsearch(&path, lookup->by_path, lookup->n, sizeof(*lookup->by_path),
                    location_compare_path);
    return found != NULL ? *found : NULL;
}

int
place_line(const struct place *place)
{
    for (; place->parent != NULL; place = place->parent) {
        const Location *found = place_find(place);

        if (found != NULL && found->n_span > 0 && found->span[0] >= 0 &&
            found->span[0] < INT32_MAX)
            return found->span[0] + 1;
    }
    return 1;
}

const char *
place_comment(const struct place *place)
{
    const Location *found = place_find(place);

    return found != NULL ? found->leading_comments : NULL;
}

char *
place_error(struct arena *arena, const struct place *place, const char *format,
            ...)
{
    const char *text;
    va_list args;

    va_start(args, format);
    text = arena_vprintf(arena, format, args);
    va_end(args);
    return arena_printf(arena, "%s:%d: %s", place->file->name,
                        place_line(place), text);
}
