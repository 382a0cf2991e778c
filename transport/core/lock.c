/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/lock.h. The word is that of "mutex 2" in U. Drepper,
 * "Futexes are tricky". */
#include "transport/core/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/core/fence.h"

/* Waits for the lock and takes it. For vc__lock_take(). A thread that has slept
 * does not know whether others do, so it takes the lock as awaited. errno stays,
 * as it does with a mutex: also in lock_wake(). */
__attribute__((cold, noinline)) static void
lock_await(struct vc__lock *l)
{
    int was = errno;

    while (atomic_exchange_explicit(&l->word, VC__LOCK_AWAITED,
                                    memory_order_acquire) != VC__LOCK_FREE)
        syscall(SYS_futex, &l->word, FUTEX_WAIT_PRIVATE, VC__LOCK_AWAITED, NULL,
                NULL, 0);
    errno = was;
}

/* Wakes one thread that sleeps. For vc__lock_give(). The lock may be freed by
 * now: to wake an address that is no futex any more is harmless. */
__attribute__((cold, noinline)) static void
lock_wake(struct vc__lock *l)
{
    int was = errno;

    syscall(SYS_futex, &l->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = was;
}

void
vc__lock_init(struct vc__lock *l)
{
    atomic_init(&l->word, VC__LOCK_FREE);
}

/* Acquire: pairs with the release of the thread that had it before. For take
 * and try, which the simulated world may replace: so neither calls the
 * other. */
static inline bool
lock_try(struct vc__lock *l)
{
    unsigned is_free = VC__LOCK_FREE;

    return atomic_compare_exchange_strong_explicit(
        &l->word, &is_free, VC__LOCK_TAKEN, memory_order_acquire,
        memory_order_relaxed);
}

/* For give and give_fenced. */
static inline void
lock_give(struct vc__lock *l)
{
    if (atomic_exchange_explicit(&l->word, VC__LOCK_FREE,
                                 memory_order_release) == VC__LOCK_AWAITED)
        lock_wake(l);
}

void
vc__lock_take(struct vc__lock *l)
{
    if (!lock_try(l))
        lock_await(l);
}

bool
vc__lock_try(struct vc__lock *l)
{
    return lock_try(l);
}

void
vc__lock_give(struct vc__lock *l)
{
    lock_give(l);
}

void
vc__lock_give_fenced(struct vc__lock *l)
{
    lock_give(l);
    /* On x86 the exchange is a full fence of the processor already (AMD64
     * manual, volume 2, 7.4.2: xchg has the lock prefix); this one keeps the
     * compiler from reading earlier what comes after it. */
#ifdef __x86_64__
    atomic_signal_fence(memory_order_seq_cst);
#else
    vc__fence();
#endif
}
