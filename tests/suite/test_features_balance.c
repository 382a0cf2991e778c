/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A channel with several servers ("list:"): who gets a call by each policy, and
 * what happens when one of them cannot be reached, drains or ends. */
#include "tests/suite/feature.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/counters.h>
#include <verbcall/interceptor.h>
#include <verbcall/stream.h>

#define SERVERS  3u
#define CALLS    300u
#define AWAIT_MS 10000
#define TEXT     4096

struct fleet {
    struct fixture servers[SERVERS]; /* without clients */
    struct vc_runtime *runtime;
    struct vc_channel *channel;
    char target[SERVERS * 81 + 100];
};

static unsigned n_added; /* servers that were made */
static unsigned refuse;  /* so many of the first of them refuse all calls */

static void
fleet_open(struct fleet *f, const char *policy)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;

    opts.policy = policy;
    assert_status(VC_OK,
                  vc_channel_open(f->runtime, f->target, &opts, &f->channel));
}

/* before: a target in front of those of the servers, with its comma; or "". */
static void
fleet_start(struct fleet *f, const char *before, const char *policy)
{
    memset(f, 0, sizeof *f);
    strcpy(f->target, "list:");
    strcat(f->target, before);
    for (unsigned i = 0; i < SERVERS; i++) {
        fixture_start_server(&f->servers[i], 1, NULL);
        if (i > 0)
            strcat(f->target, ",");
        strcat(f->target, f->servers[i].target);
    }
    assert_status(VC_OK, vc_runtime_new(NULL, &f->runtime));
    fleet_open(f, policy);
}

static void
server_stop(struct fleet *f, unsigned i)
{
    if (f->servers[i].server != NULL)
        fixture_stop_server(&f->servers[i]);
    f->servers[i].server = NULL;
}

static void
fleet_stop(struct fleet *f)
{
    vc_channel_close(f->channel);
    vc_runtime_free(f->runtime);
    for (unsigned i = 0; i < SERVERS; i++)
        server_stop(f, i);
}

static uint64_t
served_by(const struct fleet *f, unsigned i)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    vc_runtime_counters(f->servers[i].server_runtime, &c);
    return c.handlers_started;
}

/* How calls may end: well; or, while a server ends, also so that the client does
 * not know whether the handler ran; or anyhow. */
enum fate {
    FATE_GOOD,
    FATE_LOST,
    FATE_ANY
};

/* Makes a call, and fails if it ends otherwise. */
static void
echo_to(struct fleet *f, enum fate fate)
{
    enum vc_status status = fixture_echo(f->channel, 10, 1);

    if (fate == FATE_GOOD)
        assert_status(VC_OK, status);
    else if (fate == FATE_LOST && status != VC_OK)
        assert_int_equal(VC_OUTCOME_UNKNOWN, vc_error_outcome());
}

/* Makes calls until the description has this many servers that are ready. */
static void
ready_await_by(struct fleet *f, unsigned n, enum fate fate)
{
    uint64_t due = fixture_ms() + AWAIT_MS;
    unsigned ready = 0;

    while (ready != n) {
        static char text[TEXT];
        const char *at = text;

        assert_true(fixture_ms() < due);
        echo_to(f, fate);
        vc_channel_describe(f->channel, text, sizeof text);
        for (ready = 0; (at = strstr(at, ": ready,")) != NULL; at++)
            ready++;
    }
}

static void
ready_await(struct fleet *f, unsigned n)
{
    ready_await_by(f, n, refuse == 0 ? FATE_GOOD : FATE_ANY);
}

/* The number before this word in the line about server i. */
static unsigned
described(const struct fleet *f, unsigned i, const char *word)
{
    static char text[TEXT];
    char begin[32];
    const char *at;

    vc_channel_describe(f->channel, text, sizeof text);
    snprintf(begin, sizeof begin, "server %u of %u, ", i + 1, SERVERS);
    at = strstr(text, begin);
    at = at == NULL ? NULL : strstr(at, word);
    if (at == NULL)
        fail_msg("no \"%s\" of server %u in: %s", word, i + 1, text);
    while (at[-1] != ' ')
        at--;
    return (unsigned)strtoul(at, NULL, 10);
}

/* Of all servers. */
static unsigned
described_failed(const struct fleet *f)
{
    unsigned failed = 0;

    for (unsigned i = 0; i < SERVERS; i++)
        failed += described(f, i, " failed");
    return failed;
}

/* --- policies ------------------------------------------------------------ */

static void
by_round_robin_they_take_turns(void **state)
{
    uint64_t before[SERVERS];
    unsigned said[SERVERS];
    struct fleet f;

    (void)state;
    fleet_start(&f, "", "round_robin");
    ready_await(&f, SERVERS);
    for (unsigned i = 0; i < SERVERS; i++)
        before[i] = served_by(&f, i), said[i] = described(&f, i, " call");
    for (unsigned i = 0; i < CALLS; i++)
        assert_status(VC_OK, fixture_echo(f.channel, 10, i));
    for (unsigned i = 0; i < SERVERS; i++) {
        assert_int_equal(CALLS / SERVERS, served_by(&f, i) - before[i]);
        assert_int_equal(CALLS / SERVERS, described(&f, i, " call") - said[i]);
    }
    assert_int_equal(0, described_failed(&f));
    fleet_stop(&f);
}

static void
by_pick_first_the_first_has_all_until_it_ends(void **state)
{
    struct fleet f;

    (void)state;
    fleet_start(&f, "", NULL);
    for (unsigned i = 0; i < CALLS; i++)
        assert_status(VC_OK, fixture_echo(f.channel, 10, i));
    assert_int_equal(CALLS, served_by(&f, 0));
    assert_int_equal(0, served_by(&f, 1));
    server_stop(&f, 0);
    for (unsigned i = 0; i < CALLS; i++)
        assert_status(VC_OK, fixture_echo(f.channel, 10, i));
    assert_int_equal(CALLS, served_by(&f, 1));
    assert_int_equal(0, served_by(&f, 2));
    fleet_stop(&f);
}

static void
count_done(enum vc_status status, void *reply, void *arg)
{
    assert_status(VC_OK, status);
    vc_message_free(reply);
    fixture_tell(arg);
}

/* Calls of another channel keep the first server busy: the others get what
 * comes, as of two the one with fewer calls is chosen. */
static void
by_least_request_a_busy_one_gets_none(void **state)
{
    Suite__SleepRequest sleep = SUITE__SLEEP_REQUEST__INIT;
    static atomic_uint ended;
    struct vc_channel *other;
    uint64_t before;
    struct fleet f;

    (void)state;
    atomic_store(&ended, 0);
    fleet_start(&f, "", "least_request");
    assert_status(VC_OK, vc_runtime_start(f.runtime));
    ready_await(&f, SERVERS);
    assert_status(
        VC_OK, vc_channel_open(f.runtime, f.servers[0].target, NULL, &other));
    sleep.milliseconds = 1000;
    for (unsigned i = 0; i < 20; i++)
        assert_status(VC_OK, vc_channel_call_async(
                                 other, &suite_probe_service, SUITE_PROBE_SLEEP,
                                 &sleep, NULL, count_done, &ended, NULL));
    before = served_by(&f, 1) + served_by(&f, 2);
    for (unsigned i = 0; i < CALLS && atomic_load(&ended) == 0; i++)
        assert_status(VC_OK, fixture_echo(f.channel, 10, i));
    assert_int_equal(0, atomic_load(&ended));
    assert_int_equal(CALLS, served_by(&f, 1) + served_by(&f, 2) - before);
    fixture_await(&ended, 20);
    vc_channel_close(other);
    fleet_stop(&f);
}

/* --- servers that cannot be reached --------------------------------------- */

/* The target of a server that has ended, with a comma. */
static void
dead_target(char out[90])
{
    struct fixture f = {0};

    fixture_start_server(&f, 1, NULL);
    snprintf(out, 90, "%s,", f.target);
    fixture_stop_server(&f);
}

static void
one_that_is_not_there_costs_no_call(void **state)
{
    static const char *const policies[] = {"pick_first", "round_robin",
                                           "least_request"};

    (void)state;
    for (unsigned p = 0; p < 3; p++) {
        struct vc_counters c = VC_COUNTERS_INIT;
        char dead[90];
        struct fleet f;

        dead_target(dead);
        fleet_start(&f, dead, policies[p]);
        for (unsigned i = 0; i < CALLS; i++)
            assert_status(VC_OK, fixture_echo(f.channel, 10, i));
        vc_runtime_counters(f.runtime, &c);
        assert_int_equal(CALLS, served_by(&f, 0) + served_by(&f, 1) +
                                    served_by(&f, 2));
        assert_in_range(c.calls_retried, 0, 3);
        fleet_stop(&f);
    }
}

static void
if_none_is_there_the_call_says_so(void **state)
{
    struct fleet f;
    static char text[TEXT];

    (void)state;
    fleet_start(&f, "", "round_robin");
    for (unsigned i = 0; i < SERVERS; i++)
        server_stop(&f, i);
    assert_status(VC_UNAVAILABLE, fixture_echo(f.channel, 10, 1));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    vc_channel_describe(f.channel, text, sizeof text);
    assert_non_null(strstr(text, "server 1 of 3, "));
    assert_non_null(strstr(text, "server 3 of 3, "));
    assert_non_null(strstr(text, ": failing,"));
    assert_status(VC_UNAVAILABLE,
                  vc_channel_connect(f.channel, &suite_probe_service));
    fleet_stop(&f);
}

static void
connecting_takes_the_first_that_is_there(void **state)
{
    char dead[90];
    struct fleet f;

    (void)state;
    dead_target(dead);
    fleet_start(&f, dead, NULL);
    assert_status(VC_OK, vc_channel_connect(f.channel, &suite_probe_service));
    assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    assert_int_equal(1, served_by(&f, 0));
    fleet_stop(&f);
}

/* --- servers that refuse --------------------------------------------------- */

static enum vc_status
start_refused(struct vc_interception *call, void **state, void *arg)
{
    (void)state;
    (void)arg;
    return vc_interception_fail(call, VC_UNAVAILABLE, "not now");
}

static void
refusers_add(struct vc_server *server)
{
    if (n_added++ < refuse)
        assert_status(
            VC_OK, vc_server_intercept(server,
                                       VC_INTERCEPTOR(.start = start_refused)));
}

static void
refusing_start(struct fleet *f, const char *policy, unsigned n)
{
    n_added = 0;
    refuse = n;
    fixture_add = refusers_add;
    fleet_start(f, "", policy);
    fixture_add = NULL;
}

static void
refusing_stop(struct fleet *f)
{
    refuse = 0;
    fleet_stop(f);
}

/* A server that has answered has the call: it is tried again as any other, not
 * once more for each server. */
static void
what_a_server_refuses_is_tried_as_often_as_ever(void **state)
{
    struct vc_counters c = VC_COUNTERS_INIT;
    struct fleet f;

    (void)state;
    refusing_start(&f, "round_robin", SERVERS);
    assert_status(VC_OK, vc_channel_connect(f.channel, &suite_probe_service));
    assert_status(VC_UNAVAILABLE, fixture_echo(f.channel, 10, 1));
    vc_runtime_counters(f.runtime, &c);
    assert_int_equal(2, c.calls_retried); /* max_attempts is 3 */
    assert_int_equal(3, described_failed(&f));
    refusing_stop(&f);
}

/* The first server refuses, so a call that has met it goes elsewhere. */
static void
a_further_attempt_goes_to_another_server(void **state)
{
    struct fleet f;

    (void)state;
    refusing_start(&f, "least_request", 1);
    ready_await(&f, SERVERS);
    for (unsigned i = 0; i < 10; i++) {
        struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
        struct vc_channel *channel; /* each has a budget of retries */

        opts.policy = "least_request";
        opts.retry_backoff_ms = 1;
        assert_status(VC_OK,
                      vc_channel_open(f.runtime, f.target, &opts, &channel));
        for (unsigned k = 0; k < 4; k++)
            assert_status(VC_OK, fixture_echo(channel, 10, k));
        vc_channel_close(channel);
    }
    refusing_stop(&f);
}

/* --- servers that come and go ---------------------------------------------- */

struct load {
    struct fleet *fleet;
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
        if (fixture_echo(l->fleet->channel, 100, 1) != VC_OK &&
            atomic_fetch_add(&l->failed, 1) == 0)
            snprintf(l->text, sizeof l->text, "%s", vc_error());
        fixture_tell(&l->calls);
    }
    return NULL;
}

static void
load_start(struct load *l, struct fleet *f)
{
    memset(l, 0, sizeof *l);
    l->fleet = f;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(0, pthread_create(&l->threads[i], NULL, load_main, l));
}

static void
load_stop(struct load *l)
{
    atomic_store(&l->enough, true);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(l->threads[i], NULL);
    if (atomic_load(&l->failed) > 0)
        fail_msg("%u of %u calls failed: %s", atomic_load(&l->failed),
                 atomic_load(&l->calls), l->text);
}

/* Each server in turn is drained and closed while four threads call. Another
 * one takes the calls. */
static void
draining_one_loses_no_call(void **state)
{
    struct fleet f;
    struct load l;

    (void)state;
    fleet_start(&f, "", "round_robin");
    assert_status(VC_OK, vc_runtime_start(f.runtime));
    ready_await(&f, SERVERS);
    load_start(&l, &f);
    for (unsigned i = 0; i + 1 < SERVERS; i++) {
        fixture_await(&l.calls, atomic_load(&l.calls) + 1000);
        assert_status(VC_OK, vc_server_drain(f.servers[i].server, NULL, 10000));
        server_stop(&f, i);
    }
    fixture_await(&l.calls, atomic_load(&l.calls) + 1000);
    load_stop(&l);
    fleet_stop(&f);
}

/* The alternative has the share of the server that drains. */
static void
the_alternative_of_a_drain_takes_the_place(void **state)
{
    struct vc_counters c = VC_COUNTERS_INIT;
    struct fixture spare = {0};
    uint64_t before;
    struct fleet f;

    (void)state;
    fixture_start_server(&spare, 1, NULL);
    fleet_start(&f, "", "round_robin");
    ready_await(&f, SERVERS);
    assert_status(VC_OK, vc_runtime_start(f.runtime));
    assert_status(VC_OK,
                  vc_server_drain(f.servers[1].server, spare.target, 10000));
    ready_await(&f, SERVERS);
    before = served_by(&f, 1);
    for (unsigned i = 0; i < CALLS; i++)
        assert_status(VC_OK, fixture_echo(f.channel, 10, i));
    vc_runtime_counters(spare.server_runtime, &c);
    assert_in_range(c.handlers_started, CALLS / SERVERS, CALLS / 2);
    assert_int_equal(before, served_by(&f, 1));
    fleet_stop(&f);
    fixture_stop_server(&spare);
}

/* It gets calls again when it is back at its address. */
static void
one_that_is_back_gets_calls_again(void **state)
{
    struct fleet f;

    (void)state;
    fleet_start(&f, "", "round_robin");
    ready_await(&f, SERVERS);
    server_stop(&f, 1);
    ready_await_by(&f, SERVERS - 1, FATE_LOST);
    fixture_start_server_at(&f.servers[1], f.servers[1].port, 1, NULL);
    ready_await(&f, SERVERS);
    for (unsigned i = 0; i < CALLS; i++)
        assert_status(VC_OK, fixture_echo(f.channel, 10, i));
    assert_in_range(served_by(&f, 1), CALLS / SERVERS, CALLS);
    fleet_stop(&f);
}

/* All have failed, and then one is there: it is found. */
static void
one_that_is_back_is_found_when_all_have_failed(void **state)
{
    static const char *const policies[] = {"pick_first", "round_robin"};

    (void)state;
    for (unsigned p = 0; p < 2; p++) {
        uint64_t due = fixture_ms() + AWAIT_MS;
        struct fleet f;

        fleet_start(&f, "", policies[p]);
        ready_await(&f, p == 0 ? 1 : SERVERS);
        for (unsigned i = 0; i < SERVERS; i++)
            server_stop(&f, i);
        assert_int_not_equal(VC_OK, fixture_echo(f.channel, 10, 1));
        fixture_start_server_at(&f.servers[2], f.servers[2].port, 1, NULL);
        while (fixture_echo(f.channel, 10, 1) != VC_OK)
            assert_true(fixture_ms() < due);
        fleet_stop(&f);
    }
}

/* --- streams --------------------------------------------------------------- */

static void
a_stream_stays_with_its_server(void **state)
{
    struct suite_streams_talk_client_stream *streams[SERVERS];
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct fleet f;

    (void)state;
    fleet_start(&f, "", "round_robin");
    ready_await(&f, SERVERS);
    for (unsigned i = 0; i < SERVERS; i++)
        assert_status(VC_OK, suite_streams_talk(f.channel, NULL, &streams[i]));
    for (unsigned n = 0; n < 20; n++) {
        for (unsigned i = 0; i < SERVERS; i++) {
            Suite__EchoReply *reply;

            request.tag = 100 * i + 10 + n;
            assert_status(VC_OK, suite_streams_talk_send(streams[i], &request));
            assert_status(VC_OK,
                          suite_streams_talk_receive(streams[i], &reply));
            assert_int_equal(request.tag, reply->tag);
            vc_message_free(reply);
        }
    }
    for (unsigned i = 0; i < SERVERS; i++) {
        assert_status(VC_OK, suite_streams_talk_finish(streams[i]));
        suite_streams_talk_close(streams[i]);
    }
    assert_int_equal(0, described_failed(&f));
    fleet_stop(&f);
}

/* As of a call: three attempts by default. */
static void
each_attempt_of_a_stream_that_is_refused_has_failed(void **state)
{
    struct suite_streams_talk_client_stream *stream;
    Suite__EchoReply *reply;
    struct fleet f;

    (void)state;
    refusing_start(&f, "round_robin", SERVERS);
    assert_status(VC_OK, vc_channel_connect(f.channel, &suite_probe_service));
    assert_status(VC_OK, suite_streams_talk(f.channel, NULL, &stream));
    assert_status(VC_UNAVAILABLE, suite_streams_talk_receive(stream, &reply));
    suite_streams_talk_close(stream);
    assert_int_equal(3, described_failed(&f));
    refusing_stop(&f);
}

/* --- targets ----------------------------------------------------------------- */

static void
open_fails(struct vc_runtime *runtime, const char *target, const char *policy,
           const char *why)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    struct vc_channel *channel;

    opts.policy = policy;
    assert_status(VC_INVALID_ARGUMENT,
                  vc_channel_open(runtime, target, &opts, &channel));
    if (strstr(vc_error(), why) == NULL)
        fail_msg("\"%s\" is not in: %s", why, vc_error());
}

static void
bad_lists_are_refused(void **state)
{
    static char many[5 + 1025 * 12 + 1], text[400];
    struct vc_runtime *runtime;

    (void)state;
    assert_status(VC_OK, vc_runtime_new(NULL, &runtime));
    open_fails(runtime, "list:", NULL, "empty target");
    open_fails(runtime, "list:tcp://127.0.0.1:1,", NULL, "empty target");
    open_fails(runtime, "list:,tcp://127.0.0.1:1", NULL, "empty target");
    open_fails(runtime, "list:tcp://127.0.0.1:1,x://b:1", NULL,
               "unknown scheme");
    open_fails(runtime, "list:tcp://127.0.0.1:1,list:tcp://127.0.0.1:1", NULL,
               "unknown scheme");
    open_fails(runtime, "tcp://127.0.0.1:1", "fastest",
               "\"fastest\" is none of pick_first");
    strcpy(many, "list:");
    for (unsigned i = 0; i < 1025; i++)
        strcat(many, i == 0 ? "inproc://a" : ",inproc://a");
    open_fails(runtime, many, NULL, "at most 1024 targets");
    memset(text, 'a', sizeof text - 1);
    memcpy(text, "list:tcp://", 11);
    open_fails(runtime, text, NULL, "is longer than");
    vc_runtime_free(runtime);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(by_round_robin_they_take_turns),
        T(by_pick_first_the_first_has_all_until_it_ends),
        T(by_least_request_a_busy_one_gets_none),
        T(one_that_is_not_there_costs_no_call),
        T(if_none_is_there_the_call_says_so),
        T(connecting_takes_the_first_that_is_there),
        T(what_a_server_refuses_is_tried_as_often_as_ever),
        T(a_further_attempt_goes_to_another_server),
        T(draining_one_loses_no_call),
        T(the_alternative_of_a_drain_takes_the_place),
        T(one_that_is_back_gets_calls_again),
        T(one_that_is_back_is_found_when_all_have_failed),
        T(a_stream_stays_with_its_server),
        T(each_attempt_of_a_stream_that_is_refused_has_failed),
        T(bad_lists_are_refused),
    };

    return fixture_main(tests);
}
