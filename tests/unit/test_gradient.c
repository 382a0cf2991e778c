/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The limit of handlers that wait, against a model of the backend that they
 * wait for. It does CAPACITY things at a time, and does all of them more slowly
 * when it is asked for more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <verbcall/call.h>

#include "rpc/server/gradient.h"
#include "tests/unit/random.h"

#define MS       1000u
#define S        1000000u
#define MOST     256u
#define CAPACITY 20u /* things that the backend does at a time */

struct run {
    uint64_t began, ends;
    uint32_t round;
};

static struct model {
    struct vc__gradient gradient;
    struct run runs[MOST];
    unsigned n;
    uint64_t now, next; /* next: the arrival of the next call */
    uint64_t base_us;   /* the time of one thing */
    double per_us;      /* rate of calls */
    bool differ;        /* exponential, around base_us */
    uint64_t seed;
    unsigned served, refused;
} m;

/* Returns a number of an exponential distribution around 1, by
 * its quantiles. */
static double
exponential(void)
{
    static const double quantiles[] = {0.03, 0.10, 0.17, 0.25, 0.34, 0.43,
                                       0.53, 0.65, 0.77, 0.92, 1.09, 1.30,
                                       1.55, 1.90, 2.42, 3.54};

    return quantiles[random_below(&m.seed, 16)];
}

static void
model_begin(uint64_t base_us, double times, bool differ)
{
    memset(&m, 0, sizeof m);
    vc__gradient_init(&m.gradient, MOST);
    m.seed = 1;
    m.base_us = base_us;
    m.per_us = times * CAPACITY / (double)base_us;
    m.differ = differ;
}

static void
run_begin(void)
{
    double us = (double)m.base_us * (m.differ ? exponential() : 1);

    m.runs[m.n].began = m.now;
    m.runs[m.n].round = vc__gradient_begin(&m.gradient, m.now);
    m.n++;
    if (m.n > CAPACITY)
        us *= (double)m.n / CAPACITY;
    m.runs[m.n - 1].ends = m.now + (uint64_t)us;
}

static void
call_comes(void)
{
    m.now = m.next;
    m.next += (uint64_t)(exponential() / m.per_us) + 1;
    if (vc__gradient_left(&m.gradient, VC_PRIORITY_DEFAULT, false) > 0) {
        run_begin();
    } else {
        vc__gradient_turned_down(&m.gradient, m.now);
        m.refused++;
    }
}

static void
run_ends(unsigned i)
{
    struct run r = m.runs[i];

    m.runs[i] = m.runs[--m.n];
    m.now = r.ends;
    m.served++;
    vc__gradient_ran(&m.gradient, m.now, r.round, m.now - r.began);
}

static unsigned
first_to_end(void)
{
    unsigned first = 0;

    for (unsigned i = 1; i < m.n; i++)
        if (m.runs[i].ends < m.runs[first].ends)
            first = i;
    return first;
}

static void
model_run(uint64_t us)
{
    uint64_t until = m.now + us;

    m.served = m.refused = 0;
    while (m.now < until) {
        unsigned first = first_to_end();

        if (m.n > 0 && m.runs[first].ends <= m.next)
            run_ends(first);
        else
            call_comes();
    }
}

/* Returns the part of the backend's capacity that was used during `us`. */
static double
share_served(uint64_t us)
{
    return (double)m.served * (double)m.base_us / ((double)us * CAPACITY);
}

static void
whatever_comes_about_what_can_be_done_is_begun(void **state)
{
    static const double times[] = {2, 10};
    unsigned served;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        model_begin(20 * MS, times[i / 2], i % 2);
        model_run(10 * S);
        served = 0;
        for (unsigned s = 0; s < 600; s++) {
            model_run(S);
            served += m.served;
            assert_in_range(m.gradient.limit, CAPACITY / 2, CAPACITY * 5 / 2);
        }
        m.served = served;
        assert_true(share_served(600 * S) > 0.95);
    }
}

/* A few are refused at first, before the limit has adapted. */
static void
below_what_he_can_do_nothing_is_turned_down(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        model_begin(20 * MS, 0.5, i);
        model_run(S);
        assert_true(m.refused < 25);
        model_run(600 * S);
        assert_int_equal(0, m.refused);
    }
}

/* Otherwise a burst would find a limit that was never tested. */
static void
a_limit_that_nobody_needs_does_not_grow(void **state)
{
    (void)state;
    model_begin(20 * MS, 0.02, false);
    model_run(600 * S);
    assert_int_equal(VC__GRADIENT_FIRST, m.gradient.limit);
}

/* The backend becomes slower for another reason, and fast again: the limit
 * needs some probes to adapt. */
static void
another_speed_is_learned(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        model_begin(20 * MS, 2, i);
        model_run(60 * S);
        m.base_us = 60 * MS;
        model_run(60 * S);
        model_run(60 * S);
        assert_true(share_served(60 * S) > 0.9);
        assert_in_range(m.gradient.limit, CAPACITY * 2 / 3, CAPACITY * 5 / 2);
        m.base_us = 20 * MS;
        model_run(90 * S);
        model_run(60 * S);
        assert_true(share_served(60 * S) > 0.9);
        assert_in_range(m.gradient.limit, CAPACITY * 2 / 3, CAPACITY * 5 / 2);
    }
}

/* The run begins while the baseline is measured. That measurement is abandoned,
 * and made again without the run. */
static void
one_that_never_ends_holds_nobody_up(void **state)
{
    (void)state;
    model_begin(20 * MS, 2, false);
    model_run(9 * S);
    do
        call_comes();
    while (!m.gradient.probes);
    while (m.gradient.round.begun == 0)
        model_run(1);
    m.n--; /* it never ends */
    model_run(5 * S);
    assert_false(m.gradient.probes);
    model_run(60 * S);
    assert_true(share_served(60 * S) > 0.9);
    assert_in_range(m.gradient.limit, CAPACITY * 2 / 3, CAPACITY * 5 / 2);
}

static void
what_did_not_run_is_not_measured(void **state)
{
    struct vc__gradient g;
    uint32_t rounds[8];

    (void)state;
    vc__gradient_init(&g, MOST);
    for (unsigned i = 0; i < 8; i++)
        rounds[i] = vc__gradient_begin(&g, 0);
    for (unsigned i = 0; i < 8; i++)
        vc__gradient_forget(&g, S, rounds[i]);
    assert_int_equal(0, g.running);
    assert_int_equal(0, g.n);
    assert_int_equal(VC__GRADIENT_FIRST,
                     vc__gradient_left(&g, VC_PRIORITY_DEFAULT, false));
}

static void
what_is_critical_has_more_room_and_what_is_sheddable_less(void **state)
{
    struct vc__gradient g;

    (void)state;
    vc__gradient_init(&g, MOST);
    assert_int_equal(16, vc__gradient_left(&g, VC_PRIORITY_DEFAULT, false));
    assert_int_equal(12, vc__gradient_left(&g, VC_PRIORITY_SHEDDABLE, false));
    assert_int_equal(20, vc__gradient_left(&g, VC_PRIORITY_CRITICAL, false));
    for (unsigned i = 0; i < 16; i++)
        vc__gradient_begin(&g, 0);
    assert_int_equal(0, vc__gradient_left(&g, VC_PRIORITY_DEFAULT, false));
    assert_int_equal(0, vc__gradient_left(&g, VC_PRIORITY_SHEDDABLE, false));
    assert_int_equal(4, vc__gradient_left(&g, VC_PRIORITY_CRITICAL, false));
}

/* Otherwise one client whose handlers do not end would block the others in
 * each probe. */
static void
who_has_none_may_begin_while_the_baseline_is_measured(void **state)
{
    struct vc__gradient g;

    (void)state;
    vc__gradient_init(&g, MOST);
    for (unsigned i = 0; i < 10; i++)
        vc__gradient_begin(&g, 0);
    vc__gradient_turned_down(&g, 0);
    assert_int_equal(0, vc__gradient_left(&g, VC_PRIORITY_DEFAULT, false));
    assert_int_equal(6, vc__gradient_left(&g, VC_PRIORITY_DEFAULT, true));
}

/* Handlers that do not end take more places than a probe allows. */
static void
a_probe_in_which_none_begins_ends(void **state)
{
    struct vc__gradient g;
    uint64_t now = 0;

    (void)state;
    vc__gradient_init(&g, MOST);
    for (unsigned i = 0; i < 10; i++)
        vc__gradient_begin(&g, now);
    for (; now < 3 * S; now += MS)
        vc__gradient_turned_down(&g, now);
    assert_false(g.probes);
    assert_int_equal(6, vc__gradient_left(&g, VC_PRIORITY_DEFAULT, false));
    for (; now < 9 * S; now += MS) { /* the next probe is not due at once */
        vc__gradient_turned_down(&g, now);
        assert_false(g.probes);
    }
}

/* However short the runs are. */
static void
the_option_is_the_most(void **state)
{
    (void)state;
    model_begin(20 * MS, 2, false);
    vc__gradient_init(&m.gradient, 10);
    model_run(60 * S);
    assert_int_equal(10, m.gradient.limit);
    assert_true(share_served(60 * S) > 0.45);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_comes_about_what_can_be_done_is_begun),
        cmocka_unit_test(below_what_he_can_do_nothing_is_turned_down),
        cmocka_unit_test(a_limit_that_nobody_needs_does_not_grow),
        cmocka_unit_test(another_speed_is_learned),
        cmocka_unit_test(one_that_never_ends_holds_nobody_up),
        cmocka_unit_test(what_did_not_run_is_not_measured),
        cmocka_unit_test(
            what_is_critical_has_more_room_and_what_is_sheddable_less),
        cmocka_unit_test(who_has_none_may_begin_while_the_baseline_is_measured),
        cmocka_unit_test(a_probe_in_which_none_begins_ends),
        cmocka_unit_test(the_option_is_the_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
