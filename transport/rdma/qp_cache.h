/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A cache of idle QPs for reuse: creating a QP is most of what the verbs of a
 * connection cost. Pure: transport/rdma/qp.c creates, resets and destroys the
 * QPs. The holder of the engine only, or the thread that opens or tries a
 * device which no engine uses; pop also within vc__rdma_close().
 *
 * Called by: device_queues.c (init), qp.c (take, put, pop), qp_cache.c (pop).
 */
#ifndef VC_TRANSPORT_RDMA_QP_CACHE_H
#define VC_TRANSPORT_RDMA_QP_CACHE_H

#include <stdint.h>

#include <urcu/list.h>

struct ibv_qp;

/* A QP from its creation to its destruction, through all its uses. */
struct vc__warm_qp {
    struct cds_list_head node; /* in idle, while unused */
    struct ibv_qp *qp;
    uint32_t depth; /* of its send queue; reused only for the same */
    uint32_t max_inline;

    /* The QP is in INIT already, with these values; port 0: it is in RESET. */
    uint8_t port;
    uint16_t pkey_index;
};

struct vc__qp_stats {
    uint64_t made;      /* created */
    uint64_t reused;    /* taken from the cache */
    uint64_t recycled;  /* put into the cache */
    uint64_t evicted;   /* removed from the cache to make room */
    uint64_t destroyed; /* destroyed, all causes */
    unsigned idle;      /* in the cache now */
};

struct vc__qp_cache {
    unsigned max;
    struct cds_list_head idle; /* longest idle first */
    struct vc__qp_stats stats;
};

/* Keeps at most max idle QPs. Called when the device is opened. */
void vc__qp_cache_init(struct vc__qp_cache *c, unsigned max);

/* Called when a connection needs a QP (take) and when it releases one (put).
 * Takes the QP of this depth that has been idle longest, or NULL. Longest idle
 * first, so that stray packets to its number have died out. */
struct vc__warm_qp *vc__qp_cache_take(struct vc__qp_cache *c, uint32_t depth);

/* Adds w to the cache. Returns the QP that there is no room for, to be
 * destroyed: the one idle longest, w itself, or NULL. */
struct vc__warm_qp *vc__qp_cache_put(struct vc__qp_cache *c,
                                     struct vc__warm_qp *w);

/* Takes the QP idle longest out of the cache, to be destroyed; NULL when it is
 * empty. Called by vc__qps_forget(), and by put when the cache is full. */
struct vc__warm_qp *vc__qp_cache_pop(struct vc__qp_cache *c);

#endif
