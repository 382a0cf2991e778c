/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See transport/core/waiter.h. */
#include "transport/core/waiter.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/core/clock.h"

/* For vc__waiter_sleep(): sleeps until *word is no longer `seen`, or the thread
 * is woken, also without a reason, or the clock passes `until`. */
static void
futex_wait(atomic_uint *word, unsigned seen, uint64_t until)
{
    struct timespec t = {.tv_sec = (time_t)(until / 1000000u),
                         .tv_nsec = (long)(until % 1000000u) * 1000};

    /* FUTEX_WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC. */
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen,
            until == VC__FOREVER ? NULL : &t, NULL, FUTEX_BITSET_MATCH_ANY);
}

/* For waiter_tell(): wakes the thread that sleeps on the word. */
static void
futex_wake(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* For vc__waiter_done() and vc__waiter_hand(), on any thread: sets a bit and
 * wakes the thread if it sleeps. Once the bit is set the waiter may be freed;
 * waking an address that is no futex any more is harmless. Release: pairs with
 * the acquire in vc__waiter_is_done(); without it the woken thread could miss
 * the result. */
static void
waiter_tell(struct vc__waiter *w, unsigned bit)
{
    unsigned was =
        atomic_fetch_or_explicit(&w->word, bit, memory_order_acq_rel);

    if (was & VC__WAITER_ASLEEP)
        futex_wake(&w->word);
}

void
vc__waiter_done(struct vc__waiter *w)
{
    waiter_tell(w, VC__WAITER_DONE);
}

void
vc__waiter_done_in_turn(struct vc__waiter *w)
{
    unsigned was = atomic_fetch_or_explicit(&w->word, VC__WAITER_DONE,
                                            memory_order_acq_rel);

    if ((was & VC__WAITER_ASLEEP) && !(was & VC__WAITER_DEFERRED))
        futex_wake(&w->word);
}

void
vc__waiter_notify(struct vc__waiter *w)
{
    unsigned was = vc__waiter_undefer(w);

    if ((was & VC__WAITER_DONE) && (was & VC__WAITER_ASLEEP))
        futex_wake(&w->word);
}

void
vc__waiter_hand(struct vc__waiter *w)
{
    waiter_tell(w, VC__WAITER_TOKEN);
}

bool
vc__waiter_take(struct vc__waiter *w)
{
    return atomic_fetch_and(&w->word, ~VC__WAITER_TOKEN) & VC__WAITER_TOKEN;
}

void
vc__waiter_sleep(struct vc__waiter *w, uint64_t until)
{
    unsigned word =
        atomic_fetch_or(&w->word, VC__WAITER_ASLEEP) | VC__WAITER_ASLEEP;

    while (!(word & (VC__WAITER_DONE | VC__WAITER_TOKEN)) &&
           (until == VC__FOREVER || vc__now() < until)) {
        futex_wait(&w->word, word, until);
        word = atomic_load(&w->word);
    }
    atomic_fetch_and(&w->word, ~VC__WAITER_ASLEEP);
}

void
vc__waiter_await(struct vc__waiter *w)
{
    while (!vc__waiter_is_done(w))
        vc__waiter_sleep(w, VC__FOREVER);
}
