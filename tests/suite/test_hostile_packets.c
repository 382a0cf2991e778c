/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bad clients after connecting: a violation of the rules of packets and frames
 * ends the client's link (doc/wire.md, 5), and other clients are not
 * affected. */
#include "tests/suite/reach.h"

#include <string.h>

#include "transport/wire/credit.h"

/* The index of Count in suite.Probe. */
#define COUNT 3

/* --- one packet -------------------------------------------------------- */

#define PROBE "\x0b\0suite.Probe"

#define OPEN(session_, sequence_, body)                                        \
    {                                                                          \
        .type = VC__FRAME_OPEN, .session = (session_),                         \
        .sequence = (sequence_), BODY(body)                                    \
    }
#define GOOD_OPEN OPEN(1, 1, PROBE "\0\0")

/* The server's errors. */
#define NO_HEADER    "a packet without a header"
#define NO_OPEN      "a first packet without an OPEN"
#define OVER_END     "beyond the end of its packet"
#define BEHIND_LAST  "bytes after the last frame"
#define OUT_OF_ORDER "a packet out of sequence"
#define NEVER_SENT   "an acknowledgement of packets that were never sent"
#define UNKNOWN_TYPE "a frame of an unknown type"
#define BAD_FLAG     "a flag that is not allowed for the type of its frame"
#define NOT_FIRST    "a first frame that opens no session"
#define NEVER_OPEN   "a frame of a session that was never open"
#define NO_NUMBER    "an OPEN of a session out of range"
#define OLD_OPEN     "an OPEN with an old binding"
#define BAD_OPEN     "an OPEN with a malformed body"

static const struct hostile_packet first_packets[] = {
    {"nothing in the packet", .longer = -12, .breach = NO_HEADER},
    {"a packet one byte too short for its header", .longer = -1,
     .breach = NO_HEADER},
    {"a first packet without frames", .n = 0, .breach = NO_OPEN},
    {"a header that counts a frame too much", .n = 1, .frames = {GOOD_OPEN},
     .count = 1, .breach = OVER_END},
    {"a header that counts a frame too few", .n = 2,
     .frames = {GOOD_OPEN, OPEN(2, 2, PROBE "\0\0")}, .count = -1,
     .breach = BEHIND_LAST},
    {"a byte behind the last frame", .n = 1, .frames = {GOOD_OPEN}, .longer = 1,
     .breach = BEHIND_LAST},
    {"a frame cut in its body", .n = 1, .frames = {GOOD_OPEN}, .longer = -1,
     .breach = OVER_END},
    {"a frame cut in its header", .n = 1, .frames = {{.type = VC__FRAME_OPEN}},
     .longer = -1, .breach = OVER_END},
    {"metadata over the end", .n = 1,
     .frames = {{.type = VC__FRAME_OPEN,
                 .session = 1,
                 .sequence = 1,
                 .metadata_len = 1}},
     .breach = OVER_END},
    {"the longest metadata", .n = 1,
     .frames = {{.type = VC__FRAME_OPEN,
                 .session = 1,
                 .sequence = 1,
                 .metadata_len = UINT16_MAX}},
     .breach = OVER_END},
    {"a link sequence with a gap", .n = 1, .frames = {GOOD_OPEN}, .sequence = 1,
     .breach = OUT_OF_ORDER},
    {"a link sequence from behind", .n = 1, .frames = {GOOD_OPEN},
     .sequence = -1, .breach = OUT_OF_ORDER},
    {"word of a packet that was never sent", .n = 1, .frames = {GOOD_OPEN},
     .ack = 1, .breach = NEVER_SENT},
    {"word of packets from behind", .n = 1, .frames = {GOOD_OPEN}, .ack = -1,
     .breach = "an acknowledgement number that decreases"},
    {"a credit taken back", .n = 1, .frames = {GOOD_OPEN}, .window = -1,
     .breach = "a credit limit that decreases"},
    {"frame type 0", .n = 1, .frames = {{.type = 0}}, .breach = UNKNOWN_TYPE},
    {"frame type 12", .n = 1, .frames = {{.type = VC__FRAME_WINDOW + 1}},
     .breach = UNKNOWN_TYPE},
    {"frame type 255", .n = 1, .frames = {{.type = 255}},
     .breach = UNKNOWN_TYPE},
    {"a flag on an OPEN", .n = 1,
     .frames = {{.type = VC__FRAME_OPEN,
                 .flags = VC__FRAME_MORE,
                 .session = 1,
                 .sequence = 1,
                 BODY(PROBE "\0\0")}},
     .breach = BAD_FLAG},
    {"an unknown flag", .n = 1,
     .frames = {{.type = VC__FRAME_OPEN,
                 .flags = 0x80,
                 .session = 1,
                 .sequence = 1,
                 BODY(PROBE "\0\0")}},
     .breach = BAD_FLAG},
    {"a CALL first", .n = 1,
     .frames = {{.type = VC__FRAME_CALL, .session = 1, .sequence = 1}},
     .breach = NOT_FIRST},
    {"DATA first", .n = 1,
     .frames = {{.type = VC__FRAME_DATA, .session = 1, BODY("x")}},
     .breach = NOT_FIRST},
    {"a REPLY first", .n = 1,
     .frames = {{.type = VC__FRAME_REPLY, .session = 1, .sequence = 1}},
     .breach = NOT_FIRST},
    {"a MESSAGE first", .n = 1,
     .frames = {{.type = VC__FRAME_MESSAGE, .session = 1, .sequence = 1}},
     .breach = NOT_FIRST},
    {"a CLOSE first", .n = 1,
     .frames = {{.type = VC__FRAME_CLOSE, .session = 1, .sequence = 1}},
     .breach = NEVER_OPEN},
    {"an OPEN of session 0", .n = 1, .frames = {OPEN(0, 1, PROBE "\0\0")},
     .breach = NO_NUMBER},
    {"an OPEN of a session over the limit", .n = 1,
     .frames = {OPEN(16385, 1, PROBE "\0\0")}, .breach = NO_NUMBER},
    {"an OPEN of the last session there could be", .n = 1,
     .frames = {OPEN(UINT32_MAX, 1, PROBE "\0\0")}, .breach = NO_NUMBER},
    {"an OPEN with binding 0", .n = 1, .frames = {OPEN(1, 0, PROBE "\0\0")},
     .breach = OLD_OPEN},
    {"an OPEN without a body", .n = 1, .frames = {OPEN(1, 1, "")},
     .breach = BAD_OPEN},
    {"an OPEN without a name", .n = 1, .frames = {OPEN(1, 1, "\0\0\0\0")},
     .breach = BAD_OPEN},
    {"an OPEN whose name ends behind it", .n = 1,
     .frames = {OPEN(1, 1, "\x0e\0suite.Probe\0\0")}, .breach = BAD_OPEN},
    {"an OPEN with the longest name", .n = 1,
     .frames = {OPEN(1, 1, "\xff\xffsuite.Probe\0\0")}, .breach = BAD_OPEN},
    {"an OPEN without a number of methods", .n = 1,
     .frames = {OPEN(1, 1, PROBE)}, .breach = BAD_OPEN},
    {"an OPEN with methods missing", .n = 1,
     .frames = {OPEN(1, 1, PROBE "\x02\0abcd")}, .breach = BAD_OPEN},
    {"an OPEN with the most methods, missing", .n = 1,
     .frames = {OPEN(1, 1, PROBE "\xff\xff")}, .breach = BAD_OPEN},
    {"an OPEN with a byte behind its methods", .n = 1,
     .frames = {OPEN(1, 1, PROBE "\x01\0abcde")}, .breach = BAD_OPEN},
    {"an OPEN twice", .n = 2, .frames = {GOOD_OPEN, GOOD_OPEN},
     .breach = OLD_OPEN},
};

/* A server that detects a violation before the CM reports the connection must
 * not wait for its timer, which takes a second. */
static void
a_bad_first_packet_ends_the_link_and_mostly_at_once(void **state)
{
    const size_t n = sizeof first_packets / sizeof first_packets[0];
    size_t slow = 0;

    for (size_t i = 0; i < n; i++) {
        struct raw r = {0};

        hostile_open(*state, &r);
        assert_true(hostile_send(&r, &first_packets[i]));
        slow += hostile_closed(*state, &r, first_packets[i].what,
                               first_packets[i].breach) > 800;
    }
    assert_in_range(slow, 0, n / 8);
}

#define CALL_WITH(session_, slot_, sequence_, ...)                             \
    {                                                                          \
        .type = VC__FRAME_CALL, .session = (session_), .slot = (slot_),        \
        .sequence = (sequence_), .method = COUNT,                              \
        .deadline = VC__DEADLINE_NONE, __VA_ARGS__                             \
    }
#define CALL(session_, slot_, sequence_)                                       \
    CALL_WITH(session_, slot_, sequence_, .flags = 0)
#define FIRST_OF(body) CALL_WITH(1, 0, 1, .flags = VC__FRAME_MORE, BODY(body))
#define DATA(slot_, sequence_, at, flags_, body)                               \
    {                                                                          \
        .type = VC__FRAME_DATA, .flags = (flags_), .session = 1,               \
        .slot = (slot_), .sequence = (sequence_), .deadline = (at), BODY(body) \
    }
#define CANCEL(session_, slot_, sequence_)                                     \
    {                                                                          \
        .type = VC__FRAME_CANCEL, .session = (session_), .slot = (slot_),      \
        .sequence = (sequence_)                                                \
    }
#define MORE VC__FRAME_MORE

/* Further errors of the server. */
#define NO_SLOT     "a slot over the limit"
#define NOT_FREE    "a slot that is not free"
#define NOT_IN_TURN "a call out of sequence"
#define SECOND_TIME "a duplicate CALL"
#define NO_LENGTH   "a first part without the length of its message"
#define NO_PART     "an invalid first part"
#define OF_NONE     "DATA without a message"
#define NOT_NEXT    "DATA that is not the next part"
#define NO_PING     "an answer without a PING"

static const struct hostile_packet later_packets[] = {
    {"a link sequence with a gap", .n = 1, .frames = {CALL(1, 0, 1)},
     .sequence = 1, .breach = OUT_OF_ORDER},
    {"a link sequence a second time", .n = 1, .frames = {CALL(1, 0, 1)},
     .sequence = -1, .breach = OUT_OF_ORDER},
    {"word of packets that were never sent", .ack = 1000, .breach = NEVER_SENT},
    {"the OPEN of its session a second time", .n = 1, .frames = {GOOD_OPEN},
     .breach = OLD_OPEN},
    {"a further OPEN of session 0", .n = 1,
     .frames = {OPEN(0, 1, PROBE "\0\0")}, .breach = NO_NUMBER},
    {"a further OPEN over the limit", .n = 1,
     .frames = {OPEN(16385, 1, PROBE "\0\0")}, .breach = NO_NUMBER},
    {"a CALL of session 0", .n = 1, .frames = {CALL(0, 0, 1)},
     .breach = NEVER_OPEN},
    {"a CALL of a session that is not open", .n = 1, .frames = {CALL(2, 0, 1)},
     .breach = NEVER_OPEN},
    {"a CALL of the last session there could be", .n = 1,
     .frames = {CALL(UINT32_MAX, 0, 1)}, .breach = NEVER_OPEN},
    {"a CALL in a slot over the limit", .n = 1, .frames = {CALL(1, 256, 1)},
     .breach = NO_SLOT},
    {"a CALL in the last slot there could be", .n = 1,
     .frames = {CALL(1, UINT16_MAX, 1)}, .breach = NO_SLOT},
    {"a CALL with the sequence before the first", .n = 1,
     .frames = {CALL(1, 0, 0)}, .breach = SECOND_TIME},
    {"a CALL with a gap before it", .n = 1, .frames = {CALL(1, 0, 2)},
     .breach = NOT_IN_TURN},
    {"two CALLs in a slot at a time", .n = 2,
     .frames = {CALL(1, 3, 1), CALL(1, 3, 2)}, .breach = NOT_FREE},
    {"a CALL repeated while it runs", .n = 2,
     .frames = {CALL(1, 3, 1), CALL(1, 3, 1)}, .breach = SECOND_TIME},
    {"a CALL in a slot whose request is still coming", .n = 2,
     .frames = {FIRST_OF("\x64\0\0\0abc"), CALL(1, 0, 2)}, .breach = NOT_FREE},
    {"a flag that a CALL may not have", .n = 1,
     .frames = {CALL_WITH(1, 0, 1, .flags = VC__FRAME_NOT_EXECUTED)},
     .breach = BAD_FLAG},
    {"a first part without a length", .n = 1, .frames = {FIRST_OF("")},
     .breach = NO_LENGTH},
    {"a first part shorter than its length", .n = 1,
     .frames = {FIRST_OF("\x64\0\0")}, .breach = NO_LENGTH},
    {"a first part without a byte of the message", .n = 1,
     .frames = {FIRST_OF("\x64\0\0\0")}, .breach = NO_PART},
    {"a first part longer than all", .n = 1,
     .frames = {FIRST_OF("\x02\0\0\0abc")}, .breach = NO_PART},
    {"a first part that is all", .n = 1, .frames = {FIRST_OF("\x03\0\0\0abc")},
     .breach = NO_PART},
    {"a first part of nothing", .n = 1, .frames = {FIRST_OF("\0\0\0\0abc")},
     .breach = NO_PART},
    {"DATA that nothing began", .n = 1, .frames = {DATA(0, 1, 0, 0, "x")},
     .breach = OF_NONE},
    {"DATA for a slot never used", .n = 1, .frames = {DATA(200, 0, 0, 0, "x")},
     .breach = OF_NONE},
    {"DATA for the slot behind those in use", .n = 2,
     .frames = {CALL(1, 1, 1), DATA(2, 1, 0, 0, "x")}, .breach = OF_NONE},
    {"DATA for the last slot there could be", .n = 1,
     .frames = {DATA(UINT16_MAX, 0, 0, 0, "x")}, .breach = OF_NONE},
    {"DATA for a call that is whole", .n = 2,
     .frames = {CALL(1, 0, 1), DATA(0, 1, 0, 0, "x")}, .breach = OF_NONE},
    {"DATA with a gap before it", .n = 2,
     .frames = {FIRST_OF("\x64\0\0\0abc"), DATA(0, 1, 4, MORE, "d")},
     .breach = NOT_NEXT},
    {"DATA a second time", .n = 2,
     .frames = {FIRST_OF("\x64\0\0\0abc"), DATA(0, 1, 2, MORE, "c")},
     .breach = NOT_NEXT},
    {"DATA over the end", .n = 2,
     .frames = {FIRST_OF("\x05\0\0\0abc"), DATA(0, 1, 3, 0, "def")},
     .breach = NOT_NEXT},
    {"DATA that says too early that it is the last", .n = 2,
     .frames = {FIRST_OF("\x64\0\0\0abc"), DATA(0, 1, 3, 0, "d")},
     .breach = NOT_NEXT},
    {"DATA that does not say that it is the last", .n = 2,
     .frames = {FIRST_OF("\x05\0\0\0abc"), DATA(0, 1, 3, MORE, "de")},
     .breach = NOT_NEXT},
    {"DATA of nothing", .n = 2,
     .frames = {FIRST_OF("\x64\0\0\0abc"), DATA(0, 1, 3, MORE, "")},
     .breach = NOT_NEXT},
    {"DATA with another sequence", .n = 2,
     .frames = {FIRST_OF("\x64\0\0\0abc"), DATA(0, 2, 3, MORE, "d")},
     .breach = OF_NONE},
    {"DATA of a reply", .n = 2,
     .frames = {FIRST_OF("\x05\0\0\0abc"),
                DATA(0, 1, 3, VC__FRAME_OF_REPLY, "de")},
     .breach = "DATA of a reply"},
    {"a REPLY", .n = 1,
     .frames = {{.type = VC__FRAME_REPLY, .session = 1, .sequence = 1}},
     .breach = "a frame that no client sends"},
    {"a PING with a body", .n = 1,
     .frames = {{.type = VC__FRAME_PING, BODY("x")}},
     .breach = "a body that is not allowed for the type of its frame"},
    {"a PING with a flag of others", .n = 1,
     .frames = {{.type = VC__FRAME_PING, .flags = MORE}}, .breach = BAD_FLAG},
    {"an answer without a PING", .n = 1,
     .frames = {{.type = VC__FRAME_PING, .flags = VC__FRAME_ANSWER}},
     .breach = NO_PING},
    {"an answer to a PING that will never be", .n = 1,
     .frames = {{.type = VC__FRAME_PING,
                 .flags = VC__FRAME_ANSWER,
                 .sequence = UINT32_MAX}},
     .breach = NO_PING},
    {"a CLOSE of a session that is not open", .n = 1,
     .frames = {{.type = VC__FRAME_CLOSE, .session = 2}}, .breach = NEVER_OPEN},
    {"a CLOSE with the binding of the OPEN", .n = 1,
     .frames = {{.type = VC__FRAME_CLOSE, .session = 1, .sequence = 1}},
     .breach = "a CLOSE with an old binding"},
    {"an OPEN with a binding from before", .n = 1,
     .frames = {OPEN(1, 0, PROBE "\0\0")}, .breach = OLD_OPEN},
    {"an OPEN that makes a session another service's", .n = 1,
     .frames = {OPEN(1, 2, "\x0b\0suite.Other\0\0")},
     .breach = "an OPEN of another service"},
    {"a CANCEL of what never was", .n = 1, .frames = {CANCEL(1, 0, 0)},
     .breach = "a CANCEL of an unknown call"},
    {"a CANCEL with a gap before it", .n = 1, .frames = {CANCEL(1, 0, 2)},
     .breach = NOT_IN_TURN},
    {"a CANCEL in a slot over the limit", .n = 1, .frames = {CANCEL(1, 256, 1)},
     .breach = NO_SLOT},
    {"a CANCEL of a session that is not open", .n = 1,
     .frames = {CANCEL(2, 0, 1)}, .breach = NEVER_OPEN},
    {"a CALL that was cancelled before it came", .n = 2,
     .frames = {CANCEL(1, 0, 1), CALL(1, 0, 1)}, .breach = SECOND_TIME},
};

static void
a_bad_later_packet_ends_the_link(void **state)
{
    for (size_t i = 0; i < sizeof later_packets / sizeof later_packets[0];
         i++) {
        struct raw r = {0};

        hostile_open_session(*state, &r);
        assert_true(hostile_send(&r, &later_packets[i]));
        hostile_closed(*state, &r, later_packets[i].what,
                       later_packets[i].breach);
    }
}

static void
a_call_repeated_after_its_reply_ends_the_link(void **state)
{
    struct vc__frame call = CALL(1, 0, 1), reply;
    struct raw r = {0};

    hostile_open_session(*state, &r);
    assert_true(raw_send_frame(&r, call));
    assert_true(raw_next_frame(&r, &reply, RAW_MS));
    assert_int_equal(VC__FRAME_REPLY, reply.type);
    assert_int_equal(VC_OK, reply.method);

    assert_true(raw_send_frame(&r, call));

    hostile_closed(*state, &r, "a call repeated", SECOND_TIME);
}

static void
expect_answer(struct raw *r, uint32_t sequence)
{
    struct vc__frame f;

    assert_true(raw_next_frame(r, &f, RAW_MS));
    assert_int_equal(VC__FRAME_PING, f.type);
    assert_int_equal(VC__FRAME_ANSWER, f.flags);
    assert_int_equal(sequence, f.sequence);
    assert_int_equal(0, f.session);
    assert_int_equal(0, f.slot);
    assert_int_equal(0, f.body_len);
}

/* --- links of one client ------------------------------------------------ */

/* Connects with the token of another link. */
static bool
open_with(struct fixture *f, struct raw *r, const struct raw *first,
          uint8_t flags, const char *instance)
{
    struct vc__hello hello = raw_hello(&suite_probe_service);
    struct vc__accept accept;

    assert_int_equal(VC__SAID_OK,
                     vc__accept_get(&accept, first->said, first->said_len));
    assert_true(accept.pool_token != 0);
    hello.flags = flags;
    hello.pool_token = accept.pool_token;
    memset(hello.instance, 0, sizeof hello.instance);
    memcpy(hello.instance, instance, strlen(instance));
    return raw_open(r, f->target, &hello);
}

static struct vc__frame
open_again(uint32_t binding)
{
    return (struct vc__frame){.type = VC__FRAME_OPEN,
                              .session = 1,
                              .sequence = binding,
                              BODY(PROBE "\0\0")};
}

static void
call_is_answered(struct raw *r, uint32_t sequence)
{
    struct vc__frame call = CALL(1, 0, 0), reply;

    call.sequence = sequence;
    assert_true(raw_send_frame(r, call));
    assert_true(raw_next_frame(r, &reply, RAW_MS));
    assert_int_equal(VC__FRAME_REPLY, reply.type);
    assert_int_equal(sequence, reply.sequence);
}

static void
a_session_that_has_moved_is_deaf_on_its_old_link_which_lives(void **state)
{
    struct raw first = {0}, second = {0};
    struct vc__frame late = CALL(1, 0, 2);

    hostile_open_session(*state, &first);
    call_is_answered(&first, 1);
    assert_true(
        open_with(*state, &second, &first, VC__HELLO_RESUME, "a raw end"));
    assert_true(raw_send_frame(&second, open_again(2)));
    call_is_answered(&second, 2);

    late.sequence = 7; /* any sequence is ignored */
    assert_true(raw_send_frame(&first, late));
    assert_true(raw_send_frame(&first, open_again(1)));
    assert_true(raw_send_frame(
        &first, (struct vc__frame){.type = VC__FRAME_PING, .sequence = 3}));
    expect_answer(&first, 3);

    call_is_answered(&second, 3);
    raw_close(&first);
    raw_close(&second);
    hostile_no_harm(*state, "a session moved");
}

static void
a_token_is_of_no_use_to_another_client(void **state)
{
    struct raw first = {0}, thief = {0}, further = {0};
    struct vc__accept own, accept;

    hostile_open_session(*state, &first);
    call_is_answered(&first, 1);
    vc__accept_get(&own, first.said, first.said_len);

    assert_true(open_with(*state, &thief, &first, VC__HELLO_RESUME, "a thief"));
    vc__accept_get(&accept, thief.said, thief.said_len);
    assert_true(accept.pool_token != own.pool_token);
    assert_true(raw_send_frame(&thief, open_again(9)));
    call_is_answered(&thief, 1); /* a session of its own */
    assert_false(
        open_with(*state, &further, &first, VC__HELLO_POOL, "a thief"));
    assert_int_equal(RAW_REJECTED, further.event);

    call_is_answered(&first, 2);
    raw_close(&further);
    raw_close(&thief);
    raw_close(&first);
    hostile_no_harm(*state, "a token was stolen");
}

/* --- PINGs ------------------------------------------------------------- */

static void
a_ping_is_answered(void **state)
{
    static const uint32_t sequences[] = {7, 7, 0, UINT32_MAX};
    struct raw r = {0};

    hostile_open_session(*state, &r);
    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++) {
        assert_true(
            raw_send_frame(&r, (struct vc__frame){.type = VC__FRAME_PING,
                                                  .sequence = sequences[i]}));
        expect_answer(&r, sequences[i]);
    }
    raw_close(&r);
}

/* Two answers use up the server's credits. The next answer waits for credits,
 * and is then that to the last PING. */
static void
pings_beyond_the_credits_have_one_answer_together(void **state)
{
    struct fixture *f = *state;
    struct vc__hello hello = raw_hello(&suite_probe_service);
    struct raw r = {.hoards = true};
    struct raw_packet p;

    hello.credits = VC__CREDIT_MIN;
    assert_true(raw_open(&r, f->target, &hello));
    assert_true(raw_send_open(&r, 1, &suite_probe_service));
    for (uint32_t i = 1; i <= 6; i++)
        assert_true(raw_send_frame(
            &r, (struct vc__frame){.type = VC__FRAME_PING, .sequence = i}));
    expect_answer(&r, 1);
    expect_answer(&r, 2);
    /* The last credit is reserved for returning credits. */
    assert_true(raw_receive(&r, RAW_MS));
    assert_int_equal(r.packet_len, VC__PACKET_HEADER);
    assert_false(raw_receive(&r, 100));

    r.handled = 3;
    raw_begin(&r, &p);
    assert_true(raw_send_packet(&r, &p));

    expect_answer(&r, 6);
    assert_false(raw_receive(&r, 100));
    raw_close(&r);
    hostile_no_harm(f, "many PINGs");
}

/* --- beyond packets ---------------------------------------------------- */

static void
a_packet_longer_than_the_receiver_takes_ends_the_link(void **state)
{
    static const size_t sizes[] = {8193, 9000, RAW_SIZE};
    uint8_t bytes[RAW_SIZE] = {0};

    for (int i = 0; i < 3; i++) {
        struct raw r = {0};

        hostile_open_session(*state, &r);
        assert_true(raw_send(&r, bytes, sizes[i]));
        hostile_closed(*state, &r, "a packet too long", "broke");
    }
}

static void
a_client_that_floods_beyond_its_credits_loses_its_link(void **state)
{
    struct fixture *f = *state;
    struct raw r = {.hoards = true};
    bool took = true;

    hostile_open_session(f, &r);

    /* The client never returns a credit; the server may announce the 32 packets
     * in steps of half a window. */
    for (int i = 0; took && i < 2000; i++) {
        struct raw_packet p;

        raw_begin(&r, &p);
        p.head.word.ack = 0;
        vc__packet_put(p.bytes, &p.head);
        took = raw_send_packet(&r, &p);
    }

    hostile_closed(f, &r, "a flood", "a packet without a credit");
}

static void
what_is_no_plain_send_does_no_harm(void **state)
{
    static const enum ibv_wr_opcode opcodes[] = {
        IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
        IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV};
    static const uint8_t noise[8] = {0xa5, 0x5a, 1, 2, 3, 4, 5, 0x99};

    fixture_needs_rdma("there are no verbs");
    for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++) {
        struct reach_buffer theirs;
        struct raw r = {0};
        uint8_t before[8], *ours;
        int got;

        hostile_open_session(*state, &r);
        theirs = reach_server_buffer(*state);
        memcpy(before, theirs.data, sizeof before);
        ours = memcpy(raw_room(&r), noise, sizeof noise);
        got = reach_post(&r, opcodes[i], &theirs, ours);
        if (got == RAW_NOTHING ||
            (got == IBV_WC_SUCCESS && opcodes[i] != IBV_WR_SEND_WITH_INV))
            fail_msg("a reach for its memory, opcode %d: %d", opcodes[i], got);
        assert_memory_equal(before, theirs.data, sizeof before);
        assert_memory_equal(noise, ours, sizeof noise);
        raw_close(&r);
        hostile_no_harm(*state, "a reach for its memory");
    }
}

#define T(name) hostile_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_bad_first_packet_ends_the_link_and_mostly_at_once),
        T(a_bad_later_packet_ends_the_link),
        T(a_call_repeated_after_its_reply_ends_the_link),
        T(a_session_that_has_moved_is_deaf_on_its_old_link_which_lives),
        T(a_token_is_of_no_use_to_another_client),
        T(a_ping_is_answered),
        T(pings_beyond_the_credits_have_one_answer_together),
        T(a_packet_longer_than_the_receiver_takes_ends_the_link),
        T(a_client_that_floods_beyond_its_credits_loses_its_link),
        T(what_is_no_plain_send_does_no_harm),
    };

    return fixture_main(tests);
}
