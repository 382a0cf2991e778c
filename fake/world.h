/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of the fake share. State needs no lock, because one thread of
 * the world runs at a time. fake__alloc() allocates what stands for the kernel
 * and the device (QPs, ids, keys, ...). It lives until the world ends, so that
 * late events find it and see that it is dead. fake__handle_new() allocates
 * what the program holds (struct ibv_qp, struct rdma_cm_id, ...). It is freed
 * when the program destroys it, so that the address sanitizer sees the
 * program's mistakes. */
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
    struct fake_host *machine; /* host that has the device; itself if first */
    unsigned index;            /* of the device */
    struct sockaddr_storage addr;
    bool port_up;
    bool removed;                /* the device was removed */
    bool drops_empty;            /* its path loses packets without bytes */
    uint8_t reads_in, reads_out; /* RDMA READs at a time; device limits */
    unsigned max_inline;         /* bytes, for QPs of the device */
    unsigned max_ah;
    unsigned max_groups, max_group_qps; /* multicast; QPs of one group */
    struct fake__device *device;
    struct fake_host *next;
    uint16_t next_port;
};

struct fake_process {
    char name[32];
    struct fake_host *host;
    int number;
    bool frozen, doomed, ended;
    bool unclean; /* killed: what it still has is no leak */
    unsigned leaks;
    unsigned threads;
    struct fake_census census;
    unsigned calls, allocations;
    struct fake_process *next;
};

struct path;
struct fake__task; /* a thread */

extern struct fake__world {
    struct fake_opts opts;
    bool former_cm; /* librdmacm behaves like an old version */
    uint64_t now;   /* ns */
    uint64_t steps;
    uint64_t fingerprint;
    struct fake_host *hosts;
    struct fake_process *processes;
    struct path *paths; /* path.c */
    struct fake_noise noise;
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

/* Adds to the fingerprint. */
void fake__record(uint64_t what);

/* The latency of a packet: some microseconds, from the seed. */
uint64_t fake__latency(void);

/* True if packets can pass from one host to the other now. Within one host:
 * while its device is present and its port is up. */
bool fake__reaches(const struct fake_host *from, const struct fake_host *to);
bool fake__reach_each_other(const struct fake_host *a,
                            const struct fake_host *b);
bool fake__path_clogged(const struct fake_host *from,
                        const struct fake_host *to);
/* True unless a path between the two, in either direction, is cut or clogged or
 * delivers packets twice. */
bool fake__path_plain(const struct fake_host *from, const struct fake_host *to);
/* True if the next packet arrives twice. */
bool fake__path_repeats(const struct fake_host *from,
                        const struct fake_host *to);
/* The noise of the path, or that of every path. */
const struct fake_noise *fake__path_noise(const struct fake_host *from,
                                          const struct fake_host *to);
/* True by chance, of this many in a million. */
bool fake__chance(unsigned share);
struct fake_path_counts *fake__path_counts(const struct fake_host *from,
                                           const struct fake_host *to);
/* Like fake__after(), for what is sent along a path: while the path is clogged,
 * it is held. */
void fake__path_send(const struct fake_host *from, const struct fake_host *to,
                     uint64_t delay, void (*fn)(void *obj, uint64_t n),
                     void *obj, uint64_t n);

/* Iterates over the devices of a host; NULL after the last. */
struct fake_host *fake__device_next(const struct fake_host *device);
size_t fake__device_count(const struct fake_host *host);
struct fake_host *fake__host_of_addr(const struct sockaddr *addr);
struct fake_host *fake__host_of_gid(const union ibv_gid *gid);
void fake__gid_of(const struct fake_host *host, union ibv_gid *gid);
/* True for a multicast group's. */
bool fake__gid_is_group(const union ibv_gid *gid);

/* --- calls of the program ---------------------------------------------- */

/* The first line of each function that the program calls:
 *     FAKE_CALL("ibv_create_qp");
 *     if (call.err != 0) { errno = call.err; return NULL; }
 * At this point threads may change and time passes. On every return, the thread
 * sanitizer watches again. Functions that never fail (destroying,
 * acknowledging) use FAKE_CALL_SAFE. With the name NULL, threads do not change:
 * nothing may happen between a check and its use. */
struct fake__call {
    int err; /* errno of a fault; or 0 */
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

/* Blocks the calling thread until another thread wakes this key. False: the
 * time `until` came first. The caller must check its condition again. */
bool fake__block(const void *key, uint64_t until);
void fake__wake(const void *key);

/* Polling found nothing: lets another thread run, or time pass. */
void fake__idle(void);

/* The thread sanitizer's happens-before: what a thread did before release(x) is
 * visible to a thread after acquire(x), as a kernel or an adapter ensures
 * it. */
void fake__release(const void *x);
void fake__acquire(const void *x);

/* --- events ------------------------------------------------------------ */

/* Calls fn(obj, n) after `delay` nanoseconds, on any thread; calls of one
 * moment are in the order of creation. obj is from fake__alloc(). */
void fake__after(uint64_t delay, void (*fn)(void *obj, uint64_t n), void *obj,
                 uint64_t n);

/* --- the trace and its rules ------------------------------------------- */

struct fake__fate {
    bool lose, drop, flush, alter, twice;
    uint64_t delay, again; /* ns; `again`: until it arrives once more */
};

/* Notes an event, "client qp 17: SEND 64 B -> server". Must be called before
 * the event takes effect; the caller does what the fate says. */
struct fake__fate fake__note(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* --- memory ------------------------------------------------------------ */

/* Zeroed; lives until the world ends. Never fails. */
void *fake__alloc(size_t size);

/* Returns the table of n pointers with room for one more. */
void *fake__table_grow(void *table, unsigned n, unsigned *size);

/* Zeroed; never fails. */
void *fake__handle_new(size_t size);
void fake__handle_free(void *handle);

/* --- descriptors ------------------------------------------------------- */

/* Creates a descriptor that is readable while something is queued for it: event
 * channels, completion channels, asynchronous events. Returns its number. */
int fake__fd_new(struct fake_process *p);
void fake__fd_close(int fd);
void fake__fd_ready(int fd, bool ready);
bool fake__fd_is_nonblocking(int fd);
/* Waits until the descriptor is ready. False with errno = EAGAIN when it is
 * non-blocking and not ready. */
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
/* Like ibv_modify_qp() to ERR, by the kernel; does nothing on a dead QP. */
void fake__qp_error(struct fake__qp *qp);

/* The device is removed: moves all its QPs to ERR. */
void fake__device_gone(struct fake__device *d);
/* An id joins a multicast group on the device, or leaves it. */
void fake__group_join(struct fake__device *d, const union ibv_gid *gid);
void fake__group_leave(struct fake__device *d, const union ibv_gid *gid);
/* Gives an asynchronous event of the port to all contexts of the device. */
void fake__device_port_event(struct fake__device *d, bool up);

/* The process has ended: destroys all of its verbs objects. */
void fake__verbs_exit(struct fake_process *p);

/* --- cm.c -------------------------------------------------------------- */

/* The process has ended: destroys its channels and ids, and notifies peers. */
void fake__cm_exit(struct fake_process *p);
/* Gives DEVICE_REMOVAL to every id bound to the device. */
void fake__cm_device_gone(struct fake_host *host);
/* Frees all at the world's end. */
void fake__cm_end(void);
void fake__verbs_end(void);

#endif
