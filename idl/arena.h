/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory of one run of the plugin, freed all at once. When memory runs out, the
 * program ends with a message: there is nothing to save. Functions of the
 * plugin have no prefix vc__: the plugin is a program of its own and shares
 * none with the library.
 *
 * One thread, as all of the plugin.
 *
 * Called by: main.c (fini), chain.c (free, allocator), text.c (free, vprintf),
 * unions.c (free), arena.c (vprintf), place.c (vprintf), request.c (allocator),
 * many files (alloc, array, printf). */
#ifndef VC_IDL_ARENA_H
#define VC_IDL_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

struct arena_block;

struct arena { /* all zero: empty */
    struct arena_block *blocks;
};

/* Frees all allocations that are left, at the end of main(). */
void arena_fini(struct arena *arena);

/* Allocates memory that is zeroed and aligned for any type; never NULL. For
 * single objects, buffers, and the functions below. */
void *arena_alloc(struct arena *arena, size_t size);

/* Frees one allocation of the arena early: the old memory of a buffer that has
 * grown, the bytes of an answer, the old content of a file. NULL is allowed. */
void arena_free(void *data);

/* arena_alloc() of an array of n items of `size` bytes; never NULL. n may be 0,
 * size must not. */
void *arena_array(struct arena *arena, size_t n, size_t size);

/* Return a formatted text in the arena, never NULL. For names, arguments and
 * error texts of all files. */
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Lets protobuf-c unpack into the arena; its free function does nothing. For
 * the request (request.c) and protoc-gen-c's answer (chain.c). */
ProtobufCAllocator arena_allocator(struct arena *arena);

#endif
