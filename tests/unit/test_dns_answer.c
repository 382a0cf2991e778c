/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which servers follow from addresses and from SRV records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ares.h>
#include <cmocka.h>

#include "modules/dns/dns_answer.h"
#include "modules/dns/dns_srv.h"

/* --- addresses --------------------------------------------------------- */

/* '4' and '6' stand for addresses of IPv4 and IPv6; the last byte of each is
 * its place. */
static size_t
addrs_make(const char *families, struct vc__dns_addr *out)
{
    size_t n = strlen(families);

    for (size_t i = 0; i < n; i++) {
        out[i] = (struct vc__dns_addr){.is_v6 = families[i] == '6'};
        if (out[i].is_v6)
            out[i].ip[15] = (uint8_t)i;
        else
            memcpy(out[i].ip, (uint8_t[]){10, 0, 0, (uint8_t)i}, 4);
        if (out[i].is_v6)
            out[i].ip[0] = 0xfd;
    }
    return n;
}

static const struct {
    const char *families, *places;
} mixes[] = {
    {"", ""},           {"4", "0"},         {"6", "0"},
    {"444", "012"},     {"666", "012"},     {"46", "01"},
    {"64", "01"},       {"6644", "0213"},   {"4466", "0213"},
    {"44446", "04123"}, {"66664", "04123"}, {"466644", "014253"},
    {"6464", "0123"},   {"6446", "0132"},
};

static void
families_alternate_from_the_first_ones(void **state)
{
    struct vc__dns_answer *a = malloc(sizeof *a);
    const struct vc__dns_place place = {"vc", 7471, 1, 0};

    (void)state;
    for (size_t i = 0; i < sizeof mixes / sizeof mixes[0]; i++) {
        struct vc__dns_addr addrs[8];
        size_t n = addrs_make(mixes[i].families, addrs);

        a->n = 0;
        vc__dns_answer_add(a, &place, addrs, n);
        assert_int_equal(a->n, n);
        for (size_t j = 0; j < n; j++) {
            unsigned at = (unsigned)(mixes[i].places[j] - '0');
            char text[64];

            if (addrs[at].is_v6)
                snprintf(text, sizeof text,
                         at == 0 ? "vc://[fd00::]:7471"
                                 : "vc://[fd00::%u]:7471",
                         at);
            else
                snprintf(text, sizeof text, "vc://10.0.0.%u:7471", at);
            assert_string_equal(a->endpoint[j].target, text);
        }
    }
    free(a);
}

static void
a_server_has_what_its_place_says(void **state)
{
    struct vc__dns_answer *a = malloc(sizeof *a);
    struct vc__dns_addr addr;

    (void)state;
    addrs_make("6", &addr);
    memset(addr.ip, 0xfe, sizeof addr.ip); /* the longest text */
    a->n = 0;
    vc__dns_answer_add(a, &(struct vc__dns_place){"rdma", 65535, 65535, 255},
                       &addr, 1);
    assert_int_equal(a->endpoint[0].size, sizeof(struct vc_endpoint));
    assert_string_equal(
        a->endpoint[0].target,
        "rdma://[fefe:fefe:fefe:fefe:fefe:fefe:fefe:fefe]:65535");
    assert_int_equal(a->endpoint[0].weight, 65535);
    assert_int_equal(a->endpoint[0].priority, 255);
    assert_null(a->endpoint[0].label);
    assert_null(a->endpoint[0].hash_key);
    free(a);
}

static void
of_more_than_1024_the_first_count(void **state)
{
    struct vc__dns_answer *a = malloc(sizeof *a);
    const struct vc__dns_place place = {"vc", 1, 1, 0};
    struct vc__dns_addr *many = calloc(2000, sizeof *many);

    (void)state;
    for (unsigned i = 0; i < 2000; i++)
        memcpy(many[i].ip, (uint8_t[]){10, 0, (uint8_t)(i >> 8), (uint8_t)i},
               4);
    a->n = 0;
    vc__dns_answer_add(a, &place, many, 1000);
    assert_int_equal(a->n, 1000);
    vc__dns_answer_add(a, &place, many + 1000, 1000);
    assert_int_equal(a->n, VC_ENDPOINTS_MAX);
    assert_string_equal(a->endpoint[1023].target, "vc://10.0.3.255:1");
    free(many);
    free(a);
}

static void
a_ttl_has_limits(void **state)
{
    (void)state;
    assert_int_equal(vc__dns_ttl(0), 1);
    assert_int_equal(vc__dns_ttl(1), 1);
    assert_int_equal(vc__dns_ttl(2), 2);
    assert_int_equal(vc__dns_ttl(3600), 3600);
    assert_int_equal(vc__dns_ttl(3601), 3600);
    assert_int_equal(vc__dns_ttl_least(10, 9), 9);
    assert_int_equal(vc__dns_ttl_least(9, 10), 9);
    assert_int_equal(vc__dns_ttl_least(9, UINT32_C(0x7fffffff)), 9);
    assert_int_equal(vc__dns_ttl_least(9, UINT32_C(0x80000000)), 0);
}

static void
a_weight_of_0_counts_as_1(void **state)
{
    (void)state;
    assert_int_equal(vc__dns_weight(0), 1);
    assert_int_equal(vc__dns_weight(1), 1);
    assert_int_equal(vc__dns_weight(65535), 65535);
}

/* --- SRV records ------------------------------------------------------- */

struct bytes {
    size_t n;
    uint8_t at[65536];
};

static void
put(struct bytes *b, const void *from, size_t n)
{
    memcpy(b->at + b->n, from, n);
    b->n += n;
}

static void
put_u16(struct bytes *b, unsigned v)
{
    put(b, (uint8_t[]){(uint8_t)(v >> 8), (uint8_t)v}, 2);
}

/* Labels, as "one.two"; "" is the root. */
static void
put_name(struct bytes *b, const char *name)
{
    while (*name != '\0') {
        size_t len = strcspn(name, ".");

        put(b, (uint8_t[]){(uint8_t)len}, 1);
        put(b, name, len);
        name += len + (name[len] == '.');
    }
    put(b, "", 1);
}

/* A header with one question. */
static void
begin(struct bytes *b, unsigned answers)
{
    b->n = 0;
    put(b, "\x12\x34\x81\x80\0\1", 6);
    put_u16(b, answers);
    put(b, "\0\0\0\0", 4);
    put_name(b, "_v._tcp.example");
    put_u16(b, 33);
    put_u16(b, 1);
}

/* A record up to its data, whose name is a pointer to that of the question. */
static void
put_head(struct bytes *b, unsigned type, uint32_t ttl, unsigned size)
{
    put_u16(b, 0xc00c);
    put_u16(b, type);
    put_u16(b, 1);
    put_u16(b, ttl >> 16);
    put_u16(b, ttl & 0xffff);
    put_u16(b, size);
}

static void
put_srv(struct bytes *b, unsigned priority, unsigned weight, unsigned port,
        const char *host)
{
    put_head(b, 33, 300, 6 + (unsigned)strlen(host) + (*host == '\0' ? 1 : 2));
    put_u16(b, priority);
    put_u16(b, weight);
    put_u16(b, port);
    put_name(b, host);
}

/* Parses a copy that ends where the message ends, so that ASan sees what reads
 * on. */
static int
parse(const struct bytes *b, size_t len, struct vc__dns_srvs *out)
{
    uint8_t *copy = malloc(len + 1);
    int rc;

    copy = realloc(copy, len == 0 ? 1 : len);
    memcpy(copy, b->at, len);
    rc = vc__dns_srv_parse(copy, len, out);
    free(copy);
    return rc;
}

static void
records_are_in_the_order_of_their_priorities(void **state)
{
    static const struct {
        uint16_t priority, weight, port;
        uint8_t rank;
        const char *name;
    } rows[] = {
        {5, 0, 2, 0, "b.example"},
        {5, 7, 4, 0, "d.example"},
        {20, 60, 1, 1, "a.example"},
        {65535, 1, 3, 2, "c.example"},
    };
    struct bytes *b = malloc(sizeof *b);
    struct vc__dns_srvs srvs;

    (void)state;
    begin(b, 4);
    put_srv(b, 20, 60, 1, "a.example");
    put_srv(b, 5, 0, 2, "b.example");
    put_srv(b, 65535, 1, 3, "c.example");
    put_srv(b, 5, 7, 4, "d.example");
    assert_int_equal(parse(b, b->n, &srvs), ARES_SUCCESS);
    assert_int_equal(srvs.n, 4);
    assert_int_equal(srvs.ttl, 300);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(srvs.record[i].priority, rows[i].priority);
        assert_int_equal(srvs.record[i].weight, rows[i].weight);
        assert_int_equal(srvs.record[i].port, rows[i].port);
        assert_int_equal(srvs.record[i].rank, rows[i].rank);
        assert_string_equal(srvs.record[i].name, rows[i].name);
    }
    vc__dns_srv_free(&srvs);
    free(b);
}

static void
the_least_ttl_counts_also_that_of_an_alias(void **state)
{
    struct bytes *b = malloc(sizeof *b);
    struct vc__dns_srvs srvs;

    (void)state;
    begin(b, 2);
    put_head(b, 5, 17, 2); /* CNAME */
    put_u16(b, 0xc00c);
    put_srv(b, 1, 1, 1, "a.example");
    assert_int_equal(parse(b, b->n, &srvs), ARES_SUCCESS);
    assert_int_equal(srvs.n, 1);
    assert_int_equal(srvs.ttl, 17);
    vc__dns_srv_free(&srvs);
    free(b);
}

/* A port of 0, "." as the host, and hosts that are no names. */
static void
records_of_no_use_do_not_count(void **state)
{
    struct bytes *b = malloc(sizeof *b);
    struct vc__dns_srvs srvs;

    (void)state;
    begin(b, 4);
    put_srv(b, 1, 1, 0, "a.example");
    put_srv(b, 2, 1, 1, "");
    put_srv(b, 3, 1, 1, "a b");
    put_srv(b, 4, 1, 1, "b.example");
    assert_int_equal(parse(b, b->n, &srvs), ARES_SUCCESS);
    assert_int_equal(srvs.n, 1);
    assert_string_equal(srvs.record[0].name, "b.example");
    assert_int_equal(srvs.record[0].rank, 0);
    vc__dns_srv_free(&srvs);

    begin(b, 1);
    put_srv(b, 2, 1, 1, "");
    assert_int_equal(parse(b, b->n, &srvs), ARES_ENODATA);
    begin(b, 0);
    assert_int_equal(parse(b, b->n, &srvs), ARES_ENODATA);
    free(b);
}

/* The last record has the lowest number of a priority, so it is kept. */
static void
of_more_than_1024_records_those_of_low_numbers_are_kept(void **state)
{
    struct bytes *b = malloc(sizeof *b);
    struct vc__dns_srvs srvs;

    (void)state;
    begin(b, 1500);
    for (unsigned i = 0; i < 1500; i++)
        put_srv(b, 2000 - i, 1, 1 + i, "a");
    assert_int_equal(parse(b, b->n, &srvs), ARES_SUCCESS);
    assert_int_equal(srvs.n, VC_ENDPOINTS_MAX);
    assert_int_equal(srvs.record[0].port, 1500);
    assert_int_equal(srvs.record[1].rank, 1);
    assert_int_equal(srvs.record[255].rank, 255);
    assert_int_equal(srvs.record[256].rank, 255);
    assert_int_equal(srvs.record[1023].rank, 255);
    assert_int_equal(srvs.record[1023].port, 1500 - 1023);
    vc__dns_srv_free(&srvs);
    free(b);
}

/* --- hostile answers --------------------------------------------------- */

static void
a_message_that_ends_early_is_malformed(void **state)
{
    struct bytes *b = malloc(sizeof *b);
    struct vc__dns_srvs srvs;

    (void)state;
    begin(b, 2);
    put_srv(b, 1, 1, 1, "a.example");
    put_srv(b, 1, 1, 1, "b.example");
    for (size_t len = 0; len < b->n; len++)
        if (parse(b, len, &srvs) != ARES_EBADRESP)
            fail_msg("%zu of %zu bytes are taken", len, b->n);
    free(b);
}

static void
counts_beyond_the_bytes_are_malformed(void **state)
{
    struct bytes *b = malloc(sizeof *b);
    struct vc__dns_srvs srvs;

    (void)state;
    begin(b, 65535);
    put_srv(b, 1, 1, 1, "a.example");
    assert_int_equal(parse(b, b->n, &srvs), ARES_EBADRESP);
    begin(b, 1);
    put_srv(b, 1, 1, 1, "a.example");
    memcpy(b->at + 4, "\xff\xff", 2); /* questions */
    assert_int_equal(parse(b, b->n, &srvs), ARES_EBADRESP);
    free(b);
}

/* Data of less than a name, a name that points to itself, one that points
 * beyond the message, and an unknown kind of label. */
static void
malformed_records_are_refused(void **state)
{
    static const struct {
        unsigned size;
        const char *name;
        size_t len;
    } rows[] = {
        {6, "", 0},         {5, "", 0},
        {6, "\1a", 3},      /* a name beyond the data */
        {8, "\xc0\x33", 2}, /* 51: where it is */
        {8, "\xff\xff", 2}, {8, "\x80\x01", 2},
        {8, "\x3f\x01", 2},
    };
    struct bytes *b = malloc(sizeof *b);
    struct vc__dns_srvs srvs;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(b, 1);
        put_head(b, 33, 300, rows[i].size);
        put(b, "\0\1\0\1\0\1", rows[i].size < 6 ? rows[i].size : 6);
        if (rows[i].len > 0 && rows[i].name[0] == '\xc0')
            assert_int_equal(b->n, 51);
        put(b, rows[i].name, rows[i].len);
        if (parse(b, b->n, &srvs) != ARES_EBADRESP)
            fail_msg("row %zu is taken", i);
    }
    free(b);
}

/* Any byte of a good message changed to any value. */
static void
changed_bytes_do_no_harm(void **state)
{
    struct bytes *b = malloc(sizeof *b);
    struct vc__dns_srvs srvs;

    (void)state;
    begin(b, 2);
    put_srv(b, 1, 1, 1, "a.example");
    put_srv(b, 2, 1, 1, "b.example");
    for (size_t i = 0; i < b->n; i++) {
        uint8_t was = b->at[i];

        for (unsigned v = 0; v < 256; v++) {
            b->at[i] = (uint8_t)v;
            if (parse(b, b->n, &srvs) == ARES_SUCCESS)
                assert_in_range(srvs.n, 1, 2);
            vc__dns_srv_free(&srvs);
        }
        b->at[i] = was;
    }
    free(b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_alternate_from_the_first_ones),
        cmocka_unit_test(a_server_has_what_its_place_says),
        cmocka_unit_test(of_more_than_1024_the_first_count),
        cmocka_unit_test(a_ttl_has_limits),
        cmocka_unit_test(a_weight_of_0_counts_as_1),
        cmocka_unit_test(records_are_in_the_order_of_their_priorities),
        cmocka_unit_test(the_least_ttl_counts_also_that_of_an_alias),
        cmocka_unit_test(records_of_no_use_do_not_count),
        cmocka_unit_test(
            of_more_than_1024_records_those_of_low_numbers_are_kept),
        cmocka_unit_test(a_message_that_ends_early_is_malformed),
        cmocka_unit_test(counts_beyond_the_bytes_are_malformed),
        cmocka_unit_test(malformed_records_are_refused),
        cmocka_unit_test(changed_bytes_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
