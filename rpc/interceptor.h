/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A chain of interceptors, and a call's way through it: which callbacks come
 * in which order. rpc/client/channel_intercept.c and rpc/server/server_intercept.c lead calls
 * through it. Reads no clock but in vc_interception_deadline_us(). */
#ifndef VC_RPC_INTERCEPTOR_H
#define VC_RPC_INTERCEPTOR_H

#include <stdatomic.h>
#include <stdbool.h>

#include <verbcall/call.h>
#include <verbcall/interceptor.h>
#include <verbcall/service.h>

#include "transport/core/error.h"
#include "transport/wire/metadata.h"

/* Unchanged while calls run. A client's streams may outlive their channel, so
 * they hold it, too. */
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
    struct vc_call *call;                 /* on the server */
    const struct vc__metadata_view *came; /* on the server: the request's */
    struct vc_call_opts *opts;            /* on the client */
    uint64_t began, due;
    unsigned n_started;
    bool starting; /* metadata may be added */

    /* On the client, once something was added: the caller's entries, and
     * behind them ours, each key the beginning of a block with its value. */
    struct vc_metadata *entries;
    size_t n_given, added_size;

    char text[VC__SAID_TEXT]; /* of who refused it */
    void *states[VC_INTERCEPTORS_MAX];
};

/* Adds one; *chain is NULL before the first, and then has one reference. Errors
 * as vc_channel_intercept(), of which the caller has said that it is not
 * late. */
enum vc_status vc__interceptors_add(struct vc__interceptors **chain,
                                    const struct vc_interceptor *interceptor);

void vc__interceptors_hold(struct vc__interceptors *chain);
/* NULL is fine. */
void vc__interceptors_put(struct vc__interceptors *chain);

/* A call that begins now; call and opts are NULL. */
void vc__interception_init(struct vc_interception *i,
                           const struct vc__interceptors *chain,
                           const struct vc_service *service,
                           const struct vc_method *method, uint64_t now,
                           uint64_t due);

/* VC_OK when all starts say so; else the status and i->text of the one that
 * refuses it. Whatever it is, a finish must follow. */
enum vc_status vc__interception_start(struct vc_interception *i);
void vc__interception_message(struct vc_interception *i,
                              enum vc_message_kind kind,
                              const ProtobufCMessage *message);
/* end->us is filled in; gives back what was added. */
void vc__interception_finish(struct vc_interception *i,
                             struct vc_interception_end *end, uint64_t now);

/* Gives back what interceptors have added: rpc/intercept_metadata.c. */
void vc__interception_drop_metadata(struct vc_interception *i);

#endif
