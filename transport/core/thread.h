/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Threads of the library, and what the system knows of one: does it use the
 * processor, or wait? */
#ifndef VC_TRANSPORT_THREAD_H
#define VC_TRANSPORT_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* pthread_create() of a thread that takes no signal: those of the process are the
 * program's own threads'. All threads of the library are made by it. 0 or an
 * errno. */
int vc__thread_start(pthread_t *thread, const pthread_attr_t *attr,
                     void *(*body)(void *), void *arg);

/* The system's number of the calling thread. */
int vc__thread_number(void);

/* Does the thread of this process with that number run this moment, or would,
 * had it a processor? False also when it is gone, or nobody knows. */
bool vc__thread_burns(int number);

/* How often the calling thread has waited since it began. */
long vc__thread_waits(void);

#endif
