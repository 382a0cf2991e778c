/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bad peers of rdma+ud:// that write their datagrams byte by byte (doc/wire.md,
 * 2.12). What is not the peer's is dropped and counted, a peer that breaks the
 * rules of its own datagrams loses its link, and others are not affected. */
#include <stdlib.h>
#include <string.h>

#include <verbcall/counters.h>

#include "tests/suite/hostile.h"
#include "tests/suite/raw_ud.h"

/* The index of Count in suite.Probe. */
#define COUNT 3

/* --- helpers -------------------------------------------------- */

static struct vc_counters
server_counters(struct fixture *f)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(f->server_runtime, &c);
    return c;
}

/* Opens session 1 of a raw client that keeps the rules. */
static void
opened(struct fixture *f, struct raw *r)
{
    r->ops = &raw_ud_ops;
    hostile_open_session(f, r);
    assert_true(raw_ud_await_acked(r, RAW_MS));
}

static struct vc__frame
count_call(uint32_t sequence)
{
    return (struct vc__frame){.type = VC__FRAME_CALL,
                              .session = 1,
                              .sequence = sequence,
                              .method = COUNT,
                              .deadline = VC__DEADLINE_NONE};
}

/* Reads the reply to a call of Count: how often Count has run. */
static uint64_t
count_reply(struct raw *r, struct vc__frame call)
{
    struct vc__frame f;
    Suite__CountReply *reply;
    uint64_t calls;

    assert_true(hostile_await_frame(r, VC__FRAME_REPLY, &call, &f));
    reply = suite__count_reply__unpack(NULL, f.body_len, f.body);
    assert_non_null(reply);
    calls = reply->calls;
    suite__count_reply__free_unpacked(reply, NULL);
    return calls;
}

static uint64_t
count(struct raw *r, uint32_t sequence)
{
    assert_true(raw_send_frame(r, count_call(sequence)));
    return count_reply(r, count_call(sequence));
}

/* Waits until so many datagrams were dropped. */
static void
await_dropped(struct fixture *f, uint64_t n, const char *after)
{
    uint64_t until = fixture_ms() + RAW_MS;

    while (server_counters(f).datagrams_dropped < n) {
        if (fixture_ms() >= until)
            fail_msg("%s was not dropped, or not counted", after);
    }
    assert_int_equal(n, server_counters(f).datagrams_dropped);
}

/* --- good clients -------------------------------------------------- */

static void
a_raw_client_that_keeps_the_rules_is_served(void **state)
{
    struct fixture *f = *state;
    uint64_t dropped = server_counters(f).datagrams_dropped;
    struct raw r = {.ops = &raw_ud_ops};
    struct vc__frame reply, echo = {.type = VC__FRAME_CALL,
                                    .session = 1,
                                    .sequence = 2,
                                    .deadline = VC__DEADLINE_NONE};
    uint8_t request[6000] = {0x0a, 0xec, 0x2e}; /* a payload of 5996 bytes */

    opened(f, &r);
    assert_in_range(count(&r, 1), 1, UINT64_MAX);
    /* In pieces, both ways. */
    assert_true(raw_send_message(&r, echo, request, 3 + 5996));
    assert_true(hostile_await_frame(&r, VC__FRAME_REPLY, &echo, &reply));
    assert_int_equal(3 + 5996, reply.body_len);
    assert_int_equal(dropped, server_counters(f).datagrams_dropped);
    raw_close(&r);
}

/* --- datagrams of nobody ------------------------------------------------- */

/* A datagram, described by its differences from a good one with three bytes of
 * data. `add` is added, cut bytes are left out, and byte `at` is replaced,
 * unless it is 0. */
struct nobodys {
    const char *what;
    struct vc__datagram add;
    unsigned cut;
    uint8_t at, byte;
    bool stranger, reset;
};

static const struct nobodys of_nobody[] = {
    {.what = "a key that nobody has", .add.key = 1, .reset = true},
    {.what = "a datagram of another queue pair", .stranger = true},
    {.what = "an acknowledgement of what was not sent", .add.ack = 1},
    {.what = "an acknowledgement of 2^31 more", .add.ack = 0x7fffffff},
    {.what = "a SACK of what was not sent", .add.sack = 1},
    {.what = "a sequence outside the window", .add.sequence = 32},
    {.what = "a sequence far outside the window", .add.sequence = 0x7fffff00},
    {.what = "nothing", .cut = 23},
    {.what = "half a header", .cut = 13},
    {.what = "a header that is too short", .cut = 4},
    {.what = "a sequence without data", .cut = 3},
    {.what = "an unknown flag", .at = 16, .byte = 8},
    {.what = "a byte that is not zero", .at = 19, .byte = 1},
    {.what = "a piece after the last", .at = 17, .byte = 0x10},
    {.what = "a packet of ten pieces", .at = 17, .byte = 0x09},
};

/* Sends it; the next good datagram has the same sequence. */
static void
nobodys_send(struct raw *r, const struct nobodys *n)
{
    struct vc__datagram d = raw_ud_next(r);
    uint8_t bytes[VC__DATAGRAM_HEADER + 3] = {0};

    raw_ud_of(r)->next--;
    d.key += n->add.key;
    d.ack += n->add.ack;
    d.sack += n->add.sack;
    d.sequence += n->add.sequence;
    vc__datagram_put(bytes, &d);
    if (n->at != 0)
        bytes[n->at] = n->byte;
    raw_ud_send_bytes(r, bytes, sizeof bytes - n->cut, n->stranger);
}

static void
datagrams_of_nobody_are_dropped_and_counted(void **state)
{
    struct fixture *f = *state;
    struct raw r = {0};

    opened(f, &r);
    for (unsigned i = 0; i < sizeof of_nobody / sizeof *of_nobody; i++) {
        const struct nobodys *n = &of_nobody[i];
        uint64_t dropped = server_counters(f).datagrams_dropped;
        unsigned resets = raw_ud_of(&r)->resets;

        nobodys_send(&r, n);
        await_dropped(f, dropped + 1, n->what);
        count(&r, i + 1);
        assert_int_equal(resets + n->reset, raw_ud_of(&r)->resets);
    }
    raw_close(&r);
}

/* RESETs are not sent for each datagram of a flood. */
static void
a_key_that_nobody_has_is_answered_by_a_reset_but_seldom(void **state)
{
    static const struct nobodys flood = {.add.key = 1};
    struct fixture *f = *state;
    uint64_t dropped = server_counters(f).datagrams_dropped, began, ms;
    struct raw r = {0};

    opened(f, &r);
    began = fixture_ms();
    for (unsigned i = 1; i <= 200; i++) {
        nobodys_send(&r, &flood);
        if (i % 20 == 0)
            await_dropped(f, dropped + i, "a flood of strangers' datagrams");
    }
    ms = fixture_ms() - began + 1;
    count(&r, 1);
    assert_in_range(raw_ud_of(&r)->resets, 1, ms / 2 + 1);
    assert_int_equal(raw_ud_of(&r)->theirs.key + 1, raw_ud_of(&r)->reset_key);
    raw_close(&r);
}

static void
a_reset_of_another_queue_pair_is_ignored_but_not_of_the_peer(void **state)
{
    struct fixture *f = *state;
    uint64_t dropped = server_counters(f).datagrams_dropped;
    struct vc__datagram d = {.flags = VC__DATAGRAM_RESET};
    uint8_t bytes[VC__DATAGRAM_HEADER];
    struct raw r = {0};

    opened(f, &r);
    d.key = raw_ud_of(&r)->ours.key;
    vc__datagram_put(bytes, &d);
    raw_ud_send_bytes(&r, bytes, sizeof bytes, true);
    await_dropped(f, dropped + 1, "a RESET of a stranger");
    count(&r, 1);

    raw_ud_send_bytes(&r, bytes, sizeof bytes, false);
    hostile_closed(f, &r, "a RESET", "does not know this connection");
}

/* --- pieces -------------------------------------------------- */

/* Pieces in a row, each with the least or the most data. */
struct pieces {
    const char *what, *breach;
    unsigned n;
    bool long_;
    struct {
        uint8_t piece, pieces;
    } at[9];
};

static const struct pieces bad_pieces[] = {
    {"a middle first", "begins in its middle", 1, .at = {{1, 3}}},
    {"a piece left out", "do not belong together", 2, .at = {{0, 3}, {2, 3}}},
    {"a piece twice", "do not belong together", 2, .at = {{0, 3}, {0, 3}}},
    {"another number of pieces", "do not belong together", 2,
     .at = {{0, 3}, {1, 4}}},
    {"a packet within a packet", "do not belong together", 2,
     .at = {{0, 3}, {0, 1}}},
    {"more than 8 KiB", "too long", 9, true,
     .at = {{0, 9},
            {1, 9},
            {2, 9},
            {3, 9},
            {4, 9},
            {5, 9},
            {6, 9},
            {7, 9},
            {8, 9}}},
    {"a packet of rubbish", "a packet without a header", 1, .at = {{0, 1}}},
};

static void
pieces_that_do_not_fit_end_the_link(void **state)
{
    static const uint8_t data[RAW_UD_DATA];

    for (unsigned i = 0; i < sizeof bad_pieces / sizeof *bad_pieces; i++) {
        const struct pieces *p = &bad_pieces[i];
        struct raw r = {0};

        opened(*state, &r);
        for (unsigned n = 0; n < p->n; n++) {
            struct vc__datagram d = raw_ud_next(&r);

            d.piece = p->at[n].piece;
            d.pieces = p->at[n].pieces;
            raw_ud_send(&r, &d, data, p->long_ ? sizeof data : 1);
        }
        hostile_closed(*state, &r, p->what, p->breach);
    }
}

/* --- order -------------------------------------------------- */

/* Makes the packet of a call of Count. */
static struct raw_packet
count_packet(struct raw *r, struct vc__frame call)
{
    struct raw_packet p;

    raw_begin(r, &p);
    raw_add(&p, call);
    return p;
}

/* The first call of another slot. */
static struct vc__frame
slot_call(uint16_t slot)
{
    struct vc__frame call = count_call(1);

    call.slot = slot;
    return call;
}

static void
a_datagram_that_comes_often_has_its_call_run_once(void **state)
{
    struct fixture *f = *state;
    uint64_t again = server_counters(f).datagrams_again, first;
    struct vc__datagram d;
    struct raw_packet p;
    struct raw r = {0};

    opened(f, &r);
    first = count(&r, 1);
    p = count_packet(&r, count_call(2));
    d = raw_ud_next(&r);
    for (unsigned i = 0; i < 5; i++)
        raw_ud_send(&r, &d, p.bytes, p.len);
    assert_int_equal(first + 1, count_reply(&r, count_call(2)));
    raw_ud_send(&r, &d, p.bytes, p.len); /* after its reply, too */
    assert_int_equal(first + 2, count(&r, 3));
    assert_int_equal(again + 5, server_counters(f).datagrams_again);
    raw_close(&r);
}

static void
datagrams_in_disorder_are_acknowledged_and_handled_in_order(void **state)
{
    static const unsigned order[] = {3, 1, 4, 2, 0};
    struct raw_packet *p = calloc(5, sizeof *p);
    struct vc__datagram d[5];
    struct raw r = {0};
    uint64_t first;

    opened(*state, &r);
    first = count(&r, 1);
    for (unsigned i = 0; i < 5; i++) {
        p[i] = count_packet(&r, slot_call((uint16_t)(i + 1)));
        d[i] = raw_ud_next(&r);
    }
    for (unsigned i = 0; i < 4; i++)
        raw_ud_send(&r, &d[order[i]], p[order[i]].bytes, p[order[i]].len);
    while (raw_ud_of(&r)->sack != 0x0f)
        assert_true(r.ops->step(&r, fixture_ms() + RAW_MS));
    assert_int_equal(d[0].sequence, raw_ud_of(&r)->acked);
    raw_ud_send(&r, &d[0], p[0].bytes, p[0].len);
    for (unsigned i = 0; i < 5; i++)
        count_reply(&r, slot_call((uint16_t)(i + 1)));
    assert_int_equal(first + 6, count(&r, 2));
    raw_close(&r);
    free(p);
}

/* --- silence -------------------------------------------------- */

/* A client without library threads acknowledges nothing between its calls. */
static void
a_reply_that_is_not_acknowledged_comes_four_times(void **state)
{
    struct raw r = {0};
    struct raw_ud *u;

    opened(*state, &r);
    count(&r, 1);
    u = raw_ud_of(&r);
    u->silent = true;
    u->copies = 0;
    count(&r, 2);
    while (r.ops->step(&r, fixture_ms() + 2000))
        continue;
    assert_int_equal(4, u->copies);
    u->silent = false;
    count(&r, 3);
    raw_close(&r);
}

/* --- introductions -------------------------------------------------- */

static const struct {
    const char *what;
    uint8_t at, byte;
} bad_intros[] = {
    {"another magic", 0, 'v'},      {"version 2", 4, 2},
    {"a window of 0", 5, 0},        {"an MTU of 768", 7, 3},
    {"a number of 25 bits", 15, 1}, {"another magic of the hello", 16, 0},
};

static void
a_hello_without_a_good_introduction_is_rejected(void **state)
{
    const struct vc__hello hello = raw_hello(&suite_probe_service);
    const struct vc__intro intro = {
        .key = 1, .qpn = 17, .mtu = VC__DATAGRAM_MTU, .window = 1};
    struct fixture *f = *state;

    for (unsigned i = 0; i < sizeof bad_intros / sizeof *bad_intros; i++) {
        uint64_t before = server_counters(f).rejects_malformed;
        uint8_t bytes[VC__INTRO + VC__HELLO_SIZE];
        struct vc__reject reject;
        struct raw r = {0};

        vc__intro_put(bytes, &intro);
        vc__hello_put(bytes + VC__INTRO, &hello);
        bytes[bad_intros[i].at] = bad_intros[i].byte;
        if (raw_ud_ask(&r, f->target, bytes, sizeof bytes) != RAW_REJECTED)
            fail_msg("%s was not rejected", bad_intros[i].what);
        assert_int_equal(VC__SAID_OK,
                         vc__reject_get(&reject, r.said, r.said_len));
        assert_int_equal(VC__REJECT_MALFORMED, reject.reason);
        assert_int_equal(before + 1, server_counters(f).rejects_malformed);
        raw_close(&r);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        hostile_test(a_raw_client_that_keeps_the_rules_is_served),
        hostile_test(datagrams_of_nobody_are_dropped_and_counted),
        hostile_test(a_key_that_nobody_has_is_answered_by_a_reset_but_seldom),
        hostile_test(
            a_reset_of_another_queue_pair_is_ignored_but_not_of_the_peer),
        hostile_test(pieces_that_do_not_fit_end_the_link),
        hostile_test(a_datagram_that_comes_often_has_its_call_run_once),
        hostile_test(
            datagrams_in_disorder_are_acknowledged_and_handled_in_order),
        hostile_test(a_reply_that_is_not_acknowledged_comes_four_times),
        hostile_test(a_hello_without_a_good_introduction_is_rejected),
    };

    setenv("VC_TEST_SCHEME", "rdma+ud", 1);
    return fixture_main(tests);
}
