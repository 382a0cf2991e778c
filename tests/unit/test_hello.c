/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * cm/connect/hello.c against doc/wire.md, section 2: the bytes, the lengths,
 * and invalid bytes. All are read from memory of exactly their size, so that a
 * sanitizer finds every access past the end. The fields are in
 * test_hello_fields.c. */
#include "cm/connect/features.h"
#include "tests/unit/hello_maker.h"
#include "tests/unit/random.h"

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
        0,    0,    0,    0,                            /* ignored */
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

    strcpy(r.text, "abc"); /* a short text after all the addresses */
    vc__reject_put(bytes, &r);
    assert_int_equal(read_bytes(&kinds[2], bytes, VC__REJECT_SIZE),
                     VC__SAID_OK);
}

/* The socket's fields lie between the fixed part of an accept and the text. */
static void
an_accept_tells_of_a_socket(void **state)
{
    static const uint8_t golden[] = {
        's',  'o',  'c',  'k',  'e', 't', ' ', ' ', /* name */
        'o',  'f',  ' ',  'a',  ' ', 'h', 'o', 's', /* rest of the name */
        0xf4, 0xf3, 0xf2, 0xf1,                     /* user */
        'k',  0xc3, 0xa4, 's',  'e',                /* text */
    };
    struct vc__accept a = good_accept, b;
    uint8_t bytes[VC__ACCEPT_SIZE];

    (void)state;
    a.features |= VC__FEATURE_LOCAL;
    a.local.uid = 0xf1f2f3f4;
    memcpy(a.local.name, golden, sizeof a.local.name);
    vc__accept_put(bytes, &a);
    assert_int_equal(75, bytes[4]);
    assert_memory_equal(golden, bytes + 50, sizeof golden);
    assert_int_equal(VC__SAID_OK, vc__accept_get(&b, bytes, VC__ACCEPT_SIZE));
    assert_memory_equal(a.local.name, b.local.name, sizeof b.local.name);
    assert_int_equal(0xf1f2f3f4, b.local.uid);
    assert_string_equal(a.text, b.text);

    memset(a.text, 'x', VC__ACCEPT_TEXT_MAX);
    vc__accept_put(bytes, &a);
    assert_int_equal(VC__SAID_OK, vc__accept_get(&b, bytes, VC__ACCEPT_SIZE));
    assert_string_equal(b.text, a.text);

    bytes[4] = 69; /* cut within the user id */
    memset(bytes + 69, 0, sizeof bytes - 69);
    assert_int_equal(VC__SAID_LENGTH,
                     vc__accept_get(&b, bytes, VC__ACCEPT_SIZE));
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

static void
a_text_is_cut_to_what_a_transport_carries_between_two_characters(void **state)
{
    struct vc__accept a = good_accept;
    struct vc__reject r = good_reject;
    uint8_t bytes[VC__ACCEPT_SIZE];

    (void)state;
    strcpy(a.text, "12345678901234567890\xc3\xa9");
    a.features = 0;
    vc__accept_fit(&a, 50 + 22);
    assert_int_equal(22, strlen(a.text));
    vc__accept_fit(&a, 50 + 21);
    assert_string_equal("12345678901234567890", a.text);
    vc__accept_put(bytes, &a);
    assert_int_equal(70, bytes[4]);
    vc__accept_fit(&a, 50);
    assert_string_equal("", a.text);

    memset(r.text, 'x', sizeof r.text - 1);
    r.addrs[2] = r.addrs[0];
    r.n_addrs = 3;
    vc__reject_fit(&r, 136);
    vc__reject_put(bytes, &r);
    assert_int_equal(136, bytes[4]);
    assert_int_equal(VC__SAID_OK, vc__reject_get(&r, bytes, 136));
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

/* As an older client sends them: the index of its link, and the sessions that
 * it expected. */
static void
the_bytes_28_to_31_of_a_hello_are_ignored(void **state)
{
    uint8_t bytes[VC__HELLO_SIZE];

    (void)state;
    good_bytes(bytes, &kinds[0]);
    memcpy(bytes + 28, "\x01\x00\x01\xff", 4);
    assert_int_equal(VC__SAID_OK, read_bytes(&kinds[0], bytes, VC__HELLO_SIZE));
}

static void
what_is_refused_leaves_the_result_alone(void **state)
{
    struct vc__hello h = {.credits = 4711};
    struct vc__accept a = {.max_slots = 4711};
    struct vc__reject r = {.credits = 4711};
    uint8_t bytes[VC__ACCEPT_SIZE];

    (void)state;
    good_bytes(bytes, &kinds[0]);
    memset(bytes + 32, 0, 16);
    assert_int_not_equal(vc__hello_get(&h, bytes, 56), VC__SAID_OK);
    assert_int_equal(h.credits, 4711);
    good_bytes(bytes, &kinds[1]);
    bytes[50] = 0xff;
    assert_int_not_equal(vc__accept_get(&a, bytes, 196), VC__SAID_OK);
    assert_int_equal(a.max_slots, 4711);
    good_bytes(bytes, &kinds[2]);
    bytes[44] = 5;
    assert_int_not_equal(vc__reject_get(&r, bytes, 148), VC__SAID_OK);
    assert_int_equal(r.credits, 4711);
}

/* --- texts of  */

static void
every_finding_and_reason_has_a_text(void **state)
{
    (void)state;
    for (int i = VC__SAID_OK; i <= VC__SAID_FIELD + 1; i++)
        assert_true(strlen(vc__said_text((enum vc__said)i)) > 0);
    for (unsigned reason = 1; reason <= 11; reason++)
        assert_string_not_equal(vc__reject_rule(reason)->text,
                                vc__reject_rule(0)->text);
    assert_string_equal(vc__reject_rule(VC__REJECT_MOVED)->text,
                        "served elsewhere");
    assert_string_equal(vc__reject_rule(1)->text,
                        "no protocol version in common");
    assert_string_equal(vc__reject_rule(9)->text, "hello malformed");
    assert_string_equal(vc__reject_rule(0)->text, vc__reject_rule(12)->text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hello_has_these_bytes),
        cmocka_unit_test(an_accept_has_these_bytes),
        cmocka_unit_test(an_accept_tells_of_a_socket),
        cmocka_unit_test(a_reject_has_these_bytes),
        cmocka_unit_test(the_longest_texts_and_most_addresses_fit),
        cmocka_unit_test(texts_may_be_empty_and_offers_absent),
        cmocka_unit_test(
            a_text_is_cut_to_what_a_transport_carries_between_two_characters),
        cmocka_unit_test(one_cut_anywhere_is_refused_and_its_padding_may_lack),
        cmocka_unit_test(nothing_at_all_is_foreign),
        cmocka_unit_test(zeros_as_a_cm_reports_for_no_data_are_foreign),
        cmocka_unit_test(padding_may_be_longer_but_must_be_zero),
        cmocka_unit_test(a_length_that_no_version_1_has_is_refused),
        cmocka_unit_test(
            a_reject_holds_its_addresses_and_at_most_63_bytes_of_text),
        cmocka_unit_test(every_changed_byte_is_read_as_it_is_or_refused),
        cmocka_unit_test(many_changed_bytes_are_read_as_they_are_or_refused),
        cmocka_unit_test(the_bytes_28_to_31_of_a_hello_are_ignored),
        cmocka_unit_test(what_is_refused_leaves_the_result_alone),
        cmocka_unit_test(every_finding_and_reason_has_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
