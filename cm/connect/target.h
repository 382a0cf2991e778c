/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Targets as programs write them, and the addresses to which they resolve. Any
 * thread, but a vc__lookup belongs to the holder of the engine. Channels,
 * servers, resolvers and vc_probe() call the functions on the program's thread.
 * Pools, links, resolvers of the library, and servers that redirect a client
 * call them on the holder.
 *
 * Called by: rpc/probe.c (lookup), rpc/balance/target_opts.c (address_parse),
 * rpc/client/publisher.c (address_parse), rpc/server/server.c (address_parse),
 * cm/pool/pool_lookup.c (lookup_start, lookup_cancel, lookup_free), target.c
 * (lookup_free), many files (parse, text, numeric, reaches). */
#ifndef VC_CM_TARGET_H
#define VC_CM_TARGET_H

#include <stdbool.h>
#include <sys/socket.h>

#include <verbcall/status.h>

#include "transport/core/engine.h"
#include "transport/transport.h"

#define VC__TARGET_ADDRS 8

struct vc__target {
    const struct vc__transport *transport; /* NULL: vc://, the best one
                                              (cm/connect/choice.h) */
    char host[256];                        /* without brackets */
    char port[6];                          /* decimal, 0..65535 */
    const char *all; /* all addresses of a server that has several, of which
                        this is the first (cm/connect/addresses.h); or NULL */
};

/* Parses "vc://HOST:PORT", "rdma://HOST:PORT", "rdma+ib://HOST:PORT",
 * "rdma+mc://GROUP:PORT" or "tcp://HOST:PORT", with "[IPV6]" as HOST.
 * "inproc://NAME" gives a host without a port; so do "shm:///PATH" (host
 * "/PATH") and "shm:NAME" (host "@NAME"). text may be NULL, which is malformed.
 * Called for what a program or resolver names: targets, addresses, redirects,
 * and where a server listens. VC_OK, or
 * VC_INVALID_ARGUMENT  with a text that says what is wrong */
enum vc_status vc__target_parse(struct vc__target *target, const char *text);

/* Writes the target in the form that vc__target_parse() reads; of a server with
 * several addresses all of them, as vc__addresses_parse() reads them. Called
 * for lines of the log, descriptions of servers, and errors of calls and
 * streams. */
#define VC__TARGET_TEXT 320 /* bytes */
void vc__target_text(const struct vc__target *target,
                     char text[VC__TARGET_TEXT]);

struct vc__addrs {
    unsigned n;
    struct sockaddr_storage addr[VC__TARGET_ADDRS];
};

/* Gets the addresses of a target whose host is numeric, or of inproc or shm,
 * without blocking. Returns false if the host must be looked up. Called before
 * a lookup, and where a name is not allowed or not looked up. */
bool vc__target_numeric(const struct vc__target *target,
                        struct vc__addrs *addrs);

/* Gets the addresses of a target, also if its host is a name. Runs in the
 * calling thread and blocks as long as the resolver does. Returns 0, or an
 * error code of gai_strerror(3). Called by vc_probe(). */
int vc__target_lookup(const struct vc__target *target, struct vc__addrs *addrs);

/* Checks whether the transport can be used at this address. what, for the text:
 * what would be done there, as "listen at" or "connect to". Called when a
 * program gives such an address, and for each link that connects. VC_OK, or
 * VC_INVALID_ARGUMENT  the transport has no loopback and this is a loopback
 *                      address: rdma_cm would take it for all addresses of
 *                      all devices; or the transport is one of multicast groups
 *                      and this is no group, or has no port */
enum vc_status vc__target_reaches(const struct vc__transport *transport,
                                  const struct sockaddr_storage *addr,
                                  const char *what);

/* Parses a numeric address without a port: "10.9.0.1", "fd09::1",
 * "fe80::1%eth0". For a channel's bind_address.
 * VC_OK, or
 * VC_INVALID_ARGUMENT  it is not a numeric address */
enum vc_status vc__address_parse(struct sockaddr_storage *addr,
                                 const char *text);

/* A name lookup in a thread of its own, because resolvers may block for any
 * time. done() runs on the holder of the engine and frees the lookup with
 * vc__lookup_free(). If no address was found, addrs.n is 0 and `text` says
 * why. */
struct vc__lookup {
    struct vc__task task;
    struct vc__engine *engine;
    struct vc__target target;
    struct vc__addrs addrs;
    char text[128]; /* why no address was found */
    void (*done)(struct vc__lookup *lookup);
    void *owner;

    pthread_mutex_t lock;
    bool cancelled; /* lock: true: freed without done() */
    bool finished;  /* lock: true once its thread has looked up */
};

/* Starts a lookup for a pool's attempt to connect; done() receives the result.
 * The lookup frees itself if it is cancelled, else done() frees it. Returns
 * NULL if out of memory or threads. */
struct vc__lookup *vc__lookup_start(struct vc__engine *engine,
                                    const struct vc__target *target,
                                    void (*done)(struct vc__lookup *lookup),
                                    void *owner);

/* Cancels a lookup whose done() has not run: done() will not run, and the
 * lookup is freed. Called when the attempt ends before it, or its time is
 * over. */
void vc__lookup_cancel(struct vc__lookup *lookup);
/* Frees a lookup, with all that it has. Called by done(), and by
 * vc__lookup_start() if there is no thread. A cancelled lookup is freed by
 * itself, also on its own thread. */
void vc__lookup_free(struct vc__lookup *lookup);

#endif
