/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Interceptors around streams: no stream bypasses them, and each ends once. */
#include <stdio.h>
#include <string.h>

#include <verbcall/stream.h>

#include "rpc/server/service.h"
#include "tests/sim/scene.h"

#define MS 1000u /* us */

/* --- the service ------------------------------------------------------- */

enum {
    TALK,
    DOWN,
    UP,
    TWICE,
    SERVED,
    SERVED_UP
};

static atomic_uint ran;

/* TALK sends back what it receives, DOWN sends three messages, UP counts. TWICE
 * chooses callbacks twice, which is an error. */
static enum vc_status
run(struct vc_call *call, const void *methods, const void *request,
    struct vc_stream *stream, void *message, void *arg)
{
    Suite__EchoReply one = SUITE__ECHO_REPLY__INIT, *reply = message;
    unsigned kind = (unsigned)*(const int *)methods;
    Suite__EchoRequest *r;

    (void)call;
    (void)arg;
    atomic_fetch_add(&ran, 1);
    for (unsigned i = 0; i < 3 && request != NULL; i++)
        vc_stream_send(stream, &one);
    if (request != NULL)
        return VC_OK;
    while (vc_stream_receive(stream, (void **)&r) == VC_OK && r != NULL) {
        vc_message_free(r);
        if (kind == 0)
            vc_stream_send(stream, &one);
    }
    if (kind == 1)
        reply->tag = 1;
    return VC_OK;
}

static enum vc_status
run_talk(struct vc_call *call, const void *methods, const void *request,
         struct vc_stream *stream, void *reply, void *arg)
{
    static const int kind = 0;

    (void)methods;
    return run(call, &kind, request, stream, reply, arg);
}

static enum vc_status
run_up(struct vc_call *call, const void *methods, const void *request,
       struct vc_stream *stream, void *reply, void *arg)
{
    static const int kind = 1;

    (void)methods;
    return run(call, &kind, request, stream, reply, arg);
}

static enum vc_status
run_twice(struct vc_call *call, const void *methods, const void *request,
          struct vc_stream *stream, void *reply, void *arg)
{
    static const struct vc_stream_events events = VC_STREAM_EVENTS_INIT;

    (void)methods, (void)request, (void)reply, (void)arg;
    vc_stream_serve(call, stream, &events, NULL);
    return vc_stream_serve(call, stream, &events, NULL);
}

/* What has happened at the server, in its order: a word each. */
static char story[200];

static void
story_add(const char *word)
{
    scene_sync();
    strncat(story, word, sizeof story - strlen(story) - 1);
    scene_sync();
}

/* The call of the stream that is served by callbacks, and its reply. */
static struct served {
    struct vc_call *call;
    Suite__EchoReply *reply;
} served;

static void
served_send(struct vc_stream *stream)
{
    Suite__EchoReply one = SUITE__ECHO_REPLY__INIT;
    bool sent;

    assert_int_equal(vc_stream_try_send(stream, &one, &sent), VC_OK);
    assert_true(sent);
}

static void
served_on_message(struct vc_stream *stream, void *message, void *arg)
{
    const struct served *s = arg;

    vc_message_free(message);
    story_add("message ");
    if (s->reply == NULL)
        served_send(stream);
}

static void
served_on_half_close(struct vc_stream *stream, void *arg)
{
    const struct served *s = arg;

    (void)stream;
    story_add("half-close ");
    vc_call_end(s->call, VC_OK);
    story_add("ended ");
}

/* The call and the stream may still be used. */
static void
served_on_end(struct vc_stream *stream, enum vc_status status, void *arg)
{
    const struct served *s = arg;

    assert_int_equal(status, VC_OK);
    story_add("on_end ");
    if (s->reply == NULL)
        served_send(stream);
    else
        s->reply->tag = 7;
}

static enum vc_status
run_served(struct vc_call *call, const void *methods, const void *request,
           struct vc_stream *stream, void *reply, void *arg)
{
    static const struct vc_stream_events events = {
        .size = sizeof events,
        .on_message = served_on_message,
        .on_half_close = served_on_half_close,
        .on_end = served_on_end};
    enum vc_status status;

    (void)methods, (void)request, (void)arg;
    served = (struct served){.call = call, .reply = reply};
    story_add("handler ");
    status = vc_stream_serve(call, stream, &events, &served);
    story_add("returns ");
    return status;
}

#define METHOD(method, kind, f)                                                \
    {                                                                          \
        .name = #method, .hash = method + 1, .flags = (kind),                  \
        .request = {.desc = &suite__echo_request__descriptor},                 \
        .reply = {.desc = &suite__echo_reply__descriptor}, .run_stream = f     \
    }

static const struct vc_method table[] = {
    METHOD(TALK, VC_METHOD_CLIENT_STREAM | VC_METHOD_SERVER_STREAM, run_talk),
    METHOD(DOWN, VC_METHOD_SERVER_STREAM, run_talk),
    METHOD(UP, VC_METHOD_CLIENT_STREAM, run_up),
    METHOD(TWICE, VC_METHOD_CLIENT_STREAM | VC_METHOD_SERVER_STREAM, run_twice),
    METHOD(SERVED, VC_METHOD_CLIENT_STREAM | VC_METHOD_SERVER_STREAM,
           run_served),
    METHOD(SERVED_UP, VC_METHOD_CLIENT_STREAM, run_served),
};

static struct vc_service streams = {
    .name = "sim.Streams", .n_methods = 6, .methods = table};

/* --- interceptors ------------------------------------------------------ */

/* What one side has seen of the last stream. */
struct eye {
    atomic_uint starts, requests, replies, finishes;
    enum vc_status refuses;
    struct vc_interception_end end;
};

static struct eye here, there;

static enum vc_status
eye_start(struct vc_interception *call, void **state, void *arg)
{
    struct eye *e = arg;

    (void)call;
    scene_sync();
    *state = e;
    atomic_fetch_add(&e->starts, 1);
    return e->refuses;
}

static void
eye_message(struct vc_interception *call, enum vc_message_kind kind,
            const ProtobufCMessage *message, void **state, void *arg)
{
    struct eye *e = *state;

    (void)call;
    (void)arg;
    assert_ptr_equal(message->descriptor, kind == VC_MESSAGE_REQUEST
                                              ? &suite__echo_request__descriptor
                                              : &suite__echo_reply__descriptor);
    atomic_fetch_add(kind == VC_MESSAGE_REQUEST ? &e->requests : &e->replies,
                     1);
}

static void
eye_finish(struct vc_interception *call, const struct vc_interception_end *end,
           void **state, void *arg)
{
    struct eye *e = *state;

    (void)call;
    (void)arg;
    e->end = *end;
    atomic_fetch_add(&e->finishes, 1);
    scene_sync();
}

static struct vc_interceptor
eye_table(struct eye *e)
{
    struct vc_interceptor t = VC_INTERCEPTOR_INIT;

    t.start = eye_start;
    t.message = eye_message;
    t.finish = eye_finish;
    t.arg = e;
    return t;
}

static enum vc_status
streams_add(struct vc_server *server, struct sim_server *s)
{
    const struct vc_interceptor t = eye_table(&there);
    static const int none;

    assert_int_equal(vc_server_intercept(server, &t), VC_OK);
    return vc_server_add(server, &streams, &none, sizeof none, s);
}

static void
eye_reset(struct eye *e)
{
    memset(e, 0, sizeof *e);
}

static void
play(void (*act)(struct scene *s))
{
    streams.id = vc__service_id(streams.name, strlen(streams.name));
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        atomic_store(&ran, 0);
        eye_reset(&here);
        eye_reset(&there);
        s.server.add = streams_add;
        scene_run(&s, seed);
    }
}

static void
watch(struct vc_channel *channel)
{
    const struct vc_interceptor t = eye_table(&here);

    assert_int_equal(vc_channel_intercept(channel, &t), VC_OK);
}

/* --- the client -------------------------------------------------------- */

static struct vc_stream *
open_stream(struct vc_channel *channel, unsigned method, const void *request)
{
    struct vc_stream *stream;

    assert_int_equal(
        vc_stream_open(channel, &streams, method, request, NULL, &stream),
        VC_OK);
    return stream;
}

static void
send_some(struct vc_stream *stream, unsigned n)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;

    for (unsigned i = 0; i < n; i++)
        assert_int_equal(vc_stream_send(stream, &request), VC_OK);
}

/* Both sides have seen one stream, with this many messages, which ended
 * well. */
static void
assert_seen(unsigned n_requests, unsigned n_replies)
{
    struct eye *both[] = {&here, &there};

    scene_sync();
    for (unsigned i = 0; i < 2; i++) {
        struct eye *e = both[i];

        assert_int_equal(atomic_load(&e->starts), 1);
        assert_int_equal(atomic_load(&e->requests), n_requests);
        assert_int_equal(atomic_load(&e->replies), n_replies);
        assert_int_equal(atomic_load(&e->finishes), 1);
        assert_int_equal(e->end.status, VC_OK);
        assert_int_equal(e->end.outcome, VC_OUTCOME_EXECUTED);
        eye_reset(e);
    }
    scene_sync();
}

/* --- tests ------------------------------------------------------------- */

static void
streams_of_all_kinds(struct scene *s)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc_stream *stream;
    void *reply;

    watch(s->channel);
    stream = open_stream(s->channel, DOWN, &request);
    assert_int_equal(vc_stream_finish(stream, NULL), VC_OK);
    assert_int_equal(atomic_load(&here.finishes), 0);
    vc_stream_close(stream);
    assert_seen(1, 3);

    stream = open_stream(s->channel, UP, NULL);
    send_some(stream, 5);
    assert_int_equal(vc_stream_finish(stream, &reply), VC_OK);
    vc_message_free(reply);
    vc_stream_close(stream);
    assert_seen(5, 1);

    stream = open_stream(s->channel, TALK, NULL);
    send_some(stream, 4);
    assert_int_equal(vc_stream_finish(stream, NULL), VC_OK);
    vc_stream_close(stream);
    assert_seen(4, 4);
}

static void
interceptors_see_each_message_of_a_stream_and_its_end(void **state)
{
    (void)state;
    play(streams_of_all_kinds);
}

static void
are_refused(struct scene *s)
{
    struct vc_stream *stream = NULL;

    watch(s->channel);
    there.refuses = VC_PERMISSION_DENIED;
    scene_sync();
    stream = open_stream(s->channel, TALK, NULL);
    assert_int_equal(vc_stream_finish(stream, NULL), VC_PERMISSION_DENIED);
    scene_sync();
    assert_int_equal(vc_error_outcome(), VC_OUTCOME_NOT_EXECUTED);
    vc_stream_close(stream);
    assert_int_equal(here.end.status, VC_PERMISSION_DENIED);
    assert_int_equal(there.end.outcome, VC_OUTCOME_NOT_EXECUTED);
    assert_int_equal(atomic_load(&there.finishes), 1);

    stream = NULL;
    here.refuses = VC_UNAUTHENTICATED;
    assert_int_equal(
        vc_stream_open(s->channel, &streams, UP, NULL, NULL, &stream),
        VC_UNAUTHENTICATED);
    assert_null(stream);
    assert_int_equal(atomic_load(&here.finishes), 2);
    assert_int_equal(atomic_load(&there.starts), 1);
    assert_int_equal(atomic_load(&ran), 0);
}

static void
no_stream_gets_past_an_interceptor_that_refuses(void **state)
{
    (void)state;
    play(are_refused);
}

static void
end_otherwise(struct scene *s)
{
    struct vc_channel *channel;
    struct vc_stream *stream;

    assert_int_equal(
        vc_channel_open(s->runtime, s->server.target, &s->opts, &channel),
        VC_OK);
    watch(channel);
    stream = open_stream(channel, TALK, NULL);
    send_some(stream, 1);
    vc_stream_close(stream);
    assert_int_equal(here.end.status, VC_CANCELLED);

    assert_int_equal(
        vc_stream_open(channel, &streams, DOWN, NULL, NULL, &stream),
        VC_INVALID_ARGUMENT);
    assert_int_equal(here.end.status, VC_INVALID_ARGUMENT);
    assert_int_equal(atomic_load(&here.finishes), 2);

    stream = open_stream(channel, TALK, NULL);
    send_some(stream, 1);
    vc_channel_close(channel);
    assert_int_equal(atomic_load(&here.finishes), 2);
    vc_stream_close(stream);
    assert_int_equal(here.end.status, VC_CANCELLED);
    assert_int_equal(atomic_load(&here.starts), 3);
    assert_int_equal(atomic_load(&here.finishes), 3);
}

static void
a_stream_finishes_once_also_when_it_is_cancelled_or_outlives_its_channel(
    void **state)
{
    (void)state;
    play(end_otherwise);
    assert_int_equal(atomic_load(&there.starts), atomic_load(&there.finishes));
}

static void
is_served_twice(struct scene *s)
{
    struct vc_stream *stream = open_stream(s->channel, TWICE, NULL);

    assert_int_equal(vc_stream_finish(stream, NULL), VC_INTERNAL);
    vc_stream_close(stream);
    scene_sync();
    assert_int_equal(atomic_load(&there.starts), 1);
    assert_int_equal(atomic_load(&there.finishes), 1);
    assert_int_equal(there.end.status, VC_INTERNAL);
}

static void
a_stream_finishes_once_when_its_handler_fails_with_callbacks_chosen(
    void **state)
{
    (void)state;
    play(is_served_twice);
}

/* --- their order around callbacks ---------------------------------------- */

/* Two interceptors, by their names. */
static enum vc_status
teller_start(struct vc_interception *call, void **state, void *arg)
{
    (void)call, (void)state;
    story_add(arg);
    story_add("starts ");
    return VC_OK;
}

static void
teller_message(struct vc_interception *call, enum vc_message_kind kind,
               const ProtobufCMessage *message, void **state, void *arg)
{
    (void)call, (void)state;
    story_add(arg);
    if (kind == VC_MESSAGE_REQUEST)
        story_add("request ");
    else if (((const Suite__EchoReply *)message)->tag == 7)
        story_add("reply-7 ");
    else
        story_add("reply ");
}

static void
teller_finish(struct vc_interception *call,
              const struct vc_interception_end *end, void **state, void *arg)
{
    (void)call, (void)state;
    assert_int_equal(end->status, VC_OK);
    story_add(arg);
    story_add("finishes ");
}

static enum vc_status
tellers_add(struct vc_server *server, struct sim_server *s)
{
    static const int none;

    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(
            vc_server_intercept(
                server,
                VC_INTERCEPTOR(.start = teller_start, .message = teller_message,
                               .finish = teller_finish,
                               .arg = (char *)(i == 0 ? "1-" : "2-"))),
            VC_OK);
    return vc_server_add(server, &streams, &none, sizeof none, s);
}

/* A stream with one message, by this method. */
static void
order_of(struct scene *s, unsigned method, void **reply, const char *expected)
{
    struct vc_stream *stream = open_stream(s->channel, method, NULL);

    send_some(stream, 1);
    assert_int_equal(vc_stream_finish(stream, reply), VC_OK);
    vc_stream_close(stream);
    scene_sync();
    assert_string_equal(story, expected);
    story[0] = '\0';
    scene_sync();
}

static void
are_in_order(struct scene *s)
{
    void *reply;

    order_of(s, SERVED, NULL,
             "1-starts 2-starts handler returns 1-request 2-request message "
             "2-reply 1-reply half-close ended on_end 2-reply 1-reply "
             "2-finishes 1-finishes ");
    order_of(s, SERVED_UP, &reply,
             "1-starts 2-starts handler returns 1-request 2-request message "
             "half-close ended on_end 2-reply-7 1-reply-7 2-finishes "
             "1-finishes ");
    assert_int_equal(((Suite__EchoReply *)reply)->tag, 7);
    vc_message_free(reply);
}

/* The callbacks are part of the handler. */
static void
interceptors_are_around_all_callbacks_of_a_stream(void **state)
{
    (void)state;
    streams.id = vc__service_id(streams.name, strlen(streams.name));
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = are_in_order};

        story[0] = '\0';
        s.server.add = tellers_add;
        scene_run(&s, seed);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interceptors_see_each_message_of_a_stream_and_its_end),
        cmocka_unit_test(no_stream_gets_past_an_interceptor_that_refuses),
        cmocka_unit_test(
            a_stream_finishes_once_also_when_it_is_cancelled_or_outlives_its_channel),
        cmocka_unit_test(
            a_stream_finishes_once_when_its_handler_fails_with_callbacks_chosen),
        cmocka_unit_test(interceptors_are_around_all_callbacks_of_a_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
