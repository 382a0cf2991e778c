/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One client and one server whose peers die, or the network between them: for
 * tests of keepalive. */
#ifndef VC_TESTS_SIM_ALIVE_SCENE_H
#define VC_TESTS_SIM_ALIVE_SCENE_H

#include "tests/sim/sim.h"

/* At the end of a scene: a CLOSE, and the answer, are as long as a PING. */
#define CLOSING  2
#define S        UINT64_C(1000000) /* us */
#define MS       UINT64_C(1000)
#define PATIENCE (300 * S)
#define LOOK_US  1000u
#define PHASES   9u
#define CALL_MS  5000u
#define FIRST    1u /* tags of calls */
#define LATER    2u

/* The packet of a PING, by its length: no request or reply here has 36
 * bytes. */
#define A_PING ": SEND 36 B"

enum blow {
    FROZEN, /* of the server */
    PORT_DOWN,
    WIRE_CUT,
    CUT_TO_CLIENT, /* in this direction only */
    CUT_TO_SERVER,
    BLOWS
};

struct alive_scene {
    struct sim_server s;
    char target[80];
    struct fake_host *here;
    struct fake_process *client;
    uint32_t keepalive_ms; /* the client's */
    bool serves_itself;    /* a library thread advances the client */
    bool waits;            /* it connects, but makes no call before phase_us */
    uint64_t phase_us;     /* from connecting to the first call */
    unsigned chats;        /* calls before that, 100 ms apart */

    atomic_bool called; /* the first call has ended */
    enum vc_status first, second;
    uint64_t first_ended, down;
    atomic_uint again; /* set: the client makes the second call */
    unsigned requests, pings, probes;
};

/* Begins the world; the handlers take handler_us microseconds. */
void alive_begin(struct alive_scene *w, uint64_t seed, unsigned handler_us);

/* Wait until a call with this tag has run, or the first call has ended. */
void alive_await_ran(unsigned tag);
void alive_await_called(struct alive_scene *w);

/* Something of the server, or of the network, fails; is whole again. */
void alive_strike(struct alive_scene *w, enum blow blow);
void alive_mend(struct alive_scene *w);

/* Has the second call made, and ends the world. */
void alive_end(struct alive_scene *w);

/* Fails unless so many microseconds are in the range. */
void alive_between(uint64_t us, uint64_t least, uint64_t most);

/* For fake_when(): adds one to an unsigned. */
void alive_count(void *arg);

#endif
