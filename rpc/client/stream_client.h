/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A stream at the end that called. The call holds it until its reply has come,
 * or there will be none; while it does, the channel is entered. */
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
    uint8_t *body;     /* of the call; NULL when the client streams */
    uint8_t *metadata; /* of the call, packed, or NULL */
    struct vc_channel *channel;
    struct vc__client *client;
    const struct vc_method *type;
    bool given_up;               /* the stream's lock */
    struct vc__brought *initial; /* the same: what the first message brought */
    bool came;                   /* the pool's lock: a message has */
    struct vc__brought *brought; /* the same: what the reply brought, or NULL */
    struct vc__attempts attempts; /* when it is to end, and what may end it */
    struct vc__cancelling cancelling; /* if it can be, until its end */
    struct vc__task cancel;           /* gives it up, on the holder */
    atomic_bool cancelled;            /* that has been posted */
    bool started;          /* the stream's lock: the attempt is its client's */
    bool unwanted;         /* the same: to be given up when it is */
    struct vc__error wish; /* the same: how */
    bool over; /* the same: its end has come, and the channel may be closed */

    /* rpc/client/stream_again.c; all but `rested` under the stream's lock. */
    struct vc__task rest;
    struct vc__timer rested;       /* the holder's */
    struct vc__retry_wait between; /* two attempts, while it rests */
    struct vc__error why;          /* the last has failed */
    uint64_t rest_until;
    bool resting, rest_posted, rest_broken;
    bool parked;                  /* what is to be sent goes to `parking` */
    struct cds_list_head parking; /* of struct vc__send */
    unsigned starts;              /* attempts that have begun */

    struct vc__retry_wait
        retry_wait;    /* with callbacks: for the closing of the channel */
    bool paused;       /* it has begun */
    atomic_uint users; /* with callbacks: the program, and these; the last one
                        * has the interceptors told the end */
};

static inline struct vc__client_stream *
vc__client_stream_of(struct vc_stream *s)
{
    return caa_container_of(s, struct vc__client_stream, stream);
}

static inline bool
vc__client_stream_down(const struct vc__client_stream *c)
{
    return c->type->flags & VC_METHOD_SERVER_STREAM;
}

static inline bool
vc__client_stream_up(const struct vc__client_stream *c)
{
    return c->type->flags & VC_METHOD_CLIENT_STREAM;
}

/* With the functions of its frames and its end; all else is zero, and has one
 * holder, the caller. NULL without memory. */
struct vc__client_stream *vc__client_stream_new(void);

/* When it is to end, and what may end it; opts are whole. It can be cancelled
 * when it has joined c->cancelling. VC_CANCELLED or VC_DEADLINE_EXCEEDED: it
 * need not be started. */
enum vc_status vc__client_stream_limit(struct vc__client_stream *c,
                                       const struct vc_call_opts *opts,
                                       uint64_t now);

/* Its request has been started: from now on it can be given up, or is if that
 * was wanted meanwhile. */
void vc__client_stream_started(struct vc__client_stream *c);

/* Its call has ended: once. May free it. */
void vc__client_stream_end(struct vc__client_stream *c,
                           enum vc__stream_event why,
                           const struct vc__error *error);

/* Its program cancels it. Waits, unless it has callbacks, when its end is on
 * its way. */
void vc__client_stream_cancel(struct vc_stream *s);

/* The call has ended, and nobody else uses the stream: its interceptors, of
 * which there are some, are told. */
void vc__client_stream_seen(struct vc_stream *s);

/* One of the users of a stream with callbacks is through with it. */
void vc__client_stream_user_leave(struct vc__client_stream *c);

/* It was never started. */
void vc__client_stream_free(struct vc__client_stream *c);

#endif
