/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of the fake share. All state is guarded by the fact that one
 * thread of the world runs at a time. What stands for the kernel and the
 * device (QPs, ids, keys, ...) is allocated by fake__alloc() and lives until
 * the world ends, so that events that come late find it and see that it is
 * dead; what the program holds (struct ibv_qp, struct rdma_cm_id, ...) is
 * allocated by fake__handle_new() and freed when the program destroys it, so
 * that the address sanitizer sees its mistakes. */
#ifndef FAKE_WORLD_H
#define FAKE_WORLD_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fake.h"

#define FAKE__US      UINT64_C(1000) /* nanoseconds */
#define FAKE__MS      (1000 * FAKE__US)
#define FAKE__S       (1000 * FAKE__MS)
#define FAKE__FOREVER UINT64_MAX

/* --- hosts, processes, threads ----------------------------------------- */

struct fake__device;
struct fake__id;

#define FAKE__MAX_INLINE 512

/* A host, or a further device of one. */
struct fake_host {
    char name[32];
    struct fake_host *machine; /* whose device it is; itself for the first */
    unsigned index;            /* of the device */
    struct sockaddr_storage addr;
    bool port_up;
    bool removed;                /* the device */
    uint8_t reads_in, reads_out; /* RDMA READs at a time, of the device */
    unsigned max_inline;         /* bytes of a QP of the device */
    struct fake__device *device;
    struct fake_host *next;
    uint16_t next_port;
};

struct fake_process {
    char name[32];
    struct fake_host *host;
    int number;
    bool frozen, doomed, ended;
    bool unclean; /* was killed: what is left is no leak */
    unsigned leaks;
    unsigned threads;
    struct fake_census census;
    unsigned calls, allocations;
    struct fake_process *next;
};

struct fake__task; /* a thread */

extern struct fake__world {
    struct fake_opts opts;
    bool former_cm; /* librdmacm is an old one */
    uint64_t now;   /* ns */
    uint64_t steps;
    uint64_t fingerprint;
    struct fake_host *hosts;
    struct fake_process *processes;
    void *cuts; /* host.c */
} fake__world;

/* The process of the calling thread; NULL for a thread outside the world. */
struct fake_process *fake__self(void);

static inline bool
fake__rxe(void)
{
    return fake__world.opts.profile == FAKE_RXE;
}

/* 0..n-1, from the seed. */
uint64_t fake__random(uint64_t n);

/* This, too, is part of what was done. */
void fake__record(uint64_t what);

/* How long a packet is on its way: some microseconds, from the seed. */
uint64_t fake__latency(void);

/* May packets pass from one host to the other now? (the same host: yes, while
 * its device is there and its port up) */
bool fake__reaches(const struct fake_host *from, const struct fake_host *to);

/* The devices of a host, one after the other; NULL behind the last. */
struct fake_host *fake__device_next(const struct fake_host *device);
size_t fake__device_count(const struct fake_host *host);
struct fake_host *fake__host_of_addr(const struct sockaddr *addr);
struct fake_host *fake__host_of_gid(const union ibv_gid *gid);
void fake__gid_of(const struct fake_host *host, union ibv_gid *gid);

/* --- calls of the program ---------------------------------------------- */

/* The first line of each function that the program calls:
 *     FAKE_CALL("ibv_create_qp");
 *     if (call.err != 0) { errno = call.err; return NULL; }
 * It is a point where threads may change and time passes; on the way out, by
 * whatever return, the thread sanitizer watches again. Functions that never
 * fail (destroying, acknowledging) have FAKE_CALL_SAFE. With the name NULL it
 * is no such point: nothing may come between a look and what follows it. */
struct fake__call {
    int err; /* the fault that strikes */
};
struct fake__call fake__enter(const char *name, bool may_fail);
void fake__leave(struct fake__call *call);
#define FAKE_CALL(name)                                                        \
    struct fake__call call __attribute__((cleanup(fake__leave), unused)) =     \
        fake__enter(name, true)
#define FAKE_CALL_SAFE(name)                                                   \
    struct fake__call call __attribute__((cleanup(fake__leave), unused)) =     \
        fake__enter(name, false)

/* --- waiting ----------------------------------------------------------- */

/* The calling thread waits until somebody wakes this key, or the time `until`
 * has come: false. Conditions are checked again by the caller. */
bool fake__block(const void *key, uint64_t until);
void fake__wake(const void *key);

/* Polling found nothing: somebody else's turn, or time passes. */
void fake__idle(void);

/* The thread sanitizer's happens-before: what a thread did before release(x)
 * is seen by one after acquire(x), as a kernel or an adapter has it. */
void fake__release(const void *x);
void fake__acquire(const void *x);

/* --- events ------------------------------------------------------------ */

/* Calls fn(obj, n) after `delay` nanoseconds, on whatever thread; those of one
 * moment in the order of their making. obj is from fake__alloc(). */
void fake__after(uint64_t delay, void (*fn)(void *obj, uint64_t n), void *obj,
                 uint64_t n);

/* --- the trace and its rules ------------------------------------------- */

struct fake__fate {
    bool lose, drop, flush, alter;
    uint64_t delay; /* ns */
};

/* Something happens: "client qp 17: SEND 64 B -> server". Call it before it
 * has its effect, and do what the fate says. */
struct fake__fate fake__note(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* --- memory ------------------------------------------------------------ */

/* Zeroed; lives until the world ends. Never fails. */
void *fake__alloc(size_t size);

/* Zeroed; never fails. */
void *fake__handle_new(size_t size);
void fake__handle_free(void *handle);

/* --- descriptors ------------------------------------------------------- */

/* A descriptor that is readable while something is queued behind it: event
 * channels, completion channels, asynchronous events. Its number. */
int fake__fd_new(struct fake_process *p);
void fake__fd_close(int fd);
void fake__fd_ready(int fd, bool ready);
bool fake__fd_is_nonblocking(int fd);
/* Waits until it is ready; false with errno = EAGAIN when it is non-blocking
 * and not. */
bool fake__fd_await(int fd);

/* --- verbs.c and qp.c -------------------------------------------------- */

struct fake__qp;

struct fake__device *fake__device_new(struct fake_host *host);

/* librdmacm's own context of a device, not counted: one for each process, never
 * closed. */
struct ibv_context *fake__context_of_cm(struct fake_process *p,
                                        struct fake_host *host);

struct fake__qp *fake__qp_of(struct ibv_qp *qp);
uint32_t fake__qp_number(const struct fake__qp *qp);
/* As ibv_modify_qp() to ERR, by the kernel; nothing when it is dead. */
void fake__qp_error(struct fake__qp *qp);

/* The device is removed: all its QPs go to error. */
void fake__device_gone(struct fake__device *d);
/* An asynchronous event of the port, to all contexts of the device. */
void fake__device_port_event(struct fake__device *d, bool up);

/* The process has ended: everything of verbs that it has is destroyed. */
void fake__verbs_exit(struct fake_process *p);

/* --- cm.c -------------------------------------------------------------- */

/* The process has ended: its channels and ids are destroyed, peers told. */
void fake__cm_exit(struct fake_process *p);
/* DEVICE_REMOVAL to every id bound to it. */
void fake__cm_device_gone(struct fake_host *host);
/* The world ends. */
void fake__cm_end(void);
void fake__verbs_end(void);

#endif
