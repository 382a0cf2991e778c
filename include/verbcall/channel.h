/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The client's side: a channel leads to a target and carries calls of any
 * number of services from any number of threads. It is cheap: those to one
 * target share their connections, so a program may have thousands. */
#ifndef VERBCALL_CHANNEL_H
#define VERBCALL_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include <verbcall/export.h>
#include <verbcall/status.h>

VC_BEGIN_DECLS

struct vc_channel;
struct vc_rdma_opts;
struct vc_runtime;
struct vc_service;

/* It begins as VC_CHANNEL_OPTS_INIT, or is written where it is used as
 * VC_CHANNEL_OPTS(.require = "rdma"); 0 in a field means its default. */
struct vc_channel_opts {
    size_t size; /* see VC_SIZED in verbcall/export.h */

    /* Milliseconds, 1..600000, default 2000, in which a connection must be up
     * and agreed upon. A call to a host that is silent takes up to that for
     * each of its attempts (max_attempts), as far as its deadline goes. */
    uint32_t connect_timeout_ms;

    /* Milliseconds, 1..2^31-1, that a call may take when its own options do
     * not say; default 10000. VC_NO_DEADLINE waits for ever, or until the
     * link is lost. It is not for streams: one has no deadline unless its
     * options or its method say one. */
    uint32_t call_timeout_ms;

    /* Largest packed reply and message of a stream that this end takes, in
     * bytes, 4 KiB..256 MiB, rounded up to a power of two; default 4 MiB. A
     * call whose request is over the limit of its server ends
     * VC_RESOURCE_EXHAUSTED and is not tried again: before anything is sent,
     * once the channel has been connected. */
    size_t max_message;

    /* Links to the server, 1..1024, min_links at most max_links; defaults 1
     * and 4. A further one is made while many calls are under way, and one
     * that was idle for idle_timeout_ms (1..2^31-1, default 60000) is closed
     * again.
     * Channels of a runtime with the same target and the same options down to
     * here share their links, and the sessions of all of them share the
     * links. */
    unsigned min_links, max_links;
    uint32_t idle_timeout_ms;

    /* This channel's share of the links, 1..256, default 1, when others have
     * something to send as well: sessions take turns by bytes, those of a
     * channel with twice the weight may send twice as many, and get twice as
     * many of the server's replies and messages of streams. */
    unsigned weight;

    /* Bytes of packed requests, below 4 GiB, that may be under way at a time
     * to each service, one of any size always; others wait. Default 0: as many
     * as the server has slots for. */
    size_t quota;

    /* Milliseconds, 100..3600000, default 1000: a server that has not answered
     * for so long is taken for dead, and calls that wait for it end with
     * VC_UNAVAILABLE; at vc://, when its host is silent, not before another
     * transport was tried for as long again. Without calls it may be silent
     * three times as long; this is found out only while a thread advances the
     * runtime.
     * VC_KEEPALIVE_OFF: calls end by their deadlines only, unless the adapter
     * tells. */
    uint32_t keepalive_ms;

    /* Numeric address of this machine to connect from, of an RDMA device for
     * rdma://, as "10.9.0.1", "fd09::1" or "fe80::1%eth0"; copied. Addresses of the target
     * that are of another family are left out, and so is an inproc:// one.
     * Default: as the routes say. */
    const char *bind_address;

    /* Attempts that a call may take, 1..100, default 3 (see VC_CALL_NO_RETRY),
     * and the milliseconds, 1..60000, default 50, before the second; each wait
     * is about twice the one before, up to 16 times the first, unless the
     * server says another. When about half of the calls fail there are no
     * retries. */
    unsigned max_attempts;
    uint32_t retry_backoff_ms;

    /* Of a vc:// channel: the transports that may be used, the best first, as
     * "shm,rdma,tcp", which is the default; copied. Those that
     * VERBCALL_TRANSPORTS in the environment leaves out, a list as this one,
     * are not used either. shm needs rdma or tcp to find the server. */
    const char *transports;

    /* Of a vc:// channel: the transports, as "shm" or "shm,rdma", of which one
     * must carry the calls; copied. Where none does, calls end with the reason:
     * VC_FAILED_PRECONDITION where the server is there. Default: any of
     * `transports`. */
    const char *require;

    /* How its RDMA connections are set: see verbcall/rdma.h. Copied; default:
     * as said there. Channels share links only if these are the same, too. */
    const struct vc_rdma_opts *rdma;
};

#define VC_NO_DEADLINE   UINT32_MAX
#define VC_KEEPALIVE_OFF UINT32_MAX

#define VC_CHANNEL_OPTS_INIT VC_SIZED_INIT(vc_channel_opts)
#define VC_CHANNEL_OPTS(...) VC_SIZED(vc_channel_opts, __VA_ARGS__)

/* vc_channel_open - makes a channel to target: "vc://HOST:PORT", a server that
 * listens at vc://, by the best transport that leads there: shared memory if it
 * is on this host, RDMA if that connects within 250 ms, else TCP, and RDMA again
 * a few seconds after it is there again (vc_channel_describe() tells which, and
 * why); "rdma://HOST:PORT" with HOST a name, an IPv4 address or an [IPv6 address], a link-local one with its
 * interface: "rdma://[fe80::1%eth0]:7471", and no loopback address, as RDMA
 * reaches none; "tcp://HOST:PORT", the same over TCP;
 * "shm:NAME" or "shm:///PATH", a process of this host, through shared memory
 * (at a NAME, of this user or of root: anybody may take a free one); or
 * "inproc://NAME", a server of this process (see vc_server_listen()). Of several addresses the first that
 * answers is taken; each has 250 ms before the next is tried, too. Returns at once: the connection
 * is made by the first call or by vc_channel_connect(), and made anew by the
 * next call when it was lost. opts may be NULL. On VC_OK the caller owns
 * *channel and closes it by vc_channel_close(). Any thread.
 * VC_INVALID_ARGUMENT    the target is malformed, its port 0, or a loopback
 *                        address at rdma:// (of a name: the first call ends
 *                        so); an option is malformed or out of its range; opts,
 *                        or their rdma, have no size
 * VC_FAILED_PRECONDITION VERBCALL_TRANSPORTS leaves nothing of the option
 *                        transports or require
 * VC_RESOURCE_EXHAUSTED  no memory */
VC_API enum vc_status vc_channel_open(struct vc_runtime *runtime,
                                      const char *target,
                                      const struct vc_channel_opts *opts,
                                      struct vc_channel **channel);

/* vc_channel_connect - connects now and waits until the peer has agreed to
 * serve the service, for those who want to know before the first call. Any
 * thread, any time; VC_OK at once when connected. Within the channel's
 * connect timeout:
 * VC_UNAVAILABLE        no such host, no route, no listener, no RDMA device,
 *                       peer lost or too busy; vc_error() says which and what
 *                       to do
 * VC_UNIMPLEMENTED      the peer does not serve it, speaks no version of the
 *                       protocol that we do, or lacks a feature of it that we
 *                       need (doc/wire.md 2.8)
 * VC_PERMISSION_DENIED  this user may not open the RDMA devices
 * VC_RESOURCE_EXHAUSTED here: no descriptors are left, or pinned memory or
 *                       queues are too small
 * VC_DEADLINE_EXCEEDED  never: a time-out of connecting is VC_UNAVAILABLE */
VC_API enum vc_status vc_channel_connect(struct vc_channel *channel,
                                         const struct vc_service *service);

/* vc_channel_describe - writes to text, of size bytes, what the channel's
 * connections are, one a line, "shm to shm of this host: 2 calls under way", with
 * the name of its server (struct vc_server_opts) before the address, and with
 * what carries it at the end, "(rxe0, QP 17, 256 bytes inline)"; and for a
 * vc:// channel why they are by no better transport, "not rdma: " and the
 * reason. For people: programs do not read it. Returns the length of all of it,
 * as snprintf(3) does. Any thread. */
VC_API size_t vc_channel_describe(const struct vc_channel *channel, char *text,
                                  size_t size);

/* vc_channel_close - ends the calls that still run with VC_CANCELLED, takes
 * the connection down and frees the channel. No call may be started on it
 * any more. Blocks for the handshake of disconnection, 2 s at most. NULL is
 * fine: VC_OK. Any thread.
 * VC_FAILED_PRECONDITION within a handler, done() or another callback of the
 *                        runtime, while asynchronous calls or streams with
 *                        callbacks of the channel have not ended, for which it
 *                        would wait: the channel is still open and valid, and is
 *                        to be closed elsewhere */
VC_API enum vc_status vc_channel_close(struct vc_channel *channel);

VC_END_DECLS

#endif
