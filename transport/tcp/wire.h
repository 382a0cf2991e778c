/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A wire over a TCP socket. Private to the transport; transport/transport.h
 * says of each operation whether the holder of the engine calls it (H) or any
 * thread under the link's lock (L). The other functions: the holder of the
 * engine only, except vc__tcp_wire_of(), which any of these threads calls.
 *
 * Called by: connect.c (tcp_wire_of, tcp_watch, tcp_unwatch, tcp_refused),
 * wire.c (tcp_wire_of, tcp_read, tcp_unwatch, tcp_reserve, tcp_commit,
 * tcp_flush, tcp_retire, tcp_probe, tcp_proven, tcp_dial, tcp_take, tcp_hello,
 * tcp_accept, tcp_connected, tcp_listen, tcp_unlisten, tcp_port, tcp_reject),
 * write.c (tcp_wire_of), context.c (tcp_read), read.c (tcp_unwatch,
 * tcp_refused). */
#ifndef VC_TRANSPORT_TCP_WIRE_H
#define VC_TRANSPORT_TCP_WIRE_H

#include <stdatomic.h>

#include "transport/tcp/context.h"

/* What the peer may send now. */
enum vc__tcp_phase {
    VC__TCP_NEW,        /* nothing: there is no socket, or it is not ours */
    VC__TCP_CONNECTING, /* no data: connect(2) is in progress */
    VC__TCP_READY,      /* nothing, until we have sent a hello */
    VC__TCP_ASKED,      /* an accept or a reject */
    VC__TCP_OPEN,       /* packets */
    VC__TCP_LEAVING,    /* all data is ignored; the end is awaited */
    VC__TCP_ENDED       /* nothing: the connection has ended */
};

struct vc__tcp_wire {
    struct vc__wire wire;
    struct vc__source source; /* its fd is the socket; -1: there is none */
    enum vc__tcp_phase phase;
    bool owned;   /* the socket is ours to close */
    bool watched; /* the source has been added */
    bool counted; /* its memory is in context->used */

    struct cds_list_head hot; /* if is_hot: transport/tcp/context.h */
    bool is_hot;
    unsigned empty; /* empty reads in a row */

    uint8_t *part;     /* beginning of an incomplete record, or NULL */
    uint32_t part_len; /* its bytes */

    /* (L) Data to be written: bytes from `sent` to `end` of this block; NULL:
     * none. */
    uint8_t *out;
    uint32_t sent, end;
    bool broken;         /* (L) a write failed: a read will report why */
    atomic_bool blocked; /* written under (L): the socket is full */
};

/* The wire of TCP that has this head. For the operations, on their threads. */
static inline struct vc__tcp_wire *
vc__tcp_wire_of(struct vc__wire *w)
{
    return caa_container_of(w, struct vc__tcp_wire, wire);
}

/* read.c: reads once, and passes complete records up. Returns 1 if the read
 * returned data, an end or an error; else 0. Called when the socket is readable
 * (wire.c) or hot (context.c). */
unsigned vc__tcp_read(struct vc__tcp_wire *t);
/* Watch adds the socket to epoll, and counts the wire as cold until it is hot;
 * returns 0 or an errno. Called by dial() and accept(). Unwatch undoes that,
 * and stops polling the wire; does nothing if it is not watched. Called when
 * connecting or accept() fails, the connection was refused or has ended, its
 * peer breaks the rules, or the wire is freed. */
int vc__tcp_watch(struct vc__tcp_wire *t);
void vc__tcp_unwatch(struct vc__tcp_wire *t);

/* write.c, (L): entries of the table. The link calls reserve, commit and flush
 * when it sends (cm/link/link_send.c), on any thread; retire when there is room
 * again, and probe and proven for keepalive (cm/link/link_keepalive.c), on the
 * holder. NULL from reserve: no room now. 0 from commit or probe: done; an
 * errno: the connection is broken. True from proven: the peer's host has
 * acknowledged since. */
uint8_t *vc__tcp_reserve(struct vc__wire *w, uint32_t *room);
int vc__tcp_commit(struct vc__wire *w, uint32_t len);
void vc__tcp_flush(struct vc__wire *w);
void vc__tcp_retire(struct vc__wire *w, uint32_t ticket);
int vc__tcp_probe(struct vc__wire *w, uint32_t *ticket);
bool vc__tcp_proven(const struct vc__wire *w, uint32_t ticket);

/* connect.c. Hello and accept are entries of the table; dial and take are
 * called by those of wire.c. The link layer calls the table on the holder of
 * the wire's engine (dial, hello: active side, cm/link/link_connect.c; take,
 * accept: passive side, cm/link/link_accept.c). Results as in
 * transport/transport.h: VC_OK, or another status with the thread's error
 * set. */
enum vc_status vc__tcp_dial(struct vc__wire *w, uint32_t timeout_ms);
void vc__tcp_take(struct vc__wire *w, const struct vc__incoming *in);
enum vc_status vc__tcp_hello(struct vc__wire *w, const void *data, size_t len);
enum vc_status vc__tcp_accept(struct vc__wire *w, const void *data, size_t len);
/* Active, while connecting: the socket has become writable or has failed.
 * Reports ready(), refused() or unreachable() to the link. Called by the
 * source's ready() in wire.c. */
void vc__tcp_connected(struct vc__tcp_wire *t);
/* Active: reports to the link that the peer has refused, without private data.
 * Called by connect.c when nothing listens there, and by read.c when the peer
 * ended the connection without an answer, or sent no valid one. */
void vc__tcp_refused(struct vc__tcp_wire *t, const struct vc__error *why);

/* listen.c. Called by cm/link/listener.c through the table. Listen and port:
 * any thread. Unlisten: the holder of the ear's engine. Reject: the holder of
 * any engine. Listen returns a status as in transport/transport.h; port a port
 * in host order, 0 if the kernel did not tell it. */
enum vc_status vc__tcp_listen(struct vc__ear *ear, const struct sockaddr *addr);
void vc__tcp_unlisten(struct vc__ear *ear);
uint16_t vc__tcp_port(const struct vc__ear *ear);
void vc__tcp_reject(const struct vc__incoming *in, const void *data,
                    size_t len);

#endif
