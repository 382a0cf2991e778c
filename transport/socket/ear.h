/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A listening socket, and those who have connected to it and not said their
 * hello yet. They may be anybody: each has a few bytes of memory and 2 s. What
 * the socket is of, and what becomes of one that has said its hello, is known
 * to the transport that embeds it. The holder of the engine only, except
 * vc__socket_ear_of() and vc__socket_ear_open().
 *
 * Called by: transport/shm/listen.c (all), transport/tcp/listen.c (all). */
#ifndef VC_TRANSPORT_SOCKET_EAR_H
#define VC_TRANSPORT_SOCKET_EAR_H

#include "transport/core/engine.h"
#include "transport/socket/record.h"
#include "transport/socket/socket.h"
#include "transport/transport.h"

#define VC__EAR_HELLO     56u
#define VC__EAR_STRANGERS 256u /* at a time */

/* Whose hello has not come. */
struct vc__stranger {
    struct vc__source source; /* its fd is the socket; -1: it is none */
    struct vc__socket_ear *ear;
    struct vc__timer timer;
    struct cds_list_head node; /* ear->waiting, or ear->free */
    struct sockaddr_storage peer;
    struct vc__socket_fds fds; /* that it has sent */
    uint32_t len;
    uint8_t bytes[VC__RECORD_HEADER + VC__EAR_HELLO];
};

struct vc__socket_ear {
    struct vc__ear ear;
    /* One has said hello: fills in->handle. False: it is turned away without a
     * word. The socket and the descriptors are the transport's when it is
     * true. Called by stranger_ask(), on the holder. */
    bool (*offer)(struct vc__ear *ear, struct vc__incoming *in, int fd,
                  const struct vc__socket_fds *fds);

    struct vc__source source; /* its fd is the socket; -1: there is none */
    struct vc__timer pause;   /* runs while there are no descriptors */
    /* Held to be closed when there are no others, so that clients can be
     * refused; -1: it is in use for that. */
    int spare;
    struct vc__stranger *strangers; /* VC__EAR_STRANGERS of them */
    struct cds_list_head waiting;   /* the first has waited longest */
    struct cds_list_head free;
    uint16_t port; /* of TCP: stays when it does not listen any more */
    bool starved;  /* the last accept() found no descriptors or no memory */
};

/* The socket's ear that has this head. Called by listen() and unlisten() of TCP
 * and of shared memory; any thread. */
static inline struct vc__socket_ear *
vc__socket_ear_of(struct vc__ear *ear)
{
    return caa_container_of(ear, struct vc__socket_ear, ear);
}

/* Listens on this socket, which is bound. Returns 0, and fd is the ear's from
 * then on; or an errno, and fd stays the caller's. Any thread; called by
 * listen() of TCP and of shared memory. */
int vc__socket_ear_open(struct vc__socket_ear *e, int fd);
/* Called by unlisten() of TCP and of shared memory, on the holder. Closes the
 * socket and all strangers without an answer. Does nothing to an ear that does
 * not listen. */
void vc__socket_ear_close(struct vc__socket_ear *e);

#endif
