/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/codec/validate.c: limits of depth and memory, required fields, and
 * sub-messages that occur twice. */
#include "tests/unit/message_judge.h"

/* --- limits --- */

static void
nesting_is_good_up_to_the_limit(void **state)
{
    (void)state;
    for (unsigned depth = 0; depth < 130; depth++) {
        struct vc__message_limits limits = {depth, 1 << 20};

        maker_reset();
        for (unsigned levels = depth < 3 ? 1 : depth - 2; levels < depth + 3;
             levels++) {
            struct bytes b = nested(levels);

            assert_int_equal(
                judge(&unit__tree__descriptor, b.at, b.len, &limits).wrong ==
                    NULL,
                levels <= depth);
        }
    }
}

static void
ten_thousand_nested_levels_are_refused(void **state)
{
    static const unsigned levels[] = {VC__MESSAGE_DEPTH + 1,
                                      VC__MESSAGE_DEPTH + 300, 10000};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct bytes b;

        maker_reset();
        b = nested(levels[i]);
        assert_false(is_good(&unit__tree__descriptor, b.at, b.len));
    }
}

static void
a_mebibyte_of_empty_submessages_meets_the_memory_limit(void **state)
{
    const struct vc__message_limits tight = {VC__MESSAGE_DEPTH, 8 << 20};
    struct verdict v;
    struct bytes b;

    (void)state;
    maker_reset();
    b = bytes_new(1 << 20);
    while (b.len < b.room) {
        put_byte(&b, 0x0a);
        put_byte(&b, 0x00);
    }
    assert_non_null(
        judge(&unit__empties__descriptor, b.at, b.len, &tight).wrong);

    v = judge(&unit__empties__descriptor, b.at, b.len, &roomy);
    assert_null(v.wrong);
    /* At least 30 times the message; with 32-bit pointers 600 bytes less. */
    assert_in_range(v.taken, (30 << 20) - 1024, v.memory);
}

static void
the_memory_limit_is_exact(void **state)
{
    uint64_t seed = 5;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        const ProtobufCMessageDescriptor *desc = types[i % N_TYPES];
        struct vc__message_limits limits = roomy;
        struct verdict v;
        struct bytes b;

        maker_reset();
        b = random_packed(desc, &seed);
        v = judge(desc, b.at, b.len, &roomy);
        limits.memory = v.memory;
        assert_null(judge(desc, b.at, b.len, &limits).wrong);
        limits.memory--;
        assert_non_null(judge(desc, b.at, b.len, &limits).wrong);
    }
}

static void
the_memory_of_many_fields_is_exact(void **state)
{
    struct bytes b;

    (void)state;
    maker_reset();
    b = bytes_new(4000);
    for (unsigned n = 0; n < 2000; n++) {
        struct verdict v =
            judge(&unit__scalars__descriptor, b.at, b.len, &roomy);

        assert_null(v.wrong);
        assert_int_equal(v.memory, v.taken);
        put_tag(&b, 3, 0);
        put_byte(&b, 1);
    }
}

/* Each array, and each array of unknown fields, may be rounded up once. */
static void
the_memory_of_arrays_is_off_by_their_rounding_only(void **state)
{
    struct verdict v;
    struct bytes b;

    (void)state;
    maker_reset();
    b = bytes_new(1000);
    for (unsigned i = 0; i < 99; i++)
        put_bytes(&b, "\x08\x01", 2);
    v = judge(&unit__unpacked__descriptor, b.at, b.len, &roomy);
    assert_in_range(v.memory, v.taken, v.taken + 15);
    v = judge(&unit__empty__descriptor, b.at, b.len, &roomy);
    assert_in_range(v.memory, v.taken, v.taken + 15);

    /* Two alternating fields are still two of the type's seven arrays. */
    b.len = 0;
    for (unsigned i = 0; i < 100; i++)
        put_bytes(&b, "\x08\x01\x20\x01", 4);
    v = judge(&unit__unpacked__descriptor, b.at, b.len, &roomy);
    assert_in_range(v.memory, v.taken, v.taken + 7 * 15);
}

/* Asserts that each limit below the reported memory is refused. */
static void
assert_needs_all(const ProtobufCMessageDescriptor *desc, const struct bytes *b)
{
    struct vc__message_limits limits = roomy;
    struct verdict v = judge(desc, b->at, b->len, &roomy);

    assert_null(v.wrong);
    for (limits.memory = 0; limits.memory < v.memory; limits.memory++)
        assert_non_null(judge(desc, b->at, b->len, &limits).wrong);
    assert_null(judge(desc, b->at, b->len, &limits).wrong);
}

static void
any_less_memory_than_needed_is_too_little(void **state)
{
    struct bytes b;

    (void)state;
    maker_reset();
    b = bytes_new(200);
    assert_needs_all(wide_type(200, PROTOBUF_C_LABEL_OPTIONAL, 200, NULL), &b);
    while (b.len + 2 <= b.room)
        put_bytes(&b, "\x08\x01", 2);
    assert_needs_all(&unit__empty__descriptor, &b);
    assert_needs_all(&unit__packed__descriptor,
                     &(struct bytes){(uint8_t *)"*\x02\x01\x01", 4, 4});
    assert_needs_all(&unit__unpacked__descriptor,
                     &(struct bytes){(uint8_t *)"*\x02xx\x32\x02xx", 8, 8});
}

/* From 129 fields on, unpack allocates a bitmap of the fields that it saw. */
static void
the_memory_of_types_with_many_fields_is_exact(void **state)
{
    (void)state;
    for (unsigned n = 120; n <= 140; n++) {
        struct verdict v;

        maker_reset();
        v = judge(wide_type(n, PROTOBUF_C_LABEL_OPTIONAL, n, NULL),
                  (const uint8_t *)"", 0, &roomy);
        assert_null(v.wrong);
        assert_int_equal(v.memory, v.taken);
    }
}

/* --- required fields --- */

static void
a_required_field_must_be_there(void **state)
{
    (void)state;
    BAD(unit2__inner__descriptor, "");
    GOOD(unit2__inner__descriptor, "\x0a\x00");
    BAD(unit2__inner__descriptor, "\x10\x01");
    BAD(unit2__outer__descriptor, "\x08\x01\x22\x02\x0a\x00");
    /* preset has a default and may be missing. */
    GOOD(unit2__outer__descriptor, "\x08\x01\x22\x02\x0a\x00\xc2\x3e\x00");
    GOOD(unit2__outer__descriptor, "\xc2\x3e\x00\x22\x02\x0a\x00\x08\x01");
    /* Each sub-message must be complete by itself, even if a merge would
     * complete it later. */
    BAD(unit2__outer__descriptor,
        "\x08\x01\x22\x02\x0a\x00\xc2\x3e\x00\x32\x00");
    BAD(unit2__outer__descriptor,
        "\x08\x01\x22\x02\x0a\x00\xc2\x3e\x00\x22\x02\x10\x01");
    GOOD(unit2__outer__descriptor,
         "\x08\x01\x22\x02\x0a\x00\xc2\x3e\x00\x22\x02\x0a\x00");
}

static void
a_required_field_is_missed_among_any_number(void **state)
{
    static const unsigned numbers[] = {1,   63,  64,  65,  128, 129,
                                       255, 256, 257, 300, 1000};

    (void)state;
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        unsigned n = numbers[i];
        ProtobufCMessageDescriptor *desc;

        maker_reset();
        desc = wide_type(n, PROTOBUF_C_LABEL_REQUIRED, n, NULL);
        for (unsigned missing = 0; missing <= n; missing++) {
            struct bytes b = bytes_new(4 * n);

            for (unsigned f = n; f > 0; f--)
                if (f != missing) {
                    put_tag(&b, f, 0);
                    put_byte(&b, 0);
                }
            assert_int_equal(is_good(desc, b.at, b.len), missing == 0);
        }
    }
}

/* Only one of n fields is required, and only that one is present. */
static void
one_required_field_does_not_stand_for_another(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 200; n++) {
        ProtobufCMessageDescriptor *desc;
        struct bytes b;

        maker_reset();
        desc = wide_type(n, PROTOBUF_C_LABEL_OPTIONAL, n, NULL);
        ((ProtobufCFieldDescriptor *)desc->fields)[n - 1].label =
            PROTOBUF_C_LABEL_REQUIRED;
        b = bytes_new(8);
        assert_false(is_good(desc, b.at, b.len));
        put_tag(&b, n, 0);
        put_byte(&b, 1);
        assert_true(is_good(desc, b.at, b.len));
    }
}

/* --- the same sub-message twice --- */

static void
a_submessage_given_twice_is_merged(void **state)
{
    struct verdict once, twice;

    (void)state;
    /* Tree: left {numbers: 1 2} */
    once = judge(&unit__tree__descriptor,
                 (const uint8_t *)"\x12\x04*\x02\x01\x02", 6, &roomy);
    twice = judge(&unit__tree__descriptor,
                  (const uint8_t *)"\x12\x04*\x02\x01\x02\x12\x04*\x02\x01\x02",
                  12, &roomy);
    assert_null(once.wrong);
    assert_null(twice.wrong);
    /* One more message, and the joined array of four numbers. */
    assert_int_equal(twice.taken - once.taken,
                     (sizeof(Unit__Tree) + 15) / 16 * 16 + 16 + 32);
}

static void
merging_many_submessages_meets_the_memory_limit(void **state)
{
    const struct vc__message_limits limits = {VC__MESSAGE_DEPTH, 64 << 20};
    struct verdict v;
    struct bytes b;

    (void)state;
    maker_reset();
    b = bytes_new(1 << 20);
    while (b.len + 5 <= 2000)
        put_bytes(&b, "\x12\x03*\x01\x01", 5);
    v = judge(&unit__tree__descriptor, b.at, b.len, &limits);
    assert_null(v.wrong);
    /* 400 of them: about 400 * 400 / 2 numbers are copied. */
    assert_in_range(v.taken, 600000, v.memory);

    while (b.len + 5 <= b.room)
        put_bytes(&b, "\x12\x03*\x01\x01", 5);
    assert_non_null(judge(&unit__tree__descriptor, b.at, b.len, &limits).wrong);
}

static void
merging_reaches_the_submessages_below(void **state)
{
    const struct vc__message_limits limits = {VC__MESSAGE_DEPTH, 1 << 20};
    struct bytes b;

    (void)state;
    maker_reset();
    b = bytes_new(5000);
    /* left { left { right { numbers: 1 } } } */
    while (b.len + 9 <= b.room)
        put_bytes(&b, "\x12\x07\x12\x05\x1a\x03*\x01\x01", 9);
    assert_non_null(judge(&unit__tree__descriptor, b.at, b.len, &limits).wrong);
    assert_true(is_good(&unit__tree__descriptor, b.at, b.len));
}

static void
elements_are_not_merged(void **state)
{
    struct verdict v;
    struct bytes b;

    (void)state;
    maker_reset();
    b = bytes_new(5000);
    while (b.len + 5 <= b.room)
        put_bytes(&b, "\x22\x03*\x01\x01", 5);
    v = judge(&unit__tree__descriptor, b.at, b.len, &roomy);
    assert_null(v.wrong);
    assert_in_range(v.memory, v.taken, v.taken + v.taken / 4);
}

static void
a_submessage_with_a_oneof_is_not_given_twice(void **state)
{
    (void)state;
    GOOD(unit__all__descriptor, "*\x00");
    BAD(unit__all__descriptor, "*\x00*\x00");
    BAD(unit__all__descriptor, "*\x02\x10\x01*\x02\x10\x01");
    GOOD(unit__all__descriptor, "\x7a\x00\x7a\x00"); /* elements may repeat */
    /* all { choice {} }, twice: the oneof is one level further down. */
    BAD(unit__all__descriptor, "\xfa\x7f\x02*\x00\xfa\x7f\x02*\x00");
    GOOD(unit__all__descriptor, "\xfa\x7f\x02*\x00\xfa\x7f\x00");
    /* Members of a oneof replace each other. */
    GOOD(unit__choice__descriptor, "*\x00*\x00\x32\x00\x32\x00*\x00");
}

static void
submessages_of_a_wide_type_are_told_apart(void **state)
{
    ProtobufCMessageDescriptor *desc;
    struct verdict v;
    struct bytes b;

    (void)state;
    maker_reset();
    desc =
        wide_type(600, PROTOBUF_C_LABEL_OPTIONAL, 0, &unit__choice__descriptor);
    b = bytes_new(3000);
    for (unsigned f = 1; f <= 600; f++)
        put_block(&b, f, NULL, 0);
    assert_true(is_good(desc, b.at, b.len));

    for (unsigned f = 1; f <= 600; f++) {
        struct bytes again = bytes_new(b.len + 8);

        put_bytes(&again, b.at, b.len);
        put_block(&again, f, NULL, 0);
        assert_false(is_good(desc, again.at, again.len));
    }

    desc =
        wide_type(600, PROTOBUF_C_LABEL_OPTIONAL, 0, &unit__tree__descriptor);
    b.len = 0;
    for (unsigned i = 0; i < 300; i++)
        put_block(&b, 600 - i % 2 * 500, "*\x01\x01", 3);
    v = judge(desc, b.at, b.len, &roomy);
    assert_null(v.wrong);
    assert_in_range(v.taken, 2 * 150 * 150 / 2 * 8, v.memory);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nesting_is_good_up_to_the_limit),
        cmocka_unit_test(ten_thousand_nested_levels_are_refused),
        cmocka_unit_test(
            a_mebibyte_of_empty_submessages_meets_the_memory_limit),
        cmocka_unit_test(the_memory_limit_is_exact),
        cmocka_unit_test(the_memory_of_many_fields_is_exact),
        cmocka_unit_test(the_memory_of_arrays_is_off_by_their_rounding_only),
        cmocka_unit_test(any_less_memory_than_needed_is_too_little),
        cmocka_unit_test(the_memory_of_types_with_many_fields_is_exact),
        cmocka_unit_test(a_required_field_must_be_there),
        cmocka_unit_test(a_required_field_is_missed_among_any_number),
        cmocka_unit_test(one_required_field_does_not_stand_for_another),
        cmocka_unit_test(a_submessage_given_twice_is_merged),
        cmocka_unit_test(merging_many_submessages_meets_the_memory_limit),
        cmocka_unit_test(merging_reaches_the_submessages_below),
        cmocka_unit_test(elements_are_not_merged),
        cmocka_unit_test(a_submessage_with_a_oneof_is_not_given_twice),
        cmocka_unit_test(submessages_of_a_wide_type_are_told_apart),
    };

    return cmocka_run_group_tests(tests, judge_setup, judge_teardown);
}
