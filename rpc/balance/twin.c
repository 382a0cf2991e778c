/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/twin.h. "The lock" is that of the server's pool. */
#include "rpc/balance/twin.h"

#include <stdlib.h>
#include <string.h>

#include "cm/pool/gate.h"

struct vc__twin {
    struct vc__gate gate; /* no client is held by it */
    struct vc__servers *servers;
    struct vc__subchannel *sub;
    struct vc__task turn;
    bool followed; /* of the caller of vc__twins_follow(), then constant */
    bool posted;   /* lock: true while `turn` is posted */
    bool ended;    /* lock */
    bool moved;    /* lock; it was elsewhere when it was connected last, */
    struct sockaddr_storage home; /* lock; here */
    atomic_bool away; /* it is elsewhere. Relaxed: a turn follows each change */
};

/* For twin_on_changed() and vc__twins_follow(), under the lock, on any thread:
 * has twins_turn() run soon, on the holder. Does nothing after
 * vc__twin_end(). */
static void
twin_post(struct vc__twin *t)
{
    if (!t->posted && !t->ended)
        vc__engine_post(t->servers->engine, &t->turn);
    t->posted |= !t->ended;
}

/* For twin_on_changed(), under the lock: the server is connected, and this is
 * its peer. If a redirect has led to another server than before, or one of
 * before has ended, calls of before do not count as outliers. */
static void
twin_connected(struct vc__twin *t, const struct vc__peer *peer)
{
    if ((peer->moved || t->moved) &&
        memcmp(&t->home, &peer->home, sizeof t->home) != 0)
        vc__outlier_begin(&t->sub->outlier);
    t->moved = peer->moved;
    t->home = peer->home;
}

/* changed() of the gate, when the server was connected or lost, and when
 * vc__twins_follow() begins to follow it: any thread, under the lock. Notes
 * where the server is, and has twins_turn() run if any server of the channel
 * has ever redirected. */
static void
twin_on_changed(struct vc__gate *gate)
{
    struct vc__twin *t = caa_container_of(gate, struct vc__twin, gate);
    const struct vc__peer *peer = gate->pool->peer;
    bool away = gate->up && peer != NULL && peer->moved;

    if (gate->up && peer != NULL)
        twin_connected(t, peer);
    atomic_store_explicit(&t->away, away, memory_order_relaxed);
    /* Relaxed, also in vc__twins_follow(): it is set for ever. */
    if (away)
        atomic_store_explicit(&t->servers->moves, true, memory_order_relaxed);
    if (atomic_load_explicit(&t->servers->moves, memory_order_relaxed))
        twin_post(t);
}

/* Where a server is. */
struct twin_place {
    bool up, moved;
    uint8_t instance[VC__ID_SIZE];
    struct sockaddr_storage home;
};

/* Returns where a server is, for has_twin(); not `up` if no link takes calls.
 * Takes the lock. On the holder. */
static struct twin_place
twin_place_of(const struct vc__subchannel *s)
{
    struct twin_place at = {.up = false};
    const struct vc__peer *peer;

    vc__lock_take(&s->pool->lock);
    peer = s->pool->peer;
    if (peer != NULL && vc__pool_health(s->pool) == VC__POOL_READY) {
        at.up = true;
        at.moved = peer->moved;
        at.home = peer->home;
        memcpy(at.instance, peer->instance, sizeof at.instance);
    }
    vc__lock_give(&s->pool->lock);
    return at;
}

/* For twins_turn(), on the holder: true if server i has redirected, and another
 * server of the set is connected at the same one, which belongs there or stands
 * before i in the list. */
static bool
has_twin(const struct vc__server_set *set, unsigned i)
{
    struct twin_place mine = twin_place_of(set->sub[i]);
    bool found = false;

    for (unsigned k = 0; k < set->n && mine.up && mine.moved && !found; k++) {
        struct twin_place other;

        if (k == i)
            continue;
        other = twin_place_of(set->sub[k]);
        found =
            other.up && (!other.moved || k < i) &&
            memcmp(other.instance, mine.instance, sizeof mine.instance) == 0 &&
            memcmp(&other.home, &mine.home, sizeof mine.home) == 0;
    }
    return found;
}

/* The task of twin_post(): looks at all servers of the channel, bars those that
 * have a twin, and ends that bar of the others. Does nothing after
 * vc__twin_end(). On the holder. */
static void
twins_turn(struct vc__task *task)
{
    struct vc__twin *t = caa_container_of(task, struct vc__twin, turn);
    const struct vc__server_set *set;
    bool ended;

    vc__lock_take(&t->sub->pool->lock);
    t->posted = false;
    ended = t->ended;
    vc__lock_give(&t->sub->pool->lock);
    if (ended) /* other servers may be freed */
        return;
    set = vc__servers_enter(t->servers);
    for (unsigned i = 0; i < set->n; i++) {
        struct vc__twin *of = set->sub[i]->twin;
        bool away =
            of != NULL && atomic_load_explicit(&of->away, memory_order_relaxed);

        vc__subchannel_bar(set->sub[i], VC__BAR_TWIN,
                           away && has_twin(set, i) ? VC__BAR_TWIN : 0);
    }
    vc__servers_exit(t->servers);
}

struct vc__twin *
vc__twin_new(struct vc__servers *sv, struct vc__subchannel *s)
{
    struct vc__twin *t = calloc(1, sizeof *t);

    if (t == NULL)
        return NULL;
    t->servers = sv;
    t->sub = s;
    t->gate.changed = twin_on_changed;
    t->turn.run = twins_turn;
    return t;
}

void
vc__twins_follow(const struct vc__server_set *set)
{
    struct vc__twin *t = NULL;

    for (unsigned i = 0; i < set->n; i++) {
        t = set->sub[i]->twin;
        if (t != NULL && !t->followed) {
            t->followed = true;
            vc__gate_begin(&t->gate, t->sub->pool);
        }
    }
    if (t == NULL ||
        !atomic_load_explicit(&t->servers->moves, memory_order_relaxed))
        return;
    vc__lock_take(&t->sub->pool->lock);
    twin_post(t);
    vc__lock_give(&t->sub->pool->lock);
}

void
vc__twin_end(struct vc__twin *t)
{
    if (t->followed)
        vc__gate_end(&t->gate);
    vc__lock_take(&t->sub->pool->lock);
    t->ended = true;
    vc__lock_give(&t->sub->pool->lock);
}

void
vc__twin_free(struct vc__twin *t)
{
    free(t);
}
