/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The quick choice: it is one that vc__picker_pick() might make, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/picker_rig.h"

static void
it_is_the_next_in_turn_once_all_are_known_to_be_connected(void **state)
{
    int first;

    (void)state;
    picker_rig_fresh(VC__POLICY_ROUND_ROBIN);
    assert_int_equal(-1, rig_pick_quick(NULL));
    rig_pick_after(NULL, 0);
    first = rig_pick_quick(NULL);
    assert_in_range(first, 0, RIG_N - 1);
    for (unsigned i = 1; i < 2 * RIG_N; i++)
        assert_int_equal(((unsigned)first + i) % RIG_N, rig_pick_quick(NULL));
}

/* Makes one round of quick choices while one server does not suit: its turn is
 * the last. */
static void
round_ends_at(unsigned other)
{
    int got = 0;

    for (unsigned i = 0; i < RIG_N && got >= 0; i++) {
        got = rig_pick_quick(NULL);
        assert_int_not_equal(other, got);
    }
    assert_int_equal(-1, got);
    rig_pick_after(NULL, 0);
    assert_int_equal(-1, rig_pick_quick(NULL));
}

static void
it_is_none_while_a_server_does_not_suit_and_its_turn_has_come(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_ROUND_ROBIN);
    rig_pick_after(NULL, 0);
    rig_eject(2, true);
    round_ends_at(2);
    rig_eject(2, false);
    rig_pick_after(NULL, 0);
    rig_bar(3, VC__BAR_UNHEALTHY);
    round_ends_at(3);
    rig_bar(3, 0);
    rig_pick_after(NULL, 0);
    rig_health(1, VC__POOL_FAILING);
    round_ends_at(1);
}

static void
it_is_not_where_the_attempt_before_went(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_PICK_FIRST);
    assert_int_equal(0, rig_pick_quick(NULL));
    assert_int_equal(-1, rig_pick_quick(&rig.pools[0]));
}

static void
of_pick_first_it_is_a_server_of_the_set_that_suits(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_PICK_FIRST);
    atomic_store(&rig.picker.at, 2);
    assert_int_equal(2, rig_pick_quick(NULL));
    rig_bar(2, VC__BAR_UNKNOWN);
    assert_int_equal(-1, rig_pick_quick(NULL));
    rig_bar(2, 0);
    rig_eject(2, true);
    assert_int_equal(-1, rig_pick_quick(NULL));
    atomic_store(&rig.picker.at, RIG_N); /* of a former set */
    assert_int_equal(-1, rig_pick_quick(NULL));
}

/* Of a resolver: a fixed target of one server needs no choice. */
static void
among_one_it_is_that_one(void **state)
{
    (void)state;
    picker_rig_begin(VC__POLICY_ROUND_ROBIN, 1);
    picker_rig_arrange();
    assert_int_equal(0, rig_pick_after(NULL, 0));
    assert_int_equal(0, rig_pick_quick(NULL));
    rig_health(0, VC__POOL_IDLE);
    assert_int_equal(-1, rig_pick_quick(NULL));
}

static void
other_policies_have_none(void **state)
{
    static const enum vc__policy others[] = {
        VC__POLICY_LEAST_REQUEST, VC__POLICY_RING_HASH, VC__POLICY_PRIORITY,
        VC__POLICY_NEAREST, VC__POLICY_CUSTOM};

    (void)state;
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        picker_rig_fresh(others[i]);
        atomic_store(&rig.picker.whole, true);
        assert_int_equal(-1, rig_pick_quick(NULL));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            it_is_the_next_in_turn_once_all_are_known_to_be_connected),
        cmocka_unit_test(
            it_is_none_while_a_server_does_not_suit_and_its_turn_has_come),
        cmocka_unit_test(it_is_not_where_the_attempt_before_went),
        cmocka_unit_test(of_pick_first_it_is_a_server_of_the_set_that_suits),
        cmocka_unit_test(among_one_it_is_that_one),
        cmocka_unit_test(other_policies_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
