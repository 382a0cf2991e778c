/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The connection plan: when each address is tried, and when again. */
#include "tests/unit/dial_maker.h"

/* --- several addresses ------------------------------------------------- */

static void
one_address_is_tried_at_once_and_nothing_else_happens(void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 1, 1);
    expect_try(&d, T0, 1);
    expect_nothing(&d, T0);
    expect_nothing(&d, DUE - 1);
}

static void
the_next_address_is_tried_when_the_former_was_silent_for_its_head_start(
    void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 3, 1);
    expect_try(&d, T0, 1);
    expect_wait(&d, T0, T0 + HEAD);
    expect_wait(&d, T0 + HEAD - 1, T0 + HEAD);
    expect_try(&d, T0 + HEAD, 2);
    expect_wait(&d, T0 + HEAD, T0 + 2 * HEAD);
    expect_try(&d, T0 + 2 * HEAD, 3);
    expect_nothing(&d, T0 + 2 * HEAD);
}

/* A61: the connection attempt delay is an option. */
static void
the_head_start_is_what_the_owner_says(void **state)
{
    struct places places = places_make(2);
    struct vc__dial_opts opts = {.places = places.to,
                                 .n_places = 2,
                                 .due = DUE,
                                 .head_start_ms = 100,
                                 .offer = most};
    struct vc__dial d;

    (void)state;
    vc__dial_begin(&d, &opts);
    expect_try(&d, T0, 1);
    expect_wait(&d, T0, T0 + 100 * MS);
    expect_try(&d, T0 + 100 * MS, 2);

    opts.head_start_ms = 2000;
    opts.due = T0 + 20000 * MS;
    vc__dial_begin(&d, &opts);
    expect_try(&d, T0, 1);
    expect_wait(&d, T0, T0 + 2000 * MS);
}

/* A61: a failure starts the next attempt at once, and that one has all of its
 * delay before the one after it. */
static void
the_delay_begins_anew_with_each_attempt(void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 3, 1);
    fail_silent(&d, expect_try(&d, T0, 1), T0 + 200 * MS, "refused");
    expect_try(&d, T0 + 200 * MS, 2);
    expect_wait(&d, T0 + 200 * MS, T0 + 200 * MS + HEAD);
    expect_try(&d, T0 + 200 * MS + HEAD, 3);
}

static void
a_failure_starts_the_next_attempt_while_others_are_under_way(void **state)
{
    struct vc__dial d;
    unsigned first;

    (void)state;
    begin(&d, 4, 1);
    first = expect_try(&d, T0, 1);
    fail_silent(&d, expect_try(&d, T0 + HEAD, 2), T0 + HEAD + 1, "refused");
    expect_try(&d, T0 + HEAD + 1, 3);
    fail_silent(&d, first, T0 + HEAD + 2, "refused");
    expect_try(&d, T0 + HEAD + 2, 4);
}

static void
a_head_start_is_a_quarter_of_the_time_at_most(void **state)
{
    struct vc__dial d;

    (void)state;
    begin_until(&d, 3, 1, T0 + 100 * MS);
    expect_try(&d, T0, 1);
    expect_wait(&d, T0, T0 + 25 * MS);
    expect_try(&d, T0 + 25 * MS, 2);
    expect_wait(&d, T0 + 25 * MS, T0 + 43750);
    expect_try(&d, T0 + 43750, 3);
    expect_nothing(&d, T0 + 43750);
}

static void
the_next_address_is_tried_at_once_when_one_has_failed(void **state)
{
    struct vc__dial d;
    unsigned which;

    (void)state;
    begin(&d, 2, 1);
    which = expect_try(&d, T0, 1);
    fail_silent(&d, which, T0 + 1, "no way");
    expect_try(&d, T0 + 1, 2);
    expect_nothing(&d, T0 + 1);
}

static void
a_late_look_does_not_try_all_addresses_at_once(void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 4, 1);
    expect_try(&d, T0, 1);
    expect_try(&d, T0 + 4 * HEAD, 2);
    expect_wait(&d, T0 + 4 * HEAD, T0 + 5 * HEAD);
}

static void
all_failed_is_the_end(void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 2, 1);
    fail_silent(&d, expect_try(&d, T0, 1), T0, "first");
    fail_silent(&d, expect_try(&d, T0, 2), T0 + 5, "second");
    expect_fail(&d, T0 + 5, "first");
    expect_fail(&d, T0 + 6, "first");
}

static void
one_that_fails_is_no_end_while_another_is_under_way(void **state)
{
    struct vc__dial d;
    unsigned first, second;

    (void)state;
    begin(&d, 2, 1);
    first = expect_try(&d, T0, 1);
    second = expect_try(&d, T0 + HEAD, 2);
    fail_silent(&d, first, T0 + HEAD, "a");
    expect_nothing(&d, T0 + HEAD);
    fail_silent(&d, second, T0 + HEAD, "b");
    expect_fail(&d, T0 + HEAD, "a");
}

static void
no_try_begins_when_the_time_is_over(void **state)
{
    struct vc__dial d;
    unsigned which;

    (void)state;
    begin(&d, 2, 1);
    which = expect_try(&d, T0, 1);
    expect_nothing(&d, DUE);
    fail_silent(&d, which, DUE, "too late");
    expect_fail(&d, DUE, "too late");

    begin(&d, 1, 1);
    expect_fail(&d, DUE, "the timeout elapsed before an attempt");
}

static void
addresses_of_another_family_than_the_bound_one_are_left_out(void **state)
{
    struct places places = places_make(2);
    struct vc__dial_opts opts = {.places = places.to,
                                 .n_places = 2,
                                 .due = DUE,
                                 .head_start_ms = VC__DIAL_HEAD_START_MS,
                                 .family = AF_INET,
                                 .offer = most};
    struct vc__dial d;

    (void)state;
    places.to[0].addr.ss_family = AF_INET6;
    vc__dial_begin(&d, &opts);
    expect_try(&d, T0, 2);
    expect_nothing(&d, T0);

    opts.family = AF_INET6;
    places.to[0].addr.ss_family = AF_INET;
    vc__dial_begin(&d, &opts);
    expect_fail(&d, T0, "bind_address");
}

static void
without_an_address_there_was_no_time(void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 0, 1);
    expect_fail(&d, T0, "the timeout elapsed before an attempt");
}

static void
a_plan_knows_nothing_of_the_one_before_it(void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 2, 1);
    reject_busy(&d, expect_try(&d, T0, 1), T0, 100);
    reject_busy(&d, expect_try(&d, T0, 2), T0, 100);
    begin(&d, 1, 1);
    expect_try(&d, T0, 1);
    expect_nothing(&d, T0);
}

/* --- stale QP numbers -------------------------------------------------- */

static void
a_stale_qp_number_is_tried_again_at_once_at_the_same_address(void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 2, 1);
    for (unsigned i = 0; i <= VC__DIAL_STALE_MAX; i++)
        fail_stale(&d, expect_try(&d, T0, 1), T0);
    expect_try(&d, T0, 2);
    expect_nothing(&d, T0);
}

static void
stale_refusals_do_not_hasten_other_addresses(void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 2, 1);
    fail_stale(&d, expect_try(&d, T0, 1), T0 + 10);
    expect_try(&d, T0 + 10, 1);
    expect_wait(&d, T0 + 10, T0 + HEAD);
}

static void
those_refused_together_are_tried_again_in_their_order(void **state)
{
    struct vc__dial d;
    unsigned first, second;

    (void)state;
    begin(&d, 2, 1);
    first = expect_try(&d, T0, 1);
    second = expect_try(&d, T0 + HEAD, 2);
    fail_stale(&d, second, T0 + HEAD);
    fail_stale(&d, first, T0 + HEAD);
    expect_try(&d, T0 + HEAD, 1);
    expect_try(&d, T0 + HEAD, 2);
}

static void
stale_for_ever_is_told_in_the_end(void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 1, 1);
    for (unsigned i = 0; i <= VC__DIAL_STALE_MAX; i++)
        fail_stale(&d, expect_try(&d, T0, 1), T0);
    expect_fail(&d, T0, "stale");
}

/* --- busy -------------------------------------------------------------- */

/* Returns the time until the next try. */
static uint64_t
wait_of(struct vc__dial *d, uint64_t now)
{
    struct vc__dial_step step;

    assert_int_equal(VC__DIAL_WAIT, vc__dial_next(d, now, &step));
    assert_true(step.at > now);
    return step.at - now;
}

static void
busy_is_tried_again_after_its_time_and_up_to_half_of_it(void **state)
{
    uint64_t least = UINT64_MAX, longest = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct vc__dial d;
        uint64_t wait;

        begin(&d, 1, seed);
        reject_busy(&d, expect_try(&d, T0, 1), T0, 100);
        wait = wait_of(&d, T0);
        assert_in_range(wait, 100 * MS, 150 * MS);
        expect_try(&d, T0 + wait, 1);
        expect_nothing(&d, T0 + wait);
        least = wait < least ? wait : least;
        longest = wait > longest ? wait : longest;
    }
    assert_true(least < 101 * MS && longest > 149 * MS);
}

static void
draining_is_tried_again_like_busy(void **state)
{
    const struct vc__reject r = {.reason = VC__REJECT_DRAINING, .retry_ms = 50};
    struct vc__dial d;

    (void)state;
    begin(&d, 1, 1);
    reject(&d, expect_try(&d, T0, 1), T0, VC_UNAVAILABLE, "draining", &r);
    assert_in_range(wait_of(&d, T0), 50 * MS, 75 * MS);
}

static void
other_addresses_are_tried_while_one_is_busy(void **state)
{
    struct vc__dial d;
    struct vc__dial_step step;

    (void)state;
    begin(&d, 2, 1);
    reject_busy(&d, expect_try(&d, T0, 1), T0, 100);
    expect_try(&d, T0, 2);
    assert_in_range(wait_of(&d, T0), 100 * MS, 150 * MS);
    assert_int_equal(VC__DIAL_TRY, vc__dial_next(&d, T0 + 150 * MS, &step));
    assert_int_equal(1, host_of(step.way));
}

static void
busy_hastens_the_next_address(void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 3, 1);
    expect_try(&d, T0, 1);
    reject_busy(&d, expect_try(&d, T0 + HEAD, 2), T0 + HEAD + 1, 100);
    expect_try(&d, T0 + HEAD + 1, 3);
}

static void
a_busy_one_and_the_next_address_come_each_at_its_time(void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 3, 1);
    reject_busy(&d, expect_try(&d, T0, 1), T0, 100);
    expect_try(&d, T0, 2);
    assert_in_range(wait_of(&d, T0), 100 * MS, 150 * MS);

    begin(&d, 3, 1);
    reject_busy(&d, expect_try(&d, T0, 1), T0, 300);
    expect_try(&d, T0, 2);
    expect_wait(&d, T0, T0 + HEAD);
}

static void
the_shortest_time_doubles_with_each_refusal_up_to_80_ms(void **state)
{
    static const uint64_t least[] = {10, 20, 40, 80, 80, 80};

    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        uint64_t now = T0;
        struct vc__dial d;

        begin(&d, 1, seed);
        for (size_t i = 0; i < sizeof least / sizeof least[0]; i++) {
            uint64_t wait;

            reject_busy(&d, expect_try(&d, now, 1), now, 1);
            wait = wait_of(&d, now);
            assert_in_range(wait, least[i] * MS, least[i] * MS * 3 / 2);
            now += wait;
        }
    }
}

static void
a_time_that_ends_with_the_plan_is_too_long(void **state)
{
    struct vc__dial d;
    uint64_t at;

    (void)state;
    begin(&d, 1, 1);
    reject_busy(&d, expect_try(&d, T0, 1), T0, 100);
    at = T0 + wait_of(&d, T0);

    begin_until(&d, 1, 1, at);
    reject_busy(&d, expect_try(&d, T0, 1), T0, 100);
    expect_fail(&d, T0, "busy");
    begin_until(&d, 1, 1, at + 1);
    reject_busy(&d, expect_try(&d, T0, 1), T0, 100);
    expect_wait(&d, T0, at);
}

static void
busy_is_told_when_the_time_ends_before_it_is_tried_again(void **state)
{
    struct vc__dial d;

    (void)state;
    begin(&d, 1, 1);
    reject_busy(&d, expect_try(&d, T0, 1), T0, 100);
    expect_fail(&d, DUE, "busy");
}

static void
busy_without_a_time_or_with_one_that_is_too_long_is_a_failure(void **state)
{
    static const uint32_t ms[] = {0, 2000, 1999, 600000, UINT32_MAX};
    struct vc__dial d;

    (void)state;
    for (size_t i = 0; i < sizeof ms / sizeof ms[0]; i++) {
        begin(&d, 1, i);
        reject_busy(&d, expect_try(&d, T0, 1), T0 + MS, ms[i]);
        expect_fail(&d, T0 + MS, "busy");
    }
}

static void
busy_for_ever_ends_with_the_time_and_is_told(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct vc__dial d;
        struct vc__dial_step step;
        uint64_t now = T0;
        unsigned tries = 0;

        begin(&d, 1, seed);
        for (;;) {
            enum vc__dial_what what = vc__dial_next(&d, now, &step);

            if (what == VC__DIAL_FAIL)
                break;
            if (what == VC__DIAL_TRY) {
                tries++;
                reject_busy(&d, step.which, now, 1);
            } else {
                assert_int_equal(VC__DIAL_WAIT, what);
                assert_true(step.at > now && step.at < DUE);
                now = step.at;
            }
        }
        /* The number of tries is small, however short the server's
         * retry time. */
        assert_in_range(tries, 10, 40);
        expect_fail(&d, now, "busy");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_address_is_tried_at_once_and_nothing_else_happens),
        cmocka_unit_test(
            the_next_address_is_tried_when_the_former_was_silent_for_its_head_start),
        cmocka_unit_test(the_head_start_is_what_the_owner_says),
        cmocka_unit_test(the_delay_begins_anew_with_each_attempt),
        cmocka_unit_test(
            a_failure_starts_the_next_attempt_while_others_are_under_way),
        cmocka_unit_test(a_head_start_is_a_quarter_of_the_time_at_most),
        cmocka_unit_test(the_next_address_is_tried_at_once_when_one_has_failed),
        cmocka_unit_test(a_late_look_does_not_try_all_addresses_at_once),
        cmocka_unit_test(all_failed_is_the_end),
        cmocka_unit_test(one_that_fails_is_no_end_while_another_is_under_way),
        cmocka_unit_test(no_try_begins_when_the_time_is_over),
        cmocka_unit_test(
            addresses_of_another_family_than_the_bound_one_are_left_out),
        cmocka_unit_test(without_an_address_there_was_no_time),
        cmocka_unit_test(a_plan_knows_nothing_of_the_one_before_it),
        cmocka_unit_test(
            a_stale_qp_number_is_tried_again_at_once_at_the_same_address),
        cmocka_unit_test(stale_refusals_do_not_hasten_other_addresses),
        cmocka_unit_test(those_refused_together_are_tried_again_in_their_order),
        cmocka_unit_test(stale_for_ever_is_told_in_the_end),
        cmocka_unit_test(
            busy_is_tried_again_after_its_time_and_up_to_half_of_it),
        cmocka_unit_test(draining_is_tried_again_like_busy),
        cmocka_unit_test(other_addresses_are_tried_while_one_is_busy),
        cmocka_unit_test(busy_hastens_the_next_address),
        cmocka_unit_test(a_busy_one_and_the_next_address_come_each_at_its_time),
        cmocka_unit_test(
            the_shortest_time_doubles_with_each_refusal_up_to_80_ms),
        cmocka_unit_test(a_time_that_ends_with_the_plan_is_too_long),
        cmocka_unit_test(
            busy_is_told_when_the_time_ends_before_it_is_tried_again),
        cmocka_unit_test(
            busy_without_a_time_or_with_one_that_is_too_long_is_a_failure),
        cmocka_unit_test(busy_for_ever_ends_with_the_time_and_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
