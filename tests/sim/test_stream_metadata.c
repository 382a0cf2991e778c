/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Metadata and results of streams. */
#include <string.h>

#include <verbcall/stream.h>

#include "tests/sim/told.h"

/* --- the service ------------------------------------------------------- */

enum {
    TALK,
    DOWN,
    UP,
    EARLY
};

/* Returns the metadata with the first message, and more with the end. */
static enum vc_status
early(struct vc_call *call, struct vc_stream *stream)
{
    Suite__EchoReply reply = SUITE__ECHO_REPLY__INIT;
    enum vc_status status = VC_OK;
    const struct vc_metadata *m;
    Suite__EchoRequest *request;
    size_t n;

    m = vc_call_metadata(call, &n);
    for (size_t i = 0; i < n && status == VC_OK; i++)
        status = vc_call_add_initial(call, m[i].key, m[i].value, m[i].length);
    if (status == VC_OK)
        status = vc_call_add_trailing(call, "soon", "or later", 8);
    while (status == VC_OK &&
           (status = vc_stream_receive(stream, (void **)&request)) == VC_OK &&
           request != NULL) {
        reply.payload = request->payload;
        status = vc_stream_send(stream, &reply);
        vc_message_free(request);
    }
    return status == VC_OK ? vc_call_add_initial(call, "late", "1", 1) : status;
}

/* Receives all messages, and returns the call's metadata; fails with details if
 * the metadata ask for it. */
static enum vc_status
run(struct vc_call *call, const void *methods, const void *request,
    struct vc_stream *stream, void *reply, void *arg)
{
    Suite__EchoRequest nothing = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply ignored = SUITE__ECHO_REPLY__INIT;
    enum vc_status status = VC_OK;
    void *message = &nothing;
    struct vc_result result = VC_RESULT_INIT;

    (void)methods;
    (void)arg;
    (void)reply;
    if (vc_call_metadata_find(call, "early", NULL) != NULL)
        return early(call, stream);
    if (vc_stream_result(stream, &result) != VC_INVALID_ARGUMENT)
        return VC_DATA_LOSS;
    while (request == NULL && status == VC_OK && message != NULL) {
        status = vc_stream_receive(stream, &message);
        if (status == VC_OK)
            vc_message_free(message);
    }
    if (status == VC_OK)
        status = told_mirror(NULL, call, &nothing, &ignored);
    if (status != VC_OK || !vc_call_metadata_find(call, "fail", NULL))
        return status;
    vc_call_details(call, "\0why", 4);
    return vc_call_fail(call, VC_ABORTED, "as asked for");
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
    METHOD(EARLY, VC_METHOD_CLIENT_STREAM | VC_METHOD_SERVER_STREAM),
};
static const struct vc_service service = {.name = "sim.Streams",
                                          .id = UINT64_C(0xa029f56136183507),
                                          .n_methods = 4,
                                          .methods = methods};

static enum vc_status
service_add(struct vc_server *server, struct sim_server *s)
{
    static const int none;

    return vc_server_add(server, &service, &none, sizeof none, s);
}

static void
play(void (*act)(struct scene *s))
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        s.server.add = service_add;
        scene_run(&s, seed);
    }
}

/* --- the client -------------------------------------------------------- */

/* Runs a stream of this method with these metadata, to its end. */
static enum vc_status
stream_with(struct scene *s, unsigned method, size_t size,
            const struct vc_metadata *m, size_t n, struct vc_result *result)
{
    static uint8_t bytes[100000];
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc_stream *stream;
    enum vc_status status;
    void *reply = NULL;

    opts.metadata = m;
    opts.n_metadata = n;
    request.payload.data = bytes;
    request.payload.len = size;
    assert_int_equal(vc_stream_open(s->channel, &service, method,
                                    method == DOWN ? &request : NULL, &opts,
                                    &stream),
                     VC_OK);
    if (method != DOWN) {
        assert_int_equal(vc_stream_result(stream, result),
                         VC_FAILED_PRECONDITION);
        assert_int_equal(vc_stream_send(stream, &request), VC_OK);
    }
    status = vc_stream_finish(stream, &reply);
    vc_message_free(reply);
    assert_int_equal(vc_stream_result(stream, result), VC_OK);
    vc_stream_close(stream);
    return status;
}

/* --- tests ------------------------------------------------------------- */

static void
streams_with_metadata(struct scene *s)
{
    struct vc_metadata m[] = {told_text("a", "1"), told_long(3000),
                              told_text("a", "2")};
    struct vc_result result = VC_RESULT_INIT;

    for (unsigned method = TALK; method <= UP; method++) {
        for (size_t size = 10; size < 100000; size *= 9) {
            assert_int_equal(stream_with(s, method, size, m, 3, &result),
                             VC_OK);
            assert_int_equal(result.status, VC_OK);
            assert_int_equal(result.attempts, 1);
            assert_int_equal(result.n_initial, 3);
            assert_int_equal(result.n_trailing, 3);
            told_assert_same(result.initial, m, 3);
            told_assert_same(result.trailing, m, 3);
            assert_int_equal(stream_with(s, method, size, NULL, 0, &result),
                             VC_OK);
            told_assert_nothing(&result);
        }
    }
    vc_result_clear(&result);
}

static void
metadata_of_streams_go_both_ways(void **state)
{
    (void)state;
    play(streams_with_metadata);
}

static void
say(struct vc_stream *stream, size_t size)
{
    static uint8_t bytes[100000];
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;

    request.payload.data = bytes;
    request.payload.len = size;
    assert_int_equal(vc_stream_send(stream, &request), VC_OK);
    assert_int_equal(vc_stream_receive(stream, (void **)&reply), VC_OK);
    assert_non_null(reply);
    assert_int_equal(reply->payload.len, size);
    vc_message_free(reply);
}

static void
early_of(struct scene *s, size_t size)
{
    struct vc_metadata m[] = {told_text("early", "yes"), told_long(3000),
                              told_text("a", "2")};
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_result result = VC_RESULT_INIT;
    const struct vc_metadata *came;
    struct vc_stream *stream;
    size_t n;

    opts.metadata = m;
    opts.n_metadata = 3;
    assert_int_equal(
        vc_stream_open(s->channel, &service, EARLY, NULL, &opts, &stream),
        VC_OK);
    assert_null(vc_stream_initial(stream, &n));
    assert_int_equal(n, 0);
    for (unsigned i = 0; i < 3; i++) {
        say(stream, size);
        came = vc_stream_initial(stream, &n);
        assert_int_equal(n, 3);
        told_assert_same(came, m, 3);
    }
    assert_int_equal(vc_stream_finish(stream, NULL), VC_OK);
    assert_int_equal(vc_stream_result(stream, &result), VC_OK);
    assert_int_equal(result.n_initial, 4);
    assert_string_equal(result.initial[3].key, "late");
    assert_int_equal(result.n_trailing, 1);
    told_assert_same(vc_stream_initial(stream, &n), m, 3);
    vc_stream_close(stream);
    vc_result_clear(&result);
}

static void
streams_that_tell_early(struct scene *s)
{
    early_of(s, 0);
    early_of(s, 4000); /* without metadata it would fit one packet */
    early_of(s, 100000);
}

static void
initial_metadata_come_with_the_first_message(void **state)
{
    (void)state;
    play(streams_that_tell_early);
}

static void
streams_that_fail(struct scene *s)
{
    struct vc_metadata m = told_text("fail", "please");
    struct vc_result result = VC_RESULT_INIT;

    for (unsigned method = TALK; method <= UP; method++) {
        assert_int_equal(stream_with(s, method, 10, &m, 1, &result),
                         VC_ABORTED);
        assert_int_equal(result.status, VC_ABORTED);
        assert_int_equal(result.outcome, VC_OUTCOME_EXECUTED);
        assert_string_equal(result.message, "as asked for");
        assert_int_equal(result.details_length, 4);
        assert_memory_equal(result.details, "\0why", 4);
        assert_int_equal(result.n_trailing, 1);
    }
    vc_result_clear(&result);
}

static void
a_stream_that_fails_brings_its_details(void **state)
{
    (void)state;
    play(streams_that_fail);
}

static void
streams_that_may_not_be(struct scene *s)
{
    struct vc_metadata m[] = {told_text("a", "1 "), told_long(VC_METADATA_MAX)};
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_stream *stream;

    opts.metadata = m;
    opts.n_metadata = 1;
    assert_int_equal(
        vc_stream_open(s->channel, &service, TALK, NULL, &opts, &stream),
        VC_INVALID_ARGUMENT);
    m[0] = told_text("a", "1");
    opts.n_metadata = 2;
    assert_int_equal(
        vc_stream_open(s->channel, &service, TALK, NULL, &opts, &stream),
        VC_RESOURCE_EXHAUSTED);
    opts.n_metadata = 1;
    opts.result = &result;
    assert_int_equal(
        vc_stream_open(s->channel, &service, TALK, NULL, &opts, &stream),
        VC_INVALID_ARGUMENT);
    assert_non_null(strstr(vc_error(), "vc_stream_result"));
}

static void
what_may_not_be_opens_no_stream(void **state)
{
    (void)state;
    play(streams_that_may_not_be);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_of_streams_go_both_ways),
        cmocka_unit_test(initial_metadata_come_with_the_first_message),
        cmocka_unit_test(a_stream_that_fails_brings_its_details),
        cmocka_unit_test(what_may_not_be_opens_no_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
