/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/ejections.h. Static functions run on the holder, unless their
 * comments say otherwise. */
#include "rpc/balance/ejections.h"

#include <stdio.h>
#include <stdlib.h>

#include "rpc/balance/changes.h"
#include "transport/core/log.h"

struct vc__ejections {
    struct vc__servers *servers;
    struct vc__outlier_policy policy;
    struct vc__task task; /* starts the timer, then stops it */
    struct vc__timer timer;
    struct vc__waiter done; /* of the task */
    atomic_bool stops;
    bool begun; /* the timer was started; written before `done` */
    uint64_t seed;
    bool compares; /* there were several servers at the last look */
    struct vc__outlier_counts counts;
};

/* Writes why a server was ejected, for ejection_log(). */
static void
ejection_why(const struct vc__ejections *ej, const struct vc__outlier *o,
             char text[VC__LOG_LINE])
{
    double calls = (double)(o->last.good + o->last.bad);

    if (o->method == VC__OUTLIER_SUCCESS_RATE)
        snprintf(text, VC__LOG_LINE,
                 "a success rate of %.1f %%, and the mean of %u servers is "
                 "%.1f %%",
                 100 * (double)o->last.good / calls, o->hosts, 100 * o->mean);
    else
        snprintf(text, VC__LOG_LINE, "%.1f %% failures, more than %u %%",
                 100 * (double)o->last.bad / calls,
                 ej->policy.rule[VC__OUTLIER_FAILURE_PERCENTAGE].limit);
}

/* Logs that a server was ejected, or is back, for ejections_log(). */
static void
ejection_log(const struct vc__ejections *ej, const struct vc__subchannel *s)
{
    struct vc__log *log = ej->servers->engine->log;
    const struct vc__outlier *o = &s->outlier;
    char target[VC__TARGET_TEXT], why[VC__LOG_LINE];

    vc__target_text(&s->pool->opts.target, target);
    if (o->change == VC__OUTLIER_RETURNED) {
        vc__log(log, VC__LOG_EJECTED, "server %s gets calls again: %s", target,
                ej->compares ? "its ejection is over"
                             : "there is no other to compare it with");
        return;
    }
    ejection_why(ej, o, why);
    vc__log(log, VC__LOG_EJECTED,
            "server %s is ejected for %u ms: of its calls %llu have "
            "succeeded, and %llu have failed: %s",
            target, (unsigned)(vc__outlier_length(o, &ej->policy) / 1000),
            (unsigned long long)o->last.good, (unsigned long long)o->last.bad,
            why);
}

/* For ejections_on_timer(): counts the servers that a sweep has ejected, and
 * logs these and those that have returned. They are held, as lines are logged
 * without locks. Puts them. */
static void
ejections_log(struct vc__ejections *ej, struct vc__subchannel **changed,
              unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (changed[i]->outlier.change == VC__OUTLIER_EJECTED)
            vc__count(&ej->servers->engine->ledger, VC__COUNT_servers_ejected,
                      1);
        if (vc__log_wants(ej->servers->engine->log, VC__LOG_EJECTED))
            ejection_log(ej, changed[i]);
        vc__subchannel_put(changed[i]);
    }
}

/* Judges the servers of the set, for ejections_on_timer(), and bars those that
 * are ejected; the only one of a set is not judged, and gets calls. Returns the
 * number of those that have changed, held, in `changed`, which has room for
 * all. */
static unsigned
set_sweep(struct vc__ejections *ej, const struct vc__server_set *set,
          struct vc__outlier **all, struct vc__subchannel **changed)
{
    unsigned n = 0;

    for (unsigned i = 0; i < set->n; i++)
        all[i] = &set->sub[i]->outlier;
    ej->compares = set->n > 1;
    if (ej->compares)
        vc__outlier_sweep(all, set->n, &ej->policy, vc__now(), &ej->seed,
                          &ej->counts);
    else /* there is nothing to compare it with */
        vc__outlier_reset(all, set->n);
    for (unsigned i = 0; i < set->n; i++) {
        if (set->sub[i]->outlier.change == VC__OUTLIER_SAME)
            continue;
        vc__subchannel_bar(set->sub[i], VC__BAR_EJECTED,
                           vc__outlier_is_ejected(&set->sub[i]->outlier)
                               ? VC__BAR_EJECTED
                               : 0);
        vc__subchannel_hold(set->sub[i]);
        changed[n++] = set->sub[i];
    }
    return n;
}

/* fire() of the timer: an interval has passed. Judges the servers, and starts
 * the timer again. Without memory the counts are judged with those of the next
 * interval. */
static void
ejections_on_timer(struct vc__timer *timer)
{
    struct vc__ejections *ej =
        caa_container_of(timer, struct vc__ejections, timer);
    struct vc__server_set *set = vc__servers_enter(ej->servers);
    struct vc__outlier **all = calloc(set->n, sizeof *all);
    struct vc__subchannel **changed = calloc(set->n, sizeof *changed);
    unsigned n = 0;

    /* First of all: the heap has the place that this timer has just left, so
     * starting it cannot fail. */
    vc__timer_start(&ej->servers->engine->timers, &ej->timer,
                    vc__now() + ej->policy.interval_us, ejections_on_timer);
    if (all != NULL && changed != NULL)
        n = set_sweep(ej, set, all, changed);
    vc__servers_exit(ej->servers);
    ejections_log(ej, changed, n);
    free(all);
    free(changed);
}

/* The task of vc__ejections_begin(): starts the timer, if there is memory for
 * that. When vc__ejections_stop() has posted it again, stops the timer. Ends
 * the wait of either. */
static void
ejections_run(struct vc__task *task)
{
    struct vc__ejections *ej =
        caa_container_of(task, struct vc__ejections, task);
    struct vc__timers *timers = &ej->servers->engine->timers;

    if (atomic_load(&ej->stops))
        vc__timer_stop(timers, &ej->timer);
    else
        ej->begun = vc__timer_start(timers, &ej->timer,
                                    vc__now() + ej->policy.interval_us,
                                    ejections_on_timer);
    vc__waiter_done(&ej->done);
}

/* Has the holder run the task, and waits for that. For vc__ejections_begin()
 * and vc__ejections_stop(), on their thread. */
static void
ejections_task(struct vc__ejections *ej)
{
    struct vc__engine *e = ej->servers->engine;

    vc__waiter_init(&ej->done);
    vc__engine_post(e, &ej->task);
    vc__engine_wait(e, &ej->done, VC__FOREVER);
}

bool
vc__ejections_begin(struct vc__servers *sv,
                    const struct vc__outlier_policy *policy)
{
    struct vc__ejections *ej;

    if (!vc__outlier_is_on(policy) || sv->only != NULL)
        return true;
    ej = calloc(1, sizeof *ej);
    if (ej == NULL)
        return false;
    ej->servers = sv;
    ej->policy = *policy;
    ej->seed = vc__now();
    ej->task.run = ejections_run;
    sv->holds = true;
    if (sv->changes == NULL)
        atomic_init(&sv->look_at, VC__FOREVER);
    ejections_task(ej);
    if (ej->begun)
        sv->ejections = ej;
    else
        free(ej);
    return sv->ejections != NULL;
}

void
vc__ejections_stop(struct vc__ejections *ej)
{
    atomic_store(&ej->stops, true);
    ejections_task(ej);
}

void
vc__ejections_free(struct vc__ejections *ej)
{
    free(ej);
}
