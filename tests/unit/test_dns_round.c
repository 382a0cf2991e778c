/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The module for dns: targets against a server within the test: what it asks
 * and when, and what becomes of the answers. A second of the module is shorter
 * here. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/dns_rig.h"

#define SECOND_MS 40u
#define A         FAKE_A
#define AAAA      FAKE_AAAA
#define SRV       FAKE_SRV
#define CNAME     FAKE_CNAME
/* A name's target, and an SRV name's, of the server in the test. */
#define HOST  "dns://127.0.0.1:%u/a.example:7471"
#define SRVS  "dns://127.0.0.1:%u/_v._tcp.example"
#define SRV_1 "_v._tcp.example"

static struct vc_resolver rig;
static struct dns_fake fake;
static char conf[64]; /* a resolv.conf */

static const struct dns_record one[] = {{"a.example", A, 300, "10.0.0.1"}};
static const struct dns_record two[] = {{"a.example", A, 300, "10.0.0.2"}};

#define RECORDS(table) records_set(table, sizeof table / sizeof table[0])
static void
records_set(const struct dns_record *records, size_t n)
{
    fake.records = records;
    fake.n_records = n;
}

static int
set_up(void **state)
{
    (void)state;
    vc__dns_setting = (struct vc__dns_setting){SECOND_MS, "/nonexistent", 0};
    dns_fake_open(&fake);
    RECORDS(one);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    dns_fake_close(&fake);
    unlink(conf);
    return 0;
}

/* --- answers become servers -------------------------------------------- */

static void
both_families_are_merged_and_alternate(void **state)
{
    static const struct dns_record records[] = {
        {"a.example", A, 300, "127.0.0.1"},
        {"a.example", A, 300, "127.0.0.2"},
        {"a.example", AAAA, 300, "::1"},
    };
    const char *servers;

    (void)state;
    RECORDS(records);
    rig_open(&rig, &fake, HOST);
    servers = rig_servers(&rig);
    assert_int_equal(rig.n, 3);
    assert_non_null(strstr(servers, "vc://127.0.0.1:7471"));
    assert_non_null(strstr(servers, "vc://127.0.0.2:7471"));
    assert_non_null(strstr(servers, "vc://[::1]:7471"));
    /* c-ares says which family is first: the third is IPv4 in any case. */
    assert_null(strstr(rig.server[2].target, "::1"));
    assert_int_equal(rig.server[0].weight, 1);
    assert_int_equal(rig.server[0].priority, 0);
    assert_int_equal(rig.fails, 0);
    rig_close(&rig);
}

static void
several_names_are_one_list_in_their_order(void **state)
{
    static const struct dns_record records[] = {
        {"b.example", A, 300, "10.0.0.2"},
        {"a.example", A, 300, "10.0.0.1"},
        {SRV_1, SRV, 300, "1 5 9 a.example"},
    };

    (void)state;
    RECORDS(records);
    rig_open(&rig, &fake,
             "dns://127.0.0.1:%u/b.example:1,_v._tcp.example,a.example:2,"
             "A.example:3,[fd09::1]:4?transport=rdma");
    assert_string_equal(rig_servers(&rig),
                        "rdma://10.0.0.2:1 rdma://10.0.0.1:9 "
                        "rdma://10.0.0.1:2 rdma://10.0.0.1:3 "
                        "rdma://[fd09::1]:4");
    /* SRV once; A and AAAA of a, of the SRV record's a, and of b. */
    assert_int_equal(fake.asked, 7);
    rig_close(&rig);
}

static void
srv_records_have_priorities_weights_and_ports(void **state)
{
    static const struct dns_record records[] = {
        {SRV_1, SRV, 300, "20 0 1 a.example"},
        {SRV_1, SRV, 300, "10 70 2 b.example"},
        {SRV_1, SRV, 300, "10 30 3 a.example"},
        {SRV_1, SRV, 300, "30 65535 4 b.example"},
        {"a.example", A, 300, "10.0.0.1"},
        {"b.example", A, 300, "10.0.0.2"},
    };
    static const uint32_t weights[] = {70, 30, 1, 65535};
    static const uint32_t priorities[] = {0, 0, 1, 2};

    (void)state;
    RECORDS(records);
    rig_open(&rig, &fake, SRVS "?transport=tcp");
    assert_string_equal(rig_servers(&rig), "tcp://10.0.0.2:2 tcp://10.0.0.1:3 "
                                           "tcp://10.0.0.1:1 tcp://10.0.0.2:4");
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(rig.server[i].weight, weights[i]);
        assert_int_equal(rig.server[i].priority, priorities[i]);
    }
    assert_int_equal(fake.asked, 5); /* each host once */
    rig_close(&rig);
}

/* By TCP, as no datagram has so many. */
static void
of_1500_addresses_1024_are_servers(void **state)
{
    static struct dns_record records[1500];
    static char ips[1500][16];

    (void)state;
    for (unsigned i = 0; i < 1500; i++) {
        snprintf(ips[i], sizeof ips[i], "10.0.%u.%u", i / 250, i % 250);
        records[i] = (struct dns_record){"a.example", A, 300, ips[i]};
    }
    vc__dns_setting.second_ms = 1000;
    RECORDS(records);
    rig_open(&rig, &fake, HOST);
    rig_servers(&rig);
    assert_int_equal(rig.n, VC_ENDPOINTS_MAX);
    assert_int_equal(rig.fails, 0);
    rig_close(&rig);
}

static void
three_hundred_hosts_of_srv_records_are_asked(void **state)
{
    static struct dns_record records[600];
    static char data[300][32], hosts[300][16];

    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        snprintf(hosts[i], sizeof hosts[i], "h%u.example", i);
        snprintf(data[i], sizeof data[i], "1 1 %u %s", i + 1, hosts[i]);
        records[i] = (struct dns_record){SRV_1, SRV, 300, data[i]};
        records[300 + i] = (struct dns_record){hosts[i], A, 300, "10.0.0.1"};
    }
    vc__dns_setting.second_ms = 1000;
    RECORDS(records);
    rig_open(&rig, &fake, SRVS);
    rig_servers(&rig);
    assert_int_equal(rig.n, 300);
    assert_string_equal(rig.server[299].target, "vc://10.0.0.1:300");
    assert_int_equal(fake.burst, 64); /* A and AAAA of 32 hosts */
    rig_close(&rig);
}

static void
addresses_and_localhost_need_no_server(void **state)
{
    (void)state;
    rig_open(&rig, &fake, "dns://127.0.0.1:%u/10.0.0.9:1,[fd09::1]:2");
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.9:1 vc://[fd09::1]:2");
    assert_in_range(rig.timer_ms, 3599 * SECOND_MS, 3600 * SECOND_MS);
    rig_close(&rig);
    rig_open(&rig, &fake, "dns://127.0.0.1:%u/localhost:1");
    assert_non_null(strstr(rig_servers(&rig), "vc://127.0.0.1:1"));
    assert_in_range(rig.timer_ms, 9 * SECOND_MS, 10 * SECOND_MS);
    assert_int_equal(fake.asked, 0);
    rig_close(&rig);
}

static void
a_malformed_target_is_refused_with_what_is_wrong(void **state)
{
    (void)state;
    assert_int_equal(rig_try(&rig, &fake, "dns:///a.example"),
                     VC_INVALID_ARGUMENT);
    assert_non_null(strstr(rig.why, "\"a.example\" has no port"));
    assert_null(rig.fire);
}

/* --- when it asks ------------------------------------------------------- */

static void
the_least_ttl_says_when_it_asks_again(void **state)
{
    static const struct {
        const char *host;
        uint32_t ttl, seconds;
    } rows[] = {
        {"10.0.0.1", 90, 90},
        {"10.0.0.1", 0, 1},
        {"10.0.0.1", 4000, 3600},
        {"10.0.0.1", UINT32_C(0x80000005), 1},
    };
    struct dns_record r[3] = {{"a.example", A, 0, "10.0.0.1"},
                              {"a.example", A, 2000000, "10.0.0.2"},
                              {"a.example", AAAA, 2000000, "fd09::1"}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        r[0].ttl = rows[i].ttl;
        RECORDS(r);
        rig_open(&rig, &fake, HOST);
        rig_servers(&rig);
        assert_in_range(rig.timer_ms, rows[i].seconds * SECOND_MS - 20,
                        rows[i].seconds * SECOND_MS);
        rig_close(&rig);
    }
}

static void
the_ttl_of_an_alias_counts(void **state)
{
    static const struct dns_record records[] = {
        {"a.example", CNAME, 50, "b.example"},
        {"b.example", A, 300, "10.0.0.1"},
    };

    (void)state;
    RECORDS(records);
    rig_open(&rig, &fake, HOST);
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.1:7471");
    assert_in_range(rig.timer_ms, 49 * SECOND_MS, 50 * SECOND_MS);
    rig_close(&rig);
}

static void
the_ttl_of_srv_records_counts(void **state)
{
    static const struct dns_record records[] = {
        {SRV_1, SRV, 50, "1 1 1 a.example"},
        {"a.example", A, 300, "10.0.0.1"},
    };

    (void)state;
    RECORDS(records);
    rig_open(&rig, &fake, SRVS);
    rig_servers(&rig);
    assert_in_range(rig.timer_ms, 49 * SECOND_MS, 50 * SECOND_MS);
    rig_close(&rig);
}

static void
a_change_is_seen_when_the_ttl_has_passed(void **state)
{
    static const struct dns_record before[] = {{"a.example", A, 1, "10.0.0.1"}};

    (void)state;
    RECORDS(before);
    rig_open(&rig, &fake, HOST);
    rig_servers(&rig);
    RECORDS(two);
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.2:7471");
    rig_close(&rig);
}

static void
again_asks_at_once_but_once_a_second(void **state)
{
    unsigned asked;

    (void)state;
    rig_open(&rig, &fake, HOST);
    rig_servers(&rig);
    asked = fake.asked;
    for (int i = 0; i < 10; i++)
        vc_resolver_module.again(rig.state);
    assert_in_range(rig.timer_ms, 1, SECOND_MS);
    assert_int_equal(fake.asked, asked);
    RECORDS(two);
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.2:7471");

    rig_run(&rig, SECOND_MS + 1);
    asked = rig.sets;
    RECORDS(one);
    vc_resolver_module.again(rig.state);
    vc_resolver_module.again(rig.state); /* a round is under way */
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.1:7471");
    assert_int_equal(rig.sets, asked + 1);
    rig_close(&rig);
}

/* The module's seconds become so short that one has passed. */
static void
again_does_nothing_while_it_asks(void **state)
{
    (void)state;
    vc__dns_setting.second_ms = 10000;
    fake.manner = FAKE_SILENT;
    rig_open(&rig, &fake, HOST);
    while (fake.asked < 2)
        rig_turn(&rig);
    vc__dns_setting.second_ms = 0;
    vc_resolver_module.again(rig.state);
    dns_fake_serve(&fake);
    assert_int_equal(fake.asked, 2);
    assert_int_equal(rig.fails, 0);
    rig_close(&rig);
}

/* --- failures ----------------------------------------------------------- */

static void
failures_say_what_was_asked_and_what_is_wrong(void **state)
{
    static const struct {
        const char *target;
        enum dns_manner manner;
        const char *what, *reason;
    } rows[] = {
        {"dns://127.0.0.1:%u/b.example:1", FAKE_HONEST,
         "A, AAAA of \"b.example\"", "there is no such name (NXDOMAIN)"},
        {"dns://127.0.0.1:%u/_v._tcp.example:1", FAKE_HONEST,
         "A, AAAA of \"_v._tcp.example\"", "no such records"},
        {"dns://127.0.0.1:%u/_w", FAKE_HONEST, "SRV of \"_w\"", "NXDOMAIN"},
        {"dns://127.0.0.1:%u/_.example", FAKE_HONEST, "SRV of \"_.example\"",
         "no such records"},
        {SRVS, FAKE_HONEST, "A, AAAA of \"none.example\"", "NXDOMAIN"},
        {HOST, FAKE_SERVFAIL, "A, AAAA of \"a.example\"", "SERVFAIL"},
        {SRVS, FAKE_SERVFAIL, "SRV of \"_v._tcp.example\"", "SERVFAIL"},
        {HOST, FAKE_REFUSED, "A, AAAA of \"a.example\"", "REFUSED"},
        {HOST, FAKE_SILENT, "A, AAAA of \"a.example\"", "no answer in time"},
        {SRVS, FAKE_SILENT, "SRV of \"_v._tcp.example\"", "no answer in time"},
    };
    static const struct dns_record records[] = {
        {SRV_1, SRV, 300, "1 1 1 none.example"},
        {"_.example", A, 300, "10.0.0.1"},
        {"a.example", A, 300, "10.0.0.1"},
    };
    char server[64];

    (void)state;
    RECORDS(records);
    snprintf(server, sizeof server, "asked of 127.0.0.1:%u: ", fake.port);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *why;

        fake.manner = rows[i].manner;
        rig_open(&rig, &fake, rows[i].target);
        why = rig_failure(&rig);
        if (strstr(why, rows[i].what) == NULL || strstr(why, server) == NULL ||
            strstr(why, rows[i].reason) == NULL)
            fail_msg("row %zu: %s", i, why);
        assert_int_equal(rig.sets, 0);
        rig_close(&rig);
    }
}

/* The timers are those of the module's seconds: 2 ms. */
static void
after_failures_it_asks_after_1_2_4_to_60_seconds(void **state)
{
    static const uint32_t seconds[] = {1, 2, 4, 8, 16, 32, 60, 60};

    (void)state;
    vc__dns_setting.second_ms = 2;
    fake.manner = FAKE_REFUSED;
    rig_open(&rig, &fake, HOST);
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        rig_failure(&rig);
        assert_in_range(rig.timer_ms, seconds[i] * 2 - 2, seconds[i] * 2);
    }
    vc__dns_setting.second_ms = SECOND_MS;
    fake.manner = FAKE_HONEST;
    rig_servers(&rig);
    fake.manner = FAKE_REFUSED;
    rig_run(&rig, SECOND_MS + 1);
    vc_resolver_module.again(rig.state);
    rig_failure(&rig);
    assert_in_range(rig.timer_ms, 1, SECOND_MS); /* from the first on */
    rig_close(&rig);
}

/* Neither the SRV records, which take 4.5 seconds, nor then the hosts of the
 * records of before are answered: the hosts are not asked a second time. */
static void
a_round_takes_five_seconds_at_most(void **state)
{
    static const struct dns_record records[] = {
        {SRV_1, SRV, 1, "1 1 1 a.example"},
        {"a.example", A, 1, "10.0.0.1"},
    };

    (void)state;
    RECORDS(records);
    rig_open(&rig, &fake, SRVS);
    rig_servers(&rig);
    fake.manner = FAKE_SILENT;
    fake.asked = rig.turns = 0;
    assert_non_null(strstr(rig_failure(&rig), "no answer in time"));
    assert_in_range(fake.asked, 2, 4); /* SRV twice, A and AAAA */
    assert_in_range(rig.turns, 1, 15); /* the loop sleeps */
    rig_close(&rig);
}

/* Of the two names one fails: its servers stay, and it is reported. */
static void
a_name_that_fails_keeps_its_servers(void **state)
{
    static const struct dns_record before[] = {
        {"a.example", A, 1, "10.0.0.1"},
        {SRV_1, SRV, 1, "1 1 1 b.example"},
        {"b.example", A, 1, "10.0.0.2"},
    };
    static const struct dns_record after[] = {
        {"a.example", A, 300, "10.0.0.3"},
        {SRV_1, SRV, 300, "1 1 2 b.example"},
        {"b.example", A, 300, "10.0.0.4"},
    };

    (void)state;
    RECORDS(before);
    rig_open(&rig, &fake, "dns://127.0.0.1:%u/a.example:7,_v._tcp.example");
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.1:7 vc://10.0.0.2:1");
    RECORDS(after);
    fake.manner = FAKE_SERVFAIL;
    fake.manner_type = SRV;
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.3:7 vc://10.0.0.4:1");
    assert_non_null(strstr(rig.why, "SRV of \"_v._tcp.example\""));
    assert_in_range(rig.timer_ms, 1, SECOND_MS);

    fake.manner_type = A; /* AAAA says that there are none */
    rig_failure(&rig);
    assert_string_equal(rig.server[0].target, "vc://10.0.0.3:7");
    assert_string_equal(rig.server[1].target, "vc://10.0.0.4:2");
    fake.manner = FAKE_HONEST;
    rig_expect(&rig, "vc://10.0.0.3:7 vc://10.0.0.4:2");
    rig_close(&rig);
}

static void
a_name_that_does_not_exist_any_more_loses_its_servers(void **state)
{
    static const struct dns_record before[] = {
        {"a.example", A, 1, "10.0.0.1"},
        {"b.example", A, 1, "10.0.0.2"},
    };

    (void)state;
    RECORDS(before);
    rig_open(&rig, &fake, "dns://127.0.0.1:%u/a.example:7,b.example:7");
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.1:7 vc://10.0.0.2:7");
    records_set(before, 1);
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.1:7");
    assert_non_null(strstr(rig.why, "A, AAAA of \"b.example\""));
    for (unsigned i = 0; i < 4; i++) {
        assert_string_equal(rig_servers(&rig), "vc://10.0.0.1:7");
        assert_in_range(rig.timer_ms, 0, SECOND_MS); /* the TTL of a.example */
    }
    RECORDS(before);
    rig_expect(&rig, "vc://10.0.0.1:7 vc://10.0.0.2:7");
    rig_close(&rig);
}

/* Without an answer vc_resolver_set() is not called. */
static void
no_answer_leaves_the_servers_as_they_are(void **state)
{
    static const struct dns_record before[] = {{"a.example", A, 1, "10.0.0.1"}};

    (void)state;
    RECORDS(before);
    rig_open(&rig, &fake, HOST);
    rig_servers(&rig);
    fake.manner = FAKE_SERVFAIL;
    rig_failure(&rig);
    fake.manner = FAKE_HONEST;
    records_set(NULL, 0);
    rig_failure(&rig);
    assert_int_equal(rig.sets, 1);
    rig_close(&rig);
}

static void
servers_that_the_channel_does_not_take_are_reported(void **state)
{
    (void)state;
    rig_open(&rig, &fake, HOST);
    rig.set_fails = VC_RESOURCE_EXHAUSTED;
    assert_non_null(strstr(rig_failure(&rig), "no memory for the servers"));
    rig.set_fails = VC_INVALID_ARGUMENT;
    assert_non_null(strstr(rig_failure(&rig), "does not take the servers"));
    rig.set_fails = VC_OK;
    rig_expect(&rig, "vc://10.0.0.1:7471");
    rig_close(&rig);
}

static void
a_socket_that_cannot_be_watched_is_reported(void **state)
{
    uint64_t begin = rig_now();

    (void)state;
    vc__dns_setting.second_ms = 200;
    rig_open(&rig, &fake, HOST);
    rig.refuses_watches = true;
    assert_non_null(strstr(rig_failure(&rig), "cannot be watched"));
    assert_in_range(rig_now() - begin, 0, 400); /* not at the round's end */
    rig.refuses_watches = false;
    rig_expect(&rig, "vc://10.0.0.1:7471");
    rig_close(&rig);
}

/* --- resolv.conf -------------------------------------------------------- */

static void
conf_write(const char *text)
{
    char name[80];
    int fd;

    snprintf(name, sizeof name, "%s.new", conf);
    fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    assert_return_code(rename(name, conf), 0);
    vc__dns_setting.resolv_conf = conf;
    vc__dns_setting.port = (uint16_t)fake.port;
}

static void
conf_make(const char *text)
{
    strcpy(conf, "/tmp/verbcall-resolv-XXXXXX");
    close(mkstemp(conf));
    conf_write(text);
}

static void
names_are_searched_as_resolv_conf_says(void **state)
{
    static const struct dns_record records[] = {
        {"a.two.example", A, 300, "10.0.0.1"},
        {SRV_1 ".two.example", SRV, 300, "1 1 1 x.y"},
        {"x.y", A, 300, "10.0.0.2"},
        {"x.y.two.example", A, 300, "10.0.0.3"},
    };

    (void)state;
    RECORDS(records);
    conf_make("nameserver 127.0.0.1\nsearch one.example two.example\n"
              "options ndots:3\n");
    rig_open(&rig, &fake, "dns:a:1");
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.1:1");
    rig_close(&rig);
    rig_open(&rig, &fake, "dns:///_v._tcp.example");
    /* The host of an SRV record is not searched. */
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.2:1");
    rig_close(&rig);
    rig_open(&rig, &fake, "dns:x.y:1");
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.3:1");
    rig_close(&rig);
    rig_open(&rig, &fake, "dns:x.y.:1");
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.2:1");
    rig_close(&rig);
}

static void
a_new_resolv_conf_is_read(void **state)
{
    static const struct dns_record brief[] = {{"a.example", A, 1, "10.0.0.1"}};
    struct dns_fake other;

    (void)state;
    RECORDS(brief);
    dns_fake_open_at(&other, "127.0.0.2", fake.port);
    other.records = two;
    other.n_records = 1;
    conf_make("nameserver 127.0.0.1\n");
    rig_open(&rig, &fake, "dns:a.example:1");
    rig.fake[1] = &other;
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.1:1");
    conf_write("nameserver 127.0.0.2\n");
    assert_string_equal(rig_servers(&rig), "vc://10.0.0.2:1");
    assert_int_equal(rig.fails, 0);
    rig_close(&rig);
    dns_fake_close(&other);
}

/* The first one fails, refuses or is silent. */
static void
another_server_is_asked_if_one_fails(void **state)
{
    static const enum dns_manner manners[] = {FAKE_SERVFAIL, FAKE_REFUSED,
                                              FAKE_SILENT};
    struct dns_fake other;

    (void)state;
    dns_fake_open_at(&other, "127.0.0.2", fake.port);
    other.records = two;
    other.n_records = 1;
    conf_make("nameserver 127.0.0.1\nnameserver 127.0.0.2\n");
    for (size_t i = 0; i < 3; i++) {
        fake.manner = manners[i];
        rig_open(&rig, &fake, "dns:a.example:1");
        rig.fake[1] = &other;
        assert_string_equal(rig_servers(&rig), "vc://10.0.0.2:1");
        assert_int_equal(rig.fails, 0);
        rig_close(&rig);
    }
    other.manner = FAKE_SERVFAIL;
    fake.manner = FAKE_SERVFAIL;
    rig_open(&rig, &fake, "dns:a.example:1");
    rig.fake[1] = &other;
    assert_non_null(strstr(rig_failure(&rig), "each of them fails"));
    assert_non_null(strstr(rig.why, ", 127.0.0.2:"));
    rig_close(&rig);
    dns_fake_close(&other);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(both_families_are_merged_and_alternate),
        TEST(several_names_are_one_list_in_their_order),
        TEST(srv_records_have_priorities_weights_and_ports),
        TEST(of_1500_addresses_1024_are_servers),
        TEST(three_hundred_hosts_of_srv_records_are_asked),
        TEST(addresses_and_localhost_need_no_server),
        TEST(a_malformed_target_is_refused_with_what_is_wrong),
        TEST(the_least_ttl_says_when_it_asks_again),
        TEST(the_ttl_of_an_alias_counts),
        TEST(the_ttl_of_srv_records_counts),
        TEST(a_change_is_seen_when_the_ttl_has_passed),
        TEST(again_asks_at_once_but_once_a_second),
        TEST(again_does_nothing_while_it_asks),
        TEST(failures_say_what_was_asked_and_what_is_wrong),
        TEST(after_failures_it_asks_after_1_2_4_to_60_seconds),
        TEST(a_round_takes_five_seconds_at_most),
        TEST(a_name_that_fails_keeps_its_servers),
        TEST(a_name_that_does_not_exist_any_more_loses_its_servers),
        TEST(no_answer_leaves_the_servers_as_they_are),
        TEST(servers_that_the_channel_does_not_take_are_reported),
        TEST(a_socket_that_cannot_be_watched_is_reported),
        TEST(names_are_searched_as_resolv_conf_says),
        TEST(a_new_resolv_conf_is_read),
        TEST(another_server_is_asked_if_one_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
