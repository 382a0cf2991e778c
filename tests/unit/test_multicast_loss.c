/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The bytes of a multicast datagram, and what a member of a group counts of the
 * numbers of a publisher. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/server/multicast_loss.h"
#include "transport/wire/multicast.h"

/* --- the header ----------------------------------------------------------- */

static const struct vc__multicast example = {
    .port = 7000,
    .publisher = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
    .sequence = 0x0102030405060708,
    .service = 0x1112131415161718,
    .method = 0x21222324,
    .body_len = 2,
};

static const uint8_t bytes[VC__MULTICAST_HEADER + 2] = {
    'V',  'B',  'M',  'C',  1,    0,  0x58, 0x1b, 1,    2,    3,    4,    5,
    6,    7,    8,    9,    10,   11, 12,   13,   14,   15,   16,   8,    7,
    6,    5,    4,    3,    2,    1,  0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12,
    0x11, 0x24, 0x23, 0x22, 0x21, 2,  0,    0,    0,    0xaa, 0xbb};

static void
a_datagram_has_these_bytes(void **state)
{
    uint8_t out[VC__MULTICAST_HEADER];

    (void)state;
    vc__multicast_put(out, &example);
    assert_memory_equal(out, bytes, sizeof out);
}

static void
a_datagram_is_read_as_it_was_written(void **state)
{
    struct vc__multicast m;

    (void)state;
    assert_true(vc__multicast_get(&m, bytes, sizeof bytes));
    assert_int_equal(m.port, example.port);
    assert_memory_equal(m.publisher, example.publisher, sizeof m.publisher);
    assert_true(m.sequence == example.sequence);
    assert_true(m.service == example.service);
    assert_int_equal(m.method, example.method);
    assert_int_equal(m.body_len, 2);
    assert_memory_equal(m.body, "\xaa\xbb", 2);
}

/* Copies of exactly len bytes, so that a sanitizer sees a read beyond. */
static bool
is_read(const uint8_t *data, size_t len)
{
    struct vc__multicast m;
    uint8_t *copy = test_malloc(len + 1);
    bool good;

    memcpy(copy + 1, data, len);
    good = vc__multicast_get(&m, copy + 1, len);
    test_free(copy);
    return good;
}

static void
a_datagram_that_is_cut_or_longer_is_refused(void **state)
{
    uint8_t longer[sizeof bytes + 1] = {0};

    (void)state;
    memcpy(longer, bytes, sizeof bytes);
    for (size_t len = 0; len < sizeof bytes; len++)
        assert_false(is_read(bytes, len));
    assert_true(is_read(bytes, sizeof bytes));
    assert_false(is_read(longer, sizeof longer));
}

/* Offsets of bytes, and the values that make the datagram invalid. */
static void
a_datagram_with_a_bad_field_is_refused(void **state)
{
    static const struct {
        uint8_t at, n, value;
    } bad[] = {{0, 1, 'W'}, {3, 1, 0},  {4, 1, 2},    {4, 1, 0},
               {5, 1, 1},   {8, 16, 0}, {24, 8, 0},   {44, 1, 1},
               {44, 1, 3},  {47, 1, 1}, {47, 1, 0xff}};
    uint8_t wrong[sizeof bytes];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy(wrong, bytes, sizeof bytes);
        memset(wrong + bad[i].at, bad[i].value, bad[i].n);
        if (is_read(wrong, sizeof wrong))
            fail_msg("row %zu", i);
    }
}

/* --- numbers -------------------------------------------------------------- */

#define NEXT  VC__MULTICAST_NEXT
#define LATE  VC__MULTICAST_LATE
#define AGAIN VC__MULTICAST_AGAIN
#define WILD  VC__MULTICAST_WILD

static void
comes(struct vc__multicast_loss *l, uint64_t sequence,
      enum vc__multicast_came came)
{
    if (vc__multicast_loss_note(l, sequence) != came)
        fail_msg("number %llu", (unsigned long long)sequence);
}

static void
counts(const struct vc__multicast_loss *l, uint64_t received, uint64_t lost,
       uint64_t late, uint64_t duplicates)
{
    assert_int_equal(l->received, received);
    assert_int_equal(l->lost, lost);
    assert_int_equal(l->late, late);
    assert_int_equal(l->duplicates, duplicates);
}

static void
numbers_without_a_gap_lose_nothing(void **state)
{
    struct vc__multicast_loss l = {0};

    (void)state;
    for (uint64_t i = 1000; i < 2000; i++)
        comes(&l, i, NEXT);
    counts(&l, 1000, 0, 0, 0);
}

static void
each_number_that_is_left_out_is_lost(void **state)
{
    struct vc__multicast_loss l = {0};

    (void)state;
    comes(&l, 5, NEXT);
    comes(&l, 7, NEXT);
    counts(&l, 2, 1, 0, 0);
    comes(&l, 1007, NEXT);
    counts(&l, 3, 1000, 0, 0);
    comes(&l, 1008, NEXT);
    counts(&l, 4, 1000, 0, 0);
}

static void
one_that_was_overtaken_is_not_lost(void **state)
{
    struct vc__multicast_loss l = {0};

    (void)state;
    comes(&l, 1, NEXT);
    comes(&l, 4, NEXT);
    counts(&l, 2, 2, 0, 0);
    comes(&l, 2, LATE);
    counts(&l, 3, 1, 1, 0);
    comes(&l, 2, AGAIN);
    comes(&l, 3, LATE);
    counts(&l, 4, 0, 2, 1);
}

static void
a_second_copy_is_a_duplicate(void **state)
{
    struct vc__multicast_loss l = {0};

    (void)state;
    comes(&l, 10, NEXT);
    comes(&l, 10, AGAIN);
    comes(&l, 11, NEXT);
    comes(&l, 10, AGAIN);
    counts(&l, 2, 0, 0, 2);
}

static void
one_from_before_the_first_is_late_and_was_never_lost(void **state)
{
    struct vc__multicast_loss l = {0};

    (void)state;
    comes(&l, 2, NEXT);
    comes(&l, 1, LATE);
    comes(&l, 1, AGAIN);
    counts(&l, 2, 0, 1, 1);
}

/* The window has 64 numbers: the oldest that is still known is 63 back. */
static void
one_that_is_too_old_counts_as_a_duplicate(void **state)
{
    struct vc__multicast_loss l = {0};

    (void)state;
    comes(&l, 1, NEXT);
    comes(&l, 66, NEXT);
    counts(&l, 2, 64, 0, 0);
    comes(&l, 2, AGAIN);
    comes(&l, 3, LATE);
    comes(&l, 65, LATE);
    counts(&l, 4, 62, 2, 1);
    comes(&l, 66 + 64, NEXT);
    comes(&l, 66, AGAIN);
}

static void
a_number_that_is_too_far_ahead_changes_nothing(void **state)
{
    struct vc__multicast_loss l = {0};

    (void)state;
    comes(&l, 1, NEXT);
    comes(&l, UINT64_MAX, WILD);
    comes(&l, 2 + VC__MULTICAST_AHEAD, WILD);
    counts(&l, 1, 0, 0, 0);
    comes(&l, 2, NEXT);
    comes(&l, 2 + VC__MULTICAST_AHEAD, NEXT);
    counts(&l, 3, VC__MULTICAST_AHEAD - 1, 0, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_datagram_has_these_bytes),
        cmocka_unit_test(a_datagram_is_read_as_it_was_written),
        cmocka_unit_test(a_datagram_that_is_cut_or_longer_is_refused),
        cmocka_unit_test(a_datagram_with_a_bad_field_is_refused),
        cmocka_unit_test(numbers_without_a_gap_lose_nothing),
        cmocka_unit_test(each_number_that_is_left_out_is_lost),
        cmocka_unit_test(one_that_was_overtaken_is_not_lost),
        cmocka_unit_test(a_second_copy_is_a_duplicate),
        cmocka_unit_test(one_from_before_the_first_is_late_and_was_never_lost),
        cmocka_unit_test(one_that_is_too_old_counts_as_a_duplicate),
        cmocka_unit_test(a_number_that_is_too_far_ahead_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
