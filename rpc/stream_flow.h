/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Flow control for one direction of a stream. The receiver holds at most a
 * window of messages that the program has not taken, or half a window and one
 * longer message (doc/wire.md, 4.10). Numbers are absolute, modulo 2^32, so a
 * later update makes up for an earlier one. Pure. A function that has one of
 * the structs is called under the stream's lock, on any thread; in
 * health_watch.c on the holder, which alone uses its struct. The others: any
 * thread.
 *
 * Called by: rpc/stream/stream.c (outflow_init, inflow_init, stream_cost,
 * outflow_window, inflow_fits, inflow_arrived, inflow_taken),
 * rpc/balance/health_watch.c (inflow_init, stream_cost, inflow_arrived,
 * inflow_taken), rpc/stream/stream_send.c (stream_cost, outflow_take,
 * outflow_return), rpc/stream/stream_events.c (stream_fits). */
#ifndef VC_RPC_STREAM_FLOW_H
#define VC_RPC_STREAM_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#define VC__STREAM_WINDOW 65536u
/* Cost of each message besides its length: empty messages take room, too. */
#define VC__STREAM_OVERHEAD 32u

struct vc__outflow {
    uint32_t sent; /* cost of all messages so far */
    uint32_t end;  /* of the window: limits `sent` */
};

struct vc__inflow {
    uint32_t came;
    uint32_t taken;    /* cost of those that the program has taken */
    uint32_t promised; /* the end of the window that the sender knows */
};

/* The window of a new stream for what it sends. Called by vc__stream_init(),
 * without a lock: no other thread has the stream yet. */
static inline void
vc__outflow_init(struct vc__outflow *o)
{
    *o = (struct vc__outflow){.end = VC__STREAM_WINDOW};
}

/* The window of a new stream for what it receives. Called by vc__stream_init(),
 * without a lock, as no other thread has the stream yet; and by watch_start()
 * of health_watch.c, on the holder. */
static inline void
vc__inflow_init(struct vc__inflow *i)
{
    *i = (struct vc__inflow){.promised = VC__STREAM_WINDOW};
}

/* Returns the cost of a message of len bytes, at most 2^30. Called wherever a
 * message is charged, or its room given back. */
static inline uint32_t
vc__stream_cost(uint32_t len)
{
    return len + VC__STREAM_OVERHEAD;
}

/* True if a message of this cost may be sent. The rule, at both ends: it may if
 * it fits, and a longer one if half the window is free. So a receiver that
 * withholds less than half a window never blocks its sender. Asked within this
 * file, and by has_room() for on_writable(). */
static inline bool
vc__stream_fits(uint32_t sent, uint32_t end, uint32_t cost)
{
    int32_t left = (int32_t)(end - sent);

    return left >= (int32_t)cost || left >= (int32_t)VC__STREAM_WINDOW / 2;
}

/* Charges `cost` to the window; false if there is no room. Called by
 * stream_send_room_take() for a message that the program sends. */
static inline bool
vc__outflow_take(struct vc__outflow *o, uint32_t cost)
{
    if (!vc__stream_fits(o->sent, o->end, cost))
        return false;
    o->sent += cost;
    return true;
}

/* Gives back the cost of a message that is not sent after all. Called by
 * room_return(). */
static inline void
vc__outflow_return(struct vc__outflow *o, uint32_t cost)
{
    o->sent -= cost;
}

/* Takes a window update of the receiver. False, and nothing changes, if it
 * moves the end back, or to more than a window after `sent`. Called by
 * vc__stream_window() for a WINDOW frame. */
static inline bool
vc__outflow_window(struct vc__outflow *o, uint32_t end)
{
    if (end - o->end > o->sent + VC__STREAM_WINDOW - o->end)
        return false;
    o->end = end;
    return true;
}

/* True if a message of this cost may be received. Asked by vc__stream_expects()
 * for the first part of one, and by vc__inflow_arrived(). */
static inline bool
vc__inflow_fits(const struct vc__inflow *i, uint32_t cost)
{
    return vc__stream_fits(i->came, i->promised, cost);
}

/* Charges a received message; false if it may not be received. Called by
 * vc__stream_message(), and by watch_on_message() of health_watch.c. */
static inline bool
vc__inflow_arrived(struct vc__inflow *i, uint32_t cost)
{
    if (!vc__inflow_fits(i, cost))
        return false;
    i->came += cost;
    return true;
}

/* The program has taken a message of this cost. True if the sender must be
 * notified of the new end (`promised`). Called by vc__stream_taken(), and by
 * watch_window_send() of health_watch.c. */
static inline bool
vc__inflow_taken(struct vc__inflow *i, uint32_t cost)
{
    uint32_t end;

    i->taken += cost;
    end = i->taken + VC__STREAM_WINDOW;
    if (end - i->promised < VC__STREAM_WINDOW / 2)
        return false;
    i->promised = end;
    return true;
}

#endif
