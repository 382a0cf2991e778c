/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Slabs of registered memory. An error says how much memory was needed and
 * which limit refused it, because pinned memory is what users run out of first.
 * See transport/rdma/buffer.h. */
#include "transport/rdma/buffer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "transport/core/error.h"

/* The fewest buffers of a slab: few registrations, little waste. */
#define SLAB_MIN 16

struct vc__slab {
    struct vc__slab *next;
    struct ibv_mr *mr;
    void *base;
    size_t size;
    struct vc__buffer buffers[];
};

void
vc__buffers_init(struct vc__buffers *b, struct ibv_pd *pd, const char *use,
                 size_t size, size_t budget)
{
    memset(b, 0, sizeof *b);
    b->pd = pd;
    b->use = use;
    b->size = size;
    b->limit = b->budget = budget;
}

void
vc__buffers_fini(struct vc__buffers *b)
{
    while (b->slabs != NULL) {
        struct vc__slab *slab = b->slabs;

        b->slabs = slab->next;
        ibv_dereg_mr(slab->mr);
        munmap(slab->base, slab->size);
        free(slab);
    }
    b->free = NULL;
    b->n_free = 0;
    b->limit = b->budget = 0;
}

enum vc_status
vc__fail_pinned(int err, const char *format, ...)
{
    struct rlimit limit = {0};
    char what[VC__ERROR_TEXT];
    va_list args;

    va_start(args, format);
    vc__text_format(what, sizeof what, format, args);
    va_end(args);
    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (err != ENOMEM || limit.rlim_cur == RLIM_INFINITY)
        return vc__fail_errno(err, "%s", what);
    return vc__fail_lacking(VC__LACK_PINNED,
                            "%s: the limit of locked memory is %llu KiB; raise "
                            "it (ulimit -l, LimitMEMLOCK= of systemd, or "
                            "/etc/security/limits.conf)",
                            what, (unsigned long long)limit.rlim_cur / 1024);
}

/* Adds a slab of n buffers, all of them free. Called by vc__buffers_reserve(),
 * whose errors it returns. */
static enum vc_status
slab_add(struct vc__buffers *b, unsigned n)
{
    size_t size = n * b->size;
    struct vc__slab *slab;

    if (size > b->budget)
        return vc__fail_lacking(
            VC__LACK_ROOM,
            "%zu KiB more for %s buffers are over the budget, of "
            "which %zu KiB are left; raise memory_limit of the "
            "runtime's options, or have fewer connections",
            size / 1024, b->use, b->budget / 1024);
    slab = calloc(1, sizeof *slab + n * sizeof slab->buffers[0]);
    if (slab == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    slab->size = size;
    slab->base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slab->base == MAP_FAILED) {
        vc__fail(VC_RESOURCE_EXHAUSTED, "no %zu KiB of memory for %s buffers",
                 size / 1024, b->use);
        goto out_slab;
    }
    slab->mr = ibv_reg_mr(b->pd, slab->base, size, IBV_ACCESS_LOCAL_WRITE);
    if (slab->mr == NULL) {
        vc__fail_pinned(errno, "cannot register %zu KiB more for %s buffers",
                        size / 1024, b->use);
        goto out_map;
    }
    for (unsigned i = 0; i < n; i++) {
        slab->buffers[i].data = (uint8_t *)slab->base + i * b->size;
        slab->buffers[i].lkey = slab->mr->lkey;
        vc__buffers_give(b, &slab->buffers[i]);
    }
    slab->next = b->slabs;
    b->slabs = slab;
    b->budget -= size;
    return VC_OK;
out_map:
    munmap(slab->base, size);
out_slab:
    free(slab);
    return vc__error_last()->status;
}

enum vc_status
vc__buffers_reserve(struct vc__buffers *b, unsigned n)
{
    unsigned lack;

    if (n <= b->n_free)
        return VC_OK;
    lack = n - b->n_free;
    if (lack < SLAB_MIN && SLAB_MIN * b->size <= b->budget)
        lack = SLAB_MIN;
    return slab_add(b, lack);
}

struct vc__buffer *
vc__buffers_take(struct vc__buffers *b)
{
    struct vc__buffer *buffer = b->free;

    b->free = buffer->next;
    b->n_free--;
    return buffer;
}

void
vc__buffers_give(struct vc__buffers *b, struct vc__buffer *buffer)
{
    buffer->next = b->free;
    b->free = buffer;
    b->n_free++;
}
