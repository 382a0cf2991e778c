/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The choice among the servers of a channel, over pools that exist only as what
 * they publish. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/balance/picker.h"
#include "tests/unit/random.h"
#include "transport/core/error.h"

#define N     5u
#define DRAWS 100000u

static struct vc__pool pools[N];
static struct vc__subchannel subs[N];
static struct vc__server_set *set;
static struct vc__picker picker;
static unsigned got[N];
static const struct vc_service service;

static void
health_set(unsigned i, enum vc__pool_health health)
{
    atomic_store(&pools[i].health, health);
}

static void
calls_set(unsigned i, uint64_t calls)
{
    atomic_store(&pools[i].tally.value[VC__POOL_CALLS_STARTED], calls);
}

/* Has this server asked to be connected, if the time has come. */
static void
promptable(unsigned i)
{
    atomic_store(&pools[i].prompt_at, 0);
    pools[i].closed = true; /* so that nothing is posted */
}

static bool
was_prompted(unsigned i)
{
    return pools[i].asked == &service;
}

/* All servers are connected, and nobody is to be connected. */
static void
fresh(enum vc__policy policy)
{
    memset(pools, 0, sizeof pools);
    memset(subs, 0, sizeof subs);
    vc__server_set_free(set);
    set = vc__server_set_new(N, NULL);
    memset(got, 0, sizeof got);
    picker = (struct vc__picker){.policy = policy};
    for (unsigned i = 0; i < N; i++) {
        subs[i].pool = &pools[i];
        set->sub[i] = &subs[i];
        atomic_store(&pools[i].prompt_at, UINT64_MAX);
        health_set(i, VC__POOL_READY);
    }
}

static unsigned
pick_after(const struct vc__pool *before, uint64_t seed)
{
    const struct vc__pick pick = {
        .service = &service, .before = before, .now = 1, .seed = seed};

    return (unsigned)(vc__picker_pick(&picker, set, &pick) - subs);
}

static uint64_t
wide(uint64_t *seed)
{
    uint64_t high = random_next(seed);

    return high << 32 | random_next(seed);
}

static void
draw(unsigned n)
{
    uint64_t seed = 1;

    memset(got, 0, sizeof got);
    for (unsigned i = 0; i < n; i++)
        got[pick_after(NULL, wide(&seed))]++;
}

/* --- pick_first ----------------------------------------------------------- */

static void
pick_first_takes_the_first_that_does_not_fail(void **state)
{
    (void)state;
    fresh(VC__POLICY_PICK_FIRST);
    assert_int_equal(0, pick_after(NULL, 0));
    health_set(0, VC__POOL_FAILING);
    health_set(1, VC__POOL_FAILING);
    health_set(2, VC__POOL_IDLE);
    health_set(3, VC__POOL_IDLE);
    health_set(4, VC__POOL_IDLE);
    assert_int_equal(2, pick_after(NULL, 0));
}

/* A better one that is back is not gone back to. */
static void
pick_first_stays_while_it_can(void **state)
{
    (void)state;
    fresh(VC__POLICY_PICK_FIRST);
    health_set(0, VC__POOL_FAILING);
    assert_int_equal(1, pick_after(NULL, 0));
    health_set(0, VC__POOL_READY);
    assert_int_equal(1, pick_after(NULL, 0));
    health_set(1, VC__POOL_IDLE); /* its connection was lost */
    assert_int_equal(0, pick_after(NULL, 0));
}

/* A call that goes elsewhere, as a hedge, does not move the others; nor does it
 * wait for a server that is not connected. */
static void
pick_first_is_not_moved_by_further_attempts(void **state)
{
    (void)state;
    fresh(VC__POLICY_PICK_FIRST);
    atomic_store(&picker.at, 2);
    assert_int_equal(0, pick_after(&pools[2], 0));
    assert_int_equal(2, pick_after(NULL, 0));
    for (unsigned i = 0; i < N; i++)
        health_set(i, i == 2 ? VC__POOL_READY : VC__POOL_IDLE);
    assert_int_equal(2, pick_after(&pools[2], 0));
}

/* Else nobody would find out which of them is back. */
static void
pick_first_has_all_connected_when_all_fail(void **state)
{
    (void)state;
    fresh(VC__POLICY_PICK_FIRST);
    for (unsigned i = 0; i < N; i++) {
        health_set(i, VC__POOL_FAILING);
        promptable(i);
    }
    pick_after(NULL, 0);
    for (unsigned i = 0; i < N; i++)
        assert_true(was_prompted(i));
}

static void
pick_first_has_no_other_connected(void **state)
{
    (void)state;
    fresh(VC__POLICY_PICK_FIRST);
    for (unsigned i = 0; i < N; i++) {
        health_set(i, VC__POOL_IDLE);
        promptable(i);
    }
    assert_int_equal(0, pick_after(NULL, 0));
    for (unsigned i = 0; i < N; i++)
        assert_false(was_prompted(i));
}

/* --- round_robin ---------------------------------------------------------- */

static void
round_robin_gives_equal_shares(void **state)
{
    (void)state;
    fresh(VC__POLICY_ROUND_ROBIN);
    draw(DRAWS);
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(DRAWS / N, got[i]);
}

static void
round_robin_leaves_out_who_is_not_connected(void **state)
{
    (void)state;
    fresh(VC__POLICY_ROUND_ROBIN);
    draw(N); /* all were connected so far */
    health_set(1, VC__POOL_FAILING);
    health_set(2, VC__POOL_CONNECTING);
    promptable(1);
    draw(1); /* may still be one of them */
    draw(DRAWS);
    assert_int_equal(0, got[1] + got[2]);
    for (unsigned i = 0; i < N; i += i == 0 ? 3 : 1)
        assert_in_range(got[i], DRAWS / 3, DRAWS / 3 + 1);
    assert_true(was_prompted(1));
}

/* The sequence counts 2^32 choices, and goes on. */
static void
round_robin_goes_on_when_its_count_wraps(void **state)
{
    (void)state;
    fresh(VC__POLICY_ROUND_ROBIN);
    atomic_store(&picker.at, UINT32_MAX - 2);
    draw(2 * N);
    for (unsigned i = 0; i < N; i++)
        assert_in_range(got[i], 1, 3);
}

/* --- least_request -------------------------------------------------------- */

static void
least_request_spreads_over_equals(void **state)
{
    (void)state;
    fresh(VC__POLICY_LEAST_REQUEST);
    draw(DRAWS);
    for (unsigned i = 0; i < N; i++)
        assert_in_range(got[i], DRAWS / N * 95 / 100, DRAWS / N * 105 / 100);
}

/* It is chosen only if both are it, which they never are. */
static void
least_request_leaves_out_the_busiest(void **state)
{
    (void)state;
    fresh(VC__POLICY_LEAST_REQUEST);
    calls_set(2, 10);
    draw(DRAWS);
    assert_int_equal(0, got[2]);
    assert_true(got[0] > 0 && got[1] > 0 && got[3] > 0 && got[4] > 0);
}

static void
least_request_leaves_out_who_is_not_connected(void **state)
{
    (void)state;
    fresh(VC__POLICY_LEAST_REQUEST);
    health_set(0, VC__POOL_FAILING);
    health_set(4, VC__POOL_IDLE);
    draw(DRAWS);
    assert_int_equal(0, got[0] + got[4]);
}

static void
calls_that_were_given_up_are_no_calls(void **state)
{
    (void)state;
    fresh(VC__POLICY_LEAST_REQUEST);
    calls_set(0, 10);
    atomic_store(&pools[0].tally.value[VC__POOL_CALLS_ENDED], 7);
    atomic_store(&pools[0].tally.value[VC__POOL_CALLS_GIVEN_UP], 5);
    assert_int_equal(3, vc__pool_calls(&pools[0]));
}

/* A server that sheds gets calls on: most fail here, and go elsewhere. Else
 * nothing would end the throttle. */
static void
one_that_sheds_is_not_left_out(void **state)
{
    (void)state;
    for (int p = VC__POLICY_ROUND_ROBIN; p <= VC__POLICY_LEAST_REQUEST; p++) {
        fresh((enum vc__policy)p);
        for (unsigned i = 0; i < 3; i++)
            vc__throttle_answered(&pools[1].throttle, true);
        draw(1000);
        assert_true(got[1] > 0);
    }
}

/* --- all of them ---------------------------------------------------------- */

static void
a_further_attempt_goes_elsewhere(void **state)
{
    (void)state;
    for (int p = VC__POLICY_PICK_FIRST; p <= VC__POLICY_LEAST_REQUEST; p++) {
        uint64_t seed = 1;

        fresh((enum vc__policy)p);
        atomic_store(&picker.at, 2);
        for (unsigned i = 0; i < 1000; i++)
            assert_int_not_equal(2, pick_after(&pools[2], wide(&seed)));
        for (unsigned i = 0; i < N; i++)
            health_set(i, i == 2 ? VC__POOL_READY : VC__POOL_FAILING);
        assert_int_equal(2, pick_after(&pools[2], 1));
    }
}

static void
if_all_fail_one_is_chosen_all_the_same(void **state)
{
    (void)state;
    for (int p = VC__POLICY_PICK_FIRST; p <= VC__POLICY_LEAST_REQUEST; p++) {
        fresh((enum vc__policy)p);
        for (unsigned i = 0; i < N; i++)
            health_set(i, VC__POOL_FAILING);
        pick_after(NULL, 7);
        assert_false(vc__picker_elsewhere(set, NULL));
        health_set(3, VC__POOL_IDLE);
        assert_int_equal(3, pick_after(NULL, 7));
        assert_true(vc__picker_elsewhere(set, &pools[0]));
        assert_false(vc__picker_elsewhere(set, &pools[3]));
        health_set(0, VC__POOL_READY); /* the other is not connected */
        assert_false(vc__picker_elsewhere(set, &pools[0]));
        health_set(3, VC__POOL_READY);
        assert_true(vc__picker_elsewhere(set, &pools[0]));
    }
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
        T(names_are_those_of_grpc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
