/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocks of memory of one size, which sockets hold only while they need them.
 * The last block given back is used next, as it is still in the CPU's caches.
 * A context has two pools. Its blocks to write are taken and put by any thread,
 * under the lock of the wire's link; its parts of records by the holder of the
 * engine, which also puts both when a wire is freed. The pools are made by the
 * first thread that opens TCP for the engine, which may be any, and freed on
 * the thread of vc_runtime_free(). No other thread may use them then.
 *
 * Called by: context.c (tcp_pool_init, tcp_pool_fini), read.c (tcp_pool_get,
 * tcp_pool_put), write.c (tcp_pool_get, tcp_pool_put), wire.c (tcp_pool_put).
 */
#ifndef VC_TRANSPORT_TCP_POOL_H
#define VC_TRANSPORT_TCP_POOL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct vc__tcp_pool {
    pthread_mutex_t lock;
    size_t size;
    struct vc__tcp_block *spare; /* lock */
    unsigned n_spare;            /* lock */
};

/* Called by vc__tcp_open(), on any thread, under the lock of the engine's
 * struct vc__cm. */
void vc__tcp_pool_init(struct vc__tcp_pool *pool, size_t size);
/* Called by vc__tcp_close(), inside vc_runtime_free(). All blocks must have
 * been put back. */
void vc__tcp_pool_fini(struct vc__tcp_pool *pool);

/* Returns a block, which is the caller's until it puts it back. NULL: out of
 * memory. Called when a wire has something to write (write.c), or has received
 * the beginning of a record (read.c). */
uint8_t *vc__tcp_pool_get(struct vc__tcp_pool *pool);
/* Keeps the block for the next get, or frees it if enough are kept. NULL is
 * allowed. Called when the data of a block were written or dropped (write.c), a
 * record is complete (read.c), and when a wire is freed. */
void vc__tcp_pool_put(struct vc__tcp_pool *pool, uint8_t *block);

#endif
