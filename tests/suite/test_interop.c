/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The clients of gRPC's interoperability tests, after the part "Client" of
 * https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md;
 * the cases have the names used there. The cases of compression, credentials
 * and caches are left out, as they are about HTTP. Each case runs many times on
 * one channel: VC_TEST_TIMES, by default 40, or 200 with VC_TEST_LONG=1. */
#include "tests/suite/fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite/interop.h"

/* Fewer under a sanitizer, which slows the tests down. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TIMES 20u
#else
#define TIMES 40u
#endif
#define TIMES_LONG (5 * TIMES)

#define LARGE_REQUEST 271828
#define LARGE_REPLY   314159

/* Until a handler is notified that its call was cancelled. */
#define KNOWS_MS 10000

/* The sizes that a client sends in a stream, and the sizes of the replies. */
static const int32_t sent[] = {27182, 8, 1828, 45904};
static const int32_t got[] = {31415, 9, 2653, 58979};
#define N_SENT 4

/* --- messages ----------------------------------------------------------- */

static Interop__Payload
zeros(int32_t size)
{
    Interop__Payload payload = INTEROP__PAYLOAD__INIT;

    payload.body.data = interop_zeros;
    payload.body.len = (size_t)size;
    return payload;
}

static bool
is_zeros(const Interop__Payload *payload, int32_t size)
{
    return payload != NULL && payload->body.len == (size_t)size &&
           payload->type == INTEROP__PAYLOAD_TYPE__COMPRESSABLE &&
           memcmp(payload->body.data, interop_zeros, (size_t)size) == 0;
}

/* --- unary -------------------------------------------------------------- */

static void
empty_unary(struct vc_channel *channel)
{
    Interop__Empty request = INTEROP__EMPTY__INIT;
    Interop__Empty *reply = NULL;

    assert_status(VC_OK, interop_test_service_empty_call(channel, &request,
                                                         NULL, &reply));
    assert_non_null(reply);
    assert_int_equal(0, interop__empty__get_packed_size(reply));
    vc_message_free(reply);
}

/* Returns VC_DATA_LOSS when the reply is wrong. Any thread. */
static enum vc_status
large_call(struct vc_channel *channel, const struct vc_call_opts *opts)
{
    Interop__SimpleRequest request = INTEROP__SIMPLE_REQUEST__INIT;
    Interop__Payload payload = zeros(LARGE_REQUEST);
    Interop__SimpleResponse *reply;
    enum vc_status status;

    request.response_size = LARGE_REPLY;
    request.payload = &payload;
    status = interop_test_service_unary_call(channel, &request, opts, &reply);
    if (status != VC_OK)
        return status;
    if (!is_zeros(reply->payload, LARGE_REPLY))
        status = VC_DATA_LOSS;
    vc_message_free(reply);
    return status;
}

static void
large_unary(struct vc_channel *channel)
{
    assert_status(VC_OK, large_call(channel, NULL));
}

#define THREADS          10
#define CALLS_PER_THREAD 10

struct caller {
    pthread_t thread;
    struct vc_channel *channel;
    unsigned failures;
};

static void *
caller_run(void *arg)
{
    struct caller *c = arg;

    for (int i = 0; i < CALLS_PER_THREAD; i++) {
        enum vc_status status = large_call(c->channel, NULL);

        if (status != VC_OK) {
            print_error("%s: %s\n", vc_status_name(status), vc_error());
            c->failures++;
        }
    }
    return NULL;
}

static void
concurrent_large_unary(struct vc_channel *channel)
{
    struct caller callers[THREADS] = {{0}};
    unsigned failures = 0;

    for (int i = 0; i < THREADS; i++) {
        callers[i].channel = channel;
        assert_int_equal(0, pthread_create(&callers[i].thread, NULL, caller_run,
                                           &callers[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        failures += callers[i].failures;
    }
    assert_int_equal(0, failures);
}

/* --- streams ------------------------------------------------------------ */

/* The streams of several methods, which have the same message types. */

static void
expect_reply(struct vc_stream *stream, int32_t size)
{
    Interop__StreamingOutputCallResponse *reply;

    assert_status(VC_OK, vc_stream_receive(stream, (void **)&reply));
    assert_non_null(reply);
    assert_true(is_zeros(reply->payload, size));
    vc_message_free(reply);
}

/* Checks that there are no more messages, and how the call ended. */
static void
expect_last(struct vc_stream *stream, enum vc_status status)
{
    Interop__StreamingOutputCallResponse *reply = NULL;

    assert_status(status, vc_stream_receive(stream, (void **)&reply));
    assert_null(reply);
    assert_status(status, vc_stream_finish(stream, NULL));
}

static void
expect_end(struct vc_stream *stream, enum vc_status status)
{
    expect_last(stream, status);
    vc_stream_close(stream);
}

static void
client_streaming(struct vc_channel *channel)
{
    Interop__StreamingInputCallRequest request =
        INTEROP__STREAMING_INPUT_CALL_REQUEST__INIT;
    Interop__StreamingInputCallResponse *reply = NULL;
    struct interop_test_service_streaming_input_call_client_stream *stream;

    assert_status(VC_OK, interop_test_service_streaming_input_call(
                             channel, NULL, &stream));
    for (int i = 0; i < N_SENT; i++) {
        Interop__Payload payload = zeros(sent[i]);

        request.payload = &payload;
        assert_status(VC_OK, interop_test_service_streaming_input_call_send(
                                 stream, &request));
    }
    assert_status(VC_OK, interop_test_service_streaming_input_call_finish(
                             stream, &reply));
    assert_int_equal(74922, reply->aggregated_payload_size);
    vc_message_free(reply);
    interop_test_service_streaming_input_call_close(stream);
}

static void
server_streaming(struct vc_channel *channel)
{
    Interop__StreamingOutputCallRequest request =
        INTEROP__STREAMING_OUTPUT_CALL_REQUEST__INIT;
    Interop__ResponseParameters parameters[N_SENT];
    Interop__ResponseParameters *pointers[N_SENT];
    struct interop_test_service_streaming_output_call_client_stream *typed;
    struct vc_stream *stream;

    for (int i = 0; i < N_SENT; i++) {
        interop__response_parameters__init(&parameters[i]);
        parameters[i].size = got[i];
        pointers[i] = &parameters[i];
    }
    request.n_response_parameters = N_SENT;
    request.response_parameters = pointers;
    assert_status(VC_OK, interop_test_service_streaming_output_call(
                             channel, &request, NULL, &typed));
    stream = (struct vc_stream *)typed;
    for (int i = 0; i < N_SENT; i++)
        expect_reply(stream, got[i]);
    expect_end(stream, VC_OK);
}

/* Sends a request with a payload of `with` bytes that asks for one reply of
 * `size` bytes after interval_us. */
static void
ask(struct vc_stream *stream, int32_t with, int32_t size, int32_t interval_us)
{
    Interop__StreamingOutputCallRequest request =
        INTEROP__STREAMING_OUTPUT_CALL_REQUEST__INIT;
    Interop__ResponseParameters parameters = INTEROP__RESPONSE_PARAMETERS__INIT;
    Interop__ResponseParameters *pointer = &parameters;
    Interop__Payload payload = zeros(with);

    parameters.size = size;
    parameters.interval_us = interval_us;
    request.n_response_parameters = 1;
    request.response_parameters = &pointer;
    request.payload = &payload;
    assert_status(VC_OK, vc_stream_send(stream, &request));
}

static struct vc_stream *
duplex_open(struct vc_channel *channel, const struct vc_call_opts *opts)
{
    struct interop_test_service_full_duplex_call_client_stream *stream;

    assert_status(
        VC_OK, interop_test_service_full_duplex_call(channel, opts, &stream));
    return (struct vc_stream *)stream;
}

static void
ping_pong(struct vc_channel *channel)
{
    struct vc_stream *stream = duplex_open(channel, NULL);

    for (int i = 0; i < N_SENT; i++) {
        ask(stream, sent[i], got[i], 0);
        expect_reply(stream, got[i]);
    }
    assert_status(VC_OK, vc_stream_half_close(stream));
    expect_end(stream, VC_OK);
}

static void
empty_stream(struct vc_channel *channel)
{
    struct vc_stream *stream = duplex_open(channel, NULL);

    assert_status(VC_OK, vc_stream_half_close(stream));
    expect_end(stream, VC_OK);
}

/* gRPC's clients in C++ and Java have this case; the descriptions do not. */
static void
half_duplex(struct vc_channel *channel)
{
    struct interop_test_service_half_duplex_call_client_stream *typed;
    struct vc_stream *stream;

    assert_status(VC_OK,
                  interop_test_service_half_duplex_call(channel, NULL, &typed));
    stream = (struct vc_stream *)typed;
    for (int i = 0; i < N_SENT; i++)
        ask(stream, 0, got[i], i == 1 ? 100 : 0);
    assert_status(VC_OK, vc_stream_half_close(stream));
    for (int i = 0; i < N_SENT; i++)
        expect_reply(stream, got[i]);
    expect_end(stream, VC_OK);
}

/* --- metadata ----------------------------------------------------------- */

static const char initial_value[] = "test_initial_metadata_value";
static const uint8_t trailing_value[] = {0xab, 0xab, 0xab};

static const struct vc_metadata both[] = {
    {INTEROP_ECHO_INITIAL, initial_value, sizeof initial_value - 1},
    {INTEROP_ECHO_TRAILING, trailing_value, sizeof trailing_value},
};

static void
expect_entry(const struct vc_metadata *expected, const struct vc_metadata *m,
             size_t n)
{
    assert_int_equal(1, n);
    assert_string_equal(expected->key, m->key);
    assert_int_equal(expected->length, m->length);
    assert_memory_equal(expected->value, m->value, m->length);
}

static void
expect_both(struct vc_result *result)
{
    assert_int_equal(VC_OK, result->status);
    expect_entry(&both[0], result->initial, result->n_initial);
    expect_entry(&both[1], result->trailing, result->n_trailing);
    vc_result_clear(result);
}

static void
custom_metadata(struct vc_channel *channel)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_result result = VC_RESULT_INIT;
    struct vc_stream *stream;

    opts.metadata = both;
    opts.n_metadata = 2;
    opts.result = &result;
    assert_status(VC_OK, large_call(channel, &opts));
    expect_both(&result);

    opts.result = NULL;
    stream = duplex_open(channel, &opts);
    ask(stream, LARGE_REQUEST, LARGE_REPLY, 0);
    assert_status(VC_OK, vc_stream_half_close(stream));
    expect_reply(stream, LARGE_REPLY);
    expect_last(stream, VC_OK);
    assert_status(VC_OK, vc_stream_result(stream, &result));
    expect_both(&result);
    vc_stream_close(stream);
}

/* --- statuses ----------------------------------------------------------- */

static void
unary_ends(struct vc_channel *channel, char *message)
{
    Interop__SimpleRequest request = INTEROP__SIMPLE_REQUEST__INIT;
    Interop__EchoStatus how = INTEROP__ECHO_STATUS__INIT;
    Interop__SimpleResponse *reply;

    how.code = VC_UNKNOWN;
    how.message = message;
    request.response_status = &how;
    assert_status(VC_UNKNOWN, interop_test_service_unary_call(channel, &request,
                                                              NULL, &reply));
    assert_string_equal(message, vc_error());
}

static void
stream_ends(struct vc_channel *channel, char *message)
{
    Interop__StreamingOutputCallRequest request =
        INTEROP__STREAMING_OUTPUT_CALL_REQUEST__INIT;
    Interop__EchoStatus how = INTEROP__ECHO_STATUS__INIT;
    struct vc_stream *stream = duplex_open(channel, NULL);

    how.code = VC_UNKNOWN;
    how.message = message;
    request.response_status = &how;
    assert_status(VC_OK, vc_stream_send(stream, &request));
    assert_status(VC_OK, vc_stream_half_close(stream));
    expect_end(stream, VC_UNKNOWN);
    assert_string_equal(message, vc_error());
}

static void
status_code_and_message(struct vc_channel *channel)
{
    static char message[] = "test status message";

    unary_ends(channel, message);
    stream_ends(channel, message);
}

static void
special_status_message(struct vc_channel *channel)
{
    static char message[] = "\t\ntest with whitespace\r\nand Unicode BMP "
                            "\xe2\x98\xba and non-BMP \xf0\x9f\x98\x88\t\n";

    unary_ends(channel, message);
    stream_ends(channel, message);
}

static void
unimplemented_method(struct vc_channel *channel)
{
    Interop__Empty request = INTEROP__EMPTY__INIT;
    Interop__Empty *reply;

    assert_status(VC_UNIMPLEMENTED, interop_test_service_unimplemented_call(
                                        channel, &request, NULL, &reply));
}

static void
unimplemented_service(struct vc_channel *channel)
{
    Interop__Empty request = INTEROP__EMPTY__INIT;
    Interop__Empty *reply;

    assert_status(VC_UNIMPLEMENTED,
                  interop_unimplemented_service_unimplemented_call(
                      channel, &request, NULL, &reply));
}

/* --- cancelled calls ---------------------------------------------------- */

/* Waits until the handlers are notified, and checks that the channel works as
 * before. */
static void
expect_none_left(struct vc_channel *channel)
{
    uint64_t due = fixture_ms() + KNOWS_MS;

    do {
        empty_unary(channel);
        assert_true(fixture_ms() < due);
    } while (atomic_load(&interop_reading) > 0);
}

static void
cancel_after_begin(struct vc_channel *channel)
{
    Interop__StreamingInputCallResponse *reply = NULL;
    struct interop_test_service_streaming_input_call_client_stream *stream;

    empty_unary(channel); /* connected, so the call is sent at once */
    assert_status(VC_OK, interop_test_service_streaming_input_call(
                             channel, NULL, &stream));
    interop_test_service_streaming_input_call_cancel(stream);
    assert_status(
        VC_CANCELLED,
        interop_test_service_streaming_input_call_finish(stream, &reply));
    interop_test_service_streaming_input_call_close(stream);
    expect_none_left(channel);
}

static void
cancel_after_first_response(struct vc_channel *channel)
{
    struct vc_stream *stream = duplex_open(channel, NULL);

    ask(stream, sent[0], got[0], 0);
    expect_reply(stream, got[0]);
    vc_stream_cancel(stream);
    expect_end(stream, VC_CANCELLED);
    expect_none_left(channel);
}

static void
timeout_on_sleeping_server(struct vc_channel *channel)
{
    Interop__StreamingOutputCallRequest request =
        INTEROP__STREAMING_OUTPUT_CALL_REQUEST__INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Interop__Payload payload = zeros(sent[0]);
    struct vc_stream *stream;
    enum vc_status status;

    opts.timeout_ms = 1;
    request.payload = &payload;
    stream = duplex_open(channel, &opts);
    status = vc_stream_send(stream, &request);
    if (status != VC_OK)
        assert_status(VC_DEADLINE_EXCEEDED, status);
    expect_end(stream, VC_DEADLINE_EXCEEDED);
    expect_none_left(channel);
}

/* --- running them ------------------------------------------------------- */

struct interop_case {
    void (*body)(struct vc_channel *channel);
    unsigned calls; /* made by one run of the body */
};

struct interop {
    struct fixture f;
    const struct interop_case *c;
};

static int
setup(void **state)
{
    struct interop *t = calloc(1, sizeof *t);

    t->c = *state;
    fixture_start(&t->f, 1, NULL, NULL);
    assert_status(VC_OK, interop_add(t->f.server));
    *state = t;
    return 0;
}

static int
teardown(void **state)
{
    struct interop *t = *state;

    fixture_stop(&t->f);
    free(t);
    return 0;
}

/* How often each case runs; an empty variable counts as unset. */
static unsigned
times_wanted(void)
{
    const char *text = getenv("VC_TEST_TIMES");

    if (text == NULL || *text == '\0')
        return fixture_many(TIMES, TIMES_LONG);
    if (atoi(text) < 1)
        fail_msg("VC_TEST_TIMES is to be a positive number, not '%s'", text);
    return (unsigned)atoi(text);
}

/* A case that makes many calls runs less often, so that it makes ten times as
 * many calls as the other cases. */
static void
many_times(void **state)
{
    const struct interop *t = *state;
    unsigned times = times_wanted();

    if (t->c->calls > 10)
        times = times * 10 / t->c->calls + 1;
    for (unsigned i = 0; i < times; i++)
        t->c->body(t->f.channel);
}

#define CASE(name_, calls_)                                                    \
    {                                                                          \
        .name = #name_, .test_func = many_times, .setup_func = setup,          \
        .teardown_func = teardown, .initial_state = &(struct interop_case)     \
        {                                                                      \
            .body = name_, .calls = calls_                                     \
        }                                                                      \
    }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(empty_unary, 1),
        CASE(large_unary, 1),
        CASE(client_streaming, 1),
        CASE(server_streaming, 1),
        CASE(ping_pong, 1),
        CASE(empty_stream, 1),
        CASE(half_duplex, 1),
        CASE(custom_metadata, 1),
        CASE(status_code_and_message, 1),
        CASE(special_status_message, 1),
        CASE(unimplemented_method, 1),
        CASE(unimplemented_service, 1),
        CASE(cancel_after_begin, 1),
        CASE(cancel_after_first_response, 1),
        CASE(timeout_on_sleeping_server, 1),
        CASE(concurrent_large_unary, THREADS * CALLS_PER_THREAD),
    };

    return fixture_main(tests);
}
