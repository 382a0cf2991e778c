/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The token of an engine, without an engine and without threads: who gets it,
 * and which waiters are notified that they are done. No waiter sleeps here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport/core/token.h"

#define WAITERS 3

struct bench {
    struct vc__token token;
    struct vc__waiter w[WAITERS];
    _Atomic uint64_t handovers;
};

static int
bench_setup(void **state)
{
    static struct bench b;

    vc__token_init(&b.token);
    for (unsigned i = 0; i < WAITERS; i++)
        vc__waiter_init(&b.w[i]);
    atomic_init(&b.handovers, 0);
    assert_true(vc__token_try(&b.token));
    *state = &b;
    return 0;
}

static int
bench_teardown(void **state)
{
    struct bench *b = *state;

    vc__token_fini(&b->token);
    return 0;
}

/* The holder is another thread: this waiter has to queue. */
static void
queue(struct bench *b, unsigned i, bool deferred)
{
    assert_false(vc__token_enter(&b->token, &b->w[i], deferred));
}

static void
pass(struct bench *b)
{
    assert_false(vc__token_drop(&b->token));
    vc__token_pass(&b->token, &b->handovers);
}

/* Asserts that this waiter was handed the token, and is the holder now. */
static void
assert_holds(struct bench *b, unsigned i)
{
    assert_true(vc__token_is_held(&b->token));
    assert_true(vc__token_unqueue(&b->token, &b->w[i]));
}

/* This waiter stops waiting, without the token. */
static void
give_up(struct bench *b, unsigned i)
{
    assert_false(vc__token_unqueue(&b->token, &b->w[i]));
}

/* --- keeping ------------------------------------------------------------- */

static void
who_has_deferred_waiters_keeps_the_token(void **state)
{
    struct bench *b = *state;

    queue(b, 0, true);
    queue(b, 1, true);

    assert_true(vc__token_keep(&b->token));
    assert_false(vc__token_is_held(&b->token));
    /* The thread is back, or another one was first. */
    assert_true(vc__token_try(&b->token));
    assert_false(vc__token_try(&b->token));

    give_up(b, 0);
    give_up(b, 1);
    assert_true(vc__token_drop(&b->token));
}

static void
a_kept_token_is_taken_by_who_would_queue(void **state)
{
    struct bench *b = *state;

    queue(b, 0, true);
    assert_true(vc__token_keep(&b->token));

    assert_true(vc__token_enter(&b->token, &b->w[1], false));

    give_up(b, 0);
}

static void
an_urgent_waiter_ends_keeping(void **state)
{
    struct bench *b = *state;

    queue(b, 0, true);
    queue(b, 1, false);
    assert_false(vc__token_keep(&b->token));

    /* Until it is gone. */
    give_up(b, 1);
    assert_true(vc__token_keep(&b->token));
    assert_true(vc__token_try(&b->token));
    give_up(b, 0);
}

static void
a_watched_token_is_not_kept(void **state)
{
    struct bench *b = *state;

    queue(b, 0, true);
    atomic_fetch_or(&b->token.word, VC__TOKEN_WATCHED);

    assert_false(vc__token_keep(&b->token));

    give_up(b, 0);
}

/* --- who is next --------------------------------------------------------- */

static void
an_urgent_waiter_is_next(void **state)
{
    struct bench *b = *state;

    queue(b, 0, true);
    queue(b, 1, false);
    queue(b, 2, true);

    pass(b);
    assert_holds(b, 1);
    pass(b);
    assert_holds(b, 0);
    assert_int_equal(2, b->handovers);
    give_up(b, 2);
}

/* It was woken, and is on its way out. */
static void
an_urgent_waiter_that_is_done_is_not_next(void **state)
{
    struct bench *b = *state;

    queue(b, 0, false);
    queue(b, 1, true);
    vc__waiter_done_in_turn(&b->w[0]);

    pass(b);

    assert_holds(b, 1);
    give_up(b, 0);
}

/* It has not been notified, so it gets its turn. */
static void
a_deferred_waiter_that_is_done_is_next(void **state)
{
    struct bench *b = *state;

    queue(b, 0, true);
    queue(b, 1, true);
    vc__waiter_done_in_turn(&b->w[0]);

    pass(b);

    assert_holds(b, 0);
    give_up(b, 1);
}

static void
who_yields_queues_after_the_others(void **state)
{
    struct bench *b = *state;

    queue(b, 0, true);
    queue(b, 1, true);

    assert_false(vc__token_yield(&b->token, &b->w[2], true, &b->handovers));
    assert_holds(b, 0);
    pass(b);
    assert_holds(b, 1);
    pass(b);
    assert_holds(b, 2);
    assert_int_equal(3, b->handovers);
    assert_int_equal(2, b->w[2].ahead);
}

static void
who_yields_alone_stays_the_holder(void **state)
{
    struct bench *b = *state;

    assert_true(vc__token_yield(&b->token, &b->w[0], true, &b->handovers));

    assert_int_equal(0, b->handovers);
    assert_true(vc__token_drop(&b->token));
}

static void
an_urgent_one_that_yields_ends_keeping(void **state)
{
    struct bench *b = *state;

    queue(b, 0, true);
    assert_false(vc__token_yield(&b->token, &b->w[1], false, &b->handovers));
    assert_holds(b, 0);

    assert_false(vc__token_keep(&b->token));

    give_up(b, 1);
}

/* --- the end of a deferral ----------------------------------------------- */

static void
a_kept_token_is_taken_when_a_deferral_ends(void **state)
{
    struct bench *b = *state;

    queue(b, 0, true);
    assert_true(vc__token_keep(&b->token));

    assert_true(vc__token_undefer(&b->token, &b->w[0]));

    assert_true(vc__token_drop(&b->token)); /* it is not queued any more */
}

static void
a_waiter_is_urgent_when_its_deferral_ends(void **state)
{
    struct bench *b = *state;

    queue(b, 0, true);
    queue(b, 1, true);

    assert_false(vc__token_undefer(&b->token, &b->w[1]));

    assert_false(vc__token_keep(&b->token));
    pass(b);
    assert_holds(b, 1);
    assert_true(vc__token_keep(&b->token));
    assert_true(vc__token_try(&b->token));
    give_up(b, 0);
}

static void
no_deferral_ends_after_the_token_was_handed_over(void **state)
{
    struct bench *b = *state;

    queue(b, 0, true);
    pass(b);

    assert_false(vc__token_undefer(&b->token, &b->w[0]));

    assert_holds(b, 0);
}

/* --- notifying ----------------------------------------------------------- */

static bool
is_notified(const struct bench *b, unsigned i)
{
    return !(atomic_load(&b->w[i].word) & VC__WAITER_DEFERRED);
}

static void
those_that_are_done_are_notified(void **state)
{
    struct bench *b = *state;

    queue(b, 0, true);
    queue(b, 1, true);
    vc__waiter_done_in_turn(&b->w[0]);
    assert_false(is_notified(b, 0));

    vc__token_notify(&b->token, false);

    assert_true(is_notified(b, 0));
    assert_false(is_notified(b, 1));
    /* Who has been notified needs no token. */
    assert_true(vc__token_keep(&b->token));
    assert_true(vc__token_try(&b->token));
    pass(b);
    assert_holds(b, 1);
    give_up(b, 0);
}

static void
all_are_notified_or_urgent(void **state)
{
    struct bench *b = *state;

    queue(b, 0, true);
    queue(b, 1, true);
    vc__waiter_done_in_turn(&b->w[0]);

    vc__token_notify(&b->token, true);

    assert_true(is_notified(b, 0));
    assert_true(is_notified(b, 1));
    assert_false(vc__token_keep(&b->token));
    pass(b);
    assert_holds(b, 1);
    give_up(b, 0);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(who_has_deferred_waiters_keeps_the_token),
        CASE(a_kept_token_is_taken_by_who_would_queue),
        CASE(an_urgent_waiter_ends_keeping),
        CASE(a_watched_token_is_not_kept),
        CASE(an_urgent_waiter_is_next),
        CASE(an_urgent_waiter_that_is_done_is_not_next),
        CASE(a_deferred_waiter_that_is_done_is_next),
        CASE(who_yields_queues_after_the_others),
        CASE(who_yields_alone_stays_the_holder),
        CASE(an_urgent_one_that_yields_ends_keeping),
        CASE(a_kept_token_is_taken_when_a_deferral_ends),
        CASE(a_waiter_is_urgent_when_its_deferral_ends),
        CASE(no_deferral_ends_after_the_token_was_handed_over),
        CASE(those_that_are_done_are_notified),
        CASE(all_are_notified_or_urgent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
