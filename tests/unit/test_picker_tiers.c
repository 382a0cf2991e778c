/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The choice among the servers of a channel: priority, and nearest, which has
 * its tiers otherwise (test_near). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/picker_rig.h"

/* Servers 1 and 3 are the first tier, 0 and 4 the second, 2 the third. */
static void
tiers_begin(void)
{
    static const uint32_t priorities[RIG_N] = {5, 0, 255, 0, 5};

    picker_rig_begin(VC__POLICY_PRIORITY, RIG_N);
    for (unsigned i = 0; i < RIG_N; i++)
        rig.set->about[i].priority = priorities[i];
    picker_rig_arrange();
}

static void
first_tier_set(enum vc__pool_health health)
{
    rig_health(1, health);
    rig_health(3, health);
}

static void
only_the_lowest_priority_gets_calls_in_turn(void **state)
{
    (void)state;
    tiers_begin();
    picker_rig_draw(1000);
    assert_int_equal(500, rig.got[1]);
    assert_int_equal(500, rig.got[3]);
}

static void
one_that_is_left_of_a_tier_has_all_calls(void **state)
{
    (void)state;
    tiers_begin();
    picker_rig_draw(10);
    rig_health(1, VC__POOL_FAILING);
    picker_rig_draw(1000);
    assert_int_equal(1000, rig.got[3]);
}

/* Also beside others that are connected: the link will be there soon. */
static void
a_call_waits_for_a_server_of_the_first_tier(void **state)
{
    (void)state;
    tiers_begin();
    picker_rig_draw(10);
    first_tier_set(VC__POOL_CONNECTING);
    picker_rig_draw(1000);
    assert_int_equal(1000, rig.got[1] + rig.got[3]);
}

static void
the_next_tier_gets_calls_while_the_first_fails(void **state)
{
    (void)state;
    tiers_begin();
    picker_rig_draw(10);
    first_tier_set(VC__POOL_FAILING);
    picker_rig_draw(1000);
    assert_int_equal(500, rig.got[0]);
    assert_int_equal(500, rig.got[4]);
    rig_health(0, VC__POOL_FAILING);
    rig_health(4, VC__POOL_FAILING);
    picker_rig_draw(1000);
    assert_int_equal(1000, rig.got[2]);
    first_tier_set(VC__POOL_READY);
    picker_rig_draw(1000);
    assert_int_equal(500, rig.got[1]);
    assert_int_equal(500, rig.got[3]);
}

/* One that is ejected is no reason to wait, and none to be connected. */
static void
the_next_tier_gets_calls_while_the_first_is_ejected(void **state)
{
    (void)state;
    tiers_begin();
    picker_rig_draw(10);
    rig_eject(1, true);
    rig_eject(3, true);
    picker_rig_draw(1000);
    assert_int_equal(1000, rig.got[0] + rig.got[4]);
}

static void
a_lower_tier_is_connected_only_when_the_upper_fails(void **state)
{
    (void)state;
    tiers_begin();
    rig_health_all(VC__POOL_IDLE);
    for (unsigned i = 0; i < RIG_N; i++)
        rig_promptable(i);
    picker_rig_draw(10);
    assert_true(picker_rig_was_prompted(1) && picker_rig_was_prompted(3));
    assert_false(picker_rig_was_prompted(0) || picker_rig_was_prompted(4));
    first_tier_set(VC__POOL_FAILING);
    rig_promptable(1);
    picker_rig_draw(10);
    assert_true(picker_rig_was_prompted(0) && picker_rig_was_prompted(4));
    assert_true(picker_rig_was_prompted(1)); /* it may be back */
    assert_false(picker_rig_was_prompted(2));
}

static void
if_all_tiers_fail_all_servers_are_tried(void **state)
{
    (void)state;
    tiers_begin();
    rig_health_all(VC__POOL_FAILING);
    for (unsigned i = 0; i < RIG_N; i++)
        rig_promptable(i);
    picker_rig_draw(1000);
    for (unsigned i = 0; i < RIG_N; i++) {
        assert_true(picker_rig_was_prompted(i));
        assert_int_equal(1000 / RIG_N, rig.got[i]);
    }
}

/* All of the second tier are connected, which says nothing of the first. */
static void
a_whole_second_tier_does_not_hide_the_first(void **state)
{
    (void)state;
    tiers_begin();
    rig_health(1, VC__POOL_FAILING);
    rig_health(3, VC__POOL_FAILING);
    picker_rig_draw(10);
    rig_health(1, VC__POOL_READY);
    rig_promptable(3);
    picker_rig_draw(100);
    assert_int_equal(100, rig.got[1]);
    assert_true(picker_rig_was_prompted(3));
}

/* A call that could not be sent does not go to a lower tier, so it has nowhere
 * to go at once. */
static void
an_attempt_goes_elsewhere_only_within_its_tier(void **state)
{
    (void)state;
    tiers_begin();
    assert_true(vc__picker_elsewhere(rig.set, &rig.pools[1]));
    assert_int_equal(3, rig_pick_after(&rig.pools[1], 1));
    rig_health(3, VC__POOL_FAILING);
    assert_int_equal(1, rig_pick_after(&rig.pools[1], 1));
    assert_false(vc__picker_elsewhere(rig.set, &rig.pools[1]));
    rig_health(1, VC__POOL_FAILING);
    assert_true(vc__picker_elsewhere(rig.set, &rig.pools[1]));
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(only_the_lowest_priority_gets_calls_in_turn),
        T(one_that_is_left_of_a_tier_has_all_calls),
        T(a_call_waits_for_a_server_of_the_first_tier),
        T(the_next_tier_gets_calls_while_the_first_fails),
        T(the_next_tier_gets_calls_while_the_first_is_ejected),
        T(a_lower_tier_is_connected_only_when_the_upper_fails),
        T(if_all_tiers_fail_all_servers_are_tried),
        T(a_whole_second_tier_does_not_hide_the_first),
        T(an_attempt_goes_elsewhere_only_within_its_tier),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
