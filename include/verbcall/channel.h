/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The client's side: a channel leads to a target and carries calls of any
 * number of services from any number of threads. A channel is cheap: channels
 * to one target share their connections, so a program may have thousands. */
#ifndef VERBCALL_CHANNEL_H
#define VERBCALL_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_channel;
struct vc_load_opts;
struct vc_outlier_opts;
struct vc_rdma_opts;
struct vc_runtime;
struct vc_service;

/* Options of a channel. Initialize it with VC_CHANNEL_OPTS_INIT, or write
 * VC_CHANNEL_OPTS(.require = "rdma") where it is used; 0 in a field means its
 * default. */
struct vc_channel_opts {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* Milliseconds, 1..600000, default 2000, within which a connection must be
     * up and its handshake done. A call to a host that does not answer takes up
     * to that for each of its attempts (max_attempts; of several servers: for
     * up to eight further ones, too), but not beyond its deadline. A connection
     * that replaces a lost one under calls in progress must be up within
     * keepalive_ms, if that is less, as must a further connection to the same
     * server. */
    uint32_t connect_timeout_ms;

    /* Timeout of a call in milliseconds, 1..2^31-1, when its own options set
     * none; default 10000. VC_NO_DEADLINE: no timeout; the call waits until the
     * link is lost. It does not apply to streams: a stream has no deadline
     * unless its options or its method set one. */
    uint32_t call_timeout_ms;

    /* Largest packed reply and stream message that this end takes, in bytes, 4
     * KiB..256 MiB, rounded up to a power of two; default 4 MiB. A call whose
     * request is over the limit of its server ends with VC_RESOURCE_EXHAUSTED
     * and is not retried. Once the channel has been connected, it ends before
     * anything is sent. */
    size_t max_message;

    /* Links to the server, 1..1024, min_links at most max_links; defaults 1 and
     * 4. A further link is opened while many calls are under way. A further
     * link that was idle for idle_timeout_ms (1..2^31-1, default 60000) is
     * closed again.
     * Channels of one engine with the same target share their links, and the
     * sessions of all of them share the links, if these options are the same:
     * connect_timeout_ms, connect_delay_ms, max_message, min_links, max_links,
     * idle_timeout_ms, keepalive_ms, bind_address, transports, require,
     * connect_ahead and rdma. A runtime deals
     * its channels to its engines in turn (option threads in
     * verbcall/runtime.h); with four engines there may be four times max_links
     * links to a server. */
    unsigned min_links, max_links;
    uint32_t idle_timeout_ms;

    /* This channel's share of the links, 1..256, default 1, when other channels
     * have something to send as well. Sessions take turns by bytes. Those of a
     * channel with twice the weight may send twice as many, and get twice as
     * many of the server's replies and stream messages. */
    unsigned weight;

    /* Bytes of packed requests, below 4 GiB, that may be under way at a time to
     * each service. One request of any size is always allowed; others wait.
     * Default 0: as many as the server has slots for. */
    size_t quota;

    /* Milliseconds, 100..3600000, default 1000. A server that has not answered
     * for so long is considered dead, and calls that wait for it end with
     * VC_UNAVAILABLE. At vc://, or at a server with several addresses, when its
     * host does not answer, they end only after another transport or address
     * was tried for as long again. Without calls the server may be silent three
     * times as long; the client finds out only while a thread advances the
     * runtime.
     * VC_KEEPALIVE_OFF: calls end by their deadlines only, unless the adapter
     * reports an error. */
    uint32_t keepalive_ms;

    /* Numeric address of this machine to connect from, of an RDMA device for
     * rdma://, as "10.9.0.1", "fd09::1" or "fe80::1%eth0"; copied. Addresses of
     * the target that are of another family are left out, and so is an
     * inproc:// one. Default: as the routing table says. */
    const char *bind_address;

    /* Attempts that a call may take, 1..100, default 3 (see VC_CALL_NO_RETRY),
     * and the milliseconds, 1..60000, default 50, before the second. Each
     * backoff is about twice the one before, up to 16 times the first, unless
     * the server sets another. While about half of the calls fail there are no
     * retries. */
    unsigned max_attempts;
    uint32_t retry_backoff_ms;

    /* For a vc:// channel: the transports that may be used, the best first, as
     * "shm,rdma,tcp", which is the default; copied. VERBCALL_TRANSPORTS in the
     * environment is such a list, too: a transport that is not in it is not
     * used. shm needs rdma or tcp to find the server. */
    const char *transports;

    /* For a vc:// channel: the transports, as "shm" or "shm,rdma", of which one
     * must carry the calls; copied. When none does, calls end with the reason;
     * with VC_FAILED_PRECONDITION when the server can be reached by another
     * transport. Default: any of `transports`. */
    const char *require;

    /* Options of its RDMA connections: see verbcall/rdma.h. Copied; default: as
     * said there. Channels share links only if these are the same, too. */
    const struct vc_rdma_opts *rdma;

    /* For several servers (list:, file:, dns: and other resolvers): how each
     * attempt of a call gets its server; copied. Connections, quota and
     * connect_timeout_ms are for each server.
     * - "pick_first", the default: the first that can be reached, until its
     *   connections are lost;
     * - "round_robin": one after the other, of those that are connected;
     * - "weighted_round_robin": the same, by the weights that the resolver
     *   gives, or by the load that the servers report (verbcall/load.h);
     * - "least_request": of two at random the one with fewer calls in progress;
     * - "ring_hash": calls with one key (hash_metadata) go to one server, and
     *   few keys move when a server comes or goes;
     * - "priority": round_robin among the servers of the lowest priority of
     *   which one can be reached;
     * - "nearest": round_robin among those of this host; if none can be reached
     *   among those with this channel's label; then among the others;
     * - "NAME", "NAME:CONFIG": a policy of the program's own, see
     *   verbcall/policy.h.
     * A stream that has begun stays with its server. */
    const char *policy;

    /* For ring_hash: the key of the metadata of a call whose value says where
     * it goes, as "user-id"; copied. Calls without it go anywhere. It must be a
     * key that metadata may have: 1 to 127 of a-z, 0-9, '_', '-' and '.'.
     * Default, and "": none has a key. */
    const char *hash_metadata;

    /* For nearest: where this program runs, as "rack-7", to be compared with
     * the labels of servers; copied. Default: none. */
    const char *label;

    /* For several servers: finds those whose calls fail far more often than
     * those of the others, and gives them none for a while: see
     * verbcall/outlier.h. Copied; default: none are looked for. */
    const struct vc_outlier_opts *outlier;

    /* Options of load reports, for weighted_round_robin: see verbcall/load.h.
     * Copied; default: as said there. When at least two servers have reported
     * their load for 10 s, calls go by these reports, and the weights of the
     * resolver do not count. */
    const struct vc_load_opts *load;

    /* For a server with several addresses: milliseconds, 100..2000, default
     * 250, that an address has to answer before the next one is tried, too; but
     * no more than a quarter of what is left of connect_timeout_ms. The
     * connection attempt delay of RFC 8305. */
    uint32_t connect_delay_ms;

    /* The service whose health the channel watches, as "demo.Greeter", or ""
     * for the whole server; 255 bytes at most; copied. On each connected server
     * a stream of grpc.health.v1.Health/Watch is kept (verbcall/health.h), and
     * the server gets calls only while it reports SERVING. While no server
     * does, calls end with VC_UNAVAILABLE, or wait (VC_CALL_WAIT_FOR_READY). A
     * server without that service counts as healthy. Default, NULL: health is
     * not watched. See doc/balancing.md. */
    const char *health_service;

    /* A service config in gRPC's JSON, as "{\"methodConfig\": [...]}", copied;
     * or "file:///PATH", a file with it, which is read again when it changes:
     * the policy, and by service and method timeouts, retries, hedging and
     * limits of messages. See doc/service-config.md. The module
     * libverbcall-config reads it. A resolver's config (vc_resolver_config())
     * counts before this one. Default: none. */
    const char *service_config;

    /* A service that the servers serve: its connections are made ahead, without
     * a call, as soon as the channel is opened or its resolver names a server:
     * min_links to each server, with any policy. They stay: idle_timeout_ms
     * closes only further ones. When the last one to a server is lost, or it
     * cannot be reached, connecting begins again after 50 ms, doubled each time
     * up to 5 s, and 20 % more or less; a call does not wait for that. The same
     * holds for a server that drains, which refuses connections until it is
     * back, unless it names another one. The handshake names this service,
     * which must be valid until vc_channel_close() has returned. It happens
     * only while a thread advances the runtime. Default, NULL: the first call,
     * or choice of a call, connects; see doc/balancing.md. */
    const struct vc_service *connect_ahead;
};

#define VC_NO_DEADLINE   UINT32_MAX
#define VC_KEEPALIVE_OFF UINT32_MAX

#define VC_CHANNEL_OPTS_INIT VC_SIZED_INIT(vc_channel_opts)
#define VC_CHANNEL_OPTS(...) VC_SIZED(vc_channel_opts, __VA_ARGS__)

/* vc_channel_open - creates a channel to target. Returns at once: the first
 * call or vc_channel_connect() opens the connection, and the next call opens it
 * again when it was lost. opts may be NULL. On VC_OK the caller owns *channel
 * and closes it by vc_channel_close(). Any thread. The target is one of:
 * - "vc://HOST:PORT": a server that listens at vc://, by the best transport
 *   that leads there: shared memory if the server is on this host, RDMA if that
 *   connects within 250 ms, else TCP. When RDMA works again, the channel uses
 *   it a few seconds later. vc_channel_describe() reports which transport is
 *   used, and why.
 * - "rdma://HOST:PORT": HOST is a name, an IPv4 address or an [IPv6 address], a
 *   link-local one with its interface: "rdma://[fe80::1%eth0]:7471". It is no
 *   loopback address, as RDMA reaches none.
 * - "rdma+ib://HOST:PORT": a server that listens there, in the port space
 *   RDMA_PS_IB of rdma_create_id(3) instead of RDMA_PS_TCP; else as rdma://.
 * - "rdma+ud://HOST:PORT": a server that listens there by RDMA datagrams (port
 *   space RDMA_PS_UDP), which are made reliable (doc/wire.md, 2.12). Calls and
 *   streams are the same; a server that dies is noticed by keepalive only.
 * - "rdma+mc://GROUP:PORT": all servers that listen at this multicast group,
 * for one-way calls only: see verbcall/multicast.h. The function joins the
 * group, and waits up to connect_timeout_ms for that; then it fails with
 * VC_UNAVAILABLE, or VC_PERMISSION_DENIED for a device that this user may not
 * open. Options about servers and connections are refused.
 * - "tcp://HOST:PORT": the same over TCP.
 * - "shm:NAME" or "shm:///PATH": a process of this host, through shared memory
 *   (at a NAME, of this user or of root: any user may take a free one).
 * - "inproc://NAME": a server of this process (see vc_server_listen()).
 * - "ADDRESS|ADDRESS|...": up to 8 of the above, 319 bytes in all: addresses of
 *   one server, by any transports, but with vc:// all or none. The first that
 *   connects is used until its connections are lost. Another server at one of
 *   them is never taken for this one.
 * - "list:TARGET,TARGET,...": up to 1,024 of the above: servers that do the
 *   same. vc_channel_opts.policy says which one gets a call. A call that cannot
 *   be sent to one goes to another; see doc/balancing.md.
 * - "file:///PATH": the same from a file, with a target a line, which is read
 *   again when it changes.
 * - "dns:///NAME:PORT": the addresses of a name, by the module libverbcall-dns.
 * - "SCHEME:...": servers from a resolver of the program's own: see
 *   verbcall/resolver.h.
 *
 * Of several addresses, also of a name, the first that answers is taken. Each
 * has connect_delay_ms before the next is tried, too; after a failure the next
 * is tried at once. IPv4 and IPv6 take turns. Errors:
 * VC_INVALID_ARGUMENT    the target is malformed, its port is 0, an address is
 *                        in it twice, or it is a loopback address at rdma://
 *                        (for a name with such an address, the first call ends
 *                        with this status); an option is malformed or out of
 *                        range; opts, or their rdma, have no size
 * VC_FAILED_PRECONDITION VERBCALL_TRANSPORTS leaves nothing of the option
 *                        transports or require
 * VC_UNIMPLEMENTED       the target, or the option service_config, needs a
 *                        module that is not installed
 * VC_RESOURCE_EXHAUSTED  no memory
 * and what the open() of the target's resolver has returned, or the build() of
 * a policy of the program's own */
VC_API enum vc_status vc_channel_open(struct vc_runtime *runtime,
                                      const char *target,
                                      const struct vc_channel_opts *opts,
                                      struct vc_channel **channel);

/* vc_channel_connect - connects now and waits until the peer has agreed to
 * serve the service, for programs that want to know before the first call. Any
 * thread, any time; VC_OK at once when connected, of several servers to any;
 * else these are tried one after the other. Within the channel's connect
 * timeout, for each server, and for the answer of a resolver, the function
 * fails with:
 * VC_UNAVAILABLE         no such host, no route, no listener, no RDMA device,
 *                        peer lost or too busy; vc_error() says which and what
 *                        to do
 * VC_UNIMPLEMENTED       the peer does not serve the service, speaks no
 *                        protocol version of this library, or lacks a protocol
 *                        feature that this library needs (doc/wire.md 2.8)
 * VC_FAILED_PRECONDITION the server can be reached, but by no transport of the
 *                        option require
 * VC_PERMISSION_DENIED   this user may not open the RDMA devices
 * VC_RESOURCE_EXHAUSTED  on this machine: no descriptors are left, or pinned
 *                        memory or queues are too small
 * VC_CANCELLED           the channel was closed meanwhile
 * VC_DEADLINE_EXCEEDED   never: a timeout while connecting is VC_UNAVAILABLE */
VC_API enum vc_status vc_channel_connect(struct vc_channel *channel,
                                         const struct vc_service *service);

/* vc_channel_describe - writes the channel's connections to text, of size
 * bytes, one a line, as "shm to shm of this host: 2 calls under way". The name
 * of the server (struct vc_server_opts) stands before the address, and what
 * carries the connection at the end: "(rxe0, QP 17, 256 bytes inline)". For a
 * vc:// channel follow lines, "not rdma: " and the reason, why no better
 * transport is used. Of several servers a line stands before the connections of
 * each, "server 1 of 3, TARGET: ready, weight 2, 120 calls, 1 failed" (or idle,
 * connecting, failing, ejected and for how long, unhealthy, or not known to be
 * healthy yet; the weight if not all have the same; and how often it was
 * ejected); "no servers: REASON" before there are any; and "the resolver:
 * REASON" at the end while it has no answer. The last lines say which service
 * config is in force, and why a newer one is not.
 * The text is for people: programs must not parse it. Returns the length of the
 * whole text, as snprintf(3) does. Any thread. */
VC_API size_t vc_channel_describe(const struct vc_channel *channel, char *text,
                                  size_t size);

/* vc_channel_close - ends the calls that still run with VC_CANCELLED,
 * disconnects and frees the channel. The servers get notice that the calls have
 * ended, and cancel the handlers. No call may be started on the channel any
 * more: blocking calls of other threads may still run, but each function that
 * starts an asynchronous call must have returned. Blocks until the servers have
 * confirmed that the calls have ended, 200 ms at most, and for the disconnect
 * handshake, 2 s at most. NULL is allowed: VC_OK. Any thread.
 * VC_FAILED_PRECONDITION inside a handler, done() or another callback of the
 *                        runtime, while asynchronous calls or streams with
 *                        callbacks of the channel have not ended, as the
 *                        function would wait for them. The channel is still
 *                        open and valid; close it elsewhere */
VC_API enum vc_status vc_channel_close(struct vc_channel *channel);

VC_END_DECLS

#endif
