/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which servers get calls when a channel watches their health, on virtual
 * time. TRACE=1 shows what happens. */
#include <stdlib.h>
#include <string.h>

#include <verbcall/call.h>

#include "tests/sim/doctors.h"

#define SEEDS  2u
#define RANDOM 4u /* seeds of the last test */
#define FAULTS 12u

#define FOR_SEEDS                                                              \
    (void)state;                                                               \
    for (uint64_t seed = 1; seed <= sim_many(SEEDS); seed++)

/* --- servers that switch -------------------------------------------------------- */

static void
a_server_gets_calls_only_while_it_reports_SERVING(void **state)
{
    FOR_SEEDS
    {
        static const unsigned others[] = {WORD(NOT_SERVING), WORD(UNKNOWN),
                                          WORD(SERVICE_UNKNOWN), 17};

        doctors_begin(seed, SERVERS, "round_robin", NULL);
        doctors_settled();
        assert_false(atomic_load(&doctors.of[0].misnamed));
        for (unsigned k = 0; k < 4; k++) {
            doctors_word(k % SERVERS, others[k]);
            fake_sleep_us(RTT);
            assert_true(doctors_describes("unhealthy ("));
            doctors_calls_good(100);
            assert_int_equal(0, doctors_got(k % SERVERS));
            assert_in_range(doctors_got((k + 1) % SERVERS), 49, 51);
            doctors_word(k % SERVERS, WORD(SERVING));
            fake_sleep_us(RTT);
            assert_false(doctors_describes("unhealthy"));
            doctors_calls_good(99);
            assert_in_range(doctors_got(k % SERVERS), 32, 34);
        }
        for (unsigned i = 0; i < SERVERS; i++) {
            assert_int_equal(1, atomic_load(&doctors.of[i].watches));
            assert_int_equal(1, atomic_load(&doctors.of[i].watching));
        }
        assert_int_equal(4, doctors_counters().servers_unhealthy);
        assert_int_equal(4, atomic_load(&doctors.lines_bad));
        assert_int_equal(4, atomic_load(&doctors.lines_good));
        doctors_end();
    }
}

static void
the_streams_that_watch_are_no_calls_of_the_program(void **state)
{
    FOR_SEEDS
    {
        doctors_begin(seed, SERVERS, "round_robin", NULL);
        doctors_settled();
        assert_int_equal(doctors.tag, doctors_counters().calls_started);
        assert_int_equal(doctors.tag, doctors_counters().calls_ended);
        assert_int_equal(0, doctors_counters().streams_client);
        assert_int_equal(0, doctors_counters().streams_client_opened);
        doctors_end();
    }
}

static void
pick_first_moves_on_from_an_unhealthy_server(void **state)
{
    FOR_SEEDS
    {
        doctors_begin(seed, SERVERS, "pick_first", NULL);
        doctors_calls_good(10);
        assert_int_equal(10, doctors_got(0));
        doctors_word(0, WORD(NOT_SERVING));
        fake_sleep_us(RTT);
        doctors_calls_good(10);
        assert_int_equal(10, doctors_got(1));
        doctors_word(0, WORD(SERVING));
        fake_sleep_us(RTT);
        doctors_calls_good(10); /* it stays */
        assert_int_equal(10, doctors_got(1));
        doctors_end();
    }
}

/* With no other server, too. */
static void
while_no_server_serves_calls_end_with_the_reason(void **state)
{
    FOR_SEEDS
    {
        unsigned n = seed % 2 == 0 ? 1 : SERVERS;
        enum vc_outcome outcome;

        doctors_begin(seed, n, "round_robin", NULL);
        doctors_settled();
        for (unsigned i = 0; i < n; i++)
            doctors_word(i, WORD(NOT_SERVING));
        fake_sleep_us(RTT);
        assert_int_equal(VC_UNAVAILABLE,
                         sim_echo(doctors.channel, 64, 0, 20000, &outcome));
        assert_int_equal(VC_OUTCOME_NOT_EXECUTED, outcome);
        assert_non_null(strstr(vc_error(), "suite.Probe.Echo: server "
                                           "rdma://10.9.0.1"));
        assert_non_null(strstr(vc_error(), ":7471 is unhealthy: its health "
                                           "service reports NOT_SERVING for "
                                           "sim"));
        doctors_word(n - 1, WORD(SERVING));
        fake_sleep_us(RTT);
        doctors_calls_good(10);
        assert_int_equal(10, doctors_got(n - 1));
        doctors_end();
    }
}

static void *
word_later(void *arg)
{
    (void)arg;
    fake_sleep_us(3 * S);
    doctors_word(0, WORD(SERVING));
    return NULL;
}

static void
a_call_that_waits_for_ready_waits_for_a_healthy_server(void **state)
{
    FOR_SEEDS
    {
        const struct vc_call_opts opts = {.size = sizeof opts,
                                          .flags = VC_CALL_WAIT_FOR_READY,
                                          .timeout_ms = 20000};
        uint64_t began;
        pthread_t thread;

        doctors_begin(seed, 2, "round_robin", NULL);
        doctors_word(0, WORD(NOT_SERVING));
        doctors_word(1, WORD(NOT_SERVING));
        assert_int_equal(VC_UNAVAILABLE, doctors_call(20000));
        began = fake_now_us();
        assert_int_equal(0, pthread_create(&thread, NULL, word_later, NULL));
        assert_int_equal(VC_OK,
                         sim_echo_opts(doctors.channel, 64, 0, &opts, NULL));
        assert_in_range(fake_now_us() - began, 3 * S, 5 * S);
        pthread_join(thread, NULL);
        doctors_end();
    }
}

/* --- a server that has not answered ----------------------------------------------- */

static void
before_its_first_answer_a_server_gets_no_call(void **state)
{
    FOR_SEEDS
    {
        static const enum habit habits[] = {HANGS, ANSWERS, HANGS};

        doctors_begin(seed, SERVERS, "round_robin", habits);
        fake_sleep_us(seed * 100);
        doctors_calls_good(50); /* the first may wait */
        assert_int_equal(50, doctors_got(1));
        atomic_store(&doctors.of[0].habit, ANSWERS);
        fake_sleep_us(RTT);
        doctors_calls_good(50);
        assert_int_equal(25, doctors_got(0));
        assert_int_equal(0, doctors_got(2));
        doctors_end();
    }
}

static void *
answer_later(void *arg)
{
    (void)arg;
    fake_sleep_us(S);
    atomic_store(&doctors.of[0].habit, ANSWERS);
    return NULL;
}

/* As for a connection; then it is sent at once, or goes elsewhere. */
static void
a_call_waits_for_the_first_answer(void **state)
{
    FOR_SEEDS
    {
        static const enum habit habits[] = {HANGS, HANGS, HANGS};
        uint64_t began;
        pthread_t thread;

        doctors_begin(seed, seed % 2 == 0 ? 1 : 2, "round_robin", habits);
        assert_int_equal(VC_DEADLINE_EXCEEDED, doctors_call(500));
        assert_int_equal(0, doctors_got(0));
        began = fake_now_us();
        assert_int_equal(0, pthread_create(&thread, NULL, answer_later, NULL));
        doctors_calls_good(1);
        /* Of two servers it may have waited at the other one. */
        assert_in_range(fake_now_us() - began, S, 2 * S);
        pthread_join(thread, NULL);
        doctors_end();
    }
}

static void
a_server_that_does_not_answer_holds_calls_for_2_s(void **state)
{
    FOR_SEEDS
    {
        static const enum habit habits[] = {HANGS, ANSWERS};
        uint64_t began;

        doctors_begin(seed, 2, "pick_first", habits);
        began = fake_now_us();
        doctors_calls_good(1);
        assert_int_equal(1, doctors_got(1));
        assert_in_range(fake_now_us() - began, 2 * S, 2 * S + 400 * MS);
        assert_true(doctors_describes("unhealthy (no answer)"));
        atomic_store(&doctors.of[0].habit, ANSWERS);
        fake_sleep_us(RTT);
        assert_false(doctors_describes("unhealthy"));
        assert_int_equal(1, atomic_load(&doctors.of[0].watches));
        doctors_end();
    }
}

static void
a_call_that_waits_goes_elsewhere_when_its_server_is_unhealthy(void **state)
{
    FOR_SEEDS
    {
        static const enum habit habits[] = {HANGS, HANGS};
        uint64_t began;
        pthread_t thread;

        doctors_begin(seed, 2, "pick_first", habits);
        doctors_word(0, WORD(NOT_SERVING));
        atomic_store(&doctors.of[1].habit, ANSWERS);
        began = fake_now_us();
        assert_int_equal(0, pthread_create(&thread, NULL, answer_later, NULL));
        doctors_calls_good(1);
        assert_in_range(fake_now_us() - began, S, S + 400 * MS);
        assert_int_equal(1, doctors_got(1));
        pthread_join(thread, NULL);
        doctors_end();
    }
}

/* --- all of it -------------------------------------------------------------------------- */

static unsigned
roll(unsigned n)
{
    doctors.dice =
        doctors.dice * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(doctors.dice >> 33) % n;
}

static void
fault(void)
{
    static const enum habit habits[] = {ANSWERS, ANSWERS, ANSWERS, HANGS,
                                        FAILS,   ENDS,    LACKS,   FLOODS};
    unsigned i = 1 + roll(SERVERS - 1);

    switch (roll(5)) {
    case 0:
        if (doctors.killed[i])
            doctors_server_start(i);
        else
            doctors_server_kill(i);
        break;
    case 1:
        atomic_store(&doctors.of[i].habit, habits[roll(8)]);
        break;
    case 2:
        fake_port_set(doctors.hosts[i], false);
        fake_sleep_us(roll(3000) * MS);
        fake_port_set(doctors.hosts[i], true);
        break;
    default:
        doctors_word(i, 1 + roll(2));
    }
}

/* Server 0 stays healthy, so no call fails that was not sent; and while a server
 * answers, it gets no call after it has reported that it does not serve. */
static void
calls_go_to_healthy_servers_whatever_happens_to_the_others(void **state)
{
    static const char *const policies[] = {"round_robin", "pick_first",
                                           "least_request"};

    (void)state;
    for (uint64_t seed = 1; seed <= sim_many(sim_share(RANDOM) + 1); seed++) {
        doctors_begin(seed, SERVERS, policies[seed % 3], NULL);
        traffic_start(&doctors.traffic, doctors.channel, seed);
        traffic_await(&doctors.traffic, 20, 5 * S);
        atomic_store(&doctors.traffic.may_fail, true);
        for (unsigned n = 0; n < FAULTS; n++) {
            fault();
            fake_sleep_us((uint64_t)roll(700) * MS);
        }
        for (unsigned i = 0; i < SERVERS; i++) {
            doctors_word(i, i == 0 ? WORD(SERVING) : WORD(NOT_SERVING));
            atomic_store(&doctors.of[i].habit, ANSWERS);
            if (doctors.killed[i])
                doctors_server_start(i);
        }
        fake_sleep_us(20 * S);
        atomic_store(&doctors.traffic.may_fail, false);
        for (unsigned i = 0; i < SERVERS; i++)
            atomic_store(&doctors.of[i].wrong, 0);
        traffic_await(&doctors.traffic, 50, 5 * S);
        traffic_stop(&doctors.traffic);
        for (unsigned i = 0; i < SERVERS; i++)
            assert_int_equal(0, atomic_load(&doctors.of[i].wrong));
        doctors_end();
        traffic_ran_once(&doctors.traffic);
    }
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_server_gets_calls_only_while_it_reports_SERVING),
        T(the_streams_that_watch_are_no_calls_of_the_program),
        T(pick_first_moves_on_from_an_unhealthy_server),
        T(while_no_server_serves_calls_end_with_the_reason),
        T(a_call_that_waits_for_ready_waits_for_a_healthy_server),
        T(before_its_first_answer_a_server_gets_no_call),
        T(a_call_waits_for_the_first_answer),
        T(a_server_that_does_not_answer_holds_calls_for_2_s),
        T(a_call_that_waits_goes_elsewhere_when_its_server_is_unhealthy),
        T(calls_go_to_healthy_servers_whatever_happens_to_the_others),
    };

    cmocka_set_test_filter(getenv("VC_TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
