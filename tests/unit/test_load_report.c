/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The load report of a server: its bytes, and what is made of any bytes of a
 * peer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/load_report.h"
#include "tests/unit/random.h"

#define BYTES(...)                                                             \
    (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define HALF 0, 0, 0, 0, 0, 0, 0xe0, 0x3f /* 0.5 */
#define TWO  0, 0, 0, 0, 0, 0, 0x00, 0x40

/* Reads bytes beyond which a sanitizer sees everything. */
static bool
reads(struct vc__load_report *report, const uint8_t *data, size_t len)
{
    uint8_t *copy = malloc(len + (len == 0));
    bool good;

    assert_non_null(copy);
    memcpy(copy, data, len);
    good = vc__load_report_read(report, copy, len);
    free(copy);
    return good;
}

static void
assert_same(double a, double b)
{
    assert_memory_equal(&a, &b, sizeof a);
}

static void
a_report_has_the_bytes_of_protobuf(void **state)
{
    static const uint8_t bytes[] = {0x09, HALF, 0x31, TWO,
                                    0x39, HALF, 0x49, TWO};
    const struct vc__load_report report = {
        .cpu_utilization = 0.5,
        .rps = 2,
        .eps = 0.5,
        .application_utilization = 2,
    };
    uint8_t out[VC__LOAD_REPORT_MAX];

    (void)state;
    assert_int_equal(sizeof bytes, vc__load_report_pack(out, &report));
    assert_memory_equal(bytes, out, sizeof bytes);
    assert_int_equal(VC__LOAD_REPORT_MAX, sizeof bytes);
}

static void
what_is_not_known_takes_no_bytes(void **state)
{
    static const uint8_t bytes[] = {0x31, TWO};
    const struct vc__load_report nothing = {0}, rps = {.rps = 2};
    uint8_t out[VC__LOAD_REPORT_MAX];

    (void)state;
    assert_int_equal(0, vc__load_report_pack(out, &nothing));
    assert_int_equal(sizeof bytes, vc__load_report_pack(out, &rps));
    assert_memory_equal(bytes, out, sizeof bytes);
}

static void
what_was_packed_is_read_whatever_the_numbers(void **state)
{
    const double numbers[] = {0,           1,       -1,
                              (double)NAN, DBL_MAX, DBL_MIN,
                              -0.0001,     1e-320,  -(double)INFINITY};
    const size_t n = sizeof numbers / sizeof numbers[0];

    (void)state;
    for (size_t i = 0; i < n * n; i++) {
        struct vc__load_report is,
            report = {
                .cpu_utilization = numbers[i % n],
                .rps = numbers[i / n],
                .eps = numbers[(i + 1) % n],
                .application_utilization = numbers[(i / n + 3) % n],
            };
        uint8_t out[VC__LOAD_REPORT_MAX];
        size_t len = vc__load_report_pack(out, &report);

        assert_true(reads(&is, out, len));
        assert_same(report.cpu_utilization, is.cpu_utilization);
        assert_same(report.rps, is.rps);
        assert_same(report.eps, is.eps);
        assert_same(report.application_utilization, is.application_utilization);
    }
}

/* mem_utilization, the old rps, a request_cost, fixed32, a number of four
 * bytes; and cpu_utilization with the wire type of a varint. */
static void
fields_that_are_not_used_are_skipped(void **state)
{
    static const uint8_t others[] = {
        0x11, TWO,  0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0x01, 0x22, 0x0c, 0x0a, 0x01, 'a',  0x11, HALF, 0x65, 1,    2,    3,
        4,    0xf8, 0xff, 0xff, 0xff, 0x0f, 0x07, 0x08, 0x01, 0x31, TWO};
    struct vc__load_report is;

    (void)state;
    assert_true(reads(&is, others, sizeof others));
    assert_same(0, is.cpu_utilization);
    assert_same(2, is.rps);
    assert_same(0, is.eps);
    assert_same(0, is.application_utilization);
}

static void
of_a_field_that_is_there_twice_the_last_counts(void **state)
{
    static const uint8_t twice[] = {0x49, TWO, 0x31, TWO, 0x49, HALF};
    struct vc__load_report is;

    (void)state;
    assert_true(reads(&is, twice, sizeof twice));
    assert_same(0.5, is.application_utilization);
}

static void
nothing_is_a_report_without_numbers(void **state)
{
    struct vc__load_report is;

    (void)state;
    assert_true(reads(&is, (const uint8_t *)"", 0));
    assert_same(0, is.rps);
}

static void
what_is_no_protobuf_is_refused(void **state)
{
    const struct {
        const uint8_t *data;
        size_t len;
    } bad[] = {
        {BYTES(0x00, 0)},    /* field 0 */
        {BYTES(0x01, HALF)}, /* the same */
        {BYTES(0x0b)},       /* a group begins */
        {BYTES(0x0c)},       /* a group ends */
        {BYTES(0x0e)},       /* wire types that there are not */
        {BYTES(0x0f)},
        {BYTES(0x80)},       /* a tag that is not whole */
        {BYTES(0x18)},       /* no varint */
        {BYTES(0x18, 0xff)}, /* one that is not whole */
        {BYTES(0x22)},       /* no length */
        {BYTES(0x22, 1)},    /* a length beyond the end */
        {BYTES(0x22, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1)},
        {BYTES(0x22, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
               0)},                                 /* of eleven bytes */
        {BYTES(0xf9, 0xff, 0xff, 0xff, 0x1f, TWO)}, /* a field of 30 bits */
        {BYTES(0x65, 1, 2, 3)}, /* a fixed32 that is not whole */
        {BYTES(0x11, 1, 2, 3, 4, 5, 6, 7)},
    };
    struct vc__load_report is;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (reads(&is, bad[i].data, bad[i].len))
            fail_msg("row %zu is good", i);
    }
}

static void
a_report_that_is_cut_within_a_field_is_refused(void **state)
{
    const struct vc__load_report report = {1, 2, 3, 4};
    struct vc__load_report is;
    uint8_t out[VC__LOAD_REPORT_MAX];

    (void)state;
    assert_int_equal(sizeof out, vc__load_report_pack(out, &report));
    for (size_t len = 0; len <= sizeof out; len++)
        assert_int_equal(len % 9 == 0, reads(&is, out, len));
}

/* What is read must be within the bytes; a sanitizer sees to it. */
static void
any_bytes_will_do(void **state)
{
    static const uint8_t tags[] = {0x09, 0x31, 0x39, 0x49, 0x22, 0x18, 0x65};
    uint64_t seed = 1;
    unsigned good = 0;

    (void)state;
    for (unsigned i = 0; i < 200000; i++) {
        uint8_t data[40];
        size_t len = random_next(&seed) % (sizeof data + 1);
        struct vc__load_report is;

        for (size_t k = 0; k < len; k++)
            data[k] = (uint8_t)random_next(&seed);
        for (size_t k = 0; k < len; k += 9)
            data[k] = tags[random_next(&seed) % sizeof tags];
        good += reads(&is, data, len);
    }
    assert_in_range(good, 1000, 199000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_has_the_bytes_of_protobuf),
        cmocka_unit_test(what_is_not_known_takes_no_bytes),
        cmocka_unit_test(what_was_packed_is_read_whatever_the_numbers),
        cmocka_unit_test(fields_that_are_not_used_are_skipped),
        cmocka_unit_test(of_a_field_that_is_there_twice_the_last_counts),
        cmocka_unit_test(nothing_is_a_report_without_numbers),
        cmocka_unit_test(what_is_no_protobuf_is_refused),
        cmocka_unit_test(a_report_that_is_cut_within_a_field_is_refused),
        cmocka_unit_test(any_bytes_will_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
