/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/changes.h. */
#include "rpc/balance/changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/balance/change_log.h"
#include "rpc/balance/custom.h"
#include "rpc/balance/endpoint_metadata.h"
#include "rpc/balance/resolver.h"
#include "rpc/balance/twin.h"
#include "rpc/runtime.h"
#include "transport/core/log.h"

void
vc__changes_lock(struct vc__changes *ch)
{
    pthread_mutex_lock(&ch->lock);
}

void
vc__changes_unlock(struct vc__changes *ch)
{
    pthread_mutex_unlock(&ch->lock);
}

bool
vc__changes_have(struct vc__changes *ch)
{
    bool known;

    pthread_mutex_lock(&ch->lock);
    known = ch->known;
    pthread_mutex_unlock(&ch->lock);
    return known;
}

/* --- making a set: for vc__changes_set(), under `changing` ---------------- */

/* For set_fill() and set_undo(): returns the server of this target in the
 * present set; NULL: there is none. Looks first where it mostly is, at place
 * i. */
static struct vc__subchannel *
server_find(const struct vc__server_set *set, const char *target, unsigned i)
{
    if (set->about == NULL)
        return NULL;
    for (unsigned k = 0; k < set->n; k++) {
        unsigned at = (i + k) % set->n;

        if (strcmp(set->about[at].target, target) == 0)
            return set->sub[at];
    }
    return NULL;
}

/* For set_fill(): makes the subchannel of a new server, with one user, the set,
 * and adds it to `alive`. NULL, with the error as this thread's last, if its
 * target is malformed or memory is short. */
static struct vc__subchannel *
server_make(struct vc__changes *ch, const char *target)
{
    struct vc__subchannel *s;
    struct vc__pool_opts opts;

    if (vc__target_opts_fill(&ch->opts, &opts, target) != VC_OK)
        return NULL;
    s = vc__servers_add(ch->servers, &opts);
    if (s == NULL) {
        vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
        return NULL;
    }
    pthread_mutex_lock(&ch->lock);
    cds_list_add_tail(&s->node, &ch->alive);
    pthread_mutex_unlock(&ch->lock);
    return s;
}

/* For set_fill(): true if one of the first n entries of `about`, which are
 * those that have a server, has this target. */
static bool
is_named_twice(const struct vc__server_set *set, unsigned n, const char *target)
{
    for (unsigned i = 0; i < n; i++) {
        if (strcmp(set->about[i].target, target) == 0)
            return true;
    }
    return false;
}

/* Fills the new set, whose `about` has n entries, and arranges it for the
 * policy; leaves out entries that name a server for the second time. Makes the
 * servers that are new, and notes them in `change`. False, with the error as
 * this thread's last, if a server cannot be made, memory is short, or a policy
 * of the program's own refuses the set: then set->n are filled. */
static bool
set_fill(struct vc__changes *ch, struct vc__server_set *set, unsigned n,
         struct vc__change *change)
{
    const struct vc__server_set *former = atomic_load(&ch->servers->set);

    set->n = 0;
    for (unsigned i = 0; i < n; i++) {
        const char *target = set->about[i].target;
        struct vc__subchannel *s = server_find(former, target, set->n);
        bool twice = s == NULL ? is_named_twice(set, set->n, target)
                               : s->round == ch->round;

        if (twice)
            continue;
        if (s == NULL) {
            s = server_make(ch, target);
            if (s == NULL)
                return false;
            vc__change_note(change, s, true);
        }
        s->round = ch->round;
        memmove(&set->about[set->n], &set->about[i], sizeof set->about[i]);
        set->about[set->n].place = set->n;
        set->sub[set->n++] = s;
    }
    if (vc__server_set_arrange(set, ch->servers->picker.policy,
                               ch->servers->label))
        return vc__custom_build(ch->servers->picker.custom, ch->servers->label,
                                set);
    vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    return false;
}

/* For set_publish(), when no choice reads the former set any more, which is
 * `set`: drops those of its servers that this round has not named, and notes
 * them in `change`. */
static void
set_drop(struct vc__changes *ch, const struct vc__server_set *set,
         struct vc__change *change)
{
    /* Acquire: pairs with vc__subchannel_hold(), of choices that have looked at
     * any server of the set. So before the first one is dropped. */
    for (unsigned i = 0; i < set->n; i++)
        atomic_load_explicit(&set->sub[i]->users, memory_order_acquire);
    for (unsigned i = 0; i < set->n; i++) {
        if (set->sub[i]->round != ch->round) {
            /* Relaxed: a stream that sees it late tries there once more. */
            atomic_store_explicit(&set->sub[i]->dropped, true,
                                  memory_order_relaxed);
            vc__change_note(change, set->sub[i], false);
            vc__subchannel_put(set->sub[i]);
        }
    }
}

/* A change that failed: drops the servers that it has made, and frees the
 * set. */
static void
set_undo(struct vc__changes *ch, struct vc__server_set *set)
{
    const struct vc__server_set *former = atomic_load(&ch->servers->set);

    for (unsigned i = 0; i < set->n; i++) {
        if (server_find(former, set->about[i].target, i) == NULL)
            vc__subchannel_put(set->sub[i]);
    }
    vc__server_set_free(set);
}

/* Replaces the set, waits until no choice reads the former one, drops what is
 * only there, and frees it. Returns the place where calls have waited for
 * servers, held, if these are the first; else NULL. */
static struct vc__subchannel *
set_publish(struct vc__changes *ch, struct vc__server_set *set,
            struct vc__change *change)
{
    struct vc__server_set *former = atomic_load(&ch->servers->set);
    struct vc__subchannel *nowhere;

    pthread_mutex_lock(&ch->lock);
    vc__server_set_weigh(set);
    /* Release: pairs with the load in vc__servers_pick(). */
    atomic_store_explicit(&ch->servers->set, set, memory_order_release);
    vc__picker_moved(&ch->servers->picker, former, set);
    change->answers = ch->failure.status != VC_OK;
    ch->failure.status = VC_OK;
    ch->known = true;
    nowhere = ch->nowhere;
    ch->nowhere = NULL;
    if (nowhere != NULL)
        vc__subchannel_hold(nowhere);
    pthread_mutex_unlock(&ch->lock);
    vc__rcu_await();
    vc__custom_settle(ch->servers->picker.custom);
    set_drop(ch, former, change);
    vc__server_set_free(former);
    return nowhere;
}

/* --- changing ------------------------------------------------------------- */

/* For vc__changes_set(), under `changing`: the answer counts, and no redirect
 * of before. Each server that was sent elsewhere is tried at its own address
 * again. Begins to follow the new servers for twins. */
static void
redirects_end(const struct vc__server_set *set)
{
    for (unsigned i = 0; i < set->n; i++)
        vc__pool_go_home(set->sub[i]->pool);
    vc__twins_follow(set);
}

/* For vc__changes_set(), under `changing`: there are servers, so the attempts
 * that wait for them fail, on the holder, and their calls choose again. Puts
 * `nowhere`. */
static void
waiting_end(struct vc__changes *ch, struct vc__subchannel *nowhere)
{
    struct vc__error why;

    vc__error_put(&why, VC_UNAVAILABLE, "%.200s: the servers are known since",
                  ch->target);
    vc__pool_nowhere_fail(nowhere->pool, &why);
    vc__subchannel_put(nowhere);
}

enum vc_status
vc__changes_set(struct vc__changes *ch, struct vc__endpoint *endpoints,
                unsigned n)
{
    struct vc__server_set *set = vc__server_set_new(n, endpoints);
    struct vc__subchannel *nowhere;
    struct vc__change change;

    if (set == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    vc__change_begin(&change, ch->log);
    pthread_mutex_lock(&ch->changing);
    ch->round++;
    if (!set_fill(ch, set, n, &change)) {
        set_undo(ch, set);
        pthread_mutex_unlock(&ch->changing);
        vc__change_end(&change);
        return vc__error_last()->status;
    }
    n = set->n;
    nowhere = set_publish(ch, set, &change);
    redirects_end(set);
    if (nowhere != NULL)
        waiting_end(ch, nowhere);
    pthread_mutex_unlock(&ch->changing);
    vc__change_log(&change, ch->log, ch->target, n);
    vc__change_end(&change);
    return VC_OK;
}

/* For vc__changes_policy(), under `changing`: a new set of the servers of the
 * present one, arranged for this policy from the resolver's order. NULL if
 * memory is short. */
static struct vc__server_set *
set_rearranged(const struct vc__changes *ch, enum vc__policy policy)
{
    const struct vc__server_set *former = atomic_load(&ch->servers->set);
    bool known = former->about != NULL;
    struct vc__endpoint *about =
        known ? vc__endpoints_copy(former->about, former->n) : NULL;
    struct vc__server_set *set =
        about == NULL && known ? NULL : vc__server_set_new(former->n, about);

    if (set == NULL)
        return NULL;
    for (unsigned i = 0; i < former->n; i++) {
        unsigned to = known ? former->about[i].place : i;

        set->sub[to] = former->sub[i];
    }
    if (vc__server_set_arrange(set, policy, ch->servers->label))
        return set;
    vc__server_set_free(set);
    return NULL;
}

bool
vc__changes_policy(struct vc__changes *ch, enum vc__policy policy)
{
    struct vc__picker *k = &ch->servers->picker;
    struct vc__server_set *set, *former;

    pthread_mutex_lock(&ch->changing);
    set = set_rearranged(ch, policy);
    if (set != NULL) {
        pthread_mutex_lock(&ch->lock);
        former = atomic_load(&ch->servers->set);
        vc__server_set_weigh(set);
        /* Release: pairs with the load in vc__servers_pick(). */
        atomic_store_explicit(&ch->servers->set, set, memory_order_release);
        atomic_store_explicit(&k->policy, policy, memory_order_relaxed);
        vc__picker_moved(k, former, set);
        /* The first is the first for this policy, too. */
        atomic_store_explicit(&k->at, 0, memory_order_relaxed);
        pthread_mutex_unlock(&ch->lock);
        vc__rcu_await();
        /* Acquire: pairs with vc__subchannel_hold(), as in set_drop(). */
        for (unsigned i = 0; i < former->n; i++)
            atomic_load_explicit(&former->sub[i]->users, memory_order_acquire);
        vc__server_set_free(former);
    }
    pthread_mutex_unlock(&ch->changing);
    return set != NULL;
}

void
vc__changes_fail(struct vc__changes *ch, const char *why)
{
    struct vc__error error;
    bool again;

    vc__error_put(&error, VC_UNAVAILABLE, "%s", why);
    pthread_mutex_lock(&ch->lock);
    again = ch->failure.status != VC_OK &&
            strcmp(ch->failure.text, error.text) == 0;
    ch->failure = error;
    if (ch->nowhere != NULL)
        vc__pool_nowhere_fail(ch->nowhere->pool, &error);
    pthread_mutex_unlock(&ch->lock);
    if (!again && vc__log_wants(ch->log, VC__LOG_RESOLVER))
        vc__log(ch->log, VC__LOG_RESOLVER, "channel to %.200s: %s", ch->target,
                why);
}

void
vc__changes_again(struct vc__changes *ch, uint64_t now)
{
    pthread_mutex_lock(&ch->lock);
    if (ch->resolver != NULL)
        vc__resolver_again(ch->resolver, now);
    pthread_mutex_unlock(&ch->lock);
}

size_t
vc__changes_describe(const struct vc__changes *ch, char *text, size_t size)
{
    bool fails = ch->failure.status != VC_OK;

    if (ch->known && !fails)
        return 0;
    return (size_t)snprintf(text, size, "%s: %s\n",
                            ch->known ? "the resolver" : "no servers",
                            fails ? ch->failure.text : "not known yet");
}

/* --- opening and closing; the threads are in changes.h -------------------- */

/* For changes_new(): makes the first set, of one server that leads nowhere.
 * False if memory is short: then nothing of it is left. */
static bool
nowhere_open(struct vc__changes *ch)
{
    struct vc__server_set *set = vc__server_set_new(1, NULL);
    struct vc__pool_opts opts = ch->opts.pool;

    if (set == NULL)
        return false;
    opts.nowhere = true;
    opts.choice.n = 0;
    ch->nowhere = set->sub[0] = vc__servers_add(ch->servers, &opts);
    if (ch->nowhere == NULL) {
        vc__server_set_free(set);
        return false;
    }
    cds_list_add(&ch->nowhere->node, &ch->alive);
    atomic_init(&ch->servers->set, set);
    return true;
}

/* For vc__changes_open(), on its thread: what is there before there is a
 * server. NULL if memory is short. */
static struct vc__changes *
changes_new(struct vc__servers *sv, const char *target,
            const struct vc__target_opts *opts)
{
    struct vc__changes *ch = calloc(1, sizeof *ch);

    if (ch == NULL)
        return NULL;
    ch->servers = sv;
    ch->opts = *opts;
    ch->log = sv->engine->log;
    ch->target = strdup(target);
    pthread_mutex_init(&ch->lock, NULL);
    pthread_mutex_init(&ch->changing, NULL);
    CDS_INIT_LIST_HEAD(&ch->alive);
    if (ch->target != NULL && nowhere_open(ch))
        return ch;
    vc__changes_free(ch);
    return NULL;
}

enum vc_status
vc__changes_open(struct vc__servers *sv, struct vc__progress *progress,
                 const struct vc_resolver_type *type, const char *target,
                 struct vc__target_opts *opts)
{
    enum vc_status status = vc__target_opts_choose(opts);
    struct vc__error error;

    vc__servers_init(sv, progress); /* also for loads, which end after this */
    if (status != VC_OK)
        return status;
    sv->holds = true;
    sv->changes = changes_new(sv, target, opts);
    if (sv->changes == NULL)
        return vc__fail(VC_RESOURCE_EXHAUSTED, "out of memory");
    status = vc__resolver_open(&sv->changes->resolver, type, target,
                               sv->changes, sv->engine);
    if (status == VC_OK)
        return VC_OK;
    error = *vc__error_last();
    vc__servers_close(sv);
    return vc__error_raise(&error);
}

void
vc__changes_shut(struct vc__changes *ch)
{
    struct vc_resolver *resolver;

    pthread_mutex_lock(&ch->lock);
    resolver = ch->resolver;
    ch->resolver = NULL;
    pthread_mutex_unlock(&ch->lock);
    vc__resolver_close(resolver);
}

/* For alive_take(), under `lock`: true with one user more, which
 * vc__changes_cancel() puts; false if it has none: then it is being closed. */
static bool
server_try_hold(struct vc__subchannel *s)
{
    unsigned users = atomic_load(&s->users);

    while (users > 0 &&
           !atomic_compare_exchange_weak(&s->users, &users, users + 1))
        ;
    return users > 0;
}

/* The next server that was not cancelled in this round, held; NULL: none is
 * left. For vc__changes_cancel(). */
static struct vc__subchannel *
alive_take(struct vc__changes *ch)
{
    struct vc__subchannel *s, *found = NULL;

    pthread_mutex_lock(&ch->lock);
    cds_list_for_each_entry (s, &ch->alive, node) {
        if (s->round == ch->round || !server_try_hold(s))
            continue;
        s->round = ch->round;
        found = s;
        break;
    }
    pthread_mutex_unlock(&ch->lock);
    return found;
}

void
vc__changes_cancel(struct vc__changes *ch, const void *owner)
{
    struct vc__subchannel *s;

    ch->round++; /* nothing changes any more */
    while ((s = alive_take(ch)) != NULL) {
        vc__subchannel_cancel(s, owner);
        vc__subchannel_put(s);
    }
}

void
vc__changes_gone(struct vc__changes *ch, struct vc__subchannel *s)
{
    pthread_mutex_lock(&ch->lock);
    cds_list_del(&s->node);
    pthread_mutex_unlock(&ch->lock);
}

void
vc__changes_free(struct vc__changes *ch)
{
    if (ch == NULL)
        return;
    free(ch->target);
    pthread_mutex_destroy(&ch->lock);
    pthread_mutex_destroy(&ch->changing);
    free(ch);
}
