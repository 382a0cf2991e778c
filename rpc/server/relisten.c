/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/relisten.h. All of this file runs on the holder of engine 0,
 * except vc__relisten_later() and progress_of(): any thread. */
#include "rpc/server/relisten.h"

#include "rpc/runtime.h"
#include "rpc/server/server_log.h"

#define WAIT_FIRST_MS 1000u
/* The longest waits. Where no device has the address, an attempt ends with the
 * bind. Where memory is short, or a group is joined, an attempt opens the
 * device, which takes some milliseconds of the engine's time. */
#define WAIT_LOST_MS 4000u
#define WAIT_LACK_MS 64000u

/* Returns engine 0 of the runtime, which has the listeners. Called by
 * relisten_after(), relisten_try(), vc__relisten_stop() and
 * vc__relisten_later(). */
static struct vc__progress *
progress_of(const struct vc__listening *l)
{
    return &l->server->runtime->progress[0];
}

/* Sets whether l listens, and if not why, under the server's lock: the program
 * may read both (vc_server_describe()). *why may be anything if l listens.
 * Called by relisten_after(), vc__relisten_lost() and vc__relisten_back(). */
static void
lost_set(struct vc__listening *l, bool lost, const struct vc__error *why)
{
    pthread_mutex_lock(&l->server->lock);
    l->lost = lost;
    if (lost)
        l->why = *why;
    pthread_mutex_unlock(&l->server->lock);
}

/* --- the timer ------------------------------------------------------------ */

static void relisten_try(struct vc__timer *timer);

/* Starts the timer of relisten_try(), after `ms` or l->most_ms, whichever is
 * less. Without memory for it there are no more retries, and the log says so.
 * Called by vc__relisten_lost(), later_run(), and by relisten_try() if it is
 * too early. */
static void
relisten_after(struct vc__listening *l, uint32_t ms)
{
    struct vc__error why;

    l->wait_ms = ms < l->most_ms ? ms : l->most_ms;
    if (vc__timer_start(&progress_of(l)->engine.timers, &l->again,
                        vc__after_ms(vc__now(), l->wait_ms), relisten_try))
        return;
    vc__error_put(&why, VC_RESOURCE_EXHAUSTED,
                  "out of memory for a timer: close this server, and make a "
                  "new one");
    lost_set(l, true, &why);
    vc__server_log(l->server, VC__LOG_LISTEN_LOST, "does not listen again: %s",
                   why.text);
}

/* Called by relisten_try(): true if l is in the server's list. The thread that
 * opened the listener adds it to the list and reads it for the log; the
 * listener must not change before that. */
static bool
is_listed(struct vc__listening *l)
{
    bool listed;

    pthread_mutex_lock(&l->server->lock);
    listed = l->listed;
    pthread_mutex_unlock(&l->server->lock);
    return listed;
}

/* The timer of relisten_after(): tries to listen again, or for the first time.
 * If l is not listed yet, starts the timer anew. */
static void
relisten_try(struct vc__timer *timer)
{
    struct vc__listening *l =
        caa_container_of(timer, struct vc__listening, again);

    if (is_listed(l))
        vc__listener_again(&l->listener, &progress_of(l)->cm, l->transport,
                           (const struct sockaddr *)&l->addr,
                           &l->server->ear_opts);
    else
        relisten_after(l, l->wait_ms);
}

void
vc__relisten_stop(struct vc__listening *l)
{
    vc__timer_stop(&progress_of(l)->engine.timers, &l->again);
}

/* --- start ---------------------------------------------------------------- */

void
vc__relisten_lost(struct vc__listener *listener, const struct vc__error *why)
{
    struct vc__listening *l =
        caa_container_of(listener, struct vc__listening, listener);
    bool tried = l->lost; /* only this thread changes it */

    lost_set(l, true, why);
    if (!tried)
        l->most_ms = WAIT_LOST_MS;
    relisten_after(l, tried ? l->wait_ms * 2 : WAIT_FIRST_MS);
}

void
vc__relisten_back(struct vc__listener *listener)
{
    struct vc__listening *l =
        caa_container_of(listener, struct vc__listening, listener);

    lost_set(l, false, NULL);
    vc__listening_log(l, l->most_ms == WAIT_LOST_MS ? "again " : "");
}

/* Runs on engine 0, so that no thread can close the server between the two
 * steps. */
struct later {
    struct vc__task task;
    struct vc__waiter waiter;
    struct vc__listening *l;
};

/* A task on engine 0, posted by vc__relisten_later(), which waits for it: adds
 * the listener to the server's list, and starts its timer. */
static void
later_run(struct vc__task *task)
{
    struct later *later = caa_container_of(task, struct later, task);

    vc__listening_list(later->l);
    relisten_after(later->l, WAIT_FIRST_MS);
    vc__waiter_done(&later->waiter);
}

void
vc__relisten_later(struct vc__listening *l, const struct vc__error *why)
{
    struct vc__engine *engine = &progress_of(l)->engine;
    struct later later = {.task.run = later_run, .l = l};

    l->lost = true;
    l->why = *why;
    l->most_ms = WAIT_LACK_MS;
    vc__server_log(l->server, VC__LOG_STARVED,
                   "does not listen over %s yet: %s; it tries again",
                   l->transport->scheme, why->text);
    vc__waiter_init(&later.waiter);
    vc__engine_post(engine, &later.task);
    vc__engine_wait(engine, &later.waiter, VC__FOREVER);
}
