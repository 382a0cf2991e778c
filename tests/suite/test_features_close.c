/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Draining and closing a server: several times, concurrently, without waiting,
 * in a program's own event loop, from a handler, where that must fail, and
 * while calls run that never end. */
#include "tests/suite/feature.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <verbcall/counters.h>

#define LONG_MS  20000u
#define SHORT_MS 100u
#define DRAINS   50u

static struct vc_counters
counters_of(struct vc_runtime *runtime)
{
    struct vc_counters counters = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &counters);
    return counters;
}

/* Starts a call whose handler waits at the gate. */
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

/* How a drain or a close ended. */
struct end {
    atomic_uint ends;
    enum vc_status status;
    char text[256];
    struct vc_server *frees; /* freed in done(); or NULL */
};

static void
on_end(enum vc_status status, void *arg)
{
    struct end *end = arg;

    end->status = status;
    if (status != VC_OK)
        snprintf(end->text, sizeof end->text, "%s", vc_error());
    vc_server_free(end->frees);
    fixture_tell(&end->ends);
}

/* --- drains -------------------------------------------------------------- */

static void
a_link_is_told_to_leave_once_however_often_its_server_is_drained(void **state)
{
    struct fixture *f = *state;
    static struct features_end held;
    uint64_t packets;

    start_held(f, &held);
    assert_status(VC_DEADLINE_EXCEEDED, vc_server_drain(f->server, NULL, 0));
    packets = counters_of(f->server_runtime).packets_sent;

    for (unsigned i = 0; i < DRAINS; i++)
        assert_status(VC_DEADLINE_EXCEEDED,
                      vc_server_drain(f->server, NULL, 0));

    /* Keepalive and credit updates may have sent some packets. */
    assert_in_range(counters_of(f->server_runtime).packets_sent - packets, 0,
                    DRAINS / 5);
    features_gate_open();
    fixture_await(&held.ends, 1);
}

static void
two_drains_at_a_time_end_each_at_its_own_time(void **state)
{
    struct fixture *f = *state;
    static struct features_end held;
    static struct end first, second;

    start_held(f, &held);
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    assert_status(
        VC_OK, vc_server_drain_start(f->server, NULL, LONG_MS, on_end, &first));
    assert_status(VC_OK, vc_server_drain_start(f->server, NULL, SHORT_MS,
                                               on_end, &second));

    fixture_await(&second.ends, 1);
    assert_int_equal(VC_DEADLINE_EXCEEDED, second.status);
    assert_int_equal(0, atomic_load(&first.ends));
    features_gate_open();
    fixture_await(&first.ends, 1);

    assert_int_equal(VC_OK, first.status);
    assert_int_equal(1, atomic_load(&second.ends));
    fixture_await(&held.ends, 1);
}

static const char *
server_of_call(struct vc_channel *channel)
{
    static char text[64];
    Features__Order order = features_order(1, "call");
    Features__Report *report;

    assert_status(VC_OK, features_work_once(channel, &order, NULL, &report));
    snprintf(text, sizeof text, "%s", report->text);
    vc_message_free(report);
    return text;
}

static void
the_last_alternative_counts_and_none_keeps_the_former(void **state)
{
    struct fixture *f = *state, second;
    char nowhere[80];

    features_start_second(&second);
    fixture_target(9, nowhere);
    assert_string_equal("call by first", server_of_call(f->channel));

    assert_status(VC_OK, vc_server_drain(f->server, nowhere, LONG_MS));
    assert_status(VC_OK, vc_server_drain(f->server, second.target, LONG_MS));
    assert_status(VC_OK, vc_server_drain(f->server, NULL, LONG_MS));
    assert_status(VC_INVALID_ARGUMENT,
                  vc_server_drain(f->server, "nowhere", LONG_MS));

    assert_string_equal("call by second", server_of_call(f->channel));
    fixture_stop_server(&second);
}

static void
a_close_ends_the_drains_of_its_server(void **state)
{
    struct fixture *f = *state;
    static struct features_end held;
    static struct end drain;

    start_held(f, &held);
    memset(&drain, 0, sizeof drain);
    assert_status(
        VC_OK, vc_server_drain_start(f->server, NULL, LONG_MS, on_end, &drain));

    assert_status(VC_OK, vc_server_close(f->server, LONG_MS));

    fixture_await(&drain.ends, 1);
    assert_int_equal(VC_CANCELLED, drain.status);
    assert_non_null(strstr(drain.text, "closed"));
    fixture_await(&held.ends, 1);
    assert_int_equal(VC_UNAVAILABLE, held.status);
}

/* --- closing -------------------------------------------------------------- */

/* Handlers of suite.Probe that only the test ends. */
static struct fixture_gate {
    atomic_uint begun, open;
    struct vc_call *later;
    struct vc_server *server;
    enum vc_status drained, closed;
    char drained_text[256], closed_text[256];
} gate;

static enum vc_status
stubborn(struct vc_call *call, const Suite__Empty *request,
         Suite__CountReply *reply, void *arg)
{
    (void)call, (void)request, (void)reply, (void)arg;
    fixture_tell(&gate.begun);
    fixture_await(&gate.open, 1);
    return VC_OK;
}

static enum vc_status
later(struct vc_call *call, const Suite__SleepRequest *request,
      Suite__SleepReply *reply, void *arg)
{
    (void)request, (void)reply, (void)arg;
    gate.later = call;
    fixture_tell(&gate.begun);
    return vc_call_later(call);
}

static enum vc_status
ends_its_server(struct vc_call *call, const Suite__EchoRequest *request,
                Suite__EchoReply *reply, void *arg)
{
    (void)call, (void)request, (void)reply, (void)arg;
    gate.drained = vc_server_drain(gate.server, NULL, LONG_MS);
    snprintf(gate.drained_text, sizeof gate.drained_text, "%s", vc_error());
    gate.closed = vc_server_close(gate.server, LONG_MS);
    snprintf(gate.closed_text, sizeof gate.closed_text, "%s", vc_error());
    fixture_tell(&gate.begun);
    return VC_OK;
}

static void
add_stubborn(struct vc_server *server)
{
    static const struct suite_probe_methods methods = {
        .count = stubborn, .sleep = later, .echo = ends_its_server};

    features_add(server, "first");
    assert_status(VC_OK, vc_server_remove(server, &suite_probe_service));
    assert_status(VC_OK, suite_probe_add(server, &methods, NULL));
}

static void
start_stubborn(struct fixture *f)
{
    memset(&gate, 0, sizeof gate);
    fixture_add = add_stubborn;
    features_start(f, NULL, NULL);
    assert_status(VC_OK, vc_runtime_start(f->runtime));
    gate.server = f->server;
}

static void
count_done(enum vc_status status, Suite__CountReply *reply, void *arg)
{
    vc_message_free(reply);
    *(enum vc_status *)arg = status;
}

static void
sleep_done(enum vc_status status, Suite__SleepReply *reply, void *arg)
{
    vc_message_free(reply);
    *(enum vc_status *)arg = status;
}

static void
a_close_names_the_handler_that_still_runs_and_its_age(void **state)
{
    const Suite__Empty request = SUITE__EMPTY__INIT;
    enum vc_status ended[2];
    struct fixture f;

    (void)state;
    start_stubborn(&f);
    for (unsigned i = 0; i < 2; i++) {
        assert_status(VC_OK,
                      suite_probe_count_async(f.channel, &request, NULL,
                                              count_done, &ended[i], NULL));
        fixture_await(&gate.begun, i + 1);
    }

    assert_status(VC_DEADLINE_EXCEEDED, vc_server_close(f.server, SHORT_MS));
    assert_non_null(strstr(vc_error(), "suite.Probe.Count has run for "));
    assert_non_null(strstr(vc_error(), " ms, and 1 more call;"));
    assert_status(VC_DEADLINE_EXCEEDED, vc_server_close(f.server, 0));

    fixture_tell(&gate.open);
    assert_status(VC_OK, vc_server_close(f.server, LONG_MS));
    assert_status(VC_OK, vc_server_close(f.server, 0));
    features_stop(&f);
}

#define CROWD 6u

static uint64_t
calls_received(const struct fixture *f)
{
    struct vc_counters c = VC_COUNTERS_INIT;

    assert_status(VC_OK, vc_runtime_counters(f->server_runtime, &c));
    return c.calls_received;
}

/* Without a spare thread only one handler begins. The calls that wait for their
 * turn have no age; they are only counted, while their link is being closed. */
static void
a_close_names_no_call_that_has_not_begun(void **state)
{
    const Suite__Empty request = SUITE__EMPTY__INIT;
    enum vc_status ended[CROWD];
    unsigned long ms, more;
    struct fixture f;
    const char *says;

    (void)state;
    fixture_handler_threads = 1;
    start_stubborn(&f);
    fixture_handler_threads = 0;
    for (unsigned i = 0; i < CROWD; i++)
        assert_status(VC_OK,
                      suite_probe_count_async(f.channel, &request, NULL,
                                              count_done, &ended[i], NULL));
    while (calls_received(&f) < CROWD)
        sched_yield();

    assert_status(VC_DEADLINE_EXCEEDED, vc_server_close(f.server, 0));
    says = strstr(vc_error(), "suite.Probe.Count has run for ");
    assert_non_null(says);
    assert_int_equal(2, sscanf(says,
                               "suite.Probe.Count has run for %lu ms, and %lu",
                               &ms, &more));
    assert_in_range(ms, 0, LONG_MS);
    assert_in_range(more, 0, CROWD - 1);

    fixture_tell(&gate.open);
    assert_status(VC_OK, vc_server_close(f.server, LONG_MS));
    features_stop(&f);
}

static void
a_close_names_the_call_that_nobody_ends(void **state)
{
    const Suite__SleepRequest request = SUITE__SLEEP_REQUEST__INIT;
    enum vc_status ended = VC_OK;
    struct fixture f;

    (void)state;
    start_stubborn(&f);
    assert_status(VC_OK, suite_probe_sleep_async(f.channel, &request, NULL,
                                                 sleep_done, &ended, NULL));
    fixture_await(&gate.begun, 1);

    assert_status(VC_DEADLINE_EXCEEDED, vc_server_close(f.server, SHORT_MS));
    assert_non_null(
        strstr(vc_error(), "suite.Probe.Sleep (waiting for vc_call_end())"));

    vc_call_end(gate.later, VC_OK);
    assert_status(VC_OK, vc_server_close(f.server, LONG_MS));
    features_stop(&f);
}

static void
a_server_that_is_closed_listens_no_more_and_says_so(void **state)
{
    struct fixture *f = *state;
    Features__Order order = features_order(1, "call");
    Features__Report *report;
    char target[80];

    assert_string_equal("call by first", server_of_call(f->channel));
    assert_status(VC_OK, vc_server_close(f->server, LONG_MS));

    assert_status(VC_UNAVAILABLE,
                  features_work_once(f->channel, &order, NULL, &report));
    assert_status(
        VC_FAILED_PRECONDITION,
        vc_server_listen(f->server,
                         fixture_target(fixture_free_number(), target)));
    assert_non_null(strstr(vc_error(), "closed"));
}

static void
a_handler_that_would_wait_for_itself_is_refused_at_once(void **state)
{
    const Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;
    struct fixture f;

    (void)state;
    start_stubborn(&f);

    assert_status(VC_OK, suite_probe_echo(f.channel, &request, NULL, &reply));

    vc_message_free(reply);
    fixture_await(&gate.begun, 1);
    assert_int_equal(VC_FAILED_PRECONDITION, gate.drained);
    assert_non_null(strstr(gate.drained_text, "vc_server_drain_start()"));
    assert_int_equal(VC_FAILED_PRECONDITION, gate.closed);
    assert_non_null(strstr(gate.closed_text, "vc_server_close_start()"));
    assert_string_equal("call by first", server_of_call(f.channel));
    features_stop(&f);
}

/* --- in a program's own event loop --------------------------------------- */

static void
loop_until(struct vc_runtime *runtime, atomic_uint *word)
{
    uint64_t until = fixture_ms() + LONG_MS;

    while (atomic_load(word) == 0 && fixture_ms() < until)
        vc_runtime_poll(runtime, SHORT_MS);
    assert_int_equal(1, atomic_load(word));
}

/* The client's thread answers GOAWAY and the end of the connection. */
static void
a_program_drains_closes_and_frees_its_server_in_its_own_loop(void **state)
{
    struct vc_runtime_opts opts = VC_RUNTIME_OPTS_INIT;
    static struct features_end end;
    static struct end drained, closed;
    Features__Order order = features_order(1, "call");
    struct fixture f;

    (void)state;
    memset(&end, 0, sizeof end);
    memset(&drained, 0, sizeof drained);
    memset(&closed, 0, sizeof closed);
    opts.threads = VC_THREADS_NONE;
    assert_status(VC_OK, vc_runtime_new(&opts, &f.server_runtime));
    assert_status(VC_OK, vc_server_new(f.server_runtime, NULL, &f.server));
    features_add(f.server, "own");
    f.port = fixture_free_number();
    assert_status(VC_OK,
                  vc_server_listen(f.server, fixture_target(f.port, f.target)));
    if (!fixture_has_names())
        fixture_target(vc_server_port(f.server), f.target);
    fixture_start_client(&f, NULL);
    assert_status(VC_OK, vc_runtime_start(f.runtime));
    assert_status(VC_OK, features_work_once_async(f.channel, &order, NULL,
                                                  features_done, &end, NULL));
    loop_until(f.server_runtime, &end.ends);
    assert_string_equal("call by own", end.text);

    assert_status(VC_OK, vc_server_drain_start(f.server, NULL, LONG_MS, on_end,
                                               &drained));
    loop_until(f.server_runtime, &drained.ends);
    assert_int_equal(VC_OK, drained.status);

    closed.frees = f.server;
    assert_status(VC_OK,
                  vc_server_close_start(f.server, LONG_MS, on_end, &closed));
    loop_until(f.server_runtime, &closed.ends);
    assert_int_equal(VC_OK, closed.status);

    vc_runtime_free(f.server_runtime);
    fixture_stop_client(&f);
}

static void
a_server_is_freed_while_its_drain_and_its_close_are_under_way(void **state)
{
    struct fixture *f = *state;
    static struct features_end held;
    static struct end drained, closed;

    start_held(f, &held);
    memset(&drained, 0, sizeof drained);
    memset(&closed, 0, sizeof closed);
    assert_status(VC_OK, vc_server_drain_start(f->server, NULL, LONG_MS, on_end,
                                               &drained));
    assert_status(VC_OK,
                  vc_server_close_start(f->server, LONG_MS, on_end, &closed));

    vc_server_free(f->server);

    assert_int_equal(1, atomic_load(&drained.ends));
    assert_int_equal(1, atomic_load(&closed.ends));
    assert_int_equal(VC_OK, closed.status);
    fixture_await(&held.ends, 1);
    f->server = NULL;
}

#define test(name)                                                             \
    cmocka_unit_test_setup_teardown(name, features_setup, features_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_link_is_told_to_leave_once_however_often_its_server_is_drained),
        test(two_drains_at_a_time_end_each_at_its_own_time),
        test(the_last_alternative_counts_and_none_keeps_the_former),
        test(a_close_ends_the_drains_of_its_server),
        cmocka_unit_test(a_close_names_the_handler_that_still_runs_and_its_age),
        cmocka_unit_test(a_close_names_no_call_that_has_not_begun),
        cmocka_unit_test(a_close_names_the_call_that_nobody_ends),
        test(a_server_that_is_closed_listens_no_more_and_says_so),
        cmocka_unit_test(
            a_handler_that_would_wait_for_itself_is_refused_at_once),
        cmocka_unit_test(
            a_program_drains_closes_and_frees_its_server_in_its_own_loop),
        test(a_server_is_freed_while_its_drain_and_its_close_are_under_way),
    };

    return fixture_main(tests);
}
