/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The choice among the servers of a channel: pick_first, round_robin,
 * least_request, and what all policies have in common. Others have programs of
 * their own, test_picker_*. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/picker_rig.h"
#include "transport/core/error.h"

/* --- pick_first ----------------------------------------------------------- */

static void
pick_first_takes_the_first_that_does_not_fail(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_PICK_FIRST);
    assert_int_equal(0, rig_pick_after(NULL, 0));
    rig_health(0, VC__POOL_FAILING);
    rig_health(1, VC__POOL_FAILING);
    rig_health(2, VC__POOL_IDLE);
    rig_health(3, VC__POOL_IDLE);
    rig_health(4, VC__POOL_IDLE);
    assert_int_equal(2, rig_pick_after(NULL, 0));
}

/* A better one that is back is not gone back to. */
static void
pick_first_stays_while_it_can(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_PICK_FIRST);
    rig_health(0, VC__POOL_FAILING);
    assert_int_equal(1, rig_pick_after(NULL, 0));
    rig_health(0, VC__POOL_READY);
    assert_int_equal(1, rig_pick_after(NULL, 0));
    rig_health(1, VC__POOL_IDLE); /* its connection was lost */
    assert_int_equal(0, rig_pick_after(NULL, 0));
}

/* A call that goes elsewhere, as a hedge, does not move the others; nor does it
 * wait for a server that is not connected. */
static void
pick_first_is_not_moved_by_further_attempts(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_PICK_FIRST);
    atomic_store(&rig.picker.at, 2);
    assert_int_equal(0, rig_pick_after(&rig.pools[2], 0));
    assert_int_equal(2, rig_pick_after(NULL, 0));
    for (unsigned i = 0; i < RIG_N; i++)
        rig_health(i, i == 2 ? VC__POOL_READY : VC__POOL_IDLE);
    assert_int_equal(2, rig_pick_after(&rig.pools[2], 0));
}

/* Else nobody would find out which of them is back. */
static void
pick_first_has_all_connected_when_all_fail(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_PICK_FIRST);
    for (unsigned i = 0; i < RIG_N; i++) {
        rig_health(i, VC__POOL_FAILING);
        rig_promptable(i);
    }
    rig_pick_after(NULL, 0);
    for (unsigned i = 0; i < RIG_N; i++)
        assert_true(picker_rig_was_prompted(i));
}

static void
pick_first_has_no_other_connected(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_PICK_FIRST);
    for (unsigned i = 0; i < RIG_N; i++) {
        rig_health(i, VC__POOL_IDLE);
        rig_promptable(i);
    }
    assert_int_equal(0, rig_pick_after(NULL, 0));
    for (unsigned i = 0; i < RIG_N; i++)
        assert_false(picker_rig_was_prompted(i));
}

/* --- round_robin ---------------------------------------------------------- */

static void
round_robin_gives_equal_shares(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_ROUND_ROBIN);
    picker_rig_draw(RIG_DRAWS);
    for (unsigned i = 0; i < RIG_N; i++)
        assert_int_equal(RIG_DRAWS / RIG_N, rig.got[i]);
}

static void
round_robin_leaves_out_who_is_not_connected(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_ROUND_ROBIN);
    picker_rig_draw(RIG_N); /* all were connected so far */
    rig_health(1, VC__POOL_FAILING);
    rig_health(2, VC__POOL_CONNECTING);
    rig_promptable(1);
    picker_rig_draw(1); /* may still be one of them */
    picker_rig_draw(RIG_DRAWS);
    assert_int_equal(0, rig.got[1] + rig.got[2]);
    for (unsigned i = 0; i < RIG_N; i += i == 0 ? 3 : 1)
        assert_in_range(rig.got[i], RIG_DRAWS / 3, RIG_DRAWS / 3 + 1);
    assert_true(picker_rig_was_prompted(1));
}

/* The sequence counts 2^32 choices, and goes on. */
static void
round_robin_goes_on_when_its_count_wraps(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_ROUND_ROBIN);
    atomic_store(&rig.picker.at, UINT32_MAX - 2);
    picker_rig_draw(2 * RIG_N);
    for (unsigned i = 0; i < RIG_N; i++)
        assert_in_range(rig.got[i], 1, 3);
}

/* --- least_request -------------------------------------------------------- */

static void
least_request_spreads_over_equals(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_LEAST_REQUEST);
    picker_rig_draw(RIG_DRAWS);
    for (unsigned i = 0; i < RIG_N; i++)
        assert_in_range(rig.got[i], RIG_DRAWS / RIG_N * 95 / 100,
                        RIG_DRAWS / RIG_N * 105 / 100);
}

/* It is chosen only if both are it, which they never are. */
static void
least_request_leaves_out_the_busiest(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_LEAST_REQUEST);
    rig_calls(2, 10);
    picker_rig_draw(RIG_DRAWS);
    assert_int_equal(0, rig.got[2]);
    assert_true(rig.got[0] > 0 && rig.got[1] > 0 && rig.got[3] > 0 &&
                rig.got[4] > 0);
}

static void
least_request_leaves_out_who_is_not_connected(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_LEAST_REQUEST);
    rig_health(0, VC__POOL_FAILING);
    rig_health(4, VC__POOL_IDLE);
    picker_rig_draw(RIG_DRAWS);
    assert_int_equal(0, rig.got[0] + rig.got[4]);
}

static void
calls_that_were_given_up_are_no_calls(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_LEAST_REQUEST);
    rig_calls(0, 10);
    atomic_store(&rig.pools[0].tally.value[VC__POOL_CALLS_ENDED], 7);
    atomic_store(&rig.pools[0].tally.value[VC__POOL_CALLS_GIVEN_UP], 5);
    assert_int_equal(3, vc__pool_calls(&rig.pools[0]));
}

/* A server that sheds gets calls on: most fail here, and go elsewhere. Else
 * nothing would end the throttle. */
static void
one_that_sheds_is_not_left_out(void **state)
{
    (void)state;
    for (int p = VC__POLICY_ROUND_ROBIN; p <= VC__POLICY_LEAST_REQUEST; p++) {
        picker_rig_fresh((enum vc__policy)p);
        for (unsigned i = 0; i < 3; i++)
            vc__throttle_answered(&rig.pools[1].throttle, true);
        picker_rig_draw(1000);
        assert_true(rig.got[1] > 0);
    }
}

/* --- all of them ---------------------------------------------------------- */

#define POLICIES (VC__POLICY_NEAREST + 1)

static void
a_further_attempt_goes_elsewhere(void **state)
{
    (void)state;
    for (int p = 0; p < POLICIES; p++) {
        uint64_t seed = 1;

        picker_rig_fresh((enum vc__policy)p);
        atomic_store(&rig.picker.at, 2);
        for (unsigned i = 0; i < 1000; i++)
            assert_int_not_equal(
                2, rig_pick_after(&rig.pools[2], rig_random(&seed)));
        for (unsigned i = 0; i < RIG_N; i++)
            rig_health(i, i == 2 ? VC__POOL_READY : VC__POOL_FAILING);
        assert_int_equal(2, rig_pick_after(&rig.pools[2], 1));
    }
}

static void
if_all_fail_one_is_chosen_all_the_same(void **state)
{
    (void)state;
    for (int p = 0; p < POLICIES; p++) {
        picker_rig_fresh((enum vc__policy)p);
        rig_health_all(VC__POOL_FAILING);
        rig_pick_after(NULL, 7);
        assert_false(vc__picker_elsewhere(rig.set, NULL));
        rig_health(3, VC__POOL_IDLE);
        assert_int_equal(3, rig_pick_after(NULL, 7));
        assert_true(vc__picker_elsewhere(rig.set, &rig.pools[0]));
        assert_false(vc__picker_elsewhere(rig.set, &rig.pools[3]));
        rig_health(0, VC__POOL_READY); /* the other is not connected */
        assert_false(vc__picker_elsewhere(rig.set, &rig.pools[0]));
        rig_health(3, VC__POOL_READY);
        assert_true(vc__picker_elsewhere(rig.set, &rig.pools[0]));
    }
}

/* Also if all were connected at the last look. */
static void
an_ejected_server_gets_no_attempt_until_it_is_back(void **state)
{
    (void)state;
    for (int p = 0; p < POLICIES; p++) {
        picker_rig_fresh((enum vc__policy)p);
        picker_rig_draw(100);
        rig_eject(0, true);
        rig_eject(3, true);
        picker_rig_draw(1000);
        assert_int_equal(0, rig.got[0] + rig.got[3]);
        rig_eject(0, false);
        rig_eject(3, false);
        picker_rig_draw(1000);
        assert_true(p == VC__POLICY_PICK_FIRST || rig.got[3] > 0);
    }
}

static void
if_all_are_ejected_one_is_chosen_all_the_same(void **state)
{
    (void)state;
    for (int p = 0; p < POLICIES; p++) {
        unsigned sum = 0;

        picker_rig_fresh((enum vc__policy)p);
        for (unsigned i = 0; i < RIG_N; i++)
            rig_eject(i, true);
        picker_rig_draw(1000);
        for (unsigned i = 0; i < RIG_N; i++)
            sum += rig.got[i];
        assert_int_equal(1000, sum);
        assert_false(vc__picker_elsewhere(rig.set, &rig.pools[0]));
    }
}

/* It answers some calls; the others none. */
static void
an_ejected_server_is_better_than_one_that_cannot_be_reached(void **state)
{
    (void)state;
    for (int p = 0; p < POLICIES; p++) {
        picker_rig_fresh((enum vc__policy)p);
        rig_health_all(VC__POOL_FAILING);
        rig_health(2, VC__POOL_READY);
        rig_eject(2, true);
        picker_rig_draw(100);
        assert_int_equal(100, rig.got[2]);
    }
}

/* --- health ---------------------------------------------------------------- */

/* Also if all were connected and healthy at the last look. With ring_hash a
 * call waits for its server's first answer, as for its connection. */
static void
an_unhealthy_server_gets_no_attempt_until_it_is_healthy(void **state)
{
    (void)state;
    for (int p = 0; p < POLICIES; p++) {
        picker_rig_fresh((enum vc__policy)p);
        picker_rig_draw(100);
        rig_bar(0, VC__BAR_UNHEALTHY);
        rig_bar(3, p == VC__POLICY_RING_HASH ? VC__BAR_UNHEALTHY
                                             : VC__BAR_UNKNOWN);
        picker_rig_draw(1000);
        assert_int_equal(0, rig.got[0] + rig.got[3]);
        rig_bar(0, 0);
        rig_bar(3, 0);
        picker_rig_draw(1000);
        assert_true(p == VC__POLICY_PICK_FIRST || rig.got[3] > 0);
    }
}

/* As one whose connection was lost: an ejected one it goes back to. */
static void
pick_first_moves_on_from_a_server_that_is_unhealthy(void **state)
{
    (void)state;
    for (unsigned unhealthy = 0; unhealthy < 2; unhealthy++) {
        picker_rig_fresh(VC__POLICY_PICK_FIRST);
        assert_int_equal(0, rig_pick_after(NULL, 0));
        if (unhealthy) {
            rig_bar(0, VC__BAR_UNHEALTHY);
        } else {
            rig_eject(0, true);
        }
        assert_int_equal(1, rig_pick_after(NULL, 0));
        rig_bar(0, 0);
        rig_eject(0, false);
        assert_int_equal(unhealthy, rig_pick_after(NULL, 0));
    }
}

/* It may be healthy in a moment; a call waits there, as for a connection. */
static void
a_server_that_has_not_answered_is_better_than_an_unhealthy_one(void **state)
{
    (void)state;
    for (int p = 0; p < POLICIES; p++) {
        picker_rig_fresh((enum vc__policy)p);
        for (unsigned i = 0; i < RIG_N; i++)
            rig_bar(i, VC__BAR_UNHEALTHY);
        assert_false(vc__picker_elsewhere(rig.set, &rig.pools[0]));
        rig_bar(2, VC__BAR_UNKNOWN);
        assert_true(vc__picker_elsewhere(rig.set, &rig.pools[0]));
        picker_rig_draw(100);
        assert_int_equal(100, rig.got[2]);
    }
}

static void
an_unhealthy_server_is_worse_than_an_ejected_one(void **state)
{
    (void)state;
    for (int p = 0; p < POLICIES; p++) {
        picker_rig_fresh((enum vc__policy)p);
        for (unsigned i = 0; i < RIG_N; i++)
            rig_bar(i, VC__BAR_UNHEALTHY);
        rig_bar(2, 0);
        rig_eject(1, true); /* both */
        rig_eject(2, true);
        picker_rig_draw(100);
        assert_int_equal(100, rig.got[2]);
    }
}

/* What was known is about a connection that there is not any more. */
static void
without_a_connection_health_does_not_count(void **state)
{
    (void)state;
    for (int p = 0; p < POLICIES; p++) {
        picker_rig_fresh((enum vc__policy)p);
        rig_health_all(VC__POOL_FAILING);
        rig_health(2, VC__POOL_IDLE);
        rig_bar(2, VC__BAR_UNHEALTHY);
        picker_rig_draw(100);
        assert_int_equal(100, rig.got[2]);
    }
}

/* --- sets that change ------------------------------------------------------ */

/* The set has these servers from now on, by their numbers. */
static void
set_change(unsigned n, const unsigned *numbers)
{
    struct vc__endpoint *about = calloc(n, sizeof *about);
    struct vc__server_set *former = rig.set;

    assert_non_null(about);
    rig.set = vc__server_set_new(n, about);
    assert_non_null(rig.set);
    for (unsigned i = 0; i < n; i++) {
        about[i].weight = 1;
        rig.set->sub[i] = &rig.subs[numbers[i]];
    }
    vc__picker_moved(&rig.picker, former, rig.set);
    vc__server_set_free(former);
}

static void
pick_first_keeps_its_server_when_the_set_changes(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_PICK_FIRST);
    rig_health(0, VC__POOL_FAILING);
    rig_health(1, VC__POOL_FAILING);
    assert_int_equal(2, rig_pick_after(NULL, 0));
    rig_health_all(VC__POOL_READY);
    set_change(4, (const unsigned[]){4, 0, 1, 2});
    assert_int_equal(2, rig_pick_after(NULL, 0));
    set_change(2, (const unsigned[]){2, 4});
    assert_int_equal(2, rig_pick_after(NULL, 0));
}

/* Though there is another one at its place that is connected. */
static void
pick_first_begins_anew_when_its_server_has_gone(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_PICK_FIRST);
    rig_health(0, VC__POOL_FAILING);
    assert_int_equal(1, rig_pick_after(NULL, 0));
    rig_health_all(VC__POOL_READY);
    set_change(3, (const unsigned[]){3, 2, 0});
    assert_int_equal(3, rig_pick_after(NULL, 0));
}

/* Those that are new are connected by the next choices. */
static void
round_robin_has_new_servers_connected(void **state)
{
    (void)state;
    picker_rig_fresh(VC__POLICY_ROUND_ROBIN);
    set_change(2, (const unsigned[]){0, 1});
    picker_rig_draw(10);
    rig_health(4, VC__POOL_IDLE);
    rig_promptable(4);
    set_change(3, (const unsigned[]){0, 1, 4});
    picker_rig_draw(1);
    assert_true(picker_rig_was_prompted(4));
    picker_rig_draw(100);
    assert_int_equal(0, rig.got[4]);
    rig_health(4, VC__POOL_READY);
    picker_rig_draw(300);
    assert_in_range(rig.got[4], 99, 101);
}

static void
names_are_those_of_grpc(void **state)
{
    enum vc__policy policy;

    (void)state;
    assert_int_equal(VC_OK, vc__policy_parse(&policy, NULL));
    assert_int_equal(VC__POLICY_PICK_FIRST, policy);
    assert_int_equal(VC_OK, vc__policy_parse(&policy, "least_request"));
    assert_int_equal(VC__POLICY_LEAST_REQUEST, policy);
    assert_int_equal(VC_OK, vc__policy_parse(&policy, "round_robin"));
    assert_int_equal(VC__POLICY_ROUND_ROBIN, policy);
    assert_int_equal(VC_OK, vc__policy_parse(&policy, "weighted_round_robin"));
    assert_int_equal(VC__POLICY_WEIGHTED_ROUND_ROBIN, policy);
    assert_int_equal(VC_OK, vc__policy_parse(&policy, "ring_hash"));
    assert_int_equal(VC__POLICY_RING_HASH, policy);
    assert_int_equal(VC_OK, vc__policy_parse(&policy, "priority"));
    assert_int_equal(VC__POLICY_PRIORITY, policy);
    assert_int_equal(VC_OK, vc__policy_parse(&policy, "nearest"));
    assert_int_equal(VC__POLICY_NEAREST, policy);
    assert_int_equal(VC_INVALID_ARGUMENT, vc__policy_parse(&policy, ""));
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(pick_first_takes_the_first_that_does_not_fail),
        T(pick_first_stays_while_it_can),
        T(pick_first_is_not_moved_by_further_attempts),
        T(pick_first_has_all_connected_when_all_fail),
        T(pick_first_has_no_other_connected),
        T(round_robin_gives_equal_shares),
        T(round_robin_leaves_out_who_is_not_connected),
        T(round_robin_goes_on_when_its_count_wraps),
        T(least_request_spreads_over_equals),
        T(least_request_leaves_out_the_busiest),
        T(least_request_leaves_out_who_is_not_connected),
        T(calls_that_were_given_up_are_no_calls),
        T(one_that_sheds_is_not_left_out),
        T(a_further_attempt_goes_elsewhere),
        T(if_all_fail_one_is_chosen_all_the_same),
        T(an_ejected_server_gets_no_attempt_until_it_is_back),
        T(if_all_are_ejected_one_is_chosen_all_the_same),
        T(an_ejected_server_is_better_than_one_that_cannot_be_reached),
        T(an_unhealthy_server_gets_no_attempt_until_it_is_healthy),
        T(pick_first_moves_on_from_a_server_that_is_unhealthy),
        T(a_server_that_has_not_answered_is_better_than_an_unhealthy_one),
        T(an_unhealthy_server_is_worse_than_an_ejected_one),
        T(without_a_connection_health_does_not_count),
        T(pick_first_keeps_its_server_when_the_set_changes),
        T(pick_first_begins_anew_when_its_server_has_gone),
        T(round_robin_has_new_servers_connected),
        T(names_are_those_of_grpc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
