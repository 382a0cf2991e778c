/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The tick of a port: sends again what was not acknowledged in time, and
 * acknowledges what nothing has acknowledged yet. One timer serves all wires,
 * as any thread may send, but only the holder may start a timer. It runs while
 * a wire has something due, and a little longer, so that a row of calls does
 * not have it started for each. When all that is due is far away, as on a
 * client whose server is slow, the tick is, too: a thousand such clients would
 * take all of a processor by looking every 20 ms. See transport/ud/port.h. */
#include "transport/ud/wire.h"

/* The tick comes no sooner than so; and no later, unless it is a far one. */
#define TICK_LEAST_US 4000u
#define TICK_MOST_US  20000u
/* The tick stops after so many in a row without a busy wire. */
#define IDLE_TICKS 3u
/* A tick that is later has found this process asleep, or a client without
 * library threads between two calls: what its peers have sent meanwhile may not
 * have been received yet, so none of them is dead. */
#define TICK_LATE_US 1000000u

void
vc__ud_busy(struct vc__ud_port *p, struct vc__ud_wire *u)
{
    bool is_busy = !cds_list_empty(&u->busy);
    uint64_t due;

    /* The tick looks at all busy wires, so what is due need not be known. */
    if (is_busy && p->ticking && p->tick_far == 0)
        return;
    due = vc__ud_due(u);
    if (due == VC__FOREVER)
        return;
    if (!is_busy)
        cds_list_add_tail(&u->busy, &p->busy);
    if (p->ticking && due >= p->tick_far)
        return;
    p->ticking = true;
    p->tick_far = 0;
    if (p->arm_posted)
        return;
    p->arm_posted = true;
    vc__engine_post(p->device->engine, &p->arm);
}

/* Starts the timer for this time, or moves it there. For vc__ud_tick() and
 * vc__ud_tick_arm(). Without memory for it, nothing is sent again until the
 * next start. */
static void
tick_start(struct vc__ud_port *p, uint64_t due)
{
    if (vc__timer_start(&p->device->engine->timers, &p->tick, due, vc__ud_tick))
        return;
    vc__lock_take(&p->lock);
    p->ticking = false;
    vc__lock_give(&p->lock);
}

void
vc__ud_tick_arm(struct vc__task *task)
{
    struct vc__ud_port *p = caa_container_of(task, struct vc__ud_port, arm);
    uint64_t at = vc__now() + TICK_LEAST_US;

    /* A tick since the post may have set them to something else. */
    vc__lock_take(&p->lock);
    p->arm_posted = false;
    p->ticking = true;
    p->tick_far = 0;
    vc__lock_give(&p->lock);
    p->idle_ticks = 0;
    if (!vc__timer_running(&p->tick) || p->tick.due > at)
        tick_start(p, at);
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
            vc__ud_is_silent(u->heard, now))
            return u;
    }
    return NULL;
}

/* When the tick comes next, if this is due first: VC__FOREVER is nothing. Notes
 * whether that is far. (P). For vc__ud_tick(). */
static uint64_t
tick_next(struct vc__ud_port *p, uint64_t now, uint64_t soonest)
{
    p->tick_far = 0;
    if (soonest < now + TICK_LEAST_US)
        return now + TICK_LEAST_US;
    if (soonest <= now + TICK_MOST_US)
        return soonest;
    if (soonest == VC__FOREVER)
        return now + TICK_MOST_US;
    p->tick_far = soonest;
    return soonest;
}

void
vc__ud_tick(struct vc__timer *timer)
{
    struct vc__ud_port *p = caa_container_of(timer, struct vc__ud_port, tick);
    uint64_t now = vc__now(), soonest;
    struct vc__ud_wire *dead;

    vc__lock_take(&p->lock);
    vc__ud_port_account(p);
    soonest = busy_serve(p, now);
    p->idle_ticks = soonest == VC__FOREVER ? p->idle_ticks + 1 : 0;
    if (p->idle_ticks > IDLE_TICKS)
        p->ticking = false;
    soonest = tick_next(p, now, soonest);
    dead = now > timer->due + TICK_LATE_US ? NULL : dead_find(p, now);
    if (dead != NULL)
        dead->notified = true;
    vc__lock_give(&p->lock);

    if (p->idle_ticks <= IDLE_TICKS)
        tick_start(p, soonest);
    if (dead != NULL)
        dead->wire.ops->failed(&dead->wire, "its peer acknowledges nothing");
}
