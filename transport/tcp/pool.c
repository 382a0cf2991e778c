/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/tcp/pool.h. */
#include "transport/tcp/pool.h"

#include <stdlib.h>

/* The most blocks kept for reuse. */
#define SPARE_MOST 16u

struct vc__tcp_block {
    struct vc__tcp_block *next;
};

void
vc__tcp_pool_init(struct vc__tcp_pool *pool, size_t size)
{
    pthread_mutex_init(&pool->lock, NULL);
    pool->size = size;
    pool->spare = NULL;
    pool->n_spare = 0;
}

void
vc__tcp_pool_fini(struct vc__tcp_pool *pool)
{
    struct vc__tcp_block *block;

    while ((block = pool->spare) != NULL) {
        pool->spare = block->next;
        free(block);
    }
    pthread_mutex_destroy(&pool->lock);
}

uint8_t *
vc__tcp_pool_get(struct vc__tcp_pool *pool)
{
    struct vc__tcp_block *block;

    pthread_mutex_lock(&pool->lock);
    block = pool->spare;
    if (block != NULL) {
        pool->spare = block->next;
        pool->n_spare--;
    }
    pthread_mutex_unlock(&pool->lock);
    return block != NULL ? (uint8_t *)block : malloc(pool->size);
}

void
vc__tcp_pool_put(struct vc__tcp_pool *pool, uint8_t *bytes)
{
    struct vc__tcp_block *block = (void *)bytes;

    if (block == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    if (pool->n_spare < SPARE_MOST) {
        block->next = pool->spare;
        pool->spare = block;
        pool->n_spare++;
        block = NULL;
    }
    pthread_mutex_unlock(&pool->lock);
    free(block);
}
