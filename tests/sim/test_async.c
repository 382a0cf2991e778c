/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Asynchronous calls: the end of each is reported once, whatever happens to the
 * call, its link, its server and its channel. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/crowd.h"

#define SEEDS sim_few(8u)
#define MANY  3000u
#define LONG  40000u /* bytes; does not fit in a packet */

static struct crowd crowd;

static struct vc_service idempotent;
static struct vc_method idempotent_methods[16];

static unsigned
ran(unsigned n)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += atomic_load(&sim_ran[i]);
    return sum;
}

/* --- ordinary ends ----------------------------------------------------- */

static void
thousands_at_a_time_share_the_slots_and_all_end_well(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        crowd_open(&crowd, seed, 0, NULL);
        crowd_serve(&crowd);
        for (unsigned i = 0; i < MANY; i++)
            crowd_call(&crowd, i % 100 == 0 ? LONG : 64);
        crowd_await(&crowd, MANY);
        assert_int_equal(MANY, crowd_count(&crowd, VC_OK));
        assert_int_equal(MANY, ran(MANY));
        crowd_close(&crowd);
    }
}

static void
the_librarys_threads_bring_them_to_their_end(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        crowd_open(&crowd, seed, 2, NULL);
        crowd_serve(&crowd);
        assert_int_equal(VC_OK, vc_runtime_start(crowd.runtime));
        for (unsigned i = 0; i < 100; i++)
            crowd_call(&crowd, 64);
        while (atomic_load(&crowd.ended) < 100)
            fake_sleep_us(MS);
        assert_int_equal(100, crowd_count(&crowd, VC_OK));
        crowd_close(&crowd);
    }
}

/* The first call's reply has arrived, but no thread has polled it when the
 * second call starts. A program may hold a lock while it starts a call, and
 * take the same lock in the callback. */
static void
none_ends_while_another_is_started(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        crowd_open(&crowd, seed, 0, NULL);
        crowd_serve(&crowd);
        assert_int_equal(
            VC_OK, vc_channel_connect(crowd.channel, &suite_probe_service));
        crowd_call(&crowd, 64);
        fake_sleep_us(50 * MS);
        crowd_call(&crowd, 64);
        assert_int_equal(0, atomic_load(&crowd.ended));
        crowd_await(&crowd, 2);
        assert_int_equal(2, crowd_count(&crowd, VC_OK));
        crowd_close(&crowd);
    }
}

/* Each call is started in the callback of the one before. */
static void
start_another(struct crowd_call *c)
{
    if (c->crowd->n < 50)
        assert_non_null(crowd_call(c->crowd, 64));
}

static void
the_end_of_one_may_start_another(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        crowd_open(&crowd, seed, 2, NULL);
        crowd_serve(&crowd);
        crowd.at_end = start_another;
        crowd_call(&crowd, 64);
        crowd_await(&crowd, 50);
        assert_int_equal(50, crowd_count(&crowd, VC_OK));
        crowd_close(&crowd);
    }
}

static void
call_and_wait(struct crowd_call *c)
{
    if (c->tag % 10 == 0 &&
        sim_echo(c->crowd->channel, 64, 1000 + c->tag, 0, NULL) != VC_OK)
        c->status = VC_INTERNAL;
}

static void
the_end_of_one_may_make_a_blocking_call(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        crowd_open(&crowd, seed, 2, NULL);
        crowd_serve(&crowd);
        crowd.at_end = call_and_wait;
        if (seed % 2 == 0)
            assert_int_equal(VC_OK, vc_runtime_start(crowd.runtime));
        for (unsigned i = 0; i < 50; i++)
            crowd_call(&crowd, 64);
        crowd_await(&crowd, 50);
        assert_int_equal(50, crowd_count(&crowd, VC_OK));
        crowd_close(&crowd);
    }
}

/* --- deadlines and cancelling ------------------------------------------ */

static void
each_ends_at_its_deadline(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t start;

        crowd_open(&crowd, seed, 2, NULL);
        crowd.server.sleep_us = 50 * MS;
        crowd_serve(&crowd);
        crowd.opts.timeout_ms = 20;
        start = fake_now_us();
        for (unsigned i = 0; i < 20; i++)
            crowd_call(&crowd, 64);
        crowd_await(&crowd, 20);
        assert_in_range(fake_now_us() - start, 20 * MS, 45 * MS);
        assert_int_equal(20, crowd_count(&crowd, VC_DEADLINE_EXCEEDED));
        assert_non_null(strstr(crowd.calls[0].text, "within 20 ms"));
        crowd_close(&crowd);
    }
}

static void
any_may_be_cancelled_at_any_moment(void **state)
{
    unsigned cancelled = 0, good = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 40 * SEEDS; seed++) {
        crowd_open(&crowd, seed, 2, NULL);
        crowd.server.sleep_us = 50;
        crowd_serve(&crowd);
        if (seed % 2 == 0)
            assert_int_equal(VC_OK, vc_runtime_start(crowd.runtime));
        if (seed % 3 == 0)
            vc_channel_connect(crowd.channel, &suite_probe_service);
        for (unsigned i = 0; i < 20; i++)
            crowd_call(&crowd, i % 5 == 0 ? LONG : 64);
        crowd_await(&crowd, (unsigned)(seed % 20));
        for (unsigned i = 0; i < 20; i += 2) {
            vc_async_cancel(crowd.calls[i].handle);
            if (i % 4 == 0) { /* the caller drops its handle, too */
                vc_async_free(crowd.calls[i].handle);
                crowd.calls[i].handle = NULL;
            }
        }
        crowd_await(&crowd, 20);
        for (unsigned i = 0; i < 20; i++) {
            const struct crowd_call *c = &crowd.calls[i];

            if (c->status == VC_CANCELLED && i % 2 == 0)
                assert_true(c->outcome == VC_OUTCOME_UNKNOWN ||
                            c->outcome == VC_OUTCOME_NOT_EXECUTED);
            else
                assert_int_equal(VC_OK, c->status);
            if (c->outcome == VC_OUTCOME_NOT_EXECUTED &&
                c->status == VC_CANCELLED)
                assert_int_equal(0, atomic_load(&sim_ran[i]));
        }
        cancelled += crowd_count(&crowd, VC_CANCELLED);
        good += crowd_count(&crowd, VC_OK);
        crowd_close(&crowd);
    }
    print_message("%u cancelled, %u good\n", cancelled, good);
    assert_true(cancelled > SEEDS * 40 && good > cancelled);
}

static void
cancel_itself(struct crowd_call *c)
{
    vc_async_cancel(c->handle);
}

static void
cancelling_what_has_ended_does_nothing(void **state)
{
    (void)state;
    crowd_open(&crowd, 1, 2, NULL);
    crowd_serve(&crowd);
    crowd.at_end = cancel_itself;
    for (unsigned i = 0; i < 20; i++)
        crowd_call(&crowd, 64);
    crowd_await(&crowd, 20);
    assert_int_equal(20, crowd_count(&crowd, VC_OK));
    crowd_close_channel(&crowd);
    vc_async_cancel(crowd.calls[0].handle);
    crowd_close(&crowd);
}

/* --- faults ------------------------------------------------------------ */

static void
a_killed_server_ends_all_and_none_ran_twice(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        crowd_open(&crowd, seed, 2, NULL);
        crowd.server.sleep_us = 100;
        crowd_serve(&crowd);
        for (unsigned i = 0; i < 100; i++)
            crowd_call(&crowd, 64);
        crowd_await(&crowd, (unsigned)(seed % 50));
        fake_process_kill(crowd.server.process);
        crowd.server.process = NULL;
        if (seed % 2 == 0)
            crowd_serve(&crowd);
        crowd_await(&crowd, 100);
        for (unsigned i = 0; i < 100; i++) {
            const struct crowd_call *c = &crowd.calls[i];

            crowd_check_runs(c, 1);
            if (c->status != VC_OK)
                assert_int_equal(VC_UNAVAILABLE, c->status);
        }
        crowd_close(&crowd);
    }
}

static void
a_lost_link_is_not_noticed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        crowd_open(&crowd, seed, 2, NULL);
        crowd.server.sleep_us = 100;
        crowd_serve(&crowd);
        for (unsigned i = 0; i < 100; i++)
            crowd_call(&crowd, i % 10 == 0 ? LONG : 64);
        crowd_await(&crowd, 1);
        fake_rule("main qp", (unsigned)(10 + seed * 7), FAKE_FLUSH, 0);
        crowd_await(&crowd, 100);
        fake_no_rules();
        assert_int_equal(100, crowd_count(&crowd, VC_OK));
        assert_int_equal(100, ran(100));
        crowd_close(&crowd);
    }
}

static void
closing_the_channel_ends_all_before_it_returns(void **state)
{
    unsigned cancelled = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20 * SEEDS; seed++) {
        crowd_open(&crowd, seed, 2, NULL);
        crowd.server.sleep_us = 100;
        if (seed % 4 != 0)
            crowd_serve(&crowd);
        if (seed % 2 == 0)
            assert_int_equal(VC_OK, vc_runtime_start(crowd.runtime));
        crowd.opts.timeout_ms = seed % 5 == 0 ? 3 : 0;
        crowd.opts.flags = seed % 3 == 0 ? VC_CALL_WAIT_FOR_READY : 0;
        for (unsigned i = 0; i < 50; i++)
            crowd_call(&crowd, i % 10 == 0 ? LONG : 64);
        if (seed % 4 != 0)
            crowd_await(&crowd, (unsigned)(seed % 30));
        else
            fake_sleep_us(seed * MS);
        crowd_close_channel(&crowd);
        assert_int_equal(50, atomic_load(&crowd.ended));
        cancelled += crowd_count(&crowd, VC_CANCELLED);
        crowd_close(&crowd);
    }
    print_message("%u cancelled\n", cancelled);
    assert_true(cancelled > 20 * SEEDS);
}

/* --- retries ----------------------------------------------------------- */

static void
they_wait_for_a_server_that_starts_later(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        crowd_open(&crowd, seed, 2, NULL);
        crowd.opts.flags = VC_CALL_WAIT_FOR_READY;
        crowd.opts.timeout_ms = 60000;
        assert_int_equal(VC_OK, vc_runtime_start(crowd.runtime));
        for (unsigned i = 0; i < 20; i++)
            crowd_call(&crowd, i % 10 == 0 ? LONG : 64);
        fake_sleep_us(4 * S);
        assert_int_equal(0, atomic_load(&crowd.ended));
        crowd_serve(&crowd);
        crowd_await(&crowd, 20);
        assert_int_equal(20, crowd_count(&crowd, VC_OK));
        assert_int_equal(20, ran(20));
        crowd_close(&crowd);
    }
}

static void
they_wait_in_vain_until_their_deadline(void **state)
{
    uint64_t start;

    (void)state;
    crowd_open(&crowd, 1, 2, NULL);
    crowd.opts.flags = VC_CALL_WAIT_FOR_READY;
    crowd.opts.timeout_ms = 3000;
    start = fake_now_us();
    for (unsigned i = 0; i < 20; i++)
        crowd_call(&crowd, 64);
    crowd_await(&crowd, 20);
    assert_in_range(fake_now_us() - start, 3 * S, 3 * S + 100 * MS);
    assert_int_equal(20, crowd_count(&crowd, VC_DEADLINE_EXCEEDED));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, crowd.calls[0].outcome);
    crowd_close(&crowd);
}

static void
those_that_may_run_twice_are_tried_again(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

        opts.retry_backoff_ms = 200;
        crowd_open(&crowd, seed, 2, &opts);
        crowd.server.sleep_us = 20 * MS;
        crowd.service = &idempotent;
        crowd_serve(&crowd);
        for (unsigned i = 0; i < 3; i++)
            crowd_call(&crowd, i == 0 ? LONG : 64);
        while (ran(3) == 0)
            vc_completions_next(crowd.queue, 1, &(struct vc_completion){0});
        fake_process_kill(crowd.server.process);
        crowd_serve(&crowd);
        crowd_await(&crowd, 3);
        assert_int_equal(3, crowd_count(&crowd, VC_OK));
        assert_true(ran(3) > 3 && ran(3) <= 6);
        crowd_close(&crowd);
    }
}

static void
any_may_be_cancelled_between_two_attempts(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

        opts.retry_backoff_ms = seed % 2 == 0 ? 1 : 60000;
        crowd_open(&crowd, seed, 2, &opts);
        crowd.opts.flags = VC_CALL_WAIT_FOR_READY;
        crowd.opts.timeout_ms = VC_NO_DEADLINE;
        assert_int_equal(VC_OK, vc_runtime_start(crowd.runtime));
        for (unsigned i = 0; i < 20; i++)
            crowd_call(&crowd, 64);
        fake_sleep_us(20 * MS);
        for (unsigned i = 0; i < 20; i++)
            vc_async_cancel(crowd.calls[i].handle);
        crowd_await(&crowd, 20);
        assert_int_equal(20, crowd_count(&crowd, VC_CANCELLED));
        assert_int_equal(VC_OUTCOME_NOT_EXECUTED, crowd.calls[0].outcome);
        crowd_close(&crowd);
    }
}

/* --- memory ------------------------------------------------------------ */

static void
any_allocation_may_fail(void **state)
{
    unsigned struck = 1;

    (void)state;
    for (unsigned n = 1; struck > 0; n++) {
        crowd_open(&crowd, 2, 0, NULL);
        crowd_serve(&crowd);
        fake_fail_memory(fake_process_self(), n);
        for (unsigned i = 0; i < 40; i++)
            crowd_call(&crowd, i % 10 == 0 ? LONG : 64);
        crowd_await(&crowd, crowd.n);
        struck = fake_failed();
        fake_fail_no_more();
        for (unsigned i = 0; i < crowd.n; i++) {
            enum vc_status status = crowd.calls[i].status;

            /* INTERNAL: when memory to record a reply in parts is lacking, the
             * link is closed as after a protocol error. */
            if (status != VC_OK && status != VC_UNAVAILABLE &&
                status != VC_RESOURCE_EXHAUSTED && status != VC_INTERNAL)
                fail_msg("allocation %u: %s", n, crowd.calls[i].text);
        }
        assert_true(crowd.refused <= 1);
        crowd_close(&crowd);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_at_a_time_share_the_slots_and_all_end_well),
        cmocka_unit_test(the_librarys_threads_bring_them_to_their_end),
        cmocka_unit_test(none_ends_while_another_is_started),
        cmocka_unit_test(the_end_of_one_may_start_another),
        cmocka_unit_test(the_end_of_one_may_make_a_blocking_call),
        cmocka_unit_test(each_ends_at_its_deadline),
        cmocka_unit_test(any_may_be_cancelled_at_any_moment),
        cmocka_unit_test(cancelling_what_has_ended_does_nothing),
        cmocka_unit_test(a_killed_server_ends_all_and_none_ran_twice),
        cmocka_unit_test(a_lost_link_is_not_noticed),
        cmocka_unit_test(closing_the_channel_ends_all_before_it_returns),
        cmocka_unit_test(they_wait_for_a_server_that_starts_later),
        cmocka_unit_test(they_wait_in_vain_until_their_deadline),
        cmocka_unit_test(those_that_may_run_twice_are_tried_again),
        cmocka_unit_test(any_may_be_cancelled_between_two_attempts),
        cmocka_unit_test(any_allocation_may_fail),
    };

    sim_service(&idempotent, idempotent_methods, VC_METHOD_IDEMPOTENT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
