/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls that fail and are retried, and calls that must not be retried. The
 * server counts how often each was executed. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/sim.h"

#define MS    UINT64_C(1000)
#define S     UINT64_C(1000000)
#define SEEDS sim_few(8u)
#define TAG   7u
#define ECHO  0u /* methods of Probe */
#define FAIL  1u

/* Probe, with methods that are marked as safe to run twice. */
static struct vc_service idempotent;
static struct vc_method idempotent_methods[16];

/* A client, and the host of its server. */
struct stage {
    struct fake_host *there;
    struct sim_server server;
    struct vc_runtime *runtime;
    struct vc_channel *channel;
};

static atomic_uint begun; /* a handler of Echo */

static void
say_begun(struct sim_server *s)
{
    (void)s;
    sim_tell(&begun);
    fake_sleep_us(20 * MS);
}

static void
stage_open(struct stage *st, uint64_t seed, const struct vc_channel_opts *opts)
{
    memset(st, 0, sizeof *st);
    sim_begin(seed, 2, true);
    atomic_store(&begun, 0);
    st->there = fake_host_new("there", "10.9.0.2");
    sim_target("10.9.0.2", st->server.target);
    assert_int_equal(VC_OK, sim_runtime(&st->runtime, 1));
    assert_int_equal(VC_OK, vc_channel_open(st->runtime, st->server.target,
                                            opts, &st->channel));
}

static void
stage_serve(struct stage *st)
{
    sim_server_start(&st->server, st->there, 1);
    assert_true(sim_server_await(&st->server));
}

static void
stage_close(struct stage *st)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_channel_close(st->channel);
    vc_runtime_counters(st->runtime, &c);
    if (sim_counters_fault(&c) != NULL)
        fail_msg("%s", sim_counters_fault(&c));
    vc_runtime_free(st->runtime);
    if (st->server.process != NULL)
        assert_true(sim_server_stop(&st->server));
    assert_int_equal(0, fake_end());
}

/* A call on a thread of its own. */
struct caller {
    struct stage *stage;
    const struct vc_service *service;
    uint32_t flags, timeout_ms;
    pthread_t thread;
    enum vc_status status;
    enum vc_outcome outcome;
    char text[256];
    uint64_t us;
};

static void
caller_call(struct caller *c)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    uint64_t begin = fake_now_us();
    void *reply = NULL;

    opts.flags = c->flags;
    opts.timeout_ms = c->timeout_ms;
    request.tag = TAG;
    c->status =
        vc_channel_call(c->stage->channel,
                        c->service != NULL ? c->service : &suite_probe_service,
                        ECHO, &request, &opts, &reply);
    c->us = fake_now_us() - begin;
    c->outcome = vc_error_outcome();
    snprintf(c->text, sizeof c->text, "%s", vc_error());
    if (c->status == VC_OK)
        vc_message_free(reply);
}

static void *
caller_main(void *arg)
{
    caller_call(arg);
    return NULL;
}

static void
caller_start(struct caller *c)
{
    pthread_create(&c->thread, NULL, caller_main, c);
}

/* --- a server that starts late ----------------------------------------- */

static void
a_call_finds_a_server_that_comes_between_two_attempts(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct stage st;
        struct caller c = {.stage = &st};

        stage_open(&st, seed, NULL);
        caller_start(&c);
        fake_sleep_us(30 * MS);
        stage_serve(&st);
        pthread_join(c.thread, NULL);
        assert_int_equal(VC_OK, c.status);
        assert_int_equal(1, atomic_load(&sim_ran[TAG]));
        stage_close(&st);
    }
}

static void
a_call_without_a_server_gives_up_after_the_last_attempt(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct stage st;
    struct caller c = {.stage = &st}, once = {.stage = &st};

    (void)state;
    opts.retry_backoff_ms = 20;
    opts.max_attempts = 4;
    stage_open(&st, 1, &opts);
    caller_call(&c);
    assert_int_equal(VC_UNAVAILABLE, c.status);
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, c.outcome);
    assert_in_range(c.us, (16 + 32 + 64) * MS, 900 * MS);
    stage_close(&st);

    stage_open(&st, 1, &opts);
    once.flags = VC_CALL_NO_RETRY;
    caller_call(&once);
    assert_int_equal(VC_UNAVAILABLE, once.status);
    assert_true(once.us < 16 * MS);
    stage_close(&st);
}

/* Each attempt takes the connect timeout, or the 1.5 s after which the kernel
 * gives up looking for the host. An attempt that would not fit into the
 * deadline is not made. */
static void
a_silent_host_costs_a_connect_timeout_for_each_attempt(void **state)
{
    static const struct {
        uint32_t flags, timeout_ms;
        uint64_t least_ms, most_ms;
    } cases[] = {
        {0, 10000, 4000, 6500},
        {0, 5000, 2800, 5000},
        {0, 3000, 1400, 2010},
        {VC_CALL_NO_RETRY, 10000, 1400, 2010},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stage st;
        struct caller c = {.stage = &st,
                           .flags = cases[i].flags,
                           .timeout_ms = cases[i].timeout_ms};

        stage_open(&st, 1 + i, NULL);
        fake_wire_cut(fake_host_local(), st.there, true);
        caller_call(&c);
        assert_int_equal(VC_UNAVAILABLE, c.status);
        assert_int_equal(VC_OUTCOME_NOT_EXECUTED, c.outcome);
        assert_in_range(c.us, cases[i].least_ms * MS, cases[i].most_ms * MS);
        stage_close(&st);
    }
}

static void
a_call_that_waits_reaches_a_server_that_starts_later(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct stage st;
        struct caller c = {.stage = &st, .flags = VC_CALL_WAIT_FOR_READY};

        c.timeout_ms = seed % 2 == 0 ? VC_NO_DEADLINE : 60000;
        stage_open(&st, seed, NULL);
        caller_start(&c);
        fake_sleep_us(8 * S);
        stage_serve(&st);
        pthread_join(c.thread, NULL);
        if (c.status != VC_OK)
            fail_msg("%s", c.text);
        assert_in_range(c.us, 8 * S, 16 * S);
        assert_int_equal(1, atomic_load(&sim_ran[TAG]));
        stage_close(&st);
    }
}

static void
a_call_that_waits_in_vain_ends_at_its_deadline_and_says_why(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct stage st;
        struct caller c = {
            .stage = &st, .flags = VC_CALL_WAIT_FOR_READY, .timeout_ms = 3000};

        stage_open(&st, seed, NULL);
        caller_call(&c);
        assert_int_equal(VC_DEADLINE_EXCEEDED, c.status);
        assert_int_equal(VC_OUTCOME_NOT_EXECUTED, c.outcome);
        assert_in_range(c.us, 3 * S, 3 * S + 100 * MS);
        stage_close(&st);
    }
}

static void
a_call_does_not_wait_for_an_attempt_behind_its_deadline(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct stage st;
    struct caller c = {.stage = &st, .timeout_ms = 1000};

    (void)state;
    opts.retry_backoff_ms = 2000;
    stage_open(&st, 1, &opts);
    caller_call(&c);
    assert_int_equal(VC_UNAVAILABLE, c.status);
    assert_true(c.us < 100 * MS);
    stage_close(&st);
}

static void
a_channel_may_be_closed_while_calls_wait_for_their_next_attempt(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20 * SEEDS; seed++) {
        struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
        struct stage st;
        struct caller c[3];

        opts.retry_backoff_ms = seed % 2 == 0 ? 60000 : 1;
        stage_open(&st, seed, &opts);
        for (unsigned i = 0; i < 3; i++) {
            c[i] = (struct caller){.stage = &st,
                                   .flags = VC_CALL_WAIT_FOR_READY,
                                   .timeout_ms = VC_NO_DEADLINE};
            caller_start(&c[i]);
        }
        fake_sleep_us(10 * MS + seed * 100);
        vc_channel_close(st.channel);
        for (unsigned i = 0; i < 3; i++) {
            pthread_join(c[i].thread, NULL);
            assert_int_equal(VC_CANCELLED, c[i].status);
            assert_int_equal(VC_OUTCOME_NOT_EXECUTED, c[i].outcome);
            assert_true(c[i].us < 100 * MS);
        }
        st.channel = NULL;
        stage_close(&st);
    }
}

/* --- what was or may have been executed -------------------------------- */

/* The server is killed in the handler, and is started again soon. */
static void
die_under(struct stage *st, struct caller *c, uint64_t seed)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    opts.retry_backoff_ms = 200;
    c->stage = st;
    stage_open(st, seed, &opts);
    st->server.inside = say_begun;
    stage_serve(st);
    caller_start(c);
    assert_true(sim_await(&begun, 10 * S));
    fake_process_kill(st->server.process);
    st->server.inside = NULL;
    stage_serve(st);
    pthread_join(c->thread, NULL);
}

static void
a_call_that_may_have_run_is_not_tried_again(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct stage st;
        struct caller c = {.flags = VC_CALL_WAIT_FOR_READY};

        die_under(&st, &c, seed);
        assert_int_equal(VC_UNAVAILABLE, c.status);
        assert_int_equal(VC_OUTCOME_UNKNOWN, c.outcome);
        fake_sleep_us(2 * S);
        assert_int_equal(1, atomic_load(&sim_ran[TAG]));
        stage_close(&st);
    }
}

static void
a_call_that_may_run_twice_is_tried_again(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct stage st;
        struct caller c = {.service = &idempotent};

        die_under(&st, &c, seed);
        if (c.status != VC_OK)
            fail_msg("%s", c.text);
        assert_int_equal(2, atomic_load(&sim_ran[TAG]));
        stage_close(&st);
    }
}

static void
the_outcome_is_that_of_all_attempts(void **state)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct stage st;
    struct caller c = {.stage = &st, .service = &idempotent};

    (void)state;
    opts.retry_backoff_ms = 200;
    stage_open(&st, 1, &opts);
    st.server.inside = say_begun;
    stage_serve(&st);
    caller_start(&c);
    assert_true(sim_await(&begun, 10 * S));
    fake_process_kill(st.server.process);
    st.server.process = NULL;
    pthread_join(c.thread, NULL);
    assert_int_equal(VC_UNAVAILABLE, c.status);
    assert_int_equal(VC_OUTCOME_UNKNOWN, c.outcome);
    stage_close(&st);
}

static enum vc_status
call_fail(struct stage *st, const struct vc_service *service,
          enum vc_status status, uint32_t flags)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Suite__FailRequest request = SUITE__FAIL_REQUEST__INIT;
    void *reply = NULL;

    opts.flags = flags;
    request.status = status;
    request.text = (char *)"as you said";
    return vc_channel_call(st->channel, service, FAIL, &request, &opts, &reply);
}

static void
a_call_that_the_handler_failed_is_executed_once(void **state)
{
    struct stage st;

    (void)state;
    stage_open(&st, 1, NULL);
    stage_serve(&st);
    assert_int_equal(VC_UNAVAILABLE,
                     call_fail(&st, &suite_probe_service, VC_UNAVAILABLE,
                               VC_CALL_WAIT_FOR_READY));
    assert_int_equal(VC_OUTCOME_EXECUTED, vc_error_outcome());
    assert_string_equal("as you said", vc_error());
    assert_int_equal(1, atomic_load(&st.server.failed));
    assert_int_equal(VC_UNAVAILABLE, call_fail(&st, &idempotent, VC_UNAVAILABLE,
                                               VC_CALL_NO_RETRY));
    assert_int_equal(2, atomic_load(&st.server.failed));
    assert_int_equal(VC_ABORTED, call_fail(&st, &idempotent, VC_ABORTED, 0));
    assert_int_equal(3, atomic_load(&st.server.failed));
    assert_int_equal(VC_UNAVAILABLE,
                     call_fail(&st, &idempotent, VC_UNAVAILABLE, 0));
    assert_int_equal(6, atomic_load(&st.server.failed));
    stage_close(&st);
}

static void
a_server_that_fails_all_calls_gets_hardly_more_of_them(void **state)
{
    struct stage st;

    (void)state;
    stage_open(&st, 1, NULL);
    stage_serve(&st);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(VC_UNAVAILABLE,
                         call_fail(&st, &idempotent, VC_UNAVAILABLE, 0));
    assert_in_range(atomic_load(&st.server.failed), 101, 105);
    stage_close(&st);
}

/* --- memory ------------------------------------------------------------ */

static void
retries_bear_any_failing_allocation(void **state)
{
    unsigned struck = 1;

    (void)state;
    for (unsigned n = 1; struck > 0; n++) {
        struct stage st;
        struct caller c = {.stage = &st, .timeout_ms = 3000};

        stage_open(&st, 2, NULL);
        fake_fail_memory(fake_process_self(), n);
        caller_start(&c);
        fake_sleep_us(30 * MS);
        stage_serve(&st);
        pthread_join(c.thread, NULL);
        struck = fake_failed();
        fake_fail_no_more();
        if (c.status != VC_OK && c.status != VC_UNAVAILABLE &&
            c.status != VC_RESOURCE_EXHAUSTED)
            fail_msg("allocation %u: %s", n, c.text);
        assert_int_equal(c.status == VC_OK || c.outcome == VC_OUTCOME_EXECUTED,
                         atomic_load(&sim_ran[TAG]));
        stage_close(&st);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_finds_a_server_that_comes_between_two_attempts),
        cmocka_unit_test(
            a_call_without_a_server_gives_up_after_the_last_attempt),
        cmocka_unit_test(
            a_silent_host_costs_a_connect_timeout_for_each_attempt),
        cmocka_unit_test(a_call_that_waits_reaches_a_server_that_starts_later),
        cmocka_unit_test(
            a_call_that_waits_in_vain_ends_at_its_deadline_and_says_why),
        cmocka_unit_test(
            a_call_does_not_wait_for_an_attempt_behind_its_deadline),
        cmocka_unit_test(
            a_channel_may_be_closed_while_calls_wait_for_their_next_attempt),
        cmocka_unit_test(a_call_that_may_have_run_is_not_tried_again),
        cmocka_unit_test(a_call_that_may_run_twice_is_tried_again),
        cmocka_unit_test(the_outcome_is_that_of_all_attempts),
        cmocka_unit_test(a_call_that_the_handler_failed_is_executed_once),
        cmocka_unit_test(
            a_server_that_fails_all_calls_gets_hardly_more_of_them),
        cmocka_unit_test(retries_bear_any_failing_allocation),
    };

    sim_service(&idempotent, idempotent_methods, VC_METHOD_IDEMPOTENT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
