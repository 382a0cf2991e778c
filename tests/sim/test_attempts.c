/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What further attempts carry and obey: their number, the program's metadata,
 * the server's pushback, cancellers; with blocking and asynchronous calls. */
#include <pthread.h>
#include <string.h>

#include <verbcall/cancel.h>
#include <verbcall/policy.h>

#include "tests/sim/crowd.h"

#define SEEDS sim_few(8u)
#define ECHO  0u
#define LONG  40000u

static struct crowd crowd;
static struct vc_service idempotent;
static struct vc_method idempotent_methods[16];

/* The handler fails this many attempts, with this pushback unless it is 0. */
static unsigned fails;
static int32_t advice_ms;
static atomic_uint attempts; /* sum of their numbers */
static atomic_uint marked;   /* those with the program's metadata */

static enum vc_status
fail_first(struct sim_server *s, struct vc_call *call,
           const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    const char *mark = vc_call_metadata_find(call, "mark", NULL);

    (void)s;
    atomic_fetch_add(&attempts, vc_call_attempt(call));
    if (mark != NULL && strcmp(mark, "mine") == 0)
        atomic_fetch_add(&marked, 1);
    if (vc_call_attempt(call) <= fails) {
        if (advice_ms != 0)
            vc_call_pushback(call, advice_ms);
        vc_call_add_trailing(call, "why", "first", 5);
        return vc_call_fail(call, VC_UNAVAILABLE, "not yet");
    }
    reply->tag = request->tag;
    reply->payload = request->payload;
    return VC_OK;
}

static void
begin(uint64_t seed, unsigned n, int32_t ms)
{
    static const struct vc_metadata mark = {"mark", "mine", 4};

    fails = n;
    advice_ms = ms;
    atomic_store(&attempts, 0);
    atomic_store(&marked, 0);
    crowd_open(&crowd, seed, 2, NULL);
    crowd.server.handle = fail_first;
    crowd.service = &idempotent;
    crowd.opts.metadata = &mark;
    crowd.opts.n_metadata = 1;
    crowd_serve(&crowd);
    assert_int_equal(VC_OK,
                     vc_channel_connect(crowd.channel, &suite_probe_service));
}

static enum vc_status
call_blocking(uint64_t *us)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    uint64_t start = fake_now_us();
    void *reply = NULL;
    enum vc_status status = vc_channel_call(crowd.channel, crowd.service, ECHO,
                                            &request, &crowd.opts, &reply);

    *us = fake_now_us() - start;
    vc_message_free(reply);
    return status;
}

static enum vc_status
call_async(size_t size, uint64_t *us)
{
    uint64_t start = fake_now_us();
    struct crowd_call *c = crowd_call(&crowd, size);

    assert_non_null(c);
    crowd_await(&crowd, 1);
    *us = fake_now_us() - start;
    return c->status;
}

/* Makes a call of one of three kinds, by seed. */
static enum vc_status
call_any(uint64_t seed, uint64_t *us)
{
    if (seed % 3 == 0)
        return call_blocking(us);
    return call_async(seed % 3 == 1 ? LONG : 64, us);
}

static void
each_attempt_says_its_number_and_has_the_programs_metadata(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_result result = VC_RESULT_INIT;
        uint64_t us;

        begin(seed, 2, 0);
        crowd.opts.result = &result;
        assert_int_equal(VC_OK, call_any(seed, &us));
        assert_int_equal(1 + 2 + 3, atomic_load(&attempts));
        assert_int_equal(3, atomic_load(&marked));
        assert_int_equal(VC_OK, result.status);
        assert_int_equal(3, result.attempts);
        vc_result_clear(&result);
        crowd_close(&crowd);
    }
}

static void
the_result_is_that_of_the_last_attempt(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vc_result result = VC_RESULT_INIT;
        uint64_t us;

        begin(seed, 9, 0);
        crowd.opts.result = &result;
        assert_int_equal(VC_UNAVAILABLE, call_any(seed, &us));
        assert_int_equal(VC_UNAVAILABLE, result.status);
        assert_int_equal(VC_OUTCOME_EXECUTED, result.outcome);
        assert_int_equal(3, result.attempts);
        assert_string_equal("not yet", result.message);
        assert_int_equal(1, result.n_trailing);
        vc_result_clear(&result);
        crowd_close(&crowd);
    }
}

static void
an_attempt_comes_when_the_server_said(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t us;

        begin(seed, 1, 700);
        assert_int_equal(VC_OK, call_any(seed, &us));
        assert_in_range(us, 700 * MS, 800 * MS);
        crowd_close(&crowd);
    }
}

static void
no_attempt_comes_when_the_server_said_never(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t us;

        begin(seed, 1, -1);
        assert_int_equal(VC_UNAVAILABLE, call_any(seed, &us));
        assert_int_equal(1, atomic_load(&attempts));
        crowd_close(&crowd);
    }
}

/* --- a policy that has no server ----------------------------------------- */

static uint32_t
waits_pick(void *state, struct vc_pick *pick)
{
    (void)state;
    (void)pick;
    return VC_PICK_WAIT;
}

static const struct vc_policy_type waits = {
    .size = sizeof waits,
    .name = "waits",
    .pick = waits_pick,
};

/* It is asked again every 10 ms: so also when the deadline passes. */
static void
a_call_that_waits_for_a_policy_says_so_once(void **state)
{
    (void)state;
    assert_int_equal(VC_OK, vc_policy_register(&waits));
    for (uint64_t seed = 1; seed <= 20 * SEEDS; seed++) {
        struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
        struct crowd_call *c;

        opts.policy = "waits";
        crowd_open(&crowd, seed, 2, &opts);
        crowd.opts.flags = seed & 1 ? VC_CALL_WAIT_FOR_READY : 0;
        crowd.opts.timeout_ms = 10 + (uint32_t)(seed / 2 % 32);
        c = crowd_call(&crowd, 64);
        crowd_await(&crowd, 1);
        assert_int_equal(VC_DEADLINE_EXCEEDED, c->status);
        assert_int_equal(VC_OUTCOME_NOT_EXECUTED, c->outcome);
        if (strstr(strstr(c->text, " within ") + 1, " within ") != NULL)
            fail_msg("%s", c->text);
        crowd_close(&crowd);
    }
}

/* --- cancellers -------------------------------------------------------- */

static void *
cancel_main(void *arg)
{
    fake_sleep_us(300 * MS);
    vc_cancel(arg);
    return NULL;
}

static void
a_canceller_ends_the_wait_for_the_next_attempt(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3 * SEEDS; seed++) {
        struct vc_canceller *canceller;
        pthread_t thread;
        uint64_t us;

        begin(seed, 1, 2000);
        assert_int_equal(VC_OK, vc_canceller_new(&canceller));
        crowd.opts.canceller = canceller;
        pthread_create(&thread, NULL, cancel_main, canceller);
        assert_int_equal(VC_CANCELLED, call_any(seed, &us));
        assert_in_range(us, 250 * MS, 350 * MS);
        pthread_join(thread, NULL);
        vc_canceller_free(canceller);
        assert_int_equal(1, atomic_load(&attempts));
        crowd_close(&crowd);
    }
}

static void
a_canceller_ends_calls_that_nobody_waits_for(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8 * SEEDS; seed++) {
        struct vc_canceller *canceller;

        begin(seed, 0, 0);
        assert_int_equal(VC_OK, vc_canceller_new(&canceller));
        crowd.opts.canceller = canceller;
        for (unsigned i = 0; i < 50; i++)
            crowd_call(&crowd, i % 10 == 0 ? LONG : 64);
        crowd_await(&crowd, (unsigned)(seed % 40));
        vc_cancel(canceller);
        assert_null(crowd_call(&crowd, 64));
        vc_canceller_free(canceller);
        crowd_await(&crowd, 50);
        assert_int_equal(50, crowd_count(&crowd, VC_OK) +
                                 crowd_count(&crowd, VC_CANCELLED));
        crowd_close(&crowd);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            each_attempt_says_its_number_and_has_the_programs_metadata),
        cmocka_unit_test(the_result_is_that_of_the_last_attempt),
        cmocka_unit_test(an_attempt_comes_when_the_server_said),
        cmocka_unit_test(no_attempt_comes_when_the_server_said_never),
        cmocka_unit_test(a_canceller_ends_the_wait_for_the_next_attempt),
        cmocka_unit_test(a_call_that_waits_for_a_policy_says_so_once),
        cmocka_unit_test(a_canceller_ends_calls_that_nobody_waits_for),
    };

    sim_service(&idempotent, idempotent_methods, VC_METHOD_IDEMPOTENT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
