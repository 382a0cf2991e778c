/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The callbacks of a stream for which no thread waits. Each change of the
 * stream calls vc__stream_events_stir(). If a callback is due, that posts a
 * task to the engine's holder, which runs it as it runs handlers. So callbacks
 * run one after the other, hold no lock, may block, and use no thread while
 * none is due.
 *
 * Under the stream's lock: vc__stream_events_stir(), vc__stream_events_want()
 * and vc__stream_events_half(). The others: any thread, without it.
 *
 * Called by: rpc/client/stream_open.c (new, join, open, hurry),
 * rpc/server/stream_server.c (new, join), rpc/server/server_handler.c (open,
 * close), rpc/client/stream_finish.c (close), stream.c (stir), stream_events.c
 * (stir), stream_send.c (stir, want, half). */
#ifndef VC_RPC_STREAM_EVENTS_H
#define VC_RPC_STREAM_EVENTS_H

#include "rpc/stream/stream.h"

struct vc__stream_events {
    struct vc_stream *stream;
    struct vc_stream_events to; /* the program's */
    void *arg;
    struct vc__task task;

    struct vc__timer timer; /* for the holder: the deadline */
    bool armed;             /* the same: the timer was started if needed */

    /* All under the stream's lock. */
    bool busy;             /* the task is under way, or callbacks run */
    bool waits;            /* true until vc__stream_events_open() */
    bool paused;           /* the program wants no messages */
    bool hurried;          /* `paused` is ignored from now on */
    bool wants;            /* on_writable() once a message of `room` fits */
    uint32_t room;         /* the cost of that message */
    struct vc__send *half; /* a HALF that is to be sent, or NULL */
    bool half_reported;    /* on_half_close() has run, or never will */
    bool cancelled;        /* on_cancel() has run */
    bool spoiled;          /* a message was lost: none after it is delivered */
    bool closed;           /* only on_end() is left */
    bool settled;          /* the same, and the holder has stopped the timer */
    bool over;             /* on_end() has run, or is about to */
};

/* Creates the callbacks of a stream; they wait for vc__stream_events_open().
 * The caller owns them, and frees them by free() unless they join a stream.
 * NULL if memory is short or the size is not valid; the error is this thread's
 * last. Called by vc_stream_start() of a client and vc_stream_serve() of a
 * handler, on their threads. */
struct vc__stream_events *
vc__stream_events_new(const struct vc_stream_events *to, void *arg);

/* Gives them to the stream, which frees them. No other thread uses the stream
 * yet, but frames may have been received. hears_half: the peer may send a HALF,
 * at a server only. On the thread of the function above. */
void vc__stream_events_join(struct vc_stream *s, struct vc__stream_events *ev,
                            bool hears_half);

/* Lets the callbacks run from now on: the client's program has the stream, or
 * the handler has returned. On the thread of vc_stream_start(), or that of the
 * handler. */
void vc__stream_events_open(struct vc_stream *s);

/* The program no longer uses the stream: only on_end() follows. Once more has
 * no effect. Called by vc_stream_close() of a client; at a server when
 * vc_call_end() was called and the handler has returned, or the handler has
 * returned another status than VC__LATER. Any thread. */
void vc__stream_events_close(struct vc_stream *s);

/* The channel is being closed and waits for the last callback: pauses are
 * ignored from now on. At a client: on the thread of vc_channel_close(), under
 * the lock of its retry_waits; or on that of vc_stream_start(), if the channel
 * is being closed then. */
void vc__stream_events_hurry(struct vc_stream *s);

/* Posts the task if a callback is due, no turn is under way, and the callbacks
 * may run already. Called on any thread, after each change that may make one
 * due: by vc__stream_changed(), room_return(), vc_stream_pause(),
 * vc_stream_resume(), and the close and hurry above. */
void vc__stream_events_stir(struct vc_stream *s);

/* A message of this cost did not fit: on_writable() is due once it does. Called
 * by window_try() within vc_stream_try_send(), on its thread. */
void vc__stream_events_want(struct vc_stream *s, uint32_t cost);

/* Has this HALF sent after the last part of a long message, unless the call
 * ends before. The callbacks own it from now on. Called by half_close() within
 * vc_stream_half_close() of a client, on its thread. */
void vc__stream_events_half(struct vc_stream *s, struct vc__send *half);

#endif
