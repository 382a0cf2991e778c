/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * cm/connect/hello.c against doc/wire.md, section 2: the range of each field. */
#include "tests/unit/hello_maker.h"

/* Reads a valid one with the byte at `at` replaced. */
static enum vc__said
read_changed(unsigned kind, size_t at, uint8_t byte)
{
    uint8_t bytes[VC__ACCEPT_SIZE];

    good_bytes(bytes, &kinds[kind]);
    bytes[at] = byte;
    return read_bytes(&kinds[kind], bytes, kinds[kind].size);
}

/* Asserts that the byte at `at` may be lowest..highest and, if also_zero, 0. */
static void
assert_range(unsigned kind, size_t at, unsigned lowest, unsigned highest,
             bool also_zero)
{
    for (unsigned v = 0; v < 256; v++) {
        bool good = (v >= lowest && v <= highest) || (v == 0 && also_zero);

        assert_int_equal(read_changed(kind, at, (uint8_t)v),
                         good ? VC__SAID_OK : VC__SAID_FIELD);
    }
}

/* --- fields --- */

static void
any_change_of_the_magic_is_foreign(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 3; k++)
        for (size_t at = 0; at < 4; at++) {
            assert_int_equal(read_changed(k, at, 'v'), VC__SAID_FOREIGN);
            assert_int_equal(read_changed(k, at, 0), VC__SAID_FOREIGN);
        }
}

static void
a_hello_needs_a_version_in_common(void **state)
{
    (void)state;
    assert_int_equal(read_changed(0, 5, 0x11), VC__SAID_OK);
    assert_int_equal(read_changed(0, 5, 0x1f), VC__SAID_OK);
    assert_int_equal(read_changed(0, 5, 0x22), VC__SAID_VERSION);
    assert_int_equal(read_changed(0, 5, 0xff), VC__SAID_VERSION);
    assert_int_equal(read_changed(0, 5, 0x00), VC__SAID_VERSION);
    assert_int_equal(read_changed(0, 5, 0x10), VC__SAID_VERSION);
    assert_int_equal(read_changed(0, 5, 0x01), VC__SAID_FIELD);
}

static void
another_version_is_told_before_its_length_is_judged(void **state)
{
    static const uint8_t later[] = {'V', 'B', 'C', 'L', 200, 0x23, 1, 2, 3};

    (void)state;
    assert_int_equal(read_bytes(&kinds[0], later, sizeof later),
                     VC__SAID_VERSION);
    assert_int_equal(read_bytes(&kinds[0], later, 6), VC__SAID_VERSION);
    assert_int_equal(read_bytes(&kinds[0], later, 5), VC__SAID_LENGTH);
    assert_int_equal(read_bytes(&kinds[1], later, sizeof later),
                     VC__SAID_VERSION);
}

static void
an_accept_chooses_our_version(void **state)
{
    (void)state;
    for (unsigned v = 0; v < 256; v++)
        assert_int_equal(read_changed(1, 5, (uint8_t)v),
                         v == 1 ? VC__SAID_OK : VC__SAID_VERSION);
}

static void
a_reject_is_read_whatever_versions_it_names(void **state)
{
    (void)state;
    for (unsigned v = 0; v < 256; v++) {
        bool range = v >> 4 >= 1 && v >> 4 <= (v & 15);

        assert_int_equal(read_changed(2, 5, (uint8_t)v),
                         range ? VC__SAID_OK : VC__SAID_FIELD);
    }
}

static void
no_kind_is_taken_for_another(void **state)
{
    uint8_t bytes[VC__ACCEPT_SIZE];

    (void)state;
    for (unsigned k = 0; k < 3; k++)
        for (unsigned j = 0; j < 3; j++) {
            memset(bytes, 0, sizeof bytes);
            good_bytes(bytes, &kinds[k]);
            assert_int_equal(read_bytes(&kinds[j], bytes, kinds[j].size) ==
                                 VC__SAID_OK,
                             j == k);
            bytes[4] = kinds[j].size == 56 ? 56 : 50; /* even if it fits */
            memset(bytes + bytes[4], 0, sizeof bytes - bytes[4]);
            if (j != k)
                assert_int_not_equal(
                    read_bytes(&kinds[j], bytes, kinds[j].size), VC__SAID_OK);
        }
    assert_range(1, 6, 'A', 'A', false);
    assert_range(2, 6, 'R', 'R', false);
    assert_range(0, 6, 0, 7, false); /* a hello has its flags there */
}

static void
sizes_have_these_ranges(void **state)
{
    (void)state;
    assert_range(0, 14, 13, 23, false);
    assert_range(0, 15, 12, 30, false);
    assert_range(1, 14, 13, 23, false);
    assert_range(1, 15, 12, 30, false);
    assert_range(2, 14, 13, 23, true);
    assert_range(2, 15, 12, 30, true);
}

static void
credits_are_at_least_three(void **state)
{
    uint8_t bytes[VC__ACCEPT_SIZE];

    (void)state;
    for (unsigned k = 0; k < 3; k++) {
        good_bytes(bytes, &kinds[k]);
        bytes[13] = 0;
        for (uint8_t v = 0; v < 255; v++) {
            bytes[12] = v;
            assert_int_equal(read_bytes(&kinds[k], bytes, kinds[k].size),
                             v >= 3 || (k == 2 && v == 0) ? VC__SAID_OK
                                                          : VC__SAID_FIELD);
        }
    }
}

static void
an_instance_is_not_all_zero(void **state)
{
    uint8_t bytes[VC__ACCEPT_SIZE];

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        size_t at = k == 0 ? 32 : 16;

        good_bytes(bytes, &kinds[k]);
        memset(bytes + at, 0, VC__ID_SIZE);
        assert_int_equal(read_bytes(&kinds[k], bytes, kinds[k].size),
                         VC__SAID_FIELD);
        bytes[at + 15] = 1;
        assert_int_equal(read_bytes(&kinds[k], bytes, kinds[k].size),
                         VC__SAID_OK);
    }
}

static void
a_session_has_at_least_one_slot(void **state)
{
    struct vc__accept a = good_accept;
    uint8_t bytes[VC__ACCEPT_SIZE];

    (void)state;
    a.max_slots = 0;
    vc__accept_put(bytes, &a);
    assert_int_equal(read_bytes(&kinds[1], bytes, sizeof bytes),
                     VC__SAID_FIELD);
    a.max_slots = 1;
    vc__accept_put(bytes, &a);
    assert_int_equal(read_bytes(&kinds[1], bytes, sizeof bytes), VC__SAID_OK);
}

static void
unused_bytes_are_zero(void **state)
{
    (void)state;
    assert_range(1, 7, 0, 0, false);
    for (size_t at = 21; at < 24; at++)
        assert_range(2, at, 0, 0, false);
    for (size_t at = 24 + 8; at < 24 + 20; at++)
        assert_range(2, at, 0, 0, false); /* after the IPv4 address */
}

static void
a_reject_has_a_reason_even_one_of_a_later_version(void **state)
{
    (void)state;
    assert_range(2, 7, 1, 255, false);
}

static void
redirect_addresses_are_ip_4_or_6_and_at_most_three(void **state)
{
    uint8_t bytes[VC__REJECT_SIZE];

    (void)state;
    for (unsigned v = 0; v < 256; v++)
        assert_int_equal(read_changed(2, 24 + 20, (uint8_t)v),
                         v == 6 ? VC__SAID_OK : VC__SAID_FIELD);

    good_bytes(bytes, &kinds[2]);
    bytes[4] = 24 + 4 * 20;
    bytes[20] = 4;
    assert_int_equal(read_bytes(&kinds[2], bytes, sizeof bytes),
                     VC__SAID_FIELD);
}

static void
texts_are_utf8_without_nul(void **state)
{
    static const char *const bad[] = {
        "\x80",         "\xc0\x80",     "\xc3",
        "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\xf8",         "\xff",         "abcdefg\xe2\x82"};
    struct vc__accept a = good_accept;
    struct vc__reject r = good_reject;
    uint8_t bytes[VC__ACCEPT_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        strcpy(a.text, bad[i]);
        vc__accept_put(bytes, &a);
        assert_int_equal(read_bytes(&kinds[1], bytes, VC__ACCEPT_SIZE),
                         VC__SAID_FIELD);
        strcpy(r.text, bad[i]);
        vc__reject_put(bytes, &r);
        assert_int_equal(read_bytes(&kinds[2], bytes, VC__REJECT_SIZE),
                         VC__SAID_FIELD);
    }
    assert_int_equal(read_changed(1, 50, 0), VC__SAID_FIELD);
    assert_int_equal(read_changed(2, 24 + 40 + 4, 0), VC__SAID_FIELD);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_change_of_the_magic_is_foreign),
        cmocka_unit_test(a_hello_needs_a_version_in_common),
        cmocka_unit_test(another_version_is_told_before_its_length_is_judged),
        cmocka_unit_test(an_accept_chooses_our_version),
        cmocka_unit_test(a_reject_is_read_whatever_versions_it_names),
        cmocka_unit_test(no_kind_is_taken_for_another),
        cmocka_unit_test(sizes_have_these_ranges),
        cmocka_unit_test(credits_are_at_least_three),
        cmocka_unit_test(an_instance_is_not_all_zero),
        cmocka_unit_test(a_session_has_at_least_one_slot),
        cmocka_unit_test(unused_bytes_are_zero),
        cmocka_unit_test(a_reject_has_a_reason_even_one_of_a_later_version),
        cmocka_unit_test(redirect_addresses_are_ip_4_or_6_and_at_most_three),
        cmocka_unit_test(texts_are_utf8_without_nul),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
