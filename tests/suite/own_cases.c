/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See tests/suite/own_cases.h. */
#include "tests/suite/own_cases.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <verbcall/async.h>
#include <verbcall/call.h>
#include <verbcall/outlier.h>
#include <verbcall/stream.h>

#include "tests/suite/app_fleet.h"
#include "tests/suite/own_policies.h"

#define CALLS 300u
/* The kinds of channels: to servers of a resolver, to a list of them, and to
 * one of them. */
#define KINDS 3u

/* Fails the test unless the thread's last error has this text. */
static void
says(const char *text)
{
    if (strstr(vc_error(), text) == NULL)
        fail_msg("\"%s\" is not in: %s", text, vc_error());
}

/* --- by_tenant ------------------------------------------------------------ */

/* Opens a stream, and ends it. */
static enum vc_status
stream_once(struct app_fleet *f, const struct vc_call_opts *opts)
{
    struct suite_streams_talk_client_stream *stream;
    enum vc_status status = suite_streams_talk(f->channel, opts, &stream);

    if (status != VC_OK)
        return status;
    status = suite_streams_talk_finish(stream);
    suite_streams_talk_close(stream);
    return status;
}

/* Makes one call without retries, or opens a stream. */
static enum vc_status
tenant_call(struct app_fleet *f, const char *tenant, bool streams)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    const struct vc_metadata metadata = {
        .key = "tenant", .value = tenant, .length = strlen(tenant)};
    Suite__EchoReply *reply = NULL;
    enum vc_status status;

    opts.metadata = &metadata;
    opts.n_metadata = tenant[0] == '\0' ? 0 : 1;
    opts.flags = VC_CALL_NO_RETRY;
    if (streams)
        return stream_once(f, &opts);
    status = suite_probe_echo(f->channel, &request, &opts, &reply);
    vc_message_free(reply);
    return status;
}

void
calls_of_a_tenant_go_to_its_servers(void **state)
{
    static struct app_fleet f;

    (void)state;
    app_fleet_begin(&f);
    app_endpoints[0].label = app_endpoints[1].label = "acme";
    app_endpoints[2].label = "other";
    app_fleet_open(&f, VC_CHANNEL_OPTS(.policy = "by_tenant"));
    for (unsigned i = 0; i < CALLS; i++)
        assert_status(VC_OK, tenant_call(&f, "acme", i % 8 == 0));
    assert_int_equal(0, app_served_by(&f, 2));
    assert_in_range(app_served_by(&f, 0), CALLS / 4, CALLS * 3 / 4);
    assert_int_equal(CALLS, app_served_by(&f, 0) + app_served_by(&f, 1));
    for (unsigned streams = 0; streams < 2; streams++) {
        assert_status(VC_OK, tenant_call(&f, "other", streams));
        assert_int_equal(1 + streams, app_served_by(&f, 2));
        assert_status(VC_UNAVAILABLE, tenant_call(&f, "nobody", streams));
        says("policy by_tenant: no server is for tenant nobody");
        assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
        assert_status(VC_INVALID_ARGUMENT, tenant_call(&f, "", streams));
        says(": the policy by_tenant: the call names no tenant");
    }
    app_fleet_end(&f);
}

/* --- outlier detection ------------------------------------------------------ */

/* If the policy did not see its state it would get a third of the calls. */
void
an_ejected_server_gets_none_by_a_policy_that_asks(void **state)
{
    uint64_t due = fixture_ms() + AWAIT_MS;
    struct vc_outlier_opts outlier = VC_OUTLIER_OPTS_INIT;
    static struct app_fleet f;
    unsigned before;

    (void)state;
    outlier.methods = VC_OUTLIER_FAILURE_PERCENTAGE;
    outlier.interval_ms = 50;
    outlier.base_ejection_ms = 600000;
    outlier.failure_percentage_threshold = 40;
    outlier.failure_percentage_minimum_hosts = 1;
    outlier.failure_percentage_request_volume = 4;
    own_policy_reset();
    app_fleet_begin(&f);
    atomic_store(&app_servers[0].manner, HALF_FAIL);
    app_fleet_open(&f, VC_CHANNEL_OPTS(.policy = "own:best", .max_attempts = 1,
                                       .outlier = &outlier));
    while (strstr(app_described(&f), ": ejected,") == NULL) {
        assert_true(fixture_ms() < due);
        app_nothing(&f, 10000);
    }
    before = atomic_load(&app_servers[0].calls);
    for (unsigned i = 0; i < CALLS / 3; i++)
        assert_status(VC_OK, app_nothing(&f, 10000));
    assert_int_equal(before, atomic_load(&app_servers[0].calls));
    app_fleet_end(&f);
}

/* --- choices that are none ---------------------------------------------------- */

static void
own_open(struct app_fleet *f, unsigned kind, const char *policy)
{
    struct vc_channel_opts opts = VC_CHANNEL_OPTS_INIT;
    char list[400];

    opts.policy = policy;
    opts.retry_backoff_ms = 1;
    own_policy_reset();
    app_fleet_begin(f);
    if (kind == 0) {
        app_fleet_open(f, &opts);
        return;
    }
    snprintf(list, sizeof list, "list:%s,%s,%s", app_endpoints[0].target,
             app_endpoints[1].target, app_endpoints[2].target);
    assert_status(VC_OK,
                  vc_channel_open(f->runtime,
                                  kind == 1 ? list : app_endpoints[0].target,
                                  &opts, &f->channel));
}

/* The channel had one set of servers. */
static void
own_end(struct app_fleet *f)
{
    app_fleet_end(f);
    assert_int_equal(1, atomic_load(&own_policy.builds));
    assert_int_equal(1, atomic_load(&own_policy.destroys));
}

void
a_choice_that_is_none_fails_its_call_only(void **state)
{
    static struct app_fleet f;

    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        own_open(&f, kind, "own:returns");
        for (unsigned i = 0; i < 6; i++) {
            atomic_store(&own_policy.choice, i < 2 ? SERVERS : 12345678);
            assert_status(VC_INTERNAL, tenant_call(&f, "x", i % 2 != 0));
            says(": the policy own has chosen server ");
            assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
            assert_int_equal(2 * i + 1, atomic_load(&own_policy.picks));
            assert_int_equal(1, atomic_load(&own_policy.attempt));
            atomic_store(&own_policy.choice, 0);
            assert_status(VC_OK, tenant_call(&f, "x", i % 2 != 0));
        }
        own_end(&f);
    }
}

/* As any other that may pass. It has no reason here. */
void
a_call_that_a_policy_fails_is_retried(void **state)
{
    static struct app_fleet f;

    (void)state;
    own_open(&f, 0, "own:returns");
    atomic_store(&own_policy.choice, VC_PICK_FAIL);
    assert_status(VC_UNAVAILABLE, fixture_echo(f.channel, 10, 1));
    says(": the policy own: no server, and pick() gave no reason");
    assert_int_equal(3, atomic_load(&own_policy.picks));
    assert_int_equal(3, atomic_load(&own_policy.attempt));
    own_end(&f);
}

/* It is asked once more at once, as another server may be chosen; then after
 * each of two backoffs. */
void
a_policy_that_insists_on_a_server_has_its_calls_wait(void **state)
{
    static struct app_fleet f;

    (void)state;
    own_open(&f, 0, "own:returns");
    app_server_stop(&f, 1);
    atomic_store(&own_policy.choice, 1);
    assert_status(VC_UNAVAILABLE, fixture_echo(f.channel, 10, 1));
    assert_int_equal(4, atomic_load(&own_policy.picks));
    own_end(&f);
}

void
a_policy_may_have_a_call_wait_after_it_has_insisted(void **state)
{
    static struct app_fleet f;

    (void)state;
    own_open(&f, 0, "own:insists");
    app_server_stop(&f, 1);
    assert_status(VC_OK, fixture_echo(f.channel, 10, 1));
    assert_int_equal(4, atomic_load(&own_policy.picks));
    own_end(&f);
}

/* --- waiting ------------------------------------------------------------------- */

struct waiting {
    struct app_fleet *f;
    bool streams;
    enum vc_status status;
};

static void *
waiting_main(void *arg)
{
    struct waiting *w = arg;

    w->status = tenant_call(w->f, "x", w->streams);
    return NULL;
}

/* Starts a call and a stream, and waits until the policy was asked again. */
static void
waiting_start(struct app_fleet *f, pthread_t threads[2], struct waiting w[2])
{
    atomic_store(&own_policy.choice, VC_PICK_WAIT);
    for (unsigned i = 0; i < 2; i++) {
        w[i] = (struct waiting){.f = f, .streams = i == 1};
        assert_int_equal(
            0, pthread_create(&threads[i], NULL, waiting_main, &w[i]));
    }
    fixture_await(&own_policy.picks, 9);
    assert_int_equal(1, atomic_load(&own_policy.attempt));
}

void
a_call_that_is_to_wait_goes_when_there_is_a_server(void **state)
{
    static struct app_fleet f;
    struct waiting w[2];
    pthread_t threads[2];

    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        own_open(&f, kind, "own:returns");
        waiting_start(&f, threads, w);
        atomic_store(&own_policy.choice, 0);
        for (unsigned i = 0; i < 2; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(VC_OK, w[i].status);
        }
        own_end(&f);
    }
}

void
a_call_that_waits_ends_at_its_deadline(void **state)
{
    /* It follows, or comes before, how long the call has waited. */
    static const char text[] = "the channel's policy had no server for it";
    struct suite_streams_talk_client_stream *stream;
    Suite__EchoReply *reply;
    static struct app_fleet f;

    (void)state;
    own_open(&f, 0, "own:returns");
    atomic_store(&own_policy.choice, VC_PICK_WAIT);
    assert_status(VC_DEADLINE_EXCEEDED, app_nothing(&f, 200));
    says(text);
    assert_in_range(atomic_load(&own_policy.picks), 1, 25);
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    assert_status(
        VC_OK,
        suite_streams_talk(f.channel, VC_CALL_OPTS(.timeout_ms = 35), &stream));
    assert_status(VC_DEADLINE_EXCEEDED,
                  suite_streams_talk_receive(stream, &reply));
    says(text);
    suite_streams_talk_close(stream);
    own_end(&f);
}

/* Sends four messages, and reads what comes back; returns how many it has. */
static void *
talking_main(void *arg)
{
    struct suite_streams_talk_client_stream *stream = arg;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;
    uintptr_t n = 0;

    for (request.tag = 10; request.tag < 14; request.tag++) {
        if (suite_streams_talk_send(stream, &request) != VC_OK ||
            suite_streams_talk_receive(stream, &reply) != VC_OK)
            break;
        n += reply->tag == request.tag;
        vc_message_free(reply);
    }
    return (void *)n;
}

/* The first one waits in the stream while the policy is asked again and
 * again. */
void
messages_of_a_stream_that_waits_come_when_it_goes(void **state)
{
    struct suite_streams_talk_client_stream *stream;
    static struct app_fleet f;
    pthread_t thread;
    void *n;

    (void)state;
    own_open(&f, 0, "own:returns");
    atomic_store(&own_policy.choice, VC_PICK_WAIT);
    assert_status(VC_OK, suite_streams_talk(f.channel, NULL, &stream));
    fixture_await(&own_policy.picks, 3);
    assert_int_equal(0, pthread_create(&thread, NULL, talking_main, stream));
    fixture_await(&own_policy.picks, atomic_load(&own_policy.picks) + 4);
    atomic_store(&own_policy.choice, 0);
    pthread_join(thread, &n);
    assert_int_equal(4, (uintptr_t)n);
    assert_status(VC_OK, suite_streams_talk_finish(stream));
    suite_streams_talk_close(stream);
    own_end(&f);
}

void
a_stream_that_waits_ends_if_the_policy_fails_it(void **state)
{
    struct suite_streams_talk_client_stream *stream;
    Suite__EchoReply *reply;
    static struct app_fleet f;

    (void)state;
    own_open(&f, 0, "own:returns");
    atomic_store(&own_policy.choice, VC_PICK_WAIT);
    assert_status(VC_OK, suite_streams_talk(f.channel, NULL, &stream));
    fixture_await(&own_policy.picks, 3);
    atomic_store(&own_policy.choice, SERVERS);
    assert_status(VC_INTERNAL, suite_streams_talk_receive(stream, &reply));
    says("suite.Streams.Talk: the policy own has chosen server 3 of 3");
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    suite_streams_talk_close(stream);
    own_end(&f);
}

static void
nothing_done(enum vc_status status, Suite__Empty *reply, void *arg)
{
    struct waiting *w = arg;

    vc_message_free(reply);
    w->status = status;
}

/* The engine is late: the policy is to be asked again, and then the deadline
 * has passed. */
void
a_deadline_that_is_noticed_late_ends_a_call_that_waits(void **state)
{
    Suite__Empty request = SUITE__EMPTY__INIT;
    struct suite_streams_talk_client_stream *stream;
    struct waiting w = {.status = VC_OK};
    struct vc_runtime *runtime, *other;
    static struct app_fleet f;
    uint64_t until;

    (void)state;
    own_policy_reset();
    app_fleet_begin(&f);
    other = f.runtime;
    fixture_runtime_without_threads(&runtime);
    f.runtime = runtime;
    app_fleet_open(&f, VC_CHANNEL_OPTS(.policy = "own:returns"));
    atomic_store(&own_policy.choice, VC_PICK_WAIT);
    until = fixture_ms() + 60;
    assert_status(VC_OK,
                  suite_absent_nothing_async(f.channel, &request,
                                             VC_CALL_OPTS(.timeout_ms = 40),
                                             nothing_done, &w, NULL));
    assert_status(
        VC_OK,
        suite_streams_talk(f.channel, VC_CALL_OPTS(.timeout_ms = 40), &stream));
    vc_runtime_poll(runtime, 0);
    while (fixture_ms() < until)
        ;
    assert_status(VC_DEADLINE_EXCEEDED, suite_streams_talk_finish(stream));
    suite_streams_talk_close(stream);
    while (w.status == VC_OK)
        vc_runtime_poll(runtime, 1);
    assert_int_equal(VC_DEADLINE_EXCEEDED, w.status);
    vc_runtime_free(other);
    own_end(&f);
}

void
calls_that_wait_end_with_their_channel(void **state)
{
    Suite__Empty request = SUITE__EMPTY__INIT;
    struct suite_streams_talk_client_stream *stream;
    static struct app_fleet f;

    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct waiting w = {.status = VC_OK};

        own_open(&f, kind, "own:returns");
        atomic_store(&own_policy.choice, VC_PICK_WAIT);
        assert_status(VC_OK,
                      suite_absent_nothing_async(f.channel, &request, NULL,
                                                 nothing_done, &w, NULL));
        assert_status(VC_OK, suite_streams_talk(f.channel, NULL, &stream));
        fixture_await(&own_policy.picks, 5);
        assert_status(VC_OK, vc_channel_close(f.channel));
        f.channel = NULL;
        assert_int_equal(VC_CANCELLED, w.status);
        assert_status(VC_CANCELLED, suite_streams_talk_finish(stream));
        suite_streams_talk_close(stream);
        own_end(&f);
    }
}

/* --- others --------------------------------------------------------------------- */

void
a_further_attempt_knows_what_was_tried(void **state)
{
    static struct app_fleet f;

    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        own_open(&f, kind, "own:untried");
        app_server_stop(&f, 0);
        app_server_stop(&f, 1);
        app_echo(&f, 5);
        assert_int_equal(5, app_served_by(&f, 2));
        assert_int_equal(15, atomic_load(&own_policy.picks));
        own_end(&f);
    }
}

void
a_policy_that_there_is_not_opens_no_channel(void **state)
{
    static struct app_fleet f;

    (void)state;
    app_fleet_begin(&f);
    assert_status(VC_INVALID_ARGUMENT,
                  vc_channel_open(f.runtime,
                                  "app:", VC_CHANNEL_OPTS(.policy = "mine"),
                                  &f.channel));
    says("\"mine\" is none of pick_first");
    assert_status(VC_NOT_FOUND,
                  vc_channel_open(f.runtime,
                                  "app:", VC_CHANNEL_OPTS(.policy = "own:none"),
                                  &f.channel));
    assert_status(VC_NOT_FOUND,
                  vc_channel_open(f.runtime, app_endpoints[0].target,
                                  VC_CHANNEL_OPTS(.policy = "own:none"),
                                  &f.channel));
    says("the policy own cannot use the servers: there is no such manner");
    app_fleet_end(&f);
}
