/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * cm/hello.c against doc/wire.md, section 2. Everything is read from memory
 * of exactly its size, so that a sanitizer sees any step beyond it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm/hello.h"
#include "tests/unit/random.h"

#define INSTANCE                                                               \
    {                                                                          \
        0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a,      \
            0x1b, 0x1c, 0x1d, 0x1e, 0x1f                                       \
    }

static const struct vc__hello good_hello = {.version_min = 1,
                                            .version_max = 2,
                                            .flags = VC__HELLO_POOL |
                                                     VC__HELLO_RESUME,
                                            .security = 0x5a,
                                            .features = 0xa1a2a3a4,
                                            .credits = 0x0102,
                                            .log2_eager = 13,
                                            .log2_message = 22,
                                            .service = 0xb1b2b3b4b5b6b7b8,
                                            .fingerprint = 0xc1c2c3c4,
                                            .pool_index = 0xd1d2,
                                            .sessions = 0xe1e2,
                                            .instance = INSTANCE,
                                            .pool_token = 0xf1f2f3f4f5f6f7f8};

static const struct vc__accept good_accept = {.version = 1,
                                              .log2_eager = 13,
                                              .log2_message = 30,
                                              .credits = 0x0304,
                                              .features = 0xa1a2a3a4,
                                              .instance = INSTANCE,
                                              .pool_token = 0xf1f2f3f4f5f6f7f8,
                                              .max_sessions = 0xb1b2b3b4,
                                              .max_slots = 0xc1c2,
                                              .keepalive_ms = 0xd1d2d3d4,
                                              .text = "k\xc3\xa4se"};

static const struct vc__reject good_reject = {
    .version_min = 1,
    .version_max = 15,
    .reason = VC__REJECT_MOVED,
    .log2_eager = 23,
    .log2_message = 12,
    .credits = 0x0102,
    .features = 0xa1a2a3a4,
    .retry_ms = 0xb1b2b3b4,
    .n_addrs = 2,
    .addrs = {{.family = 4, .weight = 9, .port = 7471, .addr = {10, 9, 0, 1}},
              {.family = 6, .weight = 200, .port = 0x0102, .addr = INSTANCE}},
    .text = "moved"};

/* One of the three, seen as bytes in and bytes out. */
struct kind {
    const char *name;
    size_t size;
    /* Reads and, when that is good, writes again what was read. */
    enum vc__said (*echo)(uint8_t *out, const void *data, size_t len);
};

static enum vc__said
hello_echo(uint8_t *out, const void *data, size_t len)
{
    struct vc__hello h;
    enum vc__said said = vc__hello_get(&h, data, len);

    if (said == VC__SAID_OK)
        vc__hello_put(out, &h);
    return said;
}

static enum vc__said
accept_echo(uint8_t *out, const void *data, size_t len)
{
    struct vc__accept a;
    enum vc__said said = vc__accept_get(&a, data, len);

    if (said == VC__SAID_OK)
        vc__accept_put(out, &a);
    return said;
}

static enum vc__said
reject_echo(uint8_t *out, const void *data, size_t len)
{
    struct vc__reject r;
    enum vc__said said = vc__reject_get(&r, data, len);

    if (said == VC__SAID_OK)
        vc__reject_put(out, &r);
    return said;
}

static const struct kind kinds[] = {
    {"hello", VC__HELLO_SIZE, hello_echo},
    {"accept", VC__ACCEPT_SIZE, accept_echo},
    {"reject", VC__REJECT_SIZE, reject_echo},
};

static void
good_bytes(uint8_t *out, const struct kind *kind)
{
    if (kind == &kinds[0])
        vc__hello_put(out, &good_hello);
    else if (kind == &kinds[1])
        vc__accept_put(out, &good_accept);
    else
        vc__reject_put(out, &good_reject);
}

/* Reads bytes of which the sanitizer knows the end; what is read as good
 * must be written as the same bytes. */
static enum vc__said
read_bytes(const struct kind *kind, const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len == 0 ? 1 : len);
    uint8_t again[VC__ACCEPT_SIZE];
    enum vc__said said;

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    said = kind->echo(again, copy, len);
    if (said == VC__SAID_OK)
        assert_memory_equal(again, copy, len < kind->size ? len : kind->size);
    free(copy);
    return said;
}

/* What is said of a good one with the byte at `at` replaced. */
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

/* --- the bytes --- */

static void
a_hello_has_these_bytes(void **state)
{
    static const uint8_t golden[VC__HELLO_SIZE] = {
        'V',  'B',  'C',  'L',                          /* magic */
        56,   0x12, 0x03, 0x5a,                         /* length.. security */
        0xa4, 0xa3, 0xa2, 0xa1,                         /* features */
        0x02, 0x01, 13,   22,                           /* credits, sizes */
        0xb8, 0xb7, 0xb6, 0xb5, 0xb4, 0xb3, 0xb2, 0xb1, /* service */
        0xc4, 0xc3, 0xc2, 0xc1,                         /* fingerprint */
        0xd2, 0xd1, 0xe2, 0xe1,                         /* index, sessions */
        0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, /* instance */
        0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f,
        0xf8, 0xf7, 0xf6, 0xf5, 0xf4, 0xf3, 0xf2, 0xf1, /* pool token */
    };
    uint8_t out[VC__HELLO_SIZE];
    struct vc__hello h;

    (void)state;
    memset(&h, 0, sizeof h);
    vc__hello_put(out, &good_hello);
    assert_memory_equal(out, golden, sizeof golden);

    assert_int_equal(vc__hello_get(&h, out, sizeof out), VC__SAID_OK);
    assert_int_equal(h.version_min, 1);
    assert_int_equal(h.version_max, 2);
    assert_int_equal(h.flags, 3);
    assert_int_equal(h.security, 0x5a);
    assert_int_equal(h.features, 0xa1a2a3a4);
    assert_int_equal(h.credits, 0x0102);
    assert_int_equal(h.log2_eager, 13);
    assert_int_equal(h.log2_message, 22);
    assert_true(h.service == 0xb1b2b3b4b5b6b7b8);
    assert_int_equal(h.fingerprint, 0xc1c2c3c4);
    assert_int_equal(h.pool_index, 0xd1d2);
    assert_int_equal(h.sessions, 0xe1e2);
    assert_memory_equal(h.instance, good_hello.instance, VC__ID_SIZE);
    assert_true(h.pool_token == 0xf1f2f3f4f5f6f7f8);
}

static void
an_accept_has_these_bytes(void **state)
{
    static const uint8_t golden[VC__ACCEPT_SIZE] = {
        'V',  'B',  'C',  'L',                          /* magic */
        55,   1,    'A',  0,                            /* length.. unused */
        0xa4, 0xa3, 0xa2, 0xa1,                         /* features */
        0x04, 0x03, 13,   30,                           /* credits, sizes */
        0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, /* instance */
        0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f,
        0xf8, 0xf7, 0xf6, 0xf5, 0xf4, 0xf3, 0xf2, 0xf1, /* pool token */
        0xb4, 0xb3, 0xb2, 0xb1,                         /* sessions */
        0xd4, 0xd3, 0xd2, 0xd1,                         /* keepalive */
        0xc2, 0xc1,                                     /* slots */
        'k',  0xc3, 0xa4, 's',  'e',                    /* text */
    };
    uint8_t out[VC__ACCEPT_SIZE];
    struct vc__accept a;

    (void)state;
    memset(&a, 0, sizeof a);
    vc__accept_put(out, &good_accept);
    assert_memory_equal(out, golden, sizeof golden);

    assert_int_equal(vc__accept_get(&a, out, sizeof out), VC__SAID_OK);
    assert_int_equal(a.version, 1);
    assert_int_equal(a.log2_eager, 13);
    assert_int_equal(a.log2_message, 30);
    assert_int_equal(a.credits, 0x0304);
    assert_int_equal(a.features, 0xa1a2a3a4);
    assert_memory_equal(a.instance, good_accept.instance, VC__ID_SIZE);
    assert_true(a.pool_token == 0xf1f2f3f4f5f6f7f8);
    assert_int_equal(a.max_sessions, 0xb1b2b3b4);
    assert_int_equal(a.max_slots, 0xc1c2);
    assert_int_equal(a.keepalive_ms, 0xd1d2d3d4);
    assert_string_equal(a.text, "k\xc3\xa4se");
}

static void
a_reject_has_these_bytes(void **state)
{
    static const uint8_t golden[VC__REJECT_SIZE] = {
        'V',  'B',  'C',  'L',  /* magic */
        69,   0x1f, 'R',  7,    /* length.. reason */
        0xa4, 0xa3, 0xa2, 0xa1, /* features */
        0x02, 0x01, 23,   12,   /* credits, sizes */
        0xb4, 0xb3, 0xb2, 0xb1, /* retry after */
        2,    0,    0,    0,    /* addresses, unused */
        4,    9,    0x1d, 0x2f, /* family, weight, port */
        10,   9,    0,    1,    /* IPv4 */
        0,    0,    0,    0,    0,    0,    0,    0,
        0,    0,    0,    0,    6,    200,  1,    2, /* family, weight, port */
        0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, /* IPv6 */
        0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f,
        'm',  'o',  'v',  'e',  'd', /* text */
    };
    uint8_t out[VC__REJECT_SIZE];
    struct vc__reject r;

    (void)state;
    memset(&r, 0, sizeof r);
    vc__reject_put(out, &good_reject);
    assert_memory_equal(out, golden, sizeof golden);

    assert_int_equal(vc__reject_get(&r, out, sizeof out), VC__SAID_OK);
    assert_int_equal(r.version_min, 1);
    assert_int_equal(r.version_max, 15);
    assert_int_equal(r.reason, VC__REJECT_MOVED);
    assert_int_equal(r.log2_eager, 23);
    assert_int_equal(r.log2_message, 12);
    assert_int_equal(r.credits, 0x0102);
    assert_int_equal(r.features, 0xa1a2a3a4);
    assert_int_equal(r.retry_ms, 0xb1b2b3b4);
    assert_int_equal(r.n_addrs, 2);
    assert_memory_equal(r.addrs, good_reject.addrs, sizeof r.addrs);
    assert_string_equal(r.text, "moved");
}

static void
the_longest_texts_and_most_addresses_fit(void **state)
{
    struct vc__accept a = good_accept, b;
    struct vc__reject r = good_reject, s;
    uint8_t bytes[VC__ACCEPT_SIZE];

    (void)state;
    memset(a.text, 'x', VC__ACCEPT_TEXT_MAX);
    vc__accept_put(bytes, &a);
    assert_int_equal(vc__accept_get(&b, bytes, VC__ACCEPT_SIZE), VC__SAID_OK);
    assert_string_equal(b.text, a.text);

    r.n_addrs = VC__REJECT_ADDRS;
    r.addrs[2] = r.addrs[1];
    memset(r.text, 'x', VC__REJECT_TEXT_MAX);
    vc__reject_put(bytes, &r);
    assert_int_equal(vc__reject_get(&s, bytes, VC__REJECT_SIZE), VC__SAID_OK);
    assert_string_equal(s.text, r.text);
    assert_memory_equal(s.addrs, r.addrs, sizeof s.addrs);

    strcpy(r.text, "abc"); /* a short one behind all the addresses */
    vc__reject_put(bytes, &r);
    assert_int_equal(read_bytes(&kinds[2], bytes, VC__REJECT_SIZE),
                     VC__SAID_OK);
}

static void
texts_may_be_empty_and_offers_absent(void **state)
{
    struct vc__reject r = {
        .version_min = 1, .version_max = 1, .reason = VC__REJECT_BUSY};
    uint8_t bytes[VC__REJECT_SIZE];

    (void)state;
    vc__reject_put(bytes, &r);
    assert_int_equal(bytes[4], 24);
    assert_int_equal(read_bytes(&kinds[2], bytes, 24), VC__SAID_OK);
}

/* --- lengths --- */

static void
one_cut_anywhere_is_refused_and_its_padding_may_lack(void **state)
{
    uint8_t bytes[VC__ACCEPT_SIZE];

    (void)state;
    for (unsigned k = 0; k < 3; k++) {
        good_bytes(bytes, &kinds[k]);
        for (size_t len = 0; len <= kinds[k].size; len++) {
            enum vc__said said = read_bytes(&kinds[k], bytes, len);

            assert_int_equal(said, len < 4          ? VC__SAID_FOREIGN
                                   : len < bytes[4] ? VC__SAID_LENGTH
                                                    : VC__SAID_OK);
        }
    }
}

static void
nothing_at_all_is_foreign(void **state)
{
    struct vc__accept a;
    struct vc__reject r;
    struct vc__hello h;

    (void)state;
    assert_int_equal(vc__hello_get(&h, NULL, 0), VC__SAID_FOREIGN);
    assert_int_equal(vc__accept_get(&a, NULL, 0), VC__SAID_FOREIGN);
    assert_int_equal(vc__reject_get(&r, NULL, 0), VC__SAID_FOREIGN);
}

static void
zeros_as_a_cm_reports_for_no_data_are_foreign(void **state)
{
    static const uint8_t zeros[VC__ACCEPT_SIZE];

    (void)state;
    for (unsigned k = 0; k < 3; k++)
        assert_int_equal(read_bytes(&kinds[k], zeros, kinds[k].size),
                         VC__SAID_FOREIGN);
}

static void
padding_may_be_longer_but_must_be_zero(void **state)
{
    uint8_t bytes[256];

    (void)state;
    for (unsigned k = 0; k < 3; k++) {
        memset(bytes, 0, sizeof bytes);
        good_bytes(bytes, &kinds[k]);
        assert_int_equal(kinds[k].echo(bytes, bytes, sizeof bytes),
                         VC__SAID_OK);
        for (size_t at = bytes[4]; at < sizeof bytes; at++) {
            bytes[at] = 1;
            assert_int_equal(read_bytes(&kinds[k], bytes, sizeof bytes),
                             VC__SAID_TAIL);
            bytes[at] = 0;
        }
    }
}

static void
a_length_that_no_version_1_has_is_refused(void **state)
{
    static const unsigned least[] = {56, 50, 24}, most[] = {56, 113, 147};
    uint8_t bytes[256] = {0};

    (void)state;
    for (unsigned k = 0; k < 3; k++)
        for (unsigned length = 0; length < 256; length++) {
            if (length >= least[k] && length <= most[k])
                continue;
            memset(bytes, 0, sizeof bytes);
            good_bytes(bytes, &kinds[k]);
            bytes[4] = (uint8_t)length;
            assert_int_equal(read_bytes(&kinds[k], bytes, sizeof bytes),
                             VC__SAID_LENGTH);
        }
}

static void
a_reject_holds_its_addresses_and_at_most_63_bytes_of_text(void **state)
{
    uint8_t bytes[VC__REJECT_SIZE];

    (void)state;
    good_bytes(bytes, &kinds[2]);
    memset(bytes + 24, 0, sizeof bytes - 24);
    bytes[4] = 63; /* one byte less than two addresses need */
    assert_int_equal(read_bytes(&kinds[2], bytes, sizeof bytes),
                     VC__SAID_LENGTH);

    bytes[20] = 0;
    bytes[4] = 24 + 64;
    memset(bytes + 24, 'x', 64);
    assert_int_equal(read_bytes(&kinds[2], bytes, sizeof bytes),
                     VC__SAID_LENGTH);
    bytes[4]--;
    bytes[24 + 63] = 0;
    assert_int_equal(read_bytes(&kinds[2], bytes, sizeof bytes), VC__SAID_OK);
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
        assert_range(2, at, 0, 0, false); /* behind the IPv4 address */
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

/* --- any bytes --- */

static void
every_changed_byte_is_read_as_it_is_or_refused(void **state)
{
    uint8_t bytes[VC__ACCEPT_SIZE];

    (void)state;
    for (unsigned k = 0; k < 3; k++) {
        good_bytes(bytes, &kinds[k]);
        for (size_t at = 0; at < kinds[k].size; at++) {
            uint8_t was = bytes[at];

            for (unsigned v = 0; v < 256; v++) {
                bytes[at] = (uint8_t)v;
                (void)read_bytes(&kinds[k], bytes, kinds[k].size);
            }
            bytes[at] = was;
        }
    }
}

static void
many_changed_bytes_are_read_as_they_are_or_refused(void **state)
{
    uint8_t bytes[VC__ACCEPT_SIZE];
    uint64_t seed = 11;

    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        const struct kind *kind = &kinds[random_below(&seed, 3)];

        good_bytes(bytes, kind);
        for (unsigned n = 1 + random_below(&seed, 6); n > 0; n--)
            bytes[random_below(&seed, (uint32_t)kind->size)] =
                (uint8_t)random_next(&seed);
        if (random_below(&seed, 2) == 0)
            memcpy(bytes, "VBCL", 4);
        (void)read_bytes(kind, bytes,
                         random_below(&seed, (uint32_t)kind->size + 1));
    }
}

static void
what_is_refused_leaves_the_result_alone(void **state)
{
    struct vc__hello h = {.sessions = 4711};
    struct vc__accept a = {.max_slots = 4711};
    struct vc__reject r = {.credits = 4711};
    uint8_t bytes[VC__ACCEPT_SIZE];

    (void)state;
    good_bytes(bytes, &kinds[0]);
    memset(bytes + 32, 0, 16);
    assert_int_not_equal(vc__hello_get(&h, bytes, 56), VC__SAID_OK);
    assert_int_equal(h.sessions, 4711);
    good_bytes(bytes, &kinds[1]);
    bytes[50] = 0xff;
    assert_int_not_equal(vc__accept_get(&a, bytes, 196), VC__SAID_OK);
    assert_int_equal(a.max_slots, 4711);
    good_bytes(bytes, &kinds[2]);
    bytes[44] = 5;
    assert_int_not_equal(vc__reject_get(&r, bytes, 148), VC__SAID_OK);
    assert_int_equal(r.credits, 4711);
}

/* --- words --- */

static void
every_finding_and_reason_has_a_text(void **state)
{
    (void)state;
    for (int i = VC__SAID_OK; i <= VC__SAID_FIELD + 1; i++)
        assert_true(strlen(vc__said_text((enum vc__said)i)) > 0);
    for (unsigned reason = 1; reason <= 10; reason++)
        assert_string_not_equal(vc__reject_reason_text(reason),
                                vc__reject_reason_text(0));
    assert_string_equal(vc__reject_reason_text(VC__REJECT_MOVED),
                        "served elsewhere");
    assert_string_equal(vc__reject_reason_text(1),
                        "no protocol version in common");
    assert_string_equal(vc__reject_reason_text(9), "hello malformed");
    assert_string_equal(vc__reject_reason_text(0), vc__reject_reason_text(11));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hello_has_these_bytes),
        cmocka_unit_test(an_accept_has_these_bytes),
        cmocka_unit_test(a_reject_has_these_bytes),
        cmocka_unit_test(the_longest_texts_and_most_addresses_fit),
        cmocka_unit_test(texts_may_be_empty_and_offers_absent),
        cmocka_unit_test(one_cut_anywhere_is_refused_and_its_padding_may_lack),
        cmocka_unit_test(nothing_at_all_is_foreign),
        cmocka_unit_test(zeros_as_a_cm_reports_for_no_data_are_foreign),
        cmocka_unit_test(padding_may_be_longer_but_must_be_zero),
        cmocka_unit_test(a_length_that_no_version_1_has_is_refused),
        cmocka_unit_test(
            a_reject_holds_its_addresses_and_at_most_63_bytes_of_text),
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
        cmocka_unit_test(every_changed_byte_is_read_as_it_is_or_refused),
        cmocka_unit_test(many_changed_bytes_are_read_as_they_are_or_refused),
        cmocka_unit_test(what_is_refused_leaves_the_result_alone),
        cmocka_unit_test(every_finding_and_reason_has_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
