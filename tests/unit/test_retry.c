/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which failed attempts are retried, and after which delay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <verbcall/call.h>
#include <verbcall/service.h>

#include "rpc/client/retry.h"

#define SEEDS   1000u
#define MS      UINT64_C(1000)
#define FOREVER UINT64_MAX
#define NEVER   UINT64_MAX

#define EXECUTED VC_OUTCOME_EXECUTED
#define NOT      VC_OUTCOME_NOT_EXECUTED
#define PERHAPS  VC_OUTCOME_UNKNOWN
#define IDEM     VC_METHOD_IDEMPOTENT
#define PURE     VC_METHOD_NO_SIDE_EFFECTS
#define NO_RETRY VC_CALL_NO_RETRY
#define WAIT     VC_CALL_WAIT_FOR_READY

static const struct vc__retry_policy policy = VC__RETRY_POLICY(3, 50);

/* wait_ms is the least delay before the retry in milliseconds, NEVER for no
 * retry. The longest delay is half as much again. */
static const struct {
    enum vc_status status;
    enum vc_outcome outcome;
    uint32_t method, call;
    unsigned attempt;
    int32_t pushback; /* 0: none */
    uint64_t left_ms;
    uint64_t wait_ms;
    uint64_t took_ms;
} table[] = {
    /* not executed */
    {VC_UNAVAILABLE, NOT, 0, 0, 1, 0, FOREVER, 40, 0},
    {VC_UNAVAILABLE, NOT, 0, 0, 2, 0, FOREVER, 80, 0},
    {VC_UNAVAILABLE, NOT, 0, 0, 3, 0, FOREVER, NEVER, 0},
    {VC_UNAVAILABLE, NOT, IDEM, 0, 3, 0, FOREVER, NEVER, 0},
    {VC_RESOURCE_EXHAUSTED, NOT, 0, 0, 1, 0, FOREVER, 40, 0},
    {VC_UNIMPLEMENTED, NOT, IDEM, 0, 1, 0, FOREVER, NEVER, 0},
    {VC_CANCELLED, NOT, IDEM, 0, 1, 0, FOREVER, NEVER, 0},
    {VC_DEADLINE_EXCEEDED, NOT, IDEM, 0, 1, 0, FOREVER, NEVER, 0},
    {VC_INTERNAL, NOT, IDEM, 0, 1, 0, FOREVER, NEVER, 0},
    {VC_PERMISSION_DENIED, NOT, IDEM, 0, 1, 0, FOREVER, NEVER, 0},
    /* perhaps executed, and executed */
    {VC_UNAVAILABLE, PERHAPS, 0, 0, 1, 0, FOREVER, NEVER, 0},
    {VC_UNAVAILABLE, PERHAPS, IDEM, 0, 1, 0, FOREVER, 40, 0},
    {VC_UNAVAILABLE, PERHAPS, PURE, 0, 2, 0, FOREVER, 80, 0},
    {VC_UNAVAILABLE, EXECUTED, 0, 0, 1, 0, FOREVER, NEVER, 0},
    {VC_UNAVAILABLE, EXECUTED, IDEM, 0, 1, 0, FOREVER, 40, 0},
    {VC_RESOURCE_EXHAUSTED, EXECUTED, 0, 0, 1, 0, FOREVER, NEVER, 0},
    {VC_ABORTED, EXECUTED, IDEM, 0, 1, 0, FOREVER, NEVER, 0},
    /* the caller forbids retries */
    {VC_UNAVAILABLE, NOT, IDEM, NO_RETRY, 1, 0, FOREVER, NEVER, 0},
    /* the server's pushback */
    {VC_UNAVAILABLE, NOT, 0, 0, 1, 700, FOREVER, 700, 0},
    {VC_UNAVAILABLE, NOT, 0, 0, 1, -1, FOREVER, NEVER, 0},
    {VC_UNAVAILABLE, NOT, 0, 0, 3, 700, FOREVER, NEVER, 0},
    {VC_UNAVAILABLE, EXECUTED, 0, 0, 1, 700, FOREVER, NEVER, 0},
    {VC_ABORTED, EXECUTED, IDEM, 0, 1, 700, FOREVER, NEVER, 0},
    /* the time left */
    {VC_UNAVAILABLE, NOT, 0, 0, 1, 0, 61, 40, 0},
    {VC_UNAVAILABLE, NOT, 0, 0, 1, 0, 40, NEVER, 0},
    {VC_UNAVAILABLE, NOT, 0, 0, 1, 700, 700, NEVER, 0},
    {VC_UNAVAILABLE, NOT, 0, 0, 1, 0, 0, NEVER, 0},
    {VC_UNAVAILABLE, NOT, 0, 0, 1, 0, 3000, 40, 2000},
    {VC_UNAVAILABLE, NOT, 0, 0, 1, 0, 2000, NEVER, 2000},
    {VC_UNAVAILABLE, NOT, 0, 0, 1, 0, FOREVER, 40, 2000},
    {VC_UNAVAILABLE, NOT, 0, WAIT, 1, 0, 2000, 40, 2000},
    /* waiting for the server */
    {VC_UNAVAILABLE, NOT, 0, WAIT, 3, 0, FOREVER, 160, 0},
    {VC_UNAVAILABLE, NOT, 0, WAIT, 1000, 0, FOREVER, 640, 0},
    {VC_UNAVAILABLE, NOT, 0, WAIT | NO_RETRY, 9, 0, FOREVER, 640, 0},
    {VC_UNAVAILABLE, NOT, 0, WAIT, 9, 0, 20, 20, 0},
    {VC_UNAVAILABLE, NOT, 0, WAIT, 9, 0, 0, 0, 0}, /* ends as too late */
    {VC_UNAVAILABLE, NOT, 0, WAIT, 9, -1, FOREVER, NEVER, 0},
    {VC_UNAVAILABLE, PERHAPS, 0, WAIT, 1, 0, FOREVER, NEVER, 0},
    {VC_UNAVAILABLE, PERHAPS, IDEM, WAIT, 3, 0, FOREVER, NEVER, 0},
    {VC_RESOURCE_EXHAUSTED, NOT, 0, WAIT, 3, 0, FOREVER, NEVER, 0},
};

static struct vc__retry_facts
facts_of(size_t i)
{
    return (struct vc__retry_facts){
        .status = table[i].status,
        .outcome = table[i].outcome,
        .method_flags = table[i].method,
        .call_flags = table[i].call,
        .attempt = table[i].attempt,
        .has_pushback = table[i].pushback != 0,
        .pushback_ms = table[i].pushback,
        .took_us = table[i].took_ms * MS,
        .left_us =
            table[i].left_ms == FOREVER ? FOREVER : table[i].left_ms * MS,
    };
}

static void
each_failure_is_followed_by_what_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct vc__retry_facts facts = facts_of(i);

        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct vc__retry_budget full = {0};
            uint64_t s = seed, wait = 0;
            bool again = vc__retry_again(&policy, &full, &facts, &s, &wait) ==
                         VC__RETRY_AGAIN;

            if (again != (table[i].wait_ms != NEVER))
                fail_msg("row %zu is%s followed by another", i,
                         again ? "" : " not");
            if (again && (wait < table[i].wait_ms * MS ||
                          wait > table[i].wait_ms * MS * 3 / 2))
                fail_msg("row %zu waits %llu us", i, (unsigned long long)wait);
        }
    }
}

/* A call that could not be sent goes to another server at once, and charges
 * nothing. */
static void
what_was_not_sent_goes_elsewhere_at_once(void **state)
{
    static const struct {
        enum vc_status status;
        enum vc_outcome outcome;
        uint32_t call;
        int32_t pushback;
        uint64_t left;
        bool at_once;
    } rows[] = {
        {VC_UNAVAILABLE, NOT, 0, 0, FOREVER, true},
        {VC_UNAVAILABLE, NOT, WAIT, 0, 1, true},
        {VC_UNAVAILABLE, NOT, NO_RETRY, 0, FOREVER, false},
        {VC_RESOURCE_EXHAUSTED, NOT, 0, -1, FOREVER, true}, /* a lack here */
        {VC_UNAVAILABLE, NOT, 0, 0, 0, false},
        {VC_UNAVAILABLE, PERHAPS, 0, 0, FOREVER, false},
        {VC_RESOURCE_EXHAUSTED, NOT, 0, 0, FOREVER, true},
        {VC_PERMISSION_DENIED, NOT, 0, 0, FOREVER, true},
        {VC_UNIMPLEMENTED, NOT, 0, 0, FOREVER, true},
        {VC_DEADLINE_EXCEEDED, NOT, 0, 0, FOREVER, false},
        {VC_CANCELLED, NOT, 0, 0, FOREVER, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct vc__retry_facts facts = {
            .status = rows[i].status,
            .outcome = rows[i].outcome,
            .call_flags = rows[i].call,
            .attempt = 9,
            .has_pushback = rows[i].pushback != 0,
            .pushback_ms = rows[i].pushback,
            .elsewhere = true,
            .left_us = rows[i].left,
        };
        struct vc__retry_budget budget = {0};
        uint64_t seed = 1, wait = 1;
        bool moves = vc__retry_again(&policy, &budget, &facts, &seed, &wait) ==
                     VC__RETRY_ELSEWHERE;

        if (moves != rows[i].at_once || (moves && wait != 0))
            fail_msg("row %zu", i);
        if (rows[i].at_once)
            assert_int_equal(0, atomic_load(&budget.missing));
    }
}

static void
waits_are_spread_over_the_whole_range(void **state)
{
    struct vc__retry_facts facts = facts_of(0);
    uint64_t least = UINT64_MAX, most = 0;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct vc__retry_budget full = {0};
        uint64_t s = seed, wait;

        assert_int_equal(VC__RETRY_AGAIN,
                         vc__retry_again(&policy, &full, &facts, &s, &wait));
        least = wait < least ? wait : least;
        most = wait > most ? wait : most;
    }
    assert_in_range(least, 40 * MS, 41 * MS);
    assert_in_range(most, 59 * MS, 60 * MS);
}

/* The delay is the server's: so it is exact to the microsecond. */
static enum vc__retry
pushed_back(int32_t ms, uint64_t took_us, uint64_t left_us, uint64_t *wait)
{
    struct vc__retry_facts facts = facts_of(0);
    struct vc__retry_budget full = {0};
    uint64_t seed = 1;

    facts.has_pushback = true;
    facts.pushback_ms = ms;
    facts.took_us = took_us;
    facts.left_us = left_us;
    return vc__retry_again(&policy, &full, &facts, &seed, wait);
}

static void
another_must_have_more_time_than_the_one_before_took(void **state)
{
    static const struct {
        uint64_t took_us, left_us;
        enum vc__retry again;
    } edges[] = {
        {0, 10 * MS - 1, VC__RETRY_NO},
        {0, 10 * MS, VC__RETRY_NO},
        {0, 10 * MS + 1, VC__RETRY_AGAIN},
        {700, 10 * MS + 699, VC__RETRY_NO},
        {700, 10 * MS + 700, VC__RETRY_NO},
        {700, 10 * MS + 701, VC__RETRY_AGAIN},
        {UINT64_MAX, FOREVER, VC__RETRY_AGAIN},
    };
    uint64_t wait;

    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        if (pushed_back(10, edges[i].took_us, edges[i].left_us, &wait) !=
            edges[i].again)
            fail_msg("row %zu", i);
}

static void
a_pushback_of_0_is_no_refusal(void **state)
{
    uint64_t wait = 99;

    (void)state;
    assert_int_equal(VC__RETRY_AGAIN, pushed_back(0, 0, FOREVER, &wait));
    assert_int_equal(wait, 0);
    assert_int_equal(VC__RETRY_NO, pushed_back(-1, 0, FOREVER, &wait));
}

/* --- policies of service configs ---------------------------------------- */

static const struct vc__retry_policy other = {
    .max_attempts = 9,
    .codes = 1u << VC_ABORTED | 1u << VC_CANCELLED | 1u << VC_DEADLINE_EXCEEDED,
    .backoff_us = 10 * MS,
    .max_backoff_us = 50 * MS,
    .multiplier = 3,
};

static void
the_codes_of_the_policy_are_retried_and_no_others(void **state)
{
    static const struct {
        enum vc_status status;
        enum vc_outcome outcome;
        uint32_t method, call;
        bool answered, again;
    } rows[] = {
        {VC_ABORTED, NOT, 0, 0, true, true},
        {VC_ABORTED, EXECUTED, IDEM, 0, true, true},
        {VC_ABORTED, EXECUTED, PURE, 0, false, true},
        {VC_ABORTED, EXECUTED, 0, 0, true, false},
        {VC_ABORTED, PERHAPS, 0, 0, false, false},
        {VC_ABORTED, EXECUTED, IDEM, NO_RETRY, true, false},
        {VC_UNAVAILABLE, NOT, IDEM, 0, true, false},
        {VC_RESOURCE_EXHAUSTED, NOT, IDEM, 0, true, false},
        /* a call that has ended by itself is not sent again */
        {VC_CANCELLED, EXECUTED, IDEM, 0, true, true},
        {VC_CANCELLED, NOT, IDEM, 0, false, false},
        {VC_DEADLINE_EXCEEDED, EXECUTED, IDEM, 0, true, true},
        {VC_DEADLINE_EXCEEDED, PERHAPS, IDEM, 0, false, false},
        /* a call that waits for its server does so by any policy */
        {VC_UNAVAILABLE, NOT, 0, WAIT, false, true},
        {VC_UNAVAILABLE, PERHAPS, IDEM, WAIT, false, false},
        /* a status that is no code */
        {(enum vc_status)32, NOT, IDEM, 0, true, false},
        {(enum vc_status) - 1, NOT, IDEM, 0, true, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct vc__retry_facts facts = {
            .status = rows[i].status,
            .outcome = rows[i].outcome,
            .method_flags = rows[i].method,
            .call_flags = rows[i].call,
            .answered = rows[i].answered,
            .attempt = 1,
            .left_us = FOREVER,
        };
        struct vc__retry_budget budget = {0};
        uint64_t seed = 1, wait;

        if (vc__retry_again(&other, &budget, &facts, &seed, &wait) !=
            (rows[i].again ? VC__RETRY_AGAIN : VC__RETRY_NO))
            fail_msg("row %zu", i);
    }
}

static void
waits_are_multiplied_up_to_the_most(void **state)
{
    static const uint64_t ms[] = {10, 30, 50, 50, 50};
    struct vc__retry_facts facts = facts_of(0);

    (void)state;
    facts.status = VC_ABORTED;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        for (unsigned i = 0; i < 5; i++) {
            struct vc__retry_budget budget = {0};
            uint64_t s = seed, wait = 0;

            facts.attempt = i + 1;
            vc__retry_again(&other, &budget, &facts, &s, &wait);
            assert_in_range(wait, ms[i] * MS * 8 / 10, ms[i] * MS * 12 / 10);
        }
    }
}

/* A first wait that is more than the most, one that shrinks, and none. */
static void
odd_waits_are_kept_in_range(void **state)
{
    static const struct {
        struct vc__retry_policy policy;
        uint64_t least, most;
    } rows[] = {
        {{9, VC__RETRY_CODES, 100, 10, 2}, 8, 12},
        {{9, VC__RETRY_CODES, 1000, 1000, 0.5}, 400 / 2, 600 / 2},
        {{9, VC__RETRY_CODES, 0, 0, 1}, 0, 0},
        {{9, VC__RETRY_CODES, 1, VC__RETRY_WAIT_MAX, 3e38},
         VC__RETRY_WAIT_MAX / 10 * 8,
         VC__RETRY_WAIT_MAX / 10 * 12},
        {{9, VC__RETRY_CODES, VC__RETRY_WAIT_MAX, VC__RETRY_WAIT_MAX, 1},
         VC__RETRY_WAIT_MAX / 10 * 8,
         VC__RETRY_WAIT_MAX / 10 * 12},
    };
    struct vc__retry_facts facts = facts_of(0);

    (void)state;
    facts.attempt = 3;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct vc__retry_budget budget = {0};
        uint64_t seed = 1, wait = 77;

        assert_int_equal(
            VC__RETRY_AGAIN,
            vc__retry_again(&rows[i].policy, &budget, &facts, &seed, &wait));
        if (wait < rows[i].least || wait > rows[i].most)
            fail_msg("row %zu waits %llu us", i, (unsigned long long)wait);
    }
}

static void
a_call_that_waits_for_its_server_does_so_by_the_channels_policy(void **state)
{
    struct vc__retry_facts facts = facts_of(0);
    struct vc__retry_budget budget = {0};
    uint64_t seed = 1, wait = 0;

    (void)state;
    facts.call_flags = WAIT;
    facts.waits = &policy;
    assert_int_equal(VC__RETRY_AGAIN,
                     vc__retry_again(&other, &budget, &facts, &seed, &wait));
    assert_in_range(wait, 40 * MS, 60 * MS);
}

/* --- the budget -------------------------------------------------------- */

static enum vc__retry
fails(struct vc__retry_budget *b, uint32_t call_flags)
{
    struct vc__retry_facts facts = facts_of(0);
    uint64_t seed = 1, wait;

    facts.call_flags = call_flags;
    return vc__retry_again(&policy, b, &facts, &seed, &wait);
}

static void
the_budget_is_spent_by_five_failures(void **state)
{
    struct vc__retry_budget b = {0};

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(VC__RETRY_AGAIN, fails(&b, 0));
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(VC__RETRY_STARVED, fails(&b, 0));
}

static void
ten_good_calls_pay_for_one_failure(void **state)
{
    struct vc__retry_budget b = {0};

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        fails(&b, 0);
    for (unsigned i = 0; i < 10; i++)
        vc__retry_good(&b);
    assert_int_equal(VC__RETRY_STARVED,
                     fails(&b, 0)); /* costs what they paid back */
    for (unsigned i = 0; i < 11; i++)
        vc__retry_good(&b);
    assert_int_equal(VC__RETRY_AGAIN, fails(&b, 0));
}

static void
a_budget_is_never_overdrawn_nor_overfull(void **state)
{
    struct vc__retry_budget b = {0};

    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        fails(&b, VC_CALL_NO_RETRY);
    for (unsigned i = 0; i < VC__RETRY_TOKENS; i++)
        vc__retry_good(&b);
    assert_int_equal(atomic_load(&b.missing), 0);
    for (unsigned i = 0; i < 1000; i++)
        vc__retry_good(&b);
    assert_int_equal(atomic_load(&b.missing), 0);
}

static void
waiting_for_a_server_costs_nothing(void **state)
{
    struct vc__retry_budget b = {0};

    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(VC__RETRY_AGAIN, fails(&b, VC_CALL_WAIT_FOR_READY));
    assert_int_equal(atomic_load(&b.missing), 0);
}

/* With two tokens, one failure leaves half: no retries until a call that is
 * good has given back a whole token. */
static void
a_budget_has_the_size_that_a_config_gives_it(void **state)
{
    struct vc__retry_budget b = {0};

    (void)state;
    vc__retry_resize(&b, 2000, 1000);
    assert_int_equal(VC__RETRY_STARVED, fails(&b, 0));
    assert_int_equal(1000, atomic_load(&b.missing));
    vc__retry_good(&b);
    assert_int_equal(0, atomic_load(&b.missing));
    vc__retry_resize(&b, 3000, 1);
    assert_int_equal(VC__RETRY_AGAIN, fails(&b, 0));
    vc__retry_good(&b);
    assert_int_equal(999, atomic_load(&b.missing));
}

static void
a_budget_that_is_resized_misses_the_same_share(void **state)
{
    struct vc__retry_budget b = {0};

    (void)state;
    vc__retry_resize(&b, 1000000, 1000);
    for (unsigned i = 0; i < 250; i++)
        fails(&b, 0);
    assert_int_equal(250000, atomic_load(&b.missing));
    vc__retry_resize(&b, 0, 0); /* the default: 10 tokens */
    assert_int_equal(2500, atomic_load(&b.missing));
    assert_int_equal(VC__RETRY_AGAIN, fails(&b, 0));
    assert_int_equal(VC__RETRY_AGAIN, fails(&b, 0));
    assert_int_equal(VC__RETRY_STARVED, fails(&b, 0));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failure_is_followed_by_what_the_table_says),
        cmocka_unit_test(what_was_not_sent_goes_elsewhere_at_once),
        cmocka_unit_test(waits_are_spread_over_the_whole_range),
        cmocka_unit_test(another_must_have_more_time_than_the_one_before_took),
        cmocka_unit_test(a_pushback_of_0_is_no_refusal),
        cmocka_unit_test(the_budget_is_spent_by_five_failures),
        cmocka_unit_test(ten_good_calls_pay_for_one_failure),
        cmocka_unit_test(a_budget_is_never_overdrawn_nor_overfull),
        cmocka_unit_test(waiting_for_a_server_costs_nothing),
        cmocka_unit_test(the_codes_of_the_policy_are_retried_and_no_others),
        cmocka_unit_test(waits_are_multiplied_up_to_the_most),
        cmocka_unit_test(odd_waits_are_kept_in_range),
        cmocka_unit_test(
            a_call_that_waits_for_its_server_does_so_by_the_channels_policy),
        cmocka_unit_test(a_budget_has_the_size_that_a_config_gives_it),
        cmocka_unit_test(a_budget_that_is_resized_misses_the_same_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
