/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Channels to dns: targets as users have them: the shared library loads the
 * module and c-ares, a dnsmasq answers, and servers are called by TCP. Without
 * dnsmasq all is skipped. The program finds the library by its own path, and
 * runs itself again with LD_LIBRARY_PATH, by which the library finds the
 * module. */
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <verbcall/channel.h>
#include <verbcall/runtime.h>

#include "tests/suite/dns_channel.h"
#include "tests/suite/dns_modules.h"
#include "tests/suite/entries.h"
#include "tests/suite/pace.h"
#include "tests/unit/dns_fake.h"
#include "tests/unit/dns_masq.h"

/* The TTL of all records, and the second that the channel may take besides. */
#define TTL_MS     1000u
#define NOTICED_MS (TTL_MS + 1000u)
#define STILL_MS   2000u /* for calls while DNS does not answer */
#define MANY       1000u
#define MANY_MS    8000u
#define MOMENTS    40u

#define A0 "127.0.0.1 a.example\n"
#define A1 "127.0.0.2 a.example\n"
#define A2 "127.0.0.3 a.example\n"

static struct site site;
static bool allows_many; /* the system allows descriptors for MANY */

/* --- set-up ------------------------------------------------------------- */

/* Starts dnsmasq for the site: a.example is of server 0, b.example of server
 * 1, c.example of server 2, and _w and _p are SRV records of them. */
static void
names_start(void)
{
    static char text[5][80];
    static const struct {
        const char *name, *host;
        unsigned priority, weight;
    } srv[5] = {
        {"_w", "a", 0, 10}, {"_w", "b", 0, 20}, {"_w", "c", 0, 30},
        {"_p", "a", 10, 1}, {"_p", "b", 20, 1},
    };
    const char *options[MASQ_OPTIONS] = {NULL};

    for (unsigned i = 0; i < 5; i++) {
        snprintf(text[i], sizeof text[i],
                 "--srv-host=%s._tcp.example,%s.example,%u,%u,%u", srv[i].name,
                 srv[i].host, site.port, srv[i].priority, srv[i].weight);
        options[i] = text[i];
    }
    masq_start(site.dns_port, A0 "127.0.0.2 b.example\n127.0.0.3 c.example\n",
               options);
}

static int
set_up(void **state)
{
    (void)state;
    site_start(&site);
    names_start();
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    site_stop(&site);
    masq_stop();
    return 0;
}

/* --- addresses ---------------------------------------------------------- */

static void
calls_of_four_threads_reach_all_addresses_of_a_name(void **state)
{
    unsigned n = 0;

    (void)state;
    masq_change(A0 A1 A2);
    site_open(&site, "a.example", "round_robin");
    site_load_start(&site);
    for (unsigned i = 0; i < SITE_SERVERS; i++)
        site_await(&site, site_served(i) >= 100);
    site_load_stop(&site);
    for (unsigned i = 0; i < SITE_SERVERS; i++)
        n += site_served(i);
    assert_true(n >= atomic_load(&site.load.ended));
    assert_int_equal(SITE_SERVERS, site_ready(site.channel));
}

/* Since `began`, when a record was changed. */
static void
noticed_in_time(uint64_t began, const char *what)
{
    uint64_t took = pace_since(began);

    print_message("# %s after %" PRIu64 " ms\n", what, took);
    assert_in_range(took, 0, NOTICED_MS);
}

static void
an_address_comes_and_another_goes_while_calls_run(void **state)
{
    unsigned before;
    uint64_t began;

    (void)state;
    masq_change(A0 A1);
    site_open(&site, "a.example", "round_robin");
    site_load_start(&site);
    site_await(&site, site_ready(site.channel) == 2);
    assert_int_equal(0, site_served(2));

    began = fixture_ms();
    masq_change(A0 A1 A2);
    site_await(&site, site_served(2) > 0);
    noticed_in_time(began, "an address came");

    began = fixture_ms();
    masq_change(A0 A2);
    site_await(&site, !site_describes(site.channel, "127.0.0.2:"));
    noticed_in_time(began, "an address went");
    site_calls(&site, 100); /* those that had begun there end */
    before = site_served(1);
    site_calls(&site, 100);
    assert_int_equal(before, site_served(1));
    site_load_stop(&site);
}

/* --- SRV records -------------------------------------------------------- */

static void
weights_of_srv_records_are_shares_of_calls(void **state)
{
    unsigned before[SITE_SERVERS], calls = 3000;

    (void)state;
    site_open(&site, "_w._tcp.example", "weighted_round_robin");
    site_await(&site, site_ready(site.channel) == SITE_SERVERS);
    for (unsigned i = 0; i < SITE_SERVERS; i++)
        before[i] = site_served(i);
    site_calls(&site, calls);
    for (unsigned i = 0; i < SITE_SERVERS; i++) {
        unsigned share = calls * (i + 1) / 6;

        assert_in_range(site_served(i) - before[i], share - share / 20,
                        share + share / 20);
    }
}

static void
the_second_priority_gets_calls_when_the_first_is_killed(void **state)
{
    uint64_t due = fixture_ms() + SITE_MS;
    unsigned before;
    char first[80];

    (void)state;
    site_open(&site, "_p._tcp.example", "priority");
    site_calls(&site, 1000);
    assert_int_equal(1000, site_served(0));
    assert_int_equal(0, site_served(1));

    /* A call that meets the end of the connection may have run, and fails. */
    snprintf(first, sizeof first, "tcp://127.0.0.1:%u: ready,", site.port);
    assert_true(site_describes(site.channel, first));
    site_server_kill(&site, 0);
    while (site_describes(site.channel, first))
        assert_true(fixture_ms() < due);
    before = site_served(0);
    site_calls(&site, 1000);
    assert_int_equal(1000, site_served(1));
    assert_int_equal(before, site_served(0));
}

/* --- DNS that fails ----------------------------------------------------- */

/* A DNS server on a thread of its own, whose answers the test changes. */
static struct {
    struct dns_fake fake; /* lock */
    pthread_mutex_t lock;
    pthread_t thread;
    atomic_bool enough;
} dns = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *
dns_main(void *arg)
{
    struct pollfd p[FAKE_POLLS];

    (void)arg;
    while (!atomic_load(&dns.enough)) {
        poll(p, dns_fake_polls(&dns.fake, p), 10);
        pthread_mutex_lock(&dns.lock);
        dns_fake_serve(&dns.fake);
        pthread_mutex_unlock(&dns.lock);
    }
    return NULL;
}

/* Sets what it answers from now on, to questions of this type; 0: to all. */
static void
dns_set(enum dns_manner manner, unsigned type, const struct dns_record *records,
        size_t n)
{
    pthread_mutex_lock(&dns.lock);
    dns.fake.manner = manner;
    dns.fake.manner_type = type;
    dns.fake.records = records;
    dns.fake.n_records = n;
    pthread_mutex_unlock(&dns.lock);
}

static int
set_up_dns(void **state)
{
    (void)state;
    site_start(&site);
    dns_fake_open_at(&dns.fake, "127.0.0.1", site.dns_port);
    return pthread_create(&dns.thread, NULL, dns_main, NULL);
}

static int
tear_down_dns(void **state)
{
    atomic_store(&dns.enough, true);
    pthread_join(dns.thread, NULL);
    dns_fake_close(&dns.fake);
    return tear_down(state);
}

/* A call on a thread of its own, which waits for a server. */
static void *
patient_main(void *arg)
{
    const struct vc_call_opts *opts =
        VC_CALL_OPTS(.flags = VC_CALL_WAIT_FOR_READY, .timeout_ms = SITE_MS);

    return site_call(arg, opts) == VC_OK ? arg : NULL;
}

/* Starts it, and waits for its first attempt, or a further one of another. */
static void
patient_start(pthread_t *thread, struct vc_channel *channel)
{
    uint64_t before = site_attempts(&site), due = fixture_ms() + SITE_MS;

    assert_int_equal(0, pthread_create(thread, NULL, patient_main, channel));
    while (site_attempts(&site) == before)
        assert_true(fixture_ms() < due);
}

/* The first call ends with the resolver's text. */
static void
call_ends_with(struct vc_channel *channel, const char *text)
{
    assert_status(VC_UNAVAILABLE, site_call(channel, NULL));
    if (strstr(vc_error(), text) == NULL)
        fail_msg("\"%s\" does not have \"%s\"", vc_error(), text);
}

static void
a_name_that_fails_at_first_and_later_keeps_its_servers(void **state)
{
    static char srv[80];
    static struct dns_record records[] = {
        {"none.test", FAKE_A, 1, "127.0.0.1"},
        {"_s._tcp.test", FAKE_SRV, 1, srv},
    };
    pthread_t patient[2];
    void *is_ok;

    (void)state;
    snprintf(srv, sizeof srv, "0 1 %u none.test", site.port);
    dns_set(FAKE_SERVFAIL, FAKE_SRV, NULL, 0);
    site_open(&site, "none.test", NULL);
    assert_status(VC_OK, site_try(&site, "_s._tcp.test", NULL, &site.second));
    call_ends_with(site.channel, "\"none.test\"");
    call_ends_with(site.channel, "(NXDOMAIN)");
    call_ends_with(site.second, "\"_s._tcp.test\"");
    call_ends_with(site.second, "(SERVFAIL)");
    patient_start(&patient[0], site.channel);
    patient_start(&patient[1], site.second);
    assert_int_equal(0, site_served(0));

    dns_set(FAKE_HONEST, 0, records, 2);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(patient[i], &is_ok);
        assert_non_null(is_ok);
    }

    dns_set(FAKE_SERVFAIL, 0, NULL, 0);
    site_await(&site, site_describes(site.channel, "(SERVFAIL)") &&
                          site_describes(site.second, "(SERVFAIL)"));
    site_calls(&site, 100);
    assert_status(VC_OK, site_call(site.second, NULL));
}

/* True if a question waits in the socket of the DNS server. */
static bool
question_waits(void)
{
    FILE *f = fopen("/proc/net/udp", "r");
    unsigned address, port, received;
    char line[256];
    bool waits = false;

    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, " %*u: %x:%x %*x:%*x %*x %*x:%x", &address, &port,
                   &received) == 3 &&
            port == site.dns_port && received > 0)
            waits = true;
    fclose(f);
    return waits;
}

static void
calls_go_on_while_the_dns_server_stands_still(void **state)
{
    uint64_t began;

    (void)state;
    masq_change(A0 A1);
    site_open(&site, "a.example", "round_robin");
    site_load_start(&site);
    site_await(&site, site_ready(site.channel) == 2);
    masq_freeze();
    site_await(&site, question_waits());
    began = fixture_ms();
    site_calls(&site, 200);
    assert_in_range(pace_since(began), 0, STILL_MS);
    assert_int_equal(2, site_ready(site.channel));

    masq_change_begin(A0 A1 A2);
    masq_thaw();
    masq_change_end();
    site_await(&site, site_served(2) > 0);
    site_load_stop(&site);
}

/* --- many addresses, many moments --------------------------------------- */

static void
a_thousand_addresses_are_opened_called_and_closed(void **state)
{
    static char hosts[MANY * 40];
    uint64_t began = fixture_ms();
    unsigned before;
    size_t len = 0;

    (void)state;
    if (!allows_many) {
        print_message("# fewer than %u descriptors are allowed\n", MANY);
        skip();
    }
    site_stop(&site);
    masq_stop();
    site_start_at_all(&site);
    names_start();
    for (unsigned i = 0; i < MANY; i++)
        len += (size_t)snprintf(hosts + len, sizeof hosts - len,
                                "127.1.%u.%u a.example\n", i / 250, i % 250);
    masq_change(hosts);
    before = entries_descriptors();
    site_open(&site, "a.example", "round_robin");
    site_await(&site, site_ready(site.channel) == MANY);
    assert_in_range(entries_descriptors() - before, MANY, MANY + 40);
    site_calls(&site, 1000);
    vc_channel_close(site.channel);
    site.channel = NULL;
    assert_in_range(pace_since(began), 0, MANY_MS);
    assert_int_equal(before, entries_descriptors());
}

/* Opens a channel, closes it after so many microseconds, and counts. */
static void
moment_leaves_nothing(unsigned before, unsigned us, bool calls)
{
    site_open(&site, "a.example", "round_robin");
    if (calls)
        site_calls(&site, 1 + us % 4);
    usleep(us); /* the moment */
    assert_status(VC_OK, vc_channel_close(site.channel));
    site.channel = NULL;
    assert_int_equal(before, entries_descriptors());
}

static void
a_channel_closed_at_any_moment_leaves_no_descriptor(void **state)
{
    unsigned before;

    (void)state;
    masq_change(A0 A1 A2);
    site_open(&site, "a.example", "round_robin");
    site_calls(&site, 10);
    vc_channel_close(site.channel);
    before = entries_descriptors();
    for (unsigned i = 0; i < MOMENTS; i++)
        moment_leaves_nothing(before, i * 100, false);
    for (unsigned i = 0; i < MOMENTS; i++)
        moment_leaves_nothing(before, i * 10, true);
    masq_freeze();
    for (unsigned i = 0; i < MOMENTS / 2; i++)
        moment_leaves_nothing(before, i * 100, false);
    masq_thaw();
}

/* --- the program -------------------------------------------------------- */

/* Runs this program again, so that the library finds the module: in .libs of
 * the build folder, which is two above that of the program. */
static int
self_again(char *argv[])
{
    char path[PATH_MAX + 8], *end = path;

    snprintf(path, sizeof path, "%s", modules_program());
    for (int i = 0; i < 3; i++)
        if ((end = strrchr(path, '/')) != NULL)
            *end = '\0';
    strcat(path, "/.libs");
    setenv("LD_LIBRARY_PATH", path, 1);
    setenv("VC_TEST_AGAIN", "1", 1);
    execv(modules_program(), argv);
    perror(modules_program());
    return 1;
}

/* A thousand connections. False if the system allows fewer. */
static bool
descriptors_allow(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < MANY + 200)
        return false;
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

int
main(int argc, char *argv[])
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            the_library_loads_c_ares_for_a_dns_target_and_not_before),
        cmocka_unit_test(the_module_takes_no_place_of_a_programs_types),
        cmocka_unit_test(without_the_module_the_text_names_it_and_its_package),
        cmocka_unit_test(
            the_library_loads_jansson_for_a_service_config_and_not_before),
        cmocka_unit_test(
            without_the_module_for_service_configs_the_text_names_it),
        T(calls_of_four_threads_reach_all_addresses_of_a_name),
        T(an_address_comes_and_another_goes_while_calls_run),
        T(weights_of_srv_records_are_shares_of_calls),
        T(the_second_priority_gets_calls_when_the_first_is_killed),
        cmocka_unit_test_setup_teardown(
            a_name_that_fails_at_first_and_later_keeps_its_servers, set_up_dns,
            tear_down_dns),
        T(calls_go_on_while_the_dns_server_stands_still),
        T(a_channel_closed_at_any_moment_leaves_no_descriptor),
        T(a_thousand_addresses_are_opened_called_and_closed),
    };
    int failed;

    if (!modules_begin())
        return 1;
    if (argc > 1)
        return modules_main(argv[1]);
    if (getenv("VC_TEST_AGAIN") == NULL)
        return self_again(argv);
    if (!masq_begin())
        return 0;
    allows_many = descriptors_allow();
    cmocka_set_test_filter(getenv("VC_TEST_ONLY"));
    pace_start();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    masq_end();
    return failed;
}
