/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/loads.h. Static functions run on the holder. `stopped`
 * is read there without the lock, as it is set there. */
#include "rpc/balance/loads.h"

#include <pthread.h>
#include <stdlib.h>

#include "rpc/balance/load_opts.h"

struct vc__loads {
    struct vc__servers *servers;
    struct vc__load_rules option; /* of the channel's options */
    struct vc__load_rules rules;
    struct vc__timer timer;
    struct vc__task task; /* stops the timer */
    struct vc__waiter done;

    pthread_mutex_t lock;       /* of what other threads ask for: */
    bool stopped;               /* the timer is started no more */
    bool posted;                /* `follow` will run */
    struct vc__load_rules next; /* the rules from then on */
    struct vc__task follow;
};

/* Computes the weights of the servers of the set, and has them chosen by these
 * if any has changed. Returns true if one has a weight, or will have one when
 * its blackout ends. Called by loads_on_timer(). */
static bool
set_weigh(const struct vc__loads *ls, struct vc__server_set *set)
{
    uint64_t now = vc__now();
    bool fresh = false, differs = false;

    for (unsigned i = 0; i < set->n; i++) {
        struct vc__load *load = &set->sub[i]->load;
        float weight = vc__load_now(load, &ls->rules,
                                    vc__pool_readied(set->sub[i]->pool), now);

        fresh |= vc__load_is_fresh(load, &ls->rules, now);
        differs |= weight != vc__load_used(load);
        vc__load_use(load, weight);
    }
    if (differs)
        vc__server_set_weigh(set);
    return fresh;
}

/* fire() of the timer: computes the weights, and starts the timer again unless
 * all have expired. */
static void
loads_on_timer(struct vc__timer *timer)
{
    struct vc__loads *ls = caa_container_of(timer, struct vc__loads, timer);
    bool fresh = set_weigh(ls, vc__servers_enter(ls->servers));

    vc__servers_exit(ls->servers);
    if (fresh)
        vc__timer_start(&ls->servers->engine->timers, &ls->timer,
                        vc__now() + ls->rules.update_us, loads_on_timer);
}

/* For vc__loads_take(): keeps a report for the timer, which it starts if it
 * does not run. A server that was connected anew loses its weight at once. */
static void
report_take(struct vc__loads *ls, struct vc__subchannel *s,
            const struct vc__load_report *report)
{
    unsigned connection = vc__pool_readied(s->pool);
    bool loses =
        vc__load_used(&s->load) > 0 && s->load.connection != connection;
    uint64_t now = vc__now();

    vc__load_take(&s->load, &ls->rules, report, connection, now);
    if (!ls->stopped && (loses || !vc__timer_running(&ls->timer)))
        vc__timer_start(&ls->servers->engine->timers, &ls->timer,
                        loses ? now : now + ls->rules.update_us,
                        loads_on_timer);
}

/* Not inlined: else every reply pays for its frame. */
__attribute__((noinline)) void
vc__loads_take(struct vc__loads *ls, const struct vc__client *client,
               const struct vc__metadata_view *metadata)
{
    struct vc__ledger *ledger = &ls->servers->engine->ledger;
    /* Relaxed: when the policy changes, reports count a moment sooner or
     * later. */
    enum vc__policy policy =
        atomic_load_explicit(&ls->servers->picker.policy, memory_order_relaxed);
    const struct vc_metadata *entry;
    struct vc__load_report report;

    if (policy != VC__POLICY_WEIGHTED_ROUND_ROBIN)
        return;
    entry = vc__metadata_find(metadata->entries + metadata->n_initial,
                              metadata->n_trailing, VC__LOAD_REPORT_KEY);
    if (entry == NULL)
        return;
    if (!vc__load_report_read(&report, entry->value, entry->length)) {
        vc__count(ledger, VC__COUNT_load_reports_malformed, 1);
        return;
    }
    vc__count(ledger, VC__COUNT_load_reports, 1);
    report_take(ls, client->owner, &report);
}

/* The task of vc__loads_stop(): stops the timer, for good, and ends the
 * wait. */
static void
loads_end(struct vc__task *task)
{
    struct vc__loads *ls = caa_container_of(task, struct vc__loads, task);

    pthread_mutex_lock(&ls->lock);
    ls->stopped = true;
    pthread_mutex_unlock(&ls->lock);
    vc__timer_stop(&ls->servers->engine->timers, &ls->timer);
    vc__waiter_done(&ls->done);
}

/* The task of vc__loads_follow(): puts its rules in force, and if the timer
 * runs starts it anew by these. */
static void
loads_follow(struct vc__task *task)
{
    struct vc__loads *ls = caa_container_of(task, struct vc__loads, follow);

    pthread_mutex_lock(&ls->lock);
    ls->rules = ls->next;
    ls->posted = false;
    pthread_mutex_unlock(&ls->lock);
    if (vc__timer_running(&ls->timer))
        vc__timer_start(&ls->servers->engine->timers, &ls->timer,
                        vc__now() + ls->rules.update_us, loads_on_timer);
}

void
vc__loads_follow(struct vc__loads *ls, const struct vc_load_opts *opts)
{
    bool posts;

    pthread_mutex_lock(&ls->lock);
    ls->next = ls->option;
    vc__load_opts_over(&ls->next, opts);
    posts = !ls->stopped && !ls->posted;
    ls->posted |= posts;
    pthread_mutex_unlock(&ls->lock);
    if (posts)
        vc__engine_post(ls->servers->engine, &ls->follow);
}

bool
vc__loads_begin(struct vc__servers *sv, const struct vc__load_rules *rules,
                bool policy_may_change)
{
    enum vc__policy policy = sv->picker.policy;
    struct vc__loads *ls;

    if (rules->ignore || (policy != VC__POLICY_WEIGHTED_ROUND_ROBIN &&
                          (!policy_may_change || policy == VC__POLICY_CUSTOM)))
        return true;
    ls = calloc(1, sizeof *ls);
    if (ls == NULL)
        return false;
    ls->servers = sv;
    ls->rules = ls->option = *rules;
    ls->task.run = loads_end;
    ls->follow.run = loads_follow;
    vc__waiter_init(&ls->done);
    pthread_mutex_init(&ls->lock, NULL);
    sv->loads = ls;
    return true;
}

void
vc__loads_stop(struct vc__loads *ls)
{
    struct vc__engine *e = ls->servers->engine;

    vc__engine_post(e, &ls->task);
    vc__engine_wait(e, &ls->done, VC__FOREVER);
}

void
vc__loads_free(struct vc__loads *ls)
{
    if (ls == NULL)
        return;
    pthread_mutex_destroy(&ls->lock);
    free(ls);
}
