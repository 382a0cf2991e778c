/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A full barrier: other threads see what this one wrote before it as soon as
 * this one reads after it. It is what atomic_thread_fence(seq_cst) is, for which
 * gcc 12 and liburcu take mfence on x86-64. An instruction with the prefix lock
 * orders ordinary memory as well (AMD64 manual, volume 2, 7.4.2; Linux' smp_mb()
 * is one), and takes half the time: a call over inproc has four of them. */
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
