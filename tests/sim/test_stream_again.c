/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams that fail before they begin: some wait for their server or are
 * retried, others are not. moved_streams.c has those that go to another
 * server. */
#include <string.h>

#include <verbcall/call.h>

#include "rpc/client/stream_again.h"
#include "rpc/client/stream_client.h"
#include "tests/sim/moved_streams.h"
#include "tests/sim/reactor.h"
#include "tests/sim/scene.h"

#define MS       UINT64_C(1000)
#define N_PARKED 8

static const struct vc_server_opts *server_opts; /* or NULL */

static void
play(void (*act)(struct scene *s))
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        memset(&reactor_served, 0, sizeof reactor_served);
        atomic_store(&reactor_served.last, -1);
        s.server.add = reactor_add;
        s.server.opts = server_opts;
        s.opts.connect_timeout_ms = 200;
        scene_run(&s, seed);
        assert_int_equal(atomic_load(&reactor_served.faults), 0);
        assert_int_equal(atomic_load(&reactor_served.began),
                         atomic_load(&reactor_served.ended));
    }
}

static void
must(enum vc_status status)
{
    if (status != VC_OK)
        fail_msg("%s: %s", vc_status_name(status), vc_error());
}

static void
finish(struct reactor *r, enum vc_status status, enum vc_outcome outcome,
       unsigned attempts)
{
    struct vc_result result = VC_RESULT_INIT;

    if (!reactor_await(r))
        fail_msg("it does not end, %u came: %s", r->came, fake_trace());
    if (r->status != status || (status != VC_OK && r->outcome != outcome))
        fail_msg("%s: %s", vc_status_name(r->status), r->text);
    if (reactor_fault(r) != NULL)
        fail_msg("%s", reactor_fault(r));
    must(vc_stream_result(r->stream, &result));
    if (attempts > 0)
        assert_int_equal(result.attempts, attempts);
    else
        assert_true(result.attempts > 1);
    vc_result_clear(&result);
    vc_stream_close(r->stream);
}

/* --- waiting --------------------------------------------------------------- */

static void
wait_act(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct reactor talk = {.to_send = 100}, up = {.to_send = 100},
                   down = {.came = 0};

    must(vc_runtime_start(s->runtime));
    opts.flags = VC_CALL_WAIT_FOR_READY;
    fake_port_set(s->server.host, false);
    must(reactor_start(&talk, s->channel, TALK, &opts, 0, 100));
    must(reactor_pump(&talk));
    must(reactor_start(&down, s->channel, DOWN, &opts, 10, 50000));
    must(reactor_start(&up, s->channel, UP, &opts, 0, 3000));
    must(reactor_pump(&up)); /* longer than a window */
    fake_sleep_us(2000 * MS);
    assert_int_equal(atomic_load(&talk.ends) + atomic_load(&up.ends) +
                         atomic_load(&down.ends),
                     0);
    fake_port_set(s->server.host, true);
    finish(&talk, VC_OK, 0, 0);
    finish(&up, VC_OK, 0, 0);
    finish(&down, VC_OK, 0, 0);
    assert_int_equal(talk.came, 100);
    assert_int_equal(down.came, 10);
    assert_int_equal(up.sum, 300000);
}

static void
a_stream_that_waits_for_its_server_has_all_that_was_sent(void **state)
{
    (void)state;
    server_opts = NULL;
    play(wait_act);
}

static void *
port_main(void *arg)
{
    struct scene *s = arg;

    fake_sleep_us(1500 * MS);
    fake_port_set(s->server.host, true);
    return NULL;
}

/* Only the thread that waits advances the runtime. */
static void
block_act(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    static uint8_t bytes[50000];
    Suite__EchoReply *reply;
    struct vc_stream *stream;
    pthread_t thread;

    opts.flags = VC_CALL_WAIT_FOR_READY;
    request.payload.data = bytes;
    fake_port_set(s->server.host, false);
    pthread_create(&thread, NULL, port_main, s);
    must(vc_stream_open(s->channel, &reactor_service, TALK, NULL, &opts,
                        &stream));
    for (unsigned i = 0; i < 10; i++) {
        request.tag = i;
        request.payload.len = i < 9 ? i : sizeof bytes;
        must(vc_stream_send(stream, &request)); /* the last one waits */
    }
    for (unsigned i = 0; i < 10; i++) {
        must(vc_stream_receive(stream, (void **)&reply));
        assert_non_null(reply);
        assert_int_equal(reply->tag, i);
        vc_message_free(reply);
    }
    must(vc_stream_finish(stream, NULL));
    vc_stream_close(stream);
    pthread_join(thread, NULL);
}

static void
one_that_blocks_waits_for_its_server_too(void **state)
{
    (void)state;
    server_opts = NULL;
    play(block_act);
}

static void
late_act(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct reactor r = {.to_send = 10};
    uint64_t began = fake_now_us();
    struct vc_stream *stream;
    void *message;

    opts.flags = VC_CALL_WAIT_FOR_READY;
    opts.timeout_ms = 1000;
    fake_port_set(s->server.host, false);
    must(vc_stream_open(s->channel, &reactor_service, TALK, NULL, &opts,
                        &stream));
    assert_int_equal(vc_stream_receive(stream, &message), VC_DEADLINE_EXCEEDED);
    assert_int_equal(vc_error_outcome(), VC_OUTCOME_NOT_EXECUTED);
    assert_in_range(fake_now_us() - began, 1000 * MS, 1100 * MS);
    vc_stream_close(stream);
    must(vc_runtime_start(s->runtime));
    began = fake_now_us();
    must(reactor_start(&r, s->channel, TALK, &opts, 0, 100));
    reactor_pump(&r);
    finish(&r, VC_DEADLINE_EXCEEDED, VC_OUTCOME_NOT_EXECUTED, 0);
    assert_in_range(fake_now_us() - began, 1000 * MS, 1100 * MS);
    fake_port_set(s->server.host, true);
}

static void
its_deadline_ends_the_waiting(void **state)
{
    (void)state;
    server_opts = NULL;
    play(late_act);
}

static void
ended_act(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_stream *stream, *left;
    struct vc_channel *channel;
    struct reactor r = {.to_send = 10}, c = {.to_send = 10};
    void *message;

    opts.flags = VC_CALL_WAIT_FOR_READY;
    opts.timeout_ms = VC_NO_DEADLINE;
    fake_port_set(s->server.host, false);
    must(vc_channel_open(s->runtime, s->server.target, &s->opts, &channel));
    must(vc_stream_open(channel, &reactor_service, TALK, NULL, &opts, &stream));
    must(vc_stream_open(channel, &reactor_service, TALK, NULL, &opts, &left));
    must(reactor_start(&r, channel, TALK, &opts, 0, 100));
    must(reactor_start(&c, channel, DOWN, &opts, 1, 100));
    must(reactor_pump(&r));
    for (unsigned i = 0; i < 20; i++) { /* between two attempts */
        sim_echo(s->channel, 10, 5, 37, NULL);
        fake_sleep_us(11 * MS);
    }
    vc_stream_close(left);
    vc_stream_cancel(c.stream);
    vc_channel_close(channel);
    assert_int_equal(vc_stream_receive(stream, &message), VC_CANCELLED);
    assert_int_equal(vc_error_outcome(), VC_OUTCOME_NOT_EXECUTED);
    vc_stream_close(stream);
    finish(&r, VC_CANCELLED, VC_OUTCOME_NOT_EXECUTED, 0);
    finish(&c, VC_CANCELLED, VC_OUTCOME_NOT_EXECUTED, 0);
    fake_port_set(s->server.host, true);
}

static void
a_cancel_or_the_end_of_the_channel_ends_it_as_well(void **state)
{
    (void)state;
    server_opts = NULL;
    play(ended_act);
}

static void
parked_act(struct scene *s)
{
    struct reactor streams[N_PARKED] = {{.came = 0}};
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    must(vc_runtime_start(s->runtime));
    opts.flags = VC_CALL_WAIT_FOR_READY;
    opts.timeout_ms = VC_NO_DEADLINE;
    fake_port_set(s->server.host, false);
    for (unsigned i = 0; i < N_PARKED; i++) {
        streams[i].to_send = 10;
        must(reactor_start(&streams[i], s->channel, TALK, &opts, 0, 100));
        fake_sleep_us(37 * MS);
    }
    fake_sleep_us(1000 * MS);
    for (unsigned i = 0; i < N_PARKED; i++) {
        must(reactor_pump(&streams[i]));
        vc_stream_cancel(streams[i].stream);
    }
    for (unsigned i = 0; i < N_PARKED; i++)
        finish(&streams[i], VC_CANCELLED, VC_OUTCOME_NOT_EXECUTED, 0);
    fake_port_set(s->server.host, true);
}

struct breaker {
    struct vc__timer timer;
    struct vc__client_stream *stream;
};

static void
breaker_fire(struct vc__timer *timer)
{
    struct vc__retry_wait *wait =
        &caa_container_of(timer, struct breaker, timer)->stream->between;

    wait->broken(wait);
}

/* The channel is closed on another thread just before the next attempt is due:
 * when the holder has run its tasks, and not yet its timers. Both end the wait,
 * and each has a reference to the stream. */
static void
closed_at_its_end_act(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc__engine *engine;
    struct breaker b = {.stream = NULL};
    struct vc_stream *stream;
    void *message;

    opts.flags = VC_CALL_WAIT_FOR_READY;
    opts.timeout_ms = VC_NO_DEADLINE;
    fake_port_set(s->server.host, false);
    must(vc_stream_open(s->channel, &reactor_service, TALK, NULL, &opts,
                        &stream));
    b.stream = vc__client_stream_of(stream);
    engine = stream->engine;
    while (!vc__timer_running(&b.stream->rested))
        assert_int_equal(vc_runtime_poll(s->runtime, 5000), VC_OK);
    assert_true(vc__timer_start(&engine->timers, &b.timer,
                                b.stream->rest_until - 1, breaker_fire));
    fake_sleep_us(b.stream->rest_until - vc__now() + 1);
    assert_int_equal(vc_stream_receive(stream, &message), VC_CANCELLED);
    assert_int_equal(vc_error_outcome(), VC_OUTCOME_NOT_EXECUTED);
    assert_int_equal(1, atomic_load(&stream->holders));
    vc_stream_close(stream);
    fake_port_set(s->server.host, true);
}

static void
one_that_is_closed_when_its_wait_ends_is_freed_once(void **state)
{
    (void)state;
    server_opts = NULL;
    play(closed_at_its_end_act);
}

/* Some of the streams are between two attempts at this moment. */
static void
what_was_sent_between_attempts_is_freed_with_its_stream(void **state)
{
    (void)state;
    server_opts = NULL;
    play(parked_act);
}

/* --- attempts -------------------------------------------------------------- */

static void
attempts_act(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct reactor some = {.to_send = 10}, one = {.to_send = 10};

    must(vc_runtime_start(s->runtime));
    fake_port_set(s->server.host, false);
    must(reactor_start(&some, s->channel, TALK, NULL, 0, 100));
    reactor_pump(&some);
    finish(&some, VC_UNAVAILABLE, VC_OUTCOME_NOT_EXECUTED, 3);
    opts.flags = VC_CALL_NO_RETRY;
    must(reactor_start(&one, s->channel, TALK, &opts, 0, 100));
    reactor_pump(&one);
    finish(&one, VC_UNAVAILABLE, VC_OUTCOME_NOT_EXECUTED, 1);
    fake_port_set(s->server.host, true);
}

static void
without_a_server_it_is_tried_as_often_as_a_call(void **state)
{
    (void)state;
    server_opts = NULL;
    play(attempts_act);
}

static void
refused_act(struct scene *s)
{
    struct reactor first = {.to_send = 1, .keeps_open = true};
    struct reactor down = {.came = 0}, talk = {.to_send = 1};

    must(vc_runtime_start(s->runtime));
    must(reactor_start(&first, s->channel, TALK, NULL, 0, 100));
    must(reactor_pump(&first));
    assert_true(reactor_await_word(&reactor_served.messages, 1));
    must(reactor_start(&down, s->channel, DOWN, NULL, 10, 100));
    must(reactor_start(&talk, s->channel, TALK, NULL, 0, 100));
    reactor_pump(&talk);
    /* The client no longer has its messages, so it is not retried. */
    finish(&talk, VC_RESOURCE_EXHAUSTED, VC_OUTCOME_NOT_EXECUTED, 1);
    assert_int_equal(atomic_load(&down.ends), 0);
    must(vc_stream_half_close(first.stream));
    finish(&first, VC_OK, 0, 1);
    finish(&down, VC_OK, 0, 0);
    assert_int_equal(down.came, 10);
}

static void
one_that_was_refused_is_tried_again_if_its_request_is_at_hand(void **state)
{
    static struct vc_server_opts opts = VC_SERVER_OPTS_INIT;

    (void)state;
    opts.max_calls = 1;
    server_opts = &opts;
    play(refused_act);
}

/* At its deadline, or a microsecond later, the stream has waited for its server
 * to the end. */
static void
one_that_fails_at_its_deadline_has_waited_for_its_server(void **state)
{
    static struct vc_channel channel; /* its options allow no retries */
    static struct vc__client_stream c = {
        .channel = &channel,
        .stream.service = "suite.Streams",
    };
    struct vc__error error;

    (void)state;
    c.type = &suite_streams_service.methods[TALK];
    sim_begin(1, 0, false);
    for (unsigned after = 0; after < 2; after++) {
        c.attempts.flags = VC_CALL_WAIT_FOR_READY;
        c.attempts.ms = 70;
        c.attempts.due = vc__now() - after;
        vc__error_put(&error, VC_UNAVAILABLE, "nobody");
        error.outcome = VC_OUTCOME_NOT_EXECUTED;
        assert_false(vc__client_stream_again(&c, &error));
        assert_int_equal(error.status, VC_DEADLINE_EXCEEDED);
        assert_string_equal(
            error.text, "suite.Streams.Talk: no server within 70 ms: nobody");
        assert_int_equal(error.outcome, VC_OUTCOME_NOT_EXECUTED);
    }
    assert_int_equal(fake_end(), 0);
}

/* A server that has sent a message and then says that nothing was executed is
 * wrong. */
static void
one_that_has_a_message_is_not_tried_again(void **state)
{
    static struct vc__client_stream c;
    struct vc__error error;

    (void)state;
    c.type = &suite_streams_service.methods[TALK];
    c.attempts.flags = VC_CALL_WAIT_FOR_READY;
    c.came = true;
    vc__error_put(&error, VC_UNAVAILABLE, "not now");
    error.outcome = VC_OUTCOME_NOT_EXECUTED;
    assert_false(vc__client_stream_again(&c, &error));
    assert_int_equal(error.status, VC_UNAVAILABLE); /* not that it is late */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_stream_that_waits_for_its_server_has_all_that_was_sent),
        cmocka_unit_test(one_that_blocks_waits_for_its_server_too),
        cmocka_unit_test(its_deadline_ends_the_waiting),
        cmocka_unit_test(a_cancel_or_the_end_of_the_channel_ends_it_as_well),
        cmocka_unit_test(one_that_is_closed_when_its_wait_ends_is_freed_once),
        cmocka_unit_test(
            what_was_sent_between_attempts_is_freed_with_its_stream),
        cmocka_unit_test(without_a_server_it_is_tried_as_often_as_a_call),
        cmocka_unit_test(
            one_that_was_refused_is_tried_again_if_its_request_is_at_hand),
        cmocka_unit_test(
            one_that_fails_at_its_deadline_has_waited_for_its_server),
        cmocka_unit_test(one_that_has_a_message_is_not_tried_again),
        cmocka_unit_test(streams_that_were_not_sent_go_to_another_server),
        cmocka_unit_test(one_that_may_not_be_retried_does_not),
        cmocka_unit_test(a_move_is_no_attempt_of_the_policys),
        cmocka_unit_test(streams_that_were_refused_go_to_another_server),
        cmocka_unit_test(one_whose_messages_are_gone_ends_where_it_was_refused),
        cmocka_unit_test(
            a_first_message_waits_for_the_link_of_the_other_server),
        cmocka_unit_test(
            the_former_server_takes_no_message_of_one_that_has_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
