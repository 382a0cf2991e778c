/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls without a reply: the caller goes on when the request was sent, and the
 * server runs it once. */
#include <pthread.h>
#include <string.h>

#include "tests/sim/crowd.h"

#define SEEDS sim_few(8u)
#define ECHO  0u
#define LONG  400000u

static struct crowd crowd;
static struct vc_service one_way;
static struct vc_method one_way_methods[16];

/* Of the last call that has ended. */
static unsigned attempts;

static enum vc_status
say(size_t size, unsigned tag, uint32_t flags, uint32_t timeout_ms)
{
    static const uint8_t zeros[LONG];
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_result result = VC_RESULT_INIT;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    void *reply = &request;
    enum vc_status status;

    opts.result = &result;
    opts.flags = flags;
    opts.timeout_ms = timeout_ms;
    request.tag = tag;
    request.payload.len = size;
    request.payload.data = (uint8_t *)zeros;
    status =
        vc_channel_call(crowd.channel, &one_way, ECHO, &request, &opts, &reply);
    assert_ptr_equal(&request, reply);
    attempts = result.attempts;
    vc_result_clear(&result);
    return status;
}

/* Waits until the handler has run for a tag. */
static void
await_run(unsigned tag)
{
    uint64_t until = fake_now_us() + 10 * S;
    struct vc_completion end;

    while (atomic_load(&sim_ran[tag]) == 0) {
        assert_true(fake_now_us() < until);
        vc_completions_next(crowd.queue, 1, &end);
    }
}

static void
the_caller_does_not_wait_for_the_handler(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t start;

        crowd_open(&crowd, seed, 2, NULL);
        crowd.server.sleep_us = 500 * MS;
        crowd_serve(&crowd);
        vc_channel_connect(crowd.channel, &suite_probe_service);
        start = fake_now_us();
        for (unsigned i = 0; i < 5; i++)
            assert_int_equal(VC_OK, say(i == 4 ? LONG : 64, i, 0, 0));
        assert_true(fake_now_us() - start < 100 * MS);
        for (unsigned i = 0; i < 5; i++)
            await_run(i);
        fake_sleep_us(S);
        for (unsigned i = 0; i < 5; i++)
            assert_int_equal(1, atomic_load(&sim_ran[i]));
        crowd_close(&crowd);
    }
}

static void
the_caller_waits_until_there_is_a_connection_and_a_slot(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        crowd_open(&crowd, seed, 2, NULL);
        crowd_serve(&crowd);
        for (unsigned i = 0; i < 300; i++)
            assert_int_equal(VC_OK, say(64, i, 0, 0));
        for (unsigned i = 0; i < 300; i++)
            await_run(i);
        for (unsigned i = 0; i < 300; i++)
            assert_int_equal(1, atomic_load(&sim_ran[i]));
        crowd_close(&crowd);
    }
}

static void
without_a_server_the_caller_is_told(void **state)
{
    (void)state;
    crowd_open(&crowd, 1, 2, NULL);
    assert_int_equal(VC_UNAVAILABLE, say(64, 1, 0, 0));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    assert_int_equal(3, attempts); /* max_attempts by default */
    assert_int_equal(VC_DEADLINE_EXCEEDED,
                     say(64, 1, VC_CALL_WAIT_FOR_READY, 500));
    crowd_close(&crowd);
}

static void *
late_main(void *arg)
{
    (void)arg;
    fake_sleep_us(S);
    crowd_serve(&crowd);
    return NULL;
}

static void
the_caller_may_wait_for_a_server_that_starts_later(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        pthread_t thread;

        crowd_open(&crowd, seed, 2, NULL);
        pthread_create(&thread, NULL, late_main, NULL);
        assert_int_equal(VC_OK, say(seed % 2 == 0 ? LONG : 64, 1,
                                    VC_CALL_WAIT_FOR_READY, VC_NO_DEADLINE));
        assert_true(fake_now_us() >= S);
        assert_true(attempts > 1);
        await_run(1);
        pthread_join(thread, NULL);
        crowd_close(&crowd);
    }
}

static void *
say_main(void *arg)
{
    enum vc_status *status = arg;

    *status = say(64, 1, VC_CALL_WAIT_FOR_READY, VC_NO_DEADLINE);
    return NULL;
}

static void
closing_the_channel_ends_the_wait(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        enum vc_status status;
        pthread_t thread;

        crowd_open(&crowd, seed, 2, NULL);
        pthread_create(&thread, NULL, say_main, &status);
        fake_sleep_us(10 * MS + seed * MS);
        crowd_close_channel(&crowd);
        pthread_join(thread, NULL);
        assert_int_equal(VC_CANCELLED, status);
        crowd_close(&crowd);
    }
}

static void
a_server_that_dies_afterwards_is_nobodys_concern(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        crowd_open(&crowd, seed, 2, NULL);
        crowd.server.sleep_us = 50 * MS;
        crowd_serve(&crowd);
        for (unsigned i = 0; i < 5; i++)
            assert_int_equal(VC_OK, say(64, i, 0, 0));
        fake_process_kill(crowd.server.process);
        crowd.server.process = NULL;
        crowd_serve(&crowd);
        fake_sleep_us(S);
        for (unsigned i = 0; i < 5; i++)
            assert_true(atomic_load(&sim_ran[i]) <= 1);
        crowd_close(&crowd);
    }
}

static void
any_allocation_may_fail(void **state)
{
    unsigned struck = 1;

    (void)state;
    for (unsigned n = 1; struck > 0; n++) {
        unsigned good = 0, told = 0;

        crowd_open(&crowd, 2, 0, NULL);
        crowd_serve(&crowd);
        fake_fail_memory(fake_process_self(), n);
        for (unsigned i = 0; i < 20; i++) {
            if (say(i % 5 == 0 ? 40000 : 64, i, 0, 0) == VC_OK)
                good++;
            else
                told += atomic_load(&sim_ran[i]);
        }
        assert_true(good > 0);
        crowd_close_channel(&crowd);
        struck = fake_failed();
        fake_fail_no_more();
        assert_int_equal(0, told);
        crowd_close(&crowd);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_caller_does_not_wait_for_the_handler),
        cmocka_unit_test(
            the_caller_waits_until_there_is_a_connection_and_a_slot),
        cmocka_unit_test(without_a_server_the_caller_is_told),
        cmocka_unit_test(the_caller_may_wait_for_a_server_that_starts_later),
        cmocka_unit_test(closing_the_channel_ends_the_wait),
        cmocka_unit_test(a_server_that_dies_afterwards_is_nobodys_concern),
        cmocka_unit_test(any_allocation_may_fail),
    };

    sim_service(&one_way, one_way_methods, VC_METHOD_ONE_WAY);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
