/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A stream whose deadline passes ends in the same way at its client: whichever
 * side notices first, whatever the handler returns, and whatever the client
 * does. */
#include <pthread.h>
#include <string.h>

#include "rpc/server/server_call.h"
#include "rpc/stream/stream.h"
#include "tests/sim/scene.h"

#define SEEDS  4u
#define MS     UINT64_C(1000)
#define DUE_MS 50u
#define LATE                                                                   \
    "suite.Streams.Talk: the stream to rdma://10.9.0.2:7471 has not ended "    \
    "within 50 ms"

/* --- the server ------------------------------------------------------------ */

/* What the handler returns, whether or not its stream has failed. */
enum handler {
    PASSES_ON, /* the status of the stream */
    HAS_TEXT,  /* the same, with a text of its own */
    IS_GOOD,   /* VC_OK */
    FAILS,     /* another status */
    CANCELLED, /* VC_CANCELLED */
    HANDLERS
};

static enum handler handler;
static bool
    handler_sleeps; /* past the deadline; false: it waits in the stream */
static atomic_uint handled; /* the handler has returned */

static enum vc_status
answer(struct vc_call *call, enum vc_status status)
{
    switch (handler) {
    case PASSES_ON:
        return status;
    case HAS_TEXT:
        return vc_call_fail(call, status, "nothing more came");
    case FAILS:
        return VC_ABORTED;
    case CANCELLED:
        return VC_CANCELLED;
    default:
        return VC_OK;
    }
}

static enum vc_status
talk(struct vc_call *call, struct suite_streams_talk_server_stream *stream,
     void *arg)
{
    Suite__EchoRequest *request = NULL;
    enum vc_status status;

    (void)arg;
    if (handler_sleeps)
        fake_sleep_us(2 * DUE_MS * MS);
    while ((status = suite_streams_talk_server_receive(stream, &request)) ==
               VC_OK &&
           request != NULL)
        vc_message_free(request);
    status = answer(call, status);
    sim_tell(&handled);
    return status;
}

static enum vc_status
streams_add(struct vc_server *server, struct sim_server *s)
{
    static const struct suite_streams_methods methods = {.talk = talk};

    (void)s;
    return suite_streams_add(server, &methods, NULL);
}

/* --- the client -------------------------------------------------------------- */

enum client {
    RECEIVES,
    SENDS, /* until that fails */
    FINISHES,
    CLIENTS
};

static enum client client;

static enum vc_status
receive_one(struct suite_streams_talk_client_stream *stream)
{
    Suite__EchoReply *reply = NULL;
    enum vc_status status = suite_streams_talk_receive(stream, &reply);

    assert_null(reply);
    return status;
}

static enum vc_status
send_all(struct suite_streams_talk_client_stream *stream)
{
    static uint8_t bytes[8000];
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    enum vc_status status;

    request.payload.data = bytes;
    request.payload.len = sizeof bytes;
    do {
        status = suite_streams_talk_send(stream, &request);
        fake_sleep_us(1000);
    } while (status == VC_OK);
    return status;
}

static enum vc_status
use(struct suite_streams_talk_client_stream *stream)
{
    switch (client) {
    case RECEIVES:
        return receive_one(stream);
    case SENDS:
        return send_all(stream);
    default:
        return suite_streams_talk_finish(stream);
    }
}

static void
expect_late(struct suite_streams_talk_client_stream *stream,
            enum vc_status status)
{
    if (status != VC_DEADLINE_EXCEEDED || strcmp(vc_error(), LATE) != 0)
        fail_msg("handler %d, client %d: %s: %s", (int)handler, (int)client,
                 vc_status_name(status), vc_error());
    assert_int_equal(suite_streams_talk_finish(stream), VC_DEADLINE_EXCEEDED);
    assert_string_equal(vc_error(), LATE);
}

static struct suite_streams_talk_client_stream *
open_talk(struct scene *s)
{
    struct suite_streams_talk_client_stream *stream;

    assert_int_equal(vc_channel_connect(s->channel, &suite_streams_service),
                     VC_OK);
    atomic_store(&handled, 0);
    assert_int_equal(suite_streams_talk(s->channel,
                                        VC_CALL_OPTS(.timeout_ms = DUE_MS),
                                        &stream),
                     VC_OK);
    return stream;
}

/* The handler sleeps past the deadline. */
static void
act_client_first(struct scene *s)
{
    struct suite_streams_talk_client_stream *stream = open_talk(s);
    enum vc_status status = use(stream);

    assert_int_equal(atomic_load(&handled), 0);
    expect_late(stream, status);
    suite_streams_talk_close(stream);
    assert_true(sim_await(&handled, 10000 * MS));
}

/* The client sleeps past the deadline, and the reply comes meanwhile. */
static void
act_server_first(struct scene *s)
{
    struct suite_streams_talk_client_stream *stream;

    assert_int_equal(vc_runtime_start(s->runtime), VC_OK);
    stream = open_talk(s);
    fake_sleep_us(2 * DUE_MS * MS);
    assert_int_equal(atomic_load(&handled), 1);
    expect_late(stream, use(stream));
    suite_streams_talk_close(stream);
}

/* All combinations of handlers and clients. */
static void
play(void (*act)(struct scene *s), bool sleeps)
{
    handler_sleeps = sleeps;
    for (unsigned i = 0; i < SEEDS * HANDLERS * CLIENTS; i++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        handler = i % HANDLERS;
        client = i / HANDLERS % CLIENTS;
        s.server.add = streams_add;
        scene_run(&s, 1 + i / (HANDLERS * CLIENTS));
    }
}

static void
a_stream_is_late_in_one_way_if_its_client_notices_first(void **state)
{
    (void)state;
    play(act_client_first, true);
}

static void
a_stream_is_late_in_one_way_if_its_server_notices_first(void **state)
{
    (void)state;
    play(act_server_first, false);
}

/* --- a stream that another thread of the server ends ------------------------- */

static atomic_ullong ended_us, woken_us;

/* A thread of the handler's, as one that sends and is late. */
static void *
ender_main(void *arg)
{
    struct vc_stream *stream = arg;

    fake_sleep_us(20 * MS);
    atomic_store(&ended_us, fake_now_us());
    stream->ops->expire(stream);
    return NULL;
}

static enum vc_status
talk_of_two(struct vc_call *call,
            struct suite_streams_talk_server_stream *stream, void *arg)
{
    Suite__EchoRequest *request = NULL;
    enum vc_status status;
    pthread_t ender;

    (void)arg;
    assert_int_equal(pthread_create(&ender, NULL, ender_main, call->stream), 0);
    status = suite_streams_talk_server_receive(stream, &request);
    atomic_store(&woken_us, fake_now_us());
    pthread_join(ender, NULL);
    assert_null(request);
    return status;
}

static enum vc_status
two_add(struct vc_server *server, struct sim_server *s)
{
    static const struct suite_streams_methods methods = {.talk = talk_of_two};

    (void)s;
    return suite_streams_add(server, &methods, NULL);
}

/* Nothing else wakes the server: the client only waits. */
static void
act_waits(struct scene *s)
{
    struct suite_streams_talk_client_stream *stream;

    assert_int_equal(vc_channel_connect(s->channel, &suite_streams_service),
                     VC_OK);
    assert_int_equal(suite_streams_talk(s->channel,
                                        VC_CALL_OPTS(.timeout_ms = 10000),
                                        &stream),
                     VC_OK);
    assert_int_equal(receive_one(stream), VC_DEADLINE_EXCEEDED);
    assert_in_range(atomic_load(&woken_us) - atomic_load(&ended_us), 0, MS);
    suite_streams_talk_close(stream);
}

static void
a_handler_that_receives_is_woken_when_another_thread_ends_its_stream(
    void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act_waits};

        s.server.add = two_add;
        scene_run(&s, seed);
    }
}

/* --- a client with callbacks ----------------------------------------------- */

/* While its program sends, a thread of the library ends the stream, by its
 * timer, at the same time. */

#define WORLDS sim_share(100u)
#define BULK   1000000u /* more than a link's credits */

static enum sender {
    SENDS_MANY, /* waits for the window */
    SENDS_LONG, /* waits for the last part to be sent */
    SENDS_SOON, /* waits for a link */
    SENDERS
} sender;

static void
on_end(struct suite_streams_talk_client_stream *stream, enum vc_status status,
       void *arg)
{
    (void)stream;
    (void)status;
    sim_tell(arg);
}

static enum vc_status
send_long(struct suite_streams_talk_client_stream *stream)
{
    static uint8_t bytes[BULK];
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;

    request.payload.data = bytes;
    request.payload.len = sizeof bytes;
    return suite_streams_talk_send(stream, &request);
}

static void
act_callbacks(struct scene *s)
{
    static const struct suite_streams_talk_client_events events = {.on_end =
                                                                       on_end};
    struct suite_streams_talk_client_stream *stream;
    atomic_uint over = 0;
    enum vc_status status;

    assert_int_equal(vc_runtime_start(s->runtime), VC_OK);
    if (sender != SENDS_SOON)
        assert_int_equal(vc_channel_connect(s->channel, &suite_streams_service),
                         VC_OK);
    if (sender != SENDS_MANY)
        fake_process_freeze(s->server.process);
    assert_int_equal(
        suite_streams_talk_start(s->channel, VC_CALL_OPTS(.timeout_ms = DUE_MS),
                                 &events, &over, &stream),
        VC_OK);
    status = sender == SENDS_LONG ? send_long(stream) : send_all(stream);
    if (status != VC_DEADLINE_EXCEEDED ||
        strstr(vc_error(), LATE) != vc_error())
        fail_msg("sender %d: %s: %s", (int)sender, vc_status_name(status),
                 vc_error());
    assert_true(sim_await(&over, 10000 * MS));
    suite_streams_talk_close(stream);
    fake_process_thaw(s->server.process);
}

static void
a_sender_is_late_in_one_way_whoever_ends_its_stream(void **state)
{
    (void)state;
    handler_sleeps = true;
    handler = PASSES_ON;
    for (sender = 0; sender < SENDERS; sender++) {
        for (unsigned seed = 1; seed <= WORLDS; seed++) {
            struct scene s = {.opts = VC_CHANNEL_OPTS_INIT,
                              .act = act_callbacks,
                              .switch_every = 1 + seed % 3};

            s.server.add = streams_add;
            scene_run(&s, seed);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_stream_is_late_in_one_way_if_its_client_notices_first),
        cmocka_unit_test(
            a_stream_is_late_in_one_way_if_its_server_notices_first),
        cmocka_unit_test(
            a_handler_that_receives_is_woken_when_another_thread_ends_its_stream),
        cmocka_unit_test(a_sender_is_late_in_one_way_whoever_ends_its_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
