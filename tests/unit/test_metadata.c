/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Metadata packed, checked and unpacked: the bytes on the wire, every limit,
 * every malformed form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/random.h"
#include "transport/core/le.h"
#include "transport/wire/metadata.h"

#define KEY_33  "abcdefghijklmnopqrstuvwxyz-012345"
#define KEY_127 KEY_33 KEY_33 KEY_33 "0123456789_.abcdefghijklmnop"

/* --- helpers ----------------------------------------------------------- */

static struct vc_metadata
entry(const char *key, const char *text)
{
    return (struct vc_metadata){
        .key = key, .value = text, .length = strlen(text)};
}

/* Packed entries. */
struct packed {
    uint8_t bytes[VC__METADATA_MAX + 512];
    size_t len;
};

static void
add(struct packed *p, struct vc_metadata e, bool trailing)
{
    uint8_t *end = vc__metadata_put(p->bytes + p->len, &e, trailing);

    assert_int_equal(end - (p->bytes + p->len), vc__metadata_size(&e));
    p->len += vc__metadata_size(&e);
}

/* Adds an entry with a key of any bytes. */
static void
add_raw(struct packed *p, unsigned first, const char *key, size_t key_len,
        const void *value, size_t len)
{
    uint8_t *out = p->bytes + p->len;

    *out++ = (uint8_t)first;
    memcpy(out, key, key_len);
    out += key_len;
    vc__put16(out, (uint16_t)len);
    memcpy(out + 2, value, len);
    p->len += 3 + key_len + len;
}

/* Checks bytes in memory of exactly their size, so that a sanitizer finds every
 * read past the end. */
static const char *
check(const struct packed *p, bool may_trail, size_t *n)
{
    uint8_t *copy = malloc(p->len > 0 ? p->len : 1);
    struct vc__metadata m = {.data = copy, .len = p->len};
    const char *fault;

    assert_non_null(copy);
    memcpy(copy, p->bytes, p->len);
    fault = vc__metadata_check(&m, may_trail, n);
    free(copy);
    return fault;
}

static void
assert_malformed(const struct packed *p, const char *words, const char *what)
{
    size_t n;
    const char *fault = check(p, true, &n);

    if (fault == NULL)
        fail_msg("%s is taken for good", what);
    else if (strstr(fault, words) == NULL)
        fail_msg("%s is said to be \"%s\"", what, fault);
}

static void
assert_good(const struct packed *p, size_t expected)
{
    size_t n;
    const char *fault = check(p, true, &n);

    if (fault != NULL)
        fail_msg("%s", fault);
    assert_int_equal(n, expected);
}

/* Unpacks checked entries into memory of exactly the size that
 * vc__metadata_memory() returns; the caller frees it. */
static void *
unpack(struct vc__metadata_view *view, const struct packed *p)
{
    struct vc__metadata m = {.data = p->bytes, .len = p->len};
    void *memory;
    size_t n;

    assert_null(vc__metadata_check(&m, true, &n));
    memory = malloc(vc__metadata_memory(&m, n) + 1);
    assert_non_null(memory);
    memset(memory, 0xa5, vc__metadata_memory(&m, n) + 1);
    vc__metadata_unpack(view, memory, &m, n);
    assert_int_equal(((uint8_t *)memory)[vc__metadata_memory(&m, n)], 0xa5);
    assert_int_equal(view->n_initial + view->n_trailing + view->n_own, n);
    return memory;
}

static void
assert_entry(const struct vc_metadata *e, const char *key, const void *value,
             size_t len)
{
    assert_string_equal(e->key, key);
    assert_int_equal(e->length, len);
    assert_memory_equal(e->value, value, len);
    assert_int_equal(((const char *)e->value)[len], 0);
}

/* --- entries of a program ----------------------------------------------- */

static void
keys_may_be_1_to_127_of_their_characters(void **state)
{
    static const char *const good[] = {"a",       "z",    "0",        "9",
                                       "_.-",     "-bin", "verbcall", "grpc",
                                       "xgrpc-a", KEY_127};
    static const char *const bad[] = {
        "",   "A", "a b", "a:", "a/b", "a\n", "\xc3\xa4", "a\x7f",
        "{a", "`", "^",   "@",  "/",   ":",   KEY_127 "x"};
    struct vc_metadata e = entry(NULL, "");

    (void)state;
    assert_int_equal(strlen(KEY_127), VC__METADATA_KEY_MAX);
    assert_non_null(vc__metadata_fault(&e));
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        e.key = good[i];
        if (vc__metadata_fault(&e) != NULL)
            fail_msg("%s: %s", good[i], vc__metadata_fault(&e));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        e.key = bad[i];
        if (vc__metadata_fault(&e) == NULL)
            fail_msg("\"%s\" is no key", bad[i]);
        assert_non_null(strstr(vc__metadata_fault(&e), "key"));
    }
}

static void
the_librarys_own_keys_are_not_the_programs(void **state)
{
    static const char *const own[] = {
        "grpc-",     "grpc-x",     VC__METADATA_ATTEMPTS, VC__METADATA_PUSHBACK,
        "verbcall-", "verbcall-a", VC__METADATA_DETAILS};

    (void)state;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        struct vc_metadata e = entry(own[i], "1");

        assert_non_null(strstr(vc__metadata_fault(&e), "own"));
    }
}

static void
texts_are_printable_without_spaces_around_them(void **state)
{
    struct vc_metadata e = entry("key", "");
    char c;

    (void)state;
    assert_null(vc__metadata_fault(&e));
    e = (struct vc_metadata){.key = "key", .value = " ", .length = 0};
    assert_null(vc__metadata_fault(&e));
    e = entry("key", "a b");
    assert_null(vc__metadata_fault(&e));
    e = entry("key", " a");
    assert_non_null(vc__metadata_fault(&e));
    e = entry("key", "a ");
    assert_non_null(vc__metadata_fault(&e));
    e = entry("key", " ");
    assert_non_null(vc__metadata_fault(&e));
    e = (struct vc_metadata){.key = "key", .value = &c, .length = 1};
    for (int i = 0; i < 256; i++) {
        c = (char)i;
        if ((vc__metadata_fault(&e) == NULL) != (i > 0x20 && i <= 0x7e))
            fail_msg("byte %d", i);
    }
}

static void
keys_that_end_in_bin_carry_any_bytes(void **state)
{
    uint8_t all[256];
    struct vc_metadata e = {.key = "x-bin", .value = all, .length = 256};

    (void)state;
    for (int i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    assert_null(vc__metadata_fault(&e));
    e.key = "-bin";
    assert_null(vc__metadata_fault(&e));
    e.key = "bin";
    assert_non_null(vc__metadata_fault(&e));
    e.key = "x-binx";
    assert_non_null(vc__metadata_fault(&e));
    e.key = "-bi";
    assert_non_null(vc__metadata_fault(&e));
}

static void
a_value_is_there_and_one_that_is_too_long_does_not_fit(void **state)
{
    static uint8_t bytes[VC_METADATA_MAX + 1];
    struct vc_metadata e = {.key = "x-bin", .value = NULL, .length = 0};

    (void)state;
    assert_null(vc__metadata_fault(&e));
    e.length = 1;
    assert_non_null(strstr(vc__metadata_fault(&e), "NULL"));
    e.value = bytes;
    e.length = VC_METADATA_MAX;
    assert_null(vc__metadata_fault(&e));
    assert_false(vc__metadata_fits(0, &e));
    e.length = VC_METADATA_MAX - vc__metadata_size(&e) + e.length;
    assert_true(vc__metadata_fits(0, &e));
    assert_false(vc__metadata_fits(1, &e));
    /* The entry is valid, and the value is not read. */
    e.length = SIZE_MAX;
    e.key = "x";
    assert_null(vc__metadata_fault(&e));
    assert_false(vc__metadata_fits(0, &e));
}

/* --- on the wire --------------------------------------------------------- */

static void
an_entry_is_these_bytes(void **state)
{
    static const uint8_t expected[] = {
        3,    'k', 'e', 'y', 5,   0,   'v', 'a', 'l', 'u', 'e', /* initial */
        0x81, 'a', 0,   0,                                      /* no value */
        0x85, 'a', '-', 'b', 'i', 'n', 2,   0,   0,   0xff};    /* any bytes */
    struct packed p = {.len = 0};

    (void)state;
    add(&p, entry("key", "value"), false);
    add(&p, (struct vc_metadata){.key = "a"}, true);
    add(&p,
        (struct vc_metadata){.key = "a-bin", .value = "\0\xff", .length = 2},
        true);
    assert_int_equal(p.len, sizeof expected);
    assert_memory_equal(p.bytes, expected, sizeof expected);
    assert_good(&p, 3);
}

static void
nothing_is_good_and_has_no_entries(void **state)
{
    struct packed p = {.len = 0};
    struct vc__metadata m = {.data = NULL, .len = 0};
    size_t n = 7;

    (void)state;
    assert_good(&p, 0);
    assert_null(vc__metadata_check(&m, false, &n));
    assert_int_equal(n, 0);
}

static void
cut_anywhere_but_between_entries_they_are_malformed(void **state)
{
    struct packed p = {.len = 0};
    size_t first, all;

    (void)state;
    add(&p, entry("key", "value"), false);
    first = p.len;
    add(&p, entry("other-bin", "more"), true);
    all = p.len;
    for (p.len = 1; p.len < all; p.len++) {
        if (p.len == first)
            assert_good(&p, 1);
        else
            assert_malformed(&p, "truncated", "a cut entry");
    }
    assert_good(&p, 2);
}

static void
lengths_that_reach_beyond_the_end_are_malformed(void **state)
{
    struct packed p = {.len = 0};

    (void)state;
    add(&p, entry("key", "value"), false);
    p.bytes[0] = 9; /* up to the last byte: no room for a length */
    assert_malformed(&p, "truncated", "a key to the end");
    p.bytes[0] = 127;
    assert_malformed(&p, "truncated", "a key over the end");
    p.bytes[0] = 3;
    p.bytes[4] = 6;
    assert_malformed(&p, "truncated", "a value over the end");
    vc__put16(p.bytes + 4, UINT16_MAX);
    assert_malformed(&p, "truncated", "the longest value");
    vc__put16(p.bytes + 4, 4); /* the rest is an entry of one byte */
    assert_malformed(&p, "truncated", "a byte behind");
}

static void
bad_keys_are_malformed(void **state)
{
    struct packed p = {.len = 0};

    (void)state;
    add_raw(&p, 0, "", 0, "v", 1);
    assert_malformed(&p, "key", "a key of no bytes");
    p.len = 0;
    add_raw(&p, 0x80, "", 0, "v", 1);
    assert_malformed(&p, "key", "a trailing key of no bytes");
    p.len = 0;
    add_raw(&p, 0, "", 0, "", 0);
    assert_malformed(&p, "key", "no key and no value");
    for (int c = 0; c < 256; c++) {
        bool good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '-' || c == '.';
        char key[3] = {'k', (char)c, 'y'};

        p.len = 0;
        add_raw(&p, 3, key, 3, "v", 1);
        if (good)
            assert_good(&p, 1);
        else
            assert_malformed(&p, "key", "a bad key");
    }
}

static void
bad_texts_are_malformed_and_bytes_are_not(void **state)
{
    static const struct {
        const char *text;
        size_t len;
    } bad[] = {{" a", 2}, {"a ", 2},   {" ", 1},    {"a\0b", 3},
               {"\n", 1}, {"\x7f", 1}, {"\x80", 1}, {"a\tb", 3}};
    struct packed p;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        p.len = 0;
        add_raw(&p, 3, "key", 3, bad[i].text, bad[i].len);
        assert_malformed(&p, "printable", bad[i].text);
        p.len = 0;
        add_raw(&p, 5, "k-bin", 5, bad[i].text, bad[i].len);
        assert_good(&p, 1);
    }
}

static void
the_last_of_many_is_checked_too(void **state)
{
    struct packed p = {.len = 0};

    (void)state;
    for (int i = 0; i < 100; i++)
        add(&p, entry("key", "value"), false);
    assert_good(&p, 100);
    add_raw(&p, 3, "KEY", 3, "v", 1);
    assert_malformed(&p, "key", "the last key");
}

static void
only_metadata_of_replies_trail(void **state)
{
    struct packed p = {.len = 0};
    size_t n;

    (void)state;
    add(&p, entry("key", "value"), false);
    assert_null(check(&p, false, &n));
    add(&p, entry("key", "value"), true);
    assert_non_null(strstr(check(&p, false, &n), "trail"));
    assert_null(check(&p, true, &n));
}

static void
as_many_bytes_as_may_be_are_good_and_one_more_is_not(void **state)
{
    struct packed p = {.len = 0};
    static uint8_t bytes[VC__METADATA_MAX];
    struct vc_metadata e = {.key = "x-bin", .value = bytes};

    (void)state;
    e.length = VC__METADATA_MAX - 8;
    add(&p, e, true);
    assert_int_equal(p.len, VC__METADATA_MAX);
    assert_good(&p, 1);
    p.len = 0;
    e.length++;
    add(&p, e, true);
    assert_malformed(&p, "over the limit", "a byte too many");
}

static void
random_bytes_are_refused_or_unpacked_whole(void **state)
{
    uint64_t seed = 1;
    unsigned good = 0;

    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        struct packed p = {.len = 0};
        struct vc__metadata_view view;
        size_t n;

        /* Valid entries, some of whose bytes are then changed. */
        for (unsigned i = random_below(&seed, 5); i > 0; i--)
            add(&p, entry(i % 2 == 0 ? "key" : "grpc-bin", "value"),
                random_below(&seed, 2) == 0);
        for (unsigned i = random_below(&seed, 3); i > 0 && p.len > 0; i--)
            p.bytes[random_below(&seed, (uint32_t)p.len)] =
                (uint8_t)random_next(&seed);
        if (check(&p, true, &n) != NULL)
            continue;
        good++;
        free(unpack(&view, &p));
    }
    assert_in_range(good, 2000, 18000);
}

/* --- unpacked ----------------------------------------------------------- */

static void
each_kind_comes_out_in_its_order(void **state)
{
    struct packed p = {.len = 0};
    struct vc__metadata_view view;
    const struct vc_metadata *e;
    void *memory;

    (void)state;
    add(&p, entry("t", "1"), true);
    add(&p, entry("a", "2"), false);
    add(&p, entry(VC__METADATA_PUSHBACK, "3"), true);
    add(&p, (struct vc_metadata){.key = "z-bin", .value = "\0\1", .length = 2},
        true);
    add(&p, entry("a", "4"), false);
    add(&p, entry("verbcall-x", ""), false);
    add(&p, entry("b", ""), false);
    memory = unpack(&view, &p);

    assert_int_equal(view.n_initial, 3);
    assert_int_equal(view.n_trailing, 2);
    assert_int_equal(view.n_own, 2);
    e = view.entries;
    assert_entry(&e[0], "a", "2", 1);
    assert_entry(&e[1], "a", "4", 1);
    assert_entry(&e[2], "b", "", 0);
    assert_entry(&e[3], "t", "1", 1);
    assert_entry(&e[4], "z-bin", "\0\1", 2);
    assert_entry(&e[5], VC__METADATA_PUSHBACK, "3", 1);
    assert_entry(&e[6], "verbcall-x", "", 0);

    assert_ptr_equal(vc__metadata_find(e, 3, "a"), &e[0]);
    assert_null(vc__metadata_find(e, 3, "t"));
    assert_null(vc__metadata_find(NULL, 0, "t"));
    assert_ptr_equal(vc__metadata_find_own(&view, VC__METADATA_PUSHBACK),
                     &e[5]);
    assert_null(vc__metadata_find_own(&view, "a"));
    assert_null(vc__metadata_find_own(&view, VC__METADATA_DETAILS));
    free(memory);
}

static void
removing_takes_each_with_the_key_and_no_other(void **state)
{
    struct packed p = {.len = 0}, left = {.len = 0};

    (void)state;
    assert_int_equal(vc__metadata_remove(p.bytes, 0, "a"), 0);
    add(&p, entry("a", "1"), false);
    add(&p, entry("ab", "2"), true);
    add(&p, entry("a", "long enough to be moved over"), true);
    add(&p, entry("b", "3"), false);
    add(&left, entry("ab", "2"), true);
    add(&left, entry("b", "3"), false);
    assert_int_equal(vc__metadata_remove(p.bytes, p.len, "c"), p.len);
    p.len = vc__metadata_remove(p.bytes, p.len, "a");
    assert_int_equal(p.len, left.len);
    assert_memory_equal(p.bytes, left.bytes, left.len);
}

static void
initial_ones_are_copied_and_trailing_ones_are_not(void **state)
{
    struct packed p = {.len = 0}, want = {.len = 0};
    uint8_t got[sizeof p.bytes];

    (void)state;
    assert_int_equal(vc__metadata_initial(NULL, 0, NULL), 0);
    add(&p, entry("a", "1"), true);
    assert_int_equal(vc__metadata_initial(p.bytes, p.len, got), 0);
    add(&p, entry("b", "2"), false);
    add(&p, entry("a", "3"), true);
    add(&p, entry("a", ""), false);
    add(&want, entry("b", "2"), false);
    add(&want, entry("a", ""), false);
    assert_int_equal(vc__metadata_initial(p.bytes, p.len, NULL), want.len);
    assert_int_equal(vc__metadata_initial(p.bytes, p.len, got), want.len);
    assert_memory_equal(got, want.bytes, want.len);
}

/* --- numbers ------------------------------------------------------------ */

static void
numbers_are_decimal_and_have_32_bits(void **state)
{
    static const struct {
        const char *text;
        bool good;
        int32_t number;
    } table[] = {{"0", true, 0},
                 {"7", true, 7},
                 {"-1", true, -1},
                 {"9876543210", false, 0},
                 {"1234567890", true, 1234567890},
                 {"-90", true, -90},
                 {"1/", false, 0},
                 {"1:", false, 0},
                 {"0012", true, 12},
                 {"2147483647", true, INT32_MAX},
                 {"-2147483648", true, INT32_MIN},
                 {"2147483648", false, 0},
                 {"-2147483649", false, 0},
                 {"99999999999999999999", false, 0},
                 {"", false, 0},
                 {"-", false, 0},
                 {"--1", false, 0},
                 {"+1", false, 0},
                 {"1 ", false, 0},
                 {"1x", false, 0},
                 {"0x1", false, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct vc_metadata e = entry("n", table[i].text);
        int32_t n = 99;
        bool good = vc__metadata_number(&e, &n);

        if (good != table[i].good || (good && n != table[i].number))
            fail_msg("\"%s\" is read as %d", table[i].text, (int)n);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_may_be_1_to_127_of_their_characters),
        cmocka_unit_test(the_librarys_own_keys_are_not_the_programs),
        cmocka_unit_test(texts_are_printable_without_spaces_around_them),
        cmocka_unit_test(keys_that_end_in_bin_carry_any_bytes),
        cmocka_unit_test(
            a_value_is_there_and_one_that_is_too_long_does_not_fit),
        cmocka_unit_test(an_entry_is_these_bytes),
        cmocka_unit_test(nothing_is_good_and_has_no_entries),
        cmocka_unit_test(cut_anywhere_but_between_entries_they_are_malformed),
        cmocka_unit_test(lengths_that_reach_beyond_the_end_are_malformed),
        cmocka_unit_test(bad_keys_are_malformed),
        cmocka_unit_test(bad_texts_are_malformed_and_bytes_are_not),
        cmocka_unit_test(the_last_of_many_is_checked_too),
        cmocka_unit_test(only_metadata_of_replies_trail),
        cmocka_unit_test(as_many_bytes_as_may_be_are_good_and_one_more_is_not),
        cmocka_unit_test(random_bytes_are_refused_or_unpacked_whole),
        cmocka_unit_test(each_kind_comes_out_in_its_order),
        cmocka_unit_test(initial_ones_are_copied_and_trailing_ones_are_not),
        cmocka_unit_test(removing_takes_each_with_the_key_and_no_other),
        cmocka_unit_test(numbers_are_decimal_and_have_32_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
