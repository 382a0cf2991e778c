/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * liburcu in a world. A thread that is in a read-side critical section may lose
 * its turn there, and synchronize_rcu() would wait for it in real time, in which
 * no other thread of the world runs. So it first waits in the world's time until
 * no thread is in such a section. One thread of the world runs at a time
 * (world.h); other threads use liburcu as it is.
 *
 * That sees sections which liburcu's functions begin and end. So in a world no
 * thread learns to do without these (transport/core/rcu.h). */
#include "real.h"

void __wrap_urcu_bp_read_lock(void);
void __wrap_urcu_bp_read_unlock(void);
void __wrap_urcu_bp_synchronize_rcu(void);
void __real_urcu_bp_read_lock(void);
void __real_urcu_bp_read_unlock(void);
void __real_urcu_bp_synchronize_rcu(void);
void __wrap_vc__rcu_learn(void);
void __real_vc__rcu_learn(void);

static unsigned readers; /* sections that threads of the world are in */

void
__wrap_urcu_bp_read_lock(void)
{
    __real_urcu_bp_read_lock();
    if (fake__inside())
        readers++;
}

/* Called by __wrap_urcu_bp_read_unlock(): no thread is in a section. */
static void
rcu_wake(void)
{
    FAKE_CALL_SAFE(NULL);

    fake__wake(&readers);
}

void
__wrap_urcu_bp_read_unlock(void)
{
    __real_urcu_bp_read_unlock();
    if (fake__inside() && --readers == 0)
        rcu_wake();
}

/* Called by __wrap_urcu_bp_synchronize_rcu(). */
static void
rcu_await(void)
{
    FAKE_CALL_SAFE("synchronize_rcu");

    while (readers > 0)
        fake__block(&readers, FAKE__FOREVER);
}

void
__wrap_urcu_bp_synchronize_rcu(void)
{
    if (fake__inside())
        rcu_await();
    __real_urcu_bp_synchronize_rcu();
}

void
__wrap_vc__rcu_learn(void)
{
    if (!fake__inside())
        __real_vc__rcu_learn();
}
