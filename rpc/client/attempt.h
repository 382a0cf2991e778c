/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One attempt at a unary call: the request packed and given to a session, the
 * reply unpacked. Who waits for its end, and how long, is the business of the
 * one who owns it: rpc/client/call.c blocks. */
#ifndef VC_RPC_ATTEMPT_H
#define VC_RPC_ATTEMPT_H

#include <verbcall/call.h>
#include <verbcall/service.h>

#include "rpc/client/channel.h"
#include "rpc/client/result.h"
#include "rpc/codec/codec.h"
#include "transport/core/error.h"

/* Whoever wants to know when a request that was packed has been handed to the
 * adapter. Any thread, under the lock of a link; one drop for each hold. */
struct vc__watch {
    void (*hold)(struct vc__watch *w);
    void (*handed)(struct vc__watch *w);
    void (*drop)(struct vc__watch *w);
};

struct vc__attempt {
    struct vc__request request;
    struct vc__send send; /* when the request fits in a packet */
    struct vc_channel *channel;
    struct vc__client *client; /* from start on */
    const struct vc_service *service;
    const struct vc_method *method;
    const void *message; /* until the request is sent, or it has ended */
    struct vc__packing packing;

    /* Set after init, before prepare, by an owner who wants it. */
    const struct vc_metadata *metadata; /* until prepare has returned */
    size_t n_metadata;
    uint32_t priority; /* enum vc_priority */
    bool wants_all;    /* what the reply brings, for a struct vc_result */
    bool packs;        /* message and metadata may be freed after prepare */
    unsigned attempt;  /* 1: the first */
    struct vc__watch *watch; /* of a request that is packed; or NULL */

    uint8_t *packed; /* metadata of a request that is not long, or NULL */

    /* It has a reply, or an error: a reply on the holder of the engine, an
     * error also inside of start or of vc_channel_close(); once, unless it was
     * abandoned before. Not under a lock. */
    void (*ended)(struct vc__attempt *u);
    void *reply;                 /* by vc_message_free() */
    struct vc__error error;      /* status VC_OK: there is a reply */
    struct vc__brought *brought; /* its metadata, if wants_all; or NULL */
    bool has_pushback;           /* the server's advice in a failing reply: */
    int32_t pushback_ms;         /* when to try again, below 0 for never */
};

void vc__attempt_init(struct vc__attempt *u, struct vc_channel *channel,
                      const struct vc_service *service, unsigned method,
                      const void *message,
                      void (*ended)(struct vc__attempt *u));

/* Measures the request, and packs it when it is long. VC_INVALID_ARGUMENT or
 * VC_RESOURCE_EXHAUSTED, and then there is nothing to release. */
enum vc_status vc__attempt_prepare(struct vc__attempt *u);
void vc__attempt_release(struct vc__attempt *u);

/* Prepared with `packs`, and ended: may be started again, as this attempt.
 * False without memory, and then it is as it was. */
bool vc__attempt_renew(struct vc__attempt *u, unsigned attempt);

/* Makes u another attempt at what `of`, prepared so, is one. False without
 * memory. */
bool vc__attempt_copy(struct vc__attempt *u, const struct vc__attempt *of,
                      unsigned attempt, void (*ended)(struct vc__attempt *u));

/* It has ended, or was abandoned and its owner has put the error: fills the
 * program's result, unless that is NULL, with all that came of it. */
void vc__attempt_tell(struct vc__attempt *u, struct vc_result *result);

/* Sends it. Any thread that has entered the channel and stays in it until the
 * end. */
void vc__attempt_start(struct vc__attempt *u, uint64_t now, uint64_t due);

/* Its owner wants it no more: true when ended() has not run and will not;
 * *outcome says whether it may have been executed. Any thread. */
bool vc__attempt_abandon(struct vc__attempt *u, enum vc_outcome *outcome);

#endif
