/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The backoff between attempts to connect. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cm/connect/backoff.h"

#define SEEDS 1000u

/* Returns the mean backoff after so many failures before. */
static uint64_t
middle(unsigned failures)
{
    return failures >= 7 ? VC__BACKOFF_MAX_US : VC__BACKOFF_MIN_US << failures;
}

static void
each_failure_doubles_the_wait_up_to_the_longest(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct vc__backoff b;

        vc__backoff_init(&b, seed);
        for (unsigned i = 0; i < 12; i++) {
            uint64_t wait = vc__backoff_failed(&b);

            assert_in_range(wait, middle(i) * 8 / 10, middle(i) * 12 / 10);
        }
    }
}

static void
it_never_grows_beyond_the_longest(void **state)
{
    struct vc__backoff b;

    (void)state;
    vc__backoff_init(&b, 1);
    for (unsigned i = 0; i < 100000; i++)
        assert_true(vc__backoff_failed(&b) <= VC__BACKOFF_MAX_US * 12 / 10);
    b.failures = UINT_MAX;
    assert_true(vc__backoff_failed(&b) >= VC__BACKOFF_MAX_US * 8 / 10);
    assert_true(vc__backoff_failed(&b) >= VC__BACKOFF_MAX_US * 8 / 10);
}

static void
success_begins_with_the_shortest_again(void **state)
{
    struct vc__backoff b;

    (void)state;
    vc__backoff_init(&b, 7);
    for (unsigned i = 0; i < 10; i++)
        vc__backoff_failed(&b);
    vc__backoff_reset(&b);
    assert_in_range(vc__backoff_failed(&b), VC__BACKOFF_MIN_US * 8 / 10,
                    VC__BACKOFF_MIN_US * 12 / 10);
}

static void
clients_that_failed_together_spread_over_the_whole_range(void **state)
{
    uint64_t least = UINT64_MAX, most = 0;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct vc__backoff b;
        uint64_t wait;

        vc__backoff_init(&b, seed);
        wait = vc__backoff_failed(&b);
        least = wait < least ? wait : least;
        most = wait > most ? wait : most;
    }
    assert_true(least < VC__BACKOFF_MIN_US * 81 / 100);
    assert_true(most > VC__BACKOFF_MIN_US * 119 / 100);
}

static void
the_same_seed_waits_the_same(void **state)
{
    struct vc__backoff a, b;

    (void)state;
    vc__backoff_init(&a, 3);
    vc__backoff_init(&b, 3);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(vc__backoff_failed(&a), vc__backoff_failed(&b));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failure_doubles_the_wait_up_to_the_longest),
        cmocka_unit_test(it_never_grows_beyond_the_longest),
        cmocka_unit_test(success_begins_with_the_shortest_again),
        cmocka_unit_test(
            clients_that_failed_together_spread_over_the_whole_range),
        cmocka_unit_test(the_same_seed_waits_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
