/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/servers.h. */
#include "rpc/balance/servers.h"

#include <stdio.h>
#include <stdlib.h>

#include "rpc/balance/changes.h"
#include "rpc/balance/custom.h"
#include "rpc/balance/ejections.h"
#include "rpc/balance/health_watch.h"
#include "rpc/balance/loads.h"
#include "rpc/balance/server_line.h"
#include "rpc/balance/target_list.h"
#include "rpc/balance/twin.h"
#include "rpc/runtime.h"

/* The most servers to which a call goes on at once when it cannot be sent. */
#define MOVES 8u
/* How often a look tells whether a server fails. */
#define LOOK_US UINT64_C(1000000)

/* --- the life of subchannels ---------------------------------------------- */

/* One of those that vc__servers_close() waits for is gone: for server_gone() a
 * subchannel, on the holder; for vc__servers_close() the channel, on the thread
 * that closes or opens it. The last one ends that wait. */
static void
servers_leave(struct vc__servers *sv)
{
    /* Release: what the others have freed is free before the last one says
     * so. */
    if (atomic_fetch_sub_explicit(&sv->alive, 1, memory_order_acq_rel) == 1)
        vc__waiter_done(&sv->no_more);
}

/* gone() of a subchannel, which is closed: on the holder, by a task. Frees it,
 * unless it is sv->first. */
static void
server_gone(struct vc__subchannel *s)
{
    struct vc__servers *sv = s->owner;

    if (sv->changes != NULL)
        vc__changes_gone(sv->changes, s);
    if (s != &sv->first)
        free(s);
    servers_leave(sv);
}

/* For vc__servers_add(): makes what watches the health of the server, if that
 * is wanted, and whether it is a twin, unless it is sv->only; opens it, and has
 * it connected ahead, if that is wanted. False if memory is short: nothing is
 * left. */
static bool
server_begin(struct vc__servers *sv, struct vc__subchannel *s,
             const struct vc__pool_opts *opts)
{
    bool watches = sv->health_service != NULL && !opts->nowhere;
    bool several = sv->only == NULL && !opts->nowhere;

    if (watches)
        s->watch = vc__health_watch_new(sv->health_service);
    if (several)
        s->twin = vc__twin_new(sv, s);
    if ((watches && s->watch == NULL) || (several && s->twin == NULL) ||
        !vc__subchannel_open(s, sv->pools, opts)) {
        vc__health_watch_free(s->watch);
        vc__twin_free(s->twin);
        s->watch = NULL;
        s->twin = NULL;
        return false;
    }
    if (watches)
        vc__health_watch_begin(s->watch, s);
    vc__pool_ahead_begin(s->pool);
    return true;
}

struct vc__subchannel *
vc__servers_add(struct vc__servers *sv, const struct vc__pool_opts *opts)
{
    bool own = sv->only == &sv->first && sv->first.pool == NULL;
    struct vc__subchannel *s = own ? &sv->first : calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->gone = server_gone;
    s->owner = sv;
    if (server_begin(sv, s, opts)) {
        atomic_fetch_add_explicit(&sv->alive, 1, memory_order_relaxed);
        return s;
    }
    if (!own)
        free(s);
    return NULL;
}

/* --- fixed targets -------------------------------------------------------- */

/* For servers_fill(): opens server i of the target. Errors as of
 * vc__servers_open(); then set->sub[i] stays NULL. */
static enum vc_status
server_open(struct vc__servers *sv, struct vc__server_set *set,
            const char *target, unsigned i, struct vc__target_opts *opts)
{
    char text[VC__TARGET_LIST_TEXT];
    struct vc__pool_opts pool;
    enum vc_status status = vc__target_list_get(target, i, text);

    if (status == VC_OK)
        status = vc__target_opts_fill(opts, &pool, text);
    if (status != VC_OK)
        return status;
    if (set->about != NULL) {
        set->about[i].weight = 1;
        snprintf(set->about[i].target, sizeof set->about[i].target, "%s", text);
    }
    set->sub[i] = vc__servers_add(sv, &pool);
    return set->sub[i] != NULL
               ? VC_OK
               : vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
}

/* For vc__servers_open(): zeroed memory for what is said of n servers. NULL:
 * nothing is said of sv->only; or memory is short. */
static struct vc__endpoint *
about_new(const struct vc__servers *sv, unsigned n)
{
    return sv->only != NULL ? NULL : calloc(n, sizeof(struct vc__endpoint));
}

/* For vc__servers_open(), with its errors: opens all servers of the target,
 * arranges the set for the policy, and begins to follow the servers for twins.
 * After an error those that were opened are in sv->set, and the rest of it is
 * NULL. */
static enum vc_status
servers_fill(struct vc__servers *sv, const char *target,
             struct vc__target_opts *opts)
{
    struct vc__server_set *set = atomic_load(&sv->set);
    enum vc_status status = VC_OK;

    for (unsigned i = 0; i < set->n && status == VC_OK; i++)
        status = server_open(sv, set, target, i, opts);
    if (status == VC_OK &&
        !vc__server_set_arrange(set, sv->picker.policy, sv->label))
        status = vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    if (status == VC_OK && !vc__custom_build(sv->picker.custom, sv->label, set))
        status = vc__error_last()->status;
    if (status == VC_OK)
        vc__twins_follow(set);
    return status;
}

void
vc__servers_init(struct vc__servers *sv, struct vc__progress *progress)
{
    sv->engine = &progress->engine;
    sv->pools = &progress->pools;
    atomic_init(&sv->alive, 1);
    vc__waiter_init(&sv->no_more);
}

enum vc_status
vc__servers_open(struct vc__servers *sv, struct vc__progress *progress,
                 const char *target, struct vc__target_opts *opts)
{
    struct vc__endpoint *about;
    unsigned n;
    enum vc_status status = vc__target_list_count(target, &n);
    struct vc__error error;

    vc__servers_init(sv, progress);
    if (status != VC_OK)
        return status;
    /* A policy of the program's own is asked even for one. */
    sv->only = n == 1 && sv->picker.custom == NULL ? &sv->first : NULL;
    about = about_new(sv, n);
    atomic_init(&sv->set, about == NULL && sv->only == NULL
                              ? NULL
                              : vc__server_set_new(n, about));
    if (atomic_load(&sv->set) == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    status = servers_fill(sv, target, opts);
    if (status == VC_OK)
        return VC_OK;
    error = *vc__error_last();
    vc__servers_close(sv); /* other tasks may fail meanwhile */
    return vc__error_raise(&error);
}

enum vc_status
vc__servers_place(struct vc__servers *sv, const struct vc__target_opts *opts)
{
    struct vc__pool_opts pool = opts->pool;
    struct vc__subchannel *place;

    pool.nowhere = pool.recalls = true;
    pool.choice.n = 0;
    place = vc__servers_add(sv, &pool);
    if (place != NULL) {
        CDS_INIT_LIST_HEAD(&place->node); /* for vc__changes_gone() */
        /* Release: pairs with vc__custom_settle(). */
        atomic_store_explicit(&sv->picker.custom->place, place,
                              memory_order_release);
        return VC_OK;
    }
    vc__servers_shut(sv);
    vc__servers_close(sv);
    return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
}

/* --- for an attempt ------------------------------------------------------- */

/* For vc__servers_pick(), in its critical section: true if one of the servers
 * fails, though perhaps no call needs that one. It looks once a second at most,
 * and is false between. */
static bool
one_fails(struct vc__servers *sv, const struct vc__server_set *set,
          uint64_t now)
{
    /* Relaxed, as below and in vc__servers_quick(): if two threads look, the
     * resolver asks once. */
    if (now < atomic_load_explicit(&sv->look_at, memory_order_relaxed))
        return false;
    atomic_store_explicit(&sv->look_at, now + LOOK_US, memory_order_relaxed);
    for (unsigned i = 0; i < set->n; i++) {
        if (vc__pool_health(set->sub[i]->pool) == VC__POOL_FAILING)
            return true;
    }
    return false;
}

struct vc__subchannel *
vc__servers_pick(struct vc__servers *sv, const struct vc__pick *pick,
                 struct vc__subchannel **held)
{
    const struct vc__server_set *set;
    struct urcu_bp_reader *reader;
    struct vc__subchannel *s;
    bool again;

    *held = NULL;
    if (!sv->holds)
        return vc__picker_pick(
            &sv->picker, atomic_load_explicit(&sv->set, memory_order_relaxed),
            pick);
    reader = vc__rcu_lock();
    /* Acquire: pairs with the store in set_publish() of changes.c. */
    set = atomic_load_explicit(&sv->set, memory_order_acquire);
    s = vc__picker_pick(&sv->picker, set, pick);
    again = sv->changes != NULL && one_fails(sv, set, pick->now);
    vc__subchannel_hold(s); /* last: for ThreadSanitizer it ends the section */
    vc__rcu_unlock(reader);
    if (again)
        vc__changes_again(sv->changes, pick->now);
    *held = s;
    return s;
}

struct vc__server_set *
vc__servers_enter(const struct vc__servers *sv)
{
    if (sv->changes != NULL)
        vc__changes_lock(sv->changes);
    return atomic_load_explicit(&sv->set, memory_order_acquire);
}

void
vc__servers_exit(const struct vc__servers *sv)
{
    if (sv->changes != NULL)
        vc__changes_unlock(sv->changes);
}

/* For vc__servers_elsewhere(): true if the pool is that of one of the
 * servers. */
static bool
server_has(const struct vc__server_set *set, const struct vc__pool *pool)
{
    for (unsigned i = 0; i < set->n; i++) {
        if (set->sub[i]->pool == pool)
            return true;
    }
    return false;
}

bool
vc__servers_elsewhere(struct vc__servers *sv, const struct vc__pool *before,
                      unsigned moved)
{
    const struct vc__server_set *set;
    bool elsewhere;

    if (sv->only != NULL || moved >= MOVES)
        return false;
    set = vc__servers_enter(sv);
    if (before != NULL && before->opts.nowhere)
        elsewhere = set->sub[0]->pool != before; /* they are known now */
    else
        elsewhere = (moved + 1 < set->n || !server_has(set, before)) &&
                    vc__picker_elsewhere(set, before);
    vc__servers_exit(sv);
    return elsewhere;
}

void
vc__servers_count(struct vc__servers *sv, enum vc__pool_count which)
{
    vc__pool_count_one(vc__servers_enter(sv)->sub[0]->pool, which);
    vc__servers_exit(sv);
}

/* --- for the program ------------------------------------------------------ */

/* For vc__servers_connect(): server i of those that there are now, held; NULL:
 * there are not so many. */
static struct vc__subchannel *
server_get(const struct vc__servers *sv, unsigned i)
{
    struct vc__server_set *set = vc__servers_enter(sv);
    struct vc__subchannel *s = i < set->n ? set->sub[i] : NULL;

    if (s != NULL)
        vc__subchannel_hold(s);
    vc__servers_exit(sv);
    return s;
}

/* True if one of several servers is connected. For vc__servers_connect(). */
static bool
has_ready(const struct vc__servers *sv)
{
    const struct vc__server_set *set = vc__servers_enter(sv);
    bool ready = false;

    for (unsigned i = 0; set->n > 1 && i < set->n; i++)
        ready |= vc__pool_health(set->sub[i]->pool) == VC__POOL_READY;
    vc__servers_exit(sv);
    return ready;
}

enum vc_status
vc__servers_connect(struct vc__servers *sv, const struct vc_service *service,
                    const void *owner, const atomic_bool *closing)
{
    enum vc_status status = VC_OK;
    struct vc__subchannel *s;
    bool nowhere;

    if (has_ready(sv))
        return VC_OK;
    for (unsigned i = 0; (s = server_get(sv, i)) != NULL; i++) {
        nowhere = s->pool->opts.nowhere;
        status = vc__pool_connect(s->pool, service, owner, closing);
        vc__subchannel_put(s);
        if (status == VC_OK || status == VC_CANCELLED)
            break;
        /* The servers are known since: begin with the first of them. */
        if (nowhere && vc__changes_have(sv->changes))
            i = UINT32_MAX;
    }
    return status;
}

/* For vc__servers_describe(): the line of server i, unless it is sv->only and
 * not watched, and those of its pool. Returns their length, as snprintf(); 0 if
 * its pool leads nowhere. */
static size_t
server_describe(const struct vc__servers *sv, const struct vc__server_set *set,
                unsigned i, bool weighs, char *text, size_t size)
{
    struct vc__pool *pool = set->sub[i]->pool;
    size_t len, used;

    if (sv->only != NULL && sv->health_service == NULL)
        return vc__pool_describe(pool, text, size);
    if (pool->opts.nowhere)
        return 0; /* vc__changes_describe() says so */
    len = vc__server_line(set, i, weighs, text, size);
    used = len < size ? len : size;
    return len +
           vc__pool_describe(pool, size == 0 ? text : text + used, size - used);
}

size_t
vc__servers_describe(const struct vc__servers *sv, char *text, size_t size)
{
    const struct vc__server_set *set = vc__servers_enter(sv);
    bool weighs = !vc__server_set_is_equal(set);
    size_t len = 0;

    for (unsigned i = 0; i < set->n; i++) {
        size_t used = len < size ? len : size;

        len += server_describe(sv, set, i, weighs,
                               size == 0 ? text : text + used, size - used);
    }
    if (sv->changes != NULL) {
        size_t used = len < size ? len : size;

        len += vc__changes_describe(sv->changes, size == 0 ? text : text + used,
                                    size - used);
    }
    vc__servers_exit(sv);
    return len;
}

/* --- closing -------------------------------------------------------------- */

void
vc__servers_shut(struct vc__servers *sv)
{
    if (sv->ejections != NULL)
        vc__ejections_stop(sv->ejections);
    if (sv->loads != NULL)
        vc__loads_stop(sv->loads);
    if (sv->changes != NULL)
        vc__changes_shut(sv->changes);
}

void
vc__servers_cancel(struct vc__servers *sv, const void *owner)
{
    const struct vc__server_set *set;

    if (sv->picker.custom != NULL)
        vc__subchannel_cancel(sv->picker.custom->place, owner);
    if (sv->changes != NULL) {
        vc__changes_cancel(sv->changes, owner);
        return;
    }
    set = atomic_load(&sv->set);
    for (unsigned i = 0; i < set->n; i++)
        vc__subchannel_cancel(set->sub[i], owner);
}

void
vc__servers_close(struct vc__servers *sv)
{
    struct vc__server_set *set = atomic_load(&sv->set);

    for (unsigned i = 0; i < set->n && set->sub[i] != NULL; i++)
        vc__subchannel_put(set->sub[i]);
    if (sv->picker.custom != NULL && sv->picker.custom->place != NULL)
        vc__subchannel_put(sv->picker.custom->place);
    servers_leave(sv);
    /* Ends with the disconnect handshakes, which have timers. */
    vc__engine_wait(sv->engine, &sv->no_more, VC__FOREVER);
    vc__ejections_free(sv->ejections);
    vc__changes_free(sv->changes);
    vc__server_set_free(set);
}
