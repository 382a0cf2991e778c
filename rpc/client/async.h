/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A call that nobody waits for. Whoever wants something of it (to begin, end,
 * cancel or break it) says so by a bit, and posts its task: all that changes it
 * runs on the holder of its engine, one thing at a time.
 *
 * May run together: tell, hold, put from any threads. */
#ifndef VC_RPC_ASYNC_H
#define VC_RPC_ASYNC_H

#include <verbcall/async.h>

#include "rpc/client/attempts.h"

struct vc__hedge;

enum vc__async_state {
    VC__ASYNC_RUNNING, /* an attempt is under way, or its hedge */
    VC__ASYNC_PAUSED,  /* between two */
    VC__ASYNC_OVER,
};

struct vc_async {
    struct vc__attempt attempt;
    struct vc__attempts attempts;
    struct vc__engine *engine; /* also when the channel is gone */
    struct vc__handle handle;
    atomic_uint holders; /* frees it when none is left */
    atomic_uint told;    /* bits; the task is posted while one is set */
    struct vc__task task;

    /* The holder's of the engine. */
    enum vc__async_state state;
    bool started;           /* who started it is through with that */
    bool cancelled;         /* the program wants it no more */
    unsigned heard;         /* bits that are told and not done with yet */
    bool flying;            /* unary is under way, or its end on its way here */
    struct vc__timer timer; /* of the deadline, the pause, or the hedge */
    struct vc__retry_wait retry_wait;

    uint32_t hedge_ms;       /* 0: none, or it has begun */
    struct vc__hedge *hedge; /* the holder's: while it is under way, or won */
    struct vc__attempt *won; /* once it is over: with its error or reply */

    /* Runs once, on the holder, when it is over; the channel lives until it
     * has called vc__async_leave(). */
    void (*over)(struct vc_async *a);

    struct vc__cancelling cancelling; /* if it can be cancelled, until over */
    struct vc_interception *interception; /* that sees it, or NULL */
    struct vc_result *result;             /* filled when it is over; or NULL */

    struct vc__task deliver;
    vc_async_run *run; /* calls done() */
    vc_function *done;
    void *arg; /* or tag */
    struct vc_completions *queue;
    struct cds_list_head node; /* in queue->ended */

    /* A call without a reply: rpc/client/one_way.c. */
    struct vc__watch watch;
    struct vc__waiter waiter;
    atomic_bool gone; /* its request was handed to the link */
    bool handed;      /* the same, for the holder: it is not tried again */
    bool failed;      /* before that */
};

/* What a call may be told. */
#define VC__TOLD_STARTED 1u
#define VC__TOLD_ENDED   2u /* the attempt */
#define VC__TOLD_CANCEL  4u
#define VC__TOLD_BROKEN  8u  /* the pause: the channel is closing */
#define VC__TOLD_HANDED  16u /* a one-way request */
#define VC__TOLD_HEDGE   32u /* its hedge has ended */

void vc__async_tell(struct vc_async *a, unsigned bit);

/* Packs the request; opts are the program's. With one holder, the caller; NULL:
 * vc__error_last() says why. */
struct vc_async *vc__async_new(struct vc_channel *channel,
                               const struct vc_service *service,
                               unsigned method, const void *request,
                               const struct vc_call_opts *opts,
                               void (*over)(struct vc_async *a));

/* The same through the channel's interceptors, if it has any. */
struct vc_async *vc__async_new_seen(struct vc_channel *channel,
                                    const struct vc_service *service,
                                    unsigned method, const void *request,
                                    const struct vc_call_opts *opts,
                                    void (*over)(struct vc_async *a));

/* Starts it; over() follows. */
void vc__async_start(struct vc_async *a);

/* It is over and has been delivered: the channel may be freed now. Any
 * thread that is in a wait for, or serves, an engine of the runtime. */
void vc__async_leave(struct vc_async *a);

void vc__async_hold(struct vc_async *a);
void vc__async_put(struct vc_async *a);

/* The same for what else runs on an engine until it has been told its end: it
 * keeps the channel between these. */
void vc__asyncs_enter(struct vc_channel *channel);
void vc__asyncs_leave(struct vc_channel *channel, struct vc__engine *e);

/* For those who close a channel: its calls have been broken. Waits until all
 * have left, advancing the engine. */
void vc__asyncs_await(struct vc_channel *channel);

#endif
