/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/relisten.h. */
#include "rpc/server/relisten.h"

#include "rpc/runtime.h"

#define WAIT_FIRST_MS 1000u
/* A device that was removed comes back soon, if at all; that of a machine that
 * has none is not looked for all the time. */
#define WAIT_LOST_MS  4000u
#define WAIT_NEVER_MS 64000u

static struct vc__progress *
progress_of(const struct vc__listening *l)
{
    return &l->server->runtime->progress[0];
}

static void
lost_set(struct vc__listening *l, bool lost, const struct vc__error *why)
{
    pthread_mutex_lock(&l->server->lock);
    l->lost = lost;
    if (lost)
        l->why = *why;
    pthread_mutex_unlock(&l->server->lock);
}

static void relisten_try(struct vc__timer *timer);

static void
relisten_after(struct vc__listening *l, uint32_t ms)
{
    l->wait_ms = ms;
    vc__timer_start(&progress_of(l)->engine.timers, &l->again,
                    vc__after_ms(vc__now(), ms), relisten_try);
}

static void
relisten_try(struct vc__timer *timer)
{
    struct vc__listening *l =
        caa_container_of(timer, struct vc__listening, again);
    uint32_t most = l->has_listened ? WAIT_LOST_MS : WAIT_NEVER_MS;
    enum vc_status status;

    vc__listener_close(&l->listener);
    status = vc__listener_open(&l->listener, &progress_of(l)->cm, l->transport,
                               (const struct sockaddr *)&l->addr,
                               &l->server->ear_opts);
    lost_set(l, status != VC_OK, vc__error_last());
    if (status == VC_OK)
        l->has_listened = true;
    else
        relisten_after(l, l->wait_ms * 2 < most ? l->wait_ms * 2 : most);
}

static void
relisten_begin(struct vc__task *task)
{
    relisten_after(caa_container_of(task, struct vc__listening, begin),
                   WAIT_FIRST_MS);
}

void
vc__relisten_later(struct vc__listening *l, const struct vc__error *why)
{
    lost_set(l, true, why);
    l->begin.run = relisten_begin;
    vc__engine_post(&progress_of(l)->engine, &l->begin);
}

void
vc__relisten_lost(struct vc__listener *listener, const struct vc__error *why)
{
    struct vc__listening *l =
        caa_container_of(listener, struct vc__listening, listener);

    lost_set(l, true, why);
    relisten_after(l, WAIT_FIRST_MS);
}

void
vc__relisten_stop(struct vc__listening *l)
{
    vc__timer_stop(&progress_of(l)->engine.timers, &l->again);
}
