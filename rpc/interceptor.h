/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A chain of interceptors, and the order in which a call runs their callbacks.
 * rpc/client/channel_intercept.c and rpc/server/server_intercept.c run calls
 * through it. Only vc_interception_deadline_us() reads the clock.
 *
 * One thread at a time for each interception; only the messages of a stream may
 * be reported by two. verbcall/interceptor.h says which thread runs the
 * callbacks. vc__interceptors_hold() and vc__interceptors_put(): any thread.
 *
 * Called by: rpc/client/channel_intercept.c (interceptors_add,
 * interceptors_hold, interceptors_put, interception_init, interception_start,
 * interception_finish), rpc/server/server_intercept.c (interceptors_add,
 * interception_init, interception_start, interception_finish),
 * rpc/client/publisher.c (interceptors_none), rpc/client/channel.c
 * (interceptors_put), rpc/server/server.c (interceptors_put), interceptor.c
 * (interception_drop_metadata), many files (interception_message). */
#ifndef VC_RPC_INTERCEPTOR_H
#define VC_RPC_INTERCEPTOR_H

#include <stdatomic.h>
#include <stdbool.h>

#include <verbcall/call.h>
#include <verbcall/interceptor.h>
#include <verbcall/service.h>

#include "transport/core/error.h"
#include "transport/wire/metadata.h"

/* Does not change while calls run. Reference-counted, as a client's streams may
 * outlive their channel. */
struct vc__interceptors {
    atomic_uint refs;
    unsigned n;
    struct vc_interceptor items[VC_INTERCEPTORS_MAX];
};

/* One call. */
struct vc_interception {
    const struct vc__interceptors *chain;
    const struct vc_service *service;
    const struct vc_method *method;
    struct vc_call *call;                 /* on the server; else NULL */
    const struct vc__metadata_view *came; /* the request's; on the server */
    struct vc_call_opts *opts;            /* on the client; else NULL */
    uint64_t began, due;
    unsigned n_started;
    bool starting; /* start callbacks run: they may add metadata */

    /* On the client, once an interceptor has added metadata: the caller's
     * entries, then the added ones. The key of an added entry is the start of a
     * block that holds the value, too. */
    struct vc_metadata *entries;
    size_t n_given, added_size;

    char text[VC__SAID_TEXT]; /* why, from the interceptor that refused it */
    void *states[VC_INTERCEPTORS_MAX];
};

/* Appends an interceptor. *chain is NULL before the first one, and then has one
 * reference. VC_OK; or VC_INVALID_ARGUMENT or VC_RESOURCE_EXHAUSTED as of
 * vc_channel_intercept(), and this thread's last error. The caller has checked
 * that it is not too late. One thread at a time. Called by
 * vc_channel_intercept() and vc_server_intercept(). */
enum vc_status vc__interceptors_add(struct vc__interceptors **chain,
                                    const struct vc_interceptor *interceptor);

/* Makes *chain an empty chain, for the channel of a multicast group, whose
 * calls go the way of those with interceptors (vc__publisher_open()). VC_OK, or
 * VC_RESOURCE_EXHAUSTED  no memory */
enum vc_status vc__interceptors_none(struct vc__interceptors **chain);

/* Takes a reference: called when a stream or an asynchronous call of a channel
 * with interceptors is made (kept_new()). */
void vc__interceptors_hold(struct vc__interceptors *chain);
/* Drops a reference; the last frees the chain. NULL is fine. Called when a
 * channel is closed or a server freed, and when such a call has ended or such a
 * stream is closed. */
void vc__interceptors_put(struct vc__interceptors *chain);

/* Initialises the interception of a call that begins now, with call and opts
 * NULL; the caller sets the one of its side. Called by call_init() of
 * rpc/client/channel_intercept.c on the thread that makes the call, and by
 * interception_new() of rpc/server/server_intercept.c on the handler's. */
void vc__interception_init(struct vc_interception *i,
                           const struct vc__interceptors *chain,
                           const struct vc_service *service,
                           const struct vc_method *method, uint64_t now,
                           uint64_t due);

/* Runs the start callbacks. Returns VC_OK if all of them do; else the status of
 * the one that refuses the call, with i->text set. vc__interception_finish()
 * must follow in either case. Called on a channel by the thread that makes the
 * call, on a server by the handler's before the handler runs. */
enum vc_status vc__interception_start(struct vc_interception *i);
/* Runs the message callbacks; those for a reply in the opposite order. Called
 * for the request and the reply of a call: on the thread of
 * vc__interception_start() and on that of vc__interception_finish(). Called for
 * a message of a stream, and for the reply of a client's stream, when it is
 * sent or given to the program: on the thread that does so. */
void vc__interception_message(struct vc_interception *i,
                              enum vc_message_kind kind,
                              const ProtobufCMessage *message);
/* Runs the finish callbacks, after setting end->us; frees the added metadata.
 * Only interceptors whose start has run are called. Called on the thread that
 * ends the call; for a stream of a channel on the one that closes it or has run
 * its on_end(), if that is later. */
void vc__interception_finish(struct vc_interception *i,
                             struct vc_interception_end *end, uint64_t now);

/* Frees the metadata that interceptors added; on a server there are none.
 * Called by vc__interception_finish(). In rpc/intercept_metadata.c. */
void vc__interception_drop_metadata(struct vc_interception *i);

#endif
