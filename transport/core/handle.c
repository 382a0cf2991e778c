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
/* Part of a number, so that what is no handle hardly looks like one. */
#define NUMBER_BASE 0x5ca100u

static atomic_uint number; /* process numbers given, also before a fork() */
static uint32_t nobody;    /* in place of the page if there is none */
static uint32_t *page = &nobody;

const volatile uint32_t *vc__process = &nobody;

/* Called by the dynamic loader when the library is loaded, before any of its
 * functions, so that no function has to check for the page. If the kernel
 * cannot wipe the page, a child of fork() is not detected. */
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

/* Takes no lock: a child of fork() could find it taken by a thread that the
 * child does not have. */
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

/* For vc__handle_fail(): the name of the kind in error texts. */
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
        [VC__CLOSURES] = "closure queue",
        [VC__RESOLVER] = "resolver",
        [VC__MESSAGE] = "message that was received",
    };

    return names[kind];
}

/* For vc__handle_fail() and vc__handle_misuse(): true if the handle was made by
 * a process that this one was forked from. */
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
