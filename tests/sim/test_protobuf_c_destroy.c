/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A ProtobufCService is destroyed while calls are under way. Their closures are
 * called, and none later. */
#include <string.h>

#include "tests/sim/asks.h"

/* --- destroying --------------------------------------------------------- */

static void
assert_cancelled(const struct ask *a)
{
    assert_int_equal(a->answer.calls, 1);
    assert_int_equal(a->answer.status, VC_CANCELLED);
    assert_string_equal(a->answer.text, "the service was destroyed");
    assert_int_equal(a->answer.outcome, VC_OUTCOME_UNKNOWN);
}

#define N_UNDER_WAY 20u

static struct ask under_way[N_UNDER_WAY];

static void
start_slow(void (*then)(struct ask *a))
{
    memset(under_way, 0, sizeof under_way);
    for (unsigned i = 0; i < N_UNDER_WAY; i++) {
        under_way[i].then = then;
        ask_start(&under_way[i], asks_service, "slow");
    }
}

static void
destroys_at_work(struct scene *s)
{
    for (unsigned wait = 0; wait < 3; wait++) {
        start_slow(NULL);
        if (wait > 0)
            fake_sleep_us(wait * 8 * MS);
        asks_service_drop();
        for (unsigned i = 0; i < N_UNDER_WAY; i++)
            assert_cancelled(&under_way[i]);
        asks_service = asks_service_new(s, NULL);
    }
    asks_assert_calm();
    for (unsigned i = 0; i < N_UNDER_WAY; i++)
        assert_int_equal(under_way[i].answer.calls, 1);
    assert_int_equal(scene_client(s).calls_given_up, 3 * N_UNDER_WAY);
    asks_assert_good(asks_service);
}

static void
destroying_a_service_calls_its_closures_and_then_none(void **state)
{
    (void)state;
    asks_play(destroys_at_work);
}

static struct ask in_vain;

static void
then_ask_again(struct ask *a)
{
    (void)a;
    in_vain.then = NULL;
    ask_start(&in_vain, asks_service, "ann");
}

static void
destroys_and_is_asked(struct scene *s)
{
    (void)s;
    start_slow(then_ask_again);
    asks_service_drop();
    for (unsigned i = 0; i < N_UNDER_WAY; i++)
        assert_cancelled(&under_way[i]);
    assert_int_equal(in_vain.answer.status, VC_CANCELLED);
    assert_int_equal(in_vain.answer.calls, 1);
}

static void
no_call_is_started_while_a_service_is_destroyed(void **state)
{
    (void)state;
    asks_play(destroys_and_is_asked);
}

static void
then_destroy(struct ask *a)
{
    (void)a;
    asks_service_drop();
    for (unsigned i = 0; i < N_UNDER_WAY; i++)
        assert_cancelled(&under_way[i]);
}

static void
destroys_in_a_closure(struct scene *s)
{
    struct ask a = {.then = then_destroy};

    (void)s;
    asks_assert_good(asks_service);
    start_slow(NULL);
    ask_start(&a, asks_service, "cid");
    ask_await(&a);
    assert_int_equal(a.answer.status, VC_NOT_FOUND);
    asks_assert_calm();
}

static void
a_closure_may_destroy_its_service(void **state)
{
    (void)state;
    asks_play(destroys_in_a_closure);
}

static atomic_uint sleeps, slept;

static void
then_sleep(struct ask *a)
{
    (void)a;
    sim_tell(&sleeps);
    fake_sleep_us(20 * MS);
    atomic_store(&slept, 1);
}

static void
destroys_under_a_closure(struct scene *s)
{
    struct ask a = {.then = then_sleep};

    (void)s;
    atomic_store(&sleeps, 0);
    atomic_store(&slept, 0);
    ask_start(&a, asks_service, "ann");
    assert_true(sim_await(&sleeps, PATIENCE));
    asks_service_drop();
    assert_int_equal(atomic_load(&slept), 1);
    assert_int_equal(a.answer.status, VC_OK);
    assert_true(sim_await(&a.done, PATIENCE));
}

static void
destroying_waits_for_closures_on_other_threads(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        asks_play_once(destroys_under_a_closure, seed, true);
}

static void
closes_the_channel(struct scene *s)
{
    start_slow(NULL);
    fake_sleep_us(10 * MS);
    vc_channel_close(s->channel);
    s->channel = NULL;
    for (unsigned i = 0; i < N_UNDER_WAY; i++) {
        ask_await(&under_way[i]);
        assert_int_equal(under_way[i].answer.status, VC_CANCELLED);
    }
    asks_assert_calm();
}

static void
closing_the_channel_ends_the_calls_of_its_services(void **state)
{
    (void)state;
    asks_play(closes_the_channel);
}

/* The completions reach the queue when no thread reads it any more. */
static void
destroys_all(struct scene *s)
{
    start_slow(NULL);
    asks_service_drop();
    if (asks_loop != NULL)
        return;
    vc_channel_close(s->channel);
    s->channel = NULL;
}

static void
closures_may_be_freed_before_the_ends_of_calls_have_come(void **state)
{
    (void)state;
    asks_play(destroys_all);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(destroying_a_service_calls_its_closures_and_then_none),
        cmocka_unit_test(no_call_is_started_while_a_service_is_destroyed),
        cmocka_unit_test(a_closure_may_destroy_its_service),
        cmocka_unit_test(destroying_waits_for_closures_on_other_threads),
        cmocka_unit_test(closing_the_channel_ends_the_calls_of_its_services),
        cmocka_unit_test(
            closures_may_be_freed_before_the_ends_of_calls_have_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
