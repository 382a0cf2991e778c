/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The policies of a channel whose servers a resolver names, with weights, load
 * reports, hash keys, priorities and labels; own_cases.c has policies of the
 * program's own. test_features_balance has lists without any of that. */
#include "tests/suite/app_fleet.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/call.h>
#include <verbcall/counters.h>
#include <verbcall/interceptor.h>
#include <verbcall/load.h>
#include <verbcall/stream.h>

#include "cm/link/schedule.h"
#include "rpc/load_report.h"
#include "tests/suite/own_cases.h"
#include "tests/suite/own_policies.h"

#define CALLS 300u
#define KEYS  40u

/* --- weighted_round_robin --------------------------------------------------- */

/* Each of n calls to servers of these weights goes to one of them; each gets
 * its share within 5 %. */
static void
calls_shared(const char *policy, const unsigned weights[SERVERS], unsigned n)
{
    unsigned share = n / (weights[0] + weights[1] + weights[2]);
    uint64_t before[SERVERS];
    static struct app_fleet f;

    app_fleet_begin(&f);
    for (unsigned i = 0; i < SERVERS; i++)
        app_endpoints[i].weight = weights[i];
    app_fleet_open(&f, VC_CHANNEL_OPTS(.policy = policy));
    app_ready_await(&f, SERVERS);
    for (unsigned i = 0; i < SERVERS; i++)
        before[i] = app_served_by(&f, i);
    app_echo(&f, n);
    for (unsigned i = 0; i < SERVERS; i++)
        assert_in_range(app_served_by(&f, i) - before[i],
                        share * weights[i] * 95 / 100,
                        share * weights[i] * 105 / 100);
    app_fleet_end(&f);
}

static void
shares_are_by_the_weights(void **state)
{
    (void)state;
    calls_shared("weighted_round_robin", (unsigned[]){1, 2, 5},
                 fixture_many(800, 100000));
}

/* Nearly all turns are those of a server that is gone. Calls at the same tick of
 * the clock do not all go to the same one of the others. */
static void
others_share_the_turns_of_a_heavy_one_that_is_gone(void **state)
{
    static struct app_fleet f;
    uint64_t before[SERVERS];

    (void)state;
    app_fleet_begin(&f);
    for (unsigned i = 0; i < SERVERS; i++)
        app_endpoints[i].weight = i == 0 ? 1000 : 1;
    app_fleet_open(&f, VC_CHANNEL_OPTS(.policy = "weighted_round_robin"));
    app_ready_await(&f, SERVERS);
    app_server_lose(&f, 0);
    for (unsigned i = 1; i < SERVERS; i++)
        before[i] = app_served_by(&f, i);
    app_echo(&f, 50);
    for (unsigned i = 1; i < SERVERS; i++)
        assert_true(app_served_by(&f, i) > before[i]);
    app_fleet_end(&f);
}

/* By default test_features_balance has fewer calls of it. */
static void
shares_of_very_many_calls_are_equal_by_round_robin(void **state)
{
    (void)state;
    if (fixture_many(0, 1) == 0)
        skip();
    calls_shared("round_robin", (unsigned[]){1, 1, 1}, 100000);
}

/* --- weighted_round_robin by load reports -------------------------------------- */

/* So many calls show how the servers share them. */
#define BATCH 140u

static const struct vc_server_opts reporting = {.size = sizeof reporting,
                                                .load_reports = 1};

/* Reports count at once, and not for long. */
static const struct vc_load_opts soon = {.size = sizeof soon,
                                         .blackout_ms = VC_LOAD_NONE,
                                         .expiration_ms = 300,
                                         .update_ms = 100};

/* What a server says of itself with each reply: its utilization, SILENT or
 * MALFORMED; by an interceptor. */
#define SILENT    0.0
#define MALFORMED (-1.0)
static _Atomic double says[SERVERS];

static enum vc_status
say(struct vc_interception *call, void **state, void *arg)
{
    struct vc__load_report report = {.rps = 100};
    uint8_t packed[VC__LOAD_REPORT_MAX];
    size_t len;

    (void)state;
    report.application_utilization = atomic_load((_Atomic double *)arg);
    if (report.application_utilization == SILENT)
        return VC_OK;
    len = vc__load_report_pack(packed, &report);
    if (report.application_utilization == MALFORMED)
        len--;
    return vc_call_add_trailing(vc_interception_call(call), VC__LOAD_REPORT_KEY,
                                packed, len);
}

static void
say_add(struct vc_server *server, unsigned i)
{
    assert_status(VC_OK, vc_server_intercept(
                             server, VC_INTERCEPTOR(.start = say,
                                                    .arg = (void *)&says[i])));
}

static void
says_set(double a, double b, double c)
{
    atomic_store(&says[0], a);
    atomic_store(&says[1], b);
    atomic_store(&says[2], c);
}

/* Servers that say what they like, and a channel that goes by it at once. */
static void
sayers_begin(struct app_fleet *f)
{
    says_set(SILENT, SILENT, SILENT);
    app_add = say_add;
    app_fleet_begin(f);
    app_add = NULL;
    app_fleet_open(
        f, VC_CHANNEL_OPTS(.policy = "weighted_round_robin", .load = &soon));
}

/* Makes a batch of calls; true if the servers share it so, within 10 %. */
static bool
is_shared(struct app_fleet *f, const double shares[SERVERS],
          uint64_t got[SERVERS])
{
    double sum = shares[0] + shares[1] + shares[2];
    bool good = true;

    for (unsigned i = 0; i < SERVERS; i++)
        got[i] = app_served_by(f, i);
    app_echo(f, BATCH);
    for (unsigned i = 0; i < SERVERS; i++) {
        double share = BATCH * shares[i] / sum;

        got[i] = app_served_by(f, i) - got[i];
        good &= (double)got[i] > share * 0.9 && (double)got[i] < share * 1.1;
    }
    return good;
}

/* Calls until the servers share calls so; between(), if not NULL, is called
 * after each batch. */
static void
shares_await(struct app_fleet *f, double a, double b, double c,
             void (*between)(struct app_fleet *f, const uint64_t got[SERVERS]))
{
    const double shares[SERVERS] = {a, b, c};
    uint64_t due = fixture_ms() + AWAIT_MS, got[SERVERS];

    while (!is_shared(f, shares, got)) {
        if (fixture_ms() > due)
            fail_msg("the servers get %u, %u, %u", (unsigned)got[0],
                     (unsigned)got[1], (unsigned)got[2]);
        if (between != NULL)
            between(f, got);
    }
}

static struct vc_counters
client_counters(const struct app_fleet *f)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(f->runtime, &c);
    return c;
}

static void
calls_go_by_what_the_servers_say(void **state)
{
    static struct app_fleet f;

    (void)state;
    sayers_begin(&f);
    says_set(0.2, 0.4, 0.8);
    shares_await(&f, 4, 2, 1, NULL);
    says_set(0.8, 0.4, 0.8);
    shares_await(&f, 1, 2, 1, NULL);
    assert_int_equal(0, client_counters(&f).load_reports_malformed);
    says_set(0.2, 0.4, MALFORMED); /* it gets the mean */
    shares_await(&f, 4, 2, 3, NULL);
    assert_true(client_counters(&f).load_reports_malformed > 0);
    says_set(0.2, SILENT, SILENT); /* one weight is not enough */
    shares_await(&f, 1, 1, 1, NULL);
    app_fleet_end(&f);
}

/* The resolver's weights count, as long as the channel exists. */
static void
a_channel_may_ignore_reports(void **state)
{
    static struct app_fleet f;
    uint64_t before;

    (void)state;
    sayers_begin(&f);
    says_set(0.2, 0.4, 0.8);
    shares_await(&f, 4, 2, 1, NULL);
    vc_channel_close(f.channel);
    app_endpoints[1].weight = 3;
    app_fleet_open(&f, VC_CHANNEL_OPTS(.policy = "weighted_round_robin",
                                       .load = VC_LOAD_OPTS(.ignore = 1)));
    before = client_counters(&f).load_reports;
    app_ready_await(&f, SERVERS);
    for (uint64_t until = fixture_ms() + 250; fixture_ms() < until;)
        shares_await(&f, 1, 3, 1, NULL);
    assert_int_equal(before, client_counters(&f).load_reports);
    app_fleet_end(&f);
}

/* A call costs 1, 2 and 4: each server is so busy as it has calls. */
static void
busy_set(struct app_fleet *f, const uint64_t got[SERVERS])
{
    for (unsigned i = 0; i < SERVERS; i++)
        assert_status(VC_OK,
                      vc_server_load_set(f->servers[i].server,
                                         (1u << i) * (double)got[i] / BATCH));
}

static void
reporters_begin(struct app_fleet *f)
{
    app_server_opts = &reporting;
    app_fleet_begin(f);
    app_server_opts = NULL;
}

static void
calls_go_by_what_the_servers_measure(void **state)
{
    static struct app_fleet f;

    (void)state;
    reporters_begin(&f);
    app_fleet_open(
        &f, VC_CHANNEL_OPTS(.policy = "weighted_round_robin", .load = &soon));
    shares_await(&f, 4, 2, 1, busy_set);
    app_fleet_end(&f);
}

/* With replies of all lengths about that of one packet. */
static void
no_reply_gets_too_long_by_its_report(void **state)
{
    struct fixture f;

    (void)state;
    fixture_start(&f, 1, &reporting, NULL);
    assert_status(VC_OK, vc_server_load_set(f.server, 0.5));
    for (size_t size = VC__EAGER_MAX - 120; size < VC__EAGER_MAX + 20; size++)
        assert_status(VC_OK, fixture_echo(f.channel, size, size));
    assert_status(VC_OK, fixture_echo(f.channel, 100000, 1));
    fixture_stop(&f);
}

/* --- ring_hash --------------------------------------------------------------- */

/* Makes one call for user k, or a stream. It has a second value of the key, each
 * time another, which does not count. */
static void
user_call(struct app_fleet *f, unsigned k, bool streams)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct suite_streams_talk_client_stream *stream;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Suite__EchoReply *reply;
    static char second = 'a';
    char user[20];
    const struct vc_metadata metadata[] = {
        {.key = "other", .value = "x", .length = 1},
        {.key = "user-id",
         .value = user,
         .length = (size_t)snprintf(user, sizeof user, "user-%u", k)},
        {.key = "user-id", .value = &second, .length = 1}};

    second = second == 'z' ? 'a' : (char)(second + 1);
    opts.metadata = metadata;
    opts.n_metadata = 3;
    request.tag = 10 + k;
    if (!streams) {
        assert_status(VC_OK,
                      suite_probe_echo(f->channel, &request, &opts, &reply));
        vc_message_free(reply);
        return;
    }
    assert_status(VC_OK, suite_streams_talk(f->channel, &opts, &stream));
    assert_status(VC_OK, suite_streams_talk_send(stream, &request));
    assert_status(VC_OK, suite_streams_talk_receive(stream, &reply));
    vc_message_free(reply);
    assert_status(VC_OK, suite_streams_talk_finish(stream));
    suite_streams_talk_close(stream);
}

/* The one server that serves n calls, or streams, of this user. */
static unsigned
server_of(struct app_fleet *f, unsigned k, unsigned n, bool streams)
{
    uint64_t before[SERVERS];
    unsigned found = SERVERS;

    for (unsigned i = 0; i < SERVERS; i++)
        before[i] = app_served_by(f, i);
    for (unsigned j = 0; j < n; j++)
        user_call(f, k, streams);
    for (unsigned i = 0; i < SERVERS; i++) {
        if (app_served_by(f, i) == before[i])
            continue;
        assert_int_equal(SERVERS, found); /* no second one */
        assert_int_equal(n, app_served_by(f, i) - before[i]);
        found = i;
    }
    assert_true(found < SERVERS);
    return found;
}

static void
ring_open(struct app_fleet *f)
{
    app_fleet_begin(f);
    /* Targets have other ports each time. */
    app_endpoints[0].hash_key = "a";
    app_endpoints[1].hash_key = "b";
    app_endpoints[2].hash_key = "c";
    app_fleet_open(
        f, VC_CHANNEL_OPTS(.policy = "ring_hash", .hash_metadata = "user-id"));
}

static void
calls_and_streams_of_one_key_go_to_one_server(void **state)
{
    unsigned keys[SERVERS] = {0};
    static struct app_fleet f;

    (void)state;
    ring_open(&f);
    for (unsigned k = 0; k < KEYS; k++) {
        unsigned i = server_of(&f, k, 5, false);

        assert_int_equal(i, server_of(&f, k, 2, true));
        keys[i]++;
    }
    for (unsigned i = 0; i < SERVERS; i++)
        assert_true(keys[i] > 0);
    app_fleet_end(&f);
}

static void
keys_of_a_server_that_ends_go_elsewhere_and_come_back(void **state)
{
    unsigned owner[KEYS];
    static struct app_fleet f;

    (void)state;
    ring_open(&f);
    for (unsigned k = 0; k < KEYS; k++)
        owner[k] = server_of(&f, k, 1, false);
    app_server_stop(&f, 1);
    for (unsigned k = 0; k < KEYS; k++)
        if (owner[k] != 1)
            assert_int_equal(owner[k], server_of(&f, k, 2, false));
        else
            server_of(&f, k, 2, false);
    app_server_start(&f, 1);
    app_served_await(&f, 1); /* by calls without a key, which go anywhere */
    for (unsigned k = 0; k < KEYS; k++)
        assert_int_equal(owner[k], server_of(&f, k, 1, false));
    app_fleet_end(&f);
}

/* --- priority ----------------------------------------------------------------- */

static void
calls_move_to_the_next_priority_and_back(void **state)
{
    static struct app_fleet f;

    (void)state;
    app_fleet_begin(&f);
    app_endpoints[0].priority = 1;
    app_endpoints[2].priority = 2;
    app_fleet_open(&f, VC_CHANNEL_OPTS(.policy = "priority"));
    app_echo(&f, CALLS);
    assert_int_equal(CALLS, app_served_by(&f, 1));
    assert_non_null(strstr(app_described(&f), ": idle,"));
    app_server_stop(&f, 1);
    app_echo(&f, CALLS);
    assert_int_equal(CALLS, app_served_by(&f, 0));
    app_server_start(&f, 1);
    app_served_await(&f, 1);
    app_echo(&f, CALLS);
    assert_in_range(app_served_by(&f, 1), CALLS + 1, 2 * CALLS);
    assert_int_equal(0, app_served_by(&f, 2));
    app_fleet_end(&f);
}

/* --- nearest ------------------------------------------------------------------ */

/* No other is even connected. */
static void
a_server_of_this_host_is_preferred(void **state)
{
    static struct app_fleet f;

    (void)state;
    app_fleet_begin(&f);
    app_endpoints[0].target = "tcp://240.0.0.1:1";
    app_endpoints[0].label = "here";
    app_endpoints[2].target = "tcp://240.0.0.2:1";
    app_fleet_open(&f, VC_CHANNEL_OPTS(.policy = "nearest", .label = "here"));
    app_echo(&f, CALLS);
    assert_int_equal(CALLS, app_served_by(&f, 1));
    assert_non_null(strstr(app_described(&f), "240.0.0.1:1: idle,"));
    assert_non_null(strstr(app_described(&f), "240.0.0.2:1: idle,"));
    app_fleet_end(&f);
}

/* To connect to 0.0.0.0 leads to this host, but does not say so. */
static void
then_come_those_with_the_label_of_this_program(void **state)
{
    static char targets[2][60];
    static struct app_fleet f;

    (void)state;
    if (strcmp(fixture_scheme(), "tcp") != 0)
        skip();
    setenv("VC_TEST_ADDR", "127.0.0.1", 1); /* where 0.0.0.0 leads */
    app_fleet_begin(&f);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(targets[i], sizeof targets[i], "tcp://0.0.0.0:%u",
                 f.servers[i].port);
        app_endpoints[i].target = targets[i];
    }
    app_endpoints[1].label = "here";
    app_fleet_open(&f, VC_CHANNEL_OPTS(.policy = "nearest", .label = "here"));
    app_echo(&f, CALLS);
    assert_int_equal(CALLS, app_served_by(&f, 2));
    app_server_stop(&f, 2);
    app_echo(&f, CALLS);
    assert_int_equal(CALLS, app_served_by(&f, 1));
    app_server_stop(&f, 1);
    app_echo(&f, CALLS);
    assert_int_equal(CALLS, app_served_by(&f, 0));
    app_fleet_end(&f);
}

/* --- load ---------------------------------------------------------------------- */

struct load {
    struct app_fleet *fleet;
    pthread_t threads[4];
    atomic_bool enough;
    atomic_uint calls, failed;
    char text[VC_ERROR_SIZE];
};

static void *
load_main(void *arg)
{
    struct load *l = arg;

    while (!atomic_load(&l->enough)) {
        if (app_nothing(l->fleet, 10000) != VC_OK &&
            atomic_fetch_add(&l->failed, 1) == 0)
            snprintf(l->text, sizeof l->text, "%s", vc_error());
        fixture_tell(&l->calls);
    }
    return NULL;
}

static void
load_start(struct load *l, struct app_fleet *f)
{
    memset(l, 0, sizeof *l);
    l->fleet = f;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(0, pthread_create(&l->threads[i], NULL, load_main, l));
}

static void
load_stop(struct load *l, const char *policy)
{
    atomic_store(&l->enough, true);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(l->threads[i], NULL);
    if (atomic_load(&l->failed) > 0)
        fail_msg("%s: %u of %u calls failed: %s", policy,
                 atomic_load(&l->failed), atomic_load(&l->calls), l->text);
}

/* Waits for n more calls. */
static void
load_await(struct load *l, unsigned n)
{
    for (unsigned at = atomic_load(&l->calls); n > 0; n -= n < 500 ? n : 500)
        fixture_await(&l->calls, at += n < 500 ? n : 500);
}

/* Without the policy it would get a third of them. */
static void
by_least_request_a_slow_server_gets_few_calls(void **state)
{
    unsigned before[SERVERS], all = 0;
    static struct app_fleet f;
    struct load l;

    (void)state;
    app_fleet_begin(&f);
    app_fleet_open(&f, VC_CHANNEL_OPTS(.policy = "least_request"));
    app_ready_await(&f, SERVERS);
    atomic_store(&app_servers[0].manner, SLOW);
    for (unsigned i = 0; i < SERVERS; i++)
        before[i] = atomic_load(&app_servers[i].calls);
    load_start(&l, &f);
    fixture_await(&l.calls, 2000);
    load_stop(&l, "least_request");
    for (unsigned i = 0; i < SERVERS; i++)
        all += atomic_load(&app_servers[i].calls) - before[i];
    assert_in_range(atomic_load(&app_servers[0].calls) - before[0], 0,
                    all / 10);
    app_fleet_end(&f);
}

/* With a list, whose choices hold nothing. */
static void
weights_change_while_threads_call(void **state)
{
    char target[SERVERS * 81 + 10];
    static struct app_fleet f;
    struct load l;

    (void)state;
    reporters_begin(&f);
    snprintf(target, sizeof target, "list:%s,%s,%s", f.servers[0].target,
             f.servers[1].target, f.servers[2].target);
    assert_status(
        VC_OK, vc_channel_open(f.runtime, target,
                               VC_CHANNEL_OPTS(.policy = "weighted_round_robin",
                                               .load = &soon),
                               &f.channel));
    load_start(&l, &f);
    for (unsigned n = 0; n < 6; n++) {
        uint64_t until = fixture_ms() + 100;

        for (unsigned i = 0; i < SERVERS; i++)
            assert_status(VC_OK, vc_server_load_set(f.servers[i].server,
                                                    0.1 + (n + 5 * i) % 7));
        while (fixture_ms() < until)
            app_echo(&f, 10);
    }
    load_stop(&l, "weighted_round_robin by load");
    assert_true(client_counters(&f).load_reports > 4 * SERVERS);
    app_fleet_end(&f);
}

/* Each of two servers is drained and closed while four threads call: 1,500
 * calls by each policy, or 100,500. */
static void
draining_loses_no_call_by_any_policy(void **state)
{
    static const char *const policies[] = {
        "pick_first",    "round_robin", "weighted_round_robin",
        "least_request", "ring_hash",   "priority",
        "nearest",       "own:best"};

    unsigned part = fixture_many(500, 33500);

    (void)state;
    for (unsigned p = 0; p < 8; p++) {
        static struct app_fleet f;
        struct load l;

        app_fleet_begin(&f);
        app_endpoints[0].weight = 3;
        app_endpoints[2].priority = 1;
        app_fleet_open(&f, VC_CHANNEL_OPTS(.policy = policies[p]));
        load_start(&l, &f);
        for (unsigned i = 0; i + 1 < SERVERS; i++) {
            load_await(&l, part);
            assert_status(VC_OK,
                          vc_server_drain(f.servers[i].server, NULL, 10000));
            app_server_stop(&f, i);
        }
        load_await(&l, part);
        load_stop(&l, policies[p]);
        app_fleet_end(&f);
    }
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(shares_are_by_the_weights),
        T(others_share_the_turns_of_a_heavy_one_that_is_gone),
        T(shares_of_very_many_calls_are_equal_by_round_robin),
        T(calls_go_by_what_the_servers_say),
        T(a_channel_may_ignore_reports),
        T(calls_go_by_what_the_servers_measure),
        T(no_reply_gets_too_long_by_its_report),
        T(calls_and_streams_of_one_key_go_to_one_server),
        T(keys_of_a_server_that_ends_go_elsewhere_and_come_back),
        T(calls_move_to_the_next_priority_and_back),
        T(a_server_of_this_host_is_preferred),
        T(then_come_those_with_the_label_of_this_program),
        T(by_least_request_a_slow_server_gets_few_calls),
        T(weights_change_while_threads_call),
        T(draining_loses_no_call_by_any_policy),
        T(calls_of_a_tenant_go_to_its_servers),
        T(an_ejected_server_gets_none_by_a_policy_that_asks),
        T(a_choice_that_is_none_fails_its_call_only),
        T(a_call_that_a_policy_fails_is_retried),
        T(a_policy_that_insists_on_a_server_has_its_calls_wait),
        T(a_policy_may_have_a_call_wait_after_it_has_insisted),
        T(a_call_that_is_to_wait_goes_when_there_is_a_server),
        T(a_call_that_waits_ends_at_its_deadline),
        T(a_deadline_that_is_noticed_late_ends_a_call_that_waits),
        T(messages_of_a_stream_that_waits_come_when_it_goes),
        T(a_stream_that_waits_ends_if_the_policy_fails_it),
        T(calls_that_wait_end_with_their_channel),
        T(a_further_attempt_knows_what_was_tried),
        T(a_policy_that_there_is_not_opens_no_channel),
    };

    if (!app_register() || !own_policies_register())
        return 1;
    return fixture_main(tests);
}
