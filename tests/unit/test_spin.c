/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How long polling is worth it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport/core/spin.h"

#define MAX_US    2000u
#define WAKEUP_US 40u
#define NOW       1000000u

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
    assert_int_equal(VC__SPIN_SOON * WAKEUP_US, vc__spin_us(&s, NOW));
    vc__spin_came(&s, VC__SPIN_SOON * WAKEUP_US + 1, true);
    assert_int_equal(WAKEUP_US, vc__spin_us(&s, NOW));
    vc__spin_came(&s, VC__SPIN_SOON * WAKEUP_US, true);
    assert_int_equal(VC__SPIN_SOON * WAKEUP_US, vc__spin_us(&s, NOW));
}

/* When both ends slept, a wait lasts two wake-ups and what the call takes: it
 * must not be taken for long, or they would sleep for ever. */
static void
two_that_sleep_find_back_to_polling(void **state)
{
    struct vc__spin s = spin_new();

    (void)state;
    vc__spin_came(&s, MAX_US, false);
    vc__spin_came(&s, 2 * WAKEUP_US + WAKEUP_US / 2, false);
    assert_int_equal(VC__SPIN_SOON * WAKEUP_US, vc__spin_us(&s, NOW));
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
    assert_int_equal(WAKEUP_US / 2, vc__spin_us(&s, NOW));
    vc__spin_came(&s, MAX_US, false);
    assert_int_equal(WAKEUP_US / 4, vc__spin_us(&s, NOW));
    for (unsigned i = 0; i < 300; i++)
        vc__spin_came(&s, MAX_US, false);
    assert_int_equal(0, vc__spin_us(&s, NOW));
    vc__spin_came(&s, MAX_US, true);
    assert_int_equal(WAKEUP_US, vc__spin_us(&s, NOW));
}

static void
it_is_never_longer_than_the_program_allows(void **state)
{
    struct vc__spin s;

    (void)state;
    vc__spin_init(&s, 5, WAKEUP_US);
    assert_int_equal(5, vc__spin_us(&s, NOW));
    vc__spin_init(&s, 0, WAKEUP_US);
    assert_int_equal(0, vc__spin_us(&s, NOW));
}

#define LOST_US (WAKEUP_US / 2 + VC__KERNEL_US + 1)

static void
it_gives_way_for_a_millisecond_to_those_who_want_the_processor(void **state)
{
    struct vc__spin s = spin_new();

    (void)state;
    vc__spin_gap(&s, LOST_US - 1, NOW);
    assert_int_equal(VC__SPIN_SOON * WAKEUP_US, vc__spin_us(&s, NOW));
    vc__spin_gap(&s, LOST_US, NOW);
    assert_int_equal(0, vc__spin_us(&s, NOW + VC__CROWDED_US - 1));
    assert_int_equal(WAKEUP_US, vc__spin_us(&s, NOW + VC__CROWDED_US));
    vc__spin_came(&s, 0, true);
    assert_int_equal(VC__SPIN_SOON * WAKEUP_US,
                     vc__spin_us(&s, NOW + VC__CROWDED_US));
}

/* How long it gives way when it lost the processor at this time. */
static uint64_t
gives_way(struct vc__spin *s, uint64_t now)
{
    vc__spin_gap(s, LOST_US, now);
    return s->crowded - now;
}

static void
it_gives_way_for_longer_when_they_are_still_there(void **state)
{
    struct vc__spin s = spin_new();
    uint64_t now = NOW;

    (void)state;
    for (uint64_t us = VC__CROWDED_US; us <= VC__CROWDED_MAX_US; us *= 2) {
        assert_int_equal(us, gives_way(&s, now));
        now += 2 * us;
    }
    assert_int_equal(VC__CROWDED_MAX_US, gives_way(&s, now));
    now += 3 * VC__CROWDED_MAX_US + 1;
    assert_int_equal(VC__CROWDED_US, gives_way(&s, now));
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
        T(it_is_never_longer_than_the_program_allows),
        T(it_gives_way_for_a_millisecond_to_those_who_want_the_processor),
        T(it_gives_way_for_longer_when_they_are_still_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
