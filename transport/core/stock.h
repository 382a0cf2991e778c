/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocks of one size that are not used now, the last one given back first. What
 * each call or record needs is taken from here, so it costs no malloc(3). A
 * stock keeps so many blocks as its owner says; others go back to malloc(3) at
 * once. With AddressSanitizer it keeps none, so that what is used after it was
 * given back is found.
 *
 * May run together: take and give, from any threads. Init and fini run alone,
 * when the owner is made and freed.
 *
 * Called by: spare.c (all), transport/tcp/context.c (init, fini),
 * transport/tcp/read.c (take, give), transport/tcp/write.c (take, give),
 * transport/tcp/wire.c (give). */
#ifndef VC_TRANSPORT_STOCK_H
#define VC_TRANSPORT_STOCK_H

#include <stdlib.h>

#include "transport/core/lock.h"

/* The begin of a block in stock. */
struct vc__stocked {
    struct vc__stocked *next;
};

struct vc__stock {
    struct vc__lock lock;
    size_t size;                /* of a block, in bytes */
    unsigned most, n;           /* blocks in stock; n: lock */
    struct vc__stocked *blocks; /* lock */
};

/* Makes an empty stock of blocks of size bytes, which keeps `most` of them. */
static inline void
vc__stock_init(struct vc__stock *s, size_t size, unsigned most)
{
    vc__lock_init(&s->lock);
    s->size = size;
#ifdef __SANITIZE_ADDRESS__
    most = 0;
#endif
    s->most = most;
    s->n = 0;
    s->blocks = NULL;
}

/* Frees the blocks in stock. All others must have been given back. */
static inline void
vc__stock_fini(struct vc__stock *s)
{
    while (s->blocks != NULL) {
        struct vc__stocked *block = s->blocks;

        s->blocks = block->next;
        free(block);
    }
}

/* Returns a block, which is then the caller's, aligned for any type, not
 * zeroed; NULL without memory. */
static inline void *
vc__stock_take(struct vc__stock *s)
{
    struct vc__stocked *block;

    vc__lock_take(&s->lock);
    block = s->blocks;
    if (block != NULL) {
        s->blocks = block->next;
        s->n--;
    }
    vc__lock_give(&s->lock);
    return block != NULL ? block : malloc(s->size);
}

/* Gives a block back. NULL is allowed. */
static inline void
vc__stock_give(struct vc__stock *s, void *memory)
{
    struct vc__stocked *block = memory;
    bool keep;

    if (block == NULL)
        return;
    vc__lock_take(&s->lock);
    keep = s->n < s->most;
    if (keep) {
        block->next = s->blocks;
        s->blocks = block;
        s->n++;
    }
    vc__lock_give(&s->lock);
    if (!keep)
        free(block);
}

#endif
