/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The callbacks of a stream for which no thread waits. What happens to the
 * stream stirs them: if one is due, a task goes to the engine's holder, who has
 * it run as handlers do. So they are one after the other, hold no lock, may
 * block, and cost no thread while nothing is due.
 *
 * Under the stream's lock: stir, want, half. */
#ifndef VC_RPC_STREAM_EVENTS_H
#define VC_RPC_STREAM_EVENTS_H

#include "rpc/stream/stream.h"

struct vc__stream_events {
    struct vc_stream *stream;
    struct vc_stream_events to; /* of the program */
    void *arg;
    struct vc__task task;

    struct vc__timer timer; /* the holder's: the deadline */
    bool armed;             /* the same */

    /* All under the stream's lock. */
    bool busy;      /* the task is under way, or callbacks run */
    bool waits;     /* until vc__stream_events_open() */
    bool paused;    /* no message is to be given */
    bool hurried;   /* that does not count any more */
    bool wants;     /* to know when a message of `room` may go */
    uint32_t room;  /* its cost */
    bool half_due;  /* the server is to be told that no more will come */
    bool half_told; /* on_half_close() has run, or never will */
    bool cancelled; /* on_cancel() has run */
    bool spoiled;   /* a message was lost, and no other is given */
    bool closed;    /* only on_end() is left */
    bool settled;   /* and the holder has stopped the timer */
    bool over;      /* on_end() has run, or is about to */
};

/* For a stream that is made; it waits until it is opened. NULL without memory,
 * or when the size is not right, and the error is this thread's last. */
struct vc__stream_events *
vc__stream_events_new(const struct vc_stream_events *to, void *arg);

/* Makes them the stream's, which frees them. Nothing else uses it yet, but
 * frames may have come. Its peer may say that it sends no more. */
void vc__stream_events_join(struct vc_stream *s, struct vc__stream_events *ev,
                            bool hears_half);

/* From now on they may run. */
void vc__stream_events_open(struct vc_stream *s);

/* The program is through with the stream: only on_end() follows. Once more does
 * nothing. */
void vc__stream_events_close(struct vc_stream *s);

/* Its channel is being closed, and waits for the last of them: no pause keeps
 * anything back. Any thread. */
void vc__stream_events_hurry(struct vc_stream *s);

/* Is one due? */
void vc__stream_events_stir(struct vc_stream *s);

/* A message of this cost could not go. */
void vc__stream_events_want(struct vc_stream *s, uint32_t cost);

/* HALF is to be sent behind the last part of a long message. */
void vc__stream_events_half(struct vc_stream *s);

#endif
