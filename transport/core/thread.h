/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Threads of the library, and what the system knows about a thread: whether it
 * uses the processor, or waits. Any thread.
 *
 * Called by: cm/connect/target.c (start), crew.c (start, burns), hand.c
 * (start), transport/rdma/device_list.c (start), handoff.c (number),
 * rpc/server/server_handler.c (waits), tenure.c (waits). */
#ifndef VC_TRANSPORT_THREAD_H
#define VC_TRANSPORT_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* pthread_create() of a thread that takes no signal: the process's signals go
 * to the program's own threads. All threads of the library are started by it:
 * those of the crew, the lookup of a name, and the reading of RDMA devices.
 * Returns 0 with the new thread in *thread, or an errno. */
int vc__thread_start(pthread_t *thread, const pthread_attr_t *attr,
                     void *(*body)(void *), void *arg);

/* Thread ID of the calling thread, as gettid(2) returns it. Called by
 * vc__handler_run_open(), once on each thread that runs handlers, before its
 * first one. */
int vc__thread_number(void);

/* True if the thread of this process with that ID runs now, or would if it had
 * a processor. False also if the thread has ended, or the system does not say.
 * Called by crew_take(), on the watcher's thread, before it takes an engine
 * from that thread's handler. */
bool vc__thread_burns(int number);

/* How often the calling thread has waited since it began; 0 if unknown. Called
 * before and after a handler that runs on a crew thread
 * (rpc/server/server_handler.c). */
long vc__thread_waits(void);

#endif
