/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Targets as programs write them, with one address or several. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cm/connect/addresses.h"
#include "cm/connect/cm.h"
#include "cm/connect/hello.h"
#include "cm/connect/target.h"
#include "transport/rdma/rdma.h"
#include "transport/ud/datagram.h"
#include "transport/ud/ud.h"

static void
host_and_port_are_found(void **state)
{
    struct vc__target t;

    (void)state;
    assert_int_equal(VC_OK, vc__target_parse(&t, "rdma://10.9.0.1:7471"));
    assert_string_equal("10.9.0.1", t.host);
    assert_string_equal("7471", t.port);
    assert_int_equal(VC_OK, vc__target_parse(&t, "rdma://a.example:1"));
    assert_string_equal("a.example", t.host);
}

static void
an_ipv6_address_stands_in_brackets(void **state)
{
    struct vc__target t;
    struct vc__addrs addrs;

    (void)state;
    assert_int_equal(VC_OK, vc__target_parse(&t, "rdma://[fd09::1]:65535"));
    assert_string_equal("fd09::1", t.host);
    assert_true(vc__target_numeric(&t, &addrs));
    assert_int_equal(1, addrs.n);
    assert_int_equal(AF_INET6, addrs.addr[0].ss_family);
}

static void
a_name_is_not_numeric(void **state)
{
    struct vc__target t;
    struct vc__addrs addrs;

    (void)state;
    assert_int_equal(VC_OK, vc__target_parse(&t, "rdma://localhost:1"));
    assert_false(vc__target_numeric(&t, &addrs));
}

static void
its_text_is_what_was_parsed(void **state)
{
    static const char *const texts[] = {
        "vc://10.9.0.1:7471",
        "rdma://a.example:1",
        "tcp://[fd09::1]:65535",
        "rdma+ib://10.9.0.1:1",
        "rdma+mc://239.1.2.3:7000",
        "tcp://127.0.0.1:80",
        "shm:greeter",
        "shm:///run/greeter",
        "inproc://greeter-1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[VC__TARGET_TEXT];
        struct vc__target t;

        assert_int_equal(VC_OK, vc__target_parse(&t, texts[i]));
        vc__target_text(&t, text);
        assert_string_equal(texts[i], text);
    }
}

static void
what_is_no_target_is_refused_with_the_form(void **state)
{
    static const char *const bad[] = {
        "",
        "10.9.0.1:7471",
        "udp://10.9.0.1:7471",
        "tcp://10.9.0.1",
        "rdma://",
        "rdma://:7471",
        "rdma://host",
        "rdma://host:",
        "rdma://host:x",
        "rdma://host:1x",
        "rdma://host:65536",
        "rdma://host:-1",
        "rdma://host:1:2",
        "rdma://[fd09::1",
        "rdma://[fd09::1]7",
        "rdma://[]:7",
        "rdma://fd09::1:7",
    };
    struct vc__target t;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(VC_INVALID_ARGUMENT, vc__target_parse(&t, bad[i]));
        assert_non_null(strstr(vc_error(), "rdma://HOST:PORT"));
    }
    assert_int_equal(VC_INVALID_ARGUMENT, vc__target_parse(&t, NULL));
}

static void
the_text_that_is_no_target_is_told(void **state)
{
    struct vc__target t;

    (void)state;
    vc__target_parse(&t, "udp://10.9.0.1:7471");
    assert_non_null(strstr(vc_error(), "\"udp://10.9.0.1:7471\""));
    vc__target_parse(&t, NULL);
    assert_non_null(strstr(vc_error(), "\"\""));
}

static void
a_host_that_is_too_long_is_refused(void **state)
{
    char text[400];
    struct vc__target t;

    (void)state;
    snprintf(text, sizeof text, "rdma://%0255d:1", 0);
    assert_int_equal(VC_OK, vc__target_parse(&t, text));
    snprintf(text, sizeof text, "rdma://%0256d:1", 0);
    assert_int_equal(VC_INVALID_ARGUMENT, vc__target_parse(&t, text));
}

static void
a_link_local_address_has_its_interface(void **state)
{
    const struct sockaddr_in6 *in6;
    struct vc__target t;
    struct vc__addrs addrs;

    (void)state;
    assert_int_equal(VC_OK, vc__target_parse(&t, "rdma://[fe80::1%1]:7471"));
    assert_string_equal("fe80::1%1", t.host);
    assert_true(vc__target_numeric(&t, &addrs));
    in6 = (const struct sockaddr_in6 *)&addrs.addr[0];
    assert_int_equal(1, in6->sin6_scope_id);
    assert_int_equal(7471, ntohs(in6->sin6_port));
}

static void
a_name_of_this_process_is_an_address_at_once(void **state)
{
    struct vc__addrs addrs;
    struct vc__target t;
    char text[VC__ADDR_TEXT];

    (void)state;
    assert_int_equal(VC_OK, vc__target_parse(&t, "inproc://one-2.x"));
    assert_string_equal("one-2.x", t.host);
    assert_string_equal("", t.port);
    assert_string_equal("inproc", t.transport->scheme);
    assert_true(vc__target_numeric(&t, &addrs));
    assert_int_equal(1, addrs.n);
    assert_string_equal("inproc://one-2.x",
                        vc__addr_text((struct sockaddr *)&addrs.addr[0], text));
}

/* The key alone is enough to find the name; another name has another key. */
static void
a_name_and_its_key_are_the_same_address(void **state)
{
    struct sockaddr_storage name, other, keyed;
    uint8_t key[VC__ADDR_KEY], its[VC__ADDR_KEY];
    char text[VC__ADDR_TEXT];

    (void)state;
    vc__addr_name(&name, "one");
    vc__addr_name(&other, "two");
    vc__addr_key(&name, key);
    memset(&keyed, 'x', sizeof keyed);
    vc__addr_of_key(&keyed, key);
    vc__addr_key(&keyed, its);
    assert_memory_equal(key, its, sizeof key);
    vc__addr_key(&other, its);
    assert_memory_not_equal(key, its, sizeof key);
    assert_string_equal("inproc://#1a08aa1921ca5caf",
                        vc__addr_text((struct sockaddr *)&keyed, text));
}

/* All transports with connections carry messages of these sizes. */
static void
each_transport_carries_a_hello_an_accept_and_a_reject(void **state)
{
    (void)state;
    assert_string_equal("rdma", vc__transports[0]->scheme);
    for (unsigned i = 0; vc__transports[i] != NULL; i++) {
        const struct vc__transport *t = vc__transports[i];

        assert_ptr_equal(t, vc__transport_find(t->scheme, strlen(t->scheme)));
        assert_null(vc__transport_find(t->scheme, strlen(t->scheme) - 1));
        if (t->groups)
            continue;
        assert_in_range(t->hello_max, VC__HELLO_SIZE, UINT16_MAX);
        assert_in_range(t->accept_max, VC__ACCEPT_LEAST, UINT16_MAX);
        assert_in_range(t->reject_max, VC__REJECT_LEAST, UINT16_MAX);
    }
#ifndef VC_WITHOUT_RDMA
    assert_int_equal(56, vc__rdma.hello_max);
    assert_int_equal(196, vc__rdma.accept_max);
    assert_int_equal(148, vc__rdma.reject_max);
    assert_int_equal(180, vc__rdma_ud.hello_max + VC__INTRO);
    assert_int_equal(136, vc__rdma_ud.accept_max + VC__INTRO);
    assert_int_equal(136, vc__rdma_ud.reject_max);
#endif
}

static enum vc_status
group_reaches(const char *text)
{
    struct vc__target t;
    struct vc__addrs addrs;

    assert_int_equal(VC_OK, vc__target_parse(&t, text));
    assert_true(vc__target_numeric(&t, &addrs));
    return vc__target_reaches(t.transport, &addrs.addr[0], "listen at");
}

static void
a_group_is_a_multicast_address_with_a_port(void **state)
{
    (void)state;
    assert_int_equal(VC_OK, group_reaches("rdma+mc://224.0.0.1:1"));
    assert_int_equal(VC_OK, group_reaches("rdma+mc://239.255.255.255:65535"));
    assert_int_equal(VC_OK, group_reaches("rdma+mc://[ff15::77]:7000"));
    assert_int_equal(VC_INVALID_ARGUMENT,
                     group_reaches("rdma+mc://239.1.2.3:0"));
    assert_int_equal(VC_INVALID_ARGUMENT,
                     group_reaches("rdma+mc://223.255.255.255:1"));
    assert_int_equal(VC_INVALID_ARGUMENT,
                     group_reaches("rdma+mc://240.0.0.0:1"));
    assert_int_equal(VC_INVALID_ARGUMENT,
                     group_reaches("rdma+mc://[fe80::1]:1"));
    assert_int_equal(VC_INVALID_ARGUMENT,
                     group_reaches("rdma+mc://127.0.0.1:1"));
}

static void
an_address_to_bind_to_is_a_number_without_a_port(void **state)
{
    static const char *const bad[] = {"", "localhost", "10.9.0.1:7",
                                      "[fd09::1]", "fd09::1::"};
    struct sockaddr_storage a;
    char text[400];

    (void)state;
    assert_int_equal(VC_OK, vc__address_parse(&a, "10.9.0.1"));
    assert_int_equal(AF_INET, a.ss_family);
    assert_int_equal(0, ((struct sockaddr_in *)&a)->sin_port);
    assert_int_equal(VC_OK, vc__address_parse(&a, "fe80::1%1"));
    assert_int_equal(AF_INET6, a.ss_family);
    assert_int_equal(1, ((struct sockaddr_in6 *)&a)->sin6_scope_id);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(VC_INVALID_ARGUMENT, vc__address_parse(&a, bad[i]));
    snprintf(text, sizeof text, "%0255d", 0); /* 0.0.0.0 */
    assert_int_equal(VC_OK, vc__address_parse(&a, text));
    snprintf(text, sizeof text, "%0256d", 0);
    assert_int_equal(VC_INVALID_ARGUMENT, vc__address_parse(&a, text));
}

/* --- several addresses ------------------------------------------------- */

#define MIX "rdma://10.9.0.1:7471|tcp://[fd09::1]:80|shm:greeter"

static void
several_addresses_are_one_server_of_any_transports(void **state)
{
    struct vc__target t[VC__ADDRESSES_MAX];
    char text[VC__TARGET_TEXT];
    unsigned n;

    (void)state;
    assert_int_equal(VC_OK, vc__addresses_parse(t, &n, MIX));
    assert_int_equal(3, n);
    assert_string_equal("rdma", t[0].transport->scheme);
    assert_string_equal("10.9.0.1", t[0].host);
    assert_string_equal("fd09::1", t[1].host);
    assert_string_equal("80", t[1].port);
    assert_string_equal("@greeter", t[2].host);
    vc__target_text(&t[0], text);
    assert_string_equal(MIX, text);
    vc__target_text(&t[1], text);
    assert_string_equal("tcp://[fd09::1]:80", text);
}

static void
one_address_is_a_target_as_ever(void **state)
{
    struct vc__target t[VC__ADDRESSES_MAX];
    unsigned n;

    (void)state;
    assert_int_equal(VC_OK, vc__addresses_parse(t, &n, "tcp://a:1"));
    assert_int_equal(1, n);
    assert_null(t[0].all);
    assert_int_equal(VC_INVALID_ARGUMENT, vc__addresses_parse(t, &n, NULL));
    assert_int_equal(VC_INVALID_ARGUMENT, vc__addresses_parse(t, &n, ""));
}

static void
a_bar_without_a_scheme_belongs_to_a_path(void **state)
{
    struct vc__target t[VC__ADDRESSES_MAX];
    char one[VC__ADDRESS_TEXT];
    unsigned n;

    (void)state;
    assert_int_equal(VC_OK, vc__addresses_parse(t, &n, "shm:///a|b|/c"));
    assert_int_equal(1, n);
    assert_string_equal("/a|b|/c", t[0].host);
    assert_int_equal(VC_OK, vc__addresses_parse(t, &n, "shm:///a|b|shm:d"));
    assert_int_equal(2, n);
    assert_string_equal("/a|b", t[0].host);
    assert_true(vc__addresses_get("shm:///a|b|shm:d", 1, one));
    assert_string_equal("shm:d", one);
    assert_false(vc__addresses_get("shm:///a|b|shm:d", 2, one));
}

static void
addresses_that_cannot_be_one_server_are_refused_with_the_reason(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"tcp://a:1|", "no port"},
        {"tcp://a:1|tcp://b", "no port"},
        {"tcp://a:1|udp://b:1", "unknown scheme"},
        {"tcp://a:1|list:tcp://b:1", "unknown scheme"},
        {"tcp://a:1|vc://a:1", "some of its addresses are of vc://"},
        {"vc://a:1|tcp://a:1", "some of its addresses are of vc://"},
        {"tcp://a:1|tcp://b:1|tcp://a:1", "address 3 is the same as address 1"},
        {"tcp://a:1|tcp://a:2|tcp://a:3|tcp://a:4|tcp://a:5|tcp://a:6|"
         "tcp://a:7|tcp://a:8|tcp://a:9",
         "at most 8 addresses"},
    };
    struct vc__target t[VC__ADDRESSES_MAX];
    char text[VC__ADDRESS_TEXT + 1];
    unsigned n;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(VC_INVALID_ARGUMENT,
                         vc__addresses_parse(t, &n, rows[i].text));
        if (strstr(vc_error(), rows[i].why) == NULL)
            fail_msg("%s: %s", rows[i].text, vc_error());
    }
    snprintf(text, sizeof text, "tcp://a:1|shm:///%0302d", 0);
    assert_int_equal(VC__ADDRESS_TEXT - 1, strlen(text));
    assert_int_equal(VC_INVALID_ARGUMENT, vc__addresses_parse(t, &n, text));
    assert_non_null(strstr(vc_error(), "a path has 2 to 97 bytes"));
    snprintf(text, sizeof text, "tcp://a:1|shm:///%0303d", 0);
    assert_int_equal(VC_INVALID_ARGUMENT, vc__addresses_parse(t, &n, text));
    assert_non_null(strstr(vc_error(), "longer than 319 bytes in all"));
}

/* Orders addresses that are written as their families, '4' or '6', and a letter
 * each: those with a capital letter are of another transport. */
static void
interleaved_is(const char *before, const char *after)
{
    struct vc__place places[VC__ADDRESSES_MAX];
    char text[2 * VC__ADDRESSES_MAX + 1];
    unsigned n = (unsigned)strlen(before) / 2;

    memset(places, 0, sizeof places);
    for (unsigned i = 0; i < n; i++) {
        const char *one = before + (size_t)2 * i;

        places[i].transport = one[1] < 'a' ? vc__transports[0] : NULL;
        places[i].addr.ss_family = one[0] == '4' ? AF_INET : AF_INET6;
        memcpy((char *)&places[i].addr + 8, one, 2);
    }
    vc__addresses_interleave(places, n);
    for (unsigned i = 0; i < n; i++)
        memcpy(text + (size_t)2 * i, (char *)&places[i].addr + 8, 2);
    text[2 * n] = '\0';
    assert_string_equal(after, text);
}

/* A61, "Interleaving IPv4 and IPv6 Addresses", and RFC 8305, section 4. */
static void
families_take_turns_beginning_with_that_of_the_first_address(void **state)
{
    (void)state;
    interleaved_is("", "");
    interleaved_is("4a", "4a");
    interleaved_is("4a4b4c", "4a4b4c");
    interleaved_is("4a4b6c6d", "4a6c4b6d");
    interleaved_is("6a6b6c4d", "6a4d6b6c");
    interleaved_is("4a6b4c6d", "4a6b4c6d");
    interleaved_is("4a4b4c6d6e6f6g6h", "4a6d4b6e4c6f6g6h");
}

static void
families_take_turns_within_a_transport_only(void **state)
{
    (void)state;
    interleaved_is("4A4B6c", "4A4B6c");
    interleaved_is("4A4B6C4d4e6f", "4A6C4B4d6f4e");
    interleaved_is("4A4b6C", "4A4b6C");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_and_port_are_found),
        cmocka_unit_test(an_ipv6_address_stands_in_brackets),
        cmocka_unit_test(a_name_is_not_numeric),
        cmocka_unit_test(a_link_local_address_has_its_interface),
        cmocka_unit_test(a_name_of_this_process_is_an_address_at_once),
        cmocka_unit_test(a_name_and_its_key_are_the_same_address),
        cmocka_unit_test(a_group_is_a_multicast_address_with_a_port),
        cmocka_unit_test(each_transport_carries_a_hello_an_accept_and_a_reject),
        cmocka_unit_test(an_address_to_bind_to_is_a_number_without_a_port),
        cmocka_unit_test(what_is_no_target_is_refused_with_the_form),
        cmocka_unit_test(the_text_that_is_no_target_is_told),
        cmocka_unit_test(a_host_that_is_too_long_is_refused),
        cmocka_unit_test(its_text_is_what_was_parsed),
        cmocka_unit_test(several_addresses_are_one_server_of_any_transports),
        cmocka_unit_test(one_address_is_a_target_as_ever),
        cmocka_unit_test(a_bar_without_a_scheme_belongs_to_a_path),
        cmocka_unit_test(
            addresses_that_cannot_be_one_server_are_refused_with_the_reason),
        cmocka_unit_test(
            families_take_turns_beginning_with_that_of_the_first_address),
        cmocka_unit_test(families_take_turns_within_a_transport_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
