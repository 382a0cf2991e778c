/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Ends that do without some features of the protocol (doc/wire.md, 2.8): a
 * server keeps to what the client has said, and a client that uses what was not
 * agreed on loses its link. A client needs a server that has them all. */
#include "cm/connect/features.h"
#include "tests/suite/stage.h"

/* The places of these methods in suite.Probe. */
#define COUNT 3

#define SAID VC__FEATURES_SAID
#define ALL  VC__FEATURES_FIRST

/* A raw link with these features, and session 1. */
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
      .breach = "a part of a long message, which was not agreed on"}},
    {VC__FEATURE_STREAMS,
     {"a call that streams", .n = 1,
      .frames = {CALL(.flags = VC__FRAME_CLIENT_STREAM)},
      .breach = "a stream, which was not agreed on"}},
    {VC__FEATURE_METADATA,
     {"metadata", .n = 1,
      .frames = {CALL(.metadata = (const uint8_t *)"\1a\1\0v",
                      .metadata_len = 5)},
      .breach = "metadata, which were not agreed on"}},
    {VC__FEATURE_COALESCED,
     {"two frames in a packet", .n = 2, .frames = {CALL(), CALL(.slot = 1)},
      .breach = "several frames in a packet, which were not agreed on"}},
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

/* Two calls at once, and their replies come in a packet each. */
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

/* --- servers ------------------------------------------------------------- */

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

static const struct {
    uint32_t lacks;
    const char *words;
} needs[] = {
    {VC__FEATURE_LONG, "has no long messages, which this client needs"},
    {VC__FEATURE_STREAMS, "has no streams, which this client needs"},
    {VC__FEATURE_METADATA, "has no metadata, which this client needs"},
    {VC__FEATURE_COALESCED,
     "has no several frames a packet, which this client needs"},
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
        hostile_test(a_server_that_lacks_a_feature_is_refused),
    };

    return fixture_main(tests);
}
