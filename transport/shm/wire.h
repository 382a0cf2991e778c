/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A wire through shared memory: a socket, by which the two get to know each
 * other, wake each other, and learn of each other's end; and two regions. */
#ifndef VC_TRANSPORT_SHM_WIRE_H
#define VC_TRANSPORT_SHM_WIRE_H

#include "transport/shm/context.h"
#include "transport/shm/ring.h"
#include "transport/socket/record.h"
#include "transport/socket/socket.h"

struct sockaddr_un;

enum vc__shm_phase {
    VC__SHM_NEW,
    VC__SHM_CONNECTING, /* again in a moment: the listener is busy */
    VC__SHM_ASKED,      /* an accept or a reject will come */
    VC__SHM_OPEN,
    VC__SHM_LEAVING, /* the peer's end will come */
    VC__SHM_ENDED
};

struct vc__shm_wire {
    struct vc__wire wire;
    struct vc__source source; /* its fd is the socket; -1: there is none */
    struct vc__task ready;    /* it is connected */
    struct vc__timer again;   /* connects again */
    enum vc__shm_phase phase;
    bool owned;   /* the socket is ours to close */
    bool watched; /* the source has been added */

    struct cds_list_head hot; /* if is_hot: transport/shm/context.h */
    bool is_hot;
    unsigned empty; /* looks that found nothing, since one that did */

    struct vc__shm_offer *offer; /* passive: until it is accepted */
    int memfd; /* of our region if out.mine, until the peer has it; then -1 */
    struct vc__shm_out out; /* (L) */
    struct vc__shm_in in;

    /* The answer, while it is asked for. */
    struct vc__socket_fds fds;
    uint32_t len;
    uint8_t answer[VC__RECORD_HEADER + 196];
};

/* The handle of a request. */
struct vc__shm_offer {
    int fd;                              /* its socket */
    const struct vc__shm_region *region; /* the peer's */
    uint32_t pid, uid;                   /* the kernel's word for it */
};

static inline struct vc__shm_wire *
vc__shm_wire_of(struct vc__wire *w)
{
    return caa_container_of(w, struct vc__shm_wire, wire);
}

/* context.c */
void vc__shm_poll(struct vc__shm_context *c);

/* wire.c: hands up what has come; how many packets. */
unsigned vc__shm_read(struct vc__shm_wire *s);
/* Its socket is waited for: 0 or an errno; and no more. */
int vc__shm_watch(struct vc__shm_wire *s);
void vc__shm_unwatch(struct vc__shm_wire *s);
/* Both ends have each other's region, theirs is this: packets may come. */
void vc__shm_begin(struct vc__shm_wire *s, const struct vc__shm_region *theirs);

/* connect.c */
enum vc_status vc__shm_dial(struct vc__wire *w, uint32_t timeout_ms);
void vc__shm_take(struct vc__wire *w, const struct vc__incoming *in);
enum vc_status vc__shm_hello(struct vc__wire *w, const void *data, size_t len);
enum vc_status vc__shm_accept(struct vc__wire *w, const void *data, size_t len);
/* While it is asked: something has come. */
void vc__shm_answered(struct vc__shm_wire *s);

/* listen.c */
enum vc_status vc__shm_listen(struct vc__ear *ear, const struct sockaddr *addr);
void vc__shm_unlisten(struct vc__ear *ear);
uint16_t vc__shm_port(const struct vc__ear *ear);
void vc__shm_reject(const struct vc__incoming *in, const void *data,
                    size_t len);

/* listen.c: the kernel's word for who has connected, or listens; false: it has
 * none. */
bool vc__shm_peer(int fd, uint32_t *pid, uint32_t *uid);

/* listen.c: the address of the socket that a target's stands for; its length. */
socklen_t vc__shm_sockaddr(const struct sockaddr_storage *addr,
                           struct sockaddr_un *out);

#endif
