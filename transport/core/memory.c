/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/memory.h. Static functions run on the thread of their
 * caller, any one, but on_trim(). */
#include "transport/core/memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <urcu/compiler.h>

#include "transport/core/clock.h"
#include "transport/core/invariant.h"
#include "transport/core/share.h"

/* Blocks of this size and more come from the system. */
#define LARGE 65536u
/* Kept blocks, together: at most KEPT_MAX bytes, and at most 1/KEPT_PART of the
 * store. */
#define KEPT_MAX  ((size_t)32 << 20)
#define KEPT_PART 8
/* A block serves requests for 1/FITS of its size and more. */
#define FITS 2

/* The header in front of a large block. */
struct vc__block {
    _Alignas(64) struct vc__block *next; /* while the block is unused */
    size_t size;                         /* header included */
    uint64_t given;
};

/* --- counting ------------------------------------------------------------ */

/* Relaxed, here and below: only the numbers matter, and `own` may be a moment
 * old. */
bool
vc__memory_count(struct vc__account *account, size_t size)
{
    struct vc__store *store = account->store;
    size_t own = atomic_load_explicit(&account->used, memory_order_relaxed);
    size_t used = atomic_load_explicit(&store->used, memory_order_relaxed);

    do {
        if (used > store->max || size > store->max - used ||
            (store->shared && !vc__share_fits(own, size, store->max - used)))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(
        &store->used, &used, used + size, memory_order_relaxed,
        memory_order_relaxed));
    atomic_fetch_add_explicit(&account->used, size, memory_order_relaxed);
    return true;
}

void
vc__memory_discount(struct vc__account *account, size_t size)
{
    atomic_fetch_sub_explicit(&account->used, size, memory_order_relaxed);
    atomic_fetch_sub_explicit(&account->store->used, size,
                              memory_order_relaxed);
}

bool
vc__memory_reserve(struct vc__account *account, size_t size)
{
    size_t max = account->store->max - account->store->max / 4;
    size_t used =
        atomic_load_explicit(&account->store->used, memory_order_relaxed);
    size_t own = atomic_load_explicit(&account->used, memory_order_relaxed);

    if (used > max || size > max - used ||
        !vc__share_fits(own, size, max - used))
        return false;
    return vc__memory_count(account, size);
}

bool
vc__memory_may_have(const struct vc__account *account, size_t beside)
{
    size_t max = account->store->max;
    size_t used =
        atomic_load_explicit(&account->store->used, memory_order_relaxed);
    size_t own = atomic_load_explicit(&account->used, memory_order_relaxed);

    return used < max && vc__share_fits(own + beside, 0, max - used);
}

/* --- blocks -------------------------------------------------------------- */

/* For vc__store_take(): returns a new block of `size` bytes, header included;
 * NULL without memory. */
static struct vc__block *
block_new(size_t size)
{
    struct vc__block *b = mmap(NULL, size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (b == MAP_FAILED)
        return NULL;
    b->size = size;
    return b;
}

/* Returns a block to the system. Called when enough are kept
 * (vc__store_give()), or it was kept for long (vc__store_trim()), and by
 * vc__store_fini(). */
static void
block_free(struct vc__block *b)
{
    munmap(b, b->size);
}

/* For kept_take(), under the lock, and vc__store_fini(): takes the block at *at
 * out of the store's list, and returns it. */
static struct vc__block *
block_unlink(struct vc__store *store, struct vc__block **at)
{
    struct vc__block *b = *at;

    *at = b->next;
    atomic_fetch_sub_explicit(&store->kept, b->size, memory_order_relaxed);
    return b;
}

/* For vc__store_take(): returns a kept block that fits, which is kept no more;
 * NULL if there is none. */
static struct vc__block *
kept_take(struct vc__store *store, size_t size)
{
    struct vc__block **at = &store->blocks, *b = NULL;

    if (atomic_load_explicit(&store->kept, memory_order_relaxed) < size)
        return NULL;
    pthread_mutex_lock(&store->lock);
    while (*at != NULL && ((*at)->size < size || (*at)->size / FITS > size))
        at = &(*at)->next;
    if (*at != NULL)
        b = block_unlink(store, at);
    pthread_mutex_unlock(&store->lock);
    return b;
}

/* For vc__store_give(): keeps the block, and returns true. False if enough are
 * kept: the caller frees it. */
static bool
kept_give(struct vc__store *store, struct vc__block *b)
{
    size_t max =
        store->max / KEPT_PART < KEPT_MAX ? store->max / KEPT_PART : KEPT_MAX;
    bool keep;

    b->given = vc__now();
    pthread_mutex_lock(&store->lock);
    keep = atomic_load_explicit(&store->kept, memory_order_relaxed) + b->size <=
           max;
    if (keep) {
        b->next = store->blocks;
        store->blocks = b;
        atomic_fetch_add_explicit(&store->kept, b->size, memory_order_relaxed);
    }
    pthread_mutex_unlock(&store->lock);
    return keep;
}

bool
vc__store_trim(struct vc__store *store, uint64_t now)
{
    struct vc__block **at = &store->blocks, *old;
    bool left;

    pthread_mutex_lock(&store->lock);
    while (*at != NULL && now - (*at)->given < VC__MEMORY_KEEP_US)
        at = &(*at)->next;
    left = *at != store->blocks;
    old = *at; /* and all after it, which were given back before */
    *at = NULL;
    for (struct vc__block *b = old; b != NULL; b = b->next)
        atomic_fetch_sub_explicit(&store->kept, b->size, memory_order_relaxed);
    pthread_mutex_unlock(&store->lock);
    while (old != NULL) {
        struct vc__block *next = old->next;

        block_free(old);
        old = next;
    }
    return left;
}

/* fire() of the trimmer's timer, called by the engine's timers on the holder.
 * Starts the timer again if blocks are left. */
static void
on_trim(struct vc__timer *timer)
{
    struct vc__trimmer *t = caa_container_of(timer, struct vc__trimmer, timer);

    if (vc__store_trim(t->store, vc__now()))
        vc__trimmer_start(t);
}

/* If there is no memory for the timer, the blocks stay until the next time. */
void
vc__trimmer_start(struct vc__trimmer *t)
{
    if (!t->stopped)
        vc__timer_start(t->timers, &t->timer, vc__now() + VC__MEMORY_KEEP_US,
                        on_trim);
}

void
vc__trimmer_stop(struct vc__trimmer *t)
{
    t->stopped = true;
    vc__timer_stop(t->timers, &t->timer);
}

void
vc__store_init(struct vc__store *store, size_t max, bool shared)
{
    store->max = max;
    store->shared = shared;
    atomic_init(&store->used, 0);
    atomic_init(&store->kept, 0);
    pthread_mutex_init(&store->lock, NULL);
    store->blocks = NULL;
}

void
vc__store_fini(struct vc__store *store)
{
    vc__invariant(atomic_load(&store->used) == 0);
    while (store->blocks != NULL)
        block_free(block_unlink(store, &store->blocks));
    pthread_mutex_destroy(&store->lock);
}

/* --- taking and giving --------------------------------------------------- */

/* For vc__store_take() and vc__memory_take(): memory of aligned_alloc(3), for
 * less than LARGE bytes or without an account. NULL without memory. */
static void *
small_take(size_t size)
{
    size_t rounded =
        (size + VC__MEMORY_ALIGN - 1) / VC__MEMORY_ALIGN * VC__MEMORY_ALIGN;

    return rounded < size ? NULL : aligned_alloc(VC__MEMORY_ALIGN, rounded);
}

void *
vc__store_take(struct vc__store *store, size_t size)
{
    size_t whole =
        (size + sizeof(struct vc__block) + LARGE - 1) / LARGE * LARGE;
    struct vc__block *b;

    if (size < LARGE)
        return small_take(size);
    if (whole < size)
        return NULL;
    b = kept_take(store, whole);
    if (b == NULL)
        b = block_new(whole);
    return b == NULL ? NULL : b + 1;
}

bool
vc__store_give(struct vc__store *store, void *memory, size_t size)
{
    struct vc__block *b = (struct vc__block *)memory - 1;

    if (size < LARGE) {
        free(memory);
        return false;
    }
    if (kept_give(store, b))
        return true;
    block_free(b);
    return false;
}

void *
vc__memory_take(struct vc__account *account, size_t size)
{
    void *p;

    if (account == NULL)
        return small_take(size);
    if (!vc__memory_count(account, size))
        return NULL;
    p = vc__store_take(account->store, size);
    if (p == NULL)
        vc__memory_discount(account, size);
    return p;
}

void
vc__memory_give(struct vc__account *account, void *memory, size_t size)
{
    if (account == NULL || memory == NULL) {
        free(memory);
        return;
    }
    vc__memory_discount(account, size);
    vc__store_give(account->store, memory, size);
}
