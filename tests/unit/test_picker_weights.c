/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The choice among the servers of a channel: weighted_round_robin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/picker_rig.h"

static const unsigned ordinary[] = {1, 2, 5, 2, 10};
/* One has nearly all calls; without it the others must share them fairly. */
static const unsigned one_heavy[] = {1, 200, 1, 2, 1};

static void
weights_begin(const unsigned weights[RIG_N])
{
    picker_rig_begin(VC__POLICY_WEIGHTED_ROUND_ROBIN, RIG_N);
    for (unsigned i = 0; i < RIG_N; i++)
        rig.set->about[i].weight = weights[i];
    picker_rig_arrange();
}

/* Draws, and expects shares by the weights, within 5 %, of the servers that are
 * not left out. */
static void
shares_are(const unsigned weights[RIG_N], unsigned left_out)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < RIG_N; i++)
        sum += i == left_out ? 0 : weights[i];
    picker_rig_draw(RIG_DRAWS);
    for (unsigned i = 0; i < RIG_N; i++) {
        unsigned share = i == left_out ? 0 : RIG_DRAWS / sum * weights[i];

        assert_in_range(rig.got[i], share * 95 / 100, share * 105 / 100);
    }
}

static void
shares_are_proportional_to_the_weights(void **state)
{
    (void)state;
    weights_begin(ordinary);
    shares_are(ordinary, RIG_N);
}

static void
they_are_so_without_one_that_cannot_be_reached_and_when_it_is_back(void **state)
{
    (void)state;
    weights_begin(ordinary);
    picker_rig_draw(1); /* all were connected so far */
    for (unsigned i = 0; i < RIG_N; i++) {
        rig_health(i, VC__POOL_FAILING);
        shares_are(ordinary, i);
        rig_health(i, VC__POOL_READY);
        shares_are(ordinary, RIG_N);
    }
}

/* Draws by weight would mostly meet the one that is not there. */
static void
light_servers_share_the_calls_of_a_heavy_one(void **state)
{
    (void)state;
    weights_begin(one_heavy);
    picker_rig_draw(1);
    rig_health(1, VC__POOL_FAILING);
    shares_are(one_heavy, 1);
    rig_health(1, VC__POOL_READY);
    rig_eject(1, true);
    shares_are(one_heavy, 1);
}

static void
one_that_is_not_connected_is_connected(void **state)
{
    (void)state;
    weights_begin(ordinary);
    picker_rig_draw(100); /* all are connected: not all are looked at */
    rig_health(4, VC__POOL_IDLE);
    rig_promptable(4);
    picker_rig_draw(20);
    assert_true(picker_rig_was_prompted(4));
    assert_int_equal(0, rig.got[4]);
}

static void
a_further_attempt_goes_to_the_others_by_their_weights(void **state)
{
    uint64_t seed = 1;
    unsigned got[RIG_N] = {0};

    (void)state;
    weights_begin(ordinary);
    for (unsigned i = 0; i < RIG_DRAWS; i++)
        got[rig_pick_after(&rig.pools[4], rig_random(&seed))]++;
    assert_int_equal(0, got[4]);
    for (unsigned i = 0; i < 4; i++)
        assert_in_range(got[i], RIG_DRAWS / 10 * ordinary[i] * 95 / 100,
                        RIG_DRAWS / 10 * ordinary[i] * 105 / 100);
}

static void
equal_weights_are_round_robin(void **state)
{
    static const unsigned equal[RIG_N] = {7, 7, 7, 7, 7};

    (void)state;
    weights_begin(equal);
    picker_rig_draw(1);
    for (unsigned i = 0; i < 3 * RIG_N; i++)
        assert_int_equal((1 + i) % RIG_N, rig_pick_after(NULL, 1));
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(shares_are_proportional_to_the_weights),
        T(they_are_so_without_one_that_cannot_be_reached_and_when_it_is_back),
        T(light_servers_share_the_calls_of_a_heavy_one),
        T(one_that_is_not_connected_is_connected),
        T(a_further_attempt_goes_to_the_others_by_their_weights),
        T(equal_weights_are_round_robin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
