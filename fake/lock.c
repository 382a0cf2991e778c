/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The library's own locks (transport/core/lock.h) in a world: as the mutexes of
 * posix.c, the real ones, in which no thread blocks. Apart from these, as tests
 * of the fake alone have no library. */
#include "real.h"

struct vc__lock;

void __wrap_vc__lock_take(struct vc__lock *l);
bool __wrap_vc__lock_try(struct vc__lock *l);
void __wrap_vc__lock_give(struct vc__lock *l);
void __wrap_vc__lock_give_fenced(struct vc__lock *l);
void __real_vc__lock_take(struct vc__lock *l);
bool __real_vc__lock_try(struct vc__lock *l);
void __real_vc__lock_give(struct vc__lock *l);
void __real_vc__lock_give_fenced(struct vc__lock *l);

/* Lets others run until the lock is given. Called by __wrap_vc__lock_take(). */
static void
taken_await(struct vc__lock *l)
{
    FAKE_CALL_SAFE(NULL);

    fake__block(l, FAKE__FOREVER);
}

/* Called by given() when the lock is free. */
static void
taken_wake(const struct vc__lock *l)
{
    FAKE_CALL_SAFE("");

    fake__wake(l);
}

void
__wrap_vc__lock_take(struct vc__lock *l)
{
    if (!fake__inside()) {
        __real_vc__lock_take(l);
        return;
    }
    fake__point();
    while (!__real_vc__lock_try(l))
        taken_await(l);
}

bool
__wrap_vc__lock_try(struct vc__lock *l)
{
    if (fake__inside())
        fake__point();
    return __real_vc__lock_try(l);
}

/* Another thread may run while the lock is still taken, and fail to take it. For
 * the two functions after it. */
static void
given(struct vc__lock *l, void (*give)(struct vc__lock *l))
{
    bool inside = fake__inside();

    if (inside && __real_vc__lock_try(l))
        fake__stuck("a lock is given that is not taken");
    if (inside)
        fake__point();
    give(l);
    if (inside)
        taken_wake(l);
}

void
__wrap_vc__lock_give(struct vc__lock *l)
{
    given(l, __real_vc__lock_give);
}

void
__wrap_vc__lock_give_fenced(struct vc__lock *l)
{
    given(l, __real_vc__lock_give_fenced);
}
