/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See rpc/server/gradient.h, also for the threads. The static functions run on
 * the thread of their caller, under the lock of struct vc__adaptive. */
#include "rpc/server/gradient.h"

#include <string.h>

#include <verbcall/call.h>

/* Runs in a round, and at least in a window. */
#define RUNS 32u
/* Runs of a round that must be valid: otherwise the round is void, since the
 * quickest runs are the likeliest to end while few are under way. */
#define RUNS_VALID 30u
/* The shortest window. */
#define WINDOW_US 100000u
/* The shortest time from one probe to the next; and this many times the length
 * of the probe. */
#define PROBE_US    10000000u
#define PROBE_TIMES 20u
/* A round is abandoned after ROUND_US and ROUND_TIMES the baseline. */
#define ROUND_US    1000000u
#define ROUND_TIMES 16u
/* At each window the limit moves by 1/SMOOTH of the way to the new value. */
#define SMOOTH 4u
/* Runs may be slower than the baseline by this factor: 5/4. */
#define WELL(us) ((us) + (us) / 4)

void
vc__gradient_init(struct vc__gradient *g, uint32_t most)
{
    memset(g, 0, sizeof *g);
    g->most = most;
    g->limit = most < VC__GRADIENT_FIRST ? most : VC__GRADIENT_FIRST;
    g->round.number = 1;
}

/* Returns how many may run while the baseline is measured. Called by
 * vc__gradient_left(), vc__gradient_begin() and vc__gradient_ran(). */
static uint32_t
probe_limit(const struct vc__gradient *g)
{
    return g->limit / 2 > VC__GRADIENT_MIN ? g->limit / 2 : VC__GRADIENT_MIN;
}

uint32_t
vc__gradient_left(const struct vc__gradient *g, uint32_t priority, bool first)
{
    uint32_t may = g->probes && !first ? probe_limit(g) : g->limit;

    if (priority == VC_PRIORITY_SHEDDABLE)
        may -= may / 4;
    else if (priority == VC_PRIORITY_CRITICAL)
        may += (may + 3) / 4;
    return may > g->running ? may - g->running : 0;
}

/* --- the baseline --------------------------------------------------------- */

/* Begins a new round, of the next number. Called by round_count() and
 * round_check() at the end of a round, and by vc__gradient_turned_down() at the
 * beginning of a probe. */
static void
round_begin(struct vc__gradient *g, uint64_t now)
{
    uint32_t number = g->round.number + 1;

    g->round = (struct vc__gradient_round){
        .number = number == 0 ? 1 : number,
        .since = now,
    };
}

/* Begins a new window. Called by probe_end() and window_look(). */
static void
window_begin(struct vc__gradient *g, uint64_t now)
{
    g->since = now;
    g->sum_us = g->n = 0;
    g->highest = g->running;
}

/* Ends a probe, and sets the time of the next one. Runs that were slow, or
 * quick, because of the probe do not count. Called by round_count() and
 * round_check(). */
static void
probe_end(struct vc__gradient *g, uint64_t now)
{
    uint64_t pause = PROBE_TIMES * (now - g->round.since);

    g->probes = false;
    g->probe = now + (pause > PROBE_US ? pause : PROBE_US);
    window_begin(g, now);
}

/* Moves the baseline halfway to `us`, the mean of a round (the first round sets
 * it), and puts off the next probe: in a round whose runs differ much, the mean
 * is off by a fifth. Called by round_count() at the end of a round with enough
 * valid runs. */
static void
baseline_learn(struct vc__gradient *g, uint64_t us, uint64_t now)
{
    g->probe = now + PROBE_US;
    if (g->baseline_us == 0)
        g->baseline_us = us;
    else
        g->baseline_us = (g->baseline_us + us) / 2;
}

/* A run of the round has ended, or was forgotten. Ends the round with its last
 * run, and a probe with that. Called by vc__gradient_ran() and
 * vc__gradient_forget(). */
static void
round_count(struct vc__gradient *g, uint64_t now)
{
    struct vc__gradient_round *r = &g->round;

    if (++r->ended < RUNS)
        return;
    if (r->valid >= RUNS_VALID)
        baseline_learn(g, r->sum_us / r->valid, now);
    if (g->probes)
        probe_end(g, now);
    round_begin(g, now);
}

/* Abandons a round that takes too long: one of its runs does not end; or, in a
 * probe, none may begin, since older runs take all places and do not end.
 * Called by vc__gradient_begin() and vc__gradient_turned_down(). */
static void
round_check(struct vc__gradient *g, uint64_t now)
{
    uint64_t patience = ROUND_US + ROUND_TIMES * g->baseline_us;

    if ((g->round.begun == 0 && !g->probes) || now - g->round.since < patience)
        return;
    if (g->probes)
        probe_end(g, now);
    round_begin(g, now);
}

/* --- the limit ------------------------------------------------------------ */

/* Returns the square root, rounded down. Called by limit_by(). */
static uint32_t
gradient_root(uint32_t n)
{
    uint32_t r = 0;

    while ((r + 1) * (r + 1) <= n)
        r++;
    return r;
}

/* Returns the new limit, from `us`, the mean time of the window's runs: half to
 * twice the old limit, plus its square root, from VC__GRADIENT_MIN to g->most.
 * Called by window_look(). */
static uint32_t
limit_by(const struct vc__gradient *g, uint64_t us)
{
    uint64_t limit = g->limit * WELL(g->baseline_us) / us;

    if (limit < g->limit / 2)
        limit = g->limit / 2;
    if (limit > 2 * (uint64_t)g->limit)
        limit = 2 * (uint64_t)g->limit;
    limit += gradient_root(g->limit);
    if (limit < VC__GRADIENT_MIN)
        limit = VC__GRADIENT_MIN;
    return limit > g->most ? g->most : (uint32_t)limit;
}

/* Called by vc__gradient_ran(): updates the limit if the window ends here. The
 * limit grows only if more than half of it was used. Before the baseline is
 * known it stays: the first runs to end are the quickest. */
static void
window_look(struct vc__gradient *g, uint64_t now)
{
    uint32_t limit;

    if (g->probes || g->n < RUNS || g->n < 2 * g->limit ||
        now - g->since < WINDOW_US)
        return;
    if (g->baseline_us == 0) {
        window_begin(g, now);
        return;
    }
    limit = limit_by(g, g->sum_us / g->n);
    if (limit < g->limit)
        g->limit -= (g->limit - limit + SMOOTH - 1) / SMOOTH;
    else if (g->highest > g->limit / 2)
        g->limit += (limit - g->limit + SMOOTH - 1) / SMOOTH;
    window_begin(g, now);
}

/* --- runs ----------------------------------------------------------------- */

uint32_t
vc__gradient_begin(struct vc__gradient *g, uint64_t now)
{
    struct vc__gradient_round *r = &g->round;

    round_check(g, now);
    g->running++;
    if (g->running > g->highest)
        g->highest = g->running;
    if (g->running > probe_limit(g) || r->begun == RUNS)
        return 0;
    if (r->begun++ == 0)
        r->since = now;
    return r->number;
}

void
vc__gradient_turned_down(struct vc__gradient *g, uint64_t now)
{
    round_check(g, now);
    if (g->probes || now < g->probe)
        return;
    g->probes = true;
    round_begin(g, now);
}

void
vc__gradient_ran(struct vc__gradient *g, uint64_t now, uint32_t round,
                 uint64_t us)
{
    bool is_valid = g->running <= probe_limit(g);

    g->running--;
    us++; /* no run takes no time at all */
    g->sum_us += us;
    g->n++;
    if (round == g->round.number) {
        g->round.valid += is_valid;
        g->round.sum_us += is_valid ? us : 0;
        round_count(g, now);
    }
    window_look(g, now);
}

void
vc__gradient_forget(struct vc__gradient *g, uint64_t now, uint32_t round)
{
    g->running--;
    if (round == g->round.number)
        round_count(g, now);
}
