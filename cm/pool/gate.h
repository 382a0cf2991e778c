/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A gate: keeps the requests of some clients of a pool from being sent, also
 * while a link takes calls. Its owner opens it when the server is fit for them.
 * It closes by itself when the last link that takes calls is lost: what the
 * owner knew of the server was about that connection. Requests that were sent
 * are not affected. Any thread, unless a comment says otherwise. A pool without
 * gates, and its clients, pay nothing per request.
 *
 * Called by: rpc/balance/health_watch.c (begin, end, admit, set, is_up),
 * rpc/balance/twin.c (begin, end), pool_health.c (gates_follow), client.c
 * (refuses). */
#ifndef VC_CM_GATE_H
#define VC_CM_GATE_H

#include <stdbool.h>

#include <urcu/list.h>

#include "transport/core/error.h"

struct vc__client;
struct vc__pool;

enum vc__gate_state {
    VC__GATE_WAITS, /* requests wait, as for a link */
    VC__GATE_SHUT,  /* they end with `why` */
    VC__GATE_OPEN,
};

struct vc__gate {
    struct vc__pool *pool;
    struct cds_list_head node; /* lock; in pool->gates */
    enum vc__gate_state state; /* lock */
    bool up;                   /* lock: a link takes calls */
    struct vc__error why;      /* lock; of SHUT */
    /* A link takes calls (up), or none does any more. The state is WAITS since,
     * in either case. Any thread, under the pool's lock. */
    void (*changed)(struct vc__gate *g);
};

/* Adds a gate, whose changed() is set, to its pool, in state WAITS. Calls
 * changed(). Called when a channel is opened or gets servers, by the watch of a
 * server's health and by vc__twins_follow(). Any thread, without the pool's
 * lock. */
void vc__gate_begin(struct vc__gate *g, struct vc__pool *pool);
/* Removes it: changed() is not called any more. Its clients have no requests
 * that wait, or are closed. Holder, without locks. */
void vc__gate_end(struct vc__gate *g);

/* The requests of this client pass the gate from now on; it has none yet.
 * Called when a client is made, on any thread, without the pool's lock. */
void vc__gate_admit(struct vc__gate *g, struct vc__client *c);

/* Sets the state; `why` is the error of SHUT, else NULL. OPEN sends what has
 * waited, and SHUT fails it, as not executed. While no link takes calls this
 * does nothing. Holder, without locks, as callbacks of requests run inside. */
void vc__gate_set(struct vc__gate *g, enum vc__gate_state state,
                  const struct vc__error *why);

/* True while a link takes calls. Called on the holder, without locks. */
bool vc__gate_is_up(struct vc__gate *g);

/* --- for the pool --------------------------------------------------------- */

/* Links take calls now (up), or none does: notifies the gates for which that is
 * new, and has their requests wait. Called by vc__pool_health_update(), on any
 * thread, under the lock. */
void vc__gates_follow(struct vc__pool *p, bool up);

/* For a request of a client whose gate is not open: true, with *error, if it
 * ends; false: it waits. Called by held_take(), under the lock. */
bool vc__gate_refuses(const struct vc__client *c, struct vc__error *error);

#endif
