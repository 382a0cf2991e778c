/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bad clients of streams: malformed, repeated and unexpected frames. Each case
 * ends as described in doc/wire.md, 5; other clients are served, and no handler
 * is left. Bad servers are in test_hostile_stream_replies.c. */
#include "tests/suite/hostile.h"

#include <string.h>

#include "tests/suite/streams.h"

/* --- steps ------------------------------------------------------------- */

/* Steps of a script besides frames; no frame type has these numbers. */
enum {
    LONG_ = 0xf0, /* a MESSAGE of this many zeros, in parts */
    REPLIED_,     /* wait for the reply to this call */
    SAID_,        /* wait for a message of this call */
};

#define STREAMS_ (VC__FRAME_CLIENT_STREAM | VC__FRAME_SERVER_STREAM)
#define MORE     VC__FRAME_MORE
#define FRAME_IN(session_, type_, slot_, sequence_, ...)                       \
    {                                                                          \
        .type = VC__FRAME_##type_, .session = (session_), .slot = (slot_),     \
        .sequence = (sequence_), ##__VA_ARGS__                                 \
    }
#define FRAME(...) FRAME_IN(1, __VA_ARGS__)
#define CALL_IN(session_, slot_, sequence_, method_, flags_, ...)              \
    FRAME_IN(session_, CALL, slot_, sequence_, .method = (method_),            \
             .flags = (flags_), .deadline = VC__DEADLINE_NONE, ##__VA_ARGS__)
#define CALL(...)  CALL_IN(1, __VA_ARGS__)
#define CALL_TALK  CALL(0, 1, TALK, STREAMS_)
#define CALL_UP    CALL(0, 1, UP, VC__FRAME_CLIENT_STREAM)
#define CALL_COUNT CALL_IN(2, 0, 1, 3, 0)
/* A Down that sends as long as it can. */
#define CALL_DOWN                                                              \
    CALL(0, 1, DOWN, VC__FRAME_SERVER_STREAM, BODY("\x10\xc0\x84\x3d"))
#define SAY(body)   FRAME(MESSAGE, 0, 1, BODY(body))
#define FIRST(body) FRAME(MESSAGE, 0, 1, .flags = MORE, BODY(body))
#define HALF()      FRAME(HALF, 0, 1)
#define WINDOW(end) FRAME(WINDOW, 0, 1, .deadline = (end))
#define CANCEL()    FRAME(CANCEL, 0, 1)
#define DATA(at, flags_, body)                                                 \
    FRAME(DATA, 0, 1, .flags = (flags_), .deadline = (at), BODY(body))
#define LONG(len)                                                              \
    {                                                                          \
        .type = LONG_, .session = 1, .sequence = 1, .body_len = (len)          \
    }
#define REPLIED                                                                \
    {                                                                          \
        .type = REPLIED_, .session = 1, .sequence = 1                          \
    }
#define SAID                                                                   \
    {                                                                          \
        .type = SAID_, .session = 1, .sequence = 1                             \
    }
/* A Talk that reads no more, and runs until it is cancelled. */
#define CALL_BUSY CALL_TALK, SAY("\x18\x02"), SAID
/* A Talk that has failed. */
#define CALL_OVER CALL_TALK, SAY("\x18\x01"), REPLIED

#define STEPS 7

struct script {
    const char *what;
    struct vc__frame steps[STEPS];
};

/* A script that ends the link, with an error that contains `breach`. */
struct closing {
    const char *what;
    struct vc__frame steps[STEPS];
    const char *breach;
};

/* A script that is ended by a reply to its first call. */
struct ending {
    const char *what;
    struct vc__frame steps[STEPS];
    enum vc_status status;
    unsigned flags;
};

static bool
step(struct raw *r, const struct vc__frame *s)
{
    static const uint8_t zeros[65536];
    struct vc__frame f;

    switch (s->type) {
    case LONG_:
        f = *s;
        f.type = VC__FRAME_MESSAGE;
        return raw_send_message(r, f, zeros, s->body_len);
    case REPLIED_:
        return hostile_await_frame(r, VC__FRAME_REPLY, s, &f);
    case SAID_:
        return hostile_await_frame(r, VC__FRAME_MESSAGE, s, &f);
    default:
        return raw_send_frame(r, *s);
    }
}

/* Opens session 1 for suite.Streams and session 2 for suite.Probe. */
static void
open_sessions(struct fixture *f, struct raw *r)
{
    hostile_open(f, r);
    assert_true(raw_send_open(r, 1, &suite_streams_service));
    assert_true(raw_send_open(r, 2, &suite_probe_service));
}

/* Plays a script. False when the link ended during it. */
static bool
play(struct fixture *f, struct raw *r, const struct vc__frame *steps)
{
    open_sessions(f, r);
    for (size_t i = 0; i < STEPS; i++)
        if (steps[i].type != 0 && !step(r, &steps[i]))
            return false;
    return true;
}

/* --- results ----------------------------------------------------------- */

/* Checks that the link still serves a call of another session, and that other
 * clients are not harmed. */
static void
lives(struct fixture *f, struct raw *r, const char *after)
{
    struct vc__frame call = CALL_IN(2, 9, 1, 3, 0), reply;

    if (!raw_send_frame(r, call) ||
        !hostile_await_frame(r, VC__FRAME_REPLY, &call, &reply))
        fail_msg("after %s the link is dead", after);
    assert_int_equal(VC_OK, reply.method);
    raw_close(r);
    hostile_no_harm(f, after);
}

#define N(table) (sizeof(table) / sizeof((table)[0]))

static void
play_closed(struct fixture *f, const struct closing *scripts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct raw r = {0};

        play(f, &r, scripts[i].steps);
        hostile_closed(f, &r, scripts[i].what, scripts[i].breach);
    }
}

static void
play_lives(struct fixture *f, const struct script *scripts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct raw r = {0};

        if (!play(f, &r, scripts[i].steps))
            fail_msg("%s: the link ended", scripts[i].what);
        lives(f, &r, scripts[i].what);
    }
}

static void
play_ends(struct fixture *f, const struct ending *scripts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct ending *s = &scripts[i];
        struct vc__frame reply;
        struct raw r = {0};

        if (!play(f, &r, s->steps) ||
            !hostile_await_frame(&r, VC__FRAME_REPLY, &s->steps[0], &reply))
            fail_msg("%s was not answered", s->what);
        /* The handler may not have begun when the CANCEL arrives. */
        if (reply.method == VC_CANCELLED)
            reply.flags &= s->flags;
        if (reply.method != s->status || reply.flags != s->flags)
            fail_msg("%s was answered by %s with flags %u: %.*s", s->what,
                     vc_status_name((enum vc_status)reply.method), reply.flags,
                     (int)reply.body_len, (const char *)reply.body);
        lives(f, &r, s->what);
    }
}

/* --- frames of no stream ----------------------------------------------- */

static const struct closing strays[] = {
    {"a MESSAGE of a session that is not open",
     {FRAME_IN(3, MESSAGE, 0, 1)},
     "a frame of a session that was never open"},
    {"a HALF of a session that is not open",
     {FRAME_IN(3, HALF, 0, 1)},
     "a frame of a session that was never open"},
    {"a WINDOW of a session that is not open",
     {FRAME_IN(3, WINDOW, 0, 1)},
     "a frame of a session that was never open"},
    {"DATA of a session that is not open",
     {FRAME_IN(3, DATA, 0, 1, BODY("x"))},
     "a frame of a session that was never open"},
    {"a MESSAGE of session 0",
     {FRAME_IN(0, MESSAGE, 0, 1)},
     "a frame of a session that was never open"},
    {"a MESSAGE of the last session there could be",
     {FRAME_IN(UINT32_MAX, MESSAGE, 0, 1)},
     "a frame of a session that was never open"},
    {"a MESSAGE in a slot never used",
     {FRAME(MESSAGE, 7, 1)},
     "a frame of an unknown stream"},
    {"a HALF in a slot never used",
     {FRAME(HALF, 7, 1)},
     "a frame of an unknown stream"},
    {"a WINDOW in a slot never used",
     {FRAME(WINDOW, 7, 1)},
     "a frame of an unknown stream"},
    {"a MESSAGE in a slot over the limit",
     {FRAME(MESSAGE, 256, 1)},
     "a frame of an unknown stream"},
    {"a HALF in the last slot there could be",
     {FRAME(HALF, UINT16_MAX, 1)},
     "a frame of an unknown stream"},
    {"a WINDOW in a slot over the limit",
     {FRAME(WINDOW, 256, 1)},
     "a frame of an unknown stream"},
    {"a MESSAGE of a unary call",
     {CALL_COUNT, FRAME_IN(2, MESSAGE, 0, 1)},
     "a frame of an unknown stream"},
    {"a HALF of a unary call",
     {CALL_COUNT, FRAME_IN(2, HALF, 0, 1)},
     "a frame of an unknown stream"},
    {"a WINDOW of a unary call",
     {CALL_COUNT, FRAME_IN(2, WINDOW, 0, 1, .deadline = 65536)},
     "a frame of an unknown stream"},
    {"a MESSAGE of the next call",
     {CALL_BUSY, FRAME(MESSAGE, 0, 2)},
     "a frame of an unknown stream"},
    {"a HALF of the next call",
     {CALL_BUSY, FRAME(HALF, 0, 2)},
     "a frame of an unknown stream"},
    {"a WINDOW of the next call",
     {CALL_BUSY, FRAME(WINDOW, 0, 2)},
     "a frame of an unknown stream"},
    {"DATA of the next call",
     {CALL_BUSY, FRAME(DATA, 0, 2, BODY("x"))},
     "DATA without a message"},
    {"a MESSAGE while the request is still coming",
     {CALL(0, 1, DOWN, VC__FRAME_SERVER_STREAM | MORE, BODY("\x64\0\0\0abc")),
      SAY("")},
     "a frame between the parts of a message"},
    {"a WINDOW while the request is still coming",
     {CALL(0, 1, DOWN, VC__FRAME_SERVER_STREAM | MORE, BODY("\x64\0\0\0abc")),
      WINDOW(65536)},
     "a frame between the parts of a message"},
};

static void
a_frame_of_no_stream_ends_the_link(void **state)
{
    play_closed(*state, strays, N(strays));
}

/* --- unexpected frames ------------------------------------------------- */

static const struct closing out_of_turn[] = {
    {"a MESSAGE behind a HALF",
     {CALL_BUSY, HALF(), SAY("")},
     "a MESSAGE of a client that has half-closed or does not stream"},
    {"a HALF behind a HALF",
     {CALL_BUSY, HALF(), HALF()},
     "a HALF of a client that has half-closed or does not stream"},
    {"the beginning of a MESSAGE behind a HALF",
     {CALL_BUSY, HALF(), FIRST("\x64\0\0\0abc")},
     "a MESSAGE of a client that has half-closed or does not stream"},
    {"a MESSAGE of a client that does not stream",
     {CALL_DOWN, SAID, SAY("")},
     "a MESSAGE of a client that has half-closed or does not stream"},
    {"the beginning of one",
     {CALL_DOWN, SAID, FIRST("\x64\0\0\0abc")},
     "a MESSAGE of a client that has half-closed or does not stream"},
    {"a HALF of a client that does not stream",
     {CALL_DOWN, SAID, HALF()},
     "a HALF of a client that has half-closed or does not stream"},
    {"a CALL in the slot of a stream that runs",
     {CALL_BUSY, CALL(0, 2, TALK, STREAMS_)},
     "a slot that is not free"},
    {"a CALL repeated while its stream runs",
     {CALL_BUSY, CALL_TALK},
     "a duplicate CALL"},
    {"a CALL between the parts of a MESSAGE",
     {CALL_BUSY, FIRST("\x64\0\0\0abc"), CALL(0, 2, TALK, STREAMS_)},
     "a slot that is not free"},
    {"a CANCEL of the next call while a stream runs",
     {CALL_BUSY, FRAME(CANCEL, 0, 2)},
     "a slot that is not free"},
    {"a CANCEL of a call far in the future",
     {CALL_BUSY, FRAME(CANCEL, 0, 9)},
     "a call out of sequence"},
    {"a CANCEL of a call from before",
     {CALL_BUSY, FRAME(CANCEL, 0, 0)},
     "a call out of sequence"},
    {"a CALL whose client streams, with a message",
     {CALL(0, 1, TALK, STREAMS_, BODY("x"))},
     "a message in the CALL of a client that streams"},
    {"a CALL whose client streams, with the beginning of a message",
     {CALL(0, 1, UP, VC__FRAME_CLIENT_STREAM | MORE, BODY("\x64\0\0\0abc"))},
     "a message in the CALL of a client that streams"},
    {"a flag that a MESSAGE may not have",
     {CALL_BUSY, FRAME(MESSAGE, 0, 1, .flags = VC__FRAME_CLIENT_STREAM)},
     "a flag that is not allowed for the type of its frame"},
    {"a flag on a HALF",
     {CALL_BUSY, FRAME(HALF, 0, 1, .flags = MORE)},
     "a flag that is not allowed for the type of its frame"},
    {"a flag on a WINDOW",
     {CALL_BUSY, FRAME(WINDOW, 0, 1, .flags = VC__FRAME_OF_REPLY)},
     "a flag that is not allowed for the type of its frame"},
    {"a HALF with a body",
     {CALL_BUSY, FRAME(HALF, 0, 1, BODY("x"))},
     "a body that is not allowed for the type of its frame"},
    {"a WINDOW with a body",
     {CALL_BUSY, FRAME(WINDOW, 0, 1, .deadline = 65536, BODY("x"))},
     "a body that is not allowed for the type of its frame"},
};

static void
a_frame_out_of_turn_ends_the_link(void **state)
{
    play_closed(*state, out_of_turn, N(out_of_turn));
}

/* --- parts ------------------------------------------------------------- */

static const struct closing parts[] = {
    {"a first part without a length",
     {CALL_BUSY, FIRST("")},
     "a first part without the length of its message"},
    {"a first part of only its length",
     {CALL_BUSY, FIRST("\x64\0\0\0")},
     "an invalid first part"},
    {"a first part of nothing",
     {CALL_BUSY, FIRST("\0\0\0\0abc")},
     "an invalid first part"},
    {"a first part longer than all",
     {CALL_BUSY, FIRST("\x02\0\0\0abc")},
     "an invalid first part"},
    {"a first part that is all",
     {CALL_BUSY, FIRST("\x03\0\0\0abc")},
     "an invalid first part"},
    {"a part with a gap before it",
     {CALL_BUSY, FIRST("\x64\0\0\0abc"), DATA(4, MORE, "d")},
     "DATA that is not the next part"},
    {"a part a second time",
     {CALL_BUSY, FIRST("\x64\0\0\0abc"), DATA(2, MORE, "c")},
     "DATA that is not the next part"},
    {"a part over the end",
     {CALL_BUSY, FIRST("\x05\0\0\0abc"), DATA(3, 0, "def")},
     "DATA that is not the next part"},
    {"a part that says too early that it is the last",
     {CALL_BUSY, FIRST("\x64\0\0\0abc"), DATA(3, 0, "d")},
     "DATA that is not the next part"},
    {"a part that does not say that it is the last",
     {CALL_BUSY, FIRST("\x05\0\0\0abc"), DATA(3, MORE, "de")},
     "DATA that is not the next part"},
    {"a part of nothing",
     {CALL_BUSY, FIRST("\x64\0\0\0abc"), DATA(3, MORE, "")},
     "DATA that is not the next part"},
    {"a part of what the server sends",
     {CALL_BUSY, FIRST("\x05\0\0\0abc"), DATA(3, VC__FRAME_OF_REPLY, "de")},
     "DATA of a reply"},
    {"parts that nothing began",
     {CALL_BUSY, DATA(0, 0, "abc")},
     "DATA without a message"},
    {"parts behind the last",
     {CALL_BUSY, FIRST("\x05\0\0\0abc"), DATA(3, 0, "de"), DATA(5, 0, "f")},
     "DATA without a message"},
    {"a MESSAGE between the parts of one",
     {CALL_BUSY, FIRST("\x64\0\0\0abc"), SAY("")},
     "a frame between the parts of a message"},
    {"the beginning of another between the parts of a MESSAGE",
     {CALL_BUSY, FIRST("\x64\0\0\0abc"), FIRST("\x64\0\0\0abc")},
     "a frame between the parts of a message"},
    {"a HALF between the parts of a MESSAGE",
     {CALL_BUSY, FIRST("\x64\0\0\0abc"), HALF()},
     "a frame between the parts of a message"},
};

static void
bad_parts_of_a_message_end_the_link(void **state)
{
    play_closed(*state, parts, N(parts));
}

/* --- windows ----------------------------------------------------------- */

/* The first message of a busy Talk costs 34 bytes of the window; these fill the
 * rest. */
#define FILL_1 LONG(32719)
#define FILL_2 LONG(32719)

static const struct closing windows[] = {
    {"a WINDOW that takes a byte back",
     {CALL_BUSY, WINDOW(65535)},
     "a WINDOW with an invalid value"},
    {"a WINDOW that takes all back",
     {CALL_BUSY, WINDOW(0)},
     "a WINDOW with an invalid value"},
    {"a WINDOW one beyond what may be",
     {CALL_TALK, WINDOW(65537)},
     "a WINDOW with an invalid value"},
    {"a WINDOW that is the last number",
     {CALL_TALK, WINDOW(UINT32_MAX)},
     "a WINDOW with an invalid value"},
    {"a WINDOW half around",
     {CALL_TALK, WINDOW(0x80000000)},
     "a WINDOW with an invalid value"},
    {"a WINDOW as far as a signed number goes",
     {CALL_TALK, WINDOW(INT32_MAX)},
     "a WINDOW with an invalid value"},
    {"a WINDOW for a server that does not stream",
     {CALL_UP, WINDOW(65537)},
     "a WINDOW with an invalid value"},
    {"a MESSAGE one byte over the window",
     {CALL_BUSY, FILL_1, LONG(32720)},
     "a MESSAGE over its window"},
    {"a MESSAGE of nothing over the window",
     {CALL_BUSY, FILL_1, FILL_2, SAY("")},
     "a MESSAGE over its window"},
    {"the beginning of a MESSAGE over the window",
     {CALL_BUSY, FILL_1, FILL_2, FIRST("\x64\0\0\0abc")},
     "a MESSAGE over its window"},
    {"a long MESSAGE with less than half a window",
     {CALL_BUSY, LONG(32760), LONG(60000)},
     "a MESSAGE over its window"},
};

static void
what_is_over_a_window_ends_the_link(void **state)
{
    play_closed(*state, windows, N(windows));
}

/* --- what is dropped --------------------------------------------------- */

#define NEXT CALL(0, 2, TALK, STREAMS_)

static const struct script dropped[] = {
    {"a MESSAGE behind the reply", {CALL_OVER, SAY("")}},
    {"a bad MESSAGE behind the reply", {CALL_OVER, SAY("\x0a")}},
    {"a HALF behind the reply", {CALL_OVER, HALF(), HALF()}},
    {"a WINDOW behind the reply", {CALL_OVER, WINDOW(7)}},
    {"DATA behind the reply", {CALL_OVER, DATA(3, 0, "d")}},
    {"a MESSAGE of the call before", {CALL_OVER, NEXT, SAY(""), SAY("")}},
    {"a HALF of the call before", {CALL_OVER, NEXT, HALF(), HALF()}},
    {"a WINDOW of the call before", {CALL_OVER, NEXT, WINDOW(7)}},
    {"DATA of the call before", {CALL_OVER, NEXT, DATA(3, 0, "d")}},
    {"a MESSAGE of which a part comes behind the reply",
     {CALL_TALK, SAY("\x18\x01"), FIRST("\x05\0\0\0abc"), REPLIED,
      DATA(3, 0, "de")}},
    {"a CANCEL behind the reply", {CALL_OVER, CANCEL()}},
    {"CANCELs behind the reply", {CALL_OVER, CANCEL(), CANCEL(), CANCEL()}},
    {"CANCELs of a stream that runs",
     {CALL_BUSY, CANCEL(), CANCEL(), CANCEL()}},
    {"a CANCEL, and messages behind it",
     {CALL_BUSY, CANCEL(), SAY(""), HALF(), WINDOW(7)}},
    {"a MESSAGE of a session that is closed",
     {CALL_BUSY, FRAME(CLOSE, 0, 2), SAY(""), HALF()}},
    {"a WINDOW that says nothing new", {CALL_TALK, WINDOW(65536), SAY("")}},
    {"a WINDOW between the parts of a MESSAGE",
     {CALL_TALK, FIRST("\x05\0\0\0\x0a\x03z"), WINDOW(65536), DATA(3, 0, "zz"),
      SAID}},
    {"messages that just fit the window", {CALL_BUSY, FILL_1, FILL_2}},
    {"a long MESSAGE with just half a window",
     {CALL_BUSY, LONG(32702), LONG(60000)}},
};

static void
what_comes_late_is_dropped_and_the_link_lives(void **state)
{
    play_lives(*state, dropped, N(dropped));
}

/* --- what ends the call ------------------------------------------------ */

#define UNRUN VC__FRAME_NOT_EXECUTED

static const struct ending endings[] = {
    {"a MESSAGE that is none",
     {CALL_TALK, SAY("\x0a")},
     VC_INVALID_ARGUMENT,
     0},
    {"a MESSAGE of zeros, in parts",
     {CALL_UP, LONG(30000)},
     VC_INVALID_ARGUMENT,
     0},
    {"a bad MESSAGE behind good ones",
     {CALL_UP, SAY("\x0a\x01z"), SAY(""), SAY("\x12")},
     VC_INVALID_ARGUMENT,
     0},
    {"stream flags for a unary method",
     {CALL_IN(2, 0, 1, 3, STREAMS_)},
     VC_UNIMPLEMENTED,
     UNRUN},
    {"no stream flags for a method that streams",
     {CALL(0, 1, TALK, 0)},
     VC_UNIMPLEMENTED,
     UNRUN},
    {"one stream flag for two",
     {CALL(0, 1, TALK, VC__FRAME_CLIENT_STREAM), SAY(""), HALF()},
     VC_UNIMPLEMENTED,
     UNRUN},
    {"two stream flags for one",
     {CALL(0, 1, DOWN, STREAMS_), SAY(""), WINDOW(65536)},
     VC_UNIMPLEMENTED,
     UNRUN},
    {"the other stream flag",
     {CALL(0, 1, UP, VC__FRAME_SERVER_STREAM)},
     VC_UNIMPLEMENTED,
     UNRUN},
    {"a stream of a method out of range",
     {CALL(0, 1, 3, STREAMS_), SAY("\x0a")},
     VC_UNIMPLEMENTED,
     UNRUN},
    {"a stream with a deadline of 0",
     {FRAME(CALL, 0, 1, .method = TALK, .flags = STREAMS_), SAY(""), HALF()},
     VC_DEADLINE_EXCEEDED,
     UNRUN},
    {"a bad request of a stream",
     {CALL(0, 1, DOWN, VC__FRAME_SERVER_STREAM, BODY("\x0a"))},
     VC_INVALID_ARGUMENT,
     UNRUN},
    {"a bad request of a stream, in parts",
     {CALL(0, 1, DOWN, VC__FRAME_SERVER_STREAM | MORE, BODY("\x05\0\0\0abc")),
      DATA(3, 0, "de")},
     VC_INVALID_ARGUMENT,
     UNRUN},
    {"a CANCEL", {CALL_TALK, CANCEL()}, VC_CANCELLED, 0},
    {"a CANCEL of one that waits for a window",
     {CALL_BUSY, CANCEL()},
     VC_CANCELLED,
     0},
    {"a CANCEL between the parts of a MESSAGE",
     {CALL_BUSY, FIRST("\x64\0\0\0abc"), CANCEL(), DATA(3, MORE, "d")},
     VC_CANCELLED,
     0},
    {"a CANCEL of a call that never came",
     {FRAME(CANCEL, 0, 1)},
     VC_CANCELLED,
     UNRUN},
    {"a CANCEL between the parts of the request",
     {CALL(0, 1, DOWN, VC__FRAME_SERVER_STREAM | MORE, BODY("\x05\0\0\0abc")),
      CANCEL(), DATA(3, MORE, "d"), DATA(4, 0, "e")},
     VC_CANCELLED,
     UNRUN},
};

static void
what_is_wrong_within_a_stream_ends_it_and_the_link_lives(void **state)
{
    play_ends(*state, endings, N(endings));
}

#define T(name) hostile_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_frame_of_no_stream_ends_the_link),
        T(a_frame_out_of_turn_ends_the_link),
        T(bad_parts_of_a_message_end_the_link),
        T(what_is_over_a_window_ends_the_link),
        T(what_comes_late_is_dropped_and_the_link_lives),
        T(what_is_wrong_within_a_stream_ends_it_and_the_link_lives),
    };

    return fixture_main(tests);
}
