/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A full memory barrier: when this thread reads after it, other threads can see
 * what this thread wrote before it. It does what atomic_thread_fence(seq_cst)
 * does, for which gcc 12 and liburcu use mfence on x86-64. An instruction with
 * the lock prefix orders ordinary memory as well (AMD64 manual, volume 2,
 * 7.4.2; Linux' smp_mb() is one). It takes half the time, and a call over
 * inproc has four barriers. Any thread: called between a write and a read by
 * two sides, each of which reads what the other writes, as one that goes to
 * sleep and one that wakes it.
 *
 * Called by: lock.c (fence), transport/inproc/half.c (fence),
 * transport/shm/ring.c (fence). */
#ifndef VC_TRANSPORT_FENCE_H
#define VC_TRANSPORT_FENCE_H

#include <stdatomic.h>

static inline void
vc__fence(void)
{
#if defined(__x86_64__) && defined(__LP64__)
    __asm__ __volatile__("lock; addl $0, -4(%%rsp)" ::: "memory", "cc");
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

#endif
