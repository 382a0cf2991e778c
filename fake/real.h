/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The system's own functions, which the linker's --wrap replaces by the fake's
 * for the program (wrap.args lists them), and what the files that simulate the
 * system share: sched.c, posix.c, heap.c, fd.c, note.c. */
#ifndef FAKE_REAL_H
#define FAKE_REAL_H

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/types.h>
#include <time.h>

#include "world.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__real_aligned_alloc(size_t align, size_t size);
int __real_posix_memalign(void **p, size_t align, size_t size);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd,
                  off_t off);
int __real_munmap(void *addr, size_t len);
int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr,
                          void *(*body)(void *), void *arg);
int __real_pthread_join(pthread_t t, void **result);
int __real_pthread_mutex_unlock(pthread_mutex_t *m);
int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __real_clock_getres(clockid_t clock, struct timespec *t);
long __real_syscall(long number, ...);
int __real_sched_yield(void);
ssize_t __real_read(int fd, void *data, size_t len);
ssize_t __real_write(int fd, const void *data, size_t len);
int __real_close(int fd);
int __real_fcntl(int fd, int cmd, ...);
int __real_poll(struct pollfd *fds, nfds_t n, int ms);
int __real_access(const char *path, int mode);

/* --- base.c ------------------------------------------------------------ */

void fake__base_begin(uint64_t seed);
void fake__base_end(void);
uint64_t fake__events_next(void); /* when the next event is due */
bool fake__events_run(void);      /* runs due events; true if any */

/* --- process.c --------------------------------------------------------- */

/* Ends the process, which has returned or was killed. */
void fake__process_end(struct fake_process *p);

/* --- sched.c ----------------------------------------------------------- */

int fake__thread_new(struct fake_process *p, void *(*body)(void *), void *arg,
                     pthread_t *out);
/* 0 or an errno, as pthread_join(). */
int fake__thread_join(pthread_t thread, void **result);

/* fake__point: a point where threads may change, for system calls that the
 * thread sanitizer must watch itself: its watching is not switched off. */
void fake__point(void);
bool fake__inside(void); /* true in a thread of the world */

void fake__unwatched(bool on); /* no watching by the thread sanitizer */

void fake__threads_begin(struct fake_process *p);
void fake__threads_kill(struct fake_process *p);
void fake__threads_thaw(void); /* of any process */
void fake__threads_end(void);

/* Ends the calling thread if its process was killed; does nothing while events
 * are run. */
void fake__die_if_doomed(void);

/* --- cpu.c ------------------------------------------------------------- */

/* The world's threads are bound to one processor until the world ends. Each
 * thread follows when it gets the baton, as the thread before may have chosen
 * another processor. */
void fake__cpu_begin(void);
void fake__cpu_follow(void);
void fake__cpu_look(void);
void fake__cpu_end(void);

/* --- heap.c ------------------------------------------------------------ */

/* Frees all memory that an ended process still had. */
void fake__heap_exit(struct fake_process *p);
void fake__heap_end(void);

/* --- fd.c -------------------------------------------------------------- */

void fake__fds_exit(struct fake_process *p);
void fake__fds_end(void);

/* --- note.c ------------------------------------------------------------ */

/* The errno of a fault that occurs at this call, or 0. */
int fake__fault(struct fake_process *p, const char *call);
bool fake__memory_fails(struct fake_process *p);
void fake__notes_end(void);

/* Prints the reason and the end of the trace, and aborts: the program under
 * test, or the test, cannot continue. */
void fake__stuck(const char *why) __attribute__((noreturn));

#endif
