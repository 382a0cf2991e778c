/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The weight of a server by its load reports: what it is, when it is used, and
 * the options about that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include <verbcall/status.h>

#include "rpc/balance/load_opts.h"

static const struct {
    double qps, eps, utilization, penalty;
    float weight;
} table[] = {
    {100, 0, 0.5, 1, 200},
    {100, 0, 2.0, 1, 50}, /* more than all of it is used */
    {100, 25, 0.5, 1, 100 / 0.75f},
    {100, 25, 0.5, 2, 100},
    {100, 200, 0.5, 1, 40}, /* more errors than queries */
    /* errors that do not count */
    {100, 25, 0.5, 0, 200},
    {100, 25, 0.5, -1, 200},
    {100, 25, 0.5, (double)NAN, 200},
    {100, -25, 0.5, 1, 200},
    {100, (double)NAN, 0.5, 1, 200},
    /* no load, or none that can be */
    {0, 0, 0.5, 1, 0},
    {0, 25, 0.5, 1, 0},
    {-100, 0, 0.5, 1, 0},
    {-100, 25, 0.1, 1, 0},
    {(double)NAN, 0, 0.5, 1, 0},
    {(double)INFINITY, 0, 0.5, 1, 0},
    {100, 0, 0, 1, 0},
    {100, 25, 0, 1, 0},
    {100, 0, -0.5, 1, 0},
    {-100, 0, -0.5, 1, 0},
    {100, 0, (double)NAN, 1, 0},
    {100, 0, (double)INFINITY, 1, 0},
    {(double)INFINITY, 0, (double)INFINITY, 1, 0},
    {100, (double)INFINITY, 0.5, 1, 0},
    /* beyond a float */
    {DBL_MAX, 0, 0.5, 1, 0},
    {1e38, 0, 1e-3, 1, 0},
    {1, 0, DBL_MAX, 1, 0},
    {1e-30, 0, 1e10, 1, 0},
    {1e-300, DBL_MAX, 0.5, 1, 0},
};

static void
each_report_weighs_what_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        float is = vc__load_weight(table[i].qps, table[i].eps,
                                   table[i].utilization, table[i].penalty);
        float differs = is - table[i].weight;

        /* Not so for NaN, either. */
        if (!(differs <= table[i].weight * FLT_EPSILON &&
              differs >= -table[i].weight * FLT_EPSILON))
            fail_msg("row %zu weighs %g", i, (double)is);
    }
}

/* --- when it is used -------------------------------------------------------- */

#define S     UINT64_C(1000000)
#define BEGIN (1000 * S)

static struct vc__load load;
static struct vc__load_rules rules;

static void
report_of(double rps, double eps, double utilization, unsigned connection,
          uint64_t at)
{
    const struct vc__load_report report = {
        .rps = rps, .eps = eps, .application_utilization = utilization};

    vc__load_take(&load, &rules, &report, connection, BEGIN + at);
}

/* A report of weight `weight`. */
static void
report(float weight, uint64_t at)
{
    report_of((double)weight, 0, 1, 1, at);
}

static void
assert_weight_of(unsigned connection, float weight, uint64_t at)
{
    float is = vc__load_now(&load, &rules, connection, BEGIN + at);

    if (!(is >= weight && is <= weight))
        fail_msg("at %g s the weight is %g, not %g", (double)at / 1e6,
                 (double)is, (double)weight);
}

static void
assert_weight(float weight, uint64_t at)
{
    assert_weight_of(1, weight, at);
}

static void
fresh(void)
{
    load = (struct vc__load){.weight = 0};
    assert_int_equal(VC_OK, vc__load_opts_take(&rules, NULL));
}

static void
a_weight_is_used_10_s_after_the_first_report(void **state)
{
    (void)state;
    fresh();
    assert_weight(0, 0);
    report(5, 0);
    assert_weight(0, 0);
    report(7, 9 * S);
    assert_weight(0, 10 * S - 1);
    assert_weight(7, 10 * S);
    report(8, 11 * S);
    assert_weight(8, 11 * S);
}

static void
a_weight_expires_3_min_after_the_last_report(void **state)
{
    (void)state;
    fresh();
    report(5, 0);
    report(6, 20 * S);
    assert_weight(6, 200 * S - 1);
    assert_true(vc__load_is_fresh(&load, &rules, BEGIN + 200 * S - 1));
    assert_weight(0, 200 * S);
    assert_false(vc__load_is_fresh(&load, &rules, BEGIN + 200 * S));
}

static void
after_that_the_10_s_begin_again(void **state)
{
    (void)state;
    fresh();
    report(5, 0);
    assert_weight(0, 180 * S);
    report(6, 200 * S);
    assert_weight(0, 210 * S - 1);
    assert_weight(6, 210 * S);
}

/* As nobody asks for weights while there are no reports. */
static void
that_is_so_if_nobody_has_asked_meanwhile(void **state)
{
    (void)state;
    fresh();
    report(5, 0);
    report(6, 200 * S);
    assert_weight(0, 210 * S - 1);
    assert_weight(6, 210 * S);
}

static void
after_a_connect_the_10_s_begin_with_its_first_report(void **state)
{
    (void)state;
    fresh();
    report(5, 0);
    assert_weight(5, 20 * S);
    assert_weight_of(2, 0, 21 * S);
    assert_weight_of(2, 0, 40 * S);
    report_of(6, 0, 1, 2, 50 * S);
    assert_weight_of(2, 0, 60 * S - 1);
    assert_weight_of(2, 6, 60 * S);
    report_of(7, 0, 1, 3, 70 * S); /* nobody has asked meanwhile */
    assert_weight_of(3, 0, 80 * S - 1);
    assert_weight_of(3, 7, 80 * S);
}

/* It does not begin the 10 s, nor put the end off. */
static void
a_report_that_says_nothing_changes_nothing(void **state)
{
    static const double strange[] = {
        0, -1, (double)NAN, (double)INFINITY, -(double)INFINITY, DBL_MAX};
    const unsigned n = sizeof strange / sizeof strange[0];

    (void)state;
    fresh();
    for (unsigned i = 0; i < n; i++) {
        report_of(strange[i], 0, 0.001, 1, 0);
        report_of(1, 0, strange[i], 1, 0);
    }
    assert_weight(0, 11 * S);
    report(5, 20 * S);
    assert_weight(0, 30 * S - 1);
    for (unsigned i = 0; i < n; i++) {
        report_of(strange[i], 0, 0.001, 1, 100 * S);
        report_of(1, 0, strange[i], 1, 100 * S);
    }
    assert_weight(5, 200 * S - 1);
    assert_weight(0, 200 * S);
}

static void
errors_make_a_server_lighter(void **state)
{
    (void)state;
    fresh();
    report_of(100, 50, 0.5, 1, 0);
    assert_weight(100, 10 * S);
    report_of(100, 0, 0.5, 1, 10 * S);
    assert_weight(200, 10 * S);
    rules.penalty = 3;
    report_of(100, 50, 0.5, 1, 10 * S);
    assert_weight(50, 10 * S);
}

static void
what_the_program_says_counts_more_than_its_processors(void **state)
{
    struct vc__load_report both = {.cpu_utilization = 0.5, .rps = 8};

    (void)state;
    fresh();
    vc__load_take(&load, &rules, &both, 1, BEGIN);
    assert_weight(16, 10 * S);
    both.application_utilization = 0.25;
    vc__load_take(&load, &rules, &both, 1, BEGIN);
    assert_weight(32, 10 * S);
    both.application_utilization = (double)NAN;
    vc__load_take(&load, &rules, &both, 1, BEGIN);
    assert_weight(16, 10 * S);
    both.application_utilization = -1;
    both.cpu_utilization = 1;
    vc__load_take(&load, &rules, &both, 1, BEGIN);
    assert_weight(8, 10 * S);
}

/* --- the options ------------------------------------------------------------- */

static void
times_and_penalty_may_be_others(void **state)
{
    (void)state;
    fresh();
    assert_int_equal(
        VC_OK,
        vc__load_opts_take(
            &rules, VC_LOAD_OPTS(.blackout_ms = 20, .expiration_ms = 70,
                                 .update_ms = 100, .error_penalty = 2500)));
    assert_false(rules.ignore);
    assert_int_equal(100000, rules.update_us);
    report_of(100, 10, 0.25, 1, 0); /* 100 / (0.25 + 0.1 * 2.5) */
    assert_weight(0, 20000 - 1);
    assert_weight(200, 20000);
    assert_weight(200, 70000 - 1);
    assert_weight(0, 70000);
}

static void
blackout_and_penalty_may_be_none(void **state)
{
    (void)state;
    fresh();
    assert_int_equal(
        VC_OK,
        vc__load_opts_take(
            &rules, VC_LOAD_OPTS(.ignore = 1, .blackout_ms = VC_LOAD_NONE,
                                 .error_penalty = VC_LOAD_NONE)));
    assert_true(rules.ignore);
    report_of(100, 100, 0.5, 1, 0);
    assert_weight(200, 0);
}

static void
the_defaults_are_those_of_a58(void **state)
{
    struct vc__load_rules by_macro;

    (void)state;
    fresh();
    assert_int_equal(VC_OK, vc__load_opts_take(&by_macro, VC_LOAD_OPTS()));
    assert_int_equal(10 * S, by_macro.blackout_us);
    assert_int_equal(180 * S, by_macro.expiration_us);
    assert_int_equal(1 * S, by_macro.update_us);
    assert_true(by_macro.penalty == 1.0);
    assert_false(by_macro.ignore);
    assert_int_equal(rules.blackout_us, by_macro.blackout_us);
}

static void
an_option_out_of_its_range_is_refused_by_name(void **state)
{
    static const struct {
        struct vc_load_opts opts;
        const char *text;
    } bad[] = {
#define ROW(field, value, words)                                               \
    {{.size = sizeof(struct vc_load_opts), .field = (value)},                  \
     "vc_load_opts." #field ": " words}
        ROW(ignore, 2, "2 is not in 1..1"),
        ROW(blackout_ms, 86400001, "86400001 is not in 1..86400000"),
        ROW(expiration_ms, VC_LOAD_NONE, "4294967295 is not in 1..86400000"),
        ROW(update_ms, 99, "99 is not in 100..86400000"),
        ROW(update_ms, 86400001, "86400001 is not in 100..86400000"),
        ROW(error_penalty, 1000001, "1000001 is not in 1..1000000"),
#undef ROW
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(VC_INVALID_ARGUMENT,
                         vc__load_opts_take(&rules, &bad[i].opts));
        if (strncmp(vc_error(), bad[i].text, strlen(bad[i].text)) != 0)
            fail_msg("row %zu: %s", i, vc_error());
    }
    assert_int_equal(VC_INVALID_ARGUMENT,
                     vc__load_opts_take(&rules, &(struct vc_load_opts){0}));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_report_weighs_what_the_table_says),
        cmocka_unit_test(a_weight_is_used_10_s_after_the_first_report),
        cmocka_unit_test(a_weight_expires_3_min_after_the_last_report),
        cmocka_unit_test(after_that_the_10_s_begin_again),
        cmocka_unit_test(that_is_so_if_nobody_has_asked_meanwhile),
        cmocka_unit_test(after_a_connect_the_10_s_begin_with_its_first_report),
        cmocka_unit_test(a_report_that_says_nothing_changes_nothing),
        cmocka_unit_test(errors_make_a_server_lighter),
        cmocka_unit_test(what_the_program_says_counts_more_than_its_processors),
        cmocka_unit_test(times_and_penalty_may_be_others),
        cmocka_unit_test(blackout_and_penalty_may_be_none),
        cmocka_unit_test(the_defaults_are_those_of_a58),
        cmocka_unit_test(an_option_out_of_its_range_is_refused_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
