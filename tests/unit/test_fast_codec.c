/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * rpc/codec/fast_codec.c against the general codec: what it unpacks is valid
 * for the check, and protobuf-c unpacks the same message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/codec/arena.h"
#include "rpc/codec/fast_codec.h"
#include "rpc/codec/validate.h"
#include "tests/unit/message_maker.h"
#include "tests/unit/test_message.pb-c.h"
#include "tests/unit/test_message_proto2.pb-c.h"

static const ProtobufCMessageDescriptor *const types[] = {
    &unit__plain__descriptor,  &unit__packed__descriptor,
    &unit__tree__descriptor,   &unit__choice__descriptor,
    &unit__all__descriptor,    &unit__empties__descriptor,
    &unit2__inner__descriptor, &unit2__outer__descriptor,
    &unit2__plain__descriptor,
};

#define N_TYPES (sizeof types / sizeof types[0])
#define ROOM    (1u << 24)

static struct vc__arena arena;

static int
setup(void **state)
{
    return maker_setup(state) || vc__arena_init(&arena, 1 << 16, ROOM);
}

static int
teardown(void **state)
{
    vc__arena_fini(&arena);
    return maker_teardown(state);
}

/* Unpacks bytes in memory of exactly their size; true when they are plain, that
 * is when the fast codec takes them. */
static bool
try_plain(const ProtobufCMessageDescriptor *desc, const void *bytes, size_t len,
          size_t memory, void **message)
{
    uint8_t *copy = malloc(len == 0 ? 1 : len);
    bool plain;

    assert_non_null(copy);
    if (len > 0)
        memcpy(copy, bytes, len);
    vc__arena_reset(&arena);
    vc__arena_set_cap(&arena, memory);
    plain =
        vc__fast_unpack(desc, &arena.allocator, memory,
                        &(struct vc__bytes){.data = copy, .len = len}, message);
    if (!plain)
        assert_int_equal(vc__arena_taken(&arena), 0);
    free(copy);
    return plain;
}

static bool
is_plain(const ProtobufCMessageDescriptor *desc, const void *bytes, size_t len)
{
    void *message;

    return try_plain(desc, bytes, len, ROOM, &message);
}

#define PLAIN(desc, bytes)                                                     \
    assert_true(is_plain(&(desc), bytes, sizeof(bytes) - 1))
#define NOT_PLAIN(desc, bytes)                                                 \
    assert_false(is_plain(&(desc), bytes, sizeof(bytes) - 1))

/* The fast codec packs a plain message as protobuf-c does. */
static void
assert_packs(const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message), plain;
    uint8_t *a = malloc(size + 1), *b = malloc(size + 1);

    assert_true(vc__fast_size(message, &plain));
    assert_int_equal(size, plain);
    protobuf_c_message_pack(message, a);
    vc__fast_pack(message, b);
    assert_memory_equal(a, b, size);
    free(a);
    free(b);
}

static void
assert_same(const ProtobufCMessage *one, const ProtobufCMessage *other)
{
    size_t size = protobuf_c_message_get_packed_size(one);
    uint8_t *a = malloc(size + 1), *b = malloc(size + 1);

    assert_int_equal(size, protobuf_c_message_get_packed_size(other));
    protobuf_c_message_pack(one, a);
    protobuf_c_message_pack(other, b);
    assert_memory_equal(a, b, size);
    free(a);
    free(b);
}

/* True when b was plain. */
static bool
compare(const ProtobufCMessageDescriptor *desc, struct bytes b)
{
    const struct vc__message_limits limits = {VC__MESSAGE_DEPTH, ROOM};
    ProtobufCMessage *message;
    void *plain;

    if (!try_plain(desc, b.at, b.len, ROOM, &plain))
        return false;
    assert_non_null(plain);
    assert_null(vc__message_check(desc, b.at, b.len, &limits, NULL));
    message = protobuf_c_message_unpack(desc, NULL, b.len, b.at);
    assert_non_null(message);
    assert_same(plain, message);
    if (desc == &unit__plain__descriptor || desc == &unit2__plain__descriptor)
        assert_packs(message);
    protobuf_c_message_free_unpacked(message, NULL);
    return true;
}

static void
a_packed_message_without_repeated_fields_is_plain(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (unsigned i = 0; i < 5000; i++) {
        maker_reset();
        assert_true(compare(&unit__plain__descriptor,
                            random_packed(&unit__plain__descriptor, &seed)));
        assert_true(compare(&unit2__plain__descriptor,
                            random_packed(&unit2__plain__descriptor, &seed)));
    }
}

static void
any_bytes_taken_as_plain_are_good_and_mean_the_same(void **state)
{
    uint64_t seed = 2;
    unsigned plain = 0;

    (void)state;
    for (unsigned i = 0; i < 200000; i++) {
        const ProtobufCMessageDescriptor *desc = types[i % N_TYPES];

        maker_reset();
        plain += compare(desc, any_bytes(desc, &seed));
    }
    assert_in_range(plain, 1000, 199999);
}

static void
no_more_memory_is_taken_than_is_allowed(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (unsigned i = 0; i < 5000; i++) {
        struct bytes b;
        size_t needs;
        void *message;

        maker_reset();
        b = random_packed(&unit__plain__descriptor, &seed);
        assert_true(
            try_plain(&unit__plain__descriptor, b.at, b.len, ROOM, &message));
        needs = vc__arena_taken(&arena);
        assert_true(
            try_plain(&unit__plain__descriptor, b.at, b.len, needs, &message));
        assert_non_null(message);
        assert_false(try_plain(&unit__plain__descriptor, b.at, b.len, needs - 1,
                               &message));
    }
}

static void
an_empty_message_is_plain(void **state)
{
    void *message;

    (void)state;
    assert_true(try_plain(&unit__plain__descriptor, NULL, 0, ROOM, &message));
    assert_non_null(message);
}

static void *
alloc_nothing(void *data, size_t size)
{
    (void)data;
    (void)size;
    return NULL;
}

static void
without_memory_it_is_plain_and_there_is_no_message(void **state)
{
    ProtobufCAllocator none = {.alloc = alloc_nothing};
    void *message = &none;

    (void)state;
    assert_true(vc__fast_unpack(&unit__plain__descriptor, &none, ROOM,
                                &(struct vc__bytes){.data = NULL}, &message));
    assert_null(message);
}

/* Field 3 of Plain is an int32, which this test relies on. */
static void
what_is_unusual_is_left_to_the_long_way(void **state)
{
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field(&unit__plain__descriptor, 3);

    (void)state;
    assert_int_equal(f->type, PROTOBUF_C_TYPE_INT32);
    PLAIN(unit__plain__descriptor, "\x18\x01");
    NOT_PLAIN(unit__plain__descriptor, "\x18\x01\x18\x02");     /* repeated */
    NOT_PLAIN(unit__plain__descriptor, "\x18");                 /* cut off */
    NOT_PLAIN(unit__plain__descriptor, "\x1d\x01\x02\x03\x04"); /* type */
    NOT_PLAIN(unit__plain__descriptor, "\xf8\x7f\x01");         /* unknown */
    NOT_PLAIN(unit__plain__descriptor,
              "\x98\x80\x80\x80\x80\x00\x01"); /* a tag of 6 bytes */
    NOT_PLAIN(unit__plain__descriptor,
              "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"); /* 65 bits */
    PLAIN(unit__plain__descriptor,
          "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    NOT_PLAIN(unit2__outer__descriptor, ""); /* required fields */
}

/* Makes a type whose last descriptor lies past the end of its fields. */
static void
what_is_behind_the_fields_of_a_type_is_not_one_of_them(void **state)
{
    ProtobufCMessageDescriptor desc = unit__plain__descriptor;
    ProtobufCFieldDescriptor fields[32];

    (void)state;
    assert_in_range(desc.n_fields, 2, 32);
    memcpy(fields, desc.fields, desc.n_fields * sizeof fields[0]);
    desc.fields = fields;
    desc.n_fields--;
    PLAIN(desc, "\x18\x01");
    NOT_PLAIN(desc, "\x80\x64\x01"); /* field 1600, the last of Plain */
    fields[desc.n_fields].label = PROTOBUF_C_LABEL_REQUIRED;
    PLAIN(desc, "\x18\x01");
    fields[desc.n_fields - 1].label = PROTOBUF_C_LABEL_REQUIRED;
    NOT_PLAIN(desc, "\x18\x01");
}

/* The required field comes before, is, or comes after that of the message. */
static void
a_type_with_any_required_field_is_not_plain(void **state)
{
    ProtobufCMessageDescriptor desc = unit__plain__descriptor;
    ProtobufCFieldDescriptor fields[32];

    (void)state;
    assert_in_range(desc.n_fields, 2, 32);
    desc.fields = fields;
    for (unsigned i = 0; i < desc.n_fields; i++) {
        memcpy(fields, unit__plain__descriptor.fields,
               desc.n_fields * sizeof fields[0]);
        fields[i].label = PROTOBUF_C_LABEL_REQUIRED;
        NOT_PLAIN(desc, "\x18\x01");
    }
}

static void
bytes_that_are_none_have_no_address(void **state)
{
    void *message;

    (void)state;
    assert_true(
        try_plain(&unit__plain__descriptor, "\x7a\x00", 2, ROOM, &message));
    assert_int_equal(((Unit__Plain *)message)->f_bytes.len, 0);
    assert_null(((Unit__Plain *)message)->f_bytes.data);
}

/* --- bytes that are not copied -------------------------------------------- */

/* A message with these strings and bytes, packed so that the contents of its
 * bytes are `off` bytes past an aligned address, and what was unpacked. */
struct placed {
    _Alignas(VC__ARENA_ALIGN) uint8_t room[256];
    uint8_t *contents; /* of the bytes, in room */
    struct vc__bytes from;
    Unit__Plain *message;
};

static void
placed_unpack(struct placed *p, size_t text, size_t bytes, size_t off,
              bool lasting)
{
    Unit__Plain m = UNIT__PLAIN__INIT;
    uint8_t data[128], *at = p->room;
    char string[128];
    void *message;

    memset(string, 'x', text);
    string[text] = '\0';
    memset(data, 'y', sizeof data);
    m.f_string = string;
    m.f_bytes = (ProtobufCBinaryData){.data = data, .len = bytes};
    p->from =
        (struct vc__bytes){.len = protobuf_c_message_get_packed_size(&m.base)};
    at += (VC__ARENA_ALIGN - (p->from.len - bytes) % VC__ARENA_ALIGN) + off;
    protobuf_c_message_pack(&m.base, at);
    p->from.data = at;
    p->from.lasting = lasting ? at : NULL;
    p->contents = at + p->from.len - bytes;

    vc__arena_reset(&arena);
    vc__arena_set_cap(&arena, ROOM);
    assert_true(vc__fast_unpack(&unit__plain__descriptor, &arena.allocator,
                                ROOM, &p->from, &message));
    p->message = message;
    assert_int_equal(bytes, p->message->f_bytes.len);
    assert_memory_equal(data, p->message->f_bytes.data, bytes);
    assert_true(p->from.in_use == (p->message->f_bytes.data == p->contents));
    assert_true((uintptr_t)p->message->f_bytes.data % VC__ARENA_ALIGN == 0);
}

static void
long_bytes_that_last_are_not_copied(void **state)
{
    struct placed p;

    (void)state;
    placed_unpack(&p, 0, 100, 0, true);
    assert_true(p.from.in_use);
    placed_unpack(&p, 40, 60, 0, true);
    assert_true(p.from.in_use);
}

static void
bytes_are_copied_if_they_do_not_last_or_are_not_aligned(void **state)
{
    struct placed p;

    (void)state;
    placed_unpack(&p, 0, 100, 0, false);
    assert_false(p.from.in_use);
    for (size_t off = 1; off < VC__ARENA_ALIGN; off++) {
        placed_unpack(&p, 0, 100, off, true);
        assert_false(p.from.in_use);
    }
}

/* Otherwise a few bytes would keep the memory of a long string, too. */
static void
bytes_of_less_than_half_of_the_message_are_copied(void **state)
{
    struct placed p;

    (void)state;
    placed_unpack(&p, 60, 40, 0, true);
    assert_false(p.from.in_use);
}

/* Bytes of a message that is not plain after all. */
static void
what_is_left_to_the_long_way_is_not_in_use(void **state)
{
    static _Alignas(VC__ARENA_ALIGN) uint8_t room[32] =
        "..............\x7a\x04"
        "abcd"
        "\x18\x01"; /* 15, then 3 */
    struct vc__bytes from = {.data = room + 14, .len = 8, .lasting = room + 14};
    void *message;

    (void)state;
    assert_false(vc__fast_unpack(&unit__plain__descriptor, &arena.allocator,
                                 ROOM, &from, &message));
    assert_false(from.in_use);
}

#define LEAD(bytes) vc__fast_lead((const uint8_t *)(bytes), sizeof(bytes) - 1)

static void
the_lead_is_what_comes_before_the_contents_that_are_cut_off(void **state)
{
    (void)state;
    assert_int_equal(2, LEAD("\x7a\x04"
                             "ab"));
    assert_int_equal(4, LEAD("\x18\x01\x7a\x04"
                             "ab"));
    assert_int_equal(6, LEAD("\x72\x02xy\x7a\x04"
                             "ab")); /* a string before */
    assert_int_equal(11, LEAD("\x09"
                              "12345678\x7a\x04"
                              "ab"));
    assert_int_equal(7, LEAD("\x15"
                             "1234\x7a\x04"
                             "ab"));
    assert_int_equal(4, LEAD("\x7a\x80\x80\x40"));
    assert_int_equal(0, LEAD(""));
    assert_int_equal(0, LEAD("\x7a"));
    assert_int_equal(0, LEAD("\x7a\x80"));
    assert_int_equal(0, LEAD("\x7a\x02"
                             "ab")); /* not cut off */
    assert_int_equal(0, LEAD("\x18\x80"));
    assert_int_equal(0, LEAD("\x09"
                             "1234567"));
    assert_int_equal(0, LEAD("\x13\x7a\x04"
                             "ab")); /* a group */
}

static void
only_zeros_of_floating_point_have_two_signs(void **state)
{
    Unit__Plain plain = UNIT__PLAIN__INIT;

    (void)state;
    plain.f_double = -0.0;
    plain.f_float = -0.0f;
    assert_packs(&plain.base);
    plain.f_int64 = plain.f_sint64 = plain.f_sfixed64 = INT64_MIN;
    plain.f_uint64 = plain.f_fixed64 = UINT64_MAX / 2 + 1;
    plain.f_int32 = plain.f_sint32 = plain.f_sfixed32 = INT32_MIN;
    plain.f_uint32 = plain.f_fixed32 = UINT32_MAX / 2 + 1;
    assert_packs(&plain.base);
}

static void
a_message_that_cannot_be_packed_is_not_plain(void **state)
{
    Unit__Plain plain = UNIT__PLAIN__INIT;
    Unit__Packed packed = UNIT__PACKED__INIT;
    size_t size = 1;

    (void)state;
    assert_true(vc__fast_size(&plain.base, &size));
    assert_int_equal(size, 0);
    plain.f_string = NULL; /* protobuf-c packs it as empty */
    plain.f_float = -0.0f;
    assert_packs(&plain.base);
    plain.f_bytes.len = 1;
    assert_false(vc__fast_size(&plain.base, &size));
    assert_false(vc__fast_size(&packed.base, &size));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packed_message_without_repeated_fields_is_plain),
        cmocka_unit_test(any_bytes_taken_as_plain_are_good_and_mean_the_same),
        cmocka_unit_test(no_more_memory_is_taken_than_is_allowed),
        cmocka_unit_test(an_empty_message_is_plain),
        cmocka_unit_test(without_memory_it_is_plain_and_there_is_no_message),
        cmocka_unit_test(what_is_unusual_is_left_to_the_long_way),
        cmocka_unit_test(a_message_that_cannot_be_packed_is_not_plain),
        cmocka_unit_test(
            what_is_behind_the_fields_of_a_type_is_not_one_of_them),
        cmocka_unit_test(a_type_with_any_required_field_is_not_plain),
        cmocka_unit_test(bytes_that_are_none_have_no_address),
        cmocka_unit_test(long_bytes_that_last_are_not_copied),
        cmocka_unit_test(
            bytes_are_copied_if_they_do_not_last_or_are_not_aligned),
        cmocka_unit_test(bytes_of_less_than_half_of_the_message_are_copied),
        cmocka_unit_test(what_is_left_to_the_long_way_is_not_in_use),
        cmocka_unit_test(
            the_lead_is_what_comes_before_the_contents_that_are_cut_off),
        cmocka_unit_test(only_zeros_of_floating_point_have_two_signs),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
