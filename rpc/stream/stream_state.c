/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/stream/stream_state.h. An event that no row names has no effect. Any
 * thread: vc__stream_step() under the stream's lock, the others without. */
#include "rpc/stream/stream_state.h"

#include <stddef.h>

#define BOTH_SIDES  ((1u << VC__STREAM_CLIENT) | (1u << VC__STREAM_SERVER))
#define ON(side)    (1u << VC__STREAM_##side)
#define IN(state)   (1u << VC__STREAM_##state)
#define ALIVE       (IN(ENDED) - 1u)
#define STAY        VC__STREAM_STATES
#define TO(state)   VC__STREAM_##state
#define EV(event)   VC__STREAM_EV_##event
#define DO(action)  VC__STREAM_DO_##action
#define SENDING     (IN(OPEN) | IN(HALF_REMOTE))
#define NOT_SENDING (IN(HALF_LOCAL) | IN(HALF_BOTH))
#define HEARING     (IN(OPEN) | IN(HALF_LOCAL))
#define NOT_HEARING (IN(HALF_REMOTE) | IN(HALF_BOTH))

static const struct {
    enum vc__stream_event event;
    unsigned sides, states;
    enum vc__stream_state next;
    enum vc__stream_action action;
} rows[] = {
    /* The rows for each message come first: rows are searched in order. */
    {EV(SENDS), BOTH_SIDES, SENDING, STAY, DO(IT)},
    {EV(MESSAGE), BOTH_SIDES, HEARING, STAY, DO(IT)},
    {EV(WINDOW), BOTH_SIDES, ALIVE, STAY, DO(IT)},

    {EV(SENDS), BOTH_SIDES, NOT_SENDING | IN(ENDED), STAY, DO(REFUSE)},
    {EV(HALF_CLOSES), ON(CLIENT), IN(OPEN), TO(HALF_LOCAL), DO(IT)},
    {EV(HALF_CLOSES), ON(CLIENT), IN(HALF_REMOTE), TO(HALF_BOTH), DO(IT)},
    {EV(HALF_CLOSES), ON(SERVER), ALIVE | IN(ENDED), STAY, DO(REFUSE)},

    {EV(MESSAGE), BOTH_SIDES, NOT_HEARING, STAY, DO(BREAK)},
    {EV(HALF), ON(SERVER), IN(OPEN), TO(HALF_REMOTE), DO(IT)},
    {EV(HALF), ON(SERVER), IN(HALF_LOCAL), TO(HALF_BOTH), DO(IT)},
    {EV(HALF), ON(SERVER), NOT_HEARING, STAY, DO(BREAK)},
    {EV(HALF), ON(CLIENT), ALIVE | IN(ENDED), STAY, DO(BREAK)},

    {EV(REPLY), ON(CLIENT), ALIVE, TO(ENDED), DO(END)},
    {EV(REPLY), ON(SERVER), ALIVE | IN(ENDED), STAY, DO(BREAK)},
    {EV(CANCEL), ON(SERVER), ALIVE, TO(ENDED), DO(END)},
    {EV(CANCEL), ON(CLIENT), ALIVE | IN(ENDED), STAY, DO(BREAK)},

    {EV(ENDS), BOTH_SIDES, ALIVE, TO(ENDED), DO(END)},
    {EV(TIME_OVER), BOTH_SIDES, ALIVE, TO(ENDED), DO(END)},
    {EV(LINK_LOST), BOTH_SIDES, ALIVE, TO(ENDED), DO(END)},
    {EV(MESSAGE_LOST), BOTH_SIDES, ALIVE, TO(ENDED), DO(END)},
};

struct vc__stream_step
vc__stream_step(enum vc__stream_side side, enum vc__stream_state state,
                enum vc__stream_event event)
{
    struct vc__stream_step step = {state, VC__STREAM_DO_NOTHING};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].event != event || !(rows[i].sides & 1u << side) ||
            !(rows[i].states & 1u << state))
            continue;
        if (rows[i].next != STAY)
            step.next = rows[i].next;
        step.action = rows[i].action;
        break;
    }
    return step;
}

/* Called when a stream is made: by vc_stream_open() and vc_stream_start() on
 * the program's thread, by vc__stream_server_open() on the holder. */
enum vc__stream_state
vc__stream_first(bool we_stream, bool they_stream)
{
    if (we_stream)
        return they_stream ? VC__STREAM_OPEN : VC__STREAM_HALF_REMOTE;
    return they_stream ? VC__STREAM_HALF_LOCAL : VC__STREAM_HALF_BOTH;
}

/* Returns a static text, as do the next two; only tests/unit calls them. */
const char *
vc__stream_state_name(enum vc__stream_state state)
{
    static const char *const names[] = {"open", "half-local", "half-remote",
                                        "half-both", "ended"};

    return names[state];
}

const char *
vc__stream_event_name(enum vc__stream_event event)
{
    static const char *const names[] = {"sends",     "half-closes", "ends",
                                        "MESSAGE",   "HALF",        "WINDOW",
                                        "REPLY",     "CANCEL",      "time over",
                                        "link lost", "message lost"};

    return names[event];
}

const char *
vc__stream_action_name(enum vc__stream_action action)
{
    static const char *const names[] = {"nothing", "do it", "refuse", "end",
                                        "break"};

    return names[action];
}
