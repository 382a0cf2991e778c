/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The bytes of a datagram's header and of an introduction: doc/wire.md, section
 * 2.12. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "transport/ud/datagram.h"

static const uint8_t golden[VC__DATAGRAM_HEADER] = {
    0x44, 0x33, 0x22, 0x11, /* key */
    0x02, 0x00, 0x00, 0x80, /* sequence */
    0x07, 0x00, 0x00, 0x00, /* acknowledgement */
    0x01, 0x00, 0x00, 0x40, /* those after it */
    0x01, 0x38, 0x20, 0x00, /* flags, piece 3 of 9, window */
};

static void
a_header_has_these_bytes(void **state)
{
    const struct vc__datagram d = {.key = 0x11223344,
                                   .sequence = 0x80000002,
                                   .ack = 7,
                                   .sack = 0x40000001,
                                   .flags = VC__DATAGRAM_ASKS,
                                   .piece = 3,
                                   .pieces = 9,
                                   .window = 32};
    uint8_t out[VC__DATAGRAM_HEADER + 1] = {0};
    struct vc__datagram back;

    (void)state;
    vc__datagram_put(out, &d);
    assert_memory_equal(golden, out, sizeof golden);
    assert_true(vc__datagram_get(&back, out, sizeof out));
    assert_int_equal(d.key, back.key);
    assert_int_equal(d.sequence, back.sequence);
    assert_int_equal(d.ack, back.ack);
    assert_int_equal(d.sack, back.sack);
    assert_int_equal(d.flags, back.flags);
    assert_int_equal(d.piece, back.piece);
    assert_int_equal(d.pieces, back.pieces);
    assert_int_equal(d.window, back.window);
}

/* True if the header with this byte changed is still one. */
static bool
reads(unsigned at, uint8_t value, uint32_t len)
{
    uint8_t in[VC__DATAGRAM_HEADER + 1] = {0};
    struct vc__datagram d;

    memcpy(in, golden, sizeof golden);
    in[at] = value;
    return vc__datagram_get(&d, in, len);
}

static void
a_header_with_a_bad_byte_is_refused(void **state)
{
    const uint32_t len = VC__DATAGRAM_HEADER + 1;

    (void)state;
    assert_true(reads(16, VC__DATAGRAM_FLAGS, len));
    assert_false(reads(16, 0x08, len));
    assert_true(reads(17, 0x88, len));
    assert_false(reads(17, 0x99, len)); /* ten pieces */
    assert_false(reads(17, 0x10, len)); /* piece 1 of 1 */
    assert_false(reads(19, 1, len));
    assert_false(reads(0, 0x44, VC__DATAGRAM_HEADER)); /* without its data */
    for (uint32_t cut = 0; cut < VC__DATAGRAM_HEADER; cut++)
        assert_false(reads(0, 0x44, cut));
}

static void
what_carries_no_data_has_no_piece_and_no_bytes(void **state)
{
    const struct vc__datagram d = {.key = 5, .ack = 9, .window = 4};
    uint8_t out[VC__DATAGRAM_HEADER + 1] = {0};
    struct vc__datagram back;

    (void)state;
    vc__datagram_put(out, &d);
    assert_true(vc__datagram_get(&back, out, VC__DATAGRAM_HEADER));
    assert_int_equal(0, back.sequence);
    assert_false(vc__datagram_get(&back, out, VC__DATAGRAM_HEADER + 1));
    out[17] = 1;
    assert_false(vc__datagram_get(&back, out, VC__DATAGRAM_HEADER));
}

static void
an_introduction_has_these_bytes(void **state)
{
    static const uint8_t bytes[VC__INTRO] = {'V',  'B',  'U',  'D',  1,    8,
                                             0x00, 0x10, 0x44, 0x33, 0x22, 0x11,
                                             0x11, 0x00, 0x80, 0x00};
    const struct vc__intro i = {
        .key = 0x11223344, .qpn = 0x800011, .mtu = 4096, .window = 8};
    uint8_t out[VC__INTRO];
    struct vc__intro back;

    (void)state;
    vc__intro_put(out, &i);
    assert_memory_equal(bytes, out, sizeof out);
    assert_true(vc__intro_get(&back, out, sizeof out));
    assert_int_equal(i.key, back.key);
    assert_int_equal(i.qpn, back.qpn);
    assert_int_equal(i.mtu, back.mtu);
    assert_int_equal(i.window, back.window);
    assert_false(vc__intro_get(&back, out, sizeof out - 1));
}

static void
an_introduction_with_a_bad_byte_is_refused(void **state)
{
    static const struct {
        unsigned at;
        uint8_t value;
    } bad[] = {{0, 'v'}, {4, 2}, {5, 0}, {7, 3}, {15, 1}};
    const struct vc__intro i = {.key = 1, .qpn = 17, .mtu = 1024, .window = 1};
    struct vc__intro back;

    (void)state;
    for (unsigned n = 0; n < sizeof bad / sizeof bad[0]; n++) {
        uint8_t out[VC__INTRO];

        vc__intro_put(out, &i);
        assert_true(vc__intro_get(&back, out, sizeof out));
        out[bad[n].at] = bad[n].value;
        assert_false(vc__intro_get(&back, out, sizeof out));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_has_these_bytes),
        cmocka_unit_test(a_header_with_a_bad_byte_is_refused),
        cmocka_unit_test(what_carries_no_data_has_no_piece_and_no_bytes),
        cmocka_unit_test(an_introduction_has_these_bytes),
        cmocka_unit_test(an_introduction_with_a_bad_byte_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
