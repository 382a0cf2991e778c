/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Clients with a ProtobufCService of their channel: each closure is called
 * once, with the result of its call. */
#include <poll.h>
#include <string.h>

#include "tests/sim/asks.h"

#define MANY 1000u

/* --- normal operation --------------------------------------------------- */

static void
asks_many(struct scene *s)
{
    static struct ask asks[MANY];

    (void)s;
    asks_assert_good(asks_service);
    for (unsigned i = 0; i < MANY; i++)
        ask_start(&asks[i], asks_service, i % 3 == 0 ? "cid" : "ann");
    for (unsigned i = 0; i < MANY; i++) {
        ask_await(&asks[i]);
        assert_int_equal(asks[i].answer.status,
                         i % 3 == 0 ? VC_NOT_FOUND : VC_OK);
    }
    asks_assert_calm();
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(asks[i].answer.calls, 1);
}

static void
each_of_many_closures_is_called_once(void **state)
{
    (void)state;
    asks_play(asks_many);
}

static void
then_ask(struct ask *a)
{
    (void)a;
    asks_assert_good(asks_service);
}

static void
asks_in_a_closure(struct scene *s)
{
    struct ask a = {.then = then_ask};

    (void)s;
    ask_start(&a, asks_service, "ann");
    ask_await(&a);
}

static void
a_closure_may_call_and_wait(void **state)
{
    (void)state;
    asks_play(asks_in_a_closure);
}

static void
polls(struct scene *s)
{
    struct pollfd p = {.events = POLLIN};
    struct ask a = {.then = NULL};

    assert_int_equal(vc_runtime_start(s->runtime), VC_OK);
    p.fd = vc_closures_fd(asks_loop);
    assert_int_equal(poll(&p, 1, 0), 0);
    ask_start(&a, asks_service, "ann");
    assert_int_equal(poll(&p, 1, 10000), 1);
    assert_int_equal(a.answer.calls, 0);
    assert_int_equal(vc_closures_run(asks_loop, 0), VC_OK);
    assert_int_equal(a.answer.calls, 1);
    assert_int_equal(poll(&p, 1, 0), 0);
}

static void
the_descriptor_tells_that_a_closure_waits(void **state)
{
    (void)state;
    asks_play_once(polls, 1, false);
}

/* --- failures ----------------------------------------------------------- */

static void
hears_why(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    ProtobufCService *hasty;
    struct ask a;

    assert_int_equal(ask_of(&a, asks_service, "cid"), VC_NOT_FOUND);
    assert_string_equal(a.answer.text, "there is no cid");
    assert_int_equal(a.answer.outcome, VC_OUTCOME_EXECUTED);

    opts.timeout_ms = 5;
    hasty = asks_service_new(s, &opts);
    assert_int_equal(ask_of(&a, hasty, "slow"), VC_DEADLINE_EXCEEDED);
    assert_int_equal(a.answer.outcome, VC_OUTCOME_UNKNOWN);
    protobuf_c_service_destroy(hasty);
}

static void
closures_hear_why_their_call_failed(void **state)
{
    (void)state;
    asks_play(hears_why);
}

static void
calls_what_cannot_be(struct scene *s)
{
    Lookup__Phone unset = LOOKUP__PHONE__INIT;
    Lookup__Name name = directory_name("ann", 0);
    struct ask a = {.then = NULL};

    (void)s;
    unset.number = NULL;
    lookup__directory__by_number(asks_service, &unset, ask_told, &a);
    assert_int_equal(a.answer.calls, 1); /* inside the call */
    assert_int_equal(a.answer.status, VC_INVALID_ARGUMENT);

    asks_service->invoke(asks_service, 4, &name.base,
                         (ProtobufCClosure)ask_told, &a);
    assert_int_equal(a.answer.calls, 2);
    assert_int_equal(a.answer.status, VC_INVALID_ARGUMENT);
    assert_string_equal(a.answer.text,
                        "service lookup.Directory has 4 methods: the method "
                        "number 4 is out of range");
    asks_assert_good(asks_service);
    asks_assert_calm();
}

static void
a_call_that_cannot_be_started_fails_at_once(void **state)
{
    (void)state;
    asks_play(calls_what_cannot_be);
}

static void
calls_what_is_not_served(struct scene *s)
{
    ProtobufCServiceDescriptor newer = lookup__directory__descriptor;
    ProtobufCMethodDescriptor methods[5];
    static const unsigned by_name_[] = {0, 1, 2, 4, 3};
    Lookup__Name name = directory_name("ann", 0);
    struct ask a = {.then = NULL};
    ProtobufCService *of;

    memcpy(methods, newer.methods, 4 * sizeof methods[0]);
    methods[4] = methods[0];
    methods[4].name = "Newer";
    newer.methods = methods;
    newer.n_methods = 5;
    newer.method_indices_by_name = by_name_;
    assert_int_equal(
        vc_channel_service(s->channel, &newer, NULL, asks_loop, &of), VC_OK);
    of->invoke(of, 4, &name.base, (ProtobufCClosure)ask_told, &a);
    ask_await(&a);
    assert_int_equal(a.answer.status, VC_UNIMPLEMENTED);
    assert_string_equal(
        a.answer.text,
        "lookup.Directory.Newer: the server's service has no such method: see "
        "that both ends have the same .proto file");
    protobuf_c_service_destroy(of);

    memset(&a, 0, sizeof a);
    assert_int_equal(vc_channel_service(s->channel, &lookup__yellow__descriptor,
                                        NULL, asks_loop, &of),
                     VC_OK);
    lookup__yellow__zoo(of, &name, ask_told, &a);
    ask_await(&a);
    assert_int_equal(a.answer.status, VC_UNIMPLEMENTED);
    protobuf_c_service_destroy(of);

    memset(&a, 0, sizeof a);
    lookup__directory__everyone(asks_service, &name, ask_told, &a);
    ask_await(&a);
    assert_int_equal(a.answer.status, VC_UNIMPLEMENTED);
    assert_string_equal(
        a.answer.text,
        "lookup.Directory.Everyone: the server's method of this name streams "
        "in another way: see that both ends have the same .proto file");
    asks_assert_good(asks_service);
}

static void
what_the_server_has_not_or_streams_is_unimplemented(void **state)
{
    (void)state;
    asks_play(calls_what_is_not_served);
}

#define N_LOST 12u

static void
is_lost(struct scene *s)
{
    static struct ask asks[N_LOST];

    asks_assert_good(asks_service);
    memset(asks, 0, sizeof asks);
    for (unsigned i = 0; i < N_LOST; i++)
        ask_start(&asks[i], asks_service, "slow");
    if (asks_loop != NULL)
        assert_int_equal(vc_closures_run(asks_loop, 10), VC_DEADLINE_EXCEEDED);
    else
        fake_sleep_us(10 * MS);
    fake_process_kill(s->server.process);
    for (unsigned i = 0; i < N_LOST; i++) {
        ask_await(&asks[i]);
        assert_int_equal(asks[i].answer.status, VC_UNAVAILABLE);
    }
    asks_assert_calm();
    for (unsigned i = 0; i < N_LOST; i++)
        assert_int_equal(asks[i].answer.calls, 1);
}

static void
closures_of_a_lost_link_are_called_once(void **state)
{
    (void)state;
    asks_play(is_lost);
}

/* --- interceptors ------------------------------------------------------- */

static unsigned n_finished;

static void
on_finish(struct vc_interception *call, const struct vc_interception_end *end,
          void **state, void *arg)
{
    (void)call;
    (void)state;
    (void)arg;
    assert_non_null(end->result);
    assert_int_equal(end->result->status, end->status);
    assert_string_equal(end->result->message, end->text);
    n_finished++;
}

static void
asks_watched(struct scene *s)
{
    struct vc_interceptor table = VC_INTERCEPTOR_INIT;
    struct ask a;

    n_finished = 0;
    table.finish = on_finish;
    assert_int_equal(vc_channel_intercept(s->channel, &table), VC_OK);
    asks_assert_good(asks_service);
    assert_int_equal(ask_of(&a, asks_service, "cid"), VC_NOT_FOUND);
    assert_int_equal(n_finished, 2);
}

static void
interceptors_see_the_results_of_its_calls(void **state)
{
    (void)state;
    asks_play(asks_watched);
}

/* --- creating a service ------------------------------------------------- */

static void
makes_bad_ones(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_result result = VC_RESULT_INIT;
    ProtobufCService *of;

    assert_int_equal(vc_channel_service(s->channel, NULL, NULL, asks_loop, &of),
                     VC_INVALID_ARGUMENT);
    opts.hedge_ms = 1;
    assert_int_equal(vc_channel_service(s->channel,
                                        &lookup__directory__descriptor, &opts,
                                        asks_loop, &of),
                     VC_INVALID_ARGUMENT);
    opts.hedge_ms = 0;
    opts.result = &result;
    assert_int_equal(vc_channel_service(s->channel,
                                        &lookup__directory__descriptor, &opts,
                                        asks_loop, &of),
                     VC_INVALID_ARGUMENT);
}

static void
options_that_are_for_one_call_only_are_refused(void **state)
{
    (void)state;
    asks_play(makes_bad_ones);
}

/* Each allocation fails in turn. The closure gets an error, or the call
 * succeeds. */
static void
starves(struct scene *s)
{
    enum vc_status status = VC_OK;
    struct ask a;

    asks_assert_good(asks_service);
    for (unsigned nth = 1; nth <= 12; nth++) {
        ProtobufCService *of = NULL;

        fake_fail_memory(fake_process_self(), nth);
        status = vc_channel_service(s->channel, &lookup__yellow__descriptor,
                                    NULL, asks_loop, &of);
        fake_fail_no_more();
        if (status == VC_OK)
            protobuf_c_service_destroy(of);
        else
            assert_int_equal(status, VC_RESOURCE_EXHAUSTED);
        a.then = NULL;
        fake_fail_memory(fake_process_self(), nth);
        ask_start(&a, asks_service, "ann");
        fake_fail_no_more();
        ask_await(&a);
        if (a.answer.status != VC_OK)
            assert_int_equal(a.answer.status, VC_RESOURCE_EXHAUSTED);
    }
    assert_int_equal(status, VC_OK);
    asks_assert_good(asks_service);
}

static void
without_memory_a_call_fails_and_the_next_does_not(void **state)
{
    (void)state;
    asks_play_once(starves, 1, false);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_of_many_closures_is_called_once),
        cmocka_unit_test(a_closure_may_call_and_wait),
        cmocka_unit_test(the_descriptor_tells_that_a_closure_waits),
        cmocka_unit_test(closures_hear_why_their_call_failed),
        cmocka_unit_test(a_call_that_cannot_be_started_fails_at_once),
        cmocka_unit_test(what_the_server_has_not_or_streams_is_unimplemented),
        cmocka_unit_test(closures_of_a_lost_link_are_called_once),
        cmocka_unit_test(interceptors_see_the_results_of_its_calls),
        cmocka_unit_test(options_that_are_for_one_call_only_are_refused),
        cmocka_unit_test(without_memory_a_call_fails_and_the_next_does_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
