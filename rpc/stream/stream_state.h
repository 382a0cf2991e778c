/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The state machine of one end of a stream, as a table: for a state and an
 * event, the next state and the action. Flow control is separate:
 * rpc/stream_flow.h. Pure; rpc/stream/stream*.c perform the actions.
 *
 * Called by: rpc/client/stream_open.c (stream_first),
 * rpc/server/stream_server.c (stream_first), stream.h (stream_step),
 * stream_state.c (stream_step), stream.c (stream_is_heard), stream_events.c
 * (stream_is_heard). */
#ifndef VC_RPC_STREAM_STATE_H
#define VC_RPC_STREAM_STATE_H

#include <stdbool.h>

enum vc__stream_side {
    VC__STREAM_CLIENT,
    VC__STREAM_SERVER,
};

enum vc__stream_state {
    VC__STREAM_OPEN,
    VC__STREAM_HALF_LOCAL,  /* this end sends no more messages */
    VC__STREAM_HALF_REMOTE, /* the peer sends no more */
    VC__STREAM_HALF_BOTH,   /* only the reply is left */
    VC__STREAM_ENDED,       /* at this end; later frames are dropped */
    VC__STREAM_STATES
};

enum vc__stream_event {
    VC__STREAM_EV_SENDS,        /* the program sends a message */
    VC__STREAM_EV_HALF_CLOSES,  /* the program has sent all */
    VC__STREAM_EV_ENDS,         /* cancelled here, or the handler returned */
    VC__STREAM_EV_MESSAGE,      /* received, like the next four */
    VC__STREAM_EV_HALF,         /* from a client */
    VC__STREAM_EV_WINDOW,       /* room for more */
    VC__STREAM_EV_REPLY,        /* from a server */
    VC__STREAM_EV_CANCEL,       /* from a client */
    VC__STREAM_EV_TIME_OVER,    /* the deadline */
    VC__STREAM_EV_LINK_LOST,    /* or there was none */
    VC__STREAM_EV_MESSAGE_LOST, /* malformed, or cannot be kept */
    VC__STREAM_EVENTS
};

enum vc__stream_action {
    VC__STREAM_DO_NOTHING, /* the event is late, or repeated */
    VC__STREAM_DO_IT,      /* notify the peer, or keep what was received */
    VC__STREAM_DO_REFUSE,  /* the program's call fails */
    VC__STREAM_DO_END,     /* end the stream as the event says */
    VC__STREAM_DO_BREAK,   /* break the link: the peer must not do this */
};

struct vc__stream_step {
    enum vc__stream_state next;
    enum vc__stream_action action;
};

/* Returns the initial state, by which ends stream. Called by stream_new() of a
 * client, and by vc__stream_server_open(). */
enum vc__stream_state vc__stream_first(bool we_stream, bool they_stream);

/* Returns the next state and the action: called by vc__stream_on(), under the
 * stream's lock, on any thread. */
struct vc__stream_step vc__stream_step(enum vc__stream_side side,
                                       enum vc__stream_state state,
                                       enum vc__stream_event event);

/* True if no more messages may be received: the peer has sent all, or the
 * stream has ended. Asked by stream.c and stream_events.c, under the lock. */
static inline bool
vc__stream_is_heard(enum vc__stream_state state)
{
    return state >= VC__STREAM_HALF_REMOTE;
}

/* For tests, and the traces that these compare. */
const char *vc__stream_state_name(enum vc__stream_state state);
const char *vc__stream_event_name(enum vc__stream_event event);
const char *vc__stream_action_name(enum vc__stream_action action);

#endif
