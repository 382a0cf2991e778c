/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Read-side critical sections of liburcu (flavour urcu-bp) in 11 instructions,
 * for the data path. rcu_read_lock() and rcu_read_unlock() take 84, as they are
 * functions of another library, which call __tls_get_addr() four times. Here
 * each thread keeps the address of liburcu's variable, in static TLS. It writes
 * there what liburcu's inlined functions do (urcu/static/urcu-bp.h), so
 * synchronize_rcu() waits for these sections, too. Sections of rcu_read_lock()
 * may be within these. Of liburcu only the layout of its data is compiled in,
 * as the LGPL allows (2.1, section 5). Any thread.
 *
 * The order of a reader and a writer is as in liburcu: a reader has compiler
 * barriers only, and synchronize_rcu() has each thread of the process run a
 * full barrier, by membarrier(2). On a system without that call threads do not
 * keep the address, and all sections are those of rcu_read_lock().
 *
 * Called by: rpc/balance/servers.h (enter, exit), rpc/balance/servers.c (lock,
 * unlock), rpc/client/method_config.c (lock, unlock, await),
 * rpc/balance/changes.c (await). */
#ifndef VC_TRANSPORT_RCU_H
#define VC_TRANSPORT_RCU_H

#include <stdatomic.h>
#include <stddef.h>

#include <urcu-bp.h>

#include <urcu/static/urcu-bp.h>

/* Where this thread's entry in liburcu's registry is found: liburcu's variable,
 * or, until the thread has learned where that is, a pointer that is always
 * NULL. liburcu sets its variable to NULL when the thread ends. Eight bytes of
 * static TLS, as in handoff.c. */
extern _Thread_local struct urcu_bp_reader **vc__rcu_reader
    __attribute__((tls_model("initial-exec")));

#ifdef __SANITIZE_THREAD__
/* ThreadSanitizer does not see how liburcu orders a section and what follows
 * synchronize_rcu(). In such builds each section releases this, and
 * vc__rcu_await() acquires it. */
extern atomic_uint vc__rcu_left;
#endif

/* For this header: returns where the section of r is. liburcu does not align
 * its entries as their type says (128 bytes), so they must not be used by that
 * type. */
static inline unsigned long *
vc__rcu_section(struct urcu_bp_reader *r)
{
    return (unsigned long *)(void *)((char *)r +
                                     offsetof(struct urcu_bp_reader, ctr));
}

/* Begins a critical section, and returns what vc__rcu_exit() needs to end it.
 * Called by vc__servers_quick() (rpc/balance/servers.h) and vc__rcu_lock().
 * NULL: the thread does not know where its entry is, or is in a section: then
 * vc__rcu_lock() begins one. */
static inline struct urcu_bp_reader *
vc__rcu_enter(void)
{
    struct urcu_bp_reader *r = *vc__rcu_reader;

    if (r == NULL || (*vc__rcu_section(r) & URCU_BP_GP_CTR_NEST_MASK) != 0)
        return NULL;
    CMM_STORE_SHARED(*vc__rcu_section(r), CMM_LOAD_SHARED(urcu_bp_gp.ctr));
    cmm_barrier(); /* what is read in the section is read after that */
    return r;
}

/* For ThreadSanitizer: a section ends. For vc__rcu_exit() and
 * vc__rcu_unlock(). */
static inline void
vc__rcu_leave(void)
{
#ifdef __SANITIZE_THREAD__
    atomic_fetch_add_explicit(&vc__rcu_left, 1, memory_order_release);
#endif
}

/* Ends the section of vc__rcu_enter(). r: what that has returned; not NULL. */
static inline void
vc__rcu_exit(struct urcu_bp_reader *r)
{
    vc__rcu_leave();
    cmm_barrier(); /* what was read in the section was read before this */
    /* liburcu leaves its phase there, unused. */
    CMM_STORE_SHARED(*vc__rcu_section(r), 0);
    cmm_barrier(); /* a lock that is taken next is not part of it */
}

/* Begins a critical section in any case. Returns what vc__rcu_unlock() needs to
 * end it; NULL says only that the section is one of rcu_read_lock(). Called by
 * vc__servers_pick(), to choose a server, and by rpc/client/method_config.c, to
 * read a channel's service config. */
static inline struct urcu_bp_reader *
vc__rcu_lock(void)
{
    struct urcu_bp_reader *r = vc__rcu_enter();

    if (r == NULL)
        rcu_read_lock();
    return r;
}

/* Has this thread's next sections be quick, if they can be. For
 * vc__rcu_unlock(). */
void vc__rcu_learn(void);

/* Ends the section of vc__rcu_lock(). r: what that has returned, or NULL. */
static inline void
vc__rcu_unlock(struct urcu_bp_reader *r)
{
    if (r != NULL) {
        vc__rcu_exit(r);
        return;
    }
    vc__rcu_leave();
    rcu_read_unlock();
    vc__rcu_learn();
}

/* Waits until the sections have ended that have begun before. Not in a section.
 * Called when a set of servers (rpc/balance/changes.c) or a service config
 * (rpc/client/method_config.c) was replaced, before the former is freed. */
static inline void
vc__rcu_await(void)
{
    synchronize_rcu();
#ifdef __SANITIZE_THREAD__
    atomic_load_explicit(&vc__rcu_left, memory_order_acquire);
#endif
}

#endif
