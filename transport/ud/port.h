/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A port: the one UD QP by which an engine exchanges datagrams over a device,
 * with its completion queue, receives, buffers to send from, address handles,
 * and the wires that use it. Several threads may send at a time, for different
 * links, so the port has a lock of its own; it is taken under the lock of a
 * link, never the other way round, and no callback runs under it.
 *
 * (P) means: under the port's lock. Everything else is for the holder of the
 * engine, without that lock.
 *
 * Called by: port.c (ud_context_of, ud_port_fail, ud_port_account,
 * ud_queues_make, ud_queues_free, ud_receives_add, ud_ahs_trim, ud_tick_arm),
 * wire.c (ud_context_of, ud_open, ud_close, ud_port_get, ud_port_fail,
 * ud_port_count, ud_port_grow, ud_packet_new, ud_packet_release,
 * ud_packet_data, ud_ah_put, ud_busy), port_receive.c (ud_port_fail,
 * ud_receive_give_back, ud_receives_repost, ud_can_post, ud_retire, ud_ah_get,
 * ud_ah_find, ud_busy), port_tick.c (ud_port_account, ud_tick), port_queues.c
 * (ud_receives_add, ud_receive_give_back, ud_receives_repost, ud_poll, ud_arm,
 * ud_ready), wire_receive.c (ud_receive_give_back, ud_busy), wire_send.c
 * (ud_can_post, ud_packet_release, ud_busy), port_send.c (ud_packet_release,
 * ud_ah_find, ud_ahs_trim), post.h (ud_packet_data), connect.c (ud_ah_get). */
#ifndef VC_TRANSPORT_UD_PORT_H
#define VC_TRANSPORT_UD_PORT_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <urcu/list.h>

#include "transport/core/engine.h"
#include "transport/core/lock.h"
#include "transport/rdma/buffer.h"
#include "transport/rdma/context.h"
#include "transport/rdma/device.h"
#include "transport/ud/datagram.h"

/* The Global Routing Header that goes before each datagram in its receive. */
#define VC__UD_GRH 40u

/* Work requests of the send queue, and receives of a port, at most. */
#define VC__UD_SENDS          256u
#define VC__UD_RECEIVES       4096u
#define VC__UD_RECEIVES_LEAST 256u

#define VC__UD_HEADER_SPACE 32u /* of a header in memory */
#define VC__UD_BUCKETS      1024u
/* Address handles without users that a port keeps. */
#define VC__UD_IDLE_AHS 64u

struct vc__ud_wire;

struct vc__ud_context {
    struct vc__rdma_context rdma; /* first: see vc__rdma_context_of() */
    struct cds_list_head ports;
};

/* An address handle, for all peers that share it: those of one host. */
struct vc__ud_ah {
    struct cds_list_head node; /* in port->ahs */
    struct ibv_ah_attr attr;
    struct ibv_ah *ah;
    unsigned users;
};

/* A packet that is kept until all its pieces are acknowledged, and no work
 * request reads it any more: the head of its buffer. */
struct vc__ud_packet {
    struct vc__buffer *buffer;
    struct vc__buffers *pool;
    uint32_t len;    /* bytes of the packet */
    uint16_t refs;   /* work requests that read it */
    uint8_t pieces;  /* datagrams that it goes in */
    uint8_t unacked; /* of these, not acknowledged */
};
#define VC__UD_PACKET_HEAD 64u

/* The bytes of a port that were last reported to the engine's ledger. */
struct vc__ud_counted {
    uint64_t receive, receive_limit, send, send_limit;
};

struct vc__ud_port {
    struct vc__ud_context *context;
    struct cds_list_head node; /* in context->ports */
    struct vc__device *device;
    struct vc__device_watcher watcher;
    struct vc__task gone; /* notifies the wires that the port has failed */
    bool gone_posted;
    bool failed;         /* no new wire may use it */
    uint8_t number;      /* of the device's port */
    uint16_t mtu;        /* bytes */
    uint32_t inline_max; /* bytes of a datagram, header included */
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct vc__source completions;

    /* Receives. */
    struct vc__buffers receive;
    unsigned receives_max, posted;
    unsigned held; /* of `posted`: with datagrams that came before their turn */
    struct vc__buffer *repost; /* handled, to be posted again */
    unsigned n_repost;
    struct ibv_wc wc[VC__WC_BATCH];
    int wc_at, wc_n;
    uint64_t reset_at; /* when a RESET may be sent again */
    bool unsettled;    /* the batch leaves something to vc__ud_poll()'s end */

    /* An empty large packet, for the next thread that writes one; NULL: none.
     * Taken and given back without a lock. */
    _Atomic(struct vc__ud_packet *) spare;

    struct vc__lock lock;

    /* (P) Sends: between `retired` and `sent` are those outstanding. */
    struct vc__buffers small, large;
    uint32_t sent, retired, signalled;
    struct vc__ud_packet *reads[VC__UD_SENDS]; /* that a request reads */
    uint8_t *headers;
    struct ibv_mr *headers_mr;
    struct ibv_send_wr wr; /* of all datagrams: each sets what differs */
    struct ibv_sge sge[2]; /* a header, and data */

    /* (P) */
    struct cds_list_head ahs;
    unsigned idle_ahs;            /* of these, without users */
    unsigned users;               /* wires */
    uint8_t window;               /* see vc__ud_port_count() */
    struct cds_list_head wires;   /* all */
    struct cds_list_head busy;    /* those with something due */
    struct cds_list_head waiting; /* those that wait for room to send */
    struct cds_list_head acking;  /* those that may have to acknowledge now */
    struct vc__ud_wire *buckets[VC__UD_BUCKETS]; /* by their key */
    bool arm_posted; /* and it has not run yet: a task is queued once */
    bool ticking;
    uint64_t tick_far; /* when the tick comes, if that is so late that a wire
                          may want it sooner; else 0 */

    struct vc__timer tick; /* runs while wires are busy, and a little longer */
    struct vc__task arm;   /* starts it */
    unsigned idle_ticks;
    struct vc__ud_counted counted;
};

/* The context of datagrams that has this head. */
static inline struct vc__ud_context *
vc__ud_context_of(struct vc__context *c)
{
    return caa_container_of(vc__rdma_context_of(c), struct vc__ud_context,
                            rdma);
}

/* port.c. Entries of the table vc__rdma_ud. */
enum vc_status vc__ud_open(struct vc__context *context,
                           const struct vc__context_opts *opts);
void vc__ud_close(struct vc__context *context);

/* Gets the port of this id's device, which is made if there is none. *port is
 * set on VC_OK only.
 * VC_RESOURCE_EXHAUSTED  no memory or queues
 * VC_UNAVAILABLE         the device is being removed, or its MTU is too small
 * others                 of the device, by vc__status_of_errno() */
enum vc_status vc__ud_port_get(struct vc__ud_context *c, struct rdma_cm_id *id,
                               struct vc__ud_port **port);
/* The port has failed, or its device is gone: its wires are notified, by a
 * task, and it is freed when it has none. Called also when a failed port loses
 * its last wire. */
void vc__ud_port_fail(struct vc__ud_port *p);

/* (P) A wire more, or less (-1). Sets how many datagrams each peer may have
 * under way to this port, so that all of them together find receives. */
void vc__ud_port_count(struct vc__ud_port *p, int change);

/* Has more receives posted if the wires now need more. Without memory for them
 * the present ones have to do. */
void vc__ud_port_grow(struct vc__ud_port *p);

/* (P) Reports what the port has pinned to the engine's counters, when that may
 * have changed. On the holder. */
void vc__ud_port_account(struct vc__ud_port *p);

/* port_queues.c. Make and free the queues and the memory of a port. Errors as
 * vc__ud_port_get(); the caller frees what was made. */
enum vc_status vc__ud_queues_make(struct vc__ud_port *p);
void vc__ud_queues_free(struct vc__ud_port *p);
/* Posts n more receives. */
enum vc_status vc__ud_receives_add(struct vc__ud_port *p, unsigned n);
/* Has a handled buffer posted again; posts all that are waiting. */
void vc__ud_receive_give_back(struct vc__ud_port *p, struct vc__buffer *b);
void vc__ud_receives_repost(struct vc__ud_port *p);

/* port_send.c, all (P). */
/* True if a datagram can be posted now. */
static inline bool
vc__ud_can_post(const struct vc__ud_port *p)
{
    return p->sent - p->retired < VC__UD_SENDS;
}
/* The sends up to this number have completed. */
void vc__ud_retire(struct vc__ud_port *p, uint32_t number);
/* A packet with room for len bytes; NULL: no memory. Frees it if nothing needs
 * it any more. */
struct vc__ud_packet *vc__ud_packet_new(struct vc__ud_port *p, uint32_t len);
void vc__ud_packet_release(struct vc__ud_packet *packet);
/* Where its bytes are. */
static inline uint8_t *
vc__ud_packet_data(struct vc__ud_packet *packet)
{
    return (uint8_t *)packet + VC__UD_PACKET_HEAD;
}
/* The address handle of these attributes; NULL: errno says why. Making one may
 * block for a second, when the host is not there. Find makes none, and adds no
 * user: NULL if there is none. */
struct vc__ud_ah *vc__ud_ah_get(struct vc__ud_port *p,
                                const struct ibv_ah_attr *attr);
struct vc__ud_ah *vc__ud_ah_find(struct vc__ud_port *p,
                                 const struct ibv_ah_attr *attr);
/* One user less. Some without users are kept: their hosts often come back, and
 * may hear that a connection is gone. Trim destroys those over `most`. */
void vc__ud_ah_put(struct vc__ud_port *p, struct vc__ud_ah *ah);
void vc__ud_ahs_trim(struct vc__ud_port *p, unsigned most);

/* port_receive.c: the source's functions. */
unsigned vc__ud_poll(struct vc__source *s);
void vc__ud_arm(struct vc__source *s);
void vc__ud_ready(struct vc__source *s);

/* port_tick.c. (P) Has the tick look after a wire that has something due, on
 * any thread. The tick's functions. */
void vc__ud_busy(struct vc__ud_port *p, struct vc__ud_wire *u);
void vc__ud_tick(struct vc__timer *timer);
void vc__ud_tick_arm(struct vc__task *task);

#endif
