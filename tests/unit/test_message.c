/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/message.c against protobuf-c itself: what the check calls good is
 * unpacked into an arena that may take no more than the check has said, in
 * every single test. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/arena.h"
#include "rpc/message.h"
#include "tests/unit/message_maker.h"
#include "tests/unit/test_message.pb-c.h"
#include "tests/unit/test_message_proto2.pb-c.h"

static const ProtobufCMessageDescriptor *const types[] = {
    &unit__scalars__descriptor,  &unit__packed__descriptor,
    &unit__unpacked__descriptor, &unit__tree__descriptor,
    &unit__choice__descriptor,   &unit__maps__descriptor,
    &unit__all__descriptor,      &unit__empties__descriptor,
    &unit2__inner__descriptor,   &unit2__outer__descriptor,
};

#define N_TYPES (sizeof types / sizeof types[0])

static const struct vc__message_limits roomy = {VC__MESSAGE_DEPTH, 1u << 30};

static struct vc__arena unpacked; /* what is unpacked, for one check */

static int
setup(void **state)
{
    return maker_setup(state) || vc__arena_init(&unpacked, 1 << 16, 0);
}

static int
teardown(void **state)
{
    vc__arena_fini(&unpacked);
    return maker_teardown(state);
}

/* --- checking --- */

/* What one check gave. */
struct verdict {
    const char *wrong; /* NULL when good */
    size_t memory;     /* said */
    size_t taken;      /* by unpacking */
};

/* Checks bytes in memory of exactly their size, and unpacks what is good. */
static struct verdict
judge(const ProtobufCMessageDescriptor *desc, const uint8_t *bytes, size_t len,
      const struct vc__message_limits *limits)
{
    uint8_t *copy = malloc(len == 0 ? 1 : len);
    struct verdict v = {.memory = 4711};

    assert_non_null(copy);
    if (len > 0)
        memcpy(copy, bytes, len);
    v.wrong = vc__message_check(desc, copy, len, limits, &v.memory);
    if (v.wrong == NULL) {
        assert_in_range(v.memory, 0, limits->memory);
        vc__arena_reset(&unpacked);
        vc__arena_set_cap(&unpacked, v.memory);
        assert_non_null(
            protobuf_c_message_unpack(desc, &unpacked.allocator, len, copy));
        v.taken = vc__arena_taken(&unpacked);
    } else {
        assert_int_equal(v.memory, 4711);
    }
    free(copy);
    return v;
}

static bool
is_good(const ProtobufCMessageDescriptor *desc, const void *bytes, size_t len)
{
    return judge(desc, bytes, len, &roomy).wrong == NULL;
}

#define GOOD(desc, bytes)                                                      \
    assert_true(is_good(&(desc), bytes, sizeof(bytes) - 1))
#define BAD(desc, bytes)                                                       \
    assert_false(is_good(&(desc), bytes, sizeof(bytes) - 1))

/* --- what is packed is good --- */

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

/* --- what unpacking would refuse or should not see --- */

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
            /* Good as any: a varint, 4 or 8 bytes, or no bytes. */
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
    /* Two bools in twenty bytes; protobuf-c makes room for twenty. */
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

static void
a_message_of_2_gib_is_refused_unread(void **state)
{
    (void)state;
    if (SIZE_MAX > UINT32_MAX)
        assert_non_null(vc__message_check(&unit__empty__descriptor,
                                          (const uint8_t *)"",
                                          (size_t)INT_MAX + 1, &roomy, NULL));
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
    GOOD(unit__scalars__descriptor, "\x7a\x02\xff\x00"); /* bytes are free */
    BAD(unit__maps__descriptor, "\x0a\x03\x0a\x01\xff"); /* a map's key */
    BAD(unit__choice__descriptor, "\x1a\x01\xff");       /* in a oneof */
    BAD(unit__unpacked__descriptor, "\x2a\x01\xff");     /* an element */
}

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
    assert_in_range(v.taken, 30 << 20, v.memory);
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

/* Each array, and each of unknown fields, may be rounded up once. */
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

    /* Two fields in turns are still two arrays of seven that may be. */
    b.len = 0;
    for (unsigned i = 0; i < 100; i++)
        put_bytes(&b, "\x08\x01\x20\x01", 4);
    v = judge(&unit__unpacked__descriptor, b.at, b.len, &roomy);
    assert_in_range(v.memory, v.taken, v.taken + 7 * 15);
}

/* Refused at every limit below what is said to be needed. */
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

/* --- required fields --- */

static void
a_required_field_must_be_there(void **state)
{
    (void)state;
    BAD(unit2__inner__descriptor, "");
    GOOD(unit2__inner__descriptor, "\x0a\x00");
    BAD(unit2__inner__descriptor, "\x10\x01");
    BAD(unit2__outer__descriptor, "\x08\x01\x22\x02\x0a\x00");
    /* preset has a default and may lack. */
    GOOD(unit2__outer__descriptor, "\x08\x01\x22\x02\x0a\x00\xc2\x3e\x00");
    GOOD(unit2__outer__descriptor, "\xc2\x3e\x00\x22\x02\x0a\x00\x08\x01");
    /* Each sub-message by itself: that a merge would complete it is late. */
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
    /* Two of them and the joint array of four numbers. */
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
    /* 400 of them: some 400 * 400 / 2 numbers are copied. */
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
    GOOD(unit__all__descriptor, "\x7a\x00\x7a\x00"); /* elements may */
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

/* --- any bytes --- */

/* Does the check refuse this although protobuf-c would take it? */
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
    assert_in_range(good, 40000, 160000); /* or the bytes say little */
    assert_in_range(bad, 40000, 160000);
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
        cmocka_unit_test(a_message_of_2_gib_is_refused_unread),
        cmocka_unit_test(a_message_cut_anywhere_is_good_only_between_fields),
        cmocka_unit_test(strings_are_utf8_without_nul),
        cmocka_unit_test(nesting_is_good_up_to_the_limit),
        cmocka_unit_test(ten_thousand_nested_levels_are_refused),
        cmocka_unit_test(
            a_mebibyte_of_empty_submessages_meets_the_memory_limit),
        cmocka_unit_test(the_memory_limit_is_exact),
        cmocka_unit_test(the_memory_of_many_fields_is_exact),
        cmocka_unit_test(the_memory_of_arrays_is_off_by_their_rounding_only),
        cmocka_unit_test(any_less_memory_than_needed_is_too_little),
        cmocka_unit_test(a_required_field_must_be_there),
        cmocka_unit_test(a_required_field_is_missed_among_any_number),
        cmocka_unit_test(a_submessage_given_twice_is_merged),
        cmocka_unit_test(merging_many_submessages_meets_the_memory_limit),
        cmocka_unit_test(merging_reaches_the_submessages_below),
        cmocka_unit_test(elements_are_not_merged),
        cmocka_unit_test(a_submessage_with_a_oneof_is_not_given_twice),
        cmocka_unit_test(submessages_of_a_wide_type_are_told_apart),
        cmocka_unit_test(what_is_good_unpacks_within_the_memory_said),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
