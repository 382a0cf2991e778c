/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A listener: an address on which a server listens. It reads hellos and rejects
 * bad ones; no memory is allocated before a hello was found good. The holder of
 * the engine only, except vc__listener_open() and vc__listener_port().
 *
 * Called by: rpc/client/publisher.c (open, again, close),
 * rpc/server/server_listen.c (open, close, port), rpc/server/relisten.c
 * (again), listener.c (close, reject_with, reject), rpc/server/listening.c
 * (port), rpc/server/server.c (reject_with), rpc/server/server_link.c
 * (reject_with). */
#ifndef VC_CM_LISTENER_H
#define VC_CM_LISTENER_H

#include "cm/connect/cm.h"
#include "cm/connect/hello.h"

struct vc__listener {
    struct vc__ear *ear; /* NULL when not open */

    /* A request with a good hello. The owner must answer it: accept it, or
     * reject it by a function below. */
    void (*request)(struct vc__listener *l, const struct vc__incoming *in,
                    const struct vc__hello *hello);
    /* The listener has stopped, or does not listen again, for this reason. The
     * owner may close it, but not inside this callback, and have it listen
     * again. */
    void (*lost)(struct vc__listener *l, const struct vc__error *why);
    /* It listens, after vc__listener_again(). */
    void (*back)(struct vc__listener *l);
    /* At a multicast group: a datagram came. Only a member of a group needs
     * it. */
    void (*datagram)(struct vc__listener *l, const uint8_t *data, uint32_t len);
};

/* Listens at an address of this transport. opts is copied, but its group must
 * live as long as the listener. Requests may arrive before this returns. Any
 * thread: that of vc_server_listen() or vc_channel_open(), or the holder.
 * Errors as vc__cm_open() and transport->listen(); then l is not open. */
enum vc_status vc__listener_open(struct vc__listener *l, struct vc__cm *cm,
                                 const struct vc__transport *transport,
                                 const struct sockaddr *addr,
                                 const struct vc__ear_opts *opts);

/* Closes the listener, if it is open, and listens again at the same address.
 * Waits for no peer: ends with l->back() or l->lost(), either within the call
 * or later, unless the listener is closed before. The reason of lost() is then
 * that of vc__listener_open(). The holder. Called until it succeeds, each time
 * after a wait. */
void vc__listener_again(struct vc__listener *l, struct vc__cm *cm,
                        const struct vc__transport *transport,
                        const struct sockaddr *addr,
                        const struct vc__ear_opts *opts);

/* Stops listening. Does nothing if not open. Called when the server
 * closes or drops an address, and before it listens again. */
void vc__listener_close(struct vc__listener *l);

/* The port of an open listener, in host order; 0 for a name. Called when it was
 * opened, for the log, and to list the addresses. Any thread. */
uint16_t vc__listener_port(const struct vc__listener *l);

/* Rejects a request; fills in the versions of the reject. Called by the server
 * for a client that it turns away, and by vc__listener_reject(). The caller
 * holds `engine`, which may be another than the listener's; its ledger counts
 * it. */
void vc__listener_reject_with(struct vc__engine *engine,
                              const struct vc__incoming *in,
                              struct vc__reject *reject);

/* Rejects a request with a reason, a retry time and a text only. The text is
 * cut to what fits. Called when a hello is bad, or a link cannot be made.
 * `engine` is as for vc__listener_reject_with(). */
void vc__listener_reject(struct vc__engine *engine,
                         const struct vc__incoming *in,
                         enum vc__reject_reason reason, uint32_t retry_ms,
                         const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
