/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Clients that do not read their streams: messages wait for them in the server
 * while their sessions move and close, and they open thousands of streams. */
#include "tests/suite/hostile.h"

#include <malloc.h>
#include <string.h>

#include "tests/suite/streams.h"
#include "transport/core/le.h"

#define STREAMS_ (VC__FRAME_CLIENT_STREAM | VC__FRAME_SERVER_STREAM)

static struct vc__frame
frame(uint8_t type, uint16_t slot, uint32_t sequence)
{
    return (struct vc__frame){.type = type,
                              .session = 1,
                              .slot = slot,
                              .sequence = sequence,
                              .deadline = VC__DEADLINE_NONE};
}

static struct vc__frame
talk(uint16_t slot, uint32_t sequence)
{
    struct vc__frame f = frame(VC__FRAME_CALL, slot, sequence);

    f.flags = STREAMS_;
    f.method = TALK;
    return f;
}

static struct vc__frame
say(uint16_t slot, uint32_t sequence, const char *body, uint32_t len)
{
    struct vc__frame f = frame(VC__FRAME_MESSAGE, slot, sequence);

    f.body = (const uint8_t *)body;
    f.body_len = len;
    return f;
}

/* --- messages that wait ------------------------------------------------ */

/* Opens a link that grants four credits and returns none. */
static void
open_stingy(struct fixture *f, struct raw *r)
{
    struct vc__hello hello = raw_hello(&suite_probe_service);

    hello.credits = 4;
    r->hoards = true;
    assert_true(raw_open(r, f->target, &hello));
    assert_true(raw_send_open(r, 1, &suite_streams_service));
}

/* Opens streams whose handlers all send more than the credits allow. Which of
 * them gets the first credits depends on the server. */
static void
fill(struct fixture *f, struct raw *r, uint16_t n)
{
    struct vc__frame first;

    for (uint16_t slot = 0; slot < n; slot++) {
        assert_true(raw_send_frame(r, talk(slot, 1)));
        assert_true(raw_send_frame(r, say(slot, 1, "\x18\x02", 2)));
    }
    hostile_await_handlers(f, n);
    do {
        assert_true(raw_next_frame(r, &first, RAW_MS));
    } while (first.type != VC__FRAME_MESSAGE);
}

static struct vc__hello
hello_again(const struct raw *first)
{
    struct vc__hello hello = raw_hello(&suite_probe_service);
    struct vc__accept accept;

    assert_int_equal(VC__SAID_OK,
                     vc__accept_get(&accept, first->said, first->said_len));
    hello.flags = VC__HELLO_RESUME;
    hello.pool_token = accept.pool_token;
    return hello;
}

static bool
open_session(struct raw *r, uint32_t binding)
{
    struct raw_packet p = {.len = VC__PACKET_HEADER};
    struct vc__frame open = frame(VC__FRAME_OPEN, 0, binding);

    raw_add_open(&p, 1, &suite_streams_service);
    open.body = p.bytes + VC__PACKET_HEADER + VC__FRAME_HEADER;
    open.body_len = p.len - VC__PACKET_HEADER - VC__FRAME_HEADER;
    return raw_send_frame(r, open);
}

/* Runs a stream to its good end. */
static void
talk_well(struct raw *r, uint16_t slot, uint32_t sequence)
{
    struct vc__frame call = talk(slot, sequence), f;

    assert_true(raw_send_frame(r, call));
    assert_true(raw_send_frame(r, say(slot, sequence, "\x18\x07", 2)));
    assert_true(hostile_await_frame(r, VC__FRAME_MESSAGE, &call, &f));
    assert_int_equal(f.body_len, 2);
    assert_true(raw_send_frame(r, frame(VC__FRAME_HALF, slot, sequence)));
    assert_true(hostile_await_frame(r, VC__FRAME_REPLY, &call, &f));
    assert_int_equal(VC_OK, f.method);
}

static void
a_session_moves_while_messages_of_its_streams_wait(void **state)
{
    struct fixture *f = *state;
    struct raw first = {0}, second = {0};
    struct vc__hello hello;
    struct vc__frame reply;

    open_stingy(f, &first);
    fill(f, &first, 3);
    hello = hello_again(&first);
    assert_true(raw_open(&second, f->target, &hello));
    assert_true(open_session(&second, 2));
    for (uint16_t slot = 0; slot < 3; slot++) {
        struct vc__frame cancel = frame(VC__FRAME_CANCEL, slot, 1);

        assert_true(raw_send_frame(&second, cancel));
        assert_true(
            hostile_await_frame(&second, VC__FRAME_REPLY, &cancel, &reply));
        assert_int_equal(VC_CANCELLED, reply.method);
        talk_well(&second, slot, 2);
    }
    raw_close(&first);
    talk_well(&second, 0, 3);
    raw_close(&second);
    hostile_no_harm(f, "a session that moved away from its messages");
}

static void
a_session_closes_while_messages_of_its_streams_wait(void **state)
{
    struct fixture *f = *state;
    struct raw r = {0};
    struct vc__frame closed = frame(VC__FRAME_CLOSE, 0, 2), answer;
    struct raw_packet p;

    open_stingy(f, &r);
    fill(f, &r, 3);
    assert_true(raw_send_frame(&r, closed));
    hostile_await_no_handler(f, "a session that closed");
    /* The memory of the session is now used by another one, which has messages,
     * too. */
    assert_true(open_session(&r, 3));
    assert_true(raw_send_frame(&r, talk(0, 1)));
    assert_true(raw_send_frame(&r, say(0, 1, "\x18\x07", 2)));
    r.hoards = false;
    while (raw_receive(&r, 100)) /* all packets that the server may send */
        continue;
    r.handled = vc__get32(r.packet) + 1;
    r.window = 16;
    raw_begin(&r, &p);
    assert_true(raw_send_packet(&r, &p));
    assert_true(hostile_await_frame(&r, VC__FRAME_CLOSE, &closed, &answer));
    talk_well(&r, 1, 1);
    raw_close(&r);
    hostile_no_harm(f, "a session closed");
}

/* --- streams that nobody reads ------------------------------------------ */

#define SESSIONS 20u
#define SLOTS    100u
#define UNREAD   4u /* messages per stream, besides the first */

size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* Bytes that are allocated now. */
static size_t
heap(void)
{
    if (__sanitizer_get_current_allocated_bytes != NULL)
        return __sanitizer_get_current_allocated_bytes();
    return mallinfo2().uordblks;
}

/* Opens the streams; returns the heap memory that they use. */
static size_t
unread(struct fixture *f, struct raw *r, unsigned sessions)
{
    static const uint8_t bytes[2000];
    size_t before;

    hostile_open(f, r);
    before = heap();
    for (uint32_t session = 1; session <= sessions; session++) {
        assert_true(raw_send_open(r, session, &suite_streams_service));
        for (uint16_t slot = 0; slot < SLOTS; slot++) {
            struct vc__frame call = talk(slot, 1);
            struct vc__frame first = say(slot, 1, "\x18\x02", 2);
            struct vc__frame more = say(slot, 1, NULL, sizeof bytes);

            more.body = bytes;
            call.session = first.session = more.session = session;
            assert_true(raw_send_frame(r, call));
            assert_true(raw_send_frame(r, first));
            for (unsigned i = 0; i < UNREAD; i++)
                assert_true(raw_send_frame(r, more));
        }
    }
    raw_forget(r); /* packets received meanwhile do not count for the server */
    return heap() - before;
}

static void
a_hundred_streams_that_nobody_reads_delay_nobody(void **state)
{
    struct fixture *f = *state;
    struct raw r = {0};

    unread(f, &r, 1);
    hostile_others_served(f, "a hundred streams");
    raw_close(&r);
}

/* More handlers than the server has threads. */
static void
thousands_of_streams_that_nobody_reads_cost_what_they_sent(void **state)
{
    struct fixture *f = *state;
    struct raw r = {0};
    size_t each = unread(f, &r, SESSIONS) / (SESSIONS * SLOTS);

    print_message("%u streams of %u bytes: %zu bytes each\n", SESSIONS * SLOTS,
                  UNREAD * 2000, each);
    assert_in_range(each, UNREAD * 2000, UNREAD * 2000 + 20000);
    raw_close(&r);
    hostile_no_harm(f, "thousands of streams");
}

#define T(name) hostile_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_session_moves_while_messages_of_its_streams_wait),
        T(a_session_closes_while_messages_of_its_streams_wait),
        T(a_hundred_streams_that_nobody_reads_delay_nobody),
        T(thousands_of_streams_that_nobody_reads_cost_what_they_sent),
    };

    return fixture_main(tests);
}
