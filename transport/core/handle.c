/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/handle.h; madvise(2), MADV_WIPEONFORK. */
#define _GNU_SOURCE /* MADV_WIPEONFORK */
#include "transport/core/handle.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/core/error.h"
#include "transport/core/misuse.h"

#define KIND_BITS 8
#define KIND_MASK ((1u << KIND_BITS) - 1)
/* In a number, so that what is no handle hardly looks like one. */
#define NUMBER_BASE 0x5ca100u

static atomic_uint number; /* of processes, as far as forked */
static uint32_t nobody;    /* without a page */
static uint32_t *page = &nobody;

const volatile uint32_t *vc__process = &nobody;

/* When the library is loaded, so that nobody has to look whether it is there.
 * Where the kernel cannot wipe it a child of fork() is not found. */
static __attribute__((constructor)) void
page_make(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return;
    madvise(p, size, MADV_WIPEONFORK);
    vc__process = page = p;
}

/* No lock: a child could find it taken by a thread that it does not have. */
void
vc__process_begin(void)
{
    uint32_t zero = 0;

    if (__atomic_load_n(page, __ATOMIC_ACQUIRE) == 0)
        __atomic_compare_exchange_n(page, &zero,
                                    (NUMBER_BASE + atomic_fetch_add(&number, 1))
                                        << KIND_BITS,
                                    false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static const char *
kind_name(enum vc__kind kind)
{
    static const char *const names[] = {
        [VC__RUNTIME] = "runtime",
        [VC__CHANNEL] = "channel",
        [VC__SERVER] = "server",
        [VC__CALL] = "call",
        [VC__STREAM] = "stream",
        [VC__ASYNC] = "asynchronous call",
        [VC__COMPLETIONS] = "completion queue",
        [VC__CANCELLER] = "canceller",
        [VC__HEALTH] = "health service",
    };

    return names[kind];
}

/* Was it made by a process that this one was forked from? */
static bool
is_parents(const struct vc__handle *h, enum vc__kind kind)
{
    uint32_t its = h->mark >> KIND_BITS;

    return (h->mark & KIND_MASK) == (uint32_t)kind && its >= NUMBER_BASE &&
           its < NUMBER_BASE + atomic_load(&number) &&
           *vc__process >> KIND_BITS != its;
}

enum vc_status
vc__handle_fail(const struct vc__handle *h, enum vc__kind kind,
                const char *function)
{
    if (h == NULL)
        return vc__fail(VC_INVALID_ARGUMENT, "%s(): the %s is NULL", function,
                        kind_name(kind));
    if (is_parents(h, kind))
        return vc__fail(VC_FAILED_PRECONDITION,
                        "%s(): the %s is of the process that has forked this "
                        "one: make a runtime here (verbcall(7), fork)",
                        function, kind_name(kind));
    vc__misuse("%s(): this is no %s, or one that was freed or has ended",
               function, kind_name(kind));
}

void
vc__handle_misuse(const struct vc__handle *h, enum vc__kind kind,
                  const char *function, bool harmless)
{
    if (h != NULL && harmless && is_parents(h, kind))
        return;
    vc__handle_fail(h, kind, function);
    vc__misuse("%s", vc_error());
}
