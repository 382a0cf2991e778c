/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/codec/validate.c: the encoding of messages, and random bytes. */
#include "rpc/codec/whole.h"
#include "tests/unit/message_judge.h"

/* --- packed messages are valid  */

static void
whatever_protobuf_c_packs_is_good(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        const ProtobufCMessageDescriptor *desc = types[i % N_TYPES];
        struct bytes b;

        maker_reset();
        b = random_packed(desc, &seed);
        assert_null(judge(desc, b.at, b.len, &roomy).wrong);
    }
}

static void
the_bound_is_near_to_what_a_packed_message_takes(void **state)
{
    uint64_t seed = 2;

    (void)state;
    for (unsigned i = 0; i < 5000; i++) {
        const ProtobufCMessageDescriptor *desc = types[i % N_TYPES];
        struct verdict v;
        struct bytes b;

        maker_reset();
        b = random_packed(desc, &seed);
        v = judge(desc, b.at, b.len, &roomy);
        assert_in_range(v.memory, v.taken, v.taken + v.taken / 2);
    }
}

static void
an_empty_message_is_good_even_at_no_address(void **state)
{
    size_t memory;

    (void)state;
    assert_null(
        vc__message_check(&unit__all__descriptor, NULL, 0, &roomy, &memory));
    assert_in_range(memory, sizeof(Unit__All), sizeof(Unit__All) + 15);
    assert_null(
        vc__message_check(&unit__all__descriptor, NULL, 0, &roomy, NULL));
}

static void
fields_that_the_type_lacks_are_good_and_kept(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (unsigned i = 0; i < 2000; i++) {
        struct bytes b;

        maker_reset();
        b = random_packed(types[i % N_TYPES], &seed);
        assert_true(is_good(&unit__empty__descriptor, b.at, b.len));
        assert_true(is_good(&unit__empties__descriptor, b.at, 0));
    }
}

/* --- what unpacking would refuse or must not see ----- */

static void
a_field_has_the_wire_type_of_its_type(void **state)
{
    const ProtobufCMessageDescriptor *desc = &unit__scalars__descriptor;

    (void)state;
    for (unsigned i = 0; i < desc->n_fields; i++)
        for (unsigned wire = 0; wire < 8; wire++) {
            struct bytes b;

            maker_reset();
            b = bytes_new(32);
            put_tag(&b, desc->fields[i].id, wire);
            /* Valid values: a varint, 4 or 8 bytes, or no bytes. */
            put_bytes(&b, "\0\0\0\0\0\0\0\0",
                      wire == 1   ? 8
                      : wire == 5 ? 4
                                  : 1);
            assert_int_equal(is_good(desc, b.at, b.len),
                             wire == usual_wire(desc->fields[i].type));
        }
}

static void
repeated_numbers_may_be_packed_or_not(void **state)
{
    const ProtobufCMessageDescriptor *desc = &unit__packed__descriptor;

    (void)state;
    for (unsigned i = 0; i < desc->n_fields; i++)
        for (unsigned wire = 0; wire < 8; wire++) {
            struct bytes b;

            maker_reset();
            b = bytes_new(32);
            put_tag(&b, desc->fields[i].id, wire);
            put_bytes(&b, "\0\0\0\0\0\0\0\0",
                      wire == 1   ? 8
                      : wire == 5 ? 4
                                  : 1);
            assert_int_equal(is_good(desc, b.at, b.len),
                             wire == 2 ||
                                 wire == usual_wire(desc->fields[i].type));
        }
    GOOD(unit__unpacked__descriptor, "\x0a\x03\x01\x02\x03\x08\x04");
    GOOD(unit__unpacked__descriptor, "\x12\x00");
}

static void
packed_numbers_fill_their_length(void **state)
{
    (void)state;
    GOOD(unit__packed__descriptor, "\x12\x08"
                                   "abcdefgh");
    BAD(unit__packed__descriptor, "\x12\x07"
                                  "abcdefg");
    GOOD(unit__packed__descriptor, "\x0a\x08"
                                   "abcdefgh");
    BAD(unit__packed__descriptor, "\x0a\x0c"
                                  "abcdefghijkl");
    GOOD(unit__packed__descriptor, "\x1a\x02\x80\x01");
    BAD(unit__packed__descriptor, "\x1a\x02\x01\x80");
    BAD(unit__packed__descriptor,
        "\x1a\x0b\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
    /* Two bools in twenty bytes; protobuf-c allocates twenty elements. */
    GOOD(unit__packed__descriptor,
         "\x6a\x14\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"
         "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
}

static void
a_varint_has_at_most_ten_bytes(void **state)
{
    (void)state;
    GOOD(unit__scalars__descriptor,
         "\x20\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
    BAD(unit__scalars__descriptor,
        "\x20\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
    BAD(unit__empty__descriptor,
        "\x20\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
    BAD(unit__scalars__descriptor, "\x20\x80");
    BAD(unit__scalars__descriptor, "\x20");
}

static void
a_field_number_is_within_1_and_2_to_the_29(void **state)
{
    (void)state;
    BAD(unit__empty__descriptor, "\x00\x01");
    BAD(unit__empty__descriptor, "\x80\x00\x01"); /* 0 in two bytes */
    BAD(unit__empty__descriptor, "\x02\x00");
    GOOD(unit__empty__descriptor, "\x08\x01");
    GOOD(unit__empty__descriptor, "\x88\x00\x01"); /* 1 in two bytes */
    GOOD(unit__empty__descriptor, "\xf8\xff\xff\xff\x0f\x01");
    BAD(unit__empty__descriptor, "\xf8\xff\xff\xff\x1f\x01");
    BAD(unit__empty__descriptor, "\xf8\xff\xff\xff\x7f\x01");
    BAD(unit__empty__descriptor, "\x88\x80\x80\x80\x80\x00\x01");
    BAD(unit__empty__descriptor, "\x88");
}

static void
groups_and_unknown_wire_types_are_refused(void **state)
{
    (void)state;
    BAD(unit__empty__descriptor, "\x0b\x0c"); /* a group, closed */
    BAD(unit__empty__descriptor, "\x0b");
    BAD(unit__empty__descriptor, "\x0c");
    BAD(unit__empty__descriptor, "\x0e");
    BAD(unit__empty__descriptor, "\x0f");
}

static void
a_length_stays_within_the_message(void **state)
{
    (void)state;
    GOOD(unit__scalars__descriptor, "\x7a\x02"
                                    "ab");
    BAD(unit__scalars__descriptor, "\x7a\x03"
                                   "ab");
    BAD(unit__scalars__descriptor, "\x7a");
    BAD(unit__scalars__descriptor, "\x7a\xff\xff\xff\xff\x07");
    BAD(unit__scalars__descriptor, "\x7a\xff\xff\xff\xff\x0f");
    BAD(unit__scalars__descriptor, "\x7a\x80\x80\x80\x80\x10"); /* 2^32 */
    BAD(unit__scalars__descriptor, "\x7a\x80\x80\x80\x80\x80\x00");
    GOOD(unit__scalars__descriptor, "\x7a\x80\x80\x80\x80\x00");
    /* A sub-message does not reach into its parent. */
    BAD(unit__tree__descriptor, "\x12\x01\x08\x01");
    BAD(unit__tree__descriptor, "\x12\x02\x12\x01\x08\x01");
}

/* Returns the result for bytes of a type without fields. */
static const char *
said_of(const void *bytes, size_t len)
{
    const char *wrong =
        vc__message_check(&unit__empty__descriptor, bytes, len, &roomy, NULL);

    assert_non_null(wrong);
    return wrong;
}

static void
what_is_cut_is_told_from_what_is_too_long(void **state)
{
    (void)state;
    assert_non_null(strstr(said_of("\x88\x80\x80\x80", 4), "within a field"));
    assert_non_null(strstr(said_of("\x88\x80\x80\x80\x80", 5), "tag is"));
    assert_non_null(strstr(said_of("\x0a\x80\x80\x80\x80", 5), "within"));
    assert_non_null(
        strstr(said_of("\x0a\x80\x80\x80\x80\x80", 6), "length is"));
    /* The largest tag has a valid field number, but no valid wire type. */
    assert_null(strstr(said_of("\xff\xff\xff\xff\x0f", 5), "number"));
    assert_non_null(strstr(said_of("\xff\xff\xff\xff\x1f", 5), "number"));
}

/* One byte less is read, and begins with a group. */
static void
a_message_of_2_gib_is_refused_unread(void **state)
{
    (void)state;
    if (SIZE_MAX > UINT32_MAX)
        assert_non_null(vc__message_check(&unit__empty__descriptor,
                                          (const uint8_t *)"",
                                          (size_t)INT_MAX + 1, &roomy, NULL));
    assert_non_null(strstr(said_of("", (size_t)INT_MAX + 1), "2 GiB"));
    assert_null(strstr(said_of("\x0b", INT_MAX), "2 GiB"));
}

static void
a_message_cut_anywhere_is_good_only_between_fields(void **state)
{
    uint64_t seed = 4;

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        const ProtobufCMessageDescriptor *desc = types[i % N_TYPES];
        struct bytes b;

        maker_reset();
        b = random_packed(desc, &seed);
        for (size_t len = 0; len < b.len && len < 500; len++) {
            bool good = is_good(desc, b.at, len);
            ProtobufCMessage *m =
                protobuf_c_message_unpack(desc, NULL, len, b.at);

            assert_int_equal(good, m != NULL);
            protobuf_c_message_free_unpacked(m, NULL);
        }
    }
}

static void
strings_are_utf8_without_nul(void **state)
{
    (void)state;
    GOOD(unit__scalars__descriptor, "\x72\x00");
    GOOD(unit__scalars__descriptor, "\x72\x0a"
                                    "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    GOOD(unit__scalars__descriptor, "\x72\x0c\xc2\x80\xdf\xbf\xf4\x8f\xbf\xbf"
                                    "\xed\x9f\xbf\x7f");
    BAD(unit__scalars__descriptor, "\x72\x03"
                                   "a\0b");
    BAD(unit__scalars__descriptor, "\x72\x0a"
                                   "abcdefg\0ij");
    BAD(unit__scalars__descriptor, "\x72\x01\x80");
    BAD(unit__scalars__descriptor, "\x72\x01\xc3");
    BAD(unit__scalars__descriptor, "\x72\x02\xc0\x80");
    BAD(unit__scalars__descriptor, "\x72\x02\xc1\xbf");
    BAD(unit__scalars__descriptor, "\x72\x03\xe0\x9f\xbf");
    BAD(unit__scalars__descriptor, "\x72\x03\xed\xa0\x80");
    BAD(unit__scalars__descriptor, "\x72\x03\xe2\x82\x41");
    BAD(unit__scalars__descriptor, "\x72\x04\xf0\x8f\xbf\xbf");
    BAD(unit__scalars__descriptor, "\x72\x04\xf4\x90\x80\x80");
    BAD(unit__scalars__descriptor, "\x72\x05\xf8\x88\x80\x80\x80");
    BAD(unit__scalars__descriptor, "\x72\x0a"
                                   "abcdefgh\xe2\x82");
    GOOD(unit__scalars__descriptor, "\x7a\x02\xff\x00"); /* bytes may be any */
    BAD(unit__maps__descriptor, "\x0a\x03\x0a\x01\xff"); /* a map's key */
    BAD(unit__choice__descriptor, "\x1a\x01\xff");       /* in a oneof */
    BAD(unit__unpacked__descriptor, "\x2a\x01\xff");     /* an element */
}

/* --- the error text names the f */

static void
assert_fault(const ProtobufCMessageDescriptor *desc, const char *bytes,
             size_t len, const char *text)
{
    struct vc__message_fault fault;
    char said[VC__GAP_TEXT];

    assert_false(vc__message_is_good(desc, (const uint8_t *)bytes, len, &roomy,
                                     NULL, &fault));
    vc__message_fault_text(&fault, said, sizeof said);
    assert_string_equal(text, said);
}
#define FAULT(desc, bytes, text)                                               \
    assert_fault(&desc, bytes, sizeof bytes - 1, text)

static void
the_innermost_message_and_its_field_are_named(void **state)
{
    const char not_utf8[] = "unit.Scalars.f_string: not UTF-8, or a NUL in it";

    (void)state;
    FAULT(unit__scalars__descriptor, "\x72\x01\xff", not_utf8);
    FAULT(unit__all__descriptor, "\x0a\x03\x72\x01\xff", not_utf8);
    FAULT(unit__all__descriptor, "\x0a\x03\x72\x01z\x0a\x03\x72\x01\xff",
          not_utf8);
    FAULT(unit__scalars__descriptor, "\x6a\x00",
          "unit.Scalars.f_bool: wire type is not that of the field: see that "
          "both ends have the same .proto file");
    FAULT(unit__all__descriptor, "\x0a\x01\x72",
          "unit.Scalars: message ends within a field");
    FAULT(unit__all__descriptor, "\x0a\x09\x72",
          "unit.All: message ends within a field");
    FAULT(unit2__outer__descriptor, "\x08\x01",
          "unit2.Outer.inner: the required field is missing: see that both "
          "ends have the same .proto file");
    FAULT(unit2__outer__descriptor, "\x22\x02\x10\x07",
          "unit2.Inner.name: the required field is missing: see that both ends "
          "have the same .proto file");
}

/* --- random bytes  */

/* True if the check refuses this although protobuf-c would accept it. */
static bool
is_stricter(const char *wrong)
{
    return strstr(wrong, "UTF-8") != NULL ||
           strstr(wrong, "field number") != NULL ||
           strstr(wrong, "wire type is not") != NULL || /* of a bool */
           strstr(wrong, "oneof") != NULL || strstr(wrong, "memory") != NULL;
}

static void
assert_refused_by_protobuf_c(const ProtobufCMessageDescriptor *desc,
                             const struct bytes *b, const char *wrong)
{
    ProtobufCMessage *m = protobuf_c_message_unpack(desc, NULL, b->len, b->at);

    if (m != NULL && !is_stricter(wrong))
        fail_msg("protobuf-c takes what was refused: %s", wrong);
    protobuf_c_message_free_unpacked(m, NULL);
}

static void
what_is_good_unpacks_within_the_memory_said(void **state)
{
    unsigned good = 0, bad = 0;
    uint64_t seed = 6;

    (void)state;
    for (unsigned i = 0; i < 200000; i++) {
        const ProtobufCMessageDescriptor *desc = types[i % N_TYPES];
        struct verdict v;
        struct bytes b;

        maker_reset();
        b = any_bytes(desc, &seed);
        v = judge(desc, b.at, b.len, &roomy);
        if (v.wrong != NULL)
            assert_refused_by_protobuf_c(desc, &b, v.wrong);
        ++*(v.wrong == NULL ? &good : &bad);
    }
    assert_in_range(good, 40000, 160000); /* else a weak test */
    assert_in_range(bad, 40000, 160000);
}

/* --- messages that can be p */

static void
whatever_protobuf_c_packs_is_whole(void **state)
{
    uint64_t seed = 4;

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        const ProtobufCMessageDescriptor *desc = types[i % N_TYPES];
        ProtobufCMessage *message;
        struct bytes b;

        maker_reset();
        b = random_packed(desc, &seed);
        message = protobuf_c_message_unpack(desc, NULL, b.len, b.at);
        assert_true(vc__message_is_whole(message));
        protobuf_c_message_free_unpacked(message, NULL);
    }
}

/* Asserts that it cannot be packed, and that the text names the field and
 * the reason. */
static void
assert_gap(const void *message, const char *text)
{
    char gap[VC__GAP_TEXT];

    assert_false(vc__message_is_whole(message));
    vc__message_gap(message, gap, sizeof gap);
    assert_string_equal(text, gap);
}

static void
a_bytes_field_with_a_length_and_no_data_is_named(void **state)
{
    Unit__Scalars inner = UNIT__SCALARS__INIT, *inners[] = {&inner};
    Unit__All all = UNIT__ALL__INIT;
    Unit__Unpacked unpacked = UNIT__UNPACKED__INIT;
    Unit__Choice choice = UNIT__CHOICE__INIT;
    ProtobufCBinaryData none = {.len = 3};

    (void)state;
    inner.f_bytes.len = 5;
    assert_gap(&inner, "unit.Scalars.f_bytes: 5 bytes, and data is NULL");
    all.scalars = &inner;
    assert_gap(&all, "unit.Scalars.f_bytes: 5 bytes, and data is NULL");
    unpacked.n_r_scalars = 1;
    unpacked.r_scalars = inners;
    assert_gap(&unpacked, "unit.Scalars.f_bytes: 5 bytes, and data is NULL");
    unpacked.n_r_scalars = 0;
    unpacked.n_r_bytes = 1;
    unpacked.r_bytes = &none;
    assert_gap(&unpacked, "unit.Unpacked.r_bytes: 3 bytes, and data is NULL");
    choice.kind_case = UNIT__CHOICE__KIND_DATA;
    choice.data = none;
    assert_gap(&choice, "unit.Choice.data: 3 bytes, and data is NULL");
    choice.kind_case = UNIT__CHOICE__KIND_NUMBER;
    assert_true(vc__message_is_whole(&choice.base));
}

static void
a_pointer_that_is_missing_is_named(void **state)
{
    Unit2__Outer outer = UNIT2__OUTER__INIT;
    Unit2__Inner inner = UNIT2__INNER__INIT;
    Unit__Unpacked unpacked = UNIT__UNPACKED__INIT;
    char there[] = "there", *strings[] = {there, NULL};

    (void)state;
    assert_gap(&outer, "unit2.Outer.inner: NULL, and must be set");
    outer.inner = &inner;
    assert_gap(&outer, "unit2.Inner.name: NULL, and must be set");
    inner.name = there;
    assert_gap(&outer, "unit2.Outer.last: NULL, and must be set");
    unpacked.n_r_string = 2;
    assert_gap(&unpacked,
               "unit.Unpacked.r_string: 2 elements, and the array is NULL");
    unpacked.r_string = strings;
    assert_gap(&unpacked, "unit.Unpacked.r_string: NULL, and must be set");
    inner.base.descriptor = NULL;
    assert_gap(&outer,
               "it, or a message in it, was not initialized by its _INIT");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_protobuf_c_packs_is_good),
        cmocka_unit_test(the_bound_is_near_to_what_a_packed_message_takes),
        cmocka_unit_test(an_empty_message_is_good_even_at_no_address),
        cmocka_unit_test(fields_that_the_type_lacks_are_good_and_kept),
        cmocka_unit_test(a_field_has_the_wire_type_of_its_type),
        cmocka_unit_test(repeated_numbers_may_be_packed_or_not),
        cmocka_unit_test(packed_numbers_fill_their_length),
        cmocka_unit_test(a_varint_has_at_most_ten_bytes),
        cmocka_unit_test(a_field_number_is_within_1_and_2_to_the_29),
        cmocka_unit_test(groups_and_unknown_wire_types_are_refused),
        cmocka_unit_test(a_length_stays_within_the_message),
        cmocka_unit_test(what_is_cut_is_told_from_what_is_too_long),
        cmocka_unit_test(a_message_of_2_gib_is_refused_unread),
        cmocka_unit_test(a_message_cut_anywhere_is_good_only_between_fields),
        cmocka_unit_test(strings_are_utf8_without_nul),
        cmocka_unit_test(the_innermost_message_and_its_field_are_named),
        cmocka_unit_test(what_is_good_unpacks_within_the_memory_said),
        cmocka_unit_test(whatever_protobuf_c_packs_is_whole),
        cmocka_unit_test(a_bytes_field_with_a_length_and_no_data_is_named),
        cmocka_unit_test(a_pointer_that_is_missing_is_named),
    };

    return cmocka_run_group_tests(tests, judge_setup, judge_teardown);
}
