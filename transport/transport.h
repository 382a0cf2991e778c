/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The seam between the link layer (cm/) and what carries its packets: a
 * transport is one const table of operations, and nothing above it names
 * verbs, rdma_cm or sockets. Three kinds of object cross it, each the head of
 * a larger one that the transport keeps behind it:
 *
 * - context: a transport as one engine uses it;
 * - wire: one connection, the lower half of a link;
 * - ear: an address that is listened at.
 *
 * Negotiation stays above: the hello, accept and reject of cm/connect/hello.h
 * cross the seam as bytes that no transport reads.
 *
 * (H) means: for the holder of the engine only. (L): any thread, under the lock
 * of the wire's link, and it never blocks. Operations that fail return a status
 * and leave the reason as vc__fail() does. What comes up comes from the
 * engine's loop, never from inside an operation but fini(), which may have to
 * look at what came for other wires. */
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

struct vc__context {
    const struct vc__transport *transport;
    struct vc__engine *engine;
};

struct vc__context_opts {
    size_t memory; /* bytes that may be pinned, each device */
    unsigned warm; /* idle QPs that may be kept, each device */
};

/* --- a connection -------------------------------------------------------- */

/* What comes up from a wire. (H) */
struct vc__wire_ops {
    /* Active: the way to the peer is known; prepare() and hello() are next. */
    void (*ready)(struct vc__wire *w);
    /* Active: the peer has accepted with these bytes; confirm() is next. */
    void (*answered)(struct vc__wire *w, const void *data, size_t len);
    /* Passive: the peer has confirmed. May come after its first packet. */
    void (*established)(struct vc__wire *w);

    /* Active: rejected, with the bytes of a reject if the peer's program said
     * any; `why` is for a rejection without them. again: at once, another
     * connection may do. */
    void (*refused)(struct vc__wire *w, const void *data, size_t len,
                    const struct vc__error *why, bool again);
    /* Active: there is no way to the peer. Once up a hint, and no end. */
    void (*unreachable)(struct vc__wire *w, const struct vc__error *why);

    /* A packet; data holds until the function returns. */
    void (*received)(struct vc__wire *w, const uint8_t *data, uint32_t len);
    /* Hand the ticket to retire(): then there may be room to send again. */
    void (*writable)(struct vc__wire *w, uint32_t ticket);

    /* The peer has disconnected, or has answered leave(). */
    void (*left)(struct vc__wire *w);
    /* It carries nothing any more. May come several times. */
    void (*failed)(struct vc__wire *w, const char *why);
    /* The device is gone: there is nobody to leave. */
    void (*removed)(struct vc__wire *w, const char *why);
};

/* How a connection is set where its transport has such settings, as RDMA has:
 * see verbcall/rdma.h, which says why these are the defaults. */
struct vc__wire_opts {
    uint8_t reads_in, reads_out; /* RDMA READs at a time */
    bool flow_control;
    uint8_t retries, rnr_retries;
    uint8_t ack_timeout; /* 4.096 us << this */
    uint8_t rnr_timer;   /* an encoded time */
    uint8_t tos;         /* 0: the system's */
};

#define VC__WIRE_READS       16
#define VC__WIRE_RETRIES     6  /* 7 is for ever: on Soft-RoCE, and for RNR */
#define VC__WIRE_ACK_TIMEOUT 14 /* 67 ms a try */
#define VC__WIRE_RNR_TIMER   14 /* 1.28 ms; 0 would be 655 ms */
#define VC__WIRE_OPTS                                                          \
    ((struct vc__wire_opts){.reads_in = VC__WIRE_READS,                        \
                            .reads_out = VC__WIRE_READS,                       \
                            .retries = VC__WIRE_RETRIES,                       \
                            .rnr_retries = VC__WIRE_RETRIES,                   \
                            .ack_timeout = VC__WIRE_ACK_TIMEOUT,               \
                            .rnr_timer = VC__WIRE_RNR_TIMER})

/* An address, and before it the name that a server has given itself. */
#define VC__PEER_TEXT (VC__ADDR_TEXT + 68)

struct vc__wire {
    const struct vc__transport *transport;
    struct vc__context *context;
    const struct vc__wire_ops *ops;
    void *owner; /* the link */
    struct sockaddr_storage peer;
    struct sockaddr_storage source; /* to connect from; AF_UNSPEC: any */
    struct vc__wire_opts opts;
    uint32_t promised;             /* receives that the peer may use */
    uint32_t window;               /* receives that it can ever be promised */
    char peer_text[VC__PEER_TEXT]; /* see vc__wire_peer() */
};

/* What prepare() makes room for, in packets at a time. */
struct vc__receives {
    uint32_t most, least; /* that wire->window becomes */
    uint32_t first;       /* that are promised to begin with, at most */
};

/* A request to connect, which its receiver accepts or rejects, once. */
struct vc__incoming {
    struct vc__context *context; /* where it came in */
    struct sockaddr_storage peer;
    void *handle;       /* the transport's own, */
    uint16_t detail;    /* and this */
    enum vc__lack lack; /* what is lacking to accept it: it is to be rejected */
};

/* What comes up from an ear. (H) of its context's engine. */
struct vc__ear_ops {
    /* It is the owner's from now on. data, the hello, holds until the function
     * returns. */
    void (*request)(struct vc__ear *ear, const struct vc__incoming *in,
                    const void *data, size_t len);
    /* It hears no more: its device is gone. */
    void (*lost)(struct vc__ear *ear, const struct vc__error *why);
};

struct vc__ear_opts {
    /* Of addresses: those of IPv6 take no IPv4, and RDMA_OPTION_ID_REUSEADDR. */
    bool ipv6_only, reuse_address;

    /* Who may connect to a socket of this host; others do not ask. */
    uint32_t mode;     /* permissions of its file */
    const char *group; /* of its file; NULL: the process' own */
    bool is_name;      /* the transport's: there is no file */
    bool is_drawn;     /* the transport's: the name is told by accepts only */
};

struct vc__ear {
    struct vc__context *context;
    const struct vc__ear_ops *ops;
    void *owner;
    struct vc__ear_opts opts;
};

/* --- asking without a connection ----------------------------------------- */

/* What was found on the way to an address; 0 and empty where it did not come as
 * far. */
struct vc__asked {
    uint32_t resolve_us, route_us, connect_us; /* how long each step took */
    struct sockaddr_storage source;            /* of this end */
    char device[64], gid[40];
    uint8_t port;
    uint32_t mtu;  /* bytes */
    bool answered; /* by the peer's host, */
    bool accepted; /* by a program */
    bool nobody;   /* by the host, that nobody listens */
    int status;    /* of a rejection, the transport's */
    uint16_t said_len;
    uint8_t said[256]; /* the bytes of the answer */
};

/* --- the table ----------------------------------------------------------- */

struct vc__transport {
    const char *scheme; /* of targets: "rdma" in rdma://HOST:PORT */
    bool named;         /* targets are SCHEME://NAME, of this process */
    bool local;         /* targets are SCHEME:NAME or SCHEME:///PATH */
    bool no_loopback;   /* its devices have no loopback addresses */

    enum vc__count made; /* of its links that came up */

    /* Bytes that a hello, an accept and a reject may have. */
    uint16_t hello_max, accept_max, reject_max;

    /* Of the objects that begin with the heads above; all of their bytes are 0
     * but those of the heads when they come here. */
    size_t context_size, wire_size, ear_size;

    /* An engine begins to use it. Any thread; once until close().
     * VC_UNAVAILABLE         this machine cannot
     * VC_PERMISSION_DENIED   this user may not
     * VC_RESOURCE_EXHAUSTED  no memory or descriptors */
    enum vc_status (*open)(struct vc__context *c,
                           const struct vc__context_opts *opts);
    /* Every wire and ear is gone. */
    void (*close)(struct vc__context *c);

    /* (H) Begins to look for the way to wire->peer, from wire->source; ready()
     * or unreachable() follow, within this time as a rule. */
    enum vc_status (*dial)(struct vc__wire *w, uint32_t timeout_ms);
    /* (H) Passive: this is its request. It stays the caller's until accept() is
     * VC_OK. */
    void (*take)(struct vc__wire *w, const struct vc__incoming *in);
    /* (H) Memory and queues; sets wire->window and wire->promised.
     * VC_RESOURCE_EXHAUSTED  there is not even the least */
    enum vc_status (*prepare)(struct vc__wire *w, const struct vc__receives *r);
    /* (H) Active: asks to be connected. */
    enum vc_status (*hello)(struct vc__wire *w, const void *data, size_t len);
    /* (H) Passive: accepts what it took. */
    enum vc_status (*accept)(struct vc__wire *w, const void *data, size_t len);
    /* (H) Behind answered(), or accept(): packets may go and come.
     * VC_UNAVAILABLE  the peer has left meanwhile */
    enum vc_status (*confirm)(struct vc__wire *w);
    /* (H) Says goodbye; what was under way is lost. False: nobody will answer,
     * so left() does not follow. */
    bool (*leave)(struct vc__wire *w);
    /* (H) Gives all back, what is promised included. Nothing comes up any more.
     * Never from inside a callback of its own. */
    void (*fini)(struct vc__wire *w);

    /* (L) Where the next packet is to be written, and in *room how long it may
     * be; NULL: not now, writable() will come. Without commit() nothing has
     * happened. */
    uint8_t *(*reserve)(struct vc__wire *w, uint32_t *room);
    /* (L) Sends the packet of len bytes that was written there. 0, or an errno:
     * the connection is broken. */
    int (*commit)(struct vc__wire *w, uint32_t len);
    /* (L) The end of a round of packets; NULL: commit() has sent them. */
    void (*flush)(struct vc__wire *w);
    /* (L) Takes the account of writable(); NULL where that does not come. */
    void (*retire)(struct vc__wire *w, uint32_t ticket);

    /* What probe() found when it was proven, in words for keepalive: "its
     * adapter answers". */
    const char *host_is_up;

    /* (L) Asks the peer's host without its process; proven() when it has
     * answered this ticket. 0, or an errno: the connection is broken. Both NULL
     * where the host is this one. */
    int (*probe)(struct vc__wire *w, uint32_t *ticket);
    bool (*proven)(const struct vc__wire *w, uint32_t ticket);

    /* (H) n more receives for the peer, and so many less; within wire->window.
     * VC_RESOURCE_EXHAUSTED  there are no more */
    enum vc_status (*promise)(struct vc__wire *w, uint32_t n);
    void (*release)(struct vc__wire *w, uint32_t n);

    /* (H), or while the wire is up and kept so: what carries the packets, for
     * people: "rxe0, QP 17, 256 bytes inline". Empty before prepare(); NULL
     * where there is nothing to say. */
    void (*describe)(const struct vc__wire *w, char *out, size_t size);

    /* Memory that the peer reads and writes by itself; NULL: it cannot. No
     * transport has it yet. */
    const struct vc__bulk *bulk;

    /* Connects to an address, saying these bytes, and leaves at once, all in
     * the calling thread: no engine and no context is needed. It blocks for
     * timeout_ms at most, but for what the system takes to open a device. NULL
     * where it cannot. VC_OK: out->answered. Any thread.
     * VC_UNAVAILABLE         no device, no way, or no answer in time
     * VC_PERMISSION_DENIED   this user may not
     * VC_RESOURCE_EXHAUSTED  no memory or descriptors */
    enum vc_status (*ask)(const struct sockaddr_storage *addr, const void *data,
                          size_t len, uint32_t timeout_ms,
                          struct vc__asked *out);

    /* Listens at an address; requests may come before it returns. Any thread.
     * VC_UNAVAILABLE        it cannot be listened at
     * VC_PERMISSION_DENIED  this user may not */
    enum vc_status (*listen)(struct vc__ear *ear, const struct sockaddr *addr);
    /* (H) May come when it does not listen any more. */
    void (*unlisten)(struct vc__ear *ear);
    uint16_t (*port)(const struct vc__ear *ear);
    /* Turns a request away. Any holder. */
    void (*reject)(const struct vc__incoming *in, const void *data, size_t len);
};

/* The peer's address for people: made only for those who ask, as most wires
 * never have to say it. (H) */
static inline const char *
vc__wire_peer(struct vc__wire *w)
{
    if (w->peer_text[0] == '\0')
        vc__addr_text((const struct sockaddr *)&w->peer, w->peer_text);
    return w->peer_text;
}

/* What carries the packets, in parentheses and behind a blank, to be put behind
 * a sentence; empty where there is nothing to say. (H) */
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
