/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The policies of a channel whose servers a resolver names, with weights, hash
 * keys, priorities and labels; own_cases.c has policies of the program's own.
 * test_features_balance has lists without any of that. */
#include "tests/suite/app_fleet.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <verbcall/call.h>
#include <verbcall/stream.h>

#include "tests/suite/own_cases.h"
#include "tests/suite/own_policies.h"

#define CALLS 300u
#define KEYS  40u

/* --- weighted_round_robin --------------------------------------------------- */

static void
shares_are_by_the_weights(void **state)
{
    static const unsigned weights[SERVERS] = {1, 2, 5};
    unsigned share = fixture_many(800, 100000) / 8;
    uint64_t before[SERVERS];
    static struct app_fleet f;

    (void)state;
    app_fleet_begin(&f);
    for (unsigned i = 0; i < SERVERS; i++)
        app_endpoints[i].weight = weights[i];
    app_fleet_open(&f, VC_CHANNEL_OPTS(.policy = "weighted_round_robin"));
    app_ready_await(&f, SERVERS);
    for (unsigned i = 0; i < SERVERS; i++)
        before[i] = app_served_by(&f, i);
    app_echo(&f, 8 * share);
    for (unsigned i = 0; i < SERVERS; i++)
        assert_in_range(app_served_by(&f, i) - before[i],
                        share * weights[i] * 95 / 100,
                        share * weights[i] * 105 / 100);
    app_fleet_end(&f);
}

/* --- ring_hash --------------------------------------------------------------- */

/* Makes one call for user k, or a stream. */
static void
user_call(struct app_fleet *f, unsigned k, bool streams)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct suite_streams_talk_client_stream *stream;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Suite__EchoReply *reply;
    char user[20];
    const struct vc_metadata metadata[] = {
        {.key = "other", .value = "x", .length = 1},
        {.key = "user-id",
         .value = user,
         .length = (size_t)snprintf(user, sizeof user, "user-%u", k)}};

    opts.metadata = metadata;
    opts.n_metadata = 2;
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
    assert_non_null(strstr(app_described(&f), ": idle\n"));
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
    assert_non_null(strstr(app_described(&f), "240.0.0.1:1: idle\n"));
    assert_non_null(strstr(app_described(&f), "240.0.0.2:1: idle\n"));
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

/* Each of two servers is drained and closed while four threads call. */
static void
draining_loses_no_call_by_any_policy(void **state)
{
    static const char *const policies[] = {
        "pick_first",    "round_robin", "weighted_round_robin",
        "least_request", "ring_hash",   "priority",
        "nearest",       "own:best"};

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
            fixture_await(&l.calls, atomic_load(&l.calls) + 500);
            assert_status(VC_OK,
                          vc_server_drain(f.servers[i].server, NULL, 10000));
            app_server_stop(&f, i);
        }
        fixture_await(&l.calls, atomic_load(&l.calls) + 500);
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
        T(calls_and_streams_of_one_key_go_to_one_server),
        T(keys_of_a_server_that_ends_go_elsewhere_and_come_back),
        T(calls_move_to_the_next_priority_and_back),
        T(a_server_of_this_host_is_preferred),
        T(then_come_those_with_the_label_of_this_program),
        T(by_least_request_a_slow_server_gets_few_calls),
        T(draining_loses_no_call_by_any_policy),
        T(calls_of_a_tenant_go_to_its_servers),
        T(an_ejected_server_gets_none_by_a_policy_that_asks),
        T(a_choice_that_is_none_fails_its_call_only),
        T(a_call_that_a_policy_fails_is_retried),
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
