/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A wire through shared memory: two regions, and a socket by which the two ends
 * connect, wake each other, and detect each other's end. transport/transport.h
 * says of each operation whether the holder of the engine calls it (H) or any
 * thread under the link's lock (L). The other functions: the holder of the
 * engine only, except vc__shm_peer(), vc__shm_sockaddr() and vc__shm_wire_of(),
 * which any thread may call.
 *
 * Called by: connect.c (shm_wire_of, shm_watch, shm_unwatch, shm_begin,
 * shm_peer, shm_sockaddr), wire.c (shm_wire_of, shm_poll, shm_read,
 * shm_unwatch, shm_dial, shm_take, shm_hello, shm_accept, shm_answered,
 * shm_listen, shm_unlisten, shm_port, shm_reject), context.c (shm_read),
 * listen.c (shm_peer, shm_sockaddr). */
#ifndef VC_TRANSPORT_SHM_WIRE_H
#define VC_TRANSPORT_SHM_WIRE_H

#include "transport/shm/context.h"
#include "transport/shm/ring.h"
#include "transport/socket/record.h"
#include "transport/socket/socket.h"

struct sockaddr_un;

enum vc__shm_phase {
    VC__SHM_NEW,
    VC__SHM_CONNECTING, /* waiting to retry: the listener is busy */
    VC__SHM_ASKED,      /* an accept or a reject is awaited */
    VC__SHM_OPEN,
    VC__SHM_LEAVING, /* the peer's end is awaited */
    VC__SHM_ENDED
};

struct vc__shm_wire {
    struct vc__wire wire;
    struct vc__source source; /* its fd is the socket; -1: there is none */
    struct vc__task ready;    /* runs when connected */
    struct vc__timer again;   /* retries to connect */
    enum vc__shm_phase phase;
    bool owned;   /* the socket is ours to close */
    bool watched; /* the source has been added */

    struct cds_list_head hot; /* if is_hot: transport/shm/context.h */
    bool is_hot;
    unsigned empty; /* empty polls in a row */

    struct vc__shm_offer *offer; /* passive: until accepted */
    int memfd; /* our region's, if out.mine; -1 once the peer has it */
    struct vc__shm_out out; /* (L) */
    struct vc__shm_in in;

    /* The answer while it is received. */
    struct vc__socket_fds fds;
    uint32_t len;
    uint8_t answer[VC__RECORD_HEADER + 196];
};

/* The handle of a request. When this process lacks descriptors, that of the
 * peer's region may be lost: then the request is kept only to be rejected,
 * without a region, and its pid and uid are 0. peer_name() then says "process 0
 * of user 0". */
struct vc__shm_offer {
    int fd;                              /* the client's socket */
    const struct vc__shm_region *region; /* the peer's; or NULL */
    uint32_t pid, uid; /* of the peer, from the kernel; or 0 */
};

/* The wire of shared memory that has this head. For the operations, on their
 * threads. */
static inline struct vc__shm_wire *
vc__shm_wire_of(struct vc__wire *w)
{
    return caa_container_of(w, struct vc__shm_wire, wire);
}

/* context.c: has the engine poll the hot wires. Called for each wire, by dial()
 * and take(); only the first call has an effect. */
void vc__shm_poll(struct vc__shm_context *c);

/* wire.c: passes received packets up, a batch at most; returns their number. An
 * invalid region ends the wire, and counts as one more. Called when the wire is
 * polled (context.c), when its socket is readable, and when it ends. */
unsigned vc__shm_read(struct vc__shm_wire *s);
/* Watch adds the socket to epoll, and counts the wire as cold until it is hot;
 * returns 0 or an errno. Called by hello() and accept(). Unwatch undoes that,
 * and stops polling the wire; does nothing if it is not watched. Called when
 * accept() fails, the connection was refused or has ended, its peer breaks the
 * rules, or the wire is freed. */
int vc__shm_watch(struct vc__shm_wire *s);
void vc__shm_unwatch(struct vc__shm_wire *s);
/* Both ends have each other's region, `theirs` is the peer's, and the wire's
 * from now on: packets may arrive. Called by accept(), and when an accept has
 * come. */
void vc__shm_begin(struct vc__shm_wire *s, const struct vc__shm_region *theirs);

/* connect.c. Hello and accept are entries of the table; dial and take are
 * called by those of wire.c. The link layer calls the table on the holder of
 * the wire's engine (dial, hello: active side, cm/link/link_connect.c; take,
 * accept: passive side, cm/link/link_accept.c). Results as in
 * transport/transport.h: VC_OK, or another status with the thread's error
 * set. */
enum vc_status vc__shm_dial(struct vc__wire *w, uint32_t timeout_ms);
void vc__shm_take(struct vc__wire *w, const struct vc__incoming *in);
enum vc_status vc__shm_hello(struct vc__wire *w, const void *data, size_t len);
enum vc_status vc__shm_accept(struct vc__wire *w, const void *data, size_t len);
/* In phase ASKED: the socket is readable. Reads the answer; when it is
 * complete, invalid, or the connection has ended, reports answered() or
 * refused() to the link. Called by the source's ready() in wire.c. */
void vc__shm_answered(struct vc__shm_wire *s);

/* listen.c. Called by cm/link/listener.c through the table. Listen and port:
 * any thread. Unlisten: the holder of the ear's engine. Reject: the holder of
 * any engine. Listen returns a status as in transport/transport.h. */
enum vc_status vc__shm_listen(struct vc__ear *ear, const struct sockaddr *addr);
void vc__shm_unlisten(struct vc__ear *ear);
uint16_t vc__shm_port(const struct vc__ear *ear);
void vc__shm_reject(const struct vc__incoming *in, const void *data,
                    size_t len);

/* listen.c: the process and user at the other end of this socket, as the kernel
 * knows them (SO_PEERCRED); false: it does not. Called on the holder, to decide
 * whether a client may connect (offer_make()), and whether a listener is
 * trusted (is_trusted()). */
bool vc__shm_peer(int fd, uint32_t *pid, uint32_t *uid);

/* listen.c: the socket's address for a target's address; returns its length. */
socklen_t vc__shm_sockaddr(const struct sockaddr_storage *addr,
                           struct sockaddr_un *out);

#endif
