/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a server reports and does about itself: health, reflection, drain,
 * redirect, limits and counters. */
#include "tests/suite/feature.h"
#include "tests/suite/health_cases.h"
#include "tests/suite/negotiated.h"
#include "tests/suite/pace.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <verbcall/counters.h>
#include <verbcall/reflection.h>

#include "verbcall/reflection/v1/reflection.vc.h"

#define DRAIN_MS 20000u
#define SHORT_MS 100u
#define AFTER    10u   /* calls after a drain */
#define MANY     5000u /* calls within which a client surely gets GOAWAY */

static struct vc_counters
counters_of(struct vc_runtime *runtime)
{
    struct vc_counters counters = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &counters);
    return counters;
}

/* Returns which server has answered a call: "first" or "second". */
static const char *
server_of_call(struct vc_channel *channel)
{
    Features__Order order = features_order(1, "call");
    Features__Report *report;
    const char *server;

    assert_status(VC_OK, features_work_once(channel, &order, NULL, &report));
    server = strcmp(report->text, "call by first") == 0    ? "first"
             : strcmp(report->text, "call by second") == 0 ? "second"
                                                           : "?";
    vc_message_free(report);
    return server;
}

static void
start_held(struct fixture *f, struct features_end *end)
{
    Features__Order order = features_order(1, "held");
    unsigned begun = atomic_load(&features_seen.begun);

    order.holds = 1;
    memset(end, 0, sizeof *end);
    assert_status(VC_OK, features_work_once_async(f->channel, &order, NULL,
                                                  features_done, end, NULL));
    fixture_await(&features_seen.begun, begun + 1);
}

/* --- reflection -------------------------------------------------------- */

static void
add_reflection(struct vc_server *server)
{
    features_add(server, "first");
    assert_status(VC_OK, vc_reflection_add(server));
}

static void
assert_lists_work(const Verbcall__Reflection__V1__ListReply *reply)
{
    const Verbcall__Reflection__V1__Service *work = reply->services[0];

    assert_string_equal("features.Work", work->name);
    assert_int_equal(features_work_service.n_methods, work->n_methods);
    for (unsigned i = 0; i < work->n_methods; i++) {
        const Verbcall__Reflection__V1__Method *m = work->methods[i];

        assert_string_equal(features_work_service.methods[i].name, m->name);
        assert_string_equal("features.Order", m->request_type);
        assert_string_equal("features.Report", m->reply_type);
        assert_int_equal(strcmp(m->name, "Tell") == 0, m->one_way);
    }
}

static void
reflection_lists_the_services_and_their_methods(void **state)
{
    Verbcall__Reflection__V1__ListRequest request =
        VERBCALL__REFLECTION__V1__LIST_REQUEST__INIT;
    static const char *const names[] = {"features.Work", "suite.Other",
                                        "suite.Probe", "suite.Streams",
                                        "verbcall.reflection.v1.Reflection"};
    Verbcall__Reflection__V1__ListReply *reply;
    struct fixture f;

    (void)state;
    fixture_add = add_reflection;
    features_start(&f, NULL, NULL);

    assert_status(VC_OK, verbcall_reflection_v1_reflection_list(
                             f.channel, &request, NULL, &reply));

    assert_int_equal(5, reply->n_services);
    for (unsigned i = 0; i < 5; i++)
        assert_string_equal(names[i], reply->services[i]->name);
    assert_lists_work(reply);
    vc_message_free(reply);
    features_stop(&f);
}

static void
reflection_has_the_file_of_a_method(void **state)
{
    Verbcall__Reflection__V1__FileRequest request =
        VERBCALL__REFLECTION__V1__FILE_REQUEST__INIT;
    Verbcall__Reflection__V1__FileReply *reply;
    struct fixture f;

    (void)state;
    fixture_add = add_reflection;
    features_start(&f, NULL, NULL);
    request.symbol = (char *)"features.Work.Look";

    assert_status(VC_OK, verbcall_reflection_v1_reflection_file(
                             f.channel, &request, NULL, &reply));

    assert_int_equal(features_work_service.file_length,
                     reply->file_descriptor_set.len);
    assert_memory_equal(features_work_service.file,
                        reply->file_descriptor_set.data,
                        reply->file_descriptor_set.len);
    vc_message_free(reply);
    request.symbol = (char *)"features.Work.None";
    assert_status(VC_NOT_FOUND, verbcall_reflection_v1_reflection_file(
                                    f.channel, &request, NULL, &reply));
    features_stop(&f);
}

/* --- drain ------------------------------------------------------------- */

struct drain {
    struct vc_server *server;
    const char *alternative;
    enum vc_status status;
    atomic_uint done;
};

static void *
drain_main(void *arg)
{
    struct drain *d = arg;

    d->status = vc_server_drain(d->server, d->alternative, DRAIN_MS);
    fixture_tell(&d->done);
    return NULL;
}

/* Makes calls until one is answered by the second server. */
static void
await_second(struct vc_channel *channel)
{
    for (unsigned i = 0; i < MANY; i++)
        if (strcmp("second", server_of_call(channel)) == 0)
            return;
    fail_msg("%u calls went to the server that is being drained", MANY);
}

static void
a_drained_server_ends_its_calls_and_new_ones_go_elsewhere(void **state)
{
    struct fixture *f = *state, second;
    static struct drain drain;
    static struct features_end held;
    pthread_t thread;

    features_start_second(&second);
    start_held(f, &held);
    drain.server = f->server;
    drain.alternative = second.target;
    assert_int_equal(0, pthread_create(&thread, NULL, drain_main, &drain));

    await_second(f->channel);

    assert_int_equal(0, atomic_load(&held.ends));
    assert_int_equal(0, atomic_load(&drain.done)); /* the drain waits for the
                                                    * call */
    features_gate_open();
    fixture_await(&held.ends, 1);
    assert_string_equal("held by first", held.text);
    pthread_join(thread, NULL);
    assert_status(VC_OK, drain.status);
    for (unsigned i = 0; i < AFTER; i++)
        assert_string_equal("second", server_of_call(f->channel));
    assert_int_equal(0, counters_of(f->server_runtime).links_server);
    fixture_stop_server(&second);
}

static void
a_server_drained_to_nowhere_refuses_who_comes(void **state)
{
    struct fixture *f = *state;
    Features__Order order = features_order(1, "call");
    unsigned before;
    Features__Report *report;

    assert_string_equal("first", server_of_call(f->channel));
    before = atomic_load(&features_seen.begun);

    assert_status(VC_OK, vc_server_drain(f->server, NULL, DRAIN_MS));

    assert_status(VC_UNAVAILABLE,
                  features_work_once(f->channel, &order, NULL, &report));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    assert_int_equal(before, atomic_load(&features_seen.begun));
    assert_true(counters_of(f->server_runtime).rejects_draining > 0);
}

static void
a_drain_whose_time_is_over_may_be_called_again(void **state)
{
    struct fixture *f = *state;
    static struct features_end held;
    uint64_t begun;

    start_held(f, &held);
    begun = fixture_ms();
    assert_status(VC_DEADLINE_EXCEEDED,
                  vc_server_drain(f->server, NULL, SHORT_MS));
    assert_true(fixture_ms() - begun >= SHORT_MS);
    assert_int_equal(0, atomic_load(&held.ends));

    features_gate_open();

    assert_status(VC_OK, vc_server_drain(f->server, NULL, DRAIN_MS));
    fixture_await(&held.ends, 1);
    assert_status(VC_OK, held.status);
}

/* --- redirect ---------------------------------------------------------- */

static void
a_redirected_call_runs_at_the_other_server(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct fixture f, second;

    (void)state;
    features_start_second(&second);
    opts.redirect[0] = second.target;
    features_start(&f, &opts, NULL);

    assert_string_equal("second", server_of_call(f.channel));

    assert_int_equal(1, atomic_load(&features_seen.begun));
    assert_int_equal(1, counters_of(f.server_runtime).rejects_moved);
    assert_int_equal(0, counters_of(f.server_runtime).calls_received);
    assert_int_equal(1, counters_of(second.server_runtime).calls_received);
    features_stop(&f);
    fixture_stop_server(&second);
}

struct decision {
    const char *target;
    int family;
};

static unsigned
decide(uint64_t service, const struct sockaddr *source,
       const char *targets[VC_REDIRECT_MAX], void *arg)
{
    struct decision *d = arg;

    d->family = source->sa_family;
    if (service != features_work_service.id)
        return 0;
    targets[0] = d->target;
    return 1;
}

static void
a_server_decides_for_each_client_where_it_goes(void **state)
{
    struct vc_server_opts opts = VC_SERVER_OPTS_INIT;
    struct decision decision = {.family = AF_UNSPEC};
    struct vc_channel *other;
    struct fixture f, second;

    (void)state;
    features_start_second(&second);
    decision.target = second.target;
    opts.redirect_decide = decide;
    opts.redirect_arg = &decision;
    features_start(&f, &opts, NULL);
    assert_status(VC_OK, fixture_open_alone(f.runtime, f.target, &other));

    assert_status(VC_OK, fixture_echo(other, 10, 1)); /* suite.Probe is not
                                                       * redirected */
    assert_string_equal("second", server_of_call(f.channel));

    assert_int_equal(fixture_has_names()             ? AF_UNIX
                     : strchr(f.target, '[') != NULL ? AF_INET6
                                                     : AF_INET,
                     decision.family);
    assert_int_equal(1, counters_of(f.server_runtime).calls_received);
    assert_int_equal(1, counters_of(second.server_runtime).calls_received);
    vc_channel_close(other);
    features_stop(&f);
    fixture_stop_server(&second);
}

/* --- handlers that block ----------------------------------------------- */

#define WAITING 8u

static void
handlers_that_are_said_to_block_begin_on_threads_of_their_own(void **state)
{
    static struct features_end ends[WAITING];
    Features__Order order = features_order(1, "waits");
    struct fixture *f = *state;
    struct vc_counters counters;

    order.holds = 1;
    for (unsigned i = 0; i < WAITING; i++)
        assert_status(VC_OK,
                      features_work_wait_async(f->channel, &order, NULL,
                                               features_done, &ends[i], NULL));
    fixture_await(&features_seen.begun, WAITING);
    /* Checked before the quick call, whose handler is taken over if it is
     * delayed. */
    assert_int_equal(0, counters_of(f->server_runtime).handlers_left);
    assert_string_equal("first", server_of_call(f->channel));

    counters = counters_of(f->server_runtime);
    assert_int_equal(WAITING, counters.handlers_apart);
    assert_int_equal(WAITING + 1, counters.handlers_started);
    features_gate_open();
    for (unsigned i = 0; i < WAITING; i++) {
        fixture_await(&ends[i].ends, 1);
        assert_status(VC_OK, ends[i].status);
    }
}

/* --- limits and counters ----------------------------------------------- */

static void
a_call_over_the_services_limit_is_refused(void **state)
{
    struct fixture *f = *state;
    Features__Order order = features_order(1, "more");
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    static struct features_end held;
    Features__Report *report;

    opts.flags = VC_CALL_NO_RETRY;
    assert_status(VC_OK, vc_server_limit(f->server, &features_work_service, 1));
    start_held(f, &held);

    assert_status(VC_RESOURCE_EXHAUSTED,
                  features_work_once(f->channel, &order, &opts, &report));

    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    assert_int_equal(1, atomic_load(&features_seen.begun));
    assert_int_equal(1, counters_of(f->server_runtime).calls_limited);
    assert_status(VC_OK, fixture_echo(f->channel, 1, 1)); /* another service has
                                                           * no limit */
    assert_status(VC_OK, vc_server_limit(f->server, &features_work_service, 0));
    assert_string_equal("first", server_of_call(f->channel));
    assert_int_equal(0, atomic_load(&held.ends));
    features_gate_open();
    fixture_await(&held.ends, 1);
    assert_status(VC_OK, held.status);
    assert_status(VC_NOT_FOUND,
                  vc_server_limit(f->server, &suite_absent_service, 1));
}

#define CLOSES_MS 5000 /* the server notices the end of its client's link */

static void
counters_of_kind_counter_only_grow(void **state)
{
    enum {
        GAUGE,
        COUNTER
    };
    struct fixture *f = *state;
    struct vc_counters before, after;
    uint64_t start;

    server_of_call(f->channel);
    before = counters_of(f->server_runtime);
    assert_int_equal(1, before.links_up);
    for (unsigned i = 0; i < AFTER; i++)
        server_of_call(f->channel);
    vc_channel_close(f->channel);
    f->channel = NULL;
    start = fixture_ms();
    while (counters_of(f->server_runtime).links_up > 0) {
        assert_in_range(pace_since(start), 0, CLOSES_MS);
        usleep(1000);
    }

    after = counters_of(f->server_runtime);

#define GROWS(name, kind, unit, what)                                          \
    if (kind == COUNTER && after.name < before.name)                           \
        fail_msg("%s has become less", #name);
    VC_COUNTERS(GROWS)
#undef GROWS
}

static void
counters_are_written_as_lines(void **state)
{
    struct fixture *f = *state;
    char text[8192], line[64], cut[16];
    struct vc_counters counters;
    size_t length;

    for (unsigned i = 0; i < AFTER; i++)
        server_of_call(f->channel);
    vc_runtime_stop(f->runtime); /* no counter changes any more */

    length = vc_runtime_counters_text(f->runtime, text, sizeof text);

    counters = counters_of(f->runtime);
    assert_int_equal(strlen(text), length);
    assert_int_equal(AFTER, counters.calls_started);
#define LINE(name, kind, unit, what)                                           \
    snprintf(line, sizeof line, #name " %llu\n",                               \
             (unsigned long long)counters.name);                               \
    assert_non_null(strstr(text, line));
    VC_COUNTERS(LINE)
#undef LINE
    assert_int_equal(length,
                     vc_runtime_counters_text(f->runtime, cut, sizeof cut));
    assert_int_equal(sizeof cut - 1, strlen(cut));
}

#define T(name)                                                                \
    cmocka_unit_test_setup_teardown(name, features_setup, features_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_health_check_tells_what_the_server_has_set),
        cmocka_unit_test(
            a_health_watch_sees_each_change_until_the_server_stops),
        cmocka_unit_test(three_hundred_watches_hold_no_thread_of_handlers),
        cmocka_unit_test(
            a_health_check_that_was_slow_once_keeps_no_later_one_waiting),
        cmocka_unit_test(
            a_watcher_that_does_not_read_gets_the_newest_state_only),
        cmocka_unit_test(a_watcher_that_does_not_read_delays_no_drain),
        cmocka_unit_test(calls_of_the_health_service_leave_max_calls_to_others),
        cmocka_unit_test(watches_that_come_and_go_disturb_no_other),
        cmocka_unit_test(reflection_lists_the_services_and_their_methods),
        cmocka_unit_test(reflection_has_the_file_of_a_method),
        T(a_drained_server_ends_its_calls_and_new_ones_go_elsewhere),
        T(a_server_drained_to_nowhere_refuses_who_comes),
        T(a_drain_whose_time_is_over_may_be_called_again),
        cmocka_unit_test(a_redirected_call_runs_at_the_other_server),
        cmocka_unit_test(a_server_decides_for_each_client_where_it_goes),
        T(handlers_that_are_said_to_block_begin_on_threads_of_their_own),
        T(a_call_over_the_services_limit_is_refused),
        T(counters_of_kind_counter_only_grow),
        T(counters_are_written_as_lines),
        cmocka_unit_test(
            another_schema_is_refused_where_the_server_asks_for_it),
        cmocka_unit_test(
            another_schema_is_served_with_a_warning_once_per_client),
        cmocka_unit_test(nothing_is_compared_unless_the_server_asks_for_it),
        cmocka_unit_test(an_accepted_schema_is_as_good_as_the_servers_own),
        cmocka_unit_test(
            an_older_client_is_judged_by_its_hello_and_else_refused),
        cmocka_unit_test(a_client_takes_the_counter_offer_of_the_server),
        cmocka_unit_test(
            a_further_link_gets_the_features_of_the_first_as_an_offer),
    };

    return fixture_main(tests);
}
