/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The lock of what each call touches: of a link, a pool, and a port of
 * datagrams. It works as glibc's mutex does (a word, and a futex for those that
 * wait), but a free one is taken and given by one instruction each, which the
 * linker puts in the place of the call (LTO): an end of a call takes and gives
 * seven, and each such pair cost some 48 instructions by pthread_mutex_lock().
 * Other locks are mutexes. A condition cannot be waited for under it, and it is
 * not taken twice.
 *
 * May run together: all but init, for any threads.
 *
 * Called by: cm/link/link_send.c (try, give_fenced), many files (init, take,
 * give). */
#ifndef VC_TRANSPORT_LOCK_H
#define VC_TRANSPORT_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

#define VC__LOCK_FREE    0u
#define VC__LOCK_TAKEN   1u
#define VC__LOCK_AWAITED 2u /* taken, and a thread may sleep until it is free */

struct vc__lock {
    atomic_uint word; /* VC__LOCK_* */
};

/* Makes a free lock, before another thread knows it. It needs no end. */
void vc__lock_init(struct vc__lock *l);

/* Takes the lock; waits while another thread has it. */
void vc__lock_take(struct vc__lock *l);

/* Takes the lock if it is free: true. */
bool vc__lock_try(struct vc__lock *l);

/* Gives the lock, which this thread has. It may be freed at once by the thread
 * that takes it next. */
void vc__lock_give(struct vc__lock *l);

/* The same, and a full fence (transport/core/fence.h) after it. */
void vc__lock_give_fenced(struct vc__lock *l);

#endif
