/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Servers that are connected and get no calls: as outlier detection has ejected
 * them, by which policy ever; or as they report that they are unhealthy. */
#include "tests/suite/app_fleet.h"

#include <stdio.h>
#include <string.h>

#include <verbcall/counters.h>
#include <verbcall/health.h>
#include <verbcall/outlier.h>

#define CALLS 300u

/* --- outlier detection --------------------------------------------------------- */

static uint64_t
n_ejected(const struct app_fleet *f)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(f->runtime, &c);
    return c.servers_ejected;
}

/* Opens a channel that looks for outliers often; server 0 is one. */
static void
outlier_start(struct app_fleet *f, const char *policy, uint32_t methods,
              enum manner manner, uint32_t base_ejection_ms)
{
    struct vc_outlier_opts outlier = VC_OUTLIER_OPTS_INIT;

    outlier.methods = methods;
    outlier.interval_ms = 100;
    outlier.base_ejection_ms = base_ejection_ms;
    outlier.success_rate_stdev_factor = 1000; /* it is 1.41 of them away */
    outlier.success_rate_minimum_hosts = 3;
    outlier.success_rate_request_volume = 4;
    outlier.failure_percentage_threshold = 45;
    outlier.failure_percentage_minimum_hosts = 3;
    outlier.failure_percentage_request_volume = 4;
    app_fleet_begin(f);
    atomic_store(&app_servers[0].manner, manner);
    app_fleet_open(f, VC_CHANNEL_OPTS(.policy = policy, .max_attempts = 1,
                                      .outlier = &outlier));
}

/* Calls until a server was ejected. */
static void
ejected_await(struct app_fleet *f, uint32_t call_ms)
{
    uint64_t due = fixture_ms() + AWAIT_MS;

    while (n_ejected(f) == 0) {
        assert_true(fixture_ms() < due);
        app_nothing(f, call_ms);
    }
}

/* Server 0 is ejected for long: it gets no call, and people can see it. */
static void
server_0_is_out(struct app_fleet *f)
{
    unsigned before = atomic_load(&app_servers[0].calls);

    for (unsigned i = 0; i < CALLS; i++)
        assert_status(VC_OK, app_nothing(f, 10000));
    assert_int_equal(before, atomic_load(&app_servers[0].calls));
    assert_int_equal(1, n_ejected(f));
    assert_non_null(strstr(app_described(f), ": ejected,"));
    fixture_await(&f->ejected_ms, 1);
}

/* Some half of the calls of server 0 have failed, and none elsewhere. */
static void
is_logged(const struct app_fleet *f, uint32_t method)
{
    char begin[200];
    const char *end;
    double rate, mean, ours;
    unsigned good, bad;
    int n;

    n = snprintf(begin, sizeof begin,
                 "server %s is ejected for 600000 ms: of its calls ",
                 f->servers[0].target);
    assert_memory_equal(begin, f->ejected, n);
    assert_int_equal(2, sscanf(f->ejected + n,
                               "%u have succeeded, and %u have failed: ", &good,
                               &bad));
    ours =
        100.0 * (method == VC_OUTLIER_SUCCESS_RATE ? good : bad) / (good + bad);
    end = strstr(f->ejected, "failed: ") + 8;
    if (method == VC_OUTLIER_SUCCESS_RATE) {
        assert_int_equal(2, sscanf(end,
                                   "a success rate of %lf %%, and the mean of "
                                   "3 servers is %lf %%",
                                   &rate, &mean));
        assert_float_equal((200 + ours) / 3, mean, 0.2);
    } else {
        assert_int_equal(1, sscanf(end, "%lf", &rate));
        assert_non_null(strstr(end, " % failures, more than 45 %"));
    }
    assert_float_equal(ours, rate, 0.1);
}

static void
one_that_fails_half_of_its_calls_is_ejected(void **state)
{
    static const uint32_t methods[] = {VC_OUTLIER_SUCCESS_RATE,
                                       VC_OUTLIER_FAILURE_PERCENTAGE};
    static struct app_fleet f;

    (void)state;
    for (unsigned m = 0; m < 2; m++) {
        outlier_start(&f, "round_robin", methods[m], HALF_FAIL, 600000);
        ejected_await(&f, 10000);
        server_0_is_out(&f);
        is_logged(&f, methods[m]);
        app_fleet_end(&f);
    }
}

/* The line about server i must have its target, then `health`, and these
 * numbers. */
static void
line_is(const struct app_fleet *f, unsigned i, const char *health,
        const char *rest)
{
    const char *text = app_described(f), *line, *end;
    char begin[200];

    snprintf(begin, sizeof begin, "server %u of %u, %s: %s", i + 1, SERVERS,
             f->servers[i].target, health);
    line = strstr(text, begin);
    end = line == NULL ? NULL : strchr(line, '\n') + 1;
    if (end == NULL || end - line < (long)strlen(rest) ||
        strncmp(end - strlen(rest), rest, strlen(rest)) != 0)
        fail_msg("no line with \"%s\" and \"%s\" in: %s", begin, rest, text);
}

/* The others have no line about ejections. */
static void
people_see_its_calls_and_how_long_it_is_out(void **state)
{
    static struct app_fleet f;
    unsigned failed = 0;
    char rest[100];

    (void)state;
    outlier_start(&f, "round_robin", VC_OUTLIER_SUCCESS_RATE, HALF_FAIL,
                  605000);
    while (n_ejected(&f) == 0)
        failed += app_nothing(&f, 10000) != VC_OK;
    snprintf(rest, sizeof rest, ", %u calls, %u failed, ejected 1 time\n",
             atomic_load(&app_servers[0].calls), failed);
    line_is(&f, 0, "ejected, for 60", rest);
    snprintf(rest, sizeof rest, ": ready, %u calls, 0 failed\n",
             atomic_load(&app_servers[1].calls));
    line_is(&f, 1, "ready", rest);
    app_fleet_end(&f);
}

static void
people_see_weights_that_differ(void **state)
{
    static struct app_fleet f;

    (void)state;
    app_fleet_begin(&f);
    app_endpoints[0].weight = 2;
    app_fleet_open(&f, VC_CHANNEL_OPTS(.policy = "pick_first"));
    app_echo(&f, 1);
    line_is(&f, 0, "ready", ": ready, weight 2, 1 call, 0 failed\n");
    line_is(&f, 2, "idle", ": idle, weight 1, 0 calls, 0 failed\n");
    app_fleet_end(&f);
}

static void
one_that_does_not_answer_is_ejected_by_deadlines(void **state)
{
    static struct app_fleet f;

    (void)state;
    outlier_start(&f, "round_robin", VC_OUTLIER_FAILURE_PERCENTAGE, HANGS,
                  600000);
    ejected_await(&f, 10);
    server_0_is_out(&f);
    assert_null(strstr(app_described(&f), " 0 failed, ejected"));
    app_fleet_end(&f);
}

static void
an_ejected_one_comes_back_on_time(void **state)
{
    uint64_t due = fixture_ms() + AWAIT_MS;
    static struct app_fleet f;
    unsigned calls;

    (void)state;
    outlier_start(&f, "round_robin", VC_OUTLIER_SUCCESS_RATE, HALF_FAIL, 300);
    ejected_await(&f, 10000);
    atomic_store(&app_servers[0].manner, WELL);
    calls = atomic_load(&app_servers[0].calls);
    while (atomic_load(&app_servers[0].calls) == calls) {
        assert_true(fixture_ms() < due);
        assert_status(VC_OK, app_nothing(&f, 10000));
    }
    fixture_await(&f.back_ms, 1);
    assert_non_null(strstr(f.back, " gets calls again: its ejection is over"));
    assert_in_range(atomic_load(&f.back_ms) - atomic_load(&f.ejected_ms), 300,
                    AWAIT_MS);
    assert_null(strstr(app_described(&f), ": ejected,"));
    assert_non_null(strstr(app_described(&f), " failed, ejected 1 time\n"));
    assert_int_equal(1, n_ejected(&f));
    app_fleet_end(&f);
}

static void
an_ejected_one_that_is_left_alone_gets_calls(void **state)
{
    static struct app_fleet f;

    (void)state;
    outlier_start(&f, "round_robin", VC_OUTLIER_SUCCESS_RATE, HALF_FAIL,
                  600000);
    ejected_await(&f, 10000);
    app_only(0);
    fixture_await(&f.back_ms, 1);
    assert_non_null(strstr(f.back, ": there is no other to compare it with"));
    assert_null(strstr(app_described(&f), ": ejected,"));
    app_fleet_end(&f);
}

/* Each policy passes it by. */
static void
no_policy_gives_an_ejected_one_a_call(void **state)
{
    static const char *const policies[] = {
        "pick_first",    "weighted_round_robin",
        "least_request", "ring_hash",
        "priority",      "nearest"};
    struct vc_outlier_opts outlier = VC_OUTLIER_OPTS_INIT;

    (void)state;
    outlier.methods = VC_OUTLIER_FAILURE_PERCENTAGE;
    outlier.interval_ms = 50;
    outlier.base_ejection_ms = 600000;
    outlier.failure_percentage_threshold = 40;
    outlier.failure_percentage_minimum_hosts = 1;
    outlier.failure_percentage_request_volume = 4;
    for (unsigned p = 0; p < 6; p++) {
        static struct app_fleet f;

        app_fleet_begin(&f);
        app_endpoints[0].weight = 2;
        atomic_store(&app_servers[0].manner, HALF_FAIL);
        app_fleet_open(&f,
                       VC_CHANNEL_OPTS(.policy = policies[p], .max_attempts = 1,
                                       .outlier = &outlier));
        ejected_await(&f, 10000);
        server_0_is_out(&f);
        app_fleet_end(&f);
    }
}

/* --- health ---------------------------------------------------------------------- */

static struct vc_health *healths[SERVERS];

static void
health_add(struct vc_server *server, unsigned i)
{
    assert_status(VC_OK, vc_health_new(server, &healths[i]));
}

/* Opens a channel that watches the health of its servers as a whole. */
static void
health_start(struct app_fleet *f, const char *policy)
{
    app_add = health_add;
    app_fleet_begin(f);
    app_add = NULL;
    app_fleet_open(f, VC_CHANNEL_OPTS(.policy = policy, .health_service = ""));
}

static void
health_end(struct app_fleet *f)
{
    app_fleet_end(f);
    for (unsigned i = 0; i < SERVERS; i++)
        vc_health_free(healths[i]);
}

/* Waits until the channel is described with this text, or without it. */
static void
described_await(struct app_fleet *f, const char *text, bool with)
{
    uint64_t due = fixture_ms() + AWAIT_MS;

    while ((strstr(app_described(f), text) != NULL) != with) {
        assert_true(fixture_ms() < due);
        app_nothing(f, 10000);
    }
}

/* By whichever policy. */
static void
an_unhealthy_one_gets_no_call_until_it_is_healthy(void **state)
{
    static const char *const policies[] = {
        "round_robin",   "weighted_round_robin",
        "least_request", "ring_hash",
        "priority",      "nearest"};
    static struct app_fleet f;

    (void)state;
    for (unsigned p = 0; p < 6; p++) {
        unsigned before;

        health_start(&f, policies[p]);
        app_ready_await(&f, SERVERS);
        assert_status(VC_OK, vc_health_set(healths[0], "", false));
        described_await(&f, ": unhealthy (NOT_SERVING),", true);
        before = atomic_load(&app_servers[0].calls);
        for (unsigned i = 0; i < CALLS; i++)
            assert_status(VC_OK, app_nothing(&f, 10000));
        assert_int_equal(before, atomic_load(&app_servers[0].calls));
        assert_status(VC_OK, vc_health_set(healths[0], "", true));
        app_ready_await(&f, SERVERS);
        for (unsigned i = 0; i < CALLS; i++)
            assert_status(VC_OK, app_nothing(&f, 10000));
        assert_true(before < atomic_load(&app_servers[0].calls));
        health_end(&f);
    }
}

static void
if_all_are_unhealthy_a_call_ends_with_the_reason(void **state)
{
    static struct app_fleet f;
    uint64_t due = fixture_ms() + AWAIT_MS;

    (void)state;
    health_start(&f, "round_robin");
    app_ready_await(&f, SERVERS);
    for (unsigned i = 0; i < SERVERS; i++)
        assert_status(VC_OK, vc_health_set(healths[i], "", false));
    while (app_nothing(&f, 10000) == VC_OK)
        assert_true(fixture_ms() < due);
    assert_non_null(strstr(vc_error(), " is unhealthy: its health service "
                                       "reports NOT_SERVING for the whole "
                                       "server"));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    health_end(&f);
}

/* Its streams that watch it end at once, so the drain does too. */
static void
a_server_that_is_watched_drains_and_no_call_is_lost(void **state)
{
    static struct app_fleet f;
    uint64_t began;

    (void)state;
    health_start(&f, "round_robin");
    app_ready_await(&f, SERVERS);
    began = fixture_ms();
    assert_status(VC_OK, vc_server_drain(f.servers[0].server, NULL, AWAIT_MS));
    assert_in_range(fixture_ms() - began, 0, AWAIT_MS / 2);
    app_echo(&f, CALLS);
    health_end(&f);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(one_that_fails_half_of_its_calls_is_ejected),
        T(people_see_its_calls_and_how_long_it_is_out),
        T(people_see_weights_that_differ),
        T(one_that_does_not_answer_is_ejected_by_deadlines),
        T(an_ejected_one_comes_back_on_time),
        T(an_ejected_one_that_is_left_alone_gets_calls),
        T(no_policy_gives_an_ejected_one_a_call),
        T(an_unhealthy_one_gets_no_call_until_it_is_healthy),
        T(if_all_are_unhealthy_a_call_ends_with_the_reason),
        T(a_server_that_is_watched_drains_and_no_call_is_lost),
    };

    if (!app_register())
        return 1;
    return fixture_main(tests);
}
