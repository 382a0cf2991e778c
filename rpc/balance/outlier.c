/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/balance/outlier.h, also for the threads. vc__outlier_sweep() calls
 * all static functions, directly or not; vc__outlier_reset() calls
 * bucket_take() and outlier_return(), too. Numbers of steps are those of A50,
 * "Outlier Detection Behavior". */
#include "rpc/balance/outlier.h"

#include "transport/core/random.h"

/* Means and variances of rates are sums with rounding errors far below this,
 * and rates that are equal must not differ by them. */
#define ROUNDING 1e-9

/* A sweep. */
struct sweep {
    struct vc__outlier *const *all;
    unsigned n, ejected;
    const struct vc__outlier_policy *policy;
    uint64_t now_us, *seed;
    struct vc__outlier_counts *counts;
};

/* --- the record of a server --------------------------------------------- */

/* Returns the calls since the last sweep, and begins to count anew. A call that
 * ends meanwhile counts for this interval or the next, so none is lost. That
 * replaces the swap of two buckets, where a thread could still count in the
 * bucket that has been read. Relaxed: as in vc__outlier_count(). */
static struct vc__outlier_calls
bucket_take(struct vc__outlier *o)
{
    return (struct vc__outlier_calls){
        .good = atomic_exchange_explicit(&o->good, 0, memory_order_relaxed),
        .bad = atomic_exchange_explicit(&o->bad, 0, memory_order_relaxed),
    };
}

/* True if the server had enough calls for the rule, and at least one. */
static bool
has_volume(const struct vc__outlier *o, const struct vc__outlier_rule *r)
{
    uint64_t calls = o->last.good + o->last.bad;

    return calls > 0 && calls >= r->request_volume;
}

/* The share of successful calls, 0..1, of a server that had calls. */
static double
success_rate(const struct vc__outlier *o)
{
    return (double)o->last.good / (double)(o->last.good + o->last.bad);
}

/* The server gets calls again. Relaxed: as in vc__outlier_is_ejected(). */
static void
outlier_return(struct vc__outlier *o)
{
    atomic_store_explicit(&o->ejected, false, memory_order_relaxed);
    o->change = VC__OUTLIER_RETURNED;
}

/* --- ejections ---------------------------------------------------------- */

/* True if no further server may be ejected. One always may. */
static bool
sweep_is_full(const struct sweep *s)
{
    return s->ejected > 0 && (uint64_t)s->ejected * 100 >=
                                 (uint64_t)s->policy->max_percent * s->n;
}

/* An outlier was found, which is not ejected: ejects it, if the limit and
 * chance permit. */
static void
sweep_outlier(struct sweep *s, struct vc__outlier *o,
              enum vc__outlier_method method)
{
    if (sweep_is_full(s)) {
        s->counts->of[method].unenforced_overflow++;
        return;
    }
    if (vc__random_below(s->seed, 100) >= s->policy->rule[method].enforcement) {
        s->counts->of[method].unenforced_chance++;
        return;
    }
    s->counts->of[method].enforced++;
    s->ejected++;
    o->since_us = s->now_us;
    o->multiplier += o->multiplier < UINT32_MAX;
    o->method = method;
    o->change = VC__OUTLIER_EJECTED;
    /* Relaxed: as in vc__outlier_times() and vc__outlier_is_ejected(). */
    atomic_fetch_add_explicit(&o->times, 1, memory_order_relaxed);
    atomic_store_explicit(&o->until_us,
                          s->now_us + vc__outlier_length(o, s->policy),
                          memory_order_relaxed);
    atomic_store_explicit(&o->ejected, true, memory_order_relaxed);
}

/* Returns how many servers had enough calls for the rule. */
static unsigned
sweep_hosts(const struct sweep *s, const struct vc__outlier_rule *r)
{
    unsigned hosts = 0;

    for (unsigned i = 0; i < s->n; i++)
        hosts += has_volume(s->all[i], r);
    return hosts;
}

/* --- the success rate algorithm ----------------------------------------- */

/* The rates of the servers that had enough calls. */
struct rates {
    double mean, variance;
};

/* Returns the rates; the variance is that of a whole population. hosts: as of
 * sweep_hosts(), above 0. */
static struct rates
sweep_rates(const struct sweep *s, const struct vc__outlier_rule *r,
            unsigned hosts)
{
    struct rates rates = {0, 0};

    for (unsigned i = 0; i < s->n; i++)
        if (has_volume(s->all[i], r))
            rates.mean += success_rate(s->all[i]) / hosts;
    for (unsigned i = 0; i < s->n; i++)
        if (has_volume(s->all[i], r)) {
            double off = success_rate(s->all[i]) - rates.mean;

            rates.variance += off * off / hosts;
        }
    return rates;
}

/* True if rate < mean - factor * deviation. Both sides of (mean - rate) >
 * factor * deviation are squared, so that no root is needed. */
static bool
is_far_below(double rate, const struct rates *rates, double factor)
{
    double below = rates->mean - rate;

    return below > ROUNDING &&
           below * below > factor * factor * rates->variance * (1 + ROUNDING);
}

/* Step 3: ejects the servers whose success rate is far below the mean. */
static void
sweep_success_rate(struct sweep *s)
{
    const struct vc__outlier_rule *r =
        &s->policy->rule[VC__OUTLIER_SUCCESS_RATE];
    unsigned hosts = sweep_hosts(s, r);
    struct rates rates;

    if (!r->on || hosts == 0 || hosts < r->minimum_hosts)
        return;
    rates = sweep_rates(s, r, hosts);
    for (unsigned i = 0; i < s->n; i++) {
        struct vc__outlier *o = s->all[i];

        if (has_volume(o, r) && !vc__outlier_is_ejected(o) &&
            is_far_below(success_rate(o), &rates, r->limit / 1000.0)) {
            o->mean = rates.mean;
            o->hosts = hosts;
            sweep_outlier(s, o, VC__OUTLIER_SUCCESS_RATE);
        }
    }
}

/* --- the failure percentage algorithm ----------------------------------- */

/* True if more than `percent` of the calls failed. */
static bool
fails_more_than(const struct vc__outlier *o, uint32_t percent)
{
    return o->last.bad * 100 > percent * (o->last.good + o->last.bad);
}

/* Step 4: ejects the servers of whose calls too many have failed. */
static void
sweep_failure_percentage(struct sweep *s)
{
    const struct vc__outlier_rule *r =
        &s->policy->rule[VC__OUTLIER_FAILURE_PERCENTAGE];

    if (!r->on || sweep_hosts(s, r) < r->minimum_hosts)
        return;
    for (unsigned i = 0; i < s->n; i++) {
        struct vc__outlier *o = s->all[i];

        if (has_volume(o, r) && !vc__outlier_is_ejected(o) &&
            fails_more_than(o, r->limit))
            sweep_outlier(s, o, VC__OUTLIER_FAILURE_PERCENTAGE);
    }
}

/* --- the sweep ---------------------------------------------------------- */

/* Step 2: takes the calls of the interval. Also counts the servers that are
 * ejected. */
static void
sweep_begin(struct sweep *s)
{
    for (unsigned i = 0; i < s->n; i++) {
        s->all[i]->last = bucket_take(s->all[i]);
        s->all[i]->change = VC__OUTLIER_SAME;
        s->ejected += vc__outlier_is_ejected(s->all[i]);
    }
}

/* Step 5: lets ejected servers return whose time is over, and lowers the
 * multipliers of those that are not ejected. */
static void
sweep_end(struct sweep *s)
{
    for (unsigned i = 0; i < s->n; i++) {
        struct vc__outlier *o = s->all[i];

        if (!vc__outlier_is_ejected(o))
            o->multiplier -= o->multiplier > 0;
        else if (s->now_us - o->since_us > vc__outlier_length(o, s->policy))
            outlier_return(o);
    }
}

/* min(base * multiplier, max), without an overflow. */
uint64_t
vc__outlier_length(const struct vc__outlier *o,
                   const struct vc__outlier_policy *p)
{
    return o->multiplier > p->max_us / p->base_us ? p->max_us
                                                  : p->base_us * o->multiplier;
}

void
vc__outlier_sweep(struct vc__outlier *const *all, unsigned n,
                  const struct vc__outlier_policy *p, uint64_t now_us,
                  uint64_t *seed, struct vc__outlier_counts *counts)
{
    struct sweep s = {.all = all,
                      .n = n,
                      .policy = p,
                      .now_us = now_us,
                      .seed = seed,
                      .counts = counts};

    if (!vc__outlier_is_on(p)) {
        vc__outlier_reset(all, n);
        return;
    }
    sweep_begin(&s);
    sweep_success_rate(&s);
    sweep_failure_percentage(&s);
    sweep_end(&s);
}

void
vc__outlier_reset(struct vc__outlier *const *all, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct vc__outlier *o = all[i];

        bucket_take(o);
        o->last = (struct vc__outlier_calls){0};
        o->multiplier = 0;
        o->change = VC__OUTLIER_SAME;
        if (vc__outlier_is_ejected(o))
            outlier_return(o);
    }
}
