/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory of the processes: the owner of each block, so that a killed process's
 * memory can be freed and an ended one's leaks counted; and allocations that
 * fail. Static functions run on the thread of their caller: one thread of the
 * world runs at a time (world.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "real.h"

struct piece {
    void *at; /* NULL: free slot */
    struct fake_process *owner;
    size_t mapped; /* by mmap(): its length */
    bool plain;    /* mapped as pages_take() does */
};

/* A hash table with open addressing; its size is a power of two. */
static struct {
    struct piece *pieces;
    size_t n, room;
} H;

/* Called by piece_find(), piece_put() and piece_remove(). */
static size_t
place_of(const void *at)
{
    uint64_t x = (uintptr_t)at;

    return (size_t)((x >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20) &
           (H.room - 1);
}

/* Called by forget(). */
static struct piece *
piece_find(const void *at)
{
    if (H.room == 0 || at == NULL)
        return NULL;
    for (size_t i = place_of(at); H.pieces[i].at != NULL;
         i = (i + 1) & (H.room - 1))
        if (H.pieces[i].at == at)
            return &H.pieces[i];
    return NULL;
}

/* Called by heap_grow() and piece_add(). */
static void
piece_put(struct piece piece)
{
    size_t i = place_of(piece.at);

    while (H.pieces[i].at != NULL)
        i = (i + 1) & (H.room - 1);
    H.pieces[i] = piece;
}

/* Called by piece_add(). */
static void
heap_grow(void)
{
    struct piece *old = H.pieces;
    size_t room = H.room;

    H.room = room == 0 ? 1024 : room * 2;
    H.pieces = __real_calloc(H.room, sizeof *H.pieces);
    if (H.pieces == NULL)
        abort();
    for (size_t i = 0; i < room; i++)
        if (old[i].at != NULL)
            piece_put(old[i]);
    __real_free(old);
}

/* Called by keep(). */
static void
piece_add(void *at, size_t mapped, bool plain)
{
    if (H.n * 2 >= H.room)
        heap_grow();
    H.n++;
    fake__self()->census.blocks++;
    piece_put((struct piece){at, fake__self(), mapped, plain});
}

/* Removes an entry and closes the gap. Called by fake__heap_exit() and
 * forget(). */
static void
piece_remove(struct piece *piece)
{
    size_t i = (size_t)(piece - H.pieces), j = i;

    piece->owner->census.blocks--;
    H.n--;
    for (;;) {
        size_t home;

        H.pieces[i].at = NULL;
        do {
            j = (j + 1) & (H.room - 1);
            if (H.pieces[j].at == NULL)
                return;
            home = place_of(H.pieces[j].at);
        } while (i <= j ? i < home && home <= j : i < home || home <= j);
        H.pieces[i] = H.pieces[j];
        i = j;
    }
}

/* --- pages --------------------------------------------------------------- */

/* Private pages that a process has unmapped, for the next that maps as many: new
 * ones of the kernel cost a fault each, which was half of the time of the
 * simulation. The address sanitizer sees who uses them meanwhile. The thread
 * sanitizer would take the uses of two processes for a race: with it there are
 * no spare ones. */
#define SPARES     64u
#define SPARE_MOST ((size_t)1 << 20) /* bytes of each */

static struct {
    void *at;
    size_t len;
} spares[SPARES];
static unsigned n_spares;

void __asan_poison_memory_region(const volatile void *at, size_t len)
    __attribute__((weak));
void __asan_unpoison_memory_region(const volatile void *at, size_t len)
    __attribute__((weak));
void __tsan_acquire(void *x) __attribute__((weak));

/* Returns spare pages, zeroed as new ones are; NULL if there are none. Called by
 * __wrap_mmap(). */
static void *
pages_take(size_t len)
{
    FAKE_CALL_SAFE(NULL);

    for (unsigned i = 0; i < n_spares; i++) {
        void *at = spares[i].at;

        if (spares[i].len != len)
            continue;
        spares[i] = spares[--n_spares];
        if (__asan_unpoison_memory_region != NULL)
            __asan_unpoison_memory_region(at, len);
        return memset(at, 0, len);
    }
    return NULL;
}

/* Unmaps what a process has mapped, or keeps it. Called by fake__heap_exit() and
 * __wrap_munmap(). */
static int
pages_give(const struct piece *piece)
{
    FAKE_CALL_SAFE(NULL);

    if (!piece->plain || piece->mapped > SPARE_MOST || n_spares == SPARES ||
        __tsan_acquire != NULL)
        return __real_munmap(piece->at, piece->mapped);
    if (__asan_poison_memory_region != NULL)
        __asan_poison_memory_region(piece->at, piece->mapped);
    spares[n_spares].at = piece->at;
    spares[n_spares++].len = piece->mapped;
    return 0;
}

/* --- the end of a process ------------------------------------------------ */

/* Called by fake__process_end() (process.c). */
void
fake__heap_exit(struct fake_process *p)
{
    for (size_t i = 0; i < H.room; i++) {
        struct piece *piece = &H.pieces[i];

        while (piece->at != NULL && piece->owner == p) {
            if (piece->mapped > 0)
                pages_give(piece);
            else
                __real_free(piece->at);
            piece_remove(piece); /* may move another entry here */
        }
    }
    if (p->census.blocks > 0) /* one was moved to a slot already visited */
        fake__heap_exit(p);
}

/* Called by world_free() (process.c). */
void
fake__heap_end(void)
{
    __real_free(H.pieces);
    memset(&H, 0, sizeof H);
}

/* --- the calls --------------------------------------------------------- */

/* True if this allocation must fail. Called by most functions of this file. */
static bool
strikes(void)
{
    FAKE_CALL_SAFE("malloc");

    if (!fake__inside())
        return false;
    fake__self()->allocations++;
    if (!fake__memory_fails(fake__self()))
        return false;
    errno = ENOMEM;
    return true;
}

/* Called by most functions of this file. */
static void *
keep(void *p, size_t mapped, bool plain)
{
    FAKE_CALL_SAFE(NULL); /* prevents a kill before p is recorded */

    if (p != NULL && fake__inside())
        piece_add(p, mapped, plain);
    return p;
}

/* Returns what was known of p; nothing is that of another world. Called by
 * __wrap_realloc(), __wrap_free() and __wrap_munmap(). */
static struct piece
forget(void *p)
{
    FAKE_CALL_SAFE(NULL);
    struct piece *piece = fake__inside() ? piece_find(p) : NULL;
    struct piece known = {.at = NULL};

    if (piece != NULL) {
        known = *piece;
        piece_remove(piece);
    }
    return known;
}

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);
void *__wrap_aligned_alloc(size_t align, size_t size);
int __wrap_posix_memalign(void **p, size_t align, size_t size);
char *__wrap_strdup(const char *text);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd,
                  off_t off);
int __wrap_munmap(void *addr, size_t len);

void *
__wrap_malloc(size_t size)
{
    return strikes() ? NULL : keep(__real_malloc(size), 0, false);
}

void *
__wrap_calloc(size_t n, size_t size)
{
    return strikes() ? NULL : keep(__real_calloc(n, size), 0, false);
}

void *
__wrap_realloc(void *p, size_t size)
{
    void *new;

    if (strikes())
        return NULL;
    forget(p);
    new = __real_realloc(p, size);
    if (new == NULL && size > 0)
        keep(p, 0, false);
    return keep(new, 0, false);
}

void
__wrap_free(void *p)
{
    forget(p);
    __real_free(p);
}

void *
__wrap_aligned_alloc(size_t align, size_t size)
{
    return strikes() ? NULL : keep(__real_aligned_alloc(align, size), 0, false);
}

int
__wrap_posix_memalign(void **p, size_t align, size_t size)
{
    int err = strikes() ? ENOMEM : __real_posix_memalign(p, align, size);

    if (err == 0)
        keep(*p, 0, false);
    return err;
}

char *
__wrap_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = __wrap_malloc(size);

    return copy == NULL ? NULL : memcpy(copy, text, size);
}

void *
__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
    bool plain = addr == NULL && prot == (PROT_READ | PROT_WRITE) &&
                 flags == (MAP_PRIVATE | MAP_ANONYMOUS);
    void *p;

    if (strikes())
        return MAP_FAILED;
    p = plain && fake__inside() ? pages_take(len) : NULL;
    if (p == NULL)
        p = __real_mmap(addr, len, prot, flags, fd, off);
    if (p != MAP_FAILED)
        keep(p, len, plain);
    return p;
}

int
__wrap_munmap(void *addr, size_t len)
{
    struct piece known = forget(addr);

    return known.at != NULL && known.mapped == len ? pages_give(&known)
                                                   : __real_munmap(addr, len);
}
