/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An asynchronous call. Each event (started, ended, cancelled, ...) sets a bit
 * in `events` and posts the call's task. So only the holder of the engine
 * changes the call, one event at a time.
 *
 * Any thread may call vc__async_tell(), vc__async_hold() and vc__async_put() at
 * any time. vc__async_new(), vc__async_new_seen() and vc__async_start(): the
 * thread that makes the call. The others have their rule below.
 *
 * Called by: async.c (tell, hold, put, asyncs_enter, asyncs_leave), hedge.c
 * (tell, new, start, leave, hold, put), async_seen.c (new), one_way.c (new,
 * start, leave, hold, put), async_call.c (new_seen, start, leave, hold, put),
 * completions.c (new_seen, start, leave, hold, put), stream_again.c
 * (asyncs_enter, asyncs_leave), stream_open.c (asyncs_enter), stream_client.c
 * (asyncs_leave), channel.c (asyncs_await). */
#ifndef VC_RPC_ASYNC_H
#define VC_RPC_ASYNC_H

#include <verbcall/async.h>

#include "rpc/client/attempts.h"

struct vc__hedge;

enum vc__async_state {
    VC__ASYNC_RUNNING, /* an attempt is under way, or its hedge */
    VC__ASYNC_PAUSED,  /* waits between two attempts */
    VC__ASYNC_OVER,
};

struct vc_async {
    struct vc__attempt attempt;
    struct vc__call_policy policy; /* if `configured` */
    struct vc__attempts attempts;
    struct vc__engine *engine; /* usable after the channel was closed */

    /* Called once, on the holder, when the call is over. The channel stays
     * there until vc__async_leave(), which must follow. */
    void (*over)(struct vc_async *a);
    struct vc__attempt *won; /* when over: the attempt with error or reply */

    struct vc__task deliver;
    vc_async_run *run; /* calls done() */
    vc_function *done;
    void *arg; /* for done(); or the tag */
    struct vc_completions *queue;
    struct cds_list_head node; /* in queue->ended */

    struct vc__retry_wait retry_wait; /* while paused */
    struct vc__cancelling cancelling; /* if cancellable, until over */
    struct vc_result *result;         /* filled when it is over; or NULL */
    struct vc__watch watch;           /* of a call without a reply: one_way.c */
    struct vc__waiter waiter; /* the same; and of one that blocks: hedge.c */

    struct vc__handle handle; /* all from here on is cleared at first */
    atomic_uint holders;      /* references: the last one frees the call */
    atomic_uint
        events; /* VC__ASYNC_EV_*; the task is posted while any is set */
    struct vc__task task;
    struct vc_interception *interception; /* of the interceptors, or NULL */

    /* Only for the holder of the engine. */
    enum vc__async_state state;
    bool
        configured; /* the service config has an entry for the call: `policy` */
    bool started;   /* vc__async_start() has returned, or is about to */
    bool cancelled; /* a cancel was received */
    bool flying;    /* the attempt runs, or its end is not handled */
    unsigned heard; /* bits taken from `events` and not handled yet */
    struct vc__timer timer;  /* for deadline, pause, or hedge */
    uint32_t hedge_ms;       /* 0: no hedge, or it has begun */
    struct vc__hedge *hedge; /* not NULL while it is under way, or if it won */

    /* A call without a reply: rpc/client/one_way.c. */
    atomic_uint gone; /* the attempt that the adapter was handed; 0: none yet */
    bool handed;      /* true if there is one, for the holder: it is the last */
    bool failed;      /* the call failed before that */
};

/* The events of a call. */
#define VC__ASYNC_EV_STARTED 1u
#define VC__ASYNC_EV_ENDED   2u /* the attempt has ended */
#define VC__ASYNC_EV_CANCEL  4u
#define VC__ASYNC_EV_BROKEN  8u  /* the channel is closing: ends the pause */
#define VC__ASYNC_EV_HANDED  16u /* the adapter has the one-way request */
#define VC__ASYNC_EV_HEDGE   32u /* the hedge has ended */

/* Reports an event of the call, VC__ASYNC_EV_*, which its task handles on the
 * holder. The caller has a reference, or knows that the call has one. */
void vc__async_tell(struct vc_async *a, unsigned bit);

/* Creates a call and packs its request. opts: those of the program, which may
 * be NULL, or already complete ones; they are checked and completed here.
 * Called by vc__async_new_seen(), vc__one_way() and vc__hedge_call(). Returns
 * the call with one reference, the caller's; or NULL, with the error as
 * vc__error_last(). Then opts->result is filled, too, unless the options
 * themselves are not allowed. */
struct vc_async *vc__async_new(struct vc_channel *channel,
                               const struct vc_service *service,
                               unsigned method, const void *request,
                               const struct vc_call_opts *opts,
                               void (*over)(struct vc_async *a));

/* vc__async_new() through the channel's interceptors, if it has any; returns as
 * that. Called by async_call.c and completions.c, with the program's
 * options. */
struct vc_async *vc__async_new_seen(struct vc_channel *channel,
                                    const struct vc_service *service,
                                    unsigned method, const void *request,
                                    const struct vc_call_opts *opts,
                                    void (*over)(struct vc_async *a));

/* Starts the call, once, and drops the caller's reference; over() follows on
 * the holder, perhaps before this returns. The call then has a reference of its own, which over() drops, or the
 * task of done(), or the thread that takes the call from its queue. */
void vc__async_start(struct vc_async *a);

/* The call is over and does not use the channel any more, which may be freed
 * from now on. Called by over() on the holder, or by async_call_deliver() when
 * done() has returned, on the thread that ran it. */
void vc__async_leave(struct vc_async *a);

/* Add and drop a reference; when the last is dropped, the call is freed, with
 * its hedge. */
void vc__async_hold(struct vc_async *a);
void vc__async_put(struct vc_async *a);

/* For asynchronous calls, streams with callbacks, and streams that wait for
 * their next attempt, which an engine must be advanced for: the channel is not
 * freed between these two. Any thread enters; the one that leaves serves an
 * engine of the runtime, or has entered the channel. The last one to leave
 * wakes vc__asyncs_await(). */
void vc__asyncs_enter(struct vc_channel *channel);
void vc__asyncs_leave(struct vc_channel *channel, struct vc__engine *e);

/* For vc_channel_close(), after it ended the channel's calls: drops the owner's
 * entry and waits until all others have left, advancing the engine. */
void vc__asyncs_await(struct vc_channel *channel);

#endif
