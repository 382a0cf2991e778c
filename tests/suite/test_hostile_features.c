/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Peers without some features of the protocol (doc/wire.md, 2.8): a server uses
 * only the features that the client has named, and a client that uses a feature
 * without agreement loses its link. A client needs a server that has all
 * features. */
#include "cm/connect/features.h"
#include "cm/link/schedule.h"
#include "tests/suite/stage.h"
#include "tests/suite/streams.h"

/* The indexes of these methods in suite.Probe. */
#define ECHO  0
#define COUNT 3

#define SAID VC__FEATURES_SAID
#define ALL  VC__FEATURES_FIRST

/* Opens a raw link with these features, and session 1. */
static void
open_with(struct fixture *f, struct raw *r, uint32_t features)
{
    hostile_open_with(f, r, features);
    assert_true(raw_send_open(r, 1, &suite_probe_service));
}

#define CALL(...)                                                              \
    {                                                                          \
        .type = VC__FRAME_CALL, .session = 1, .sequence = 1, .method = COUNT,  \
        .deadline = VC__DEADLINE_NONE, __VA_ARGS__                             \
    }

static const struct {
    uint32_t lacks;
    struct hostile_packet packet;
} breaches[] = {
    {VC__FEATURE_LONG,
     {"the first part of a long message", .n = 1,
      .frames = {CALL(.flags = VC__FRAME_MORE, BODY("\0\0\1\0x"))},
      .breach = "a part of a long message, a feature that was not negotiated"}},
    {VC__FEATURE_STREAMS,
     {"a call that streams", .n = 1,
      .frames = {CALL(.flags = VC__FRAME_CLIENT_STREAM)},
      .breach = "a stream, a feature that was not negotiated"}},
    {VC__FEATURE_METADATA,
     {"metadata", .n = 1,
      .frames = {CALL(.metadata = (const uint8_t *)"\1a\1\0v",
                      .metadata_len = 5)},
      .breach = "metadata, a feature that was not negotiated"}},
    {VC__FEATURE_COALESCED,
     {"two frames in a packet", .n = 2, .frames = {CALL(), CALL(.slot = 1)},
      .breach =
          "several frames in a packet, a feature that was not negotiated"}},
};

static void
what_was_not_agreed_on_ends_the_link(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof breaches / sizeof breaches[0]; i++) {
        const struct hostile_packet *p = &breaches[i].packet;
        struct raw r = {.hoards = false};

        open_with(f, &r, SAID | (ALL & ~breaches[i].lacks));
        assert_true(hostile_send(&r, p));
        hostile_closed(f, &r, p->what, p->breach);
    }
}

/* Two calls are sent at once, and each reply is received in a packet of its
 * own. */
static void
a_client_without_any_feature_is_served(void **state)
{
    struct fixture *f = *state;
    struct raw r = {.hoards = false};
    struct vc__frame reply;

    open_with(f, &r, SAID);
    for (uint16_t slot = 0; slot < 2; slot++) {
        struct vc__frame call = CALL(.slot = slot);

        assert_true(raw_send_frame(&r, call));
    }
    for (uint16_t slot = 0; slot < 2; slot++) {
        struct vc__frame call = CALL(.slot = slot);

        assert_true(hostile_await_frame(&r, VC__FRAME_REPLY, &call, &reply));
        assert_int_equal(VC_OK, reply.method);
        assert_int_equal(0, reply.metadata_len);
        assert_int_equal(0, r.reader.left);
    }
    raw_close(&r);
}

/* Returns the status of an Echo of Probe that asks for this many bytes. */
static uint32_t
status_of_echo(struct raw *r, uint32_t sequence, uint32_t bytes)
{
    const uint8_t body[] = {0x10, (uint8_t)(bytes | 0x80),
                            (uint8_t)(bytes >> 7)};
    struct vc__frame call = CALL(.slot = 1), reply;

    call.method = ECHO;
    call.sequence = sequence;
    call.body = body;
    call.body_len = sizeof body;
    assert_true(raw_send_frame(r, call));
    assert_true(hostile_await_frame(r, VC__FRAME_REPLY, &call, &reply));
    return reply.method;
}

static void
a_reply_that_does_not_fit_a_packet_fails_without_long_messages(void **state)
{
    struct raw r = {.hoards = false};

    open_with(*state, &r, SAID | (ALL & ~VC__FEATURE_LONG));
    assert_int_equal(VC_OK, status_of_echo(&r, 1, VC__EAGER_MAX - 16));
    assert_int_equal(VC_RESOURCE_EXHAUSTED,
                     status_of_echo(&r, 2, VC__EAGER_MAX));
    raw_close(&r);
}

/* Checks that a Down of two messages of this size ends with this status. */
static void
down_ends(struct fixture *f, uint32_t features, uint32_t bytes,
          enum vc_status status)
{
    uint8_t body[5 + VC__EAGER_MAX] = {0x10, 2, 0x0a, (uint8_t)(bytes | 0x80),
                                       (uint8_t)(bytes >> 7)};
    struct vc__frame call = CALL(.flags = VC__FRAME_SERVER_STREAM), reply;
    struct raw r = {.hoards = false};

    hostile_open_with(f, &r, SAID | features);
    assert_true(raw_send_open(&r, 1, &suite_streams_service));
    call.method = DOWN;
    call.body = body;
    call.body_len = 5 + bytes;
    assert_true(raw_send_frame(&r, call));
    assert_true(hostile_await_frame(&r, VC__FRAME_REPLY, &call, &reply));
    assert_int_equal(status, reply.method);
    raw_close(&r);
}

/* A message leaves room for the most metadata that the client may be sent. */
static void
a_message_that_does_not_fit_a_packet_fails_without_long_messages(void **state)
{
    struct fixture *f = *state;
    const uint32_t streams = VC__FEATURE_STREAMS;
    const uint32_t with_metadata = streams | VC__FEATURE_METADATA;

    down_ends(f, streams, VC_METADATA_MAX, VC_OK);
    down_ends(f, with_metadata, VC__EAGER_MAX - VC_METADATA_MAX - 16, VC_OK);
    down_ends(f, with_metadata, VC__EAGER_MAX - VC_METADATA_MAX,
              VC_RESOURCE_EXHAUSTED);
}

static void
a_link_with_other_features_does_not_join_a_pool(void **state)
{
    struct fixture *f = *state;
    struct raw first = {.hoards = false}, other = {.hoards = false};
    struct vc__hello hello = raw_hello(&suite_probe_service);
    struct vc__accept accept;
    struct vc__reject reject;

    hostile_open_with(f, &first, SAID | ALL);
    assert_int_equal(VC__SAID_OK,
                     vc__accept_get(&accept, first.said, first.said_len));
    hello.flags = VC__HELLO_POOL;
    hello.pool_token = accept.pool_token;
    hello.features = SAID | (ALL & ~VC__FEATURE_LONG);
    assert_false(raw_open(&other, f->target, &hello));
    assert_int_equal(VC__SAID_OK,
                     vc__reject_get(&reject, other.said, other.said_len));
    assert_int_equal(VC__REJECT_LIMIT, reject.reason);
    raw_close(&other);
    hello.features = SAID | ALL;
    assert_true(raw_open(&other, f->target, &hello));
    raw_close(&other);
    raw_close(&first);
}

/* --- servers ------------------------------------------------------------- */

static bool
play_accept(struct stage *s)
{
    int event;

    if (raw_accept(&s->r, s->data, s->len))
        event = raw_wait(&s->r, RAW_MS);
    else
        event = s->r.event;
    return event == RAW_DISCONNECTED || event == RAW_REJECTED ||
           event == RAW_FAILED;
}

static const struct {
    uint32_t lacks;
    const char *words;
} needs[] = {
    {VC__FEATURE_LONG,
     "does not support long messages, which this client needs"},
    {VC__FEATURE_STREAMS, "does not support streams, which this client needs"},
    {VC__FEATURE_METADATA,
     "does not support metadata, which this client needs"},
    {VC__FEATURE_COALESCED,
     "does not support several frames in a packet, which this client needs"},
};

static void
a_server_that_lacks_a_feature_is_refused(void **state)
{
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        struct vc__accept accept = stage_accept();
        uint8_t bytes[VC__ACCEPT_SIZE];
        struct stage s = {.data = bytes, .len = sizeof bytes};

        accept.features = SAID | (ALL & ~needs[i].lacks);
        vc__accept_put(bytes, &accept);
        stage_start(&s, *state, play_accept);
        stage_call_fails(&s, VC_UNIMPLEMENTED, needs[i].words, needs[i].words);
        assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
        stage_end(&s, needs[i].words);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        hostile_test(what_was_not_agreed_on_ends_the_link),
        hostile_test(a_client_without_any_feature_is_served),
        hostile_test(
            a_reply_that_does_not_fit_a_packet_fails_without_long_messages),
        hostile_test(
            a_message_that_does_not_fit_a_packet_fails_without_long_messages),
        hostile_test(a_link_with_other_features_does_not_join_a_pool),
        hostile_test(a_server_that_lacks_a_feature_is_refused),
    };

    return fixture_main(tests);
}
