/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the system knows of a thread: does it use the processor, or wait? */
#ifndef VC_TRANSPORT_THREAD_H
#define VC_TRANSPORT_THREAD_H

#include <stdbool.h>

/* The system's number of the calling thread. */
int vc__thread_number(void);

/* Does the thread of this process with that number run this moment, or would,
 * had it a processor? False also when it is gone, or nobody knows. */
bool vc__thread_burns(int number);

/* How often the calling thread has waited since it began. */
long vc__thread_waits(void);

#endif
