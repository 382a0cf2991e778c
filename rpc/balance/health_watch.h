/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Watches the health of one server of a channel (gRPC's proposal A17): while
 * the server is connected, a stream of grpc.health.v1.Health/Watch is kept
 * there. The rules are in rpc/balance/health_rules.h. What they say opens or
 * shuts the gate of the channel's clients at the server (cm/pool/gate.h), and
 * is published for the picker in the subchannel's `bars`. The stream is a
 * request of the pool, as a program's is, without a thread; it holds neither
 * the channel nor the subchannel, which owns the watch.
 *
 * Called by: servers.c (new, begin, free), subchannel.c (admit, end, free),
 * server_line.c (describe). */
#ifndef VC_RPC_HEALTH_WATCH_H
#define VC_RPC_HEALTH_WATCH_H

#include <stdbool.h>
#include <stddef.h>

struct vc__client;
struct vc__health_watch;
struct vc__subchannel;

/* Makes a watch of the health of this service's name, which was checked. NULL:
 * no memory. Called by server_begin() of servers.c, on the thread that opens
 * the channel or calls vc_resolver_set(), which may be the holder. */
struct vc__health_watch *vc__health_watch_new(const char *name);
/* Begins to watch the server: the subchannel is open, has no clients yet, and
 * its `watch` is this one. On the thread of vc__health_watch_new(). */
void vc__health_watch_begin(struct vc__health_watch *w,
                            struct vc__subchannel *s);

/* The requests of this client wait from now on until the health of the server
 * is known, and fail while it is unhealthy. Called by client_make() of
 * subchannel.c, under the channel's lock, on any thread that starts an
 * attempt. */
void vc__health_watch_admit(struct vc__health_watch *w, struct vc__client *c);

/* Ends the stream, on the holder: the server has no users. The watch may be
 * freed by a task that is posted afterwards, as one of its own may have been
 * posted before. */
void vc__health_watch_end(struct vc__health_watch *w);
/* NULL is allowed. On the holder, after the end; or on any thread, if the
 * server could not be made. */
void vc__health_watch_free(struct vc__health_watch *w);

/* For vc_channel_describe(): writes "ready", or why the server gets no calls,
 * and returns true if it is connected. If it is not: false, and the text does
 * not count. Any thread, without the pool's lock. */
bool vc__health_watch_describe(struct vc__health_watch *w, char *text,
                               size_t size);

#endif
