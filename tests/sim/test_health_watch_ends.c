/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How a channel that watches the health of its servers goes on when a Watch
 * ends, a connection is lost, or a server sends what it should not; on virtual
 * time. TRACE=1 shows what happens. */
#include <stdlib.h>

#include "tests/sim/doctors.h"

#define SEEDS 2u

#define FOR_SEEDS                                                              \
    (void)state;                                                               \
    for (uint64_t seed = 1; seed <= sim_many(SEEDS); seed++)

/* --- Watch ends -------------------------------------------------------------------- */

static void
a_server_without_Watch_counts_as_healthy_and_is_not_asked_again(void **state)
{
    FOR_SEEDS
    {
        static const enum habit habits[] = {LACKS, ABSENT, ANSWERS};

        doctors_begin(seed, SERVERS, "round_robin", habits);
        doctors_settled();
        fake_sleep_us(600 * S);
        doctors_calls_good(99);
        for (unsigned i = 0; i < SERVERS; i++)
            assert_in_range(doctors_got(i), 32, 34);
        assert_int_equal(1, atomic_load(&doctors.of[0].watches));
        assert_int_equal(2, atomic_load(&doctors.lines_none));
        assert_int_equal(0, atomic_load(&doctors.lines_bad));
        doctors_server_kill(0); /* on another connection it is asked */
        atomic_store(&doctors.of[0].habit, ANSWERS);
        doctors_server_start(0);
        fake_sleep_us(10 * S);
        doctors_settled();
        assert_int_equal(2, atomic_load(&doctors.of[0].watches));
        doctors_end();
    }
}

/* 0.8 to 1.2 times 1, 1.6, 2.6, 4.1, 6.6 ... seconds from one to the next. */
static void
a_Watch_that_fails_is_begun_again_after_a_backoff(void **state)
{
    FOR_SEEDS
    {
        static const enum habit habits[] = {FAILS, ANSWERS};
        uint64_t began;

        doctors_begin(seed, 2, "round_robin", habits);
        doctors_settled();
        began = fake_now_us();
        assert_true(doctors_describes("unhealthy (no answer)"));
        fake_sleep_us(30 * S);
        doctors_calls_good(50);
        assert_int_equal(0, doctors_got(0));
        assert_in_range(atomic_load(&doctors.of[0].watches), 6, 8);
        assert_int_equal(1, atomic_load(&doctors.lines_bad));
        atomic_store(&doctors.of[0].habit, ANSWERS);
        doctors_described_await("server 1 of 2, rdma://10.9.0.10:7471: ready");
        assert_in_range(fake_now_us() - began, 30 * S, 60 * S);
        doctors_calls_good(50);
        assert_int_equal(25, doctors_got(0));
        doctors_end();
    }
}

static void
a_Watch_that_has_answered_is_begun_again_at_once(void **state)
{
    FOR_SEEDS
    {
        doctors_begin(seed, 2, "round_robin", NULL);
        doctors_settled();
        fake_sleep_us(10 * S);
        for (unsigned k = 0; k < 3; k++) {
            atomic_store(&doctors.of[0].ends, true);
            fake_sleep_us(RTT);
            assert_int_equal(2 + k, atomic_load(&doctors.of[0].watches));
            assert_false(doctors_describes("not known"));
            fake_sleep_us(10 * S);
        }
        doctors_calls_good(50);
        assert_int_equal(25, doctors_got(0));
        doctors_end();
    }
}

static void
a_server_that_ends_each_Watch_is_asked_once_a_second(void **state)
{
    FOR_SEEDS
    {
        static const enum habit habits[] = {ENDS, ANSWERS};

        doctors_begin(seed, 2, "round_robin", habits);
        doctors_settled();
        doctors_word(0, WORD(NOT_SERVING));
        fake_sleep_us(2 * S);
        doctors_calls_good(50);
        assert_int_equal(0, doctors_got(0));
        atomic_store(&doctors.of[0].watches, 0);
        fake_sleep_us(60 * S);
        assert_in_range(atomic_load(&doctors.of[0].watches), 58, 61);
        doctors_calls_good(50); /* it is unhealthy between two Watches, too */
        assert_int_equal(0, doctors_got(0));
        assert_int_equal(1, doctors_counters().servers_unhealthy);
        doctors_end();
    }
}

/* --- connections that are lost ------------------------------------------------------ */

/* Its health is another server's. */
static void
a_server_that_was_restarted_gets_no_call_before_it_serves(void **state)
{
    FOR_SEEDS
    {
        doctors_begin(seed, SERVERS, "round_robin", NULL);
        doctors_settled();
        doctors_word(1, WORD(NOT_SERVING));
        doctors_server_kill(1);
        for (unsigned i = 0; i < 5; i++)
            doctors_call(20000); /* one may have been sent there */
        doctors_server_start(1);
        doctors_calls_good(200);
        fake_sleep_us(10 * S);
        doctors_calls_good(200);
        assert_int_equal(0, doctors_got(1));
        assert_int_equal(2, atomic_load(&doctors.of[1].watches));
        doctors_word(1, WORD(SERVING));
        fake_sleep_us(RTT);
        doctors_calls_good(99);
        assert_in_range(doctors_got(1), 32, 34);
        doctors_end();
    }
}

/* It does not answer anything any more: keepalive finds out. */
static void
a_server_that_hangs_is_watched_again_when_it_is_back(void **state)
{
    FOR_SEEDS
    {
        doctors_begin(seed, SERVERS, "round_robin", NULL);
        doctors_settled();
        fake_process_freeze(doctors.servers[1].process);
        fake_sleep_us(20 * S);
        assert_false(doctors_describes("10.9.0.11:7471: ready"));
        doctors_calls_good(50);
        fake_process_thaw(doctors.servers[1].process);
        doctors_word(1, WORD(NOT_SERVING));
        fake_sleep_us(20 * S);
        doctors_calls_good(50);
        fake_sleep_us(2 * S);
        doctors_calls_good(50);
        assert_int_equal(0, doctors_got(1));
        doctors_word(1, WORD(SERVING));
        fake_sleep_us(RTT);
        doctors_calls_good(99);
        assert_in_range(doctors_got(1), 32, 34);
        assert_int_equal(1, atomic_load(&doctors.of[1].watching));
        doctors_end();
    }
}

/* --- bad answers ----------------------------------------------------------------------- */

static void
a_message_that_is_no_answer_makes_the_server_unhealthy(void **state)
{
    FOR_SEEDS
    {
        static const enum habit habits[] = {BABBLES, ANSWERS};

        doctors_begin(seed, 2, "round_robin", habits);
        doctors_settled();
        assert_true(doctors_describes("unhealthy (no answer)"));
        fake_sleep_us(30 * S);
        doctors_calls_good(50);
        assert_int_equal(0, doctors_got(0));
        assert_in_range(atomic_load(&doctors.of[0].watches), 6, 8);
        assert_int_equal(1, atomic_load(&doctors.of[1].watching));
        assert_int_equal(0, atomic_load(&doctors.of[0].watching));
        doctors_word(1, WORD(NOT_SERVING));
        fake_sleep_us(RTT);
        assert_int_equal(VC_UNAVAILABLE, doctors_call(20000));
        doctors_end();
    }
}

/* A window of 64 KiB has room for 1,900 messages of 2 bytes; half of it is
 * granted once a second. */
static void
a_server_that_floods_sends_a_thousand_messages_a_second(void **state)
{
    FOR_SEEDS
    {
        static const enum habit habits[] = {FLOODS, ANSWERS};
        unsigned sent;

        doctors_begin(seed, 2, "round_robin", habits);
        doctors_calls_good(20);
        fake_sleep_us(2 * S);
        sent = atomic_load(&doctors.of[0].sent);
        assert_in_range(sent, 1900, 6 * 1000);
        fake_sleep_us(20 * S);
        sent = atomic_load(&doctors.of[0].sent) - sent;
        assert_in_range(sent, 18 * 960, 22 * 1940);
        doctors_calls_good(200);
        assert_int_equal(1, atomic_load(&doctors.of[0].watches));
        doctors_end();
    }
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_server_without_Watch_counts_as_healthy_and_is_not_asked_again),
        T(a_Watch_that_fails_is_begun_again_after_a_backoff),
        T(a_Watch_that_has_answered_is_begun_again_at_once),
        T(a_server_that_ends_each_Watch_is_asked_once_a_second),
        T(a_server_that_was_restarted_gets_no_call_before_it_serves),
        T(a_server_that_hangs_is_watched_again_when_it_is_back),
        T(a_message_that_is_no_answer_makes_the_server_unhealthy),
        T(a_server_that_floods_sends_a_thousand_messages_a_second),
    };

    cmocka_set_test_filter(getenv("VC_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
