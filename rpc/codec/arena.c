/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/codec/arena.h. Allocates by moving a pointer through a chunk. When
 * the chunk is full a bigger one is allocated; a large piece gets a chunk of
 * its own. No piece is freed by itself: what protobuf-c frees while it unpacks
 * a message of many fields, merges or fails stays allocated, and counts, until
 * the reset. Static functions run on the thread of the function that calls
 * them. */
#include "rpc/codec/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Called by chunk_new() and vc__arena_alloc(). Returns size, rounded up to the
 * alignment; less than size if that does not fit a size_t. */
static size_t
round_up(size_t size)
{
    return (size + VC__ARENA_ALIGN - 1) & ~(size_t)(VC__ARENA_ALIGN - 1);
}

/* Called by vc__arena_init(), arena_grow() and large_alloc(). Returns a chunk
 * of at least size bytes, which the caller adds to its arena; NULL without
 * memory, or if the account allows no more. */
static struct vc__arena_chunk *
chunk_new(struct vc__account *account, size_t size)
{
    size_t room = round_up(size);
    struct vc__arena_chunk *c;

    if (room < size || room > SIZE_MAX - sizeof *c)
        return NULL;
    c = vc__memory_take(account, sizeof *c + room);
    if (c != NULL)
        c->size = room;
    return c;
}

size_t
vc__arena_taken(const struct vc__arena *a)
{
    return a->chunks == NULL ? 0
                             : a->before + (size_t)(a->at - a->chunks->room);
}

/* Returns the bytes that the cap still allows. Called by arena_limit(),
 * arena_grow() and alloc_beyond(). */
static size_t
arena_left(const struct vc__arena *a)
{
    size_t taken = vc__arena_taken(a);

    return a->cap > taken ? a->cap - taken : 0;
}

/* Sets a->end: the end of the newest chunk, or where the cap is reached. Called
 * when either has changed, or a->before, by arena_enter(), large_alloc() and
 * vc__arena_set_cap(). */
static void
arena_limit(struct vc__arena *a)
{
    struct vc__arena_chunk *c = a->chunks;
    size_t room = (size_t)(c->room + c->size - a->at);
    size_t left = arena_left(a);

    a->end = a->at + (left < room ? left : room);
}

/* Makes c the newest chunk; a->before must be up to date. Called by
 * vc__arena_init(), arena_grow() and vc__arena_shrink(). */
static void
arena_enter(struct vc__arena *a, struct vc__arena_chunk *c)
{
    a->chunks = c;
    a->at = c->room;
    arena_limit(a);
}

/* The size up to which chunks grow that several pieces share. */
#define CHUNK_MAX ((size_t)1 << 20)

/* Doubles the size of the next chunk, up to CHUNK_MAX. Called by arena_grow()
 * and large_alloc() when a chunk was allocated. */
static void
next_double(struct vc__arena *a)
{
    a->next = a->next < CHUNK_MAX / 2 ? a->next * 2 : CHUNK_MAX;
}

/* Called by alloc_beyond(): adds a chunk of a->next bytes, but no larger than
 * what may still be taken: so little room is lost at the end of chunks. Returns
 * 0, or -1 as chunk_new() without memory. */
static int
arena_grow(struct vc__arena *a)
{
    size_t left = arena_left(a);
    struct vc__arena_chunk *c =
        chunk_new(a->account, a->next < left ? a->next : left);

    if (c == NULL)
        return -1;
    c->older = a->chunks;
    a->before = vc__arena_taken(a);
    arena_enter(a, c);
    next_double(a);
    return 0;
}

/* Called by large_alloc() and vc__arena_adopt(): adds a chunk of one piece. The
 * rest of the present chunk stays in use. */
static void
large_add(struct vc__arena *a, struct vc__arena_chunk *c)
{
    c->older = a->large;
    a->large = c;
    a->before += c->size;
    arena_limit(a);
}

/* Called by alloc_beyond(). A piece that is larger than the next chunk gets a
 * chunk of its own, which is returned. NULL as chunk_new() without memory. */
static void *
large_alloc(struct vc__arena *a, size_t piece)
{
    struct vc__arena_chunk *c = chunk_new(a->account, piece);

    if (c == NULL)
        return NULL;
    large_add(a, c);
    next_double(a);
    return c->room;
}

void
vc__arena_adopt(struct vc__arena *a, void *block, size_t size)
{
    struct vc__arena_chunk *c = block;

    c->size = size - sizeof *c;
    large_add(a, c);
}

/* The slow path of vc__arena_alloc(), kept out of it: the piece does not fit,
 * or is 0 as its size has overflowed. Returns the piece; NULL without memory,
 * beyond the cap, or if it is 0. */
static __attribute__((noinline)) void *
alloc_beyond(struct vc__arena *a, size_t piece)
{
    unsigned char *p;

    if (piece == 0 || a->chunks == NULL || piece > arena_left(a))
        return NULL;
    if (piece > a->next)
        return large_alloc(a, piece);
    if (arena_grow(a) != 0)
        return NULL;
    p = a->at;
    a->at += piece;
    return p;
}

void *
vc__arena_alloc(struct vc__arena *a, size_t size)
{
    size_t piece = round_up(size + (size == 0)); /* 0 on overflow */
    unsigned char *p = a->at;

    if (piece - 1 >= (size_t)(a->end - p))
        return alloc_beyond(a, piece);
    a->at = p + piece;
    return p;
}

/* a->allocator.alloc(): called by protobuf-c, by rpc/codec/fast_codec.c or by
 * the unpack() of a type, for a request on the holder, and for the copy of a
 * reply of rpc/protobuf_c on any thread. Messages for the program have
 * reply_alloc(). Returns as vc__arena_alloc(). */
static void *
arena_allocator_alloc(void *arena, size_t size)
{
    return vc__arena_alloc(arena, size);
}

/* a->allocator.free(): called by protobuf-c, on the thread of
 * arena_allocator_alloc(). Does nothing, as the arena is freed as a whole. */
static void
arena_allocator_free(void *arena, void *pointer)
{
    (void)arena;
    (void)pointer;
}

int
vc__arena_init(struct vc__arena *a, size_t first, size_t cap)
{
    struct vc__arena_chunk *c = chunk_new(NULL, first);

    if (c == NULL)
        return -1;
    c->older = NULL;
    a->before = 0;
    a->cap = cap;
    a->next = c->size < CHUNK_MAX / 2 ? c->size * 2 : CHUNK_MAX;
    a->first = a->next;
    a->large = NULL;
    a->account = NULL;
    arena_enter(a, c);
    a->allocator.alloc = arena_allocator_alloc;
    a->allocator.free = arena_allocator_free;
    a->allocator.allocator_data = a;
    return 0;
}

/* Called by vc__arena_shrink(). Frees the chunks down to the first one, which
 * it returns. */
static struct vc__arena_chunk *
chunks_drop(const struct vc__arena *a)
{
    struct vc__arena_chunk *c = a->chunks;

    while (c->older != NULL) {
        struct vc__arena_chunk *older = c->older;

        vc__memory_give(a->account, c, sizeof *c + c->size);
        c = older;
    }
    return c;
}

void
vc__arena_fini(struct vc__arena *a)
{
    vc__arena_reset(a);
    free(a->chunks);
    memset(a, 0, sizeof *a);
}

void
vc__arena_shrink(struct vc__arena *a)
{
    while (a->large != NULL) {
        struct vc__arena_chunk *c = a->large;

        a->large = c->older;
        vc__memory_give(a->account, c, sizeof *c + c->size);
    }
    a->before = 0;
    a->next = a->first;
    if (a->chunks != NULL)
        arena_enter(a, chunks_drop(a));
}

void
vc__arena_set_cap(struct vc__arena *a, size_t cap)
{
    a->cap = cap;
    arena_limit(a);
}
