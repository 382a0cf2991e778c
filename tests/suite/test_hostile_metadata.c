/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bad metadata, of clients and of servers that otherwise keep the rules: they
 * end only their own call; the link and its other calls live (doc/wire.md, 4.11
 * and 5). */
#include "tests/suite/stage.h"

#include <stdlib.h>
#include <string.h>

#include <verbcall/stream.h>

#include "transport/wire/metadata.h"

#define COUNT 3 /* the index of this method in suite.Probe */

#define PACKED(text) .data = (const uint8_t *)(text), .len = sizeof(text) - 1

static const struct bad_metadata {
    const char *what;
    const uint8_t *data;
    size_t len;
} bad_metadata[] = {
    {"a byte alone", PACKED("\x01")},
    {"a key without the length of a value", PACKED("\x01"
                                                   "a\0")},
    {"a key over the end", PACKED("\x05"
                                  "a\0\0")},
    {"a value over the end", PACKED("\x01"
                                    "a\x02\0v")},
    {"the longest value, cut", PACKED("\x01"
                                      "a\xff\xffv")},
    {"a byte behind", PACKED("\x01"
                             "a\x01\0v\x01")},
    {"a key of no bytes", PACKED("\0\x01\0v")},
    {"a key in capitals", PACKED("\x01"
                                 "A\x01\0v")},
    {"a key with a NUL", PACKED("\x02"
                                "a\0\x01\0v")},
    {"a key with a colon", PACKED("\x01:\x01\0v")},
    {"a text with a NUL", PACKED("\x01"
                                 "a\x01\0\0")},
    {"a text that is no ASCII", PACKED("\x01"
                                       "a\x02\0\xc3\xa4")},
    {"a text with an escape", PACKED("\x01"
                                     "a\x01\0\x1b")},
    {"a text that begins with a space", PACKED("\x01"
                                               "a\x02\0 v")},
    {"a text that ends with a space", PACKED("\x01"
                                             "a\x02\0v ")},
    {"a bad one behind a good one", PACKED("\x01"
                                           "a\x01\0v\x01"
                                           "A\x01\0v")},
};

#define BAD (sizeof bad_metadata / sizeof bad_metadata[0])

/* Returns one packed entry of this length. */
static uint8_t *
long_metadata(size_t len)
{
    static uint8_t bytes[8000], value[8000];
    struct vc_metadata e = {.key = "long-bin", .value = value};

    e.length = len - 3 - strlen(e.key);
    vc__metadata_put(bytes, &e, false);
    return bytes;
}

/* --- of clients -------------------------------------------------------- */

static struct vc__frame
call_of(uint32_t sequence, const void *metadata, size_t len)
{
    return (struct vc__frame){.type = VC__FRAME_CALL,
                              .session = 1,
                              .sequence = sequence,
                              .method = COUNT,
                              .deadline = VC__DEADLINE_NONE,
                              .metadata = metadata,
                              .metadata_len = (uint16_t)len};
}

/* Checks how a call with a message of this length is answered. */
static void
answered(struct raw *r, struct vc__frame call, uint32_t size,
         enum vc_status status, const char *what)
{
    /* A field that the type does not have: 15, of bytes. */
    static uint8_t message[40000];
    struct vc__frame reply;

    if (size > 0) {
        message[0] = 0x7a;
        message[1] = (uint8_t)((size - 4) | 0x80);
        message[2] = (uint8_t)((size - 4) >> 7 | 0x80);
        message[3] = (uint8_t)((size - 4) >> 14);
    }
    if (!raw_send_message(r, call, message, size))
        fail_msg("%s could not be sent", what);
    if (!raw_next_frame(r, &reply, RAW_MS) || reply.type != VC__FRAME_REPLY ||
        reply.sequence != call.sequence)
        fail_msg("%s was not answered", what);
    if (reply.method != status ||
        reply.flags != (status == VC_OK ? 0 : VC__FRAME_NOT_EXECUTED))
        fail_msg("%s was answered by %s with flags %u: %.*s", what,
                 vc_status_name((enum vc_status)reply.method), reply.flags,
                 (int)reply.body_len, (const char *)reply.body);
    if (status != VC_OK)
        assert_true(reply.body_len > 0);
    assert_int_equal(reply.metadata_len, 0);
}

static void
bad_metadata_of_a_request_end_its_call_unexecuted(void **state)
{
    static const uint32_t sizes[] = {0, 1000, 20000};
    struct fixture *f = *state;
    struct raw r = {0};
    uint32_t n = 0;

    hostile_open_session(f, &r);
    for (size_t i = 0; i < BAD; i++) {
        const struct bad_metadata *bad = &bad_metadata[i];

        for (unsigned k = 0; k < 3; k++)
            answered(&r, call_of(++n, bad->data, bad->len), sizes[k],
                     VC_INVALID_ARGUMENT, bad->what);
        answered(&r, call_of(++n, NULL, 0), 0, VC_OK, "a good call");
    }
    hostile_others_served(f, "bad metadata");
    raw_close(&r);
}

static void
metadata_of_a_request_do_not_trail(void **state)
{
    struct fixture *f = *state;
    struct raw r = {0};

    hostile_open_session(f, &r);
    answered(&r,
             call_of(1,
                     "\x81"
                     "a\x01\0v",
                     5),
             0, VC_INVALID_ARGUMENT, "a trailing entry");
    answered(&r,
             call_of(2,
                     "\x01"
                     "a\x01\0v",
                     5),
             0, VC_OK, "the same that does not trail");
    raw_close(&r);
}

/* Makes a call that names this attempt number. */
static void
attempts(struct raw *r, uint32_t sequence, const char *number,
         enum vc_status status)
{
    struct vc_metadata e = {.key = VC__METADATA_ATTEMPTS,
                            .value = number,
                            .length = strlen(number)};
    uint8_t bytes[100];

    answered(r,
             call_of(sequence, bytes,
                     (size_t)(vc__metadata_put(bytes, &e, false) - bytes)),
             0, status, number);
}

static void
attempts_are_a_number(void **state)
{
    struct fixture *f = *state;
    struct raw r = {0};

    hostile_open_session(f, &r);
    attempts(&r, 1, "1", VC_OK);
    attempts(&r, 2, "2147483647", VC_OK);
    attempts(&r, 3, "-1", VC_INVALID_ARGUMENT);
    attempts(&r, 4, "2147483648", VC_INVALID_ARGUMENT);
    attempts(&r, 5, "", VC_INVALID_ARGUMENT);
    attempts(&r, 6, "many", VC_INVALID_ARGUMENT);
    raw_close(&r);
}

static void
the_longest_metadata_are_taken_and_longer_ones_are_not(void **state)
{
    struct fixture *f = *state;
    const size_t max = VC__METADATA_MAX;
    struct raw r = {0};

    hostile_open_session(f, &r);
    answered(&r, call_of(1, long_metadata(max), max), 0, VC_OK, "the longest");
    answered(&r, call_of(2, long_metadata(max), max), 40000, VC_OK,
             "the longest, of a long request");
    answered(&r, call_of(3, long_metadata(max + 1), max + 1), 0,
             VC_INVALID_ARGUMENT, "a byte too many");
    answered(&r, call_of(4, long_metadata(max + 1), max + 1), 40000,
             VC_INVALID_ARGUMENT, "a byte too many of a long request");
    answered(&r, call_of(5, NULL, 0), 0, VC_OK, "a good call");
    hostile_others_served(f, "long metadata");
    raw_close(&r);
}

static void
keys_of_the_library_that_it_does_not_know_are_skipped(void **state)
{
    struct fixture *f = *state;
    struct raw r = {0};

    hostile_open_session(f, &r);
    answered(&r, call_of(1, "\x06grpc-x\x01\0v", 10), 0, VC_OK, "grpc-x");
    answered(&r, call_of(2, "\x0averbcall-x\0\0", 13), 0, VC_OK, "verbcall-x");
    raw_close(&r);
}

static void
what_stands_in_the_place_of_metadata_elsewhere_is_skipped(void **state)
{
    struct fixture *f = *state;
    struct vc__frame cancel = {.type = VC__FRAME_CANCEL,
                               .session = 1,
                               .sequence = 1,
                               .metadata = (const uint8_t *)"\xff bad",
                               .metadata_len = 5};
    struct vc__frame reply;
    struct raw r = {0};

    hostile_open_session(f, &r);
    assert_true(raw_send_frame(&r, cancel));
    assert_true(raw_next_frame(&r, &reply, RAW_MS));
    assert_int_equal(reply.type, VC__FRAME_REPLY);
    assert_int_equal(reply.method, VC_CANCELLED);
    answered(&r, call_of(2, NULL, 0), 0, VC_OK, "a good call");
    raw_close(&r);
}

/* --- of servers -------------------------------------------------------- */

/* The next reply; one play at a time. */
static struct answer {
    const void *metadata;
    size_t len;
    const void *body;
    uint32_t body_len;
    uint16_t status;
    uint8_t flags;
} answer;

static struct vc__frame
reply_to(const struct vc__frame *call)
{
    return (struct vc__frame){.type = VC__FRAME_REPLY,
                              .slot = call->slot,
                              .session = call->session,
                              .sequence = call->sequence};
}

/* Answers one call with `answer`, and the next one with a good reply. */
static bool
play_answer(struct stage *s)
{
    struct vc__frame call, reply;

    if (!stage_accept_well(s, RAW_BUFFERS) || !stage_take_call(&s->r, &call))
        return false;
    reply = reply_to(&call);
    reply.method = answer.status;
    reply.flags = answer.flags;
    reply.metadata = answer.metadata;
    reply.metadata_len = (uint16_t)answer.len;
    if (!raw_send_message(&s->r, reply, answer.body, answer.body_len) ||
        !stage_take_call(&s->r, &call))
        return false;
    return raw_send_message(&s->r, reply_to(&call), (const uint8_t *)"\x08\x07",
                            2);
}

static enum vc_status
call(struct stage *s, struct vc_result *result)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__CountReply *reply;
    enum vc_status status;

    opts.result = result;
    status = suite_probe_count(s->channel, &request, &opts, &reply);
    if (status == VC_OK)
        vc_message_free(reply);
    return status;
}

static void
next_call_is_served(struct stage *s)
{
    uint64_t calls = 0;

    assert_status(VC_OK, stage_call(s, &calls));
    assert_int_equal(7, calls);
}

/* Checks that the answer's bad metadata end its call, whether or not the caller
 * asks for the metadata. */
static void
ends_the_call(struct fixture *f, const char *what, enum vc_outcome outcome)
{
    for (unsigned wanted = 0; wanted < 2; wanted++) {
        struct vc_result result = VC_RESULT_INIT;
        struct stage s = {.len = 0};

        stage_start(&s, f, play_answer);
        if (call(&s, wanted ? &result : NULL) != VC_INTERNAL)
            fail_msg("%s: taken for good", what);
        if (strstr(vc_error(), "metadata") == NULL)
            fail_msg("%s: \"%s\"", what, vc_error());
        assert_int_equal(outcome, vc_error_outcome());
        if (wanted) {
            assert_int_equal(VC_INTERNAL, result.status);
            assert_int_equal(outcome, result.outcome);
            assert_int_equal(1, result.attempts);
            assert_string_equal(vc_error(), result.message);
            assert_int_equal(0, result.n_initial + result.n_trailing);
        }
        vc_result_clear(&result);
        next_call_is_served(&s);
        stage_end(&s, what);
    }
}

static void
bad_metadata_of_a_reply_end_its_call(void **state)
{
    for (size_t i = 0; i < BAD; i++) {
        answer = (struct answer){.metadata = bad_metadata[i].data,
                                 .len = bad_metadata[i].len};
        ends_the_call(*state, bad_metadata[i].what, VC_OUTCOME_EXECUTED);
    }
}

static void
bad_metadata_of_an_error_or_a_long_reply_do_so_too(void **state)
{
    static uint8_t message[20000];

    answer = (struct answer){.metadata = "\x01", .len = 1};
    answer.status = VC_ABORTED;
    ends_the_call(*state, "of an error", VC_OUTCOME_EXECUTED);
    answer.flags = VC__FRAME_NOT_EXECUTED;
    ends_the_call(*state, "of a refusal", VC_OUTCOME_NOT_EXECUTED);
    answer = (struct answer){.metadata = "\x01", .len = 1};
    answer.body = message;
    answer.body_len = sizeof message;
    ends_the_call(*state, "of a long reply", VC_OUTCOME_EXECUTED);
    answer = (struct answer){.metadata = long_metadata(VC__METADATA_MAX + 1),
                             .len = VC__METADATA_MAX + 1};
    ends_the_call(*state, "a byte too many", VC_OUTCOME_EXECUTED);
}

static void
bad_metadata_of_the_reply_to_a_stream_end_it(void **state)
{
    static const struct vc_method method = {
        .name = "Stream",
        .flags = VC_METHOD_CLIENT_STREAM | VC_METHOD_SERVER_STREAM,
        .request = {.desc = &suite__empty__descriptor},
        .reply = {.desc = &suite__empty__descriptor}};
    static const struct vc_service service = {
        .name = "suite.Streams", .methods = &method, .n_methods = 1};

    for (size_t i = 0; i < BAD; i++) {
        struct vc_result result = VC_RESULT_INIT;
        struct stage s = {.len = 0};
        struct vc_stream *stream;

        answer = (struct answer){.metadata = bad_metadata[i].data,
                                 .len = bad_metadata[i].len};
        stage_start(&s, *state, play_answer);
        assert_status(
            VC_OK, vc_stream_open(s.channel, &service, 0, NULL, NULL, &stream));
        assert_int_equal(VC_INTERNAL, vc_stream_finish(stream, NULL));
        assert_non_null(strstr(vc_error(), "metadata"));
        assert_status(VC_OK, vc_stream_result(stream, &result));
        assert_int_equal(VC_INTERNAL, result.status);
        assert_int_equal(VC_OUTCOME_EXECUTED, result.outcome);
        assert_int_equal(0, result.n_initial + result.n_trailing);
        vc_stream_close(stream);
        vc_result_clear(&result);
        next_call_is_served(&s);
        stage_end(&s, bad_metadata[i].what);
    }
}

static void
a_bad_reply_with_good_metadata_shows_them_all_the_same(void **state)
{
    struct vc_result result = VC_RESULT_INIT;
    struct stage s = {.len = 0};

    answer = (struct answer){.metadata = "\x81"
                                         "a\x01\0v",
                             .len = 5,
                             .body = "\x08",
                             .body_len = 1};
    stage_start(&s, *state, play_answer);
    assert_int_equal(VC_INTERNAL, call(&s, &result));
    assert_non_null(
        strstr(vc_error(), "cannot be unpacked as suite.CountReply"));
    assert_int_equal(1, result.n_trailing);
    assert_string_equal("v", result.trailing[0].value);
    vc_result_clear(&result);
    next_call_is_served(&s);
    stage_end(&s, "a bad reply with metadata");
}

static void
an_advice_that_is_no_number_ends_nothing(void **state)
{
    struct vc_result result = VC_RESULT_INIT;
    struct stage s = {.len = 0};

    answer =
        (struct answer){.metadata = "\x96" VC__METADATA_PUSHBACK "\x04\0soon",
                        .len = 1 + 22 + 2 + 4,
                        .body = "text",
                        .body_len = 4,
                        .status = VC_ABORTED};
    stage_start(&s, *state, play_answer);
    assert_int_equal(VC_ABORTED, call(&s, &result));
    assert_string_equal("text", result.message);
    assert_int_equal(0, result.n_initial + result.n_trailing);
    vc_result_clear(&result);
    next_call_is_served(&s);
    stage_end(&s, "a bad advice");
}

#define T(name) hostile_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(bad_metadata_of_a_request_end_its_call_unexecuted),
        T(metadata_of_a_request_do_not_trail),
        T(attempts_are_a_number),
        T(the_longest_metadata_are_taken_and_longer_ones_are_not),
        T(keys_of_the_library_that_it_does_not_know_are_skipped),
        T(what_stands_in_the_place_of_metadata_elsewhere_is_skipped),
        T(bad_metadata_of_a_reply_end_its_call),
        T(bad_metadata_of_an_error_or_a_long_reply_do_so_too),
        T(bad_metadata_of_the_reply_to_a_stream_end_it),
        T(a_bad_reply_with_good_metadata_shows_them_all_the_same),
        T(an_advice_that_is_no_number_ends_nothing),
    };

    return fixture_main(tests);
}
