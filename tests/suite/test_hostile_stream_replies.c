/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bad servers of streams: frames for a stream that our client has opened. Each
 * stream ends as described in doc/wire.md, 5, and the client's other channels
 * are not affected. Bad clients are in test_hostile_streams.c. */
#include "tests/suite/pace.h"
#include "tests/suite/stage.h"

#include <string.h>

#include "tests/suite/streams.h"

#define MORE  VC__FRAME_MORE
#define STEPS 5

/* Slot, session and sequence are offsets to those of the call. */
#define FRAME(type_, ...)                                                      \
    {                                                                          \
        .type = VC__FRAME_##type_, ##__VA_ARGS__                               \
    }
#define SAY(body)   FRAME(MESSAGE, BODY(body))
#define FIRST(body) FRAME(MESSAGE, .flags = MORE, BODY(body))
/* The same with metadata. */
#define WITH(m)             .metadata = (const uint8_t *)(m), .metadata_len = sizeof(m) - 1
#define SAY_WITH(m)         FRAME(MESSAGE, WITH(m), BODY(""))
#define FIRST_WITH(m, body) FRAME(MESSAGE, .flags = MORE, WITH(m), BODY(body))
#define DATA(at, flags_, body)                                                 \
    FRAME(DATA, .flags = VC__FRAME_OF_REPLY | (flags_), .deadline = (at),      \
          BODY(body))
#define WINDOW(end)        FRAME(WINDOW, .deadline = (end))
#define REPLY(status, ...) FRAME(REPLY, .method = (status), ##__VA_ARGS__)
/* A MESSAGE of this many zeros, in parts. */
#define LONG(len)                                                              \
    {                                                                          \
        .type = LONG_, .body_len = (len)                                       \
    }
#define LONG_ 0xf0

struct script {
    const char *what;
    unsigned method;
    struct vc__frame steps[STEPS];
    enum vc_status status; /* that the stream ends with */
    const char *words;     /* text in its error */
};

static const struct script *script; /* of the stage; only one at a time */

/* --- the server's part ------------------------------------------------- */

static bool
step(struct raw *r, struct vc__frame f, const struct vc__frame *call)
{
    static const uint8_t zeros[70000];

    f.slot = (uint16_t)(f.slot + call->slot);
    f.session += call->session;
    f.sequence += call->sequence;
    if (f.type != LONG_)
        return raw_send_frame(r, f);
    f.type = VC__FRAME_MESSAGE;
    f.flags = VC__FRAME_OF_REPLY;
    return raw_send_message(r, f, zeros, f.body_len);
}

/* Plays the script on the first call. */
static bool
play_steps(struct stage *s)
{
    struct vc__frame call;

    if (!stage_accept_well(s, RAW_BUFFERS) || !stage_take_call(&s->r, &call))
        return false;
    for (unsigned i = 0; i < STEPS; i++)
        if (script->steps[i].type != 0 && !step(&s->r, script->steps[i], &call))
            break;
    return true;
}

static bool
play_closed(struct stage *s)
{
    return play_steps(s) && stage_client_leaves(&s->r);
}

/* Plays the script, and then serves a unary call. */
static bool
play_lives(struct stage *s)
{
    struct vc__frame call;

    if (!play_steps(s))
        return false;
    do {
        if (!stage_take_call(&s->r, &call))
            return false;
    } while (call.flags != 0);
    return raw_send_message(&s->r,
                            (struct vc__frame){.type = VC__FRAME_REPLY,
                                               .slot = call.slot,
                                               .session = call.session,
                                               .sequence = call.sequence},
                            (const uint8_t *)"\x08\x07", 2);
}

/* --- the client's part ------------------------------------------------- */

/* Reads all messages; returns the status of the stream. */
static enum vc_status
stream_run(struct stage *s)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply = NULL;
    struct vc_stream *stream;
    enum vc_status status;

    assert_status(VC_OK,
                  vc_stream_open(
                      s->channel, &suite_streams_service, script->method,
                      script->method == DOWN ? &request : NULL, NULL, &stream));
    do {
        vc_message_free(reply);
        reply = NULL;
        status = script->method == UP
                     ? vc_stream_finish(stream, (void **)&reply)
                     : vc_stream_receive(stream, (void **)&reply);
    } while (status == VC_OK && reply != NULL && script->method != UP);
    if (reply != NULL)
        vc_message_free(reply);
    vc_stream_close(stream);
    return status;
}

static void
play_script(struct fixture *f, const struct script *of, bool closed)
{
    struct stage s = {.len = 0};
    enum vc_status status;
    uint64_t calls = 0;

    script = of;
    stage_start(&s, f, closed ? play_closed : play_lives);
    status = stream_run(&s);
    if (status != of->status)
        fail_msg("%s: %s, %s", of->what, vc_status_name(status),
                 status == VC_OK ? "" : vc_error());
    if (status != VC_OK && strstr(vc_error(), of->words) == NULL)
        fail_msg("%s: says \"%s\"", of->what, vc_error());
    if (!closed) {
        if (stage_call(&s, &calls) != VC_OK)
            fail_msg("after %s: %s", of->what, vc_error());
        assert_int_equal(7, calls);
    }
    stage_end(&s, of->what);
}

/* --- what ends the link ------------------------------------------------- */

#define BROKEN VC_UNAVAILABLE

static const struct script closing[] = {
    {"a MESSAGE of the call before",
     TALK,
     {FRAME(MESSAGE, .sequence = UINT32_MAX)},
     BROKEN,
     "an answer to an unknown call"},
    {"a MESSAGE of the next call",
     TALK,
     {FRAME(MESSAGE, .sequence = 1)},
     BROKEN,
     "an answer to an unknown call"},
    {"a MESSAGE of a slot never used",
     TALK,
     {FRAME(MESSAGE, .slot = 1)},
     BROKEN,
     "an answer to an unknown call"},
    {"a MESSAGE of a slot over the limit",
     TALK,
     {FRAME(MESSAGE, .slot = 60000)},
     BROKEN,
     "an answer to an unknown call"},
    {"a MESSAGE of a session never opened",
     TALK,
     {FRAME(MESSAGE, .session = 1)},
     BROKEN,
     "a frame of a session that is not open"},
    {"a MESSAGE of session 0",
     TALK,
     {FRAME(MESSAGE, .session = UINT32_MAX)},
     BROKEN,
     "a frame of a session that is not open"},
    {"a WINDOW of the call before",
     TALK,
     {FRAME(WINDOW, .sequence = UINT32_MAX, .deadline = 65536)},
     BROKEN,
     "an answer to an unknown call"},
    {"a WINDOW of a slot never used",
     TALK,
     {FRAME(WINDOW, .slot = 1, .deadline = 65536)},
     BROKEN,
     "an answer to an unknown call"},
    {"a HALF", TALK, {FRAME(HALF)}, BROKEN, "a frame that no server sends"},
    {"a MESSAGE of a server that does not stream",
     UP,
     {SAY("")},
     BROKEN,
     "a MESSAGE of a server that does not stream"},
    {"the beginning of one",
     UP,
     {FIRST("\x64\0\0\0abc")},
     BROKEN,
     "a MESSAGE of a server that does not stream"},
    {"a WINDOW that takes a byte back",
     TALK,
     {WINDOW(65535)},
     BROKEN,
     "a WINDOW with an invalid value"},
    {"a WINDOW one beyond what may be",
     TALK,
     {WINDOW(65537)},
     BROKEN,
     "a WINDOW with an invalid value"},
    {"a WINDOW half around",
     TALK,
     {WINDOW(0x80000000)},
     BROKEN,
     "a WINDOW with an invalid value"},
    {"a WINDOW that is the last number",
     UP,
     {WINDOW(UINT32_MAX)},
     BROKEN,
     "a WINDOW with an invalid value"},
    {"a WINDOW for a client that does not stream",
     DOWN,
     {WINDOW(65537)},
     BROKEN,
     "a WINDOW with an invalid value"},
    {"a WINDOW with a body",
     TALK,
     {FRAME(WINDOW, .deadline = 65536, BODY("x"))},
     BROKEN,
     "a body that is not allowed for the type of its frame"},
    {"a flag on a WINDOW",
     TALK,
     {FRAME(WINDOW, .flags = MORE, .deadline = 65536)},
     BROKEN,
     "a flag that is not allowed for the type of its frame"},
    {"a flag that a MESSAGE may not have",
     TALK,
     {FRAME(MESSAGE, .flags = VC__FRAME_OF_REPLY)},
     BROKEN,
     "a flag that is not allowed for the type of its frame"},
    {"a first part without a length",
     TALK,
     {FIRST("")},
     BROKEN,
     "a first part without the length of its message"},
    {"a first part of only its length",
     TALK,
     {FIRST("\x64\0\0\0")},
     BROKEN,
     "an invalid first part"},
    {"a first part longer than all",
     TALK,
     {FIRST("\x02\0\0\0abc")},
     BROKEN,
     "an invalid first part"},
    {"a first part that is all",
     TALK,
     {FIRST("\x03\0\0\0abc")},
     BROKEN,
     "an invalid first part"},
    {"a part with a gap before it",
     TALK,
     {FIRST("\x64\0\0\0abc"), DATA(4, MORE, "d")},
     BROKEN,
     "DATA that is not the next part"},
    {"a part a second time",
     TALK,
     {FIRST("\x64\0\0\0abc"), DATA(2, MORE, "c")},
     BROKEN,
     "DATA that is not the next part"},
    {"a part over the end",
     TALK,
     {FIRST("\x05\0\0\0abc"), DATA(3, 0, "def")},
     BROKEN,
     "DATA that is not the next part"},
    {"a part that says too early that it is the last",
     TALK,
     {FIRST("\x64\0\0\0abc"), DATA(3, 0, "d")},
     BROKEN,
     "DATA that is not the next part"},
    {"a part of nothing",
     TALK,
     {FIRST("\x64\0\0\0abc"), DATA(3, MORE, "")},
     BROKEN,
     "DATA that is not the next part"},
    {"parts that nothing began",
     TALK,
     {DATA(0, 0, "abc")},
     BROKEN,
     "DATA without a message"},
    {"parts of what the client sends",
     TALK,
     {FIRST("\x05\0\0\0abc"), FRAME(DATA, .deadline = 3, BODY("de"))},
     BROKEN,
     "a frame that no server sends"},
    {"a MESSAGE between the parts of one",
     TALK,
     {FIRST("\x64\0\0\0abc"), SAY("")},
     BROKEN,
     "a frame between the parts of a message"},
    {"a reply between the parts of a MESSAGE",
     TALK,
     {FIRST("\x64\0\0\0abc"), REPLY(VC_OK)},
     BROKEN,
     "a frame between the parts of a message"},
    {"a reply with a message where the server streams",
     TALK,
     {REPLY(VC_OK, BODY("\x08\x07"))},
     BROKEN,
     "a reply with a message where the server streams"},
    {"a reply in parts where the server streams",
     DOWN,
     {REPLY(VC_OK, .flags = MORE, BODY("\x64\0\0\0abc"))},
     BROKEN,
     "a reply with a message where the server streams"},
    {"an error reply in several parts",
     DOWN,
     {REPLY(VC_ABORTED, .flags = MORE, BODY("\x64\0\0\0abc"))},
     BROKEN,
     "an error reply in several parts"},
};

static void
what_breaks_the_rules_of_streams_ends_the_link(void **state)
{
    for (size_t i = 0; i < sizeof closing / sizeof closing[0]; i++)
        play_script(*state, &closing[i], true);
}

static const struct script over[] = {
    {"a MESSAGE behind the reply", TALK, {REPLY(VC_OK), SAY("")}, VC_OK, ""},
    {"a WINDOW behind the reply",
     TALK,
     {REPLY(VC_OK), WINDOW(65536)},
     VC_OK,
     ""},
    {"parts behind the reply",
     TALK,
     {REPLY(VC_OK), DATA(3, 0, "d")},
     VC_OK,
     ""},
    {"a reply behind the reply", TALK, {REPLY(VC_OK), REPLY(VC_OK)}, VC_OK, ""},
};

static void
what_comes_behind_the_reply_ends_the_link(void **state)
{
    for (size_t i = 0; i < sizeof over / sizeof over[0]; i++)
        play_script(*state, &over[i], true);
}

/* --- what ends the stream ----------------------------------------------- */

static const struct script ending[] = {
    {"a MESSAGE that is none",
     TALK,
     {SAY("\x0a"), REPLY(VC_OK)},
     VC_INTERNAL,
     "suite.Streams.Talk: a message cannot be unpacked as suite.EchoReply: "
     "suite.EchoReply: message ends within a field"},
    {"a MESSAGE of zeros, in parts",
     DOWN,
     {LONG(30000), REPLY(VC_OK)},
     VC_INTERNAL,
     "suite.Streams.Down: a message cannot be unpacked as suite.EchoReply: "
     "suite.EchoReply: field number is not within 1..2^29-1"},
    {"a MESSAGE that is none behind good ones",
     DOWN,
     {SAY(""), SAY("\x10\x07"), SAY("\x10"), REPLY(VC_OK)},
     VC_INTERNAL,
     "suite.Streams.Down: a message cannot be unpacked as suite.EchoReply: "
     "suite.EchoReply: varint is longer than 10 bytes or truncated"},
    {"a MESSAGE over the client's limit",
     DOWN,
     {LONG(65537), REPLY(VC_OK)},
     VC_RESOURCE_EXHAUSTED,
     "suite.Streams.Down: a message was dropped: it has 65537 bytes, the "
     "channel accepts 65536 at most (its max_message): raise it"},
    {"metadata with the first MESSAGE",
     TALK,
     {SAY_WITH("\1a\1\0b"), SAY(""), REPLY(VC_OK)},
     VC_OK,
     ""},
    {"metadata with the first MESSAGE, in parts",
     TALK,
     {FIRST_WITH("\1a\1\0b", "\x05\0\0\0\x0a\x03z"), DATA(3, 0, "zz"),
      REPLY(VC_OK)},
     VC_OK,
     ""},
    {"metadata with the second MESSAGE",
     DOWN,
     {SAY(""), SAY_WITH("\1a\1\0b"), SAY(""), REPLY(VC_OK)},
     VC_INTERNAL,
     "suite.Streams.Down: a message has metadata, which only the first message "
     "of a stream may have"},
    {"metadata with the second MESSAGE, in parts",
     DOWN,
     {SAY(""), FIRST_WITH("\1a\1\0b", "\x05\0\0\0\x0a\x03z"), DATA(3, 0, "zz"),
      REPLY(VC_OK)},
     VC_INTERNAL,
     "suite.Streams.Down: a message has metadata, which only the first message "
     "of a stream may have"},
    {"a MESSAGE with metadata that trail",
     TALK,
     {SAY_WITH("\x81"
               "a\1\0b"),
      REPLY(VC_OK)},
     VC_INTERNAL,
     "suite.Streams.Talk: a message has trailing metadata, which is not "
     "allowed here"},
    {"a MESSAGE with metadata that are cut short",
     DOWN,
     {SAY_WITH("\1a\2\0b"), REPLY(VC_OK)},
     VC_INTERNAL,
     "suite.Streams.Down: a message has truncated metadata"},
    {"a MESSAGE with a key that may not be",
     DOWN,
     {SAY_WITH("\1A\1\0b"), REPLY(VC_OK)},
     VC_INTERNAL,
     "suite.Streams.Down: a message has metadata with an invalid key"},
    {"a status that does not exist", TALK, {REPLY(999)}, VC_UNKNOWN, ""},
    {"a reply that is none",
     UP,
     {REPLY(VC_OK, BODY("\x0a"))},
     VC_INTERNAL,
     "suite.Streams.Up: the reply cannot be unpacked as suite.EchoReply: "
     "suite.EchoReply: message ends within a field"},
    {"an error behind messages",
     TALK,
     {SAY(""), SAY(""), REPLY(VC_ABORTED, BODY("so"))},
     VC_ABORTED,
     "so"},
    {"a WINDOW that says nothing new",
     TALK,
     {WINDOW(65536), SAY(""), REPLY(VC_OK)},
     VC_OK,
     ""},
    {"a WINDOW between the parts of a MESSAGE",
     TALK,
     {FIRST("\x05\0\0\0\x0a\x03z"), WINDOW(65536), DATA(3, 0, "zz"),
      REPLY(VC_OK)},
     VC_OK,
     ""},
};

static void
what_is_wrong_within_a_stream_ends_it_and_the_link_lives(void **state)
{
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        play_script(*state, &ending[i], false);
}

/* --- a reply after a stream has ended ------------------------------------ */

/* Not executed, and with metadata: another attempt could follow if nothing of
 * this one had come. */
static const struct script ended_again = {
    "a reply after a MESSAGE with metadata that trail",
    DOWN,
    {SAY_WITH("\x81"
              "a\1\0b"),
     REPLY(VC_UNAVAILABLE, .flags = VC__FRAME_NOT_EXECUTED,
           WITH("\x81"
                "c\1\0d"))},
    VC_INTERNAL,
    "a message has trailing metadata"};

/* The stream is open when the reply comes: that is before the call's. */
static void
a_stream_that_a_bad_message_has_ended_is_not_tried_again(void **state)
{
    struct fixture *f = *state;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc_counters before = VC_COUNTERS_INIT, after = VC_COUNTERS_INIT;
    struct vc_result result = VC_RESULT_INIT;
    struct stage s = {.attempts = 2};
    Suite__EchoReply *reply;
    struct vc_stream *stream;
    uint64_t calls = 0;

    script = &ended_again;
    vc_runtime_counters(f->runtime, &before);
    stage_start(&s, f, play_lives);
    assert_status(VC_OK, vc_stream_open(s.channel, &suite_streams_service, DOWN,
                                        &request, NULL, &stream));
    assert_status(VC_INTERNAL, vc_stream_receive(stream, (void **)&reply));
    assert_non_null(strstr(vc_error(), ended_again.words));
    assert_status(VC_OK, stage_call(&s, &calls));
    vc_runtime_counters(f->runtime, &after);
    assert_int_equal(before.calls_retried, after.calls_retried);
    assert_status(VC_OK, vc_stream_result(stream, &result));
    assert_int_equal(VC_INTERNAL, result.status);
    assert_int_equal(1, result.n_trailing);
    assert_string_equal("c", result.trailing[0].key);
    vc_result_clear(&result);
    vc_stream_close(stream);
    stage_end(&s, ended_again.what);
}

/* --- a server that returns no credits ------------------------------------ */

/* The client has credits for two packets. */
static bool
play_hoard(struct stage *s)
{
    struct vc__frame call;

    s->r.hoards = true;
    return stage_accept_well(s, 3) && stage_take_call(&s->r, &call) &&
           raw_wait(&s->r, RAW_MS) != RAW_NOTHING;
}

static void
a_long_message_that_is_not_taken_ends_at_its_deadline(void **state)
{
    static uint8_t bytes[60000];
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct stage s = {.len = 0};
    struct vc_stream *stream;
    uint64_t start = fixture_ms();

    opts.timeout_ms = 300;
    request.payload.data = bytes;
    request.payload.len = sizeof bytes;
    stage_start(&s, *state, play_hoard);
    assert_status(VC_OK, vc_stream_open(s.channel, &suite_streams_service, TALK,
                                        NULL, &opts, &stream));
    assert_status(VC_DEADLINE_EXCEEDED, vc_stream_send(stream, &request));
    assert_true(fixture_ms() - start >= 290);
    assert_in_range(pace_since(start), 0, 800);
    vc_stream_close(stream);
    stage_end(&s, "a server that takes nothing");
}

#define T(name) hostile_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_breaks_the_rules_of_streams_ends_the_link),
        T(what_comes_behind_the_reply_ends_the_link),
        T(a_long_message_that_is_not_taken_ends_at_its_deadline),
        T(what_is_wrong_within_a_stream_ends_it_and_the_link_lives),
        T(a_stream_that_a_bad_message_has_ended_is_not_tried_again),
    };

    return fixture_main(tests);
}
