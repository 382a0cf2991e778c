/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The transports as one engine uses them. Each transport is opened on its first
 * use, so a program that uses one transport does not need what the others need.
 * Any thread; vc__cm_init() and vc__cm_fini() run alone.
 *
 * Called by: choice.c (transport_find), target.c (transport_find),
 * cm/pool/pool_connect.c (transport_find, open), rpc/probe.c (transport_find),
 * rpc/server/server_listen.c (transport_find), rpc/runtime.c (init, fini),
 * cm/link/listener.c (open), cm/pool/pool_link.c (open),
 * rpc/server/server_link.c (open). */
#ifndef VC_CM_CM_H
#define VC_CM_CM_H

#include <pthread.h>

#include "transport/transport.h"

/* All transports of this build, ending with NULL. The first is RDMA, if this
 * was built with it. */
extern const struct vc__transport *const vc__transports[];
#define VC__TRANSPORTS_MAX 7

/* Returns the transport of this scheme, of `len` letters; NULL if this build
 * has none. Called when a target or a list of transports is read, and to find
 * shm, rdma or tcp by name. */
const struct vc__transport *vc__transport_find(const char *scheme, size_t len);

struct vc__cm {
    struct vc__engine *engine;
    struct vc__context_opts opts;
    pthread_mutex_t lock;
    struct vc__context *contexts[VC__TRANSPORTS_MAX]; /* lock; in the order of
                                                         vc__transports */
};

/* Called by vc_runtime_new() for each engine. */
void vc__cm_init(struct vc__cm *cm, struct vc__engine *engine,
                 const struct vc__context_opts *opts);
/* Closes the contexts. Called when the runtime is freed, or could not be made.
 * Every wire and ear must be closed before this call. */
void vc__cm_fini(struct vc__cm *cm);

/* Returns in *context this transport's context, opened on first use; valid
 * until vc__cm_fini(), which frees it. On failure *context is NULL, and errors
 * are those of transport->open(), or VC_RESOURCE_EXHAUSTED. Called by
 * listener_open_by(), on its thread; by pools and servers for links, on the
 * holder. */
enum vc_status vc__cm_open(struct vc__cm *cm,
                           const struct vc__transport *transport,
                           struct vc__context **context);

#endif
