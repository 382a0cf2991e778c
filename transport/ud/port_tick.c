/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The tick of a port: sends again what was not acknowledged in time, and
 * acknowledges what nothing has acknowledged yet. One timer serves all wires,
 * as any thread may send, but only the holder may start a timer. It runs while
 * a wire has something due, and a little longer, so that a row of calls does
 * not have it started for each. See transport/ud/port.h. */
#include "transport/ud/wire.h"

/* The tick comes no sooner and no later than so. */
#define TICK_LEAST_US 4000u
#define TICK_MOST_US  20000u
/* The tick stops after so many in a row without a busy wire. */
#define IDLE_TICKS 3u

void
vc__ud_busy(struct vc__ud_port *p, struct vc__ud_wire *u)
{
    bool is_busy = !cds_list_empty(&u->busy);

    /* The tick looks at all busy wires, so what is due need not be known. */
    if ((is_busy && p->ticking) || vc__ud_due(u) == VC__FOREVER)
        return;
    if (!is_busy)
        cds_list_add_tail(&u->busy, &p->busy);
    if (p->ticking)
        return;
    p->ticking = true;
    vc__engine_post(p->device->engine, &p->arm);
}

/* Starts the timer for this time. For vc__ud_tick() and vc__ud_tick_arm().
 * Without memory for it, nothing is sent again until the next start. */
static void
tick_start(struct vc__ud_port *p, uint64_t due)
{
    if (vc__timer_start(&p->device->engine->timers, &p->tick, due, vc__ud_tick))
        return;
    pthread_mutex_lock(&p->lock);
    p->ticking = false;
    pthread_mutex_unlock(&p->lock);
}

void
vc__ud_tick_arm(struct vc__task *task)
{
    struct vc__ud_port *p = caa_container_of(task, struct vc__ud_port, arm);

    p->idle_ticks = 0;
    if (!vc__timer_running(&p->tick))
        tick_start(p, vc__now() + TICK_LEAST_US);
}

/* Serves the busy wires; returns when the next of them has something to do,
 * VC__FOREVER if none has. (P). For vc__ud_tick(). */
static uint64_t
busy_serve(struct vc__ud_port *p, uint64_t now)
{
    struct vc__ud_wire *u, *next;
    uint64_t soonest = VC__FOREVER;

    cds_list_for_each_entry_safe (u, next, &p->busy, busy) {
        uint64_t due = vc__ud_due(u);

        if (due <= now) {
            vc__ud_send_due(u, now);
            vc__ud_count(u);
            due = vc__ud_due(u);
        }
        if (due == VC__FOREVER)
            cds_list_del_init(&u->busy);
        else if (due < soonest)
            soonest = due;
    }
    return soonest;
}

/* Returns a wire whose peer has been silent for too long while it owes an
 * acknowledgement; NULL if there is none. (P). For vc__ud_tick(). */
static struct vc__ud_wire *
dead_find(const struct vc__ud_port *p, uint64_t now)
{
    struct vc__ud_wire *u;

    cds_list_for_each_entry (u, &p->busy, busy) {
        if (u->reliable.unacked != u->reliable.next && !u->notified &&
            now - u->heard > VC__UD_SILENCE_US)
            return u;
    }
    return NULL;
}

void
vc__ud_tick(struct vc__timer *timer)
{
    struct vc__ud_port *p = caa_container_of(timer, struct vc__ud_port, tick);
    uint64_t now = vc__now(), soonest;
    struct vc__ud_wire *dead;

    pthread_mutex_lock(&p->lock);
    soonest = busy_serve(p, now);
    p->idle_ticks = soonest == VC__FOREVER ? p->idle_ticks + 1 : 0;
    if (p->idle_ticks > IDLE_TICKS)
        p->ticking = false;
    dead = dead_find(p, now);
    if (dead != NULL)
        dead->notified = true;
    pthread_mutex_unlock(&p->lock);

    if (p->idle_ticks <= IDLE_TICKS) {
        if (soonest < now + TICK_LEAST_US)
            soonest = now + TICK_LEAST_US;
        if (soonest > now + TICK_MOST_US)
            soonest = now + TICK_MOST_US;
        tick_start(p, soonest);
    }
    if (dead != NULL)
        dead->wire.ops->failed(&dead->wire, "its peer acknowledges nothing");
}
