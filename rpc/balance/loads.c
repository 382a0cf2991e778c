/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/loads.h. Static functions run on the holder. */
#include "rpc/balance/loads.h"

#include <stdlib.h>
#include <urcu-bp.h>

#include "rpc/balance/changes.h"

/* How often weights are computed (A58). */
#define UPDATE_US UINT64_C(1000000)

struct vc__loads {
    struct vc__servers *servers;
    struct vc__timer timer;
    bool stopped; /* the timer is started no more */
    bool late;    /* the set lacks the last weights, as memory was short */
    struct vc__task task; /* stops the timer */
    struct vc__waiter done;
};

/* For loads_on_timer(). Returns the weight that server s has now. *fresh is
 * set if it has one, or will have one when its blackout ends. */
static float
server_weigh(struct vc__subchannel *s, uint64_t now, bool *fresh)
{
    float weight = vc__load_now(&s->load, vc__pool_readied(s->pool), now);

    *fresh |= vc__load_is_fresh(&s->load, now);
    return weight;
}

/* For loads_on_timer(): gives the servers of the set their weights. Returns the
 * former scheduler, which choices may still use; NULL: there is none. */
static struct vc__stride *
set_weigh(struct vc__loads *ls, struct vc__server_set *set, bool *fresh)
{
    struct vc__stride *former = NULL;
    bool differs = ls->late;
    uint64_t now = vc__now();

    for (unsigned i = 0; i < set->n; i++) {
        float weight = server_weigh(set->sub[i], now, fresh);

        differs |= weight != set->sub[i]->load.used;
        set->sub[i]->load.used = weight;
    }
    if (differs)
        ls->late = !vc__server_set_weigh(set, &former);
    return former;
}

/* For loads_on_timer(): frees the former scheduler of the set. */
static void
former_free(struct vc__stride *former, const struct vc__server_set *set)
{
    if (former == NULL)
        return;
    synchronize_rcu();
    /* Acquire: pairs with vc__subchannel_hold(), which each choice calls. RCU
     * orders both, but ThreadSanitizer does not see that. */
    for (unsigned i = 0; i < set->n; i++)
        atomic_load_explicit(&set->sub[i]->users, memory_order_acquire);
    vc__stride_free(former);
}

/* fire() of the timer. */
static void
loads_on_timer(struct vc__timer *timer)
{
    struct vc__loads *ls = caa_container_of(timer, struct vc__loads, timer);
    struct vc__server_set *set = vc__servers_enter(ls->servers);
    bool fresh = false;

    former_free(set_weigh(ls, set, &fresh), set);
    vc__servers_exit(ls->servers);
    /* Without memory the next report starts it. */
    if (fresh || ls->late)
        vc__timer_start(&ls->servers->engine->timers, &ls->timer,
                        vc__now() + UPDATE_US, loads_on_timer);
}

/* Takes a report, for vc__loads_take(). A server that was connected anew loses
 * its weight at once. */
static void
report_take(struct vc__loads *ls, struct vc__subchannel *s,
            const struct vc__load_report *report)
{
    unsigned connect = vc__pool_readied(s->pool);
    bool loses = s->load.used > 0 && s->load.connect != connect;
    uint64_t now = vc__now();

    vc__load_take(&s->load, report, connect, now);
    if (!ls->stopped && (loses || !vc__timer_running(&ls->timer)))
        vc__timer_start(&ls->servers->engine->timers, &ls->timer,
                        loses ? now : now + UPDATE_US, loads_on_timer);
}

void
vc__loads_take(struct vc__loads *ls, struct vc__subchannel *s,
               const struct vc__metadata_view *metadata)
{
    struct vc__ledger *ledger = &ls->servers->engine->ledger;
    const struct vc_metadata *entry =
        vc__metadata_find(metadata->entries + metadata->n_initial,
                          metadata->n_trailing, VC__LOAD_REPORT_KEY);
    struct vc__load_report report;

    if (entry == NULL)
        return;
    if (!vc__load_report_read(&report, entry->value, entry->length)) {
        vc__count(ledger, VC__COUNT_load_reports_malformed, 1);
        return;
    }
    vc__count(ledger, VC__COUNT_load_reports, 1);
    report_take(ls, s, &report);
}

/* The task of vc__loads_stop(). */
static void
loads_end(struct vc__task *task)
{
    struct vc__loads *ls = caa_container_of(task, struct vc__loads, task);

    ls->stopped = true;
    vc__timer_stop(&ls->servers->engine->timers, &ls->timer);
    vc__waiter_done(&ls->done);
}

bool
vc__loads_begin(struct vc__servers *sv)
{
    struct vc__loads *ls;

    if (sv->picker.policy != VC__POLICY_WEIGHTED_ROUND_ROBIN ||
        sv->only != NULL)
        return true;
    ls = calloc(1, sizeof *ls);
    if (ls == NULL)
        return false;
    ls->servers = sv;
    ls->task.run = loads_end;
    vc__waiter_init(&ls->done);
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
    free(ls);
}
