/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which paths seem to drop packets without bytes, as those of some clouds do. A
 * path is a device of this machine and the address of a peer, without its port.
 * On such a path the empty RDMA WRITE of keepalive, never acknowledged, would
 * break healthy connections. The first one that breaks so has the path
 * remembered, and it is asked by packets with bytes from then on.
 *
 * The host of the peer may just have been down. Then the memory is wrong but
 * does little harm, and is forgotten when nobody has used it for an hour. A
 * connection to the peer soon after the loss makes it likely that the path is
 * the cause: that is reported once.
 *
 * One for each runtime; its engines share it. Any thread; the lock is taken
 * last, and only while something is remembered. Init and fini run alone.
 *
 * Called by: rpc/runtime.c (init, fini), transport/rdma/wire.c
 * (path_empty_lost, path_drops_empty, path_is_used),
 * transport/rdma/wire_connect.c (path_met). */
#ifndef VC_TRANSPORT_PATH_MEMORY_H
#define VC_TRANSPORT_PATH_MEMORY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define VC__PATHS_MAX    32u /* then the one unused for longest is forgotten */
#define VC__PATH_AGE_US  UINT64_C(3600000000) /* since it was used last */
#define VC__PATH_MEET_US UINT64_C(60000000)   /* a connection soon after */

struct vc__path {
    char device[64];
    uint16_t family;
    uint8_t addr[16]; /* of the peer; IPv4 uses 4 */
    uint64_t lost;    /* when an empty packet was lost last, microseconds */
    uint64_t used;    /* when a packet with bytes was sent instead, or lost */
    bool met;         /* true once a connection after that was reported */
};

struct vc__path_memory {
    pthread_mutex_t lock;
    atomic_uint n;                        /* written under the lock */
    struct vc__path paths[VC__PATHS_MAX]; /* lock; n of them */
};

/* Called by vc_runtime_new() and vc_runtime_free(). */
void vc__path_memory_init(struct vc__path_memory *m);
void vc__path_memory_fini(struct vc__path_memory *m);

/* In all that follow, m may be NULL: nothing is remembered then. peer is an
 * IPv4 or IPv6 address. */

/* A connection has broken because an empty packet was not acknowledged. Called
 * for the failed completion of a probe, on the holder of an engine. */
void vc__path_empty_lost(struct vc__path_memory *m, const char *device,
                         const struct sockaddr *peer, uint64_t now);

/* True if the path is remembered. Called before each probe, under the lock of
 * the link. */
bool vc__path_drops_empty(struct vc__path_memory *m, const char *device,
                          const struct sockaddr *peer, uint64_t now);

/* A packet with bytes was sent in place of an empty one: the path is remembered
 * for another hour. Under the lock of the link. */
void vc__path_is_used(struct vc__path_memory *m, const char *device,
                      const struct sockaddr *peer, uint64_t now);

/* A connection came up. Returns true, once for each path, if an empty packet
 * was lost not long before; *ago is set to the microseconds since then. Called
 * for each connection, on the holder. */
bool vc__path_met(struct vc__path_memory *m, const char *device,
                  const struct sockaddr *peer, uint64_t now, uint64_t *ago);

#endif
