/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How long polling is worthwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport/core/spin.h"

#define MAX_US    2000u
#define WAKEUP_US 40u

static struct vc__spin
spin_new(void)
{
    struct vc__spin s;

    vc__spin_init(&s, MAX_US, WAKEUP_US);
    return s;
}

static void
it_lasts_longer_than_a_wake_up_when_the_last_event_came_soon(void **state)
{
    struct vc__spin s = spin_new();

    (void)state;
    assert_int_equal(VC__SPIN_SOON * WAKEUP_US, vc__spin_us(&s));
    vc__spin_came(&s, VC__SPIN_SOON * WAKEUP_US + 1, true);
    assert_int_equal(WAKEUP_US, vc__spin_us(&s));
    vc__spin_came(&s, VC__SPIN_SOON * WAKEUP_US, true);
    assert_int_equal(VC__SPIN_SOON * WAKEUP_US, vc__spin_us(&s));
}

/* When both ends slept, a wait takes two wake-ups and the call's time. It must
 * not count as long, or both ends would keep sleeping. */
static void
two_that_sleep_find_back_to_polling(void **state)
{
    struct vc__spin s = spin_new();

    (void)state;
    vc__spin_came(&s, MAX_US, false);
    vc__spin_came(&s, 2 * WAKEUP_US + WAKEUP_US / 2, false);
    assert_int_equal(VC__SPIN_SOON * WAKEUP_US, vc__spin_us(&s));
}

static void
it_follows_what_wake_ups_cost_within_limits(void **state)
{
    struct vc__spin s = spin_new();

    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        vc__spin_woke(&s, 6 * WAKEUP_US);
    assert_in_range(vc__spin_wakeup_us(&s), 6 * WAKEUP_US - 5, 6 * WAKEUP_US);
    for (unsigned i = 0; i < 1000; i++)
        vc__spin_woke(&s, 1000000);
    assert_in_range(vc__spin_wakeup_us(&s), VC__WAKEUP_MAX_US - 5,
                    VC__WAKEUP_MAX_US);
    for (unsigned i = 0; i < 100; i++)
        vc__spin_woke(&s, 0);
    assert_in_range(vc__spin_wakeup_us(&s), VC__WAKEUP_MIN_US,
                    VC__WAKEUP_MIN_US + 8);
}

/* On a crowded processor most wake-ups are late, and some are not. */
static void
late_wake_ups_count_less_than_those_in_time(void **state)
{
    struct vc__spin s = spin_new();

    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        vc__spin_woke(&s, i % 4 == 0 ? WAKEUP_US : 4000);
    assert_in_range(vc__spin_wakeup_us(&s), WAKEUP_US, 2 * WAKEUP_US);
}

static void
each_wait_that_ends_by_a_wake_up_halves_it(void **state)
{
    struct vc__spin s = spin_new();

    (void)state;
    vc__spin_came(&s, MAX_US, false);
    assert_int_equal(WAKEUP_US / 2, vc__spin_us(&s));
    vc__spin_came(&s, MAX_US, false);
    assert_int_equal(WAKEUP_US / 4, vc__spin_us(&s));
    for (unsigned i = 0; i < 300; i++)
        vc__spin_came(&s, MAX_US, false);
    assert_int_equal(0, vc__spin_us(&s));
    vc__spin_came(&s, MAX_US, true);
    assert_int_equal(WAKEUP_US, vc__spin_us(&s));
}

static void
steady_traffic_is_polled_for_as_long_as_the_program_allows(void **state)
{
    struct vc__spin s = spin_new();

    (void)state;
    for (unsigned i = 0; i < VC__SPIN_STEADY; i++) {
        assert_int_equal(VC__SPIN_SOON * WAKEUP_US, vc__spin_us(&s));
        vc__spin_came(&s, WAKEUP_US, true);
    }
    assert_int_equal(MAX_US, vc__spin_us(&s));
    vc__spin_came(&s, WAKEUP_US, false);
    assert_int_equal(VC__SPIN_SOON * WAKEUP_US, vc__spin_us(&s));
    for (unsigned i = 0; i < 2 * VC__SPIN_STEADY; i++)
        vc__spin_came(&s, WAKEUP_US, true);
    assert_int_equal(MAX_US, vc__spin_us(&s));
    vc__spin_came(&s, VC__SPIN_SOON * WAKEUP_US + 1, true);
    assert_int_equal(WAKEUP_US, vc__spin_us(&s));
}

static void
it_is_never_longer_than_the_program_allows(void **state)
{
    struct vc__spin s;

    (void)state;
    vc__spin_init(&s, 5, WAKEUP_US);
    assert_int_equal(5, vc__spin_us(&s));
    vc__spin_init(&s, 0, WAKEUP_US);
    assert_int_equal(0, vc__spin_us(&s));
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(it_lasts_longer_than_a_wake_up_when_the_last_event_came_soon),
        T(two_that_sleep_find_back_to_polling),
        T(it_follows_what_wake_ups_cost_within_limits),
        T(late_wake_ups_count_less_than_those_in_time),
        T(each_wait_that_ends_by_a_wake_up_halves_it),
        T(steady_traffic_is_polled_for_as_long_as_the_program_allows),
        T(it_is_never_longer_than_the_program_allows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
