/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Load reports of servers, and a channel that chooses servers by them. The
 * times of rpc/balance/load_weight.c are short here: the file is included, so
 * that the linker does not take the library's. tests/sim/test_loads.c has the
 * real ones. */
#include "rpc/balance/load_weight.h"

#undef VC__LOAD_BLACKOUT_US
#define VC__LOAD_BLACKOUT_US UINT64_C(300000)
#undef VC__LOAD_EXPIRATION_US
#define VC__LOAD_EXPIRATION_US UINT64_C(1500000)
#include "rpc/balance/load_weight.c"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <verbcall/counters.h>
#include <verbcall/interceptor.h>

#include "cm/link/schedule.h"
#include "tests/suite/feature.h"

#define SERVERS  3u
#define CALLS    700u
#define AWAIT_MS 20000

struct fleet {
    struct fixture servers[SERVERS]; /* without clients */
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    char target[SERVERS * 81 + 10];
};

/* What the servers say of themselves: an entry that an interceptor adds. */
struct says {
    uint8_t bytes[VC__LOAD_REPORT_MAX];
    size_t len; /* 0: nothing */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct says says[SERVERS]; /* lock */
static unsigned n_added;          /* servers that were made */

static enum vc_status
say(struct vc_interception *call, void **state, void *arg)
{
    struct says s;

    (void)state;
    pthread_mutex_lock(&lock);
    s = *(const struct says *)arg;
    pthread_mutex_unlock(&lock);
    return s.len == 0
               ? VC_OK
               : vc_call_add_trailing(vc_interception_call(call),
                                      VC__LOAD_REPORT_KEY, s.bytes, s.len);
}

static void
says_add(struct vc_server *server)
{
    assert_status(VC_OK, vc_server_intercept(
                             server, VC_INTERCEPTOR(.start = say,
                                                    .arg = &says[n_added++])));
    features_add(server, "it");
}

/* The server says these bytes from now on. */
static void
says_bytes(unsigned i, const uint8_t *bytes, size_t len)
{
    pthread_mutex_lock(&lock);
    says[i].len = len;
    memcpy(says[i].bytes, bytes, len);
    pthread_mutex_unlock(&lock);
}

static void
says_nothing(unsigned i)
{
    says_bytes(i, (const uint8_t *)"", 0);
}

static void
says_set(unsigned i, double rps, double eps, double utilization)
{
    const struct vc__load_report report = {
        .rps = rps, .eps = eps, .application_utilization = utilization};

    uint8_t packed[VC__LOAD_REPORT_MAX];

    says_bytes(i, packed, vc__load_report_pack(packed, &report));
}

static void
fleet_start(struct fleet *f, const struct vc_server_opts *server_opts,
            uint32_t ignore)
{
    memset(f, 0, sizeof *f);
    for (unsigned i = 0; i < SERVERS; i++)
        says_nothing(i);
    n_added = 0;
    strcpy(f->target, "list:");
    for (unsigned i = 0; i < SERVERS; i++) {
        fixture_add = says_add;
        fixture_start_server(&f->servers[i], 1, server_opts);
        fixture_add = NULL;
        if (i > 0)
            strcat(f->target, ",");
        strcat(f->target, f->servers[i].target);
    }
    assert_status(VC_OK, vc_runtime_new(NULL, &f->runtime));
    assert_status(
        VC_OK, vc_channel_open(f->runtime, f->target,
                               VC_CHANNEL_OPTS(.policy = "weighted_round_robin",
                                               .ignore_load_reports = ignore),
                               &f->channel));
}

static void
fleet_stop(struct fleet *f)
{
    vc_channel_close(f->channel);
    vc_runtime_free(f->runtime);
    for (unsigned i = 0; i < SERVERS; i++)
        fixture_stop_server(&f->servers[i]);
}

static uint64_t
served_by(const struct fleet *f, unsigned i)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(f->servers[i].server_runtime, &c);
    return c.handlers_started;
}

static struct vc_counters
counters(const struct fleet *f)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(f->runtime, &c);
    return c;
}

/* Makes CALLS calls, and counts who got them. */
static void
call(struct fleet *f, unsigned got[SERVERS])
{
    uint64_t before[SERVERS];

    for (unsigned i = 0; i < SERVERS; i++)
        before[i] = served_by(f, i);
    for (unsigned i = 0; i < CALLS; i++)
        assert_status(VC_OK, fixture_echo(f->channel, 10, i));
    for (unsigned i = 0; i < SERVERS; i++)
        got[i] = (unsigned)(served_by(f, i) - before[i]);
}

/* True if the shares are these, within 5 %. */
static bool
is_shared(const unsigned got[SERVERS], const double shares[SERVERS])
{
    double sum = 0;

    for (unsigned i = 0; i < SERVERS; i++)
        sum += shares[i];
    for (unsigned i = 0; i < SERVERS; i++) {
        double share = CALLS * shares[i] / sum;

        if (fabs(got[i] - share) > share * 0.05)
            return false;
    }
    return true;
}

/* Calls until the servers get these shares, twice in succession; between() is
 * called after CALLS calls, unless it is NULL. */
static void
shares_await(struct fleet *f, double a, double b, double c,
             void (*between)(struct fleet *f, const unsigned got[SERVERS]))
{
    const double shares[SERVERS] = {a, b, c};
    uint64_t due = fixture_ms() + AWAIT_MS;
    unsigned got[SERVERS];

    for (unsigned good = 0; good < 2;) {
        call(f, got);
        good = is_shared(got, shares) ? good + 1 : 0;
        if (fixture_ms() > due)
            fail_msg("the servers get %u, %u, %u", got[0], got[1], got[2]);
        if (between != NULL)
            between(f, got);
    }
}

/* --- servers ---------------------------------------------------------------- */

/* Calls, and returns the report of the reply; false: it has none. */
static bool
report_get(struct vc_channel *channel, unsigned failures,
           struct vc__load_report *report)
{
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Features__Order order = features_order(1, "");
    Features__Report *reply = NULL;
    bool found = false;

    order.failures = failures;
    order.status = VC_NOT_FOUND;
    opts.result = &result;
    assert_status(failures > 0 ? VC_NOT_FOUND : VC_OK,
                  features_work_once(channel, &order, &opts, &reply));
    for (size_t i = 0; i < result.n_trailing; i++) {
        const struct vc_metadata *e = &result.trailing[i];

        if (strcmp(e->key, VC__LOAD_REPORT_KEY) != 0)
            continue;
        assert_false(found);
        assert_true(vc__load_report_read(report, e->value, e->length));
        found = true;
    }
    vc_message_free(reply);
    vc_result_clear(&result);
    return found;
}

static void
a_reply_has_what_the_program_says(void **state)
{
    static const double numbers[] = {0.25, 3.5, 1e-9};
    struct vc__load_report report;
    struct fixture f;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        features_start(&f, VC_SERVER_OPTS(.load_reports = 1), NULL);
        assert_status(VC_OK, vc_server_load_set(f.server, numbers[i]));
        assert_true(report_get(f.channel, 0, &report));
        assert_memory_equal(&numbers[i], &report.application_utilization,
                            sizeof numbers[i]);
        features_stop(&f);
    }
}

/* Of a number that is set later, replies have the news soon. */
static void
a_reply_has_it_soon(void **state)
{
    uint64_t due = fixture_ms() + AWAIT_MS;
    struct vc__load_report report;
    struct fixture f;

    (void)state;
    features_start(&f, VC_SERVER_OPTS(.load_reports = 1), NULL);
    for (unsigned i = 1; i <= 3; i++) {
        assert_status(VC_OK, vc_server_load_set(f.server, i));
        do {
            assert_true(fixture_ms() < due);
            assert_true(report_get(f.channel, 0, &report));
        } while (report.application_utilization < i);
    }
    features_stop(&f);
}

static void
a_reply_has_the_rates_and_the_processors(void **state)
{
    uint64_t due = fixture_ms() + AWAIT_MS, begin = fixture_ms();
    struct vc__load_report report = {0};
    unsigned calls = 0;
    struct fixture f;

    (void)state;
    features_start(&f, VC_SERVER_OPTS(.load_reports = 1), NULL);
    /* Each fourth call fails. */
    while (fixture_ms() < begin + 2500) {
        report_get(f.channel, calls++ % 4 == 0, &report);
        assert_true(fixture_ms() < due);
    }
    assert_true(report.rps > 0.5 * calls / 2.5);
    assert_true(report.rps < 2 * calls / 2.5);
    assert_true(report.eps > 0.2 * report.rps);
    assert_true(report.eps < 0.3 * report.rps);
    assert_true(report.cpu_utilization > 0);
    assert_true(report.cpu_utilization < 1.1);
    features_stop(&f);
}

static void
without_the_option_there_are_none(void **state)
{
    struct vc__load_report report;
    struct fixture f;

    (void)state;
    features_start(&f, NULL, NULL);
    assert_status(VC_FAILED_PRECONDITION, vc_server_load_set(f.server, 0.5));
    assert_non_null(strstr(vc_error(), "load_reports"));
    for (unsigned i = 0; i < 10; i++)
        assert_false(report_get(f.channel, i % 2, &report));
    features_stop(&f);
}

static void
a_utilization_must_be_a_number(void **state)
{
    static const double bad[] = {-0.1, (double)NAN, (double)INFINITY,
                                 -(double)INFINITY};
    struct fixture f;

    (void)state;
    features_start(&f, VC_SERVER_OPTS(.load_reports = 1), NULL);
    for (unsigned i = 0; i < 4; i++)
        assert_status(VC_INVALID_ARGUMENT,
                      vc_server_load_set(f.server, bad[i]));
    assert_status(VC_OK, vc_server_load_set(f.server, 0));
    features_stop(&f);
}

/* --- replies without room ------------------------------------------------------ */

static atomic_size_t fills; /* bytes of metadata that a server adds */

static enum vc_status
fill(struct vc_interception *call, void **state, void *arg)
{
    static uint8_t bytes[VC_METADATA_MAX];

    (void)state;
    (void)arg;
    return vc_call_add_trailing(vc_interception_call(call), "x-bin", bytes,
                                fills);
}

static void
fill_add(struct vc_server *server)
{
    features_add(server, "it");
    assert_status(VC_OK,
                  vc_server_intercept(server, VC_INTERCEPTOR(.start = fill)));
}

static void
beside_most_metadata_there_is_no_report(void **state)
{
    const size_t most = VC_METADATA_MAX - strlen("x-bin") - 3;
    struct vc__load_report report;
    struct fixture f;
    bool had = true;

    (void)state;
    fixture_add = fill_add;
    features_start(&f, VC_SERVER_OPTS(.load_reports = 1), NULL);
    fixture_add = NULL;
    vc_server_load_set(f.server, 0.5);
    for (fills = most - 100; fills <= most; fills++) {
        bool has = report_get(f.channel, fills % 3 == 0, &report);

        assert_false(has && !had); /* once it has no room it has none */
        assert_int_equal(has || fills > most - 100, true);
        had = has;
    }
    assert_false(had);
    features_stop(&f);
}

/* Of all lengths about that of one packet. */
static void
no_reply_gets_too_long(void **state)
{
    struct fixture f;

    (void)state;
    fixture_start(&f, 1, VC_SERVER_OPTS(.load_reports = 1), NULL);
    vc_server_load_set(f.server, 0.5);
    for (size_t size = VC__EAGER_MAX - 120; size < VC__EAGER_MAX + 20; size++)
        assert_status(VC_OK, fixture_echo(f.channel, size, size));
    assert_status(VC_OK, fixture_echo(f.channel, 100000, 1));
    fixture_stop(&f);
}

/* --- the choice --------------------------------------------------------------- */

static void
calls_go_by_what_the_servers_say(void **state)
{
    struct fleet f;

    (void)state;
    fleet_start(&f, NULL, 0);
    says_set(0, 100, 0, 0.2);
    says_set(1, 100, 0, 0.4);
    says_set(2, 100, 0, 0.8);
    shares_await(&f, 4, 2, 1, NULL);
    /* They change. */
    says_set(0, 100, 0, 0.8);
    shares_await(&f, 1, 2, 1, NULL);
    assert_true(counters(&f).load_reports > 4 * CALLS);
    assert_int_equal(0, counters(&f).load_reports_malformed);
    fleet_stop(&f);
}

static void
errors_cost_calls(void **state)
{
    struct fleet f;

    (void)state;
    fleet_start(&f, NULL, 0);
    says_set(0, 100, 0, 0.5);
    says_set(1, 100, 50, 0.5);
    says_set(2, 100, 0, 0.5);
    shares_await(&f, 2, 1, 2, NULL);
    fleet_stop(&f);
}

static void
a_server_that_says_nothing_any_more_gets_the_mean(void **state)
{
    struct fleet f;

    (void)state;
    fleet_start(&f, NULL, 0);
    says_set(0, 100, 0, 0.2);
    says_set(1, 100, 0, 0.4);
    says_set(2, 100, 0, 0.8);
    shares_await(&f, 4, 2, 1, NULL);
    says_nothing(0);
    shares_await(&f, 1.5, 2, 1, NULL);
    /* One is not enough. */
    says_nothing(1);
    shares_await(&f, 1, 1, 1, NULL);
    says_set(0, 100, 0, 0.2);
    shares_await(&f, 4, 2.5, 1, NULL);
    fleet_stop(&f);
}

/* A cost of 1, 2 and 4: each server is so busy as it has calls. */
static void
busy_set(struct fleet *f, const unsigned got[SERVERS])
{
    for (unsigned i = 0; i < SERVERS; i++)
        assert_status(VC_OK, vc_server_load_set(f->servers[i].server,
                                                (1u << i) * got[i] / 1e3));
}

static void
calls_go_by_what_the_servers_measure(void **state)
{
    struct fleet f;

    (void)state;
    fleet_start(&f, VC_SERVER_OPTS(.load_reports = 1), 0);
    shares_await(&f, 4, 2, 1, busy_set);
    fleet_stop(&f);
}

/* --- while weights change ------------------------------------------------------ */

struct caller {
    struct fleet *fleet;
    pthread_t thread;
    atomic_bool enough;
    unsigned calls, failed;
};

static void *
caller_main(void *arg)
{
    struct caller *c = arg;

    for (; !atomic_load(&c->enough); c->calls++)
        c->failed += fixture_echo(c->fleet->channel, 10, 1) != VC_OK;
    return NULL;
}

static void
threads_call_while_weights_change(void **state)
{
    static struct caller callers[4];
    uint64_t until = fixture_ms() + 4500;
    struct fleet f;

    (void)state;
    fleet_start(&f, VC_SERVER_OPTS(.load_reports = 1), 0);
    assert_status(VC_OK, vc_runtime_start(f.runtime));
    for (unsigned i = 0; i < 4; i++) {
        callers[i] = (struct caller){.fleet = &f};
        assert_int_equal(0, pthread_create(&callers[i].thread, NULL,
                                           caller_main, &callers[i]));
    }
    for (unsigned n = 0; fixture_ms() < until; n++) {
        assert_status(VC_OK, vc_server_load_set(f.servers[n % SERVERS].server,
                                                0.1 + n % 10));
        assert_status(VC_OK, fixture_echo(f.channel, 10, n));
    }
    for (unsigned i = 0; i < 4; i++) {
        atomic_store(&callers[i].enough, true);
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(0, callers[i].failed);
        assert_true(callers[i].calls > 0);
    }
    assert_true(counters(&f).load_reports > 4);
    fleet_stop(&f);
}

static void
reports_may_be_ignored(void **state)
{
    uint64_t until;
    struct fleet f;

    (void)state;
    fleet_start(&f, NULL, 1);
    says_set(0, 100, 0, 0.2);
    says_set(1, 100, 0, 0.8);
    until = fixture_ms() + 2000;
    shares_await(&f, 1, 1, 1, NULL);
    while (fixture_ms() < until)
        shares_await(&f, 1, 1, 1, NULL);
    assert_int_equal(0, counters(&f).load_reports);
    fleet_stop(&f);
}

static void
bad_reports_change_nothing(void **state)
{
    static const double bad[] = {
        0, -1, (double)NAN, (double)INFINITY, -(double)INFINITY, 1e308};
    static const uint8_t malformed[12] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                          0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    uint64_t until;
    struct fleet f;

    (void)state;
    fleet_start(&f, NULL, 0);
    shares_await(&f, 1, 1, 1, NULL);
    for (unsigned i = 0; i < 6; i++) {
        until = fixture_ms() + 400;
        says_set(0, bad[i], bad[5 - i], 1e-9);
        says_set(1, 1, bad[i], bad[i]);
        says_bytes(2, malformed, 7 + i);
        while (fixture_ms() < until)
            shares_await(&f, 1, 1, 1, NULL);
    }
    assert_true(counters(&f).load_reports_malformed > CALLS);
    fleet_stop(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reply_has_what_the_program_says),
        cmocka_unit_test(a_reply_has_it_soon),
        cmocka_unit_test(a_reply_has_the_rates_and_the_processors),
        cmocka_unit_test(without_the_option_there_are_none),
        cmocka_unit_test(a_utilization_must_be_a_number),
        cmocka_unit_test(beside_most_metadata_there_is_no_report),
        cmocka_unit_test(no_reply_gets_too_long),
        cmocka_unit_test(calls_go_by_what_the_servers_say),
        cmocka_unit_test(errors_cost_calls),
        cmocka_unit_test(a_server_that_says_nothing_any_more_gets_the_mean),
        cmocka_unit_test(calls_go_by_what_the_servers_measure),
        cmocka_unit_test(threads_call_while_weights_change),
        cmocka_unit_test(reports_may_be_ignored),
        cmocka_unit_test(bad_reports_change_nothing),
    };

    return fixture_main(tests);
}
