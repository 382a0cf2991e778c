/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The client's end of a stream. The call holds a reference to the stream, and
 * keeps the channel entered, until the reply was received or there will be
 * none.
 *
 * Any thread, without the stream's lock.
 *
 * Called by: stream_client.c (client_stream_of, client_stream_unhold,
 * client_stream_reply, client_stream_end, client_stream_seen,
 * client_stream_user_leave), stream_finish.c (client_stream_of,
 * client_stream_down, client_stream_up, client_stream_cancel,
 * client_stream_seen, client_stream_user_leave), stream_open.c
 * (client_stream_of, client_stream_down, client_stream_up, client_stream_new,
 * client_stream_limit, client_stream_pick, client_stream_unhold,
 * client_stream_started, client_stream_free), stream_reply.c
 * (client_stream_down), stream_again.c (client_stream_up, client_stream_pick,
 * client_stream_started, client_stream_end). */
#ifndef VC_RPC_STREAM_CLIENT_H
#define VC_RPC_STREAM_CLIENT_H

#include "rpc/client/attempts.h"
#include "rpc/client/channel.h"
#include "rpc/client/result.h"
#include "rpc/stream/stream.h"

struct vc__client_stream {
    struct vc_stream stream;
    struct vc__request request;
    struct vc__send call;
    uint8_t *body;     /* of the CALL; NULL if the client streams */
    uint8_t *metadata; /* of the CALL, packed; or NULL */
    struct vc_channel *channel;
    struct vc__client *client;   /* the stream's lock, as `held`: of the present
                                  attempt; changes only while parked */
    struct vc__subchannel *held; /* to put when the call has ended; or NULL */
    struct vc__pick_key key;
    bool configured; /* the service config has an entry for the call: */
    struct vc__retry_policy retry;
    const struct vc_service *of;
    const struct vc_method *type;
    bool given_up; /* the stream's lock: cancelled or expired */
    struct vc__reply_metadata
        *initial;  /* the same: metadata of the first message */
    bool came;     /* the pool's lock: a message was received */
    bool answered; /* the holder's: the server has replied */
    struct vc__reply_metadata
        *reply_metadata;          /* the same: metadata of the reply, or NULL */
    struct vc__attempts attempts; /* deadline, retries, and cancellers */
    struct vc__cancelling cancelling; /* if cancellable, until its end */
    struct vc__task cancel;           /* cancels the call, on the holder */
    atomic_bool cancelled;            /* `cancel` was posted */
    unsigned starting;     /* the stream's lock: starts that are under way; 0:
                              `client` has the attempt */
    bool unwanted;         /* the same: to be cancelled once started */
    struct vc__error wish; /* the same: the error for that */
    bool over; /* the same: the call has ended, and the channel may be closed */

    /* For rpc/client/stream_again.c; all but `rested` under the stream's
     * lock. */
    struct vc__task rest;
    struct vc__timer rested;       /* for the holder */
    struct vc__retry_wait between; /* two attempts: the rest */
    struct vc__error why;          /* the last attempt failed */
    uint64_t rest_until;
    bool resting, rest_posted, rest_broken;
    bool parked;                  /* sends go to `parking` */
    struct cds_list_head parking; /* of struct vc__send */
    unsigned starts;              /* attempts that have begun to send */

    struct vc__retry_wait
        retry_wait;    /* with callbacks: for the closing of the channel */
    bool paused;       /* retry_wait has begun */
    atomic_uint users; /* with callbacks: the program, and the callbacks; the
                        * last one reports the end to the interceptors */
};

/* The client's end of which this is the stream: for callers that know that the
 * stream is none of a server. */
static inline struct vc__client_stream *
vc__client_stream_of(struct vc_stream *s)
{
    return caa_container_of(s, struct vc__client_stream, stream);
}

/* True if the server streams, by its method. */
static inline bool
vc__client_stream_down(const struct vc__client_stream *c)
{
    return c->type->flags & VC_METHOD_SERVER_STREAM;
}

/* True if the client streams, by its method. */
static inline bool
vc__client_stream_up(const struct vc__client_stream *c)
{
    return c->type->flags & VC_METHOD_CLIENT_STREAM;
}

/* Creates a stream with its callbacks for frames and the end. What stream_new()
 * sets is still zero. It has one reference, the caller's. NULL if memory is
 * short. Called by stream_new() (stream_open.c), on the thread that opens the
 * stream. */
struct vc__client_stream *vc__client_stream_new(void);

/* Called before the start: sets the deadline and the cancellers from complete
 * options; on the thread that opens the stream. VC_OK: references to the
 * cancellers are held, and the call can be cancelled once call_start() has
 * joined c->cancelling. On VC_CANCELLED, VC_DEADLINE_EXCEEDED or
 * VC_RESOURCE_EXHAUSTED, as this thread's last error, none are held, and the
 * call must not be started. */
enum vc_status vc__client_stream_limit(struct vc__client_stream *c,
                                       const struct vc_call_opts *opts);

/* Chooses a server, rather not that of the attempt before: sets c->client, and
 * c->held; puts the former one. False, with the error as this thread's last and
 * nothing changed, if memory is short, or a policy of the program's own fails
 * the attempt. Called before the start, with the channel entered, by the thread
 * that opens the stream; and on the holder for each further attempt. */
bool vc__client_stream_pick(struct vc__client_stream *c, uint64_t now);
/* Lets go of the server, if it is held, before the channel is left: the call
 * has ended, or is not started. Called by vc__client_stream_end(), on its
 * thread, and by the thread that could not open the stream. */
void vc__client_stream_unhold(struct vc__client_stream *c);

/* Called after vc__client_start(), by the thread that opens the stream, or on
 * the holder for a further attempt: the client has the request. From now on the
 * call can be cancelled, and is if that was requested meanwhile. */
void vc__client_stream_started(struct vc__client_stream *c);

/* stream_reply.c: keeps the metadata of the reply, and the message of a good
 * one if the server does not stream; *error is the call's end, VC_OK if all is
 * well. False if the metadata cannot be kept: then the call is not tried again.
 * Called by on_replied() on the holder, without locks. */
bool vc__client_stream_reply(struct vc__client_stream *c,
                             const struct vc__reply_frame *reply,
                             struct vc__error *error);

/* Ends the call; called once, by the thread that decides the end: the holder,
 * or any that cancels the call, finds its deadline passed, starts it, or closes
 * the channel. Leaves the channel. May free the stream. */
void vc__client_stream_end(struct vc__client_stream *c,
                           enum vc__stream_event why,
                           const struct vc__error *error);

/* Cancels the call for the program, by vc_stream_cancel(). If another thread is
 * setting its end, waits for that, unless the stream has callbacks. */
void vc__client_stream_cancel(struct vc_stream *s);

/* Called by vc_stream_close(), or for callbacks by the last user: the call has
 * ended, and no other thread uses the stream. Reports the end to its
 * interceptors, of which there are some, and frees the interception. */
void vc__client_stream_seen(struct vc_stream *s);

/* Removes one of the two users of a stream with callbacks: called by
 * vc_stream_close(), and by client_ended() after on_end(), on their threads.
 * The last calls vc__client_stream_seen(), if there are interceptors. */
void vc__client_stream_user_leave(struct vc__client_stream *c);

/* Frees a stream that was never started, on the thread that wanted to open
 * it. */
void vc__client_stream_free(struct vc__client_stream *c);

#endif
