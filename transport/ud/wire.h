/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A wire of datagrams: what its port's QP exchanges with one peer, made
 * reliable. (P) means: under the lock of the port. Everything else is for the
 * holder of the engine. Private to this folder.
 *
 * Called by: port_tick.c (ud_is_silent, ud_send_due, ud_count, ud_due), wire.c
 * (ud_is_silent, ud_wire_of, ud_unsent, ud_unsent_set, ud_pump, ud_send_due,
 * ud_send_bare, ud_drop_packets, ud_drop_received, ud_dial, ud_hello,
 * ud_take_request, ud_accept, ud_confirm, ud_listen, ud_reject, ud_random,
 * ud_disconnect), connect.c (ud_wire_of), wire_send.c (ud_unsent,
 * ud_unsent_set, ud_is_done, ud_pump, ud_send_lost, ud_send_bare),
 * wire_receive.c (ud_is_done, ud_send_lost, ud_send_bare, ud_take_ack,
 * ud_take_room, ud_count), port_receive.c (ud_pump, ud_send_bare, ud_take_room,
 * ud_take_head, ud_take). */
#ifndef VC_TRANSPORT_UD_WIRE_H
#define VC_TRANSPORT_UD_WIRE_H

#include "transport/ud/port.h"
#include "transport/ud/reliable.h"

/* After so long without a datagram of it, a peer that owes an acknowledgement,
 * or is asked for a sign of life by the passive side, is dead. A client that
 * has no library threads is silent between its calls, so this is long. */
#define VC__UD_SILENCE_US 120000000u

/* True if a peer that was heard then is dead. The clocks of two processors may
 * differ by a little, so that `heard` is later than now. */
static inline bool
vc__ud_is_silent(uint64_t heard, uint64_t now)
{
    return now > heard && now - heard > VC__UD_SILENCE_US;
}

/* How often a server sends a datagram to a client that is silent; a client goes
 * on, until keepalive ends the link. */
#define VC__UD_SERVER_TRIES 4u

/* A datagram that is under way: a piece of this packet. */
struct vc__ud_out {
    struct vc__ud_packet *packet;
    uint8_t piece;
};

/* A datagram that came before its turn, in its receive. */
struct vc__ud_held {
    struct vc__buffer *buffer;
    uint32_t len; /* bytes of data */
    uint8_t piece, pieces;
};

/* Bytes of a hello with its introduction, at most. */
#define VC__UD_SAID 180u

struct vc__ud_request;

struct vc__ud_wire {
    struct vc__wire wire;
    struct vc__rdma_handler handler;
    struct rdma_cm_id *id; /* active: of the present try. Passive: of the
                              request, until it is accepted */
    bool owned;            /* the id is ours to destroy */
    bool active;
    struct vc__ud_request *request; /* until it is accepted */

    /* Connecting. */
    uint32_t resolve_ms;
    struct vc__timer again; /* active: asks once more, by a new id */
    unsigned asks;
    unsigned refusals; /* those that the kernel answered for the server */
    /* The hello, or the accept, with its introduction; 0: not sent yet. */
    uint16_t said_len;
    uint8_t said[VC__UD_SAID];
    struct vc__intro theirs;
    struct vc__ud_wire *answered; /* passive: see transport/ud/answers.h */
    bool is_answered;
    uint64_t answered_at;

    /* Reserved, 8 KiB; NULL: none. Under the lock of the link. */
    struct vc__ud_packet *at;
    /* A part of it waits for the window; NULL: none. It is set under the port's
     * lock, and while it is NULL by the holder of the link's lock only. */
    _Atomic(struct vc__ud_packet *) unsent;

    struct vc__ud_port *port;                         /* NULL: not prepared */
    struct cds_list_head node, busy, waiting, acking; /* in the port's lists */
    struct vc__ud_wire *chain;                        /* of the bucket */
    bool notified; /* removed() or failed() was called for the port's end */

    /* (P) The peer. */
    uint32_t key; /* that its datagrams have */
    uint32_t qkey;
    struct vc__ud_ah *ah;
    uint32_t payload; /* bytes of data in a datagram */
    uint8_t window;   /* datagrams that the peer allows to be under way */
    uint64_t heard;   /* when a datagram of it came last */
    bool leaving;     /* leave() was called: a CLOSE is repeated */
    uint64_t close_at;

    /* (P) Sending. */
    struct vc__reliable reliable;
    struct vc__ud_out out[VC__RELIABLE_WINDOW]; /* by sequence */
    uint8_t unsent_piece;                       /* the first of unsent */
    bool wants_room; /* reserve() has returned NULL: writable() is to come */

    /* Receiving. */
    struct vc__ud_held held[VC__RELIABLE_WINDOW]; /* by sequence */
    uint8_t *assembly; /* of a packet in pieces; NULL: none is begun */
    uint32_t assembled;
    uint8_t next_piece, pieces;
};

/* The wire of datagrams that has this head. */
static inline struct vc__ud_wire *
vc__ud_wire_of(struct vc__wire *w)
{
    return caa_container_of(w, struct vc__ud_wire, wire);
}

/* Returns u->unsent. Relaxed: what it points to is read under the port's lock
 * only. */
static inline struct vc__ud_packet *
vc__ud_unsent(const struct vc__ud_wire *u)
{
    return atomic_load_explicit(&u->unsent, memory_order_relaxed);
}

/* Sets it. */
static inline void
vc__ud_unsent_set(struct vc__ud_wire *u, struct vc__ud_packet *packet)
{
    atomic_store_explicit(&u->unsent, packet, memory_order_relaxed);
}

/* True if all that was committed has been sent and acknowledged. (P). */
static inline bool
vc__ud_is_done(const struct vc__ud_wire *u)
{
    return u->reliable.unacked == u->reliable.next && vc__ud_unsent(u) == NULL;
}

/* A request of a client, the handle of struct vc__incoming. */
struct vc__ud_request {
    struct rdma_cm_id *id;
    struct vc__intro theirs;
};

/* wire_send.c, all (P). */
/* Sends what may be sent now of the packet that waits for the window. */
int vc__ud_pump(struct vc__ud_wire *u, uint64_t now);
/* Sends lost datagrams again, and then what may be sent now. */
void vc__ud_send_lost(struct vc__ud_wire *u, uint64_t now);
/* The same, and an acknowledgement or a CLOSE that is due. */
void vc__ud_send_due(struct vc__ud_wire *u, uint64_t now);
/* Sends a datagram without data, with these flags; nothing if there is no room
 * for it. */
void vc__ud_send_bare(struct vc__ud_wire *u, uint8_t flags);
/* The peer has acknowledged. False: what was not sent. */
bool vc__ud_take_ack(struct vc__ud_wire *u, const struct vc__datagram *d,
                     uint64_t now);
/* True if writable() is to be called, once: there is room again. */
bool vc__ud_take_room(struct vc__ud_wire *u);
/* Adds to the counters what was sent and received again. On the holder. */
void vc__ud_count(struct vc__ud_wire *u);
/* When the wire has something to do; VC__FOREVER: not as things are. */
uint64_t vc__ud_due(const struct vc__ud_wire *u);
/* Gives back all packets that were committed. */
void vc__ud_drop_packets(struct vc__ud_wire *u);

/* wire_receive.c, on the holder. A datagram of the wire's peer has come, what
 * does it change? (P). */
struct vc__ud_arrival {
    enum vc__reliable_kind kind; /* of its sequence */
    bool good;                   /* it is the peer's */
    bool room;                   /* writable() is to be called */
};
struct vc__ud_arrival vc__ud_take_head(struct vc__ud_wire *u,
                                       const struct vc__datagram *d,
                                       uint64_t now);
/* Then takes its data, of len bytes with the header, without the lock. `buffer`
 * is its receive; true if the wire keeps it for now. */
bool vc__ud_take(struct vc__ud_wire *u, struct vc__ud_arrival a,
                 const struct vc__datagram *d, struct vc__buffer *buffer,
                 uint32_t len);
/* Gives back what the wire keeps of received datagrams. */
void vc__ud_drop_received(struct vc__ud_wire *u);

/* connect.c: the operations, as in transport/transport.h. */
enum vc_status vc__ud_dial(struct vc__wire *w, uint32_t timeout_ms);
enum vc_status vc__ud_hello(struct vc__wire *w, const void *data, size_t len);
void vc__ud_take_request(struct vc__wire *w, const struct vc__incoming *in);
enum vc_status vc__ud_accept(struct vc__wire *w, const void *data, size_t len);
enum vc_status vc__ud_confirm(struct vc__wire *w);
enum vc_status vc__ud_listen(struct vc__ear *ear, const struct sockaddr *addr);
void vc__ud_reject(const struct vc__incoming *in, const void *data, size_t len);
/* 32 random bits that nobody can guess; false if the system has none. For the
 * key of a wire. */
bool vc__ud_random(uint32_t *value);
/* Ends what of rdma_cm the wire still has. Called by fini() of wire.c. */
void vc__ud_disconnect(struct vc__ud_wire *u);

#endif
