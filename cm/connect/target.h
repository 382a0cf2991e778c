/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Targets as programs write them, and the addresses they stand for. */
#ifndef VC_CM_TARGET_H
#define VC_CM_TARGET_H

#include <stdbool.h>
#include <sys/socket.h>

#include <verbcall/status.h>

#include "transport/core/engine.h"
#include "transport/transport.h"

#define VC__TARGET_ADDRS 8

struct vc__target {
    const struct vc__transport *transport; /* NULL: vc://, the best that leads
                                              there (cm/connect/choice.h) */
    char host[256];                        /* without brackets */
    char port[6];                          /* decimal, 0..65535 */
};

/* "vc://HOST:PORT", "rdma://HOST:PORT", "tcp://HOST:PORT", with "[IPV6]" as HOST; "inproc://NAME",
 * which is a host without a port, as are "/PATH" of shm:///PATH and "@NAME" of
 * shm:NAME.
 * VC_INVALID_ARGUMENT  and what is wrong with it */
enum vc_status vc__target_parse(struct vc__target *target, const char *text);

/* The target as it was written, as far as that is kept. */
#define VC__TARGET_TEXT 300 /* bytes */
void vc__target_text(const struct vc__target *target,
                     char text[VC__TARGET_TEXT]);

struct vc__addrs {
    unsigned n;
    struct sockaddr_storage addr[VC__TARGET_ADDRS];
};

/* Addresses of a target whose host is a number, at once. False when it is a
 * name. */
bool vc__target_numeric(const struct vc__target *target,
                        struct vc__addrs *addrs);

/* The same of names, too, in this thread, for as long as the resolver likes. 0,
 * or what gai_strerror(3) knows. */
int vc__target_lookup(const struct vc__target *target, struct vc__addrs *addrs);

/* May the transport be used at this address? what: "listen at", "connect to".
 * VC_INVALID_ARGUMENT  a loopback address, of which it knows nothing: rdma_cm
 *                      would take it for all addresses of all devices */
enum vc_status vc__target_reaches(const struct vc__transport *transport,
                                  const struct sockaddr_storage *addr,
                                  const char *what);

/* An address without a port, "10.9.0.1", "fd09::1", "fe80::1%eth0".
 * VC_INVALID_ARGUMENT  it is none */
enum vc_status vc__address_parse(struct sockaddr_storage *addr,
                                 const char *text);

/* Looks a name up in a thread of its own, for resolvers block as long as they
 * like. done() runs on the holder of the engine with n == 0 and a text when
 * there is none; it frees the lookup by vc__lookup_free(). */
struct vc__lookup {
    struct vc__task task;
    struct vc__engine *engine;
    struct vc__target target;
    struct vc__addrs addrs;
    char text[128]; /* why there is none */
    void (*done)(struct vc__lookup *lookup);
    void *owner;

    pthread_mutex_t lock;
    bool cancelled; /* lock: its thread frees it */
    bool finished;  /* lock */
};

/* NULL without memory or threads. */
struct vc__lookup *vc__lookup_start(struct vc__engine *engine,
                                    const struct vc__target *target,
                                    void (*done)(struct vc__lookup *lookup),
                                    void *owner);

/* Before done() has run: it will not. The holder of the engine. */
void vc__lookup_cancel(struct vc__lookup *lookup);
void vc__lookup_free(struct vc__lookup *lookup);

#endif
