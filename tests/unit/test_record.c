/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/socket/record.h: the bytes of doc/wire.md, section 2.9. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "transport/socket/record.h"

static void
a_header_is_as_documented(void **state)
{
    uint8_t out[VC__RECORD_HEADER];
    struct vc__record r;

    (void)state;
    vc__record_put(out, VC__RECORD_PACKET, 0x1234);
    assert_memory_equal("\xc4\x00\x34\x12", out, 4);
    assert_true(vc__record_get(out, &r));
    assert_int_equal(VC__RECORD_PACKET, r.kind);
    assert_int_equal(0x1234, r.len);
}

static void
bodies_have_their_limits(void **state)
{
    static const struct {
        uint8_t kind;
        uint32_t most;
    } kinds[] = {{0xc1, 56}, {0xc2, 196}, {0xc3, 148}, {0xc4, 8192}, {0xc5, 0}};
    uint8_t out[VC__RECORD_HEADER];
    struct vc__record r;

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        vc__record_put(out, kinds[i].kind, kinds[i].most);
        assert_true(vc__record_get(out, &r));
        vc__record_put(out, kinds[i].kind, kinds[i].most + 1);
        assert_false(vc__record_get(out, &r));
    }
    for (unsigned kind = 0; kind < 256; kind++) {
        vc__record_put(out, (uint8_t)kind, 0);
        assert_int_equal(kind >= 0xc1 && kind <= 0xc5, vc__record_get(out, &r));
    }
    vc__record_put(out, VC__RECORD_HELLO, 56);
    out[1] = 1;
    assert_false(vc__record_get(out, &r));
}

/* The reader asks for exactly the bytes of the record. */
static void
what_is_wanted_is_known_from_the_header(void **state)
{
    uint8_t out[VC__RECORD_HEADER];

    (void)state;
    vc__record_put(out, VC__RECORD_ACCEPT, 50);
    for (uint32_t len = 0; len < 4; len++)
        assert_int_equal(4, vc__record_wants(out, len, VC__RECORD_ACCEPT,
                                             VC__RECORD_REJECT));
    assert_int_equal(
        54, vc__record_wants(out, 4, VC__RECORD_ACCEPT, VC__RECORD_REJECT));
    assert_int_equal(
        54, vc__record_wants(out, 30, VC__RECORD_REJECT, VC__RECORD_ACCEPT));
    assert_int_equal(
        0, vc__record_wants(out, 4, VC__RECORD_HELLO, VC__RECORD_HELLO));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_is_as_documented),
        cmocka_unit_test(bodies_have_their_limits),
        cmocka_unit_test(what_is_wanted_is_known_from_the_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
