/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The servers of a channel for tests of outlier detection, and their calls.
 * Each test that includes it has its own. Include cmocka.h before. */
#ifndef VC_TESTS_UNIT_OUTLIER_RIG_H
#define VC_TESTS_UNIT_OUTLIER_RIG_H

#include <string.h>

#include <verbcall/outlier.h>
#include <verbcall/status.h>

#include "rpc/balance/outlier.h"
#include "rpc/balance/outlier_opts.h"

#define S               UINT64_C(1000000)
#define BEGIN           (1000 * S)
#define HOSTS           200u
#define LENGTHOF(array) (sizeof(array) / sizeof((array)[0]))

#define RATE       VC__OUTLIER_SUCCESS_RATE
#define PERCENTAGE VC__OUTLIER_FAILURE_PERCENTAGE

/* Options with one method only. */
#define BY_RATE(...)                                                           \
    VC_OUTLIER_OPTS(.methods = VC_OUTLIER_SUCCESS_RATE, __VA_ARGS__)
#define BY_PERCENTAGE(...)                                                     \
    VC_OUTLIER_OPTS(.methods = VC_OUTLIER_FAILURE_PERCENTAGE, __VA_ARGS__)

static struct vc__outlier servers[HOSTS], *all[HOSTS];
static unsigned n;
static struct vc__outlier_policy policy;
static struct vc__outlier_counts counts;
static uint64_t now, seed;

/* This many servers without calls, and these options. */
static inline void
fresh(unsigned hosts, const struct vc_outlier_opts *opts)
{
    memset(servers, 0, sizeof servers);
    memset(&counts, 0, sizeof counts);
    for (unsigned i = 0; i < HOSTS; i++)
        all[i] = &servers[i];
    n = hosts;
    now = BEGIN;
    seed = 1;
    assert_int_equal(VC_OK, vc__outlier_opts_take(&policy, opts));
}

/* Calls to this server end. */
static inline void
end(unsigned i, unsigned good, unsigned bad)
{
    for (unsigned k = 0; k < good; k++)
        vc__outlier_count(&servers[i], true);
    for (unsigned k = 0; k < bad; k++)
        vc__outlier_count(&servers[i], false);
}

/* The same for all servers from this one to the last. */
static inline void
end_from(unsigned i, unsigned good, unsigned bad)
{
    for (; i < n; i++)
        end(i, good, bad);
}

static inline void
sweep_at(uint64_t us)
{
    now = us;
    vc__outlier_sweep(all, n, &policy, now, &seed, &counts);
}

/* At the end of the next interval. */
static inline void
sweep(void)
{
    sweep_at(now + policy.interval_us);
}

static inline bool
is_out(unsigned i)
{
    return vc__outlier_is_ejected(&servers[i]);
}

static inline unsigned
out(void)
{
    unsigned ejected = 0;

    for (unsigned i = 0; i < n; i++)
        ejected += is_out(i);
    return ejected;
}

#endif
