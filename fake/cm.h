/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of the simulated rdma_cm share. cm.c and cm_conn.c have the
 * calls, cm_sync.c synchronous ids, cm_addr.c addresses and ports, cm_event.c
 * ids, channels and events, cm_wire.c and cm_peer.c the messages between
 * kernels. A fake__id is the kernel's side of an id and lives until the world
 * ends. */
#ifndef FAKE_CM_H
#define FAKE_CM_H

#include <errno.h>

#include "fake/world.h"

#define FAKE__CM_DATA 224 /* more than the longest private data */

/* From FAKE__REQ_SENT on, the kernel has a connection for the id; in
 * FAKE__ENDED this connection is over. */
enum fake__id_state {
    FAKE__IDLE,
    FAKE__BOUND,
    FAKE__ADDR_QUERY,
    FAKE__ADDR_RESOLVED,
    FAKE__ROUTE_QUERY,
    FAKE__ROUTE_RESOLVED,
    FAKE__LISTEN,
    FAKE__REQ_SENT,
    FAKE__REQ_RCVD,
    FAKE__REP_SENT,
    FAKE__REP_RCVD,
    FAKE__ESTABLISHED,
    FAKE__DREQ_SENT,
    FAKE__DREQ_RCVD,
    FAKE__SIDR_SENT,
    FAKE__SIDR_RCVD,
    FAKE__TIMEWAIT,
    FAKE__ENDED,
};

struct fake__cm_event {
    struct fake__cm_event *next;
    struct fake__id *id;    /* counts the event: the listener's */
    struct fake__id *child; /* of CONNECT_REQUEST */
    enum rdma_cm_event_type type;
    int status;
    bool ud;
    struct fake__member *member; /* of MULTICAST_JOIN and _ERROR */
    union {
        struct rdma_conn_param conn;
        struct rdma_ud_param ud;
    } param;
    uint8_t data_len;
    uint8_t data[FAKE__CM_DATA];
};

struct fake__cm_channel {
    struct fake__cm_channel *next;
    struct fake_process *process;
    struct rdma_event_channel *handle;
    int fd;
    struct fake__cm_event *first, **end;
};

struct fake__id {
    struct fake__id *next, *prev;
    struct fake_process *process;
    struct rdma_cm_id *handle; /* NULL: an unread request, or destroyed */
    struct fake__cm_channel *channel;
    enum rdma_port_space ps;
    enum fake__id_state state;
    uint64_t round; /* timers of an earlier round are ignored */
    unsigned tries;

    bool destroyed;
    bool closed;    /* destroyed, and out of the list */
    bool adopted;   /* false: a child not accepted; its events are dropped */
    bool removed;   /* its device was removed */
    bool on_device; /* bound to a device */
    bool owns_port;
    bool told_down;
    bool connect_error; /* librdmacm's: later events are not delivered */
    bool reuseaddr, afonly;
    bool sync; /* synchronous: has its own channel */
    uint8_t ack_timeout;
    unsigned backlog, unread;
    unsigned got; /* events read, not yet acknowledged */

    struct sockaddr_storage src, dst;
    struct fake_host *device; /* in use; NULL: not known yet */
    struct fake_host *remote;
    struct fake__member *members; /* of multicast groups; the newest first */
    struct fake__id *peer;
    uint64_t arrival; /* of the last message sent: later ones arrive later */

    uint32_t qpn, peer_qpn, psn, peer_psn;
    uint8_t responder, initiator, retry, rnr;
    uint8_t own_rnr; /* rnr_retry_count for the peer */
    bool srq;
    uint8_t flow_control;  /* sent to the peer */
    uint8_t tos, path_tos; /* set by the program; of its path */
    uint8_t data_len;
    uint8_t data[FAKE__CM_DATA]; /* of the REQ or REP, for retries */
};

/* REJ reasons. */
#define FAKE__REJ_TIMEOUT    4
#define FAKE__REJ_NO_SERVICE 8
#define FAKE__REJ_STALE      10
#define FAKE__REJ_CONSUMER   28
/* Statuses of SIDR REP. */
#define FAKE__SIDR_UNSUPPORTED 1
#define FAKE__SIDR_REJECT      2

enum fake__message_kind {
    FAKE__REQ,
    FAKE__REP,
    FAKE__RTU,
    FAKE__REJ,
    FAKE__DREQ,
    FAKE__DREP,
    FAKE__SIDR_REQ,
    FAKE__SIDR_REP,
};

/* A message between kernels; lives as long as an id. */
struct fake__message {
    enum fake__message_kind kind;
    int status;            /* REJ, SIDR REP */
    struct fake__id *from; /* NULL: the kernel itself */
    struct fake__id *to;   /* NULL: the sender's peer at arrival */
    struct fake_host *from_host, *to_host;
    enum rdma_port_space ps;
    struct sockaddr_storage src, dst;
    uint32_t qpn, psn;
    uint8_t responder, initiator, retry, rnr, flow_control, tos;
    bool srq;
    uint8_t data_len;
    uint8_t data[FAKE__CM_DATA];
};

/* The program's rdma_cm_id and channel. */
struct fake__id_handle {
    struct rdma_cm_id cm;
    struct fake__id *id;
};

struct fake__cm_channel_handle {
    struct rdma_event_channel channel;
    struct fake__cm_channel *kernel;
};

static inline struct fake__id *
fake__id_of(struct rdma_cm_id *cm)
{
    return ((struct fake__id_handle *)cm)->id;
}

static inline struct fake__cm_channel *
fake__cm_channel_of(struct rdma_event_channel *channel)
{
    return ((struct fake__cm_channel_handle *)channel)->kernel;
}

static inline bool
fake__id_is_ud(const struct fake__id *id)
{
    return id->ps == RDMA_PS_UDP || id->ps == RDMA_PS_IPOIB;
}

/* The device that the id uses, or else the first of its host. */
static inline struct fake_host *
fake__id_device(const struct fake__id *id)
{
    return id->device != NULL ? id->device : id->process->host;
}

/* --- cm.c -------------------------------------------------------------- */

/* The errors for which old versions of librdmacm return -errno (rdma_cm(7)). */
static inline bool
fake__is_former_failure(int err)
{
    return err == ENOMEM || err == ENODEV || err == ENODATA || err == EINVAL ||
           err == EADDRNOTAVAIL;
}

static inline int
fake__fail(int err)
{
    if (fake__world.former_cm && fake__is_former_failure(err))
        return -err;
    errno = err;
    return -1;
}

static inline int
fake__result(int err)
{
    return err == 0 ? 0 : fake__fail(err);
}

/* Makes what this thread did visible to readers of the channels of the id and
 * of its peer (thread sanitizer). */
static inline void
fake__publish(const struct fake__id *id)
{
    fake__release(id->channel);
    if (id->peer != NULL)
        fake__release(id->peer->channel);
}

/* cm.c: waits for the next event for the program. False with errno. */
bool fake__cm_event_get(struct fake__cm_channel *c,
                        struct rdma_cm_event **event);

/* --- cm_conn.c --------------------------------------------------------- */

/* librdmacm's part when a CONNECT_RESPONSE is read: moves the QP of the id, and
 * confirms. False when that fails. */
bool fake__conn_response(struct fake__id *id);
/* Moves the id's QP to ERR, if it has one. */
void fake__conn_qp_error(struct fake__id *id);

/* --- cm_multicast.c ---------------------------------------------------- */

/* Gives MULTICAST_ERROR for each group of the id. */
void fake__members_tell(struct fake__id *id, int status);
/* The id leaves all groups, as the kernel has it. */
void fake__members_drop(struct fake__id *id);
/* The program reads an event of the membership: returns the program's context;
 * and acknowledges it. */
void *fake__member_got(struct fake__member *m);
void fake__member_acked(struct fake__member *m);
bool fake__member_left(const struct fake__member *m);
/* librdmacm's part when MULTICAST_JOIN is read. */
void fake__member_attach(struct fake__member *m, struct rdma_cm_event *e);

/* --- cm_sync.c --------------------------------------------------------- */

/* Makes the id synchronous: it gets a channel of its own. */
void fake__sync_open(struct fake__id *id);
/* For synchronous ids: waits for the event that ends the call. 0, or the call's
 * failure. Returns 0 at once for other ids. */
int fake__sync_complete(struct fake__id *id);
/* Acknowledges the last event of a synchronous id. */
void fake__sync_close(struct fake__id *id);

/* --- cm_addr.c --------------------------------------------------------- */

bool fake__addr_is_any(const struct sockaddr *addr);
bool fake__addr_is_group(const struct sockaddr *addr);
bool fake__addr_is_loopback(const struct sockaddr *addr);
bool fake__addr_same(const struct sockaddr *a, const struct sockaddr *b);
bool fake__addr_on_link(const struct fake_host *host,
                        const struct sockaddr *addr);
void fake__addr_copy(struct sockaddr_storage *to, const struct sockaddr *from);
uint16_t fake__addr_port(const struct sockaddr *addr);
void fake__addr_set_port(struct sockaddr_storage *addr, uint16_t port);

/* 0 or an errno. */
int fake__port_bind(struct fake__id *id);
int fake__port_check(const struct fake__id *id, bool reuseaddr);

struct fake__id *fake__listener_find(const struct fake_host *host,
                                     enum rdma_port_space ps,
                                     const struct sockaddr *addr);

/* --- cm_event.c -------------------------------------------------------- */

struct fake__id *fake__id_first(void);
struct fake__id *fake__id_new(struct fake_process *p,
                              struct fake__cm_channel *channel,
                              enum rdma_port_space ps);
/* Creates the program's handle; frees it, and takes the id out of the list. */
void fake__id_open(struct fake__id *id, void *context);
void fake__id_close(struct fake__id *id);
/* Copies the kernel's addresses and device to the handle. */
void fake__id_query(struct fake__id *id);
struct fake__cm_channel *fake__cm_channel_new(struct fake_process *p);
void fake__cm_channel_close(struct fake__cm_channel *c);
struct fake__cm_event *fake__cm_channel_take(struct fake__cm_channel *c);
void fake__cm_channel_move(struct fake__id *id, struct fake__cm_channel *to);
/* Drops the unread events of a membership of the id. */
void fake__cm_channel_forget(struct fake__id *id, const struct fake__member *m);
/* Drops the id's unread events; requests among them are rejected. */
void fake__cm_channel_purge(struct fake__id *id);

struct fake__cm_event *fake__cm_event_new(struct fake__id *id,
                                          enum rdma_cm_event_type type,
                                          int status);
void fake__cm_event_give(struct fake__cm_event *ev);
void fake__cm_tell(struct fake__id *id, enum rdma_cm_event_type type,
                   int status);
struct rdma_cm_event *fake__cm_event_open(struct fake__cm_event *ev);
void fake__cm_event_close(struct rdma_cm_event *event);
/* The membership that the event is about; or NULL. */
struct fake__member *fake__cm_event_member(const struct rdma_cm_event *event);

/* --- cm_wire.c --------------------------------------------------------- */

/* Sends REQ or SIDR REQ, until it is answered. */
void fake__wire_connect(struct fake__id *id);
/* Sends REP or SIDR REP. */
void fake__wire_accept(struct fake__id *id);
/* False when there is nothing to reject. */
bool fake__wire_reject(struct fake__id *id, const void *data, uint8_t len);
/* Sends RTU; false when the connection is over. */
bool fake__wire_establish(struct fake__id *id);
/* Sends DREQ or DREP, according to the state. */
void fake__wire_disconnect(struct fake__id *id);
/* Ends the kernel's side of the id, in whatever state it is. */
void fake__wire_destroy(struct fake__id *id);
/* Ends the id's connection without a message. */
void fake__wire_forget(struct fake__id *id);

/* Sets a new state; timers of the old one are ignored. */
void fake__wire_state_set(struct fake__id *id, enum fake__id_state state);
/* Sets a new state and sends its message, until there is an answer. */
void fake__wire_state_say(struct fake__id *id, enum fake__id_state state);
void fake__wire_timewait_enter(struct fake__id *id);
/* Gives the event DISCONNECTED, at most once for each id. */
void fake__wire_tell_down(struct fake__id *id, int status);
void fake__wire_say(struct fake__id *id, enum fake__message_kind kind);
/* Answers a message for which the kernel has no id. */
void fake__wire_answer(const struct fake__message *m,
                       enum fake__message_kind kind, int status);

/* --- cm_peer.c --------------------------------------------------------- */

/* A message arrives: for fake__after(). */
void fake__wire_arrive(void *message, uint64_t n);

#endif
