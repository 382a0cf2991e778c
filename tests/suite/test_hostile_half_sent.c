/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Clients that send only the beginnings of many long requests. The server
 * reserves for them only a share of its memory: other clients find some, and no
 * message that is received normally is dropped. */
#include <string.h>
#include <unistd.h>

#include <verbcall/counters.h>

#include "tests/suite/hostile.h"
#include "tests/suite/pace.h"
#include "tests/suite/streams.h"
#include "transport/core/le.h"

/* The indexes of these methods in suite.Probe. */
enum {
    ECHO = 0,
    COUNT = 3
};

#define MIB (1024u * 1024u)

static void
answered_well(struct raw *r, const struct vc__frame *call)
{
    struct vc__frame reply;

    assert_true(hostile_await_frame(r, VC__FRAME_REPLY, call, &reply));
    assert_status(VC_OK, (enum vc_status)reply.method);
}

/* Sends a thousand half-sent requests of 1 MiB, and waits until all are
 * received. */
static void
hoard_open(struct fixture *f, struct raw *r)
{
    struct vc__frame call = {.type = VC__FRAME_CALL,
                             .sequence = 1,
                             .method = ECHO,
                             .deadline = VC__DEADLINE_NONE};
    struct vc__frame last = {.type = VC__FRAME_CALL,
                             .session = 1,
                             .sequence = 1,
                             .method = COUNT,
                             .deadline = VC__DEADLINE_NONE};

    hostile_open_session(f, r);
    for (uint32_t session = 2; session <= 4; session++)
        assert_true(raw_send_open(r, session, &suite_probe_service));
    call.flags = VC__FRAME_MORE;
    call.body = (const uint8_t *)"\0\0\x10\0" /* 1 MiB */
                                 "abc";
    call.body_len = 7;
    for (call.session = 1; call.session <= 4; call.session++)
        for (call.slot = 1; call.slot <= 250; call.slot++)
            assert_true(raw_send_frame(r, call));
    assert_true(raw_send_frame(r, last));
    answered_well(r, &last);
}

/* The memory reserved for them is only a share, and all of it is freed. */
static void
half_sent_requests_leave_memory_to_others(void **state)
{
    struct fixture *f = *state;
    struct raw r = {0};

    hoard_open(f, &r);
    for (unsigned i = 0; i < 5; i++)
        assert_status(VC_OK, fixture_echo(f->channel, MIB - 100, i));
    hostile_others_served(f, "half-sent requests");
    raw_close(&r);
}

/* Half-sent requests must not take the memory of messages that are received
 * normally. */
static void
half_sent_requests_take_nothing_from_a_stream(void **state)
{
    /* An EchoRequest with a payload of this many bytes, in two parts. */
    enum {
        PAYLOAD = 12000,
        PART = 6000
    };
    static uint8_t first[4 + PART], rest[PAYLOAD + 3 - PART];
    struct fixture *f = *state;
    struct raw r = {0}, hoard = {0};
    struct vc__frame call = {.type = VC__FRAME_CALL,
                             .flags = VC__FRAME_CLIENT_STREAM,
                             .method = UP,
                             .session = 1,
                             .sequence = 1,
                             .deadline = VC__DEADLINE_NONE};
    struct vc__frame message = {.type = VC__FRAME_MESSAGE,
                                .flags = VC__FRAME_MORE,
                                .session = 1,
                                .sequence = 1,
                                .body = first,
                                .body_len = sizeof first};
    struct vc__frame data = {.type = VC__FRAME_DATA,
                             .session = 1,
                             .sequence = 1,
                             .deadline = PART,
                             .body = rest,
                             .body_len = sizeof rest};
    struct vc__frame half = {
        .type = VC__FRAME_HALF, .session = 1, .sequence = 1};

    vc__put32(first, PAYLOAD + 3);
    memcpy(first + 4, "\x0a\xe0\x5d", 3); /* 12000 as a varint */
    hostile_open(f, &r);
    assert_true(raw_send_open(&r, 1, &suite_streams_service));
    assert_true(raw_send_frame(&r, call));
    assert_true(raw_send_frame(&r, message));
    hoard_open(f, &hoard);

    assert_true(raw_send_frame(&r, data));
    assert_true(raw_send_frame(&r, half));
    answered_well(&r, &call);
    raw_close(&r);
    raw_close(&hoard);
}

/* --- how long half-sent requests are kept -------------------------------- */

#define STALL_MS   10
#define GIVEN_BACK 2000 /* ms, at the machine's usual pace */

static uint64_t
bytes_arriving(const struct fixture *f)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(f->server_runtime, &c);
    return c.requests_arriving;
}

/* Also a server that is not short of memory drops them. */
static void
a_half_sent_request_is_kept_for_a_time_only(void **state)
{
    static uint8_t first[4 + 6000], rest[6003];
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct vc__frame call = {.type = VC__FRAME_CALL,
                             .flags = VC__FRAME_MORE,
                             .method = ECHO,
                             .session = 1,
                             .sequence = 1,
                             .deadline = VC__DEADLINE_NONE,
                             .body = first,
                             .body_len = sizeof first};
    struct vc__frame data = {.type = VC__FRAME_DATA,
                             .session = 1,
                             .sequence = 1,
                             .deadline = 6000,
                             .body = rest,
                             .body_len = sizeof rest};
    struct vc__frame reply;
    struct raw r = {0};
    struct fixture f;
    uint64_t start;

    (void)state;
    opts.stream_stall_ms = STALL_MS;
    fixture_start(&f, 1, &opts, NULL);
    vc__put32(first, 12003);
    hostile_open_session(&f, &r);
    start = fixture_ms();
    assert_true(raw_send_frame(&r, call));
    while (bytes_arriving(&f) == 0 && pace_since(start) < GIVEN_BACK)
        usleep(1000);
    while (bytes_arriving(&f) > 0 && pace_since(start) < GIVEN_BACK)
        usleep(1000);
    assert_int_equal(0, bytes_arriving(&f));

    assert_true(raw_send_frame(&r, data));
    assert_true(hostile_await_frame(&r, VC__FRAME_REPLY, &call, &reply));
    assert_status(VC_RESOURCE_EXHAUSTED, (enum vc_status)reply.method);
    assert_int_equal(VC__FRAME_NOT_EXECUTED,
                     reply.flags & VC__FRAME_NOT_EXECUTED);
    raw_close(&r);
    hostile_no_harm(&f, "half a request");
    fixture_stop(&f);
}

#define T(name) hostile_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(half_sent_requests_leave_memory_to_others),
        T(half_sent_requests_take_nothing_from_a_stream),
        cmocka_unit_test(a_half_sent_request_is_kept_for_a_time_only),
    };

    return fixture_main(tests);
}
