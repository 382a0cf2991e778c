/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The module for dns: targets against a server that breaks the rules, and
 * closed at any moment. With ASan nothing is left and nothing is read that is
 * not there. A second of the module is shorter here. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/dns_rig.h"

#define SECOND_MS 10u
#define BOTH      "dns://127.0.0.1:%u/a.example:7,_v._tcp.example"
#define SERVERS   "vc://10.0.0.1:7 vc://10.0.0.2:1 vc://10.0.0.3:2"

static struct vc_resolver rig;
static struct dns_fake fake;

static const struct dns_record records[] = {
    {"a.example", FAKE_A, 1, "10.0.0.1"},
    {"_v._tcp.example", FAKE_SRV, 1, "1 1 1 b.example"},
    {"_v._tcp.example", FAKE_SRV, 1, "2 1 2 c.example"},
    {"b.example", FAKE_A, 1, "10.0.0.2"},
    {"c.example", FAKE_A, 1, "10.0.0.3"},
};

static int
set_up(void **state)
{
    (void)state;
    vc__dns_setting = (struct vc__dns_setting){SECOND_MS, "/nonexistent", 0};
    dns_fake_open(&fake);
    fake.records = records;
    fake.n_records = sizeof records / sizeof records[0];
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    dns_fake_close(&fake);
    return 0;
}

static unsigned
descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;

    assert_non_null(d);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

/* True if a server with this manner gives no answer. */
static bool
is_useless(enum dns_manner m)
{
    return m != FAKE_HONEST && m != FAKE_TRUNCATED;
}

/* At first there are no servers, and later the channel keeps those it has. */
static void
a_hostile_server_changes_no_servers(void **state)
{
    (void)state;
    for (unsigned m = FAKE_HONEST + 1; m < FAKE_MANNERS; m++) {
        if (!is_useless(m))
            continue;
        fake.manner = m;
        rig_open(&rig, &fake, BOTH);
        rig_failure(&rig);
        assert_int_equal(rig.sets, 0);
        fake.manner = FAKE_HONEST;
        rig_expect(&rig, SERVERS);
        fake.manner = m;
        rig_failure(&rig);
        rig_expect(&rig, SERVERS);
        rig_close(&rig);
    }
}

static void
what_is_truncated_is_asked_by_tcp(void **state)
{
    (void)state;
    vc__dns_setting.second_ms = 500;
    fake.manner = FAKE_TRUNCATED;
    rig_open(&rig, &fake, BOTH);
    assert_string_equal(rig_servers(&rig), SERVERS);
    rig_close(&rig);
}

/* Closes after each number of turns of the loop, up to the end of a round and
 * into the next one. The servers of some manners let the time pass. */
static void
closed_at_any_moment_it_leaves_nothing(void **state)
{
    unsigned before = descriptors();

    (void)state;
    vc__dns_setting.second_ms = 3;
    for (unsigned m = FAKE_HONEST; m < FAKE_MANNERS; m++) {
        bool is_over = false;

        fake.manner = m;
        for (unsigned turns = 0; turns < 60 && !is_over; turns++) {
            rig_open(&rig, &fake, BOTH);
            for (unsigned i = 0; i < turns; i++)
                rig_turn(&rig);
            is_over = rig.sets + rig.fails > 1;
            rig_close(&rig);
        }
        if (!is_over)
            fail_msg("manner %u: 60 turns are no round", m);
        dns_fake_serve(&fake); /* sees that connections are closed */
    }
    assert_int_equal(descriptors(), before);
}

/* Several resolvers share what c-ares has once in a process. */
static void
one_is_closed_while_another_asks(void **state)
{
    static struct vc_resolver other;

    (void)state;
    vc__dns_setting.second_ms = 500;
    rig_open(&other, &fake, BOTH);
    rig_open(&rig, &fake, BOTH);
    rig_turn(&rig);
    rig_close(&other);
    assert_string_equal(rig_servers(&rig), SERVERS);
    rig_close(&rig);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_hostile_server_changes_no_servers),
        TEST(what_is_truncated_is_asked_by_tcp),
        TEST(closed_at_any_moment_it_leaves_nothing),
        TEST(one_is_closed_while_another_asks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
