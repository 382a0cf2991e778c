/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams by callbacks on the simulated device: the callbacks, their order, and
 * the ways in which streams end. */
#include <string.h>

#include "tests/sim/reactor.h"
#include "tests/sim/scene.h"

#define MESSAGES 300u
#define LONG     100000u /* bytes: several packets, more than a window */

static void
play(void (*act)(struct scene *s))
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        memset(&reactor_served, 0, sizeof reactor_served);
        atomic_store(&reactor_served.last, -1);
        s.server.add = reactor_add;
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
begin(struct scene *s, struct reactor *r, unsigned method, uint32_t count,
      size_t size)
{
    must(reactor_start(r, s->channel, method, NULL, count, size));
}

/* Waits for the stream's end, and closes it. */
static void
finish(struct reactor *r, enum vc_status status)
{
    if (!reactor_await(r))
        fail_msg("it does not end, %u came: %s", r->came, fake_trace());
    if (r->status != status)
        fail_msg("%s: %s", vc_status_name(r->status), r->text);
    if (reactor_fault(r) != NULL)
        fail_msg("%s", reactor_fault(r));
    vc_stream_close(r->stream);
}

static void
runtime_start(struct scene *s)
{
    must(vc_runtime_start(s->runtime));
}

/* --- messages -------------------------------------------------------------- */

static void
talk(struct scene *s, unsigned n, size_t size)
{
    struct reactor r = {.to_send = n};

    begin(s, &r, TALK, 0, size);
    must(reactor_pump(&r));
    finish(&r, VC_OK);
    assert_int_equal(r.came, n);
    assert_true(r.writable <= r.full);
    if (n * size > 200000)
        assert_true(r.full > 0);
}

static void
talk_act(struct scene *s)
{
    runtime_start(s);
    talk(s, MESSAGES, 0);
    talk(s, MESSAGES, 1000);
    talk(s, 20, LONG);
}

static void
both_ends_talk_messages_of_any_size_and_in_order(void **state)
{
    (void)state;
    play(talk_act);
}

static void
down_act(struct scene *s)
{
    struct reactor r = {.came = 0}, l = {.came = 0}, none = {.came = 0};

    runtime_start(s);
    begin(s, &r, DOWN, MESSAGES, 1000);
    begin(s, &l, DOWN, 20, LONG);
    begin(s, &none, DOWN, 0, 0);
    finish(&none, VC_OK);
    finish(&r, VC_OK);
    finish(&l, VC_OK);
    assert_int_equal(r.came, MESSAGES);
    assert_int_equal(l.came, 20);
}

static void
a_server_pours_down_more_than_a_window(void **state)
{
    (void)state;
    play(down_act);
}

static void
up_act(struct scene *s)
{
    struct reactor r = {.to_send = MESSAGES}, l = {.to_send = 20};

    runtime_start(s);
    begin(s, &r, UP, 0, 1000);
    begin(s, &l, UP, 0, LONG);
    must(reactor_pump(&r));
    must(reactor_pump(&l));
    finish(&r, VC_OK);
    finish(&l, VC_OK);
    assert_int_equal(r.came, 1);
    assert_int_equal(r.sum, MESSAGES * 1000u);
    assert_int_equal(l.sum, 20u * LONG);
}

static void
the_reply_of_a_client_that_streams_is_a_message(void **state)
{
    (void)state;
    play(up_act);
}

static void
blocking_talk(struct scene *s)
{
    struct vc_stream *stream;
    void *none;

    must(vc_stream_open(s->channel, &reactor_service, TALK, NULL, NULL,
                        &stream));
    for (unsigned i = 0; i < 20; i++) {
        static uint8_t bytes[LONG];
        Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
        Suite__EchoReply *reply;

        request.tag = i;
        request.payload.data = bytes;
        request.payload.len = i % 2 ? LONG : 10;
        must(vc_stream_send(stream, &request));
        must(vc_stream_receive(stream, (void **)&reply));
        assert_non_null(reply);
        assert_int_equal(reply->payload.len, request.payload.len);
        vc_message_free(reply);
    }
    must(vc_stream_half_close(stream));
    must(vc_stream_receive(stream, &none));
    assert_null(none);
    must(vc_stream_finish(stream, NULL));
    vc_stream_close(stream);
}

static void
mixed_act(struct scene *s)
{
    struct reactor r = {.to_send = MESSAGES};

    blocking_talk(s);
    runtime_start(s);
    blocking_talk(s);
    begin(s, &r, WAIT, 0, 1000);
    must(reactor_pump(&r));
    finish(&r, VC_OK);
    assert_int_equal(r.came, MESSAGES);
}

static void
either_end_may_wait_while_the_other_has_callbacks(void **state)
{
    (void)state;
    play(mixed_act);
}

/* --- ends ------------------------------------------------------------------ */

static void
ends_act(struct scene *s)
{
    struct reactor f = {.to_send = 10, .mark = REACTOR_FAIL};
    struct reactor l = {
        .to_send = 10, .mark = REACTOR_LATER, .keeps_open = true};

    runtime_start(s);
    begin(s, &f, TALK, 0, 10);
    must(reactor_pump(&f));
    finish(&f, VC_NOT_FOUND);
    assert_int_equal(f.came, 9); /* messages before the end are not lost */
    assert_string_equal(f.text, "as asked for");
    assert_int_equal(f.outcome, VC_OUTCOME_EXECUTED);
    begin(s, &l, TALK, 0, 10);
    must(reactor_pump(&l));
    finish(&l, VC_OK);
    assert_int_equal(l.came, 9);
}

static void
a_handler_ends_it_in_a_callback_or_on_another_thread(void **state)
{
    (void)state;
    play(ends_act);
}

static void
cancel(struct reactor *r)
{
    vc_stream_cancel(r->stream);
}

static void
close_it(struct reactor *r)
{
    vc_stream_close(r->stream);
}

static void
cancel_in(struct scene *s, struct reactor r, unsigned method, size_t size,
          enum vc_status status, bool closes)
{
    begin(s, &r, method, 50, size);
    /* The stream may have ended already. */
    if (reactor_pump(&r) != VC_OK)
        assert_int_not_equal(vc_error_outcome(), VC_OUTCOME_NOT_EXECUTED);
    if (closes) {
        assert_true(reactor_await(&r));
        assert_int_equal(r.status, status);
        assert_null(reactor_fault(&r));
    } else {
        finish(&r, status);
    }
    scene_call(s, 10, 5);
}

static void
cancel_act(struct scene *s)
{
    const struct reactor message = {.at_message = cancel},
                         closing = {.at_message = close_it},
                         writable = {.at_writable = cancel, .to_send = 50},
                         shut = {.at_writable = close_it, .to_send = 50},
                         end = {.at_end = cancel}, last = {.at_end = close_it};

    runtime_start(s);
    for (size_t size = 100; size <= LONG; size += LONG - 100) {
        cancel_in(s, message, DOWN, size, VC_CANCELLED, false);
        cancel_in(s, closing, DOWN, size, VC_CANCELLED, true);
        cancel_in(s, end, DOWN, size, VC_OK, false);
        cancel_in(s, last, DOWN, size, VC_OK, true);
    }
    cancel_in(s, writable, TALK, LONG, VC_CANCELLED, false);
    cancel_in(s, shut, TALK, LONG, VC_CANCELLED, true);
    reactor_await_word(&reactor_served.ended, 10);
    assert_true(atomic_load(&reactor_served.cancels) > 0);
}

static void
it_may_be_cancelled_and_closed_in_each_callback(void **state)
{
    (void)state;
    play(cancel_act);
}

static void
deadline_act(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct reactor r = {.to_send = 10, .keeps_open = true};
    uint64_t began = fake_now_us();

    runtime_start(s);
    opts.timeout_ms = 50;
    must(reactor_start(&r, s->channel, TALK, &opts, 0, 10));
    must(reactor_pump(&r));
    finish(&r, VC_DEADLINE_EXCEEDED);
    assert_int_equal(r.came, 10);
    assert_in_range(fake_now_us() - began, 50000, 60000);
    assert_true(reactor_await_word(&reactor_served.ended, 1));
    assert_int_equal(atomic_load(&reactor_served.cancels), 1);
}

static void
a_deadline_ends_both_ends_without_a_thread_that_waits(void **state)
{
    (void)state;
    play(deadline_act);
}

static void
lost_act(struct scene *s)
{
    struct reactor r = {.to_send = 10, .keeps_open = true};

    runtime_start(s);
    begin(s, &r, TALK, 0, 10);
    must(reactor_pump(&r));
    while (atomic_load(&reactor_served.messages) < 10)
        fake_sleep_us(100);
    fake_port_set(s->server.host, false);
    finish(&r, VC_UNAVAILABLE);
    assert_int_equal(r.outcome, VC_OUTCOME_UNKNOWN);
    fake_port_set(s->server.host, true);
    scene_call(s, 10, 5);
    assert_true(reactor_await_word(&reactor_served.ended, 1));
    assert_int_equal(atomic_load(&reactor_served.last), VC_CANCELLED);
}

static void
a_lost_link_ends_both_ends(void **state)
{
    (void)state;
    play(lost_act);
}

static void
nowhere_act(struct scene *s)
{
    struct reactor r = {.to_send = 1000};
    struct vc_channel *nowhere;

    runtime_start(s);
    must(vc_channel_open(s->runtime, "rdma://10.9.0.2:1", NULL, &nowhere));
    must(reactor_start(&r, nowhere, TALK, NULL, 0, 1000));
    reactor_pump(&r);
    finish(&r, VC_UNAVAILABLE);
    assert_int_equal(r.outcome, VC_OUTCOME_NOT_EXECUTED);
    vc_channel_close(nowhere);
}

static void
without_a_server_it_was_not_executed(void **state)
{
    (void)state;
    play(nowhere_act);
}

static void
closing_act(struct scene *s)
{
    struct reactor r[20];
    struct vc_channel *channel;

    runtime_start(s);
    must(vc_channel_open(s->runtime, s->server.target, NULL, &channel));
    for (unsigned i = 0; i < 20; i++) {
        r[i] = (struct reactor){.to_send = i, .keeps_open = true};
        must(reactor_start(&r[i], channel, TALK, NULL, 0, 5000));
        must(reactor_pump(&r[i]));
    }
    fake_sleep_us(500);
    vc_channel_close(channel);
    for (unsigned i = 0; i < 20; i++) {
        assert_null(reactor_fault(&r[i])); /* it has ended */
        finish(&r[i], VC_CANCELLED);
    }
}

static void
closing_a_channel_ends_its_streams_first(void **state)
{
    (void)state;
    play(closing_act);
}

static void
server_closes_act(struct scene *s)
{
    struct reactor r = {.to_send = 10, .keeps_open = true};

    runtime_start(s);
    begin(s, &r, TALK, 0, 10);
    must(reactor_pump(&r));
    while (atomic_load(&reactor_served.messages) < 10)
        fake_sleep_us(100);
    sim_server_close(&s->server);
    assert_true(reactor_await(&r));
    assert_int_not_equal(r.status, VC_OK);
    vc_stream_close(r.stream);
    assert_true(reactor_await_word(&reactor_served.ended, 1));
    assert_int_equal(atomic_load(&reactor_served.cancels), 1);
}

static void
a_server_that_closes_waits_for_the_last_callback(void **state)
{
    (void)state;
    play(server_closes_act);
}

/* --- errors of use -------------------------------------------------------- */

static void
refused_act(struct scene *s)
{
    struct vc_stream_events none = {0};
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct reactor r = {.keeps_open = true};
    struct vc_stream *stream;
    void *message;
    bool sent;

    runtime_start(s);
    assert_int_equal(vc_stream_start(s->channel, &reactor_service, TALK, NULL,
                                     NULL, &none, NULL, &stream),
                     VC_INVALID_ARGUMENT);
    must(vc_stream_open(s->channel, &reactor_service, TALK, NULL, NULL,
                        &stream));
    assert_int_equal(vc_stream_try_send(stream, &request, &sent),
                     VC_FAILED_PRECONDITION);
    assert_false(sent);
    vc_stream_close(stream);
    begin(s, &r, TALK, 0, 10);
    assert_int_equal(vc_stream_receive(r.stream, &message),
                     VC_FAILED_PRECONDITION);
    assert_int_equal(vc_stream_finish(r.stream, NULL), VC_FAILED_PRECONDITION);
    must(vc_stream_send(r.stream, &request)); /* a blocking send is allowed */
    must(vc_stream_half_close(r.stream));
    assert_int_equal(vc_stream_try_send(r.stream, &request, &sent),
                     VC_FAILED_PRECONDITION);
    finish(&r, VC_OK);
    assert_int_equal(r.came, 1);
}

static void
functions_for_the_other_form_are_refused(void **state)
{
    (void)state;
    play(refused_act);
}

/* --- with an interceptor -------------------------------------------------- */

static atomic_uint finishes;

static void
finish_count(struct vc_interception *call,
             const struct vc_interception_end *end, void **state, void *arg)
{
    (void)call;
    (void)state;
    (void)arg;
    assert_int_equal(end->status, VC_OK);
    atomic_fetch_add(&finishes, 1);
}

/* The interceptor's finish() must not run before the stream is closed. The test
 * waits longer than any event of the stream could take. */
static void
intercepted_act(struct scene *s)
{
    struct vc_interceptor table = VC_INTERCEPTOR_INIT;
    struct reactor r = {.to_send = 3};

    runtime_start(s);
    atomic_store(&finishes, 0);
    table.finish = finish_count;
    must(vc_channel_intercept(s->channel, &table));
    begin(s, &r, TALK, 0, 10);
    must(reactor_pump(&r));

    assert_true(reactor_await(&r));
    fake_sleep_us(100000);
    assert_int_equal(atomic_load(&finishes), 0);
    vc_stream_close(r.stream);

    assert_true(reactor_await_word(&finishes, 1));
    fake_sleep_us(100000);
    assert_int_equal(atomic_load(&finishes), 1);
}

static void
an_interceptor_sees_the_finish_once_with_the_close(void **state)
{
    (void)state;
    play(intercepted_act);
}

/* --- turns ------------------------------------------------------------------ */

#define TURN 32u /* callbacks of a stream at a time */
#define MOST 40u /* messages of each: more than a turn */

static const struct reactor *order[2 * MOST];
static unsigned n_order;

static void
order_note(struct reactor *r)
{
    if (n_order < 2 * MOST)
        order[n_order] = r;
    n_order++;
}

static void
assert_order(unsigned from, unsigned n, const struct reactor *r)
{
    for (unsigned i = from; i < from + n; i++)
        assert_ptr_equal(order[i], r);
}

/* All messages of both streams have arrived when the streams are resumed. */
static void
turns_act(struct scene *s)
{
    struct reactor one = {.at_message = order_note}, two = one;

    n_order = 0;
    begin(s, &one, DOWN, MOST, 8);
    vc_stream_pause(one.stream);
    begin(s, &two, DOWN, MOST, 8);
    vc_stream_pause(two.stream);
    for (unsigned i = 0; i < 2 * MOST; i++)
        scene_call(s, 8, 1);
    assert_int_equal(n_order, 0);
    vc_stream_resume(one.stream);
    vc_stream_resume(two.stream);
    runtime_start(s);
    finish(&one, VC_OK);
    finish(&two, VC_OK);
    assert_int_equal(n_order, 2 * MOST);
    assert_order(0, TURN, &one);
    assert_order(TURN, TURN, &two);
    assert_order(2 * TURN, MOST - TURN, &one);
    assert_order(TURN + MOST, MOST - TURN, &two);
}

static void
streams_that_have_much_to_tell_take_turns(void **state)
{
    (void)state;
    play(turns_act);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_talk_messages_of_any_size_and_in_order),
        cmocka_unit_test(a_server_pours_down_more_than_a_window),
        cmocka_unit_test(the_reply_of_a_client_that_streams_is_a_message),
        cmocka_unit_test(either_end_may_wait_while_the_other_has_callbacks),
        cmocka_unit_test(a_handler_ends_it_in_a_callback_or_on_another_thread),
        cmocka_unit_test(it_may_be_cancelled_and_closed_in_each_callback),
        cmocka_unit_test(a_deadline_ends_both_ends_without_a_thread_that_waits),
        cmocka_unit_test(a_lost_link_ends_both_ends),
        cmocka_unit_test(without_a_server_it_was_not_executed),
        cmocka_unit_test(closing_a_channel_ends_its_streams_first),
        cmocka_unit_test(a_server_that_closes_waits_for_the_last_callback),
        cmocka_unit_test(functions_for_the_other_form_are_refused),
        cmocka_unit_test(an_interceptor_sees_the_finish_once_with_the_close),
        cmocka_unit_test(streams_that_have_much_to_tell_take_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
