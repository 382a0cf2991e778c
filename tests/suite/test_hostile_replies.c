/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bad servers after connecting: a violation of the rules ends the link and its
 * calls, a bad reply ends only its call, and the client's other channels are
 * not affected. */
#include "tests/suite/stage.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- packets that end the link ----------------------------------------- */

/* Answers the first call with the packet; slot, session and sequence of its
 * frames are offsets to those of the call. */
static bool
play_packet(struct stage *s)
{
    struct hostile_packet p = *s->packet;
    struct vc__frame call;

    if (!stage_accept_well(s, RAW_BUFFERS) || !stage_take_call(&s->r, &call))
        return false;
    for (unsigned i = 0; i < p.n; i++) {
        p.frames[i].slot = (uint16_t)(p.frames[i].slot + call.slot);
        p.frames[i].session += call.session;
        p.frames[i].sequence += call.sequence;
    }
    return hostile_send(&s->r, &p) && stage_client_leaves(&s->r);
}

#define REPLY(...)                                                             \
    {                                                                          \
        .type = VC__FRAME_REPLY, __VA_ARGS__                                   \
    }
#define DATA(at, flags_, body)                                                 \
    {                                                                          \
        .type = VC__FRAME_DATA, .flags = VC__FRAME_OF_REPLY | (flags_),        \
        .deadline = (at), BODY(body)                                           \
    }
#define FIRST_OF(body) REPLY(.flags = VC__FRAME_MORE, BODY(body))

static const struct hostile_packet bad_packets[] = {
    {"nothing in the packet", .longer = -12,
     .breach = "a packet without a header"},
    {"a packet too short for its header", .longer = -1,
     .breach = "a packet without a header"},
    {"a frame too few", .count = 1,
     .breach = "a frame header beyond the end of its packet"},
    {"a frame too many", .n = 1, .frames = {REPLY(.slot = 0)}, .count = -1,
     .breach = "bytes after the last frame"},
    {"a byte behind", .longer = 1, .breach = "bytes after the last frame"},
    {"a body cut", .n = 1, .frames = {REPLY(BODY("abc"))}, .longer = -1,
     .breach = "a frame beyond the end of its packet"},
    {"a gap of the link", .n = 1, .frames = {REPLY(.slot = 0)}, .sequence = 1,
     .breach = "a packet out of sequence"},
    {"word of packets never sent", .ack = 1000,
     .breach = "an acknowledgement of packets that were never sent"},
    {"frame type 0", .n = 1, .frames = {{.type = 0}},
     .breach = "a frame of an unknown type"},
    {"frame type 12", .n = 1, .frames = {{.type = VC__FRAME_WINDOW + 1}},
     .breach = "a frame of an unknown type"},
    {"an unknown flag", .n = 1, .frames = {REPLY(.flags = 0x80)},
     .breach = "a flag that is not allowed for the type of its frame"},
    {"an OPEN", .n = 1, .frames = {{.type = VC__FRAME_OPEN}},
     .breach = "a frame that no server sends"},
    {"a CALL", .n = 1, .frames = {{.type = VC__FRAME_CALL}},
     .breach = "a frame that no server sends"},
    {"a CLOSE", .n = 1, .frames = {{.type = VC__FRAME_CLOSE}},
     .breach = "an answer without a CLOSE"},
    {"a CLOSE that nobody asked for, of a session never opened", .n = 1,
     .frames = {{.type = VC__FRAME_CLOSE, .session = 1}},
     .breach = "an answer without a CLOSE"},
    {"a CANCEL", .n = 1, .frames = {{.type = VC__FRAME_CANCEL}},
     .breach = "a frame that no server sends"},
    {"a reply for a slot never used", .n = 1, .frames = {REPLY(.slot = 1)},
     .breach = "an answer to an unknown call"},
    {"a reply for a slot over the limit", .n = 1,
     .frames = {REPLY(.slot = 60000)},
     .breach = "an answer to an unknown call"},
    {"a reply of the sequence before", .n = 1,
     .frames = {REPLY(.sequence = UINT32_MAX)},
     .breach = "an answer to an unknown call"},
    {"a reply of the next sequence", .n = 1, .frames = {REPLY(.sequence = 1)},
     .breach = "an answer to an unknown call"},
    {"a reply of session 0", .n = 1, .frames = {REPLY(.session = UINT32_MAX)},
     .breach = "a frame of a session that is not open"},
    {"a reply of a session never opened", .n = 1,
     .frames = {REPLY(.session = 1)},
     .breach = "a frame of a session that is not open"},
    {"a reply of the last session there could be", .n = 1,
     .frames = {REPLY(.session = UINT32_MAX - 1)},
     .breach = "a frame of a session that is not open"},
    {"a first part without a length", .n = 1, .frames = {FIRST_OF("")},
     .breach = "a first part without the length of its message"},
    {"a first part of only its length", .n = 1,
     .frames = {FIRST_OF("\x64\0\0\0")}, .breach = "an invalid first part"},
    {"a first part longer than all", .n = 1,
     .frames = {FIRST_OF("\x02\0\0\0abc")}, .breach = "an invalid first part"},
    {"an error reply in several parts", .n = 1,
     .frames = {REPLY(.flags = VC__FRAME_MORE, .method = VC_ABORTED,
                      BODY("\x64\0\0\0abc"))},
     .breach = "an error reply in several parts"},
    {"a good reply of a call that has not run", .n = 1,
     .frames = {REPLY(.flags = VC__FRAME_NOT_EXECUTED)},
     .breach = "a reply with OK to a call that was not executed"},
    {"two first parts", .n = 2,
     .frames = {FIRST_OF("\x64\0\0\0abc"), FIRST_OF("\x64\0\0\0abc")},
     .breach = "a frame between the parts of a message"},
    {"a whole reply after a first part", .n = 2,
     .frames = {FIRST_OF("\x64\0\0\0abc"), REPLY(.slot = 0)},
     .breach = "a frame between the parts of a message"},
    {"DATA that nothing began", .n = 1, .frames = {DATA(0, 0, "abc")},
     .breach = "DATA without a message"},
    {"DATA with a gap before it", .n = 2,
     .frames = {FIRST_OF("\x64\0\0\0abc"), DATA(4, VC__FRAME_MORE, "d")},
     .breach = "DATA that is not the next part"},
    {"DATA over the end", .n = 2,
     .frames = {FIRST_OF("\x05\0\0\0abc"), DATA(3, 0, "def")},
     .breach = "DATA that is not the next part"},
    {"DATA of a request", .n = 1,
     .frames = {{.type = VC__FRAME_DATA, BODY("abc")}},
     .breach = "a frame that no server sends"},
};

static void
a_bad_packet_ends_the_link_and_the_call(void **state)
{
    for (size_t i = 0; i < sizeof bad_packets / sizeof bad_packets[0]; i++) {
        struct stage s = {.packet = &bad_packets[i]};

        stage_start(&s, *state, play_packet);
        stage_call_fails(&s, VC_INTERNAL, bad_packets[i].breach,
                         bad_packets[i].what);
        assert_int_equal(VC_OUTCOME_UNKNOWN, vc_error_outcome());
        stage_end(&s, bad_packets[i].what);
    }
}

static bool
play_long_packet(struct stage *s)
{
    uint8_t bytes[RAW_SIZE] = {0};
    struct vc__frame call;

    return stage_accept_well(s, RAW_BUFFERS) && stage_take_call(&s->r, &call) &&
           raw_send(&s->r, bytes, 8193) && stage_client_leaves(&s->r);
}

static bool
play_flood(struct stage *s)
{
    struct raw_packet p;
    struct vc__frame call;
    bool took =
        stage_accept_well(s, RAW_BUFFERS) && stage_take_call(&s->r, &call);

    s->r.hoards = true;
    for (int i = 0; took && i < 2000; i++) {
        raw_begin(&s->r, &p);
        p.head.word.ack = 0;
        vc__packet_put(p.bytes, &p.head);
        took = raw_send_packet(&s->r, &p);
    }
    return stage_client_leaves(&s->r);
}

static void
a_packet_too_long_ends_the_link_and_the_call(void **state)
{
    struct stage s = {.len = 0};

    stage_start(&s, *state, play_long_packet);
    stage_call_fails(&s, VC_UNAVAILABLE, "broke", "a packet too long");
    stage_end(&s, "a packet too long");
}

static void
packets_without_credits_end_the_link_and_the_call(void **state)
{
    struct stage s = {.len = 0};

    stage_start(&s, *state, play_flood);
    stage_call_fails(&s, VC_INTERNAL, "a packet without a credit", "a flood");
    stage_end(&s, "a flood");
}

/* --- replies that end the call ----------------------------------------- */

static struct vc__frame
reply_to(const struct vc__frame *call, uint16_t status)
{
    return (struct vc__frame){.type = VC__FRAME_REPLY,
                              .slot = call->slot,
                              .session = call->session,
                              .sequence = call->sequence,
                              .method = status};
}

/* Answers one call with these, and the next call with a good reply. */
static bool
answer_then_serve(struct stage *s, uint16_t status, const void *data,
                  uint32_t len)
{
    struct vc__frame call;

    if (!stage_accept_well(s, RAW_BUFFERS) || !stage_take_call(&s->r, &call) ||
        !raw_send_message(&s->r, reply_to(&call, status), data, len) ||
        !stage_take_call(&s->r, &call))
        return false;
    return raw_send_message(&s->r, reply_to(&call, VC_OK),
                            (const uint8_t *)"\x08\x07", 2);
}

static void
next_call_is_served(struct stage *s)
{
    uint64_t calls = 0;

    assert_status(VC_OK, stage_call(s, &calls));
    assert_int_equal(7, calls);
}

static bool
play_malformed(struct stage *s)
{
    return answer_then_serve(s, VC_OK, "\x08", 1);
}

static void
a_malformed_reply_is_an_internal_error_and_its_link_lives(void **state)
{
    struct stage s = {.len = 0};

    stage_start(&s, *state, play_malformed);
    stage_call_fails(&s, VC_INTERNAL, "cannot be unpacked as suite.CountReply",
                     "a bad reply");
    assert_int_equal(VC_OUTCOME_EXECUTED, vc_error_outcome());
    next_call_is_served(&s);
    stage_end(&s, "a malformed reply");
}

static bool
play_status(struct stage *s)
{
    return answer_then_serve(s, 999, "odd\x1b[2J\a", 8);
}

static void
a_status_that_does_not_exist_is_unknown_and_its_link_lives(void **state)
{
    struct stage s = {.len = 0};

    stage_start(&s, *state, play_status);
    stage_call_fails(&s, VC_UNKNOWN, "odd [2J", "status 999");
    assert_null(strpbrk(vc_error(), "\x1b\a"));
    next_call_is_served(&s);
    stage_end(&s, "status 999");
}

static bool
play_no_text(struct stage *s)
{
    return answer_then_serve(s, VC_NOT_FOUND, "", 0);
}

static void
an_error_without_a_text_is_named_and_its_link_lives(void **state)
{
    struct stage s = {.len = 0};

    stage_start(&s, *state, play_no_text);
    stage_call_fails(&s, VC_NOT_FOUND,
                     "suite.Probe.Count: the handler ended with NOT_FOUND and "
                     "no text",
                     "no text");
    assert_int_equal(VC_OUTCOME_EXECUTED, vc_error_outcome());
    next_call_is_served(&s);
    stage_end(&s, "no text");
}

static bool
play_too_long(struct stage *s)
{
    uint8_t *bytes = calloc(1, 100000);
    bool good = answer_then_serve(s, VC_OK, bytes, 100000);

    free(bytes);
    return good;
}

static void
a_reply_over_the_limit_is_refused_and_its_link_lives(void **state)
{
    struct stage s = {.len = 0};

    stage_start(&s, *state, play_too_long);
    stage_call_fails(&s, VC_RESOURCE_EXHAUSTED,
                     "it has 100000 bytes, the channel accepts 65536 at most "
                     "(its max_message): raise it",
                     "a reply too long");
    assert_int_equal(VC_OUTCOME_EXECUTED, vc_error_outcome());
    next_call_is_served(&s);
    stage_end(&s, "a reply over the limit");
}

static bool
play_twice(struct stage *s)
{
    struct vc__frame call, reply;
    struct raw_packet p;

    if (!stage_accept_well(s, RAW_BUFFERS) || !stage_take_call(&s->r, &call))
        return false;
    reply = reply_to(&call, VC_OK);
    reply.body = (const uint8_t *)"\x08\x07";
    reply.body_len = 2;
    raw_begin(&s->r, &p);
    raw_add(&p, reply);
    raw_add(&p, reply);
    return raw_send_packet(&s->r, &p) && stage_client_leaves(&s->r);
}

static void
a_second_reply_to_a_call_ends_the_link(void **state)
{
    struct stage s = {.len = 0};

    stage_start(&s, *state, play_twice);
    next_call_is_served(&s);
    stage_join(&s, "a reply twice");
    stage_end(&s, "a reply twice");
}

/* --- a reply before its call ------------------------------------------- */

struct caller {
    pthread_t thread;
    struct stage *stage;
    enum vc_status status;
};

static void *
caller_main(void *arg)
{
    struct caller *c = arg;
    uint64_t calls;

    c->status = stage_call(c->stage, &calls);
    return NULL;
}

/* Calls received so far; larger if no more will be received. */
static atomic_uint taken;

static bool
take(struct stage *s, struct vc__frame *call)
{
    bool good = stage_take_call(&s->r, call);

    atomic_fetch_add(&taken, good ? 1 : 3);
    return good;
}

/* The client has credits for two packets, so the third call waits for a credit.
 * That call is in the next slot, and is answered before it is sent. */
static bool
play_prophet(struct stage *s)
{
    struct vc__frame first, second, reply;

    s->r.hoards = true;      /* and returns no credit */
    stage_accept_well(s, 3); /* if this fails, no call is received */
    if (!take(s, &first) || !take(s, &second))
        return false;
    /* The server cannot observe that the third call waits; if it does not yet,
     * the reply is wrong as well. */
    raw_wait(&s->r, 200);
    reply = reply_to(&second, VC_OK);
    reply.slot = (uint16_t)(2 * second.slot - first.slot);
    reply.body = (const uint8_t *)"\x08\x07";
    reply.body_len = 2;
    return raw_send_frame(&s->r, reply) && stage_client_leaves(&s->r);
}

static void
a_call_that_was_not_sent_cannot_be_answered(void **state)
{
    struct stage s = {.len = 0};
    struct caller callers[3];

    atomic_store(&taken, 0);
    stage_start(&s, *state, play_prophet);
    for (unsigned i = 0; i < 3; i++) {
        /* Each call is in a packet of its own. */
        for (int ms = 0; ms < RAW_MS && atomic_load(&taken) < i; ms++)
            usleep(1000);
        callers[i].stage = &s;
        assert_int_equal(0, pthread_create(&callers[i].thread, NULL,
                                           caller_main, &callers[i]));
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_not_equal(VC_OK, callers[i].status);
    }
    stage_end(&s, "a reply before its call");
}

#define T(name) hostile_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_bad_packet_ends_the_link_and_the_call),
        T(a_packet_too_long_ends_the_link_and_the_call),
        T(packets_without_credits_end_the_link_and_the_call),
        T(a_malformed_reply_is_an_internal_error_and_its_link_lives),
        T(a_status_that_does_not_exist_is_unknown_and_its_link_lives),
        T(an_error_without_a_text_is_named_and_its_link_lives),
        T(a_reply_over_the_limit_is_refused_and_its_link_lives),
        T(a_second_reply_to_a_call_ends_the_link),
        T(a_call_that_was_not_sent_cannot_be_answered),
    };

    return fixture_main(tests);
}
