/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See cm/pool/gate.h, also for threads and locks. */
#include "cm/pool/gate.h"

#include "cm/pool/client.h"
#include "cm/pool/pool.h"

/* Sets the state for the gate and its clients, under the lock. Called by
 * gate_follow() and vc__gate_set(). */
static void
gate_move(struct vc__gate *g, enum vc__gate_state state)
{
    struct vc__client *c;

    g->state = state;
    cds_list_for_each_entry (c, &g->pool->clients, node) {
        if (c->gate == g)
            c->held = state != VC__GATE_OPEN;
    }
}

/* A link takes calls, or none does any more: for vc__gate_begin() and
 * vc__gates_follow(), under the lock. */
static void
gate_follow(struct vc__gate *g, bool up)
{
    g->up = up;
    gate_move(g, VC__GATE_WAITS);
    g->changed(g);
}

void
vc__gate_begin(struct vc__gate *g, struct vc__pool *pool)
{
    g->pool = pool;
    vc__lock_take(&pool->lock);
    cds_list_add_tail(&g->node, &pool->gates);
    gate_follow(g, vc__pool_health(pool) == VC__POOL_READY);
    vc__lock_give(&pool->lock);
}

void
vc__gate_end(struct vc__gate *g)
{
    vc__lock_take(&g->pool->lock);
    cds_list_del(&g->node);
    vc__lock_give(&g->pool->lock);
}

void
vc__gate_admit(struct vc__gate *g, struct vc__client *c)
{
    vc__lock_take(&g->pool->lock);
    c->gate = g;
    c->held = g->state != VC__GATE_OPEN;
    vc__lock_give(&g->pool->lock);
}

/* For vc__gate_set(), under the lock: the requests that have waited are sent,
 * or, if the gate is shut, taken out. */
static void
waiting_release(struct vc__gate *g, struct cds_list_head *ended)
{
    struct vc__client *c;

    cds_list_for_each_entry (c, &g->pool->clients, node) {
        if (c->gate != g)
            continue;
        if (g->state == VC__GATE_OPEN)
            vc__client_launch(c);
        else if (g->state == VC__GATE_SHUT)
            vc__client_take(c, ended);
    }
}

void
vc__gate_set(struct vc__gate *g, enum vc__gate_state state,
             const struct vc__error *why)
{
    struct vc__pool *p = g->pool;
    struct vc__error error;
    CDS_LIST_HEAD(ended);

    vc__lock_take(&p->lock);
    if (!g->up) {
        vc__lock_give(&p->lock);
        return;
    }
    if (why != NULL)
        g->why = error = *why;
    gate_move(g, state);
    waiting_release(g, &ended);
    vc__lock_give(&p->lock);
    vc__pool_push(p);
    if (!cds_list_empty(&ended))
        vc__requests_fail(&ended, &error, VC_OUTCOME_NOT_EXECUTED);
}

bool
vc__gate_is_up(struct vc__gate *g)
{
    bool up;

    vc__lock_take(&g->pool->lock);
    up = g->up;
    vc__lock_give(&g->pool->lock);
    return up;
}

void
vc__gates_follow(struct vc__pool *p, bool up)
{
    struct vc__gate *g;

    cds_list_for_each_entry (g, &p->gates, node) {
        if (g->up != up)
            gate_follow(g, up);
    }
}

bool
vc__gate_refuses(const struct vc__client *c, struct vc__error *error)
{
    if (c->gate->state != VC__GATE_SHUT)
        return false;
    *error = c->gate->why;
    error->outcome = VC_OUTCOME_NOT_EXECUTED;
    return true;
}
