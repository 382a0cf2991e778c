/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls with a hedge, which is a second attempt when the reply takes long. The
 * first good reply is taken, once. */
#include <string.h>

#include <verbcall/interceptor.h>

#include "rpc/client/async.h"
#include "rpc/client/hedge.h"
#include "tests/sim/crowd.h"

#define SEEDS sim_few(8u)
#define ECHO  0u
#define LONG  40000u
#define HEDGE 20u /* ms */

static struct crowd crowd;
static struct vc_service pure;
static struct vc_method pure_methods[16];

/* The duration of the nth run of the handler, in milliseconds. */
static const unsigned *sleeps;
static unsigned n_sleeps;
static atomic_uint runs;

static void
sleep_as_told(struct sim_server *s)
{
    unsigned n = atomic_fetch_add(&runs, 1);

    (void)s;
    if (n < n_sleeps)
        fake_sleep_us(sleeps[n] * MS);
}

/* add: of the server, or NULL. */
static void
begin_with(uint64_t seed, unsigned n, const unsigned ms[],
           enum vc_status (*add)(struct vc_server *, struct sim_server *))
{
    sleeps = ms;
    n_sleeps = n;
    atomic_store(&runs, 0);
    crowd_open(&crowd, seed, 2, NULL);
    crowd.server.inside = sleep_as_told;
    crowd.server.add = add;
    crowd.service = &pure;
    crowd.opts.hedge_ms = HEDGE;
    crowd_serve(&crowd);
    assert_int_equal(VC_OK,
                     vc_channel_connect(crowd.channel, &suite_probe_service));
}

static void
begin(uint64_t seed, unsigned n, const unsigned ms[])
{
    begin_with(seed, n, ms, NULL);
}

/* Makes a blocking call; returns its duration. */
static uint64_t
call(uint32_t timeout_ms, enum vc_status expected)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc_call_opts opts = crowd.opts;
    uint64_t start = fake_now_us();
    Suite__EchoReply *echoed;
    void *reply = NULL;

    opts.timeout_ms = timeout_ms;
    request.tag = 9;
    assert_int_equal(expected, vc_channel_call(crowd.channel, &pure, ECHO,
                                               &request, &opts, &reply));
    echoed = reply;
    assert_true(expected != VC_OK || echoed->tag == 9);
    vc_message_free(reply);
    return fake_now_us() - start;
}

static void
a_quick_answer_needs_no_hedge(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, 0, NULL);
        assert_true(call(0, VC_OK) < HEDGE * MS);
        fake_sleep_us(200 * MS);
        assert_int_equal(1, atomic_load(&sim_ran[9]));
        crowd_close(&crowd);
    }
}

static void
a_slow_answer_is_overtaken_by_the_hedge(void **state)
{
    static const unsigned ms[] = {400};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, 1, ms);
        assert_in_range(call(0, VC_OK), HEDGE * MS, 100 * MS);
        assert_int_equal(2, atomic_load(&sim_ran[9]));
        crowd_close(&crowd);
    }
}

static void
a_slower_hedge_is_given_up(void **state)
{
    static const unsigned ms[] = {60, 400};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, 2, ms);
        assert_in_range(call(0, VC_OK), 60 * MS, 100 * MS);
        assert_int_equal(2, atomic_load(&sim_ran[9]));
        crowd_close(&crowd);
    }
}

static void
the_deadline_ends_both(void **state)
{
    static const unsigned ms[] = {400, 400};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, 2, ms);
        assert_in_range(call(100, VC_DEADLINE_EXCEEDED), 100 * MS, 110 * MS);
        assert_int_equal(VC_OUTCOME_UNKNOWN, vc_error_outcome());
        assert_int_equal(2, atomic_load(&sim_ran[9]));
        crowd_close(&crowd);
    }
}

static void
both_may_be_cancelled(void **state)
{
    static const unsigned ms[] = {400, 400};

    (void)state;
    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        struct crowd_call *c;
        uint64_t until;

        begin(seed, 2, ms);
        c = seed % 2 == 0 ? crowd_call(&crowd, LONG)
                          : crowd_call_queued(&crowd, 64);
        until = fake_now_us() + (HEDGE - 2 + seed) * MS;
        while (fake_now_us() < until)
            vc_completions_next(crowd.queue, 1, &(struct vc_completion){0});
        vc_async_cancel(c->handle);
        crowd_await(&crowd, 1);
        assert_int_equal(VC_CANCELLED, c->status);
        assert_int_equal(VC_OUTCOME_UNKNOWN, c->outcome);
        crowd_close(&crowd);
    }
}

static void
the_channel_may_be_closed_under_both(void **state)
{
    static const unsigned ms[12] = {400, 400, 400, 400, 400, 400,
                                    400, 400, 400, 400, 400, 400};

    (void)state;
    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        uint64_t until;

        begin(seed, 12, ms);
        for (unsigned i = 0; i < 6; i++)
            crowd_call(&crowd, i % 2 == 0 ? LONG : 64);
        until = fake_now_us() + (HEDGE - 2 + seed) * MS;
        while (fake_now_us() < until)
            vc_completions_next(crowd.queue, 1, &(struct vc_completion){0});
        crowd_close_channel(&crowd);
        assert_int_equal(6, crowd_count(&crowd, VC_CANCELLED));
        crowd_close(&crowd);
    }
}

static void
a_killed_server_ends_both(void **state)
{
    static const unsigned ms[] = {400, 400, 400, 400, 400, 400, 400, 400};

    (void)state;
    for (uint64_t seed = 1; seed <= 2 * SEEDS; seed++) {
        uint64_t until;

        begin(seed, 8, ms);
        for (unsigned i = 0; i < 4; i++)
            crowd_call(&crowd, 64);
        until = fake_now_us() + (HEDGE - 2 + seed) * MS;
        while (fake_now_us() < until)
            vc_completions_next(crowd.queue, 1, &(struct vc_completion){0});
        fake_process_kill(crowd.server.process);
        crowd.server.process = NULL;
        if (seed % 2 == 0)
            crowd_serve(&crowd);
        crowd_await(&crowd, 4);
        assert_int_equal(
            4, crowd_count(&crowd, seed % 2 == 0 ? VC_OK : VC_UNAVAILABLE));
        crowd_close(&crowd);
    }
}

/* --- a hedge that is lost as the deadline passes -------------------------- */

static atomic_uint begins; /* of calls at the server, also refused ones */

/* Refuses the first call when its hedge has begun. */
static enum vc_status
first_refuse(struct vc_interception *i, void **state, void *arg)
{
    (void)state;
    (void)arg;
    if (atomic_fetch_add(&begins, 1) > 0)
        return VC_OK;
    fake_sleep_us(2 * HEDGE * MS);
    return vc_interception_fail(i, VC_PERMISSION_DENIED, "not the first one");
}

static enum vc_status
refuser_add(struct vc_server *server, struct sim_server *s)
{
    (void)s;
    return vc_server_intercept(server, VC_INTERCEPTOR(.start = first_refuse));
}

static struct vc_async *losing;
static struct vc__task lose_task;
static struct vc__timer lose_timer;

/* As when the hedge's link is lost by a timer of its keepalive. */
static void
hedge_lose(struct vc__timer *timer)
{
    struct vc__attempt *u = vc__hedge_unary(losing->hedge);
    struct vc__error why;
    enum vc_outcome outcome;

    (void)timer;
    assert_false(losing->flying);
    assert_true(vc__client_abandon(u->client, &u->request, &outcome));
    vc__error_put(&why, VC_UNAVAILABLE, "the link was lost");
    why.outcome = outcome;
    u->request.failed(&u->request, &why);
}

/* A task of the client's engine: the next timer is that of the deadline. */
static void
lose_later(struct vc__task *task)
{
    (void)task;
    assert_true(vc__timer_start(&losing->engine->timers, &lose_timer,
                                losing->attempts.until - 1, hedge_lose));
}

static void
a_hedge_that_is_lost_as_the_deadline_passes_may_have_run(void **state)
{
    static const unsigned ms[] = {400};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct crowd_call *c;

        atomic_store(&begins, 0);
        begin_with(seed, 1, ms, refuser_add);
        crowd.opts.timeout_ms = 200;
        c = crowd_call(&crowd, 64);
        losing = c->handle;
        lose_task.run = lose_later;
        vc__engine_post(losing->engine, &lose_task);
        crowd_await(&crowd, 1);
        assert_int_equal(VC_DEADLINE_EXCEEDED, c->status);
        assert_int_equal(VC_OUTCOME_UNKNOWN, c->outcome);
        assert_int_equal(1, atomic_load(&runs));
        crowd_close(&crowd);
    }
}

static void
only_methods_without_side_effects_may_have_one(void **state)
{
    (void)state;
    begin(1, 0, NULL);
    crowd.service = &suite_probe_service;
    assert_null(crowd_call(&crowd, 64));
    assert_non_null(strstr(
        vc_error(),
        "suite.Probe.Echo: vc_call_opts.hedge_ms: the method may have side "
        "effects"));
    crowd_close(&crowd);
}

static void
any_allocation_may_fail(void **state)
{
    static const unsigned ms[] = {60, 60, 60, 60};
    bool struck = true;

    (void)state;
    for (unsigned n = 1; struck; n++) {
        begin(2, 4, ms);
        fake_fail_memory(fake_process_self(), n);
        for (unsigned i = 0; i < 4; i++)
            crowd_call(&crowd, 64);
        struck = crowd_was_struck(&crowd);
        crowd_close(&crowd);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quick_answer_needs_no_hedge),
        cmocka_unit_test(a_slow_answer_is_overtaken_by_the_hedge),
        cmocka_unit_test(a_slower_hedge_is_given_up),
        cmocka_unit_test(the_deadline_ends_both),
        cmocka_unit_test(both_may_be_cancelled),
        cmocka_unit_test(the_channel_may_be_closed_under_both),
        cmocka_unit_test(a_killed_server_ends_both),
        cmocka_unit_test(
            a_hedge_that_is_lost_as_the_deadline_passes_may_have_run),
        cmocka_unit_test(only_methods_without_side_effects_may_have_one),
        cmocka_unit_test(any_allocation_may_fail),
    };

    sim_service(&pure, pure_methods, VC_METHOD_NO_SIDE_EFFECTS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
