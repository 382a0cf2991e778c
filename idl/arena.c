/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each piece is one calloc(), so that the sanitizers see its bounds. One
 * thread, as all of the plugin. No function returns NULL: without memory the
 * program ends. */
#include "idl/arena.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct arena_block {
    struct arena_block *next;
    struct arena_block **link; /* the pointer to this block */
    max_align_t data[];
};

void
arena_fini(struct arena *arena)
{
    struct arena_block *block = arena->blocks;

    while (block != NULL) {
        struct arena_block *next = block->next;

        free(block);
        block = next;
    }
    arena->blocks = NULL;
}

/* Ends the program with status 1 and a message. Called by arena_alloc(),
 * arena_array() and arena_vprintf() when memory runs out, a size is too large,
 * or a format fails. */
static _Noreturn void
arena_exhausted(void)
{
    fputs("protoc-gen-verbcall: out of memory\n", stderr);
    exit(1);
}

void *
arena_alloc(struct arena *arena, size_t size)
{
    struct arena_block *block;

    if (size > SIZE_MAX - sizeof *block)
        arena_exhausted();
    block = calloc(1, sizeof *block + size);
    if (block == NULL)
        arena_exhausted();
    block->next = arena->blocks;
    block->link = &arena->blocks;
    if (block->next != NULL)
        block->next->link = &block->next;
    arena->blocks = block;
    return block->data;
}

void
arena_free(void *data)
{
    struct arena_block *block;

    if (data == NULL)
        return;
    block = (struct arena_block *)((char *)data -
                                   offsetof(struct arena_block, data));
    *block->link = block->next;
    if (block->next != NULL)
        block->next->link = block->link;
    free(block);
}

void *
arena_array(struct arena *arena, size_t n, size_t size)
{
    if (n > SIZE_MAX / size)
        arena_exhausted();
    return arena_alloc(arena, n * size);
}

char *
arena_vprintf(struct arena *arena, const char *format, va_list args)
{
    va_list again;
    char *string;
    int length;

    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        arena_exhausted();
    string = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(string, (size_t)length + 1, format, args);
    return string;
}

char *
arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    char *string;

    va_start(args, format);
    string = arena_vprintf(arena, format, args);
    va_end(args);
    return string;
}

/* alloc() of arena_allocator(): called by protobuf-c when it unpacks, for
 * request_parse() of request.c and answer_parse() of chain.c. Returns as
 * arena_alloc(). */
static void *
idl_arena_alloc(void *arena, size_t size)
{
    return arena_alloc(arena, size);
}

/* free() of arena_allocator(): called by protobuf-c when it unpacks. It does
 * nothing, as arena_fini() frees all. */
static void
idl_arena_free(void *arena, void *data)
{
    (void)arena;
    (void)data;
}

ProtobufCAllocator
arena_allocator(struct arena *arena)
{
    return (ProtobufCAllocator){idl_arena_alloc, idl_arena_free, arena};
}
