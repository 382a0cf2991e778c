/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams on the simulated device, and the ways in which they end. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/stream.h>

#include "tests/sim/scene.h"

#define MESSAGES 300u
#define LONG     100000u /* bytes: several packets, more than a window */

/* --- the service ------------------------------------------------------- */

enum {
    TALK,
    DOWN,
    UP
};

static atomic_uint running; /* handlers running */
static atomic_int last;     /* the status with which a handler's stream ended */
static atomic_uint reading; /* the slow handler may read */

/* Sends each message back. Tag 1: fails; tag 2: first waits for `reading`. */
static enum vc_status
talk(struct vc_call *call, struct vc_stream *stream)
{
    Suite__EchoRequest *request;
    enum vc_status status;

    while ((status = vc_stream_receive(stream, (void **)&request)) == VC_OK &&
           request != NULL) {
        Suite__EchoReply reply = SUITE__ECHO_REPLY__INIT;
        uint64_t tag = request->tag;

        reply.tag = tag;
        reply.payload = request->payload;
        if (tag == 2)
            sim_await(&reading, 60000000);
        status = tag == 1 ? vc_call_fail(call, VC_NOT_FOUND, "as asked for")
                          : vc_stream_send(stream, &reply);
        vc_message_free(request);
        if (status != VC_OK)
            break;
    }
    return status;
}

/* Sends reply_size messages, each with the request's payload. */
static enum vc_status
down(const Suite__EchoRequest *request, struct vc_stream *stream)
{
    Suite__EchoReply reply = SUITE__ECHO_REPLY__INIT;
    enum vc_status status = VC_OK;

    reply.payload = request->payload;
    for (uint32_t i = 0; i < request->reply_size && status == VC_OK; i++) {
        reply.tag = i;
        status = vc_stream_send(stream, &reply);
    }
    return status;
}

/* Replies with the number of bytes received. */
static enum vc_status
up(struct vc_stream *stream, Suite__EchoReply *reply)
{
    Suite__EchoRequest *request;
    enum vc_status status;

    while ((status = vc_stream_receive(stream, (void **)&request)) == VC_OK &&
           request != NULL) {
        reply->tag += request->payload.len;
        vc_message_free(request);
    }
    return status;
}

static enum vc_status
run(struct vc_call *call, const void *methods, const void *request,
    struct vc_stream *stream, void *reply, void *arg)
{
    enum vc_status status;

    (void)methods;
    (void)arg;
    atomic_fetch_add(&running, 1);
    status = request != NULL ? down(request, stream)
             : reply != NULL ? up(stream, reply)
                             : talk(call, stream);
    atomic_store(&last, (int)status);
    atomic_fetch_sub(&running, 1);
    return status;
}

#define METHOD(method, kind)                                                   \
    {                                                                          \
        .name = #method, .hash = method + 1, .flags = (kind),                  \
        .request = {.desc = &suite__echo_request__descriptor},                 \
        .reply = {.desc = &suite__echo_reply__descriptor}, .run_stream = run   \
    }

static const struct vc_method methods[] = {
    METHOD(TALK, VC_METHOD_CLIENT_STREAM | VC_METHOD_SERVER_STREAM),
    METHOD(DOWN, VC_METHOD_SERVER_STREAM),
    METHOD(UP, VC_METHOD_CLIENT_STREAM),
};

static const struct vc_service streams = {.name = "sim.Streams",
                                          .id = UINT64_C(0xa029f56136183507),
                                          .n_methods = 3,
                                          .methods = methods};

static enum vc_status
streams_add(struct vc_server *server, struct sim_server *s)
{
    static const int none;

    return vc_server_add(server, &streams, &none, sizeof none, s);
}

static void
play(void (*act)(struct scene *s))
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        atomic_store(&running, 0);
        atomic_store(&last, -1);
        atomic_store(&reading, 0);
        s.server.add = streams_add;
        scene_run(&s, seed);
        assert_int_equal(atomic_load(&running), 0);
    }
}

/* --- the client -------------------------------------------------------- */

static uint8_t bytes[LONG];

static struct vc_stream *
open_with(struct scene *s, unsigned method, size_t size, uint32_t count,
          uint32_t timeout_ms)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc_stream *stream;

    opts.timeout_ms = timeout_ms;
    request.payload.data = bytes;
    request.payload.len = size;
    request.reply_size = count;
    if (vc_stream_open(s->channel, &streams, method,
                       method == DOWN ? &request : NULL, &opts,
                       &stream) != VC_OK)
        fail_msg("%s", vc_error());
    return stream;
}

static enum vc_status
say(struct vc_stream *stream, size_t size, uint64_t tag)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;

    request.payload.data = bytes;
    request.payload.len = size;
    request.tag = tag;
    return vc_stream_send(stream, &request);
}

static enum vc_status
hear(struct vc_stream *stream, size_t size, uint64_t tag)
{
    Suite__EchoReply *reply;
    enum vc_status status = vc_stream_receive(stream, (void **)&reply);

    if (status != VC_OK)
        return status;
    if (reply == NULL || reply->payload.len != size || reply->tag != tag)
        status = VC_DATA_LOSS;
    vc_message_free(reply);
    return status;
}

static void
must(enum vc_status status)
{
    if (status != VC_OK)
        fail_msg("%s: %s", vc_status_name(status), vc_error());
}

/* --- tests ------------------------------------------------------------- */

static void
talk_act(struct scene *s)
{
    struct vc_stream *stream = open_with(s, TALK, 0, 0, 0);
    void *none;

    for (unsigned i = 0; i < MESSAGES; i++) {
        size_t size = i % 50 == 7 ? LONG : i * 10;

        must(say(stream, size, 100 + i));
        must(hear(stream, size, 100 + i));
    }
    must(vc_stream_half_close(stream));
    must(vc_stream_receive(stream, &none));
    assert_null(none);
    must(vc_stream_finish(stream, NULL));
    assert_int_equal(say(stream, 1, 1), VC_FAILED_PRECONDITION);
    vc_stream_close(stream);
}

static void
both_talk_in_turn_messages_of_any_size(void **state)
{
    (void)state;
    play(talk_act);
}

static void
down_act(struct scene *s)
{
    struct vc_stream *stream = open_with(s, DOWN, 500, MESSAGES, 0);
    void *none;

    for (unsigned i = 0; i < MESSAGES; i++)
        must(hear(stream, 500, i));
    must(vc_stream_receive(stream, &none));
    assert_null(none);
    vc_stream_close(stream);

    stream = open_with(s, DOWN, LONG, 10, 0);
    for (unsigned i = 0; i < 10; i++)
        must(hear(stream, LONG, i));
    must(vc_stream_finish(stream, NULL));
    vc_stream_close(stream);
    stream = open_with(s, DOWN, 1, 0, 0); /* no messages */
    must(vc_stream_finish(stream, NULL));
    vc_stream_close(stream);
}

static void
a_server_sends_more_than_a_window(void **state)
{
    (void)state;
    play(down_act);
}

static void
up_act(struct scene *s)
{
    struct vc_stream *stream = open_with(s, UP, 0, 0, 0);
    Suite__EchoReply *reply;
    size_t sum = 0;

    for (unsigned i = 0; i < MESSAGES; i++) {
        size_t size = i % 50 == 7 ? LONG : i * 10;

        must(say(stream, size, 0));
        sum += size;
    }
    must(vc_stream_finish(stream, (void **)&reply));
    assert_int_equal(reply->tag, sum);
    vc_message_free(reply);
    vc_stream_close(stream);
}

static void
a_client_sends_more_than_a_window_and_gets_one_reply(void **state)
{
    (void)state;
    play(up_act);
}

static void
fail_act(struct scene *s)
{
    struct vc_stream *stream = open_with(s, TALK, 0, 0, 0);

    must(say(stream, 10, 3));
    must(say(stream, 10, 1));
    must(hear(stream, 10, 3)); /* messages before the end are not lost */
    assert_int_equal(hear(stream, 0, 0), VC_NOT_FOUND);
    assert_string_equal(vc_error(), "as asked for");
    assert_int_equal(vc_error_outcome(), VC_OUTCOME_EXECUTED);
    assert_int_equal(vc_stream_finish(stream, NULL), VC_NOT_FOUND);
    assert_int_equal(say(stream, 10, 1), VC_NOT_FOUND);
    vc_stream_close(stream);
    scene_call(s, 10, 5);
}

static void
how_the_handler_ends_it_reaches_the_client(void **state)
{
    (void)state;
    play(fail_act);
}

static void
await_end(enum vc_status status)
{
    for (unsigned i = 0; atomic_load(&last) != (int)status; i++) {
        if (i == 100000)
            fail_msg("the handler's stream ended with %d", atomic_load(&last));
        fake_sleep_us(100);
    }
}

static void
cancel_act(struct scene *s)
{
    struct vc_stream *stream = open_with(s, TALK, 0, 0, 0);

    must(say(stream, 10, 3));
    must(hear(stream, 10, 3));
    vc_stream_cancel(stream);
    assert_int_equal(hear(stream, 10, 3), VC_CANCELLED);
    assert_int_equal(say(stream, 10, 3), VC_CANCELLED);
    vc_stream_close(stream);
    scene_call(s, 10, 5);
    await_end(VC_CANCELLED);

    atomic_store(&last, -1);
    stream = open_with(s, DOWN, LONG, 100, 0); /* in the middle of a message */
    must(hear(stream, LONG, 0));
    vc_stream_close(stream);
    for (unsigned i = 0; i < 100; i++)
        scene_call(s, 10, 5);
    await_end(VC_CANCELLED);
    vc_stream_close(open_with(s, TALK, 0, 0, 0)); /* without any message */
    scene_call(s, 10, 5);
}

static void
cancelling_reaches_the_handler_and_harms_nobody(void **state)
{
    (void)state;
    play(cancel_act);
}

static void
deadline_act(struct scene *s)
{
    struct vc_stream *stream = open_with(s, TALK, 0, 0, 50);

    must(say(stream, 10, 3));
    must(hear(stream, 10, 3));
    assert_int_equal(hear(stream, 10, 3), VC_DEADLINE_EXCEEDED);
    assert_int_equal(say(stream, 10, 3), VC_DEADLINE_EXCEEDED);
    vc_stream_close(stream);
    for (unsigned i = 0; atomic_load(&running) > 0 && i < 1000; i++)
        scene_call(s, 10, 5);
    assert_int_equal(atomic_load(&running), 0);
}

static void
a_deadline_ends_both_ends(void **state)
{
    (void)state;
    play(deadline_act);
}

/* The handler does not read, so its client's sends stop. Other calls go on. */
static void
slow_act(struct scene *s)
{
    struct vc_stream *stream = open_with(s, TALK, 0, 0, 2000);
    size_t sent = 0;

    must(say(stream, 1000, 2));
    while (say(stream, 1000, 3) == VC_OK)
        sent += 1000;
    assert_in_range(sent, 30000, 65536);
    scene_call(s, 10, 5);
    sim_tell(&reading);
    vc_stream_close(stream);
    await_end(VC_CANCELLED);
}

static void
a_slow_reader_holds_a_window_and_delays_nobody(void **state)
{
    (void)state;
    play(slow_act);
}

static void
lost_act(struct scene *s)
{
    struct vc_stream *stream = open_with(s, TALK, 0, 0, 0);
    enum vc_status status;

    must(say(stream, 10, 3));
    must(hear(stream, 10, 3));
    fake_port_set(s->server.host, false);
    status = hear(stream, 10, 3);
    assert_int_equal(status, VC_UNAVAILABLE);
    assert_int_equal(vc_error_outcome(), VC_OUTCOME_UNKNOWN);
    vc_stream_close(stream);
    fake_port_set(s->server.host, true);
    scene_call(s, 10, 5);
    await_end(VC_CANCELLED);
}

static void
a_lost_link_ends_it_at_both_ends(void **state)
{
    (void)state;
    play(lost_act);
}

static void
nowhere_act(struct scene *s)
{
    struct vc_channel *nowhere;
    struct vc_stream *stream;

    must(vc_channel_open(s->runtime, "rdma://10.9.0.2:1", NULL, &nowhere));
    must(vc_stream_open(nowhere, &streams, TALK, NULL, NULL, &stream));
    while (say(stream, 1000, 0) == VC_OK)
        continue;
    assert_int_equal(hear(stream, 0, 0), VC_UNAVAILABLE);
    assert_int_equal(vc_error_outcome(), VC_OUTCOME_NOT_EXECUTED);
    vc_stream_close(stream);
    must(vc_stream_open(nowhere, &streams, TALK, NULL, NULL, &stream));
    must(vc_stream_half_close(stream));
    vc_channel_close(nowhere);
    assert_int_equal(hear(stream, 0, 0), VC_CANCELLED);
    vc_stream_close(stream);
}

static void
without_a_server_what_was_sent_was_not_executed(void **state)
{
    (void)state;
    play(nowhere_act);
}

struct reader {
    struct vc_stream *stream;
    enum vc_status status;
    unsigned n;
};

static void *
reader_main(void *arg)
{
    struct reader *r = arg;
    Suite__EchoReply *reply;

    while ((r->status = vc_stream_receive(r->stream, (void **)&reply)) ==
               VC_OK &&
           reply != NULL) {
        r->n++;
        vc_message_free(reply);
    }
    return NULL;
}

static void
both_act(struct scene *s)
{
    struct reader r = {.stream = open_with(s, TALK, 0, 0, 0)};
    pthread_t thread;

    pthread_create(&thread, NULL, reader_main, &r);
    for (unsigned i = 0; i < MESSAGES * 4; i++)
        must(say(r.stream, 777, 3));
    must(vc_stream_half_close(r.stream));
    pthread_join(thread, NULL);
    assert_int_equal(r.status, VC_OK);
    assert_int_equal(r.n, MESSAGES * 4);
    vc_stream_close(r.stream);
}

static void
one_thread_sends_while_another_receives(void **state)
{
    (void)state;
    play(both_act);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_talk_in_turn_messages_of_any_size),
        cmocka_unit_test(a_server_sends_more_than_a_window),
        cmocka_unit_test(a_client_sends_more_than_a_window_and_gets_one_reply),
        cmocka_unit_test(how_the_handler_ends_it_reaches_the_client),
        cmocka_unit_test(cancelling_reaches_the_handler_and_harms_nobody),
        cmocka_unit_test(a_deadline_ends_both_ends),
        cmocka_unit_test(a_slow_reader_holds_a_window_and_delays_nobody),
        cmocka_unit_test(a_lost_link_ends_it_at_both_ends),
        cmocka_unit_test(without_a_server_what_was_sent_was_not_executed),
        cmocka_unit_test(one_thread_sends_while_another_receives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
