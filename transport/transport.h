/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The seam between the link layer (cm/) and what carries its packets. A
 * transport is one const table of operations; nothing above the table names
 * verbs, rdma_cm or sockets. Three kinds of object cross the seam. Each is the
 * head of a larger object of the transport:
 *
 * - context: a transport as one engine uses it;
 * - wire: one connection, the lower half of a link;
 * - ear: a listener, an address that is listened at.
 *
 * Negotiation stays above: the hello, accept and reject of cm/connect/hello.h
 * cross the seam as bytes that no transport reads.
 *
 * (H) means: only for the holder of the engine. (L): any thread, under the lock
 * of the wire's link; the operation never blocks. An operation that returns a
 * status sets the thread's error, as vc__fail() does, when it fails. Callbacks
 * run from the engine's loop, never from inside an operation. The exception is
 * fini(), which may have to process what arrived for other wires.
 *
 * Called by: cm/link/link.c (wire_describe), cm/link/link_log.c
 * (wire_describe), cm/pool/pool_describe.c (wire_describe), many files
 * (wire_peer). */
#ifndef VC_TRANSPORT_TRANSPORT_H
#define VC_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#include <verbcall/status.h>

#include "transport/core/address.h"
#include "transport/core/counts.h"
#include "transport/core/error.h"

struct vc__engine;
struct vc__transport;
struct vc__wire;
struct vc__ear;
struct vc__bulk;
struct vc__path_memory;

struct vc__context {
    const struct vc__transport *transport;
    struct vc__engine *engine;
};

struct vc__context_opts {
    size_t memory;                 /* most bytes to pin, each device */
    unsigned warm;                 /* most idle QPs to keep, each device */
    struct vc__path_memory *paths; /* of the runtime; NULL: none */
};

/* --- a connection -------------------------------------------------------- */

/* Callbacks of a wire. (H) */
struct vc__wire_ops {
    /* Active: the route to the peer is resolved; prepare() and hello() are
     * next. */
    void (*ready)(struct vc__wire *w);
    /* Active: the peer has accepted with this data; confirm() is next. */
    void (*answered)(struct vc__wire *w, const void *data, size_t len);
    /* Passive: the peer has confirmed. May come after the peer's first
     * packet. */
    void (*established)(struct vc__wire *w);

    /* Active: the connection was rejected. data is the reject's private data if
     * the peer's program sent any; `why` is for a rejection without data. again
     * is true when another connection may succeed at once. */
    void (*refused)(struct vc__wire *w, const void *data, size_t len,
                    const struct vc__error *why, bool again);
    /* Active: the peer cannot be reached. On a wire that is up this is only a
     * hint, which does not end it. */
    void (*unreachable)(struct vc__wire *w, const struct vc__error *why);

    /* A packet was received; data is valid until the function returns. */
    void (*received)(struct vc__wire *w, const uint8_t *data, uint32_t len);
    /* The link passes the ticket to retire(); then there may be room to send
     * again. */
    void (*writable)(struct vc__wire *w, uint32_t ticket);

    /* The peer has disconnected, or has answered leave(). */
    void (*left)(struct vc__wire *w);
    /* The connection is broken. May come several times. */
    void (*failed)(struct vc__wire *w, const char *why);
    /* The device was removed: leave() is not possible. */
    void (*removed)(struct vc__wire *w, const char *why);
};

/* Options of a connection whose transport has them, as RDMA does: see
 * verbcall/rdma.h, which gives the reasons for these defaults. */
struct vc__wire_opts {
    uint8_t reads_in, reads_out; /* RDMA READs at a time */
    bool flow_control;
    uint8_t retries, rnr_retries;
    uint8_t ack_timeout; /* 4.096 us << this */
    uint8_t rnr_timer;   /* a time as InfiniBand encodes it */
    uint8_t tos;         /* 0: the system's */
};

#define VC__WIRE_READS       16
#define VC__WIRE_RETRIES     6  /* 7: no limit, on Soft-RoCE and for RNR */
#define VC__WIRE_ACK_TIMEOUT 14 /* 67 ms a try */
#define VC__WIRE_RNR_TIMER   14 /* 1.28 ms; 0 would be 655 ms */
#define VC__WIRE_OPTS                                                          \
    ((struct vc__wire_opts){.reads_in = VC__WIRE_READS,                        \
                            .reads_out = VC__WIRE_READS,                       \
                            .retries = VC__WIRE_RETRIES,                       \
                            .rnr_retries = VC__WIRE_RETRIES,                   \
                            .ack_timeout = VC__WIRE_ACK_TIMEOUT,               \
                            .rnr_timer = VC__WIRE_RNR_TIMER})

/* An address, with the server's own name before it. */
#define VC__PEER_TEXT (VC__ADDR_TEXT + 68)

struct vc__wire {
    const struct vc__transport *transport;
    struct vc__context *context;
    const struct vc__wire_ops *ops;
    void *owner; /* the link */
    struct sockaddr_storage peer;
    struct sockaddr_storage source; /* to connect from; AF_UNSPEC: any */
    struct vc__wire_opts opts;
    uint32_t promised;             /* receives promised to the peer */
    uint32_t window;               /* most receives ever promised to it */
    char peer_text[VC__PEER_TEXT]; /* see vc__wire_peer() */
};

/* What prepare() allocates for; all are packets at a time. */
struct vc__receives {
    uint32_t most, least; /* range for wire->window; powers of two, as it is */
    uint32_t first;       /* most that are promised at first */
};

/* A connect request; its receiver accepts or rejects it, once. */
struct vc__incoming {
    struct vc__context *context; /* where it arrived */
    struct sockaddr_storage peer;
    void *handle;       /* of the transport */
    uint16_t detail;    /* of the transport, too */
    enum vc__lack lack; /* unless VC__LACK_NOTHING, it must be rejected */
};

/* Callbacks of an ear. (H) of its context's engine. */
struct vc__ear_ops {
    /* A connect request came in; from now on it belongs to the owner. data, the
     * hello, is valid until the function returns. */
    void (*request)(struct vc__ear *ear, const struct vc__incoming *in,
                    const void *data, size_t len);
    /* The ear does not listen any more, or listen_again() has failed: its
     * device was removed, or the group is lost. Nothing may be sent by it from
     * now on. */
    void (*lost)(struct vc__ear *ear, const struct vc__error *why);
    /* It listens, after listen_again(). */
    void (*back)(struct vc__ear *ear);
    /* A datagram came for the group; data is valid until the function returns.
     * NULL for ears that join no group. */
    void (*datagram)(struct vc__ear *ear, const uint8_t *data, uint32_t len);
};

struct vc__ear_opts {
    /* For addresses: an IPv6 address takes no IPv4 clients, and
     * RDMA_OPTION_ID_REUSEADDR. */
    bool ipv6_only, reuse_address;

    /* For a group: the ear sends, and receives nothing; the address of this
     * machine to join from, or AF_UNSPEC; and how long to wait for that, where
     * 0 means 2 s. */
    bool publishes;
    uint32_t timeout_ms;
    struct sockaddr_storage source;

    /* Access to a socket of this host; other transports ignore it. */
    uint32_t mode;     /* permissions of its file */
    const char *group; /* of its file; NULL: the process' own */
    bool is_name;      /* set by the transport: the socket has no file */
    bool is_drawn;     /* set by the transport: a random name, sent in
                        * accepts */
};

struct vc__ear {
    struct vc__context *context;
    const struct vc__ear_ops *ops;
    void *owner;
    struct vc__ear_opts opts;
};

/* --- asking without a connection ----------------------------------------- */

/* Result of ask(): what was found out on the way to an address. Fields of steps
 * that were not reached are 0 or empty. */
struct vc__asked {
    uint32_t resolve_us, route_us, connect_us; /* how long each step took */
    struct sockaddr_storage source;            /* of this end */
    char device[64], gid[40];
    uint8_t port;
    uint32_t mtu;  /* bytes */
    bool answered; /* the peer's host has answered */
    bool accepted; /* a program has accepted */
    bool nobody;   /* the host reports that nothing listens */
    int status;    /* the transport's code of a rejection */
    uint16_t said_len;
    uint8_t said[256]; /* the bytes of the answer */
};

/* --- the table ----------------------------------------------------------- */

struct vc__transport {
    const char *scheme; /* of targets: "rdma" in rdma://HOST:PORT */
    bool named;         /* targets are SCHEME://NAME, of this process */
    bool local;         /* targets are SCHEME:NAME or SCHEME:///PATH */
    bool no_loopback;   /* its devices have no loopback addresses */
    bool groups;        /* targets are multicast groups: it has no connections,
                         * and its ears send and receive datagrams */

    int port_space; /* of rdma_cm; other transports have none */

    enum vc__count made; /* counter of its links that came up */

    /* Most bytes of a hello, an accept and a reject. */
    uint16_t hello_max, accept_max, reject_max;

    /* Sizes of the objects that begin with the heads above. When these
     * operations get an object, all its bytes are 0 except for those of the
     * head. */
    size_t context_size, wire_size, ear_size;

    /* An engine begins to use the transport. Any thread; once until close().
     * VC_UNAVAILABLE        this machine cannot
     * VC_PERMISSION_DENIED  this user may not
     * VC_RESOURCE_EXHAUSTED no memory or descriptors */
    enum vc_status (*open)(struct vc__context *c,
                           const struct vc__context_opts *opts);
    /* Every wire and ear must have been freed. Runs alone, on the thread that
     * frees the runtime; the engine has no holder any more. */
    void (*close)(struct vc__context *c);

    /* (H) Begins to resolve the route to wire->peer, from wire->source. ready()
     * or unreachable() follow, as a rule within this time; over TCP also
     * refused(), when nothing listens there. */
    enum vc_status (*dial)(struct vc__wire *w, uint32_t timeout_ms);
    /* (H) Passive: gives the wire its connect request. The request remains the
     * caller's until accept() returns VC_OK. */
    void (*take)(struct vc__wire *w, const struct vc__incoming *in);
    /* (H) Allocates memory and queues; sets wire->window and wire->promised.
     * VC_RESOURCE_EXHAUSTED not even the least is available
     * others                of the device or a system call */
    enum vc_status (*prepare)(struct vc__wire *w, const struct vc__receives *r);
    /* (H) Active: sends the connect request, with this data. */
    enum vc_status (*hello)(struct vc__wire *w, const void *data, size_t len);
    /* (H) Passive: accepts the request of take(). */
    enum vc_status (*accept)(struct vc__wire *w, const void *data, size_t len);
    /* (H) After answered(), or accept(): packets may be sent and received.
     * VC_UNAVAILABLE the peer has disconnected meanwhile
     * others         of the device */
    enum vc_status (*confirm)(struct vc__wire *w);
    /* (H) Disconnects; packets under way may be lost. False: the peer will not
     * answer, so left() does not follow. */
    bool (*leave)(struct vc__wire *w);
    /* (H) Frees everything, promised receives included, but after an accept()
     * that failed not the request. No callback follows. Never called from
     * inside a callback of this wire. */
    void (*fini)(struct vc__wire *w);

    /* (L) Returns where to write the next packet, and in *room how long it may
     * be. NULL: no room now; writable() will come, but not over shared memory,
     * where only a peer that breaks the rules causes this. Without commit() the
     * packet is not sent. */
    uint8_t *(*reserve)(struct vc__wire *w, uint32_t *room);
    /* (L) Sends the packet of len bytes that was written there. Returns 0, or
     * an errno: the connection is broken. */
    int (*commit)(struct vc__wire *w, uint32_t len);
    /* (L) Ends a batch of packets; NULL: commit() has sent them already. */
    void (*flush)(struct vc__wire *w);
    /* (L) Accounts for the ticket of writable(); NULL for a transport without
     * writable(). */
    void (*retire)(struct vc__wire *w, uint32_t ticket);

    /* (L) True if the peer's process has acknowledged the first packet, so that
     * it is not to be sent again; NULL: the system sends again by itself. */
    bool (*heard)(const struct vc__wire *w);

    /* What a proven probe() means, in words for keepalive: "its adapter
     * answers". */
    const char *host_is_up;

    /* (L) probe() checks the peer's host without its process; proven() is true
     * when the host has answered this ticket. probe() returns 0, or an errno:
     * the connection is broken. Both are NULL for inproc; over shared memory
     * the host always answers, and probe() trims the memory. */
    int (*probe)(struct vc__wire *w, uint32_t *ticket);
    bool (*proven)(const struct vc__wire *w, uint32_t ticket);

    /* (L) For a transport whose probe() is a packet that the path may drop,
     * which would break the connection; NULL for others. drops_probe() is true
     * if this path seems to. Instead of probe(), the link may then send any
     * packet: mark(), between reserve() and commit(), returns the ticket by
     * which proven() tells that the host has answered it. */
    bool (*drops_probe)(const struct vc__wire *w);
    uint32_t (*mark)(struct vc__wire *w);

    /* (H) Promise n more receives to the peer, or n less; within wire->window.
     * Under the lock of the wire's link, too; the transport may also call its
     * own inside prepare() and fini(), without that lock.
     * VC_RESOURCE_EXHAUSTED no more receives are available */
    enum vc_status (*promise)(struct vc__wire *w, uint32_t n);
    void (*release)(struct vc__wire *w, uint32_t n);

    /* (H), or while the wire is up and kept so: describes what carries the
     * packets, for people: "rxe0, QP 17, 256 bytes inline". Writes nothing
     * while there is no QP or socket yet. NULL if the transport has nothing to
     * describe. */
    void (*describe)(const struct vc__wire *w, char *out, size_t size);

    /* Remote access to memory by the peer; NULL: not supported. No transport
     * has it yet. */
    const struct vc__bulk *bulk;

    /* Connects to an address by `transport`, which has this table, sends this
     * data, and disconnects at once, all in the calling thread: no engine and
     * no context is needed. It blocks for timeout_ms at most, besides the time
     * that the system takes to open a device. NULL if the transport cannot do
     * this. VC_OK: out->answered is true. Any thread.
     * VC_UNAVAILABLE        no device, no route, or no answer in time
     * VC_PERMISSION_DENIED  this user may not
     * VC_RESOURCE_EXHAUSTED no memory or descriptors */
    enum vc_status (*ask)(const struct vc__transport *transport,
                          const struct sockaddr_storage *addr, const void *data,
                          size_t len, uint32_t timeout_ms,
                          struct vc__asked *out);

    /* Listens at an address; request() may run before this returns. Any thread.
     * VC_UNAVAILABLE        the address cannot be listened at
     * VC_PERMISSION_DENIED  this user may not
     * VC_RESOURCE_EXHAUSTED no memory or descriptors
     * VC_INVALID_ARGUMENT   as when there is no such group (opts.group) */
    enum vc_status (*listen)(struct vc__ear *ear, const struct sockaddr *addr);
    /* (H) The same where listen() waits, which would stop all links of the
     * engine: on VC_OK, back() or lost() runs later. NULL: listen() does not
     * wait. */
    enum vc_status (*listen_again)(struct vc__ear *ear,
                                   const struct sockaddr *addr);
    /* (H) May be called when the ear does not listen any more. */
    void (*unlisten)(struct vc__ear *ear);
    /* Returns the port at which the ear listens; 0 for a transport without
     * ports. Any thread, after listen() and before unlisten(). */
    uint16_t (*port)(const struct vc__ear *ear);
    /* Rejects a request. The holder of any engine. */
    void (*reject)(const struct vc__incoming *in, const void *data, size_t len);

    /* Of a transport of groups, for an ear that publishes; others have NULL.
     * Any thread, under a lock of the ear's owner; not after lost().
     * datagram_max() returns the most bytes of a datagram. reserve() returns
     * where to write the next one, NULL if the adapter has as many as it takes;
     * without commit() it is not sent. commit() returns 0, or an errno. */
    uint32_t (*datagram_max)(const struct vc__ear *ear);
    uint8_t *(*datagram_reserve)(struct vc__ear *ear);
    int (*datagram_commit)(struct vc__ear *ear, uint32_t len);
};

/* Returns the peer's address for people, valid as long as the wire; after an
 * accept with the server's name, that name and the address. The text is made on
 * first use, as most wires never need it. For errors and log lines; called by
 * the transports, by the wire's callbacks in cm/link/link.c, and by
 * vc__link_peer(). (H) */
static inline const char *
vc__wire_peer(struct vc__wire *w)
{
    if (w->peer_text[0] == '\0')
        vc__addr_text((const struct sockaddr *)&w->peer, w->peer_text);
    return w->peer_text;
}

/* Writes what carries the packets, in parentheses after a blank, to be appended
 * to a sentence; empty if the transport has nothing to describe. Called by (H)
 * up_log() and link_on_failed() of cm/link; and, for a wire that is up, by
 * vc__pool_describe(): any thread, under the pool's lock. */
#define VC__WIRE_TEXT 64
static inline void
vc__wire_describe(const struct vc__wire *w, char out[VC__WIRE_TEXT])
{
    char what[VC__WIRE_TEXT - 8] = "";

    if (w->transport->describe != NULL)
        w->transport->describe(w, what, sizeof what);
    if (what[0] == '\0')
        out[0] = '\0';
    else
        snprintf(out, VC__WIRE_TEXT, " (%s)", what);
}

#endif
