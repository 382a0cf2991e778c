/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/wire/packet.c against doc/wire.md, sections 3 and 4. Each packet is
 * read from memory of exactly its size, so that a sanitizer finds every access
 * past the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/random.h"
#include "transport/core/le.h"
#include "transport/wire/packet.h"

#define MOST 512

/* Builds a packet as a sender does. */
struct build {
    uint8_t bytes[MOST];
    size_t len;
};

static void
build_packet(struct build *b, uint16_t count)
{
    struct vc__packet p = {.sequence = 1, .count = count};

    vc__packet_put(b->bytes, &p);
    b->len = VC__PACKET_HEADER;
}

static void
build_frame(struct build *b, const struct vc__frame *f)
{
    vc__frame_put(b->bytes + b->len, f);
    b->len += VC__FRAME_HEADER;
    for (size_t i = 0; i < (size_t)f->metadata_len + f->body_len; i++)
        b->bytes[b->len++] = (uint8_t)i;
}

/* Reads len bytes as a packet; returns the last result of
 * vc__frame_next(), 0 or -1, or -2 without a packet header. *frames
 * receives the number of frames. */
static int
read_all(const uint8_t *bytes, size_t len, unsigned *frames)
{
    uint8_t *copy = malloc(len == 0 ? 1 : len);
    struct vc__packet_reader r = {.breach = NULL};
    struct vc__packet p;
    struct vc__frame f;
    int said = -2;

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    *frames = 0;
    if (vc__packet_open(&r, copy, len, &p))
        while ((said = vc__frame_next(&r, &f)) == 1) {
            assert_true(f.body + f.body_len <= copy + len);
            ++*frames;
        }
    free(copy);
    assert_int_equal(r.breach != NULL, said == -1);
    return said;
}

/* Returns the reader's result for one frame with this type and these flags. */
static int
read_one(uint8_t type, uint8_t flags)
{
    bool empty = type >= VC__FRAME_PING && type != VC__FRAME_MESSAGE;
    struct vc__frame f = {
        .type = type, .flags = flags, .body_len = empty ? 0 : 4};
    struct build b;
    unsigned frames;
    int said;

    build_packet(&b, 1);
    build_frame(&b, &f);
    said = read_all(b.bytes, b.len, &frames);
    return said == 0 && frames == 1 ? 1 : said;
}

static void
a_packet_header_has_these_bytes(void **state)
{
    static const uint8_t golden[VC__PACKET_HEADER] = {
        0x04, 0x03, 0x02, 0x01, 0x08, 0x07, 0x06, 0x05, 0x0a, 0x09, 0x0c, 0x0b};
    struct vc__packet p = {0x01020304, {0x05060708, 0x090a}, 0x0b0c}, q;
    struct vc__packet_reader r;
    uint8_t out[VC__PACKET_HEADER];

    (void)state;
    vc__packet_put(out, &p);
    assert_memory_equal(out, golden, sizeof golden);

    assert_true(vc__packet_open(&r, out, sizeof out, &q));
    assert_int_equal(q.sequence, 0x01020304);
    assert_int_equal(q.word.ack, 0x05060708);
    assert_int_equal(q.word.window, 0x090a);
    assert_int_equal(q.count, 0x0b0c);
}

static void
a_frame_header_has_these_bytes(void **state)
{
    static const uint8_t golden[VC__FRAME_HEADER] = {
        0x02, 0x01,             /* type, flags */
        0x04, 0x03,             /* slot */
        0x08, 0x07, 0x06, 0x05, /* session */
        0x0c, 0x0b, 0x0a, 0x09, /* sequence */
        0x0e, 0x0d,             /* method */
        0x10, 0x0f,             /* metadata length */
        0x14, 0x13, 0x12, 0x11, /* body length */
        0x18, 0x17, 0x16, 0x15, /* deadline */
    };
    struct vc__frame f = {.type = VC__FRAME_CALL,
                          .flags = VC__FRAME_MORE,
                          .slot = 0x0304,
                          .session = 0x05060708,
                          .sequence = 0x090a0b0c,
                          .method = 0x0d0e,
                          .metadata_len = 0x0f10,
                          .body_len = 0x11121314,
                          .deadline = 0x15161718};
    uint8_t out[VC__FRAME_HEADER];

    (void)state;
    vc__frame_put(out, &f);
    assert_memory_equal(out, golden, sizeof golden);
}

static void
a_frame_is_read_as_it_was_written(void **state)
{
    struct vc__frame f = {.type = VC__FRAME_DATA,
                          .flags = VC__FRAME_OF_REPLY,
                          .slot = 65535,
                          .session = UINT32_MAX,
                          .sequence = UINT32_MAX - 1,
                          .method = 65534,
                          .metadata_len = 3,
                          .body_len = 5,
                          .deadline = VC__DEADLINE_NONE};
    struct vc__packet_reader r;
    struct vc__packet p;
    struct vc__frame g;
    struct build b;

    (void)state;
    build_packet(&b, 1);
    build_frame(&b, &f);

    assert_true(vc__packet_open(&r, b.bytes, b.len, &p));
    assert_int_equal(vc__frame_next(&r, &g), 1);

    assert_int_equal(g.type, f.type);
    assert_int_equal(g.flags, f.flags);
    assert_int_equal(g.slot, f.slot);
    assert_int_equal(g.session, f.session);
    assert_int_equal(g.sequence, f.sequence);
    assert_int_equal(g.method, f.method);
    assert_int_equal(g.metadata_len, f.metadata_len);
    assert_int_equal(g.body_len, f.body_len);
    assert_int_equal(g.deadline, f.deadline);
    assert_ptr_equal(g.metadata, b.bytes + 36);
    assert_ptr_equal(g.body, b.bytes + 39);
    assert_int_equal(vc__frame_next(&r, &g), 0);
    assert_int_equal(vc__frame_next(&r, &g), 0);
}

static void
frames_follow_each_other_without_padding(void **state)
{
    struct vc__frame odd = {.type = VC__FRAME_CALL, .body_len = 1};
    struct vc__frame empty = {.type = VC__FRAME_CLOSE};
    struct vc__frame full = {
        .type = VC__FRAME_REPLY, .metadata_len = 7, .body_len = 100};
    unsigned frames;
    struct build b;

    (void)state;
    build_packet(&b, 3);
    build_frame(&b, &odd);
    build_frame(&b, &empty);
    build_frame(&b, &full);

    assert_int_equal(b.len, 12 + 25 + 24 + 131);
    assert_int_equal(read_all(b.bytes, b.len, &frames), 0);
    assert_int_equal(frames, 3);
}

static void
a_packet_without_frames_is_good(void **state)
{
    unsigned frames;
    struct build b;

    (void)state;
    build_packet(&b, 0);
    assert_int_equal(read_all(b.bytes, b.len, &frames), 0);
    assert_int_equal(frames, 0);
}

static void
a_packet_that_is_cut_anywhere_is_refused(void **state)
{
    struct vc__frame f = {
        .type = VC__FRAME_CALL, .metadata_len = 3, .body_len = 5};
    unsigned frames;
    struct build b;

    (void)state;
    build_packet(&b, 2);
    build_frame(&b, &f);
    build_frame(&b, &f);

    for (size_t len = 0; len < b.len; len++)
        assert_int_equal(read_all(b.bytes, len, &frames), len < 12 ? -2 : -1);
    assert_int_equal(read_all(b.bytes, b.len, &frames), 0);
}

static void
bytes_behind_the_last_frame_are_refused(void **state)
{
    struct vc__frame f = {.type = VC__FRAME_CALL, .body_len = 5};
    unsigned frames;
    struct build b;

    (void)state;
    build_packet(&b, 1);
    build_frame(&b, &f);
    build_frame(&b, &f);
    assert_int_equal(read_all(b.bytes, b.len, &frames), -1);
    assert_int_equal(frames, 1);

    build_packet(&b, 0);
    b.bytes[b.len] = 0;
    assert_int_equal(read_all(b.bytes, b.len + 1, &frames), -1);
}

static void
a_malformed_packet_stays_malformed(void **state)
{
    struct vc__frame f = {.type = 99}, untouched = {.type = 77};
    struct vc__packet_reader r;
    struct vc__packet p;
    struct build b;

    (void)state;
    build_packet(&b, 1);
    build_frame(&b, &f);
    assert_true(vc__packet_open(&r, b.bytes, b.len, &p));

    for (int i = 0; i < 3; i++)
        assert_int_equal(vc__frame_next(&r, &untouched), -1);
    assert_int_equal(untouched.type, 77);
}

static void
lengths_that_overflow_are_refused(void **state)
{
    static const uint32_t lengths[] = {6, 0x7fffffff, 0x80000000, 0xfffffffb,
                                       0xffffffff};
    struct vc__frame f = {.type = VC__FRAME_CALL, .body_len = 5};
    unsigned frames;
    struct build b;

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        build_packet(&b, 1);
        build_frame(&b, &f);
        vc__put32(b.bytes + 12 + 16, lengths[i]);
        assert_int_equal(read_all(b.bytes, b.len, &frames), -1);
    }
    b.bytes[12 + 14] = 6; /* metadata alone is too long */
    vc__put32(b.bytes + 12 + 16, 0);
    assert_int_equal(read_all(b.bytes, b.len, &frames), -1);
}

static void
only_known_types_and_their_flags_are_good(void **state)
{
    static const uint8_t flags_of[] = {
        [VC__FRAME_OPEN] = 0,
        [VC__FRAME_CALL] = VC__FRAME_MORE | VC__FRAME_STREAMS,
        [VC__FRAME_REPLY] = VC__FRAME_MORE | VC__FRAME_NOT_EXECUTED,
        [VC__FRAME_DATA] = VC__FRAME_MORE | VC__FRAME_OF_REPLY,
        [VC__FRAME_CLOSE] = 0,
        [VC__FRAME_CANCEL] = 0,
        [VC__FRAME_PING] = VC__FRAME_ANSWER,
        [VC__FRAME_GOAWAY] = 0,
        [VC__FRAME_MESSAGE] = VC__FRAME_MORE,
        [VC__FRAME_HALF] = 0,
        [VC__FRAME_WINDOW] = 0,
    };

    (void)state;
    for (unsigned type = 0; type < 256; type++)
        for (unsigned flags = 0; flags < 256; flags++) {
            int good = type >= VC__FRAME_OPEN && type <= VC__FRAME_WINDOW &&
                       (flags & ~flags_of[type]) == 0;

            assert_int_equal(read_one((uint8_t)type, (uint8_t)flags),
                             good ? 1 : -1);
        }
}

static void
a_first_part_has_room_for_the_message_length(void **state)
{
    struct vc__frame f = {.type = VC__FRAME_CALL, .flags = VC__FRAME_MORE};
    unsigned frames;
    struct build b;

    (void)state;
    for (uint32_t len = 0; len < 6; len++) {
        f.body_len = len;
        build_packet(&b, 1);
        build_frame(&b, &f);
        assert_int_equal(read_all(b.bytes, b.len, &frames), len < 4 ? -1 : 0);
    }
}

static void
a_ping_has_these_bytes(void **state)
{
    static const uint8_t golden[VC__FRAME_HEADER] = {0x07, 0x08, 0, 0, 0, 0,
                                                     0,    0,    4, 3, 2, 1};
    struct vc__frame f = {.type = VC__FRAME_PING,
                          .flags = VC__FRAME_ANSWER,
                          .sequence = 0x01020304};
    uint8_t out[VC__FRAME_HEADER];

    (void)state;
    vc__frame_put(out, &f);
    assert_memory_equal(out, golden, sizeof golden);
}

static void
a_ping_has_no_body(void **state)
{
    (void)state;
    for (uint32_t len = 0; len < 6; len++) {
        struct vc__frame f = {.type = VC__FRAME_PING, .body_len = len};
        unsigned frames;
        struct build b;

        build_packet(&b, 1);
        build_frame(&b, &f);
        assert_int_equal(read_all(b.bytes, b.len, &frames), len == 0 ? 0 : -1);
    }
}

static void
a_further_part_may_be_of_any_length(void **state)
{
    struct vc__frame f = {.type = VC__FRAME_DATA, .flags = VC__FRAME_MORE};
    unsigned frames;
    struct build b;

    (void)state;
    build_packet(&b, 1);
    build_frame(&b, &f);
    assert_int_equal(read_all(b.bytes, b.len, &frames), 0);
}

static void
no_mutated_packet_is_read_beyond_its_end(void **state)
{
    struct vc__frame f = {
        .type = VC__FRAME_REPLY, .metadata_len = 9, .body_len = 30};
    uint64_t seed = 1;
    unsigned frames;

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        struct build b;

        build_packet(&b, 3);
        for (unsigned j = 0; j < 3; j++)
            build_frame(&b, &f);
        for (unsigned j = random_below(&seed, 4); j-- > 0;)
            b.bytes[random_below(&seed, (uint32_t)b.len)] =
                (uint8_t)random_next(&seed);
        (void)read_all(b.bytes, random_below(&seed, (uint32_t)b.len + 1),
                       &frames);
        assert_in_range(frames, 0, b.len / VC__FRAME_HEADER);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_header_has_these_bytes),
        cmocka_unit_test(a_frame_header_has_these_bytes),
        cmocka_unit_test(a_frame_is_read_as_it_was_written),
        cmocka_unit_test(frames_follow_each_other_without_padding),
        cmocka_unit_test(a_packet_without_frames_is_good),
        cmocka_unit_test(a_packet_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(bytes_behind_the_last_frame_are_refused),
        cmocka_unit_test(a_malformed_packet_stays_malformed),
        cmocka_unit_test(lengths_that_overflow_are_refused),
        cmocka_unit_test(only_known_types_and_their_flags_are_good),
        cmocka_unit_test(a_first_part_has_room_for_the_message_length),
        cmocka_unit_test(a_ping_has_these_bytes),
        cmocka_unit_test(a_ping_has_no_body),
        cmocka_unit_test(a_further_part_may_be_of_any_length),
        cmocka_unit_test(no_mutated_packet_is_read_beyond_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
