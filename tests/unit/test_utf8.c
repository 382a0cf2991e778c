/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * transport/core/utf8.h against a slow decoder that follows RFC 3629, section
 * 3: it decodes, and checks whether the character may be encoded so. Unlike the
 * RFC, both refuse NUL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transport/core/error.h"
#include "transport/core/utf8.h"

/* Encodes a character as in RFC 3629; returns its length. */
static size_t
encode(uint8_t out[4], uint32_t c)
{
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (uint8_t)(0x80 | (c & 0x3f));
        c >>= 6;
    }
    out[0] = (uint8_t)(lead[n] | c);
    return n;
}

static bool
may_be_written(uint32_t c)
{
    return c != 0 && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
}

/* Returns the length of the valid character at s; 0 for none. */
static size_t
decode(const uint8_t *s, size_t left)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    uint32_t c = s[0] & (n == 1 ? 0x7f : 0xff >> (n + 1));
    uint8_t again[4];

    if (n > left || (s[0] >= 0x80 && s[0] < 0xc0) || s[0] >= 0xf8)
        return 0;
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (s[i] & 0x3f);
    if (!may_be_written(c) || encode(again, c) != n)
        return 0;
    return memcmp(again, s, n) == 0 ? n : 0;
}

static bool
slowly_valid(const uint8_t *s, size_t len)
{
    for (size_t i = 0, n; i < len; i += n)
        if ((n = decode(s + i, len - i)) == 0)
            return false;
    return true;
}

static void
every_character_is_good_and_no_other_number(void **state)
{
    uint8_t s[8];

    (void)state;
    for (uint32_t c = 0; c < 0x1fffff; c++) {
        size_t n = encode(s, c);

        if (vc__utf8_valid(s, n) != may_be_written(c))
            fail_msg("U+%x", c);
    }
}

/* All lead bytes, all second bytes, and the third and fourth bytes
 * that matter. */
static void
strings_of_up_to_four_bytes_are_judged_as_by_the_rfc(void **state)
{
    static const uint8_t ends[] = {0x00, 0x41, 0x7f, 0x80, 0xbf, 0xc2, 0xff};
    const size_t n = sizeof ends;

    (void)state;
    for (uint32_t i = 0; i < 0x10000 * n * n; i++) {
        uint8_t s[8] = {(uint8_t)(i / (256 * n * n)),
                        (uint8_t)(i / (n * n) % 256), ends[i / n % n],
                        ends[i % n]};

        for (size_t len = 1; len <= 4; len++)
            if (vc__utf8_valid(s, len) != slowly_valid(s, len))
                fail_msg("%02x %02x %02x %02x, %zu", s[0], s[1], s[2], s[3],
                         len);
    }
}

static void
a_bad_byte_is_found_at_every_place(void **state)
{
    static const uint8_t bad[] = {0x00, 0x80, 0xc3, 0xff};

    (void)state;
    for (size_t len = 0; len < 40; len++) {
        uint8_t *s = malloc(len + 1);

        assert_non_null(s);
        memset(s, 'x', len);
        assert_true(vc__utf8_valid(s, len));
        for (size_t at = 0; at < len; at++)
            for (size_t i = 0; i < sizeof bad; i++) {
                s[at] = bad[i];
                assert_false(vc__utf8_valid(s, len));
                s[at] = 0x7f;
                assert_true(vc__utf8_valid(s, len));
            }
        free(s);
    }
}

static void
a_character_cut_at_the_end_is_bad(void **state)
{
    (void)state;
    for (size_t before = 0; before < 20; before++)
        for (size_t n = 1; n <= 4; n++) {
            uint8_t *s = malloc(before + n);

            assert_non_null(s);
            memset(s, 'x', before);
            memcpy(s + before, "\xf0\x9f\x98\x80", n);
            assert_int_equal(vc__utf8_valid(s, before + n), n == 4);
            free(s);
        }
}

static void
a_text_is_cut_between_characters(void **state)
{
    static const char text[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z";
    static const size_t whole[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};

    (void)state;
    for (size_t len = 0; len < sizeof text; len++)
        assert_int_equal(whole[len],
                         vc__utf8_whole((const uint8_t *)text, len));
    /* Bytes that are not UTF-8 anyway are not cut. */
    assert_int_equal(
        6, vc__utf8_whole((const uint8_t *)"\x80\x80\x80\x80\x80\x80", 6));
}

static void __attribute__((format(printf, 3, 4)))
put(char *text, size_t size, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vc__text_format(text, size, format, args);
    va_end(args);
}

/* The last character has two bytes: both are there, or neither. */
static void
a_text_that_has_no_room_ends_with_a_whole_character(void **state)
{
    static const char *const cut[] = {
        [1] = "",   [2] = "a",          [3] = "ab",
        [4] = "ab", [5] = "ab\xc3\xa4", [6] = "ab\xc3\xa4"};
    char text[8];

    (void)state;
    for (size_t size = 1; size <= 6; size++) {
        put(text, size, "%s\xc3\xa4", "ab");
        assert_string_equal(cut[size], text);
    }
}

static void
nothing_is_good(void **state)
{
    (void)state;
    assert_true(vc__utf8_valid(NULL, 0));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_is_good_and_no_other_number),
        cmocka_unit_test(strings_of_up_to_four_bytes_are_judged_as_by_the_rfc),
        cmocka_unit_test(a_bad_byte_is_found_at_every_place),
        cmocka_unit_test(a_character_cut_at_the_end_is_bad),
        cmocka_unit_test(a_text_is_cut_between_characters),
        cmocka_unit_test(a_text_that_has_no_room_ends_with_a_whole_character),
        cmocka_unit_test(nothing_is_good),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
