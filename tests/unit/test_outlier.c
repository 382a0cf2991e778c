/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Outlier detection: which servers are ejected, by the rules of gRPC's proposal
 * A50. tests/unit/test_outlier_time.c has for how long, test_outlier_opts.c the
 * options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/outlier_rig.h"

/* --- the success rate ----------------------------------------------------- */

/* One server of n that differs from all others is sqrt(n-1) deviations of the
 * population away from the mean: 2 of 5, 1.73 of 4. */
static void
by_default_one_bad_server_of_5_is_ejected_and_of_4_is_not(void **state)
{
    (void)state;
    for (unsigned bad = 1; bad <= 100; bad++) {
        fresh(5, BY_RATE());
        end(2, 100 - bad, bad);
        end_from(3, 100, 0);
        end(0, 100, 0);
        end(1, 100, 0);
        sweep();
        assert_int_equal(1, out());
        assert_true(is_out(2));
        assert_int_equal(VC__OUTLIER_EJECTED, servers[2].change);
        assert_int_equal(RATE, servers[2].method);
        assert_int_equal(1, counts.of[RATE].enforced);

        fresh(4, BY_RATE(.success_rate_minimum_hosts = 4));
        end(0, 100 - bad, bad);
        end_from(1, 100, 0);
        sweep();
        assert_int_equal(0, out());
    }
}

static void
exactly_at_the_threshold_of_the_deviation_a_server_stays(void **state)
{
    static const struct {
        unsigned hosts, factor;
    } rows[] = {{2, 1000},  {5, 2000},  {10, 3000},
                {17, 4000}, {26, 5000}, {101, 10000}};

    (void)state;
    for (size_t i = 0; i < LENGTHOF(rows); i++) {
        for (unsigned bad = 3; bad <= 100; bad++) {
            for (unsigned less = 0; less < 2; less++) {
                fresh(rows[i].hosts, BY_RATE(.success_rate_stdev_factor =
                                                 rows[i].factor - less,
                                             .success_rate_minimum_hosts = 1));
                end(0, 100 - bad, bad);
                end_from(1, 98, 2);
                sweep();
                if (out() != less)
                    fail_msg("row %zu, %u failed: %u ejected", i, bad, out());
            }
        }
    }
}

static void
a_server_better_than_the_others_stays(void **state)
{
    (void)state;
    fresh(10, BY_RATE(.success_rate_stdev_factor = 1));
    end(0, 100, 0);
    end_from(1, 50, 50);
    sweep();
    assert_false(is_out(0));
}

/* Whatever the rounding of the mean is. */
static void
servers_with_equal_rates_stay(void **state)
{
    static const uint32_t factors[] = {VC_OUTLIER_NONE, 1, 500, 1900};

    (void)state;
    for (unsigned hosts = 1; hosts <= HOSTS; hosts++) {
        for (unsigned good = 0; good <= 101; good += 7) {
            const struct vc__outlier_calls calls = {good, 101 - good};

            fresh(hosts, BY_RATE(.success_rate_minimum_hosts = 1,
                                 .success_rate_stdev_factor =
                                     factors[good % LENGTHOF(factors)]));
            for (unsigned i = 0; i < n; i++) {
                atomic_store(&servers[i].good, calls.good * (1 + i % 5));
                atomic_store(&servers[i].bad, calls.bad * (1 + i % 5));
            }
            sweep();
            if (out() != 0)
                fail_msg("%u of %u servers ejected at %u", out(), n, good);
        }
    }
}

static void
with_a_factor_of_none_all_below_the_mean_are_outliers(void **state)
{
    (void)state;
    fresh(10, BY_RATE(.success_rate_stdev_factor = VC_OUTLIER_NONE,
                      .max_ejection_percent = 100));
    for (unsigned i = 0; i < n; i++)
        end(i, 100 + i, 9 - i);
    sweep();
    assert_int_equal(5, out());
    assert_true(is_out(4));
}

static void
the_success_rate_needs_5_servers_with_100_calls(void **state)
{
    (void)state;
    for (unsigned enough = 1; enough <= 8; enough++) {
        /* so that one of 2 servers would be an outlier, too */
        fresh(20, BY_RATE(.success_rate_stdev_factor = 500));
        end(0, 0, 100);
        for (unsigned i = 1; i < enough; i++)
            end(i, 99, 1);
        end_from(enough, 99, 0);
        sweep();
        assert_int_equal(enough >= 5, out());
    }
}

static void
a_server_with_fewer_calls_is_no_outlier_and_not_in_the_mean(void **state)
{
    (void)state;
    fresh(20, BY_RATE(.max_ejection_percent = 100));
    end(0, 80, 20);
    for (unsigned i = 1; i < 6; i++)
        end(i, 100, 0);
    end_from(6, 0, 99);
    sweep();
    assert_int_equal(1, out());
    assert_true(is_out(0));
}

/* --- the failure percentage ----------------------------------------------- */

static void
more_than_the_threshold_must_fail(void **state)
{
    static const struct {
        uint32_t threshold;
        unsigned good, bad;
        bool ejected;
    } rows[] = {
        {0, 15, 85, false},
        {0, 14, 86, true},
        {0, 150, 850, false},
        {0, 149, 851, true},
        {0, 1499, 8501, true},
        {0, 9, 51, false}, /* exactly 85 % */
        {0, 0, 100, true},
        {1, 99, 1, false},
        {1, 98, 2, true},
        {33, 134, 66, false},
        {33, 133, 67, true},
        {100, 0, 100, false},
        {VC_OUTLIER_NONE, 100, 0, false},
        {VC_OUTLIER_NONE, 9999, 1, true},
    };

    (void)state;
    for (size_t i = 0; i < LENGTHOF(rows); i++) {
        fresh(5,
              BY_PERCENTAGE(.failure_percentage_threshold = rows[i].threshold));
        end(3, rows[i].good, rows[i].bad);
        end(4, 100, 0);
        for (unsigned k = 0; k < 3; k++)
            end(k, 100, 0);
        sweep();
        if (is_out(3) != rows[i].ejected || out() != rows[i].ejected)
            fail_msg("row %zu", i);
    }
    assert_int_equal(PERCENTAGE, servers[3].method);
    assert_int_equal(1, counts.of[PERCENTAGE].enforced);
}

static void
the_failure_percentage_needs_5_servers_with_50_calls(void **state)
{
    (void)state;
    for (unsigned enough = 1; enough <= 8; enough++) {
        fresh(20, BY_PERCENTAGE());
        end(0, 0, 50);
        for (unsigned i = 1; i < enough; i++)
            end(i, 49, 1);
        end_from(enough, 0, 49);
        sweep();
        assert_int_equal(enough >= 5, out());
        assert_int_equal(enough >= 5, is_out(0));
    }
}

static void
all_servers_may_fail_too_much(void **state)
{
    (void)state;
    fresh(7, BY_PERCENTAGE(.max_ejection_percent = 100));
    end_from(0, 10, 90);
    sweep();
    assert_int_equal(7, out());
}

static void
a_server_without_calls_is_no_outlier(void **state)
{
    (void)state;
    fresh(5, VC_OUTLIER_OPTS(.failure_percentage_threshold = VC_OUTLIER_NONE,
                             .success_rate_stdev_factor = VC_OUTLIER_NONE,
                             .success_rate_minimum_hosts = 1,
                             .success_rate_request_volume = 1,
                             .failure_percentage_minimum_hosts = 1,
                             .failure_percentage_request_volume = 1));
    sweep();
    assert_int_equal(0, out());
}

/* As a configuration may ask for. */
static void
idle_servers_are_not_in_the_mean_when_no_calls_are_enough(void **state)
{
    (void)state;
    fresh(20, VC_OUTLIER_OPTS());
    for (unsigned m = 0; m < VC__OUTLIER_METHODS; m++)
        policy.rule[m].request_volume = policy.rule[m].minimum_hosts = 0;
    sweep();
    assert_int_equal(0, out());
    end(0, 1, 1);
    for (unsigned i = 1; i < 10; i++)
        end(i, 1, 0);
    sweep();
    assert_int_equal(1, out());
    assert_true(is_out(0));
}

/* --- both ----------------------------------------------------------------- */

static void
the_success_rate_is_first(void **state)
{
    (void)state;
    fresh(10, VC_OUTLIER_OPTS());
    end(9, 0, 100);
    end(0, 0, 60); /* too few for the success rate */
    for (unsigned i = 1; i < 9; i++)
        end(i, 100, 0);
    sweep();
    assert_int_equal(1, out());
    assert_true(is_out(9));
    assert_int_equal(RATE, servers[9].method);
    assert_int_equal(1, counts.of[RATE].enforced);
    assert_int_equal(0, counts.of[PERCENTAGE].enforced);
    assert_int_equal(1, counts.of[PERCENTAGE].unenforced_overflow);
}

/* So both methods look at a server that the first found and left. */
static void
what_the_success_rate_spares_the_failure_percentage_ejects(void **state)
{
    (void)state;
    fresh(10, VC_OUTLIER_OPTS(.success_rate_enforcement = VC_OUTLIER_NONE));
    end(0, 0, 100);
    end_from(1, 100, 0);
    sweep();
    assert_true(is_out(0));
    assert_int_equal(PERCENTAGE, servers[0].method);
    assert_int_equal(1, counts.of[RATE].unenforced_chance);
    assert_int_equal(1, counts.of[PERCENTAGE].enforced);
}

/* --- how many ------------------------------------------------------------- */

static void
the_percentage_is_checked_before_each_ejection(void **state)
{
    static const struct {
        unsigned hosts;
        uint32_t percent;
        unsigned ejected;
    } rows[] = {
        {1, 0, 1},
        {3, 0, 1},
        {10, 0, 1},
        {11, 0, 2},
        {20, 0, 2},
        {21, 0, 3},
        {99, 0, 10},
        {100, 0, 10},
        {101, 0, 11},
        {200, 0, 20},
        {3, 50, 2},
        {100, 1, 1},
        {101, 1, 2},
        {3, 99, 3},
        {100, 99, 99},
        {101, 99, 100},
        {100, 100, 100},
        {1, 100, 1},
        {1, VC_OUTLIER_NONE, 1},
        {200, VC_OUTLIER_NONE, 1},
    };

    (void)state;
    for (size_t i = 0; i < LENGTHOF(rows); i++) {
        fresh(rows[i].hosts,
              BY_PERCENTAGE(.max_ejection_percent = rows[i].percent,
                            .failure_percentage_minimum_hosts = 1));
        end_from(0, 0, 50);
        sweep();
        if (out() != rows[i].ejected || !is_out(0) ||
            !is_out(rows[i].ejected - 1))
            fail_msg("row %zu: %u ejected", i, out());
        assert_int_equal(rows[i].ejected, counts.of[PERCENTAGE].enforced);
        assert_int_equal(n - rows[i].ejected,
                         counts.of[PERCENTAGE].unenforced_overflow);
        end_from(0, 0, 50);
        sweep();
        if (out() != rows[i].ejected)
            fail_msg("row %zu: %u ejected by a second sweep", i, out());
    }
}

static void
the_percentage_is_checked_for_the_success_rate_also(void **state)
{
    (void)state;
    fresh(30, BY_RATE());
    for (unsigned i = 0; i < 5; i++)
        end(i, 0, 100);
    end_from(5, 100, 0);
    sweep();
    assert_int_equal(3, out());
    assert_int_equal(3, counts.of[RATE].enforced);
    assert_int_equal(2, counts.of[RATE].unenforced_overflow);
}

/* The percentage is that of the servers that are there. */
static void
ejections_of_servers_that_left_do_not_count(void **state)
{
    (void)state;
    fresh(10, BY_PERCENTAGE());
    end_from(0, 0, 50);
    sweep();
    assert_true(is_out(0));
    for (unsigned i = 0; i < 9; i++)
        all[i] = &servers[i + 1];
    n = 9;
    for (unsigned i = 1; i <= 9; i++)
        end(i, 0, 50);
    sweep();
    assert_int_equal(2, counts.of[PERCENTAGE].enforced);
    assert_true(is_out(1));
    assert_int_equal(9 + 8, counts.of[PERCENTAGE].unenforced_overflow);
}

/* --- enforcement ---------------------------------------------------------- */

static unsigned
ejected_of_10000(const struct vc_outlier_opts *opts)
{
    unsigned ejected = 0;

    fresh(5, opts);
    for (unsigned k = 0; k < 10000; k++) {
        seed = k;
        vc__outlier_reset(all, n);
        end(0, 0, 100);
        end_from(1, 100, 0);
        sweep();
        ejected += is_out(0);
    }
    return ejected;
}

static void
an_ejection_is_enforced_with_its_probability(void **state)
{
    static const struct {
        uint32_t percent;
        unsigned least, most;
    } rows[] = {{VC_OUTLIER_NONE, 0, 0}, {1, 60, 140},
                {50, 4800, 5200},        {99, 9860, 9940},
                {100, 10000, 10000},     {0, 10000, 10000}};

    (void)state;
    for (size_t i = 0; i < LENGTHOF(rows); i++) {
        uint32_t percent = rows[i].percent;
        unsigned ejected =
            ejected_of_10000(BY_RATE(.success_rate_enforcement = percent));

        assert_in_range(ejected, rows[i].least, rows[i].most);
        assert_int_equal(ejected, counts.of[RATE].enforced);
        assert_int_equal(10000 - ejected, counts.of[RATE].unenforced_chance);
        ejected = ejected_of_10000(
            BY_PERCENTAGE(.failure_percentage_enforcement = percent));
        assert_in_range(ejected, rows[i].least, rows[i].most);
        assert_int_equal(ejected, counts.of[PERCENTAGE].enforced);
        assert_int_equal(10000 - ejected,
                         counts.of[PERCENTAGE].unenforced_chance);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            by_default_one_bad_server_of_5_is_ejected_and_of_4_is_not),
        cmocka_unit_test(
            exactly_at_the_threshold_of_the_deviation_a_server_stays),
        cmocka_unit_test(a_server_better_than_the_others_stays),
        cmocka_unit_test(servers_with_equal_rates_stay),
        cmocka_unit_test(with_a_factor_of_none_all_below_the_mean_are_outliers),
        cmocka_unit_test(the_success_rate_needs_5_servers_with_100_calls),
        cmocka_unit_test(
            a_server_with_fewer_calls_is_no_outlier_and_not_in_the_mean),
        cmocka_unit_test(more_than_the_threshold_must_fail),
        cmocka_unit_test(the_failure_percentage_needs_5_servers_with_50_calls),
        cmocka_unit_test(all_servers_may_fail_too_much),
        cmocka_unit_test(a_server_without_calls_is_no_outlier),
        cmocka_unit_test(
            idle_servers_are_not_in_the_mean_when_no_calls_are_enough),
        cmocka_unit_test(the_success_rate_is_first),
        cmocka_unit_test(
            what_the_success_rate_spares_the_failure_percentage_ejects),
        cmocka_unit_test(the_percentage_is_checked_before_each_ejection),
        cmocka_unit_test(the_percentage_is_checked_for_the_success_rate_also),
        cmocka_unit_test(ejections_of_servers_that_left_do_not_count),
        cmocka_unit_test(an_ejection_is_enforced_with_its_probability),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
