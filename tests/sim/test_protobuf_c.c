/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Clients that have a ProtobufCService for their channel: each closure is
 * called once, whatever becomes of its call. Most is played twice: closures
 * run in vc_closures_run(), or on a thread of the library. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/scene.h"
#include "tests/suite/directory.h"

#define MS       UINT64_C(1000)
#define PATIENCE (10000 * MS)
#define MANY     1000u
#define SEEDS    3u
#define SLOW_US  (30 * MS)

/* The client's, of the world that runs. */
static struct vc_closures *loop; /* or NULL */
static ProtobufCService *service;

/* --- the server --------------------------------------------------------- */

static enum vc_status
by_name(struct vc_call *call, const Lookup__Name *name, Lookup__Entry *reply,
        void *arg)
{
    struct sim_server *s = arg;
    Lookup__Name ann = directory_name("ann", 0);

    if (strcmp(name->text, "slow") != 0)
        return directory_own.by_name(call, name, reply, NULL);
    fake_sleep_us(s->sleep_us);
    return directory_own.by_name(call, &ann, reply, NULL);
}

static enum vc_status
serve(struct vc_server *server, struct sim_server *s)
{
    const struct lookup_directory_methods methods = {
        .by_name = by_name, .by_number = directory_own.by_number};

    s->sleep_us = SLOW_US;
    return lookup_directory_add(server, &methods, s);
}

/* --- calls -------------------------------------------------------------- */

struct ask {
    struct directory_answer answer;
    atomic_uint done;
    void (*then)(struct ask *a); /* in the closure; or NULL */
};

static void
on_entry(const Lookup__Entry *entry, void *data)
{
    struct ask *a = data;

    directory_told(entry, &a->answer);
    if (a->then != NULL)
        a->then(a);
    sim_tell(&a->done);
}

static void
ask_start(struct ask *a, ProtobufCService *of, const char *text)
{
    Lookup__Name name = directory_name(text, 0);
    char copy[16];

    memset(&a->answer, 0, sizeof a->answer);
    atomic_store(&a->done, 0);
    snprintf(copy, sizeof copy, "%s", text);
    name.text = copy;
    lookup__directory__by_name(of, &name, on_entry, a);
    memset(copy, 0xff, sizeof copy);
}

static void
ask_await(struct ask *a)
{
    while (loop != NULL && atomic_load(&a->done) == 0)
        assert_int_equal(vc_closures_run(loop, VC_NO_DEADLINE), VC_OK);
    if (!sim_await(&a->done, PATIENCE))
        fail_msg("its closure is not called: %s", fake_trace());
    assert_int_equal(a->answer.calls, 1);
}

static enum vc_status
ask_of(struct ask *a, ProtobufCService *of, const char *text)
{
    a->then = NULL;
    ask_start(a, of, text);
    ask_await(a);
    return a->answer.status;
}

static void
assert_good(ProtobufCService *of)
{
    struct ask a;

    assert_int_equal(ask_of(&a, of, "ann"), VC_OK);
    assert_string_equal(a.answer.text, DIRECTORY_ANN);
}

/* No closure is called any more. */
static void
assert_calm(void)
{
    if (loop != NULL)
        assert_int_equal(vc_closures_run(loop, 100), VC_DEADLINE_EXCEEDED);
    else
        fake_sleep_us(100 * MS);
}

/* --- playing ------------------------------------------------------------ */

static void (*act)(struct scene *s);
static bool threads;

static ProtobufCService *
service_new(struct scene *s, const struct vc_call_opts *opts)
{
    ProtobufCService *made;

    if (vc_channel_service(s->channel, &lookup__directory__descriptor, opts,
                           loop, &made) != VC_OK)
        fail_msg("%s", vc_error());
    return made;
}

static void
service_drop(void)
{
    protobuf_c_service_destroy(service);
    service = NULL;
}

static void
act_with_service(struct scene *s)
{
    loop = NULL;
    if (threads)
        assert_int_equal(vc_runtime_start(s->runtime, 1), VC_OK);
    else
        assert_int_equal(vc_closures_new(s->runtime, &loop), VC_OK);
    service = service_new(s, NULL);
    act(s);
    if (service != NULL)
        service_drop();
    vc_closures_free(loop);
}

static void
play_once(uint64_t seed, bool with_threads)
{
    struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act_with_service};

    threads = with_threads;
    s.server.add = serve;
    scene_run(&s, seed);
}

static void
play(void (*what)(struct scene *s))
{
    act = what;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play_once(seed, false);
        play_once(seed, true);
    }
}

/* --- as it should be ---------------------------------------------------- */

static void
asks_many(struct scene *s)
{
    static struct ask asks[MANY];

    (void)s;
    assert_good(service);
    for (unsigned i = 0; i < MANY; i++)
        ask_start(&asks[i], service, i % 3 == 0 ? "cid" : "ann");
    for (unsigned i = 0; i < MANY; i++) {
        ask_await(&asks[i]);
        assert_int_equal(asks[i].answer.status,
                         i % 3 == 0 ? VC_NOT_FOUND : VC_OK);
    }
    assert_calm();
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(asks[i].answer.calls, 1);
}

static void
each_of_many_closures_is_called_once(void **state)
{
    (void)state;
    play(asks_many);
}

static void
then_ask(struct ask *a)
{
    (void)a;
    assert_good(service);
}

static void
asks_in_a_closure(struct scene *s)
{
    struct ask a = {.then = then_ask};

    (void)s;
    ask_start(&a, service, "ann");
    ask_await(&a);
}

static void
a_closure_may_call_and_wait(void **state)
{
    (void)state;
    play(asks_in_a_closure);
}

static void
polls(struct scene *s)
{
    struct pollfd p = {.events = POLLIN};
    struct ask a = {.then = NULL};

    assert_int_equal(vc_runtime_start(s->runtime, 1), VC_OK);
    p.fd = vc_closures_fd(loop);
    assert_int_equal(poll(&p, 1, 0), 0);
    ask_start(&a, service, "ann");
    assert_int_equal(poll(&p, 1, 10000), 1);
    assert_int_equal(a.answer.calls, 0);
    assert_int_equal(vc_closures_run(loop, 0), VC_OK);
    assert_int_equal(a.answer.calls, 1);
    assert_int_equal(poll(&p, 1, 0), 0);
}

static void
the_descriptor_tells_that_a_closure_waits(void **state)
{
    (void)state;
    act = polls;
    play_once(1, false);
}

/* --- failures ----------------------------------------------------------- */

static void
hears_why(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    ProtobufCService *hasty;
    struct ask a;

    assert_int_equal(ask_of(&a, service, "cid"), VC_NOT_FOUND);
    assert_string_equal(a.answer.text, "there is no cid");
    assert_int_equal(a.answer.outcome, VC_OUTCOME_EXECUTED);

    opts.timeout_ms = 5;
    hasty = service_new(s, &opts);
    assert_int_equal(ask_of(&a, hasty, "slow"), VC_DEADLINE_EXCEEDED);
    assert_int_equal(a.answer.outcome, VC_OUTCOME_UNKNOWN);
    protobuf_c_service_destroy(hasty);
}

static void
closures_hear_why_their_call_failed(void **state)
{
    (void)state;
    play(hears_why);
}

static void
calls_what_cannot_be(struct scene *s)
{
    Lookup__Phone unset = LOOKUP__PHONE__INIT;
    Lookup__Name name = directory_name("ann", 0);
    struct ask a = {.then = NULL};

    (void)s;
    unset.number = NULL;
    lookup__directory__by_number(service, &unset, on_entry, &a);
    assert_int_equal(a.answer.calls, 1); /* at once */
    assert_int_equal(a.answer.status, VC_INVALID_ARGUMENT);

    service->invoke(service, 4, &name.base, (ProtobufCClosure)on_entry, &a);
    assert_int_equal(a.answer.calls, 2);
    assert_int_equal(a.answer.status, VC_INVALID_ARGUMENT);
    assert_string_equal(
        a.answer.text,
        "service lookup.Directory has 4 methods, and none is number 4");
    assert_good(service);
    assert_calm();
}

static void
a_call_that_cannot_be_started_fails_at_once(void **state)
{
    (void)state;
    play(calls_what_cannot_be);
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
    assert_int_equal(vc_channel_service(s->channel, &newer, NULL, loop, &of),
                     VC_OK);
    of->invoke(of, 4, &name.base, (ProtobufCClosure)on_entry, &a);
    ask_await(&a);
    assert_int_equal(a.answer.status, VC_UNIMPLEMENTED);
    assert_string_equal(a.answer.text,
                        "the server's service has no such method");
    protobuf_c_service_destroy(of);

    memset(&a, 0, sizeof a);
    assert_int_equal(vc_channel_service(s->channel, &lookup__yellow__descriptor,
                                        NULL, loop, &of),
                     VC_OK);
    lookup__yellow__zoo(of, &name, on_entry, &a);
    ask_await(&a);
    assert_int_equal(a.answer.status, VC_UNIMPLEMENTED);
    protobuf_c_service_destroy(of);

    memset(&a, 0, sizeof a);
    lookup__directory__everyone(service, &name, on_entry, &a);
    ask_await(&a);
    assert_int_equal(a.answer.status, VC_UNIMPLEMENTED);
    assert_string_equal(
        a.answer.text,
        "the server has a method of this name that streams otherwise");
    assert_good(service);
}

static void
what_the_server_has_not_or_streams_is_unimplemented(void **state)
{
    (void)state;
    play(calls_what_is_not_served);
}

#define N_LOST 12u

static void
is_lost(struct scene *s)
{
    static struct ask asks[N_LOST];

    assert_good(service);
    memset(asks, 0, sizeof asks);
    for (unsigned i = 0; i < N_LOST; i++)
        ask_start(&asks[i], service, "slow");
    if (loop != NULL)
        assert_int_equal(vc_closures_run(loop, 10), VC_DEADLINE_EXCEEDED);
    else
        fake_sleep_us(10 * MS);
    fake_process_kill(s->server.process);
    for (unsigned i = 0; i < N_LOST; i++) {
        ask_await(&asks[i]);
        assert_int_equal(asks[i].answer.status, VC_UNAVAILABLE);
    }
    assert_calm();
    for (unsigned i = 0; i < N_LOST; i++)
        assert_int_equal(asks[i].answer.calls, 1);
}

static void
closures_of_a_lost_link_are_called_once(void **state)
{
    (void)state;
    play(is_lost);
}

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
        ask_start(&under_way[i], service, "slow");
    }
}

static void
destroys_at_work(struct scene *s)
{
    for (unsigned wait = 0; wait < 3; wait++) {
        start_slow(NULL);
        if (wait > 0)
            fake_sleep_us(wait * 8 * MS);
        service_drop();
        for (unsigned i = 0; i < N_UNDER_WAY; i++)
            assert_cancelled(&under_way[i]);
        service = service_new(s, NULL);
    }
    assert_calm();
    for (unsigned i = 0; i < N_UNDER_WAY; i++)
        assert_int_equal(under_way[i].answer.calls, 1);
    assert_int_equal(scene_client(s).calls_given_up, 3 * N_UNDER_WAY);
    assert_good(service);
}

static void
destroying_a_service_calls_its_closures_and_then_none(void **state)
{
    (void)state;
    play(destroys_at_work);
}

static struct ask in_vain;

static void
then_ask_again(struct ask *a)
{
    (void)a;
    in_vain.then = NULL;
    ask_start(&in_vain, service, "ann");
}

static void
destroys_and_is_asked(struct scene *s)
{
    (void)s;
    start_slow(then_ask_again);
    service_drop();
    for (unsigned i = 0; i < N_UNDER_WAY; i++)
        assert_cancelled(&under_way[i]);
    assert_int_equal(in_vain.answer.status, VC_CANCELLED);
    assert_int_equal(in_vain.answer.calls, 1);
}

static void
no_call_is_started_while_a_service_is_destroyed(void **state)
{
    (void)state;
    play(destroys_and_is_asked);
}

static void
then_destroy(struct ask *a)
{
    (void)a;
    service_drop();
    for (unsigned i = 0; i < N_UNDER_WAY; i++)
        assert_cancelled(&under_way[i]);
}

static void
destroys_in_a_closure(struct scene *s)
{
    struct ask a = {.then = then_destroy};

    (void)s;
    assert_good(service);
    start_slow(NULL);
    ask_start(&a, service, "cid");
    ask_await(&a);
    assert_int_equal(a.answer.status, VC_NOT_FOUND);
    assert_calm();
}

static void
a_closure_may_destroy_its_service(void **state)
{
    (void)state;
    play(destroys_in_a_closure);
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
    ask_start(&a, service, "ann");
    assert_true(sim_await(&sleeps, PATIENCE));
    service_drop();
    assert_int_equal(atomic_load(&slept), 1);
    assert_int_equal(a.answer.status, VC_OK);
    assert_true(sim_await(&a.done, PATIENCE));
}

static void
destroying_waits_for_closures_on_other_threads(void **state)
{
    (void)state;
    act = destroys_under_a_closure;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        play_once(seed, true);
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
    assert_calm();
}

static void
closing_the_channel_ends_the_calls_of_its_services(void **state)
{
    (void)state;
    play(closes_the_channel);
}

/* Its ends come into the queue when nobody asks for them any more. */
static void
destroys_all(struct scene *s)
{
    start_slow(NULL);
    service_drop();
    if (s->channel != NULL && threads)
        vc_channel_close(s->channel);
    if (threads)
        s->channel = NULL;
}

static void
closures_may_be_freed_before_the_ends_of_calls_have_come(void **state)
{
    (void)state;
    play(destroys_all);
}

/* --- making one --------------------------------------------------------- */

static void
makes_bad_ones(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_result result = VC_RESULT_INIT;
    ProtobufCService *of;

    assert_int_equal(vc_channel_service(s->channel, NULL, NULL, loop, &of),
                     VC_INVALID_ARGUMENT);
    opts.hedge_ms = 1;
    assert_int_equal(vc_channel_service(s->channel,
                                        &lookup__directory__descriptor, &opts,
                                        loop, &of),
                     VC_INVALID_ARGUMENT);
    opts.hedge_ms = 0;
    opts.result = &result;
    assert_int_equal(vc_channel_service(s->channel,
                                        &lookup__directory__descriptor, &opts,
                                        loop, &of),
                     VC_INVALID_ARGUMENT);
}

static void
options_that_are_for_one_call_only_are_refused(void **state)
{
    (void)state;
    play(makes_bad_ones);
}

/* Everything that allocates fails in turn: the closure is told, or all is
 * well. */
static void
starves(struct scene *s)
{
    enum vc_status status = VC_OK;
    struct ask a;

    assert_good(service);
    for (unsigned nth = 1; nth <= 12; nth++) {
        ProtobufCService *of = NULL;

        fake_fail_memory(fake_process_self(), nth);
        status = vc_channel_service(s->channel, &lookup__yellow__descriptor,
                                    NULL, loop, &of);
        fake_fail_no_more();
        if (status == VC_OK)
            protobuf_c_service_destroy(of);
        else
            assert_int_equal(status, VC_RESOURCE_EXHAUSTED);
        a.then = NULL;
        fake_fail_memory(fake_process_self(), nth);
        ask_start(&a, service, "ann");
        fake_fail_no_more();
        ask_await(&a);
        if (a.answer.status != VC_OK)
            assert_int_equal(a.answer.status, VC_RESOURCE_EXHAUSTED);
    }
    assert_int_equal(status, VC_OK);
    assert_good(service);
}

static void
without_memory_a_call_fails_and_the_next_does_not(void **state)
{
    (void)state;
    act = starves;
    play_once(1, false);
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
        cmocka_unit_test(destroying_a_service_calls_its_closures_and_then_none),
        cmocka_unit_test(no_call_is_started_while_a_service_is_destroyed),
        cmocka_unit_test(a_closure_may_destroy_its_service),
        cmocka_unit_test(destroying_waits_for_closures_on_other_threads),
        cmocka_unit_test(closing_the_channel_ends_the_calls_of_its_services),
        cmocka_unit_test(
            closures_may_be_freed_before_the_ends_of_calls_have_come),
        cmocka_unit_test(options_that_are_for_one_call_only_are_refused),
        cmocka_unit_test(without_memory_a_call_fails_and_the_next_does_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
