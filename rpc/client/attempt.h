/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One attempt of a unary call: packs the request, gives it to a session, and
 * unpacks the reply. Its owner decides who waits for the end, and how long:
 * rpc/client/call.c blocks.
 *
 * For the owner: any thread, one at a time; but vc__attempt_abandon() by any
 * thread at any time after the start. The owner of a blocking call, for all its
 * attempts, is its caller's thread. That of an asynchronous call, as which
 * one-way and hedged ones run, too, is the thread that makes it, and the holder
 * once it is started; that of a hedge is the holder.
 *
 * Called by: async.c (init, limit, prepare, release, renew, tell, start,
 * abandon), attempt.c (init, prepare_message, unhold, release, tell), call.c
 * (init, limit, prepare, unhold, release, tell, start, abandon), hedge.c
 * (release, copy, start, abandon). */
#ifndef VC_RPC_ATTEMPT_H
#define VC_RPC_ATTEMPT_H

#include <verbcall/call.h>
#include <verbcall/service.h>

#include "rpc/client/channel.h"
#include "rpc/client/result.h"
#include "rpc/codec/codec.h"
#include "transport/core/error.h"

struct vc__call_policy;

/* Notifies an owner that its packed request was handed to the adapter. hold()
 * is called on the owner's thread. The others on any: handed() under the lock
 * of a link; drop() with or without it, once for each hold(). */
struct vc__watch {
    void (*hold)(struct vc__watch *w);
    void (*handed)(struct vc__watch *w);
    void (*drop)(struct vc__watch *w);
};

struct vc__attempt {
    struct vc__request request;
    struct vc__send send; /* used unless prepare packs the request */
    struct vc_channel *channel;
    struct vc__client *client; /* set by start; NULL: it could not begin */
    struct vc__subchannel
        *held; /* to put when the attempt has ended; or NULL */
    const struct vc__pool *before; /* where the last attempt of the call went,
                                      this one once it is started; or NULL */
    const struct vc_service *service;
    const struct vc_method *method;
    const void *message; /* used until it was sent, or the attempt has ended */
    struct vc__packing packing;

    /* The owner may set these between init and prepare. */
    const struct vc_metadata *metadata; /* used until prepare returns */
    size_t n_metadata;
    uint32_t priority;  /* enum vc_priority */
    uint32_t reply_max; /* set by vc__attempt_limit() */
    struct vc__pick_key key;
    bool wants_all;   /* keep the reply's metadata for a struct vc_result */
    bool packs;       /* pack in any case: both may be freed after prepare */
    unsigned attempt; /* number; 1: the first */
    struct vc__watch *watch; /* of a packed request; or NULL */

    uint8_t *packed; /* the metadata, packed; or NULL */

    /* Called once, when there is a reply or an error, unless the attempt was
     * abandoned before. A reply comes on the holder of the engine; an error
     * also within start, or on any thread while the channel is being closed.
     * Not under a lock. */
    void (*ended)(struct vc__attempt *u);
    void *reply;            /* freed by vc_message_free() */
    struct vc__error error; /* VC_OK: there is a reply */
    struct vc__reply_metadata
        *reply_metadata; /* its metadata, if wants_all; or NULL */
    bool answered;       /* the server has replied, or there is none for it */
    bool has_pushback;   /* a failed reply has the server's pushback: */
    int32_t pushback_ms; /* wait so long; below 0: do not retry */
};

/* Initialises an attempt, for vc__attempt_prepare(), or in
 * vc__attempt_copy(). */
void vc__attempt_init(struct vc__attempt *u, struct vc_channel *channel,
                      const struct vc_service *service, unsigned method,
                      const void *message,
                      void (*ended)(struct vc__attempt *u));

/* Limits the messages of the call as its policy says, between init and
 * prepare. VC_RESOURCE_EXHAUSTED, as this thread's last error, if the request
 * is longer than the policy allows; else VC_OK. */
enum vc_status vc__attempt_limit(struct vc__attempt *u,
                                 const struct vc__call_policy *policy);

/* For vc__attempt_prepare(), with its errors: the first for attempts that have
 * metadata, of the program or of the library: packs these and calls the second.
 * That measures the message, and may pack it; it is enough for others. */
enum vc_status vc__attempt_prepare_all(struct vc__attempt *u);
enum vc_status vc__attempt_prepare_message(struct vc__attempt *u);

/* Packs the metadata, if there are any, and measures the request; packs that,
 * too, if it is long or u->packs is set. VC_INVALID_ARGUMENT or
 * VC_RESOURCE_EXHAUSTED, as this thread's last error; then nothing must be
 * released. Inlined, as vc__attempt_release(): both save 35 instructions per
 * call. */
static inline enum vc_status
vc__attempt_prepare(struct vc__attempt *u)
{
    if (u->n_metadata == 0 && u->attempt == 1 && u->priority == 0)
        return vc__attempt_prepare_message(u);
    return vc__attempt_prepare_all(u);
}

/* For vc__attempt_unhold(): drops the packed request. */
void vc__attempt_drop(struct vc__attempt *u);

/* Lets go of the server, if it is held, and of a packed request, whose memory
 * is the runtime's, once the attempt has ended or was abandoned. Called by
 * blocking_run() before it leaves the channel, and by
 * vc__attempt_release_all(). */
static inline void
vc__attempt_unhold(struct vc__attempt *u)
{
    if (u->held != NULL)
        vc__subchannel_put(u->held);
    u->held = NULL;
    if (u->request.send != &u->send)
        vc__attempt_drop(u);
}

/* For vc__attempt_release(), if there is anything to free or let go of: does
 * what that says. */
void vc__attempt_release_all(struct vc__attempt *u);

/* Frees what an attempt has that was not started, has ended or was abandoned;
 * except the reply. Lets go of its server. */
static inline __attribute__((always_inline)) void
vc__attempt_release(struct vc__attempt *u)
{
    if (u->request.send != &u->send || u->held != NULL || u->packed != NULL ||
        u->reply_metadata != NULL)
        vc__attempt_release_all(u);
}

/* For an asynchronous call, on the holder: releases an attempt that was
 * prepared with `packs` and has ended, and makes it ready for another start,
 * with this number. False, with nothing changed, if memory is short. */
bool vc__attempt_renew(struct vc__attempt *u, unsigned attempt);

/* For a hedge: initialises u as another attempt of the same call as `of`, which
 * was prepared with `packs`. False if memory is short. */
bool vc__attempt_copy(struct vc__attempt *u, const struct vc__attempt *of,
                      unsigned attempt, void (*ended)(struct vc__attempt *u));

/* Fills the program's result, which then owns the reply's metadata; if it is
 * NULL, frees these. The attempt has ended, or was abandoned and its owner has
 * set u->error. */
void vc__attempt_tell(struct vc__attempt *u, struct vc_result *result);

/* Chooses a server, and sends the request there. If that cannot be done, the
 * attempt ends: ended() may run before this returns. The channel must stay
 * entered until the attempt ends. `due` is the call's deadline, by vc__now().
 * On the owner's thread: for a first attempt the one that makes the call. */
void vc__attempt_start(struct vc__attempt *u, uint64_t now, uint64_t due);

/* Abandons the attempt: at the deadline, on a cancel, without memory for a
 * timer, or as the hedge or the other attempt has decided the call. True if
 * ended() has not run and will not; then *outcome says whether the call may
 * have been executed. False if ended() has run, runs, or is about to, or if the
 * attempt was abandoned before. */
bool vc__attempt_abandon(struct vc__attempt *u, enum vc_outcome *outcome);

#endif
