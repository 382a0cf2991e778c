/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The life of a stream at one of its ends as a table: in which state which
 * event leads where, and what is to be done. How much may go or come is another
 * question, and the next: rpc/stream/stream_flow.h. Pure; rpc/stream/stream*.c carry the
 * actions out. */
#ifndef VC_RPC_STREAM_STATE_H
#define VC_RPC_STREAM_STATE_H

#include <stdbool.h>

enum vc__stream_side {
    VC__STREAM_CLIENT,
    VC__STREAM_SERVER,
};

enum vc__stream_state {
    VC__STREAM_OPEN,
    VC__STREAM_HALF_LOCAL,  /* we send no more messages */
    VC__STREAM_HALF_REMOTE, /* no more will come */
    VC__STREAM_HALF_BOTH,   /* what is left is the reply */
    VC__STREAM_ENDED,       /* at this end; what comes yet is dropped */
    VC__STREAM_STATES
};

enum vc__stream_event {
    VC__STREAM_EV_SENDS,       /* the program, a message */
    VC__STREAM_EV_HALF_CLOSES, /* the program has sent all */
    VC__STREAM_EV_NOT_TOLD,    /* and there was no memory to say so */
    VC__STREAM_EV_ENDS,        /* the program: gives it up, or has handled it */
    VC__STREAM_EV_MESSAGE,     /* comes, and the next four */
    VC__STREAM_EV_HALF,        /* of a client */
    VC__STREAM_EV_WINDOW,      /* room for more */
    VC__STREAM_EV_REPLY,       /* of a server */
    VC__STREAM_EV_CANCEL,      /* of a client */
    VC__STREAM_EV_TIME_OVER,   /* the deadline */
    VC__STREAM_EV_LINK_LOST,   /* or there never was one */
    VC__STREAM_EV_MESSAGE_LOST, /* one that came is none, or cannot be kept */
    VC__STREAM_EVENTS
};

enum vc__stream_action {
    VC__STREAM_DO_NOTHING, /* it comes too late, or again */
    VC__STREAM_DO_IT,      /* the peer is told; what came is kept */
    VC__STREAM_DO_REFUSE,  /* the program may not */
    VC__STREAM_DO_END,     /* with what the event says */
    VC__STREAM_DO_BREAK,   /* the link: the peer may not */
};

struct vc__stream_step {
    enum vc__stream_state next;
    enum vc__stream_action action;
};

/* How it begins: where we stream, and where the peer does. */
enum vc__stream_state vc__stream_first(bool we_stream, bool they_stream);

struct vc__stream_step vc__stream_step(enum vc__stream_side side,
                                       enum vc__stream_state state,
                                       enum vc__stream_event event);

/* May no more messages come? */
static inline bool
vc__stream_is_heard(enum vc__stream_state state)
{
    return state >= VC__STREAM_HALF_REMOTE;
}

/* For tests and traces. */
const char *vc__stream_state_name(enum vc__stream_state state);
const char *vc__stream_event_name(enum vc__stream_event event);
const char *vc__stream_action_name(enum vc__stream_action action);

#endif
