/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The module for dns: targets against dnsmasq, which the test starts on a
 * loopback port of its own. Without dnsmasq all is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/dns_masq.h"
#include "tests/unit/dns_rig.h"

#define SECOND_MS 250u

static const char *const records[MASQ_OPTIONS] = {
    "--srv-host=_v._tcp.example,a.example,7471,20,3",
    "--srv-host=_v._tcp.example,b.example,7472,10,0",
    "--srv-host=_v._tcp.example,c.example,7473,10,50",
    "--cname=alias.example,a.example", NULL};

static struct vc_resolver rig;
static struct dns_fake place; /* only its port */

static int
set_up(void **state)
{
    (void)state;
    vc__dns_setting = (struct vc__dns_setting){SECOND_MS, "/nonexistent", 0};
    /* A free port, of UDP and TCP. */
    dns_fake_open(&place);
    dns_fake_close(&place);
    masq_start(place.port,
               "10.0.0.1 a.example\n10.0.0.2 b.example\n"
               "10.0.0.3 c.example\n",
               records);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    masq_stop();
    return 0;
}

/* Opens a target whose server is dnsmasq. */
static void
masq_open(const char *format)
{
    rig_open(&rig, &place, format);
    rig.fake[0] = NULL;
}

/* --- tests -------------------------------------------------------------- */

static void
hosts_of_both_families_are_servers(void **state)
{
    (void)state;
    masq_change("127.0.0.1 a.example\n::1 a.example\n");
    masq_open("dns://127.0.0.1:%u/a.example:7471");
    rig_servers(&rig);
    assert_int_equal(rig.n, 2);
    for (size_t i = 0; i < 2; i++)
        assert_true(strcmp(rig.server[i].target, "vc://[::1]:7471") == 0 ||
                    strcmp(rig.server[i].target, "vc://127.0.0.1:7471") == 0);
    assert_string_not_equal(rig.server[0].target, rig.server[1].target);
    rig_close(&rig);
}

/* Within the TTL and a second, as the module asks at once when it is over. */
static void
a_change_is_seen_within_the_ttl(void **state)
{
    (void)state;
    masq_open("dns://127.0.0.1:%u/a.example:1,alias.example:2");
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.1:1 vc://10.0.0.1:2");
    assert_in_range(rig.timer_ms, SECOND_MS / 2, SECOND_MS);
    masq_change("10.0.0.9 a.example\n");
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.9:1 vc://10.0.0.9:2");
    rig_close(&rig);
}

static void
srv_records_are_servers_with_weights_and_priorities(void **state)
{
    (void)state;
    masq_open("dns://127.0.0.1:%u/_v._tcp.example?transport=rdma");
    rig_servers(&rig);
    assert_int_equal(rig.n, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct rig_server *s = &rig.server[i];
        bool is_a = strcmp(s->target, "rdma://10.0.0.1:7471") == 0;
        bool is_b = strcmp(s->target, "rdma://10.0.0.2:7472") == 0;

        assert_true(is_a || is_b ||
                    strcmp(s->target, "rdma://10.0.0.3:7473") == 0);
        assert_int_equal(s->priority, is_a ? 1 : 0);
        assert_int_equal(s->weight, is_a ? 3 : is_b ? 1 : 50);
    }
    rig_close(&rig);
}

static void
names_that_are_not_there_are_reported(void **state)
{
    (void)state;
    masq_open("dns://127.0.0.1:%u/none.example:1");
    assert_non_null(strstr(rig_failure(&rig), "NXDOMAIN"));
    rig_close(&rig);
    masq_open("dns://127.0.0.1:%u/_none._tcp.example");
    assert_non_null(strstr(rig_failure(&rig), "NXDOMAIN"));
    rig_close(&rig);
    masq_open("dns://127.0.0.1:%u/name.elsewhere:1"); /* no server for it */
    assert_non_null(strstr(rig_failure(&rig), "REFUSED"));
    rig_close(&rig);
    masq_open("dns://127.0.0.1:%u/a.example:1,none.example:1,b.example:2");
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.1:1 vc://10.0.0.2:2");
    assert_non_null(strstr(rig.why, "\"none.example\""));
    rig_close(&rig);
}

/* Too many for a datagram, and for its answer by TCP. */
static void
a_thousand_addresses_are_servers(void **state)
{
    static char text[65536];
    size_t len = 0;

    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "10.0.%u.%u a.example\n", i / 250, i % 250);
    vc__dns_setting.second_ms = 1000;
    masq_change(text);
    masq_open("dns://127.0.0.1:%u/a.example:1");
    rig_servers(&rig);
    assert_int_equal(rig.n, 1000);
    assert_int_equal(rig.fails, 0);
    rig_close(&rig);
}

static void
a_server_that_stops_and_comes_back_is_asked_again(void **state)
{
    (void)state;
    masq_open("dns://127.0.0.1:%u/a.example:1");
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.1:1");
    masq_stop();
    assert_non_null(strstr(rig_failure(&rig), "no DNS server can be reached"));
    masq_start(place.port, "10.0.0.8 a.example\n", records);
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.8:1");
    rig_close(&rig);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(hosts_of_both_families_are_servers),
        TEST(a_change_is_seen_within_the_ttl),
        TEST(srv_records_are_servers_with_weights_and_priorities),
        TEST(names_that_are_not_there_are_reported),
        TEST(a_thousand_addresses_are_servers),
        TEST(a_server_that_stops_and_comes_back_is_asked_again),
    };
    int failed;

    if (!masq_begin())
        return 0;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    masq_end();
    return failed;
}
