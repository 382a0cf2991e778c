/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A multicast group that this process has joined over RDMA: an ear whose id is
 * of RDMA_PS_UDP, with a UD QP and a completion queue of its own. A member of
 * the group receives; a publisher sends, and receives nothing, as its QP is not
 * attached to the group. The ear has an event channel of its own: listen()
 * waits for its events on the calling thread, while they come to the holder of
 * the engine when a group that was lost is joined again.
 *
 * Joining and making queues: the thread of listen(), any, or the holder.
 * Sending: any thread, under the owner's lock. All else: the holder of the
 * ear's engine.
 *
 * Called by: group.c (begin, step, await, late, event_take, leave, fail,
 * queues_fini, receive, arm, datagram_max, datagram_reserve, datagram_commit,
 * of), group_join.c (step, late, event_take, fail, queues_init, queues_open),
 * group_queues.c (fail, arm, of). */
#ifndef VC_TRANSPORT_RDMA_GROUP_H
#define VC_TRANSPORT_RDMA_GROUP_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "transport/core/engine.h"
#include "transport/transport.h"

/* The most datagrams handled in one turn of the engine. */
#define VC__GROUP_BATCH 32u

/* How far joining has come. */
enum vc__group_stage {
    VC__GROUP_SEEKS, /* the device that leads to the group */
    VC__GROUP_ASKS,  /* to join it */
    VC__GROUP_IS_IN
};

struct vc__group {
    struct vc__ear ear;
    struct sockaddr_storage addr; /* of the group, with the target's port */
    char text[VC__ADDR_TEXT];     /* the same, for errors */
    struct rdma_event_channel *channel;
    struct rdma_cm_id *id;
    enum vc__group_stage stage;
    uint32_t timeout_ms;     /* of joining */
    struct vc__timer late;   /* runs while the group is joined again */
    bool asked;              /* rdma_join_multicast() was called */
    struct rdma_ud_param ud; /* of the join: address and Q_Key */
    struct vc__source events, arrivals;
    struct vc__task more; /* handles what is left of a long batch */

    struct ibv_pd *pd;
    struct ibv_comp_channel *completions; /* of a member */
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    bool attached;
    struct ibv_ah *ah; /* of a publisher */
    struct ibv_mr *mr;
    uint8_t *memory;    /* n buffers of `stride` bytes */
    unsigned n, stride; /* a member's have room for the GRH */
    uint32_t mtu;       /* the most bytes of a datagram */
    unsigned n_free;    /* of a publisher: buffers that are not being sent */
    uint16_t *free;
};

/* --- group_join.c --------------------------------------------------------- */

/* Joins a group step by step. begin makes the id, and seeks the device that
 * leads to the group. step takes the next event: makes the queues and asks to
 * join, then opens the queues; g->stage says how far it has come. await takes
 * all steps in the calling thread, for g->timeout_ms. late sets the error for a
 * step whose event has not come in that time, and returns its status. On
 * failure vc__group_leave() must follow. Called by group_listen(), and when a
 * group is joined again.
 * VC_UNAVAILABLE        no device or no route leads there; the device has no
 *                       multicast; joining was refused, or timed out
 * VC_PERMISSION_DENIED  this user may not open the device
 * VC_RESOURCE_EXHAUSTED no memory or descriptors */
enum vc_status vc__group_begin(struct vc__group *g);
enum vc_status vc__group_step(struct vc__group *g, enum rdma_cm_event_type type,
                              int status);
enum vc_status vc__group_await(struct vc__group *g);
enum vc_status vc__group_late(const struct vc__group *g);
/* Takes the next event of the channel, copies what is needed of it, and
 * acknowledges it. False: none has come. Called by vc__group_await() and
 * group_events_ready(). */
bool vc__group_event_take(struct vc__group *g, enum rdma_cm_event_type *type,
                          int *status);
/* Leaves the group and frees the id, as far as there is one. Called by
 * group_unlisten(), when the queues are gone. */
void vc__group_leave(struct vc__group *g);

/* --- group_queues.c ------------------------------------------------------- */

/* Sets the thread's error for a call that failed with this errno: `what` it was
 * to do. Returns its status. Called where a group is joined or its queues are
 * made. */
enum vc_status vc__group_fail(const struct vc__group *g, const char *what,
                              int err);

/* init makes the queues and buffers on the device of the id, before the group
 * is joined; open makes the QP ready to receive, or to send, when it is. On
 * failure vc__group_queues_fini() must follow; errors as vc__group_begin().
 * Called by vc__group_step(). */
enum vc_status vc__group_queues_init(struct vc__group *g);
enum vc_status vc__group_queues_open(struct vc__group *g);
/* Frees the queues, as far as there are any. Called by group_unlisten(). */
void vc__group_queues_fini(struct vc__group *g);

/* Passes up to VC__GROUP_BATCH datagrams to the ear's owner, and posts their
 * buffers again. Returns how many completions there were; -1 if the QP has
 * failed. Called by arrivals_handle(). */
int vc__group_receive(struct vc__group *g);

/* Has the completion channel report the next datagram. Called before a member
 * can receive, and by group_arrivals_ready(). */
void vc__group_arm(struct vc__group *g);

/* Entries of the table vc__rdma_mc (transport/transport.h). */
uint32_t vc__group_datagram_max(const struct vc__ear *ear);
uint8_t *vc__group_datagram_reserve(struct vc__ear *ear);
int vc__group_datagram_commit(struct vc__ear *ear, uint32_t len);

/* The group that has this head. For the entries of the table. */
static inline struct vc__group *
vc__group_of(struct vc__ear *ear)
{
    return caa_container_of(ear, struct vc__group, ear);
}

#endif
