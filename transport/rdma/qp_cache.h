/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * QPs that wait to be used again: making one is most of what the
 * verbs cost a connection. Pure: who makes, resets and destroys them is in
 * transport/rdma/qp.c. The holder of the engine only. */
#ifndef VC_TRANSPORT_RDMA_QP_CACHE_H
#define VC_TRANSPORT_RDMA_QP_CACHE_H

#include <stdint.h>

#include <urcu/list.h>

struct ibv_qp;

/* A QP from its making to its destruction, through all its uses. */
struct vc__warm_qp {
    struct cds_list_head node; /* in idle, while nobody uses it */
    struct ibv_qp *qp;
    uint32_t depth; /* of its send queue: its class */
    uint32_t max_inline;

    /* It is in INIT already, with these; 0: in RESET. */
    uint8_t port;
    uint16_t pkey_index;
};

struct vc__qp_stats {
    uint64_t made;      /* anew */
    uint64_t reused;    /* taken from those that waited */
    uint64_t recycled;  /* put there */
    uint64_t evicted;   /* destroyed while they waited, for others */
    uint64_t destroyed; /* in all */
    unsigned idle;      /* waiting now */
};

struct vc__qp_cache {
    unsigned max;
    struct cds_list_head idle; /* the one that has waited longest is first */
    struct vc__qp_stats stats;
};

/* Keeps max QPs waiting at most. */
void vc__qp_cache_init(struct vc__qp_cache *c, unsigned max);

/* One of this depth to be used now, or NULL: that which has waited longest,
 * so that as much time as can be lies between two connections of a number,
 * and packets of the former one have died out. */
struct vc__warm_qp *vc__qp_cache_take(struct vc__qp_cache *c, uint32_t depth);

/* Has w wait. Returns what there is no room for, to be destroyed: the one that
 * has waited longest, w itself, or NULL. */
struct vc__warm_qp *vc__qp_cache_put(struct vc__qp_cache *c,
                                     struct vc__warm_qp *w);

/* Any one that waits, to be destroyed; NULL when none is left. */
struct vc__warm_qp *vc__qp_cache_pop(struct vc__qp_cache *c);

#endif
