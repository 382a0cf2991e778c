/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The memory of one call: allocated piece by piece, freed at once, kept for the
 * next call. A capped bump allocator over a chain of chunks, with the interface
 * of a ProtobufCAllocator for unpacking. One thread at a time: that of a
 * server's call is used on the holder, on the handler's thread, and on one that
 * ends the call later, reset by the holder, and freed from stock on any; that
 * of a reply (rpc/codec/reply_arena.h) on any.
 *
 * Called by: reply_arena.c (init, fini, reset, set_cap),
 * rpc/server/server_call.c (init, fini, reset), arena.c (reset, taken),
 * rpc/server/server_reply.c (reset), rpc/server/server_begin.c (adopt), many
 * files (alloc). */
#ifndef VC_RPC_ARENA_H
#define VC_RPC_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "transport/core/memory.h"

/* Alignment of every address returned; sizes are rounded up to it. */
#define VC__ARENA_ALIGN VC__MEMORY_ALIGN

struct vc__arena_chunk {
    struct vc__arena_chunk *older;
    size_t size; /* bytes of room */
    _Alignas(VC__ARENA_ALIGN) unsigned char room[];
};

/* Must not be moved after init: its allocator points to it. */
struct vc__arena {
    ProtobufCAllocator allocator;   /* hand &arena->allocator to unpack */
    struct vc__arena_chunk *chunks; /* newest first; the last is kept */
    struct vc__arena_chunk *large;  /* chunks of one piece each */
    unsigned char *at, *end;        /* the free part of the newest */
    size_t before;                  /* bytes taken from all others */
    size_t cap;
    size_t next, first; /* sizes of the next chunk, and of the second one */
    struct vc__account *account; /* charged for all but the first; or NULL */
};

/* first: bytes of the chunk that is kept across resets (allocated at once);
 * cap: most bytes taken between two resets. Returns 0, or -1 if memory is
 * short. Called by call_make() on the holder, and by reply_make() on the thread
 * that unpacks a message. */
int vc__arena_init(struct vc__arena *a, size_t first, size_t cap);

/* Frees all memory. A zeroed arena is allowed. Called by call_destroy() and
 * reply_destroy(), on any thread. */
void vc__arena_fini(struct vc__arena *a);

/* Drops every allocation; only the first chunk stays allocated. Called by
 * vc__arena_reset(), which every other file calls instead, on its thread. */
void vc__arena_shrink(struct vc__arena *a);

/* Drops every allocation, as vc__arena_shrink(). False if the arena had nothing
 * but the first chunk, else true. Called by vc__call_release() and reply_pack()
 * on the holder, by vc__reply_give() on any thread, and by vc__arena_fini(). */
static inline bool
vc__arena_reset(struct vc__arena *a)
{
    if (a->chunks == NULL || a->chunks->older != NULL || a->large != NULL) {
        vc__arena_shrink(a);
        return true;
    }
    a->at = a->chunks->room; /* a->end stays as it is */
    return false;
}

/* Returns the bytes taken since the last reset. Asked within arena.c, and by
 * tests. */
size_t vc__arena_taken(const struct vc__arena *a);

/* Changes the cap, which counts from the last reset. Called by
 * vc__reply_take() for each reply that it takes, also for a new one. */
void vc__arena_set_cap(struct vc__arena *a, size_t cap);

/* The arena gets a block that was taken from its account with this size, and
 * gives it back at the next reset. The block counts, and may exceed the cap.
 * Its first VC__ARENA_HEAD bytes are the arena's from now on. Called by
 * request_unpack(), on the holder. */
#define VC__ARENA_HEAD sizeof(struct vc__arena_chunk)
void vc__arena_adopt(struct vc__arena *a, void *block, size_t size);

/* Returns size bytes aligned for any type, not zeroed; NULL if that would
 * exceed the cap, or the memory that the account allows, or memory is short. A
 * size of 0 also gives a pointer. Called by the allocators for messages that
 * are unpacked, on the thread that unpacks, and by rpc/server for what belongs
 * to a call, on the holder or the thread that has the call. */
void *vc__arena_alloc(struct vc__arena *a, size_t size);

#endif
