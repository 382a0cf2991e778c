/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which targets of the scheme dns: there are, and what is wrong with others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "modules/dns/dns_target.h"

#define LABEL63                                                                \
    "a23456789012345678901234567890123456789012345678901234567890123"
struct expected {
    const char *text;
    const char *server, *transport;
    const char *names; /* as written by target_text() */
};

static const struct expected good[] = {
    {"dns:svc.example:7471", "", "vc", "svc.example 7471"},
    {"dns:///svc.example:7471", "", "vc", "svc.example 7471"},
    {"dns:///svc.example.:1", "", "vc", "svc.example. 1"},
    {"dns:///Svc_1-x:65535", "", "vc", "Svc_1-x 65535"},
    {"dns://10.0.0.2/host:7471", "10.0.0.2:53", "vc", "host 7471"},
    {"dns://10.0.0.2:5353/host:7471", "10.0.0.2:5353", "vc", "host 7471"},
    {"dns://[fd09::2]/host:7471", "[fd09::2]:53", "vc", "host 7471"},
    {"dns://[::1]:5353/host:7471", "[::1]:5353", "vc", "host 7471"},
    {"dns:///_verbcall._tcp.example", "", "vc", "_verbcall._tcp.example srv"},
    {"dns:_verbcall._tcp.example", "", "vc", "_verbcall._tcp.example srv"},
    {"dns:///_x:7", "", "vc", "_x 7"}, /* with a port it is a host */
    {"dns:///a:1,b:2,_c,10.0.0.1:4", "", "vc", "a 1,b 2,_c srv,10.0.0.1 4"},
    {"dns:///[fd09::1]:7471", "", "vc", "fd09::1 7471"},
    {"dns:a:1?transport=rdma", "", "rdma", "a 1"},
    {"dns:a:1?transport=tcp", "", "tcp", "a 1"},
    {"dns://10.0.0.2/a:1,_b?transport=vc", "10.0.0.2:53", "vc", "a 1,_b srv"},
    {"dns:" LABEL63 ":1", "", "vc", LABEL63 " 1"},
};

/* Each row's text must be part of what is said. */
static const struct {
    const char *text, *why;
} bad[] = {
    {"vc://a:1", "does not begin with dns:"},
    {"dns:", "has an empty name"},
    {"dns:///", "has an empty name"},
    {"dns:///a:1,", "has an empty name"},
    {"dns:///,a:1", "has an empty name"},
    {"dns:///a", "\"a\" has no port"},
    {"dns:///a:", "\"\" is no port"},
    {"dns:///a:0", "\"0\" is no port"},
    {"dns:///a:65536", "\"65536\" is no port"},
    {"dns:///a:099999", "\"099999\" is no port"},
    {"dns:///a:007471", "\"007471\" is no port"},
    {"dns:///a:+1", "\"+1\" is no port"},
    {"dns:///a:7x", "\"7x\" is no port"},
    {"dns:///:1", "\"\" is no name"},
    {"dns:///a..b:1", "\"a..b\" is no name"},
    {"dns:///.a:1", "\".a\" is no name"},
    {"dns:///.:1", "\".\" is no name"},
    {"dns:///a b:1", "\"a b\" is no name"},
    {"dns:///a/b:1", "\"a/b\" is no name"},
    {"dns:/a:1", "\"/a\" is no name"},
    {"dns:///b\303\274cher:1", "is no name"},
    {"dns:///" LABEL63 "4:1", "is no name"},
    {"dns:///fd09::1:7471", "is written in brackets"},
    {"dns:///[fd09::1]", "has no port"},
    {"dns:///[fd09::1:7471", "is not HOST:PORT"},
    {"dns:///[fd09::1]7471", "is not HOST:PORT"},
    {"dns:///[fe80::1%eth0]:1", "\"fe80::1%eth0\" is no IPv6 address"},
    {"dns:///[10.0.0.1]:1", "is no IPv6 address"},
    {"dns:///[a]:1", "is no IPv6 address"},
    {"dns:///_a._tcp:", "\"\" is no port"},
    {"dns:///_a b", "is no name"},
    {"dns://10.0.0.2", "no further '/'"},
    {"dns://ns.example/a:1", "\"ns.example\" is no address of a DNS server"},
    {"dns://fd09::2/a:1", "is no address of a DNS server"},
    {"dns://10.0.0.2:53:53/a:1", "is no address of a DNS server"},
    {"dns://10.0.0.2:0/a:1", "\"0\" is no port of a DNS server"},
    {"dns://10.0.0.2:/a:1", "\"\" is no port of a DNS server"},
    {"dns://[fd09::2/a:1", "is no address of a DNS server"},
    {"dns://[10.0.0.2]/a:1", "is no address of a DNS server"},
    {"dns://10.0.0.2,10.0.0.3/a:1", "is no address of a DNS server"},
    {"dns:a:1?", "\"\" is unknown after '?'"},
    {"dns:a:1?x=1", "\"x=1\" is unknown after '?'"},
    {"dns:a:1?transport=", "its transport is \"\""},
    {"dns:a:1?transport=shm", "its transport is \"shm\""},
    {"dns:a:1?transport=vc&x", "\"x\" is unknown after '?'"},
    {"dns:a:1?transport=vc&transport=tcp", "has two transports"},
    {"dns:?transport=tcp", "has an empty name"},
};

static const char *
target_text(const struct vc__dns_target *t, char text[2048])
{
    int len = 0;

    for (unsigned i = 0; i < t->n; i++) {
        const struct vc__dns_name *n = &t->name[i];
        char port[8];

        snprintf(port, sizeof port, "%u", n->port);
        len += snprintf(text + len, (size_t)(2048 - len), "%s%s %s",
                        i == 0 ? "" : ",", n->host, n->is_srv ? "srv" : port);
    }
    return text;
}

static void
targets_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct vc__dns_target t;
        char why[VC__DNS_WHY] = "", text[2048];

        if (!vc__dns_target_parse(&t, good[i].text, why))
            fail_msg("%s: %s", good[i].text, why);
        assert_string_equal(t.server, good[i].server);
        assert_string_equal(t.transport, good[i].transport);
        assert_string_equal(target_text(&t, text), good[i].names);
    }
}

static void
malformed_ones_are_refused_with_what_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vc__dns_target t;
        char why[VC__DNS_WHY] = "";

        if (vc__dns_target_parse(&t, bad[i].text, why))
            fail_msg("%s is taken", bad[i].text);
        if (strstr(why, bad[i].why) == NULL)
            fail_msg("%s: says %s", bad[i].text, why);
    }
}

static void
no_text_is_no_target(void **state)
{
    struct vc__dns_target t;
    char why[VC__DNS_WHY] = "";

    (void)state;
    assert_false(vc__dns_target_parse(&t, NULL, why));
    assert_non_null(strstr(why, "does not begin with dns:"));
}

static void
there_are_sixteen_names_at_most(void **state)
{
    struct vc__dns_target t;
    char why[VC__DNS_WHY] = "", text[256] = "dns:";

    (void)state;
    for (unsigned i = 0; i < VC__DNS_NAMES_MAX; i++)
        strcat(text, i == 0 ? "a:1" : ",a:1");
    assert_true(vc__dns_target_parse(&t, text, why));
    assert_int_equal(t.n, VC__DNS_NAMES_MAX);
    strcat(text, ",a:1");
    assert_false(vc__dns_target_parse(&t, text, why));
    assert_non_null(strstr(why, "more than 16 names"));
}

/* Names of 253 bytes and 254 bytes, without the dot at the end. */
static void
a_name_has_253_bytes_at_most(void **state)
{
    char host[300];

    (void)state;
    snprintf(host, sizeof host, "%s.%s.%s.%.61s.", LABEL63, LABEL63, LABEL63,
             LABEL63);
    assert_int_equal(strlen(host), 254);
    assert_true(vc__dns_host_is_valid(host, 254));
    assert_true(vc__dns_host_is_valid(host, 253));
    host[253] = 'x';
    assert_false(vc__dns_host_is_valid(host, 254));
}

/* Every part of every target, and targets with a byte changed: the texts of
 * refusals are cut, and nothing is read beyond the end (with ASan). */
static void
parts_of_targets_do_no_harm(void **state)
{
    static const char bytes[] = "[]:/,?.\xff\x01=&";

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        size_t len = strlen(good[i].text);

        for (size_t j = 0; j <= len; j++) {
            char *text = malloc(len + 1), why[VC__DNS_WHY];
            struct vc__dns_target t;

            memcpy(text, good[i].text, len + 1);
            for (size_t b = 0; b < sizeof bytes && j < len; b++) {
                text[j] = bytes[b];
                vc__dns_target_parse(&t, text, why);
            }
            free(text);
        }
    }
}

static void
long_texts_are_cut(void **state)
{
    struct vc__dns_target t;
    char why[VC__DNS_WHY], text[5000];

    (void)state;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memcpy(text, "dns:", 4);
    memset(why, 'x', sizeof why);
    assert_false(vc__dns_target_parse(&t, text, why));
    assert_true(memchr(why, '\0', sizeof why) != NULL);
    assert_non_null(strstr(why, "has no port"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_are_read),
        cmocka_unit_test(malformed_ones_are_refused_with_what_is_wrong),
        cmocka_unit_test(no_text_is_no_target),
        cmocka_unit_test(there_are_sixteen_names_at_most),
        cmocka_unit_test(a_name_has_253_bytes_at_most),
        cmocka_unit_test(parts_of_targets_do_no_harm),
        cmocka_unit_test(long_texts_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
