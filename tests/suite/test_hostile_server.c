/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bad servers: a client that meets one gets an error in words and in time, and
 * its other channels do not notice. The server is a raw end on a thread. */
#include "tests/suite/hostile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "transport/le.h"

#define CONNECT_MS 1000
/* What a wait of CONNECT_MS may take more on a loaded machine. */
#define MARGIN_MS 1500

/* The place of its methods in suite.Probe. */
#define COUNT 3

/* --- a server in a thread ---------------------------------------------- */

struct stage {
    struct fixture *f;
    struct raw_listener listener;
    char target[80];
    pthread_t thread;
    struct raw r;
    struct vc_channel *channel;

    /* What the server does with a request that r has taken; false when the
     * client does not do its part. */
    bool (*play)(struct stage *s);
    bool good;
    const void *data; /* what it answers the hello */
    size_t len;
    const struct hostile_packet *packet;
};

static void *
stage_main(void *arg)
{
    struct stage *s = arg;

    s->good = raw_take(&s->listener, &s->r, RAW_MS) && s->play(s);
    return NULL;
}

static void
stage_start(struct stage *s, struct fixture *f, bool (*play)(struct stage *))
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    s->f = f;
    s->play = play;
    assert_true(raw_listen(&s->listener));
    fixture_target(s->listener.port, s->target);
    assert_int_equal(0, pthread_create(&s->thread, NULL, stage_main, s));
    opts.connect_timeout_ms = CONNECT_MS;
    opts.max_message = 65536;
    assert_status(VC_OK,
                  vc_channel_open(f->runtime, s->target, &opts, &s->channel));
}

static void
stage_end(struct stage *s, const char *what)
{
    vc_channel_close(s->channel);
    pthread_join(s->thread, NULL);
    if (!s->good)
        fail_msg("%s: the client did not do its part", what);
    raw_close(&s->r);
    raw_unlisten(&s->listener);
    hostile_others_served(s->f, what);
}

static enum vc_status
call_count(struct stage *s, uint64_t *calls)
{
    Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__CountReply *reply;
    enum vc_status status =
        suite_probe_count(s->channel, &request, NULL, &reply);

    if (status == VC_OK) {
        *calls = reply->calls;
        vc_reply_free(reply);
    }
    return status;
}

/* A call ends with this status, and these words. */
static void
call_fails(struct stage *s, enum vc_status expected, const char *words,
           const char *what)
{
    uint64_t calls;
    enum vc_status status = call_count(s, &calls);

    if (status != expected)
        fail_msg("%s: %s, %s", what, vc_status_name(status),
                 status == VC_OK ? "" : vc_error());
    if (strstr(vc_error(), words) == NULL)
        fail_msg("%s: says \"%s\"", what, vc_error());
}

/* --- accepts ----------------------------------------------------------- */

static struct vc__accept
good_accept(void)
{
    return (struct vc__accept){.version = VC__VERSION_MAX,
                               .log2_eager = 13,
                               .log2_message = 16,
                               .credits = RAW_BUFFERS,
                               .instance = "a raw server",
                               .max_sessions = 16,
                               .max_slots = 16};
}

/* The client turns away from what was accepted. */
static bool
play_accept(struct stage *s)
{
    int event;

    if (raw_accept(&s->r, s->data, s->len))
        event = raw_wait(&s->r, RAW_MS);
    else
        event = s->r.event;
    return event == RDMA_CM_EVENT_DISCONNECTED ||
           event == RDMA_CM_EVENT_REJECTED ||
           event == RDMA_CM_EVENT_CONNECT_ERROR;
}

static void
bad_accept(struct fixture *f, const void *data, size_t len, const char *what)
{
    struct stage s = {.data = data, .len = len};

    stage_start(&s, f, play_accept);
    call_fails(&s, VC_INTERNAL, "accepted in a way that Verbcall does not",
               what);
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    stage_end(&s, what);
}

static const struct bad_byte {
    const char *what;
    uint8_t at, byte;
} bad_bytes[] = {
    {"another magic", 0, 'v'},
    {"an own length of 0", 4, 0},
    {"an own length too short", 4, 49},
    {"a tail that is not zero", 195, 1},
    {"version 0", 5, 0},
    {"a version that was not offered", 5, 2},
    {"a hello in place of an accept", 6, 0},
    {"a reject in place of an accept", 6, 'R'},
    {"a byte that must be 0", 7, 1},
    {"features that were not offered", 8, 1},
    {"two credits", 12, 2},
    {"packets too short", 14, 11},
    {"packets too long", 14, 24},
    {"messages too short", 15, 11},
    {"messages too long", 15, 31},
    {"no slots", 48, 0},
    {"a text that is no UTF-8", 50, 0xff},
};

static void
an_accept_with_a_bad_byte_is_an_error_of_the_server(void **state)
{
    struct vc__accept accept = good_accept();

    strcpy(accept.text, "x");
    for (size_t i = 0; i < sizeof bad_bytes / sizeof bad_bytes[0]; i++) {
        uint8_t bytes[VC__ACCEPT_SIZE];

        vc__accept_put(bytes, &accept);
        bytes[bad_bytes[i].at] = bad_bytes[i].byte;
        bad_accept(*state, bytes, sizeof bytes, bad_bytes[i].what);
    }
}

static void
an_accept_that_is_cut_or_missing_is_an_error_of_the_server(void **state)
{
    struct vc__accept accept = good_accept();
    uint8_t bytes[VC__ACCEPT_SIZE];

    vc__accept_put(bytes, &accept);
    bad_accept(*state, bytes, 0, "an accept without data");
    bad_accept(*state, bytes, 5, "an accept of 5 bytes");
    bad_accept(*state, bytes, 48, "an accept of 48 bytes");
    memset(bytes, 0x5a, sizeof bytes);
    bad_accept(*state, bytes, sizeof bytes, "garbage");
}

/* --- rejects ----------------------------------------------------------- */

static bool
play_reject(struct stage *s)
{
    return raw_reject(&s->r, s->data, s->len);
}

static void
rejected(struct fixture *f, const void *data, size_t len,
         enum vc_status expected, const char *words)
{
    struct stage s = {.data = data, .len = len};

    stage_start(&s, f, play_reject);
    call_fails(&s, expected, words, words);
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    stage_end(&s, words);
}

static const struct reason {
    uint8_t reason;
    enum vc_status status;
} reasons[] = {
    {VC__REJECT_VERSION, VC_UNIMPLEMENTED},
    {VC__REJECT_SERVICE, VC_UNIMPLEMENTED},
    {VC__REJECT_SCHEMA, VC_FAILED_PRECONDITION},
    {VC__REJECT_BUSY, VC_UNAVAILABLE},
    {VC__REJECT_LIMIT, VC_RESOURCE_EXHAUSTED},
    {VC__REJECT_DRAINING, VC_UNAVAILABLE},
    {VC__REJECT_MOVED, VC_UNAVAILABLE},
    {VC__REJECT_SECURITY, VC_UNAUTHENTICATED},
    {VC__REJECT_MALFORMED, VC_INTERNAL},
    {200, VC_UNAVAILABLE},
};

static void
each_reason_of_a_reject_has_its_status_and_words(void **state)
{
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        struct vc__reject reject = {.version_min = 1,
                                    .version_max = 1,
                                    .reason = reasons[i].reason,
                                    .text = "for reasons of ours"};
        uint8_t bytes[VC__REJECT_SIZE];

        vc__reject_put(bytes, &reject);
        rejected(*state, bytes, sizeof bytes, reasons[i].status,
                 vc__reject_reason_text(reasons[i].reason));
        rejected(*state, bytes, sizeof bytes, reasons[i].status,
                 "for reasons of ours");
    }
}

static void
a_reject_tells_when_to_come_again(void **state)
{
    struct vc__reject reject = {.version_min = 1,
                                .version_max = 1,
                                .reason = VC__REJECT_BUSY,
                                .retry_ms = 1500};
    uint8_t bytes[VC__REJECT_SIZE];

    vc__reject_put(bytes, &reject);
    rejected(*state, bytes, sizeof bytes, VC_UNAVAILABLE, "after 1500 ms");
}

static void
a_reject_with_control_characters_is_made_fit_for_a_terminal(void **state)
{
    struct vc__reject reject = {.version_min = 1,
                                .version_max = 1,
                                .reason = VC__REJECT_BUSY,
                                .text = "\x1b[2J\a\n\x7f!"};
    uint8_t bytes[VC__REJECT_SIZE];

    vc__reject_put(bytes, &reject);
    rejected(*state, bytes, sizeof bytes, VC_UNAVAILABLE, " [2J   !");
    assert_null(strpbrk(vc_error(), "\x1b\a\n\x7f"));
}

static void
a_reject_of_garbage_says_that_it_has_no_reason(void **state)
{
    uint8_t bytes[VC__REJECT_SIZE];

    memset(bytes, 0x5a, sizeof bytes);
    rejected(*state, bytes, sizeof bytes, VC_UNAVAILABLE, "without a reason");
    rejected(*state, bytes, 0, VC_UNAVAILABLE, "without a reason");
    rejected(*state, "VBCL", 4, VC_UNAVAILABLE, "without a reason");
}

/* --- silence and haste ------------------------------------------------- */

/* Until the client gives up. */
static bool
play_silence(struct stage *s)
{
    (void)s;
    return true;
}

static void
a_server_that_never_answers_is_given_up_in_time(void **state)
{
    struct stage s = {.len = 0};
    uint64_t start = fixture_ms();

    stage_start(&s, *state, play_silence);

    call_fails(&s, VC_UNAVAILABLE, "has not answered within the connect time",
               "silence");

    assert_in_range(fixture_ms() - start, CONNECT_MS - 10,
                    CONNECT_MS + MARGIN_MS);
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    stage_end(&s, "silence");
}

static bool
play_accept_and_leave(struct stage *s)
{
    struct vc__accept accept = good_accept();
    uint8_t bytes[VC__ACCEPT_SIZE];

    vc__accept_put(bytes, &accept);
    if (!raw_accept(&s->r, bytes, sizeof bytes))
        return false;
    raw_close(&s->r);
    return true;
}

/* Does not even wait for the client to confirm. */
static bool
play_accept_and_vanish(struct stage *s)
{
    struct vc__accept accept = good_accept();
    uint8_t bytes[VC__ACCEPT_SIZE];
    bool sent;

    vc__accept_put(bytes, &accept);
    sent = raw_accept_only(&s->r, bytes, sizeof bytes);
    raw_close(&s->r);
    return sent;
}

static void
leaves(struct fixture *f, bool (*play)(struct stage *), const char *what)
{
    for (int i = 0; i < 10; i++) {
        struct stage s = {.len = 0};
        uint64_t start = fixture_ms();

        stage_start(&s, f, play);
        call_fails(&s, VC_UNAVAILABLE, "", what);
        assert_in_range(fixture_ms() - start, 0, CONNECT_MS + MARGIN_MS);
        stage_end(&s, what);
    }
}

static void
a_server_that_leaves_right_after_its_accept_is_unavailable(void **state)
{
    leaves(*state, play_accept_and_leave, "leaving after the accept");
    leaves(*state, play_accept_and_vanish, "vanishing after the accept");
}

/* --- packets that end the link ----------------------------------------- */

/* Takes the client's next call. */
static bool
call_take(struct raw *r, struct vc__frame *call)
{
    do {
        if (!raw_next_frame(r, call, RAW_MS))
            return false;
    } while (call->type != VC__FRAME_CALL);
    return true;
}

static bool
accept_well(struct stage *s, uint16_t credits)
{
    struct vc__accept accept = good_accept();
    uint8_t bytes[VC__ACCEPT_SIZE];

    accept.credits = credits;
    vc__accept_put(bytes, &accept);
    return raw_accept(&s->r, bytes, sizeof bytes);
}

static bool
client_leaves(struct raw *r)
{
    return raw_wait(r, HOSTILE_CLOSED_MS) == RDMA_CM_EVENT_DISCONNECTED;
}

/* Answers the first call by the packet; slot, session and sequence of its
 * frames are what they are more than the call's. */
static bool
play_packet(struct stage *s)
{
    struct hostile_packet p = *s->packet;
    struct vc__frame call;

    if (!accept_well(s, RAW_BUFFERS) || !call_take(&s->r, &call))
        return false;
    for (unsigned i = 0; i < p.n; i++) {
        p.frames[i].slot = (uint16_t)(p.frames[i].slot + call.slot);
        p.frames[i].session += call.session;
        p.frames[i].sequence += call.sequence;
    }
    return hostile_send(&s->r, &p) && client_leaves(&s->r);
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
    {"nothing in the packet", .longer = -8},
    {"a packet too short for its header", .longer = -1},
    {"a frame too few", .count = 1},
    {"a frame too many", .n = 1, .frames = {REPLY(.slot = 0)}, .count = -1},
    {"a byte behind", .longer = 1},
    {"a body cut", .n = 1, .frames = {REPLY(BODY("abc"))}, .longer = -1},
    {"a gap of the link", .n = 1, .frames = {REPLY(.slot = 0)}, .sequence = 1},
    {"credits never used", .n = 1, .frames = {REPLY(.slot = 0)},
     .credits = UINT16_MAX},
    {"frame type 0", .n = 1, .frames = {{.type = 0}}},
    {"frame type 6", .n = 1, .frames = {{.type = 6}}},
    {"an unknown flag", .n = 1, .frames = {REPLY(.flags = 0x80)}},
    {"an OPEN", .n = 1, .frames = {{.type = VC__FRAME_OPEN}}},
    {"a CALL", .n = 1, .frames = {{.type = VC__FRAME_CALL}}},
    {"a CLOSE", .n = 1, .frames = {{.type = VC__FRAME_CLOSE}}},
    {"a reply for a slot never used", .n = 1, .frames = {REPLY(.slot = 1)}},
    {"a reply for a slot over the limit", .n = 1,
     .frames = {REPLY(.slot = 60000)}},
    {"a reply of the sequence before", .n = 1,
     .frames = {REPLY(.sequence = UINT32_MAX)}},
    {"a reply of the next sequence", .n = 1, .frames = {REPLY(.sequence = 1)}},
    {"a reply of session 0", .n = 1, .frames = {REPLY(.session = UINT32_MAX)}},
    {"a reply of a session never opened", .n = 1,
     .frames = {REPLY(.session = 1)}},
    {"a reply of the last session there could be", .n = 1,
     .frames = {REPLY(.session = UINT32_MAX - 1)}},
    {"a first part without a length", .n = 1, .frames = {FIRST_OF("")}},
    {"a first part of only its length", .n = 1,
     .frames = {FIRST_OF("\x64\0\0\0")}},
    {"a first part longer than all", .n = 1,
     .frames = {FIRST_OF("\x02\0\0\0abc")}},
    {"an error in parts", .n = 1,
     .frames = {REPLY(.flags = VC__FRAME_MORE, .method = VC_ABORTED,
                      BODY("\x64\0\0\0abc"))}},
    {"two first parts", .n = 2,
     .frames = {FIRST_OF("\x64\0\0\0abc"), FIRST_OF("\x64\0\0\0abc")}},
    {"a whole reply after a first part", .n = 2,
     .frames = {FIRST_OF("\x64\0\0\0abc"), REPLY(.slot = 0)}},
    {"DATA that nothing began", .n = 1, .frames = {DATA(0, 0, "abc")}},
    {"DATA with a gap before it", .n = 2,
     .frames = {FIRST_OF("\x64\0\0\0abc"), DATA(4, VC__FRAME_MORE, "d")}},
    {"DATA over the end", .n = 2,
     .frames = {FIRST_OF("\x05\0\0\0abc"), DATA(3, 0, "def")}},
    {"DATA of a request", .n = 1,
     .frames = {{.type = VC__FRAME_DATA, BODY("abc")}}},
};

static void
a_bad_packet_ends_the_link_and_the_call(void **state)
{
    for (size_t i = 0; i < sizeof bad_packets / sizeof bad_packets[0]; i++) {
        struct stage s = {.packet = &bad_packets[i]};

        stage_start(&s, *state, play_packet);
        call_fails(&s, VC_INTERNAL, "broke the protocol", bad_packets[i].what);
        assert_int_equal(VC_OUTCOME_UNKNOWN, vc_error_outcome());
        stage_end(&s, bad_packets[i].what);
    }
}

static bool
play_long_packet(struct stage *s)
{
    uint8_t bytes[RAW_SIZE] = {0};
    struct vc__frame call;

    return accept_well(s, RAW_BUFFERS) && call_take(&s->r, &call) &&
           raw_send(&s->r, bytes, 8193) && client_leaves(&s->r);
}

static bool
play_flood(struct stage *s)
{
    struct raw_packet p;
    struct vc__frame call;
    bool took = accept_well(s, RAW_BUFFERS) && call_take(&s->r, &call);

    s->r.hoards = true;
    for (int i = 0; took && i < 2000; i++) {
        raw_begin(&s->r, &p);
        p.head.credits = 0;
        vc__packet_put(p.bytes, &p.head);
        took = raw_send_packet(&s->r, &p);
    }
    return client_leaves(&s->r);
}

static void
packets_too_long_or_too_many_end_the_link_and_the_call(void **state)
{
    struct stage s = {.len = 0}, t = {.len = 0};

    stage_start(&s, *state, play_long_packet);
    call_fails(&s, VC_UNAVAILABLE, "broke", "a packet too long");
    stage_end(&s, "a packet too long");

    stage_start(&t, *state, play_flood);
    call_fails(&t, VC_INTERNAL, "broke the protocol", "a flood");
    stage_end(&t, "a flood");
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

/* Answers one call by this, and the next one well. */
static bool
answer_then_serve(struct stage *s, uint16_t status, const void *data,
                  uint32_t len)
{
    struct vc__frame call;

    if (!accept_well(s, RAW_BUFFERS) || !call_take(&s->r, &call) ||
        !raw_send_message(&s->r, reply_to(&call, status), data, len) ||
        !call_take(&s->r, &call))
        return false;
    return raw_send_message(&s->r, reply_to(&call, VC_OK),
                            (const uint8_t *)"\x08\x07", 2);
}

static void
next_call_is_served(struct stage *s)
{
    uint64_t calls = 0;

    assert_status(VC_OK, call_count(s, &calls));
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
    call_fails(&s, VC_INTERNAL, "is no suite.CountReply", "a bad reply");
    assert_int_equal(VC_OUTCOME_EXECUTED, vc_error_outcome());
    next_call_is_served(&s);
    stage_end(&s, "a malformed reply");
}

static bool
play_status(struct stage *s)
{
    return answer_then_serve(s, 999, "odd\x1b[2J\n", 8);
}

static void
a_status_that_does_not_exist_is_unknown_and_its_link_lives(void **state)
{
    struct stage s = {.len = 0};

    stage_start(&s, *state, play_status);
    call_fails(&s, VC_UNKNOWN, "odd [2J", "status 999");
    assert_null(strpbrk(vc_error(), "\x1b\n"));
    next_call_is_served(&s);
    stage_end(&s, "status 999");
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
    call_fails(&s, VC_RESOURCE_EXHAUSTED, "limit", "a reply too long");
    assert_int_equal(VC_OUTCOME_EXECUTED, vc_error_outcome());
    next_call_is_served(&s);
    stage_end(&s, "a reply over the limit");
}

static bool
play_twice(struct stage *s)
{
    struct vc__frame call, reply;
    struct raw_packet p;

    if (!accept_well(s, RAW_BUFFERS) || !call_take(&s->r, &call))
        return false;
    reply = reply_to(&call, VC_OK);
    reply.body = (const uint8_t *)"\x08\x07";
    reply.body_len = 2;
    raw_begin(&s->r, &p);
    raw_add(&p, reply);
    raw_add(&p, reply);
    return raw_send_packet(&s->r, &p) && client_leaves(&s->r);
}

static void
a_second_reply_to_a_call_ends_the_link(void **state)
{
    struct stage s = {.len = 0};

    stage_start(&s, *state, play_twice);
    next_call_is_served(&s);
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

    c->status = call_count(c->stage, &calls);
    return NULL;
}

/* The credits are for two packets, and the third call waits for another. It
 * is in the next slot, and is answered before it was sent. */
static bool
play_prophet(struct stage *s)
{
    struct vc__frame first, second, reply;

    if (!accept_well(s, 3) || !call_take(&s->r, &first) ||
        !call_take(&s->r, &second))
        return false;
    /* Nothing says that the third waits; if it does not yet, the reply is as
     * wrong. */
    raw_wait(&s->r, 200);
    reply = reply_to(&second, VC_OK);
    reply.slot = (uint16_t)(2 * second.slot - first.slot);
    reply.body = (const uint8_t *)"\x08\x07";
    reply.body_len = 2;
    return raw_send_frame(&s->r, reply) && client_leaves(&s->r);
}

static void
a_call_that_was_not_sent_cannot_be_answered(void **state)
{
    struct stage s = {.len = 0};
    struct caller callers[3];

    stage_start(&s, *state, play_prophet);
    for (int i = 0; i < 3; i++) {
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

#define T(name)                                                                \
    cmocka_unit_test_setup_teardown(name, hostile_setup, fixture_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_accept_with_a_bad_byte_is_an_error_of_the_server),
        T(an_accept_that_is_cut_or_missing_is_an_error_of_the_server),
        T(each_reason_of_a_reject_has_its_status_and_words),
        T(a_reject_tells_when_to_come_again),
        T(a_reject_with_control_characters_is_made_fit_for_a_terminal),
        T(a_reject_of_garbage_says_that_it_has_no_reason),
        T(a_server_that_never_answers_is_given_up_in_time),
        T(a_server_that_leaves_right_after_its_accept_is_unavailable),
        T(a_bad_packet_ends_the_link_and_the_call),
        T(packets_too_long_or_too_many_end_the_link_and_the_call),
        T(a_malformed_reply_is_an_internal_error_and_its_link_lives),
        T(a_status_that_does_not_exist_is_unknown_and_its_link_lives),
        T(a_reply_over_the_limit_is_refused_and_its_link_lives),
        T(a_second_reply_to_a_call_ends_the_link),
        T(a_call_that_was_not_sent_cannot_be_answered),
    };

    return fixture_main(tests);
}
