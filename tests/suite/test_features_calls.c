/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Options and features of calls: hedging, retries by the method's idempotency,
 * pushback, one-way calls, cancellers, and metadata in both directions. */
#include "tests/suite/feature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <verbcall/cancel.h>
#include <verbcall/counters.h>

#define HEDGE_MS    20u
#define PUSHBACK_MS 300
#define HELD        3u
#define TELL        3u /* index of a method of Work */

static struct vc_counters
counters_of(struct vc_runtime *runtime)
{
    struct vc_counters counters = VC_COUNTERS_INIT;

    vc_runtime_counters(runtime, &counters);
    return counters;
}

/* --- hedging ----------------------------------------------------------- */

static void
a_hedge_answers_before_an_attempt_that_is_slow(void **state)
{
    struct fixture *f = *state;
    Features__Order order = features_order(1, "hedged");
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_counters counters;
    Features__Report *report;

    order.holds = 1; /* the second attempt does not wait */
    opts.hedge_ms = HEDGE_MS;

    assert_status(VC_OK,
                  features_work_look(f->channel, &order, &opts, &report));

    assert_int_equal(2, report->attempt);
    vc_message_free(report);
    assert_int_equal(2, atomic_load(&features_seen.begun));
    fixture_await(&features_seen.cancelled, 1); /* the first is cancelled */
    counters = counters_of(f->runtime);
    assert_int_equal(1, counters.hedges_started);
    assert_int_equal(1, counters.hedges_won);
    assert_int_equal(0, counters.calls_retried);
}

static void
a_method_with_side_effects_has_no_hedge(void **state)
{
    struct fixture *f = *state;
    Features__Order order = features_order(1, "hedged");
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Features__Report *report;

    opts.hedge_ms = HEDGE_MS;

    assert_status(VC_INVALID_ARGUMENT,
                  features_work_again(f->channel, &order, &opts, &report));
    assert_status(VC_INVALID_ARGUMENT,
                  features_work_once(f->channel, &order, &opts, &report));

    assert_int_equal(0, atomic_load(&features_seen.begun));
    assert_int_equal(0, counters_of(f->runtime).hedges_started);
}

/* --- retries ----------------------------------------------------------- */

static Features__Order
failing_order(uint32_t failures)
{
    Features__Order order = features_order(1, "retried");

    order.failures = failures;
    order.status = VC_UNAVAILABLE;
    return order;
}

static void
an_idempotent_method_that_failed_is_tried_again(void **state)
{
    struct fixture *f = *state;
    const Features__Order order = failing_order(2);
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_result result = VC_RESULT_INIT;
    Features__Report *report;

    opts.result = &result;

    assert_status(VC_OK,
                  features_work_again(f->channel, &order, &opts, &report));

    assert_int_equal(3, report->attempt);
    vc_message_free(report);
    assert_int_equal(3, result.attempts);
    vc_result_clear(&result);
    assert_int_equal(3, atomic_load(&features_seen.begun));
    assert_int_equal(1 + 2 + 3, atomic_load(&features_seen.attempts));
    assert_int_equal(2, counters_of(f->runtime).calls_retried);
}

static void
a_method_that_may_run_once_is_not_tried_again(void **state)
{
    struct fixture *f = *state;
    const Features__Order order = failing_order(1);
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Features__Report *report;

    assert_status(VC_UNAVAILABLE,
                  features_work_once(f->channel, &order, NULL, &report));
    assert_string_equal("attempt 1 failed by first", vc_error());
    assert_int_equal(VC_OUTCOME_EXECUTED, vc_error_outcome());
    assert_int_equal(1, atomic_load(&features_seen.begun));

    /* An idempotent method is not retried either, if the caller forbids it. */
    opts.flags = VC_CALL_NO_RETRY;
    assert_status(VC_UNAVAILABLE,
                  features_work_again(f->channel, &order, &opts, &report));
    assert_int_equal(2, atomic_load(&features_seen.begun));
    assert_int_equal(0, counters_of(f->runtime).calls_retried);
}

/* Without pushback the second attempt would follow after 100 ms at most. */
static void
a_server_puts_the_next_attempt_off(void **state)
{
    struct fixture *f = *state;
    Features__Order order = failing_order(1);
    Features__Report *report;
    uint64_t begun = fixture_ms();

    order.pushes_back = true;
    order.pushback_ms = PUSHBACK_MS;

    assert_status(VC_OK,
                  features_work_again(f->channel, &order, NULL, &report));

    assert_true(fixture_ms() - begun >= PUSHBACK_MS);
    assert_int_equal(2, report->attempt);
    vc_message_free(report);
}

static void
a_server_forbids_the_next_attempt(void **state)
{
    struct fixture *f = *state;
    Features__Order order = failing_order(1);
    Features__Report *report;

    order.pushes_back = true;
    order.pushback_ms = -1;

    assert_status(VC_UNAVAILABLE,
                  features_work_again(f->channel, &order, NULL, &report));

    assert_int_equal(1, atomic_load(&features_seen.begun));
    assert_int_equal(0, counters_of(f->runtime).calls_retried);
}

/* --- one way ----------------------------------------------------------- */

static void
a_one_way_call_returns_while_its_handler_runs(void **state)
{
    struct fixture *f = *state;
    Features__Order order = features_order(1, "told");

    order.holds = 1;

    assert_status(VC_OK, features_work_tell(f->channel, &order, NULL));
    fixture_await(&features_seen.begun, 1);
    assert_int_equal(0, atomic_load(&features_seen.ended));

    features_gate_open();
    fixture_await(&features_seen.ended, 1);
    assert_int_equal(1, atomic_load(&features_seen.begun));
    assert_int_equal(0, atomic_load(&features_seen.cancelled));
}

struct answered {
    enum vc_status status;
    unsigned handlers; /* that had returned at the callback */
    atomic_uint ends;
};

static void
on_answered(enum vc_status status, void *reply, void *arg)
{
    struct answered *a = arg;

    vc_message_free(reply);
    a->status = status;
    a->handlers = atomic_load(&features_seen.ended);
    fixture_tell(&a->ends);
}

static void
the_callback_of_a_one_way_call_runs_once_the_server_has_answered(void **state)
{
    struct fixture *f = *state;
    Features__Order order = features_order(1, "told");
    static struct answered answered = {.status = VC_UNKNOWN};

    order.holds = 1;

    assert_status(VC_OK, vc_channel_call_async(
                             f->channel, &features_work_service, TELL, &order,
                             NULL, on_answered, &answered, NULL));
    fixture_await(&features_seen.begun, 1);
    features_gate_open();

    fixture_await(&answered.ends, 1);
    assert_status(VC_OK, answered.status);
    assert_int_equal(1, answered.handlers);
}

/* --- cancellers -------------------------------------------------------- */

static void
start_held(struct fixture *f, struct vc_canceller *canceller,
           struct features_end *end)
{
    Features__Order order = features_order(1, "held");
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    order.holds = 1;
    opts.canceller = canceller;
    assert_status(VC_OK, features_work_once_async(f->channel, &order, &opts,
                                                  features_done, end, NULL));
}

static void
a_canceller_ends_all_its_calls_and_no_others(void **state)
{
    struct fixture *f = *state;
    static struct features_end ends[HELD], other;
    struct vc_canceller *canceller;

    assert_status(VC_OK, vc_canceller_new(&canceller));
    for (unsigned i = 0; i < HELD; i++)
        start_held(f, canceller, &ends[i]);
    start_held(f, NULL, &other);
    fixture_await(&features_seen.begun, HELD + 1);

    vc_cancel(canceller);

    for (unsigned i = 0; i < HELD; i++) {
        fixture_await(&ends[i].ends, 1);
        assert_status(VC_CANCELLED, ends[i].status);
        assert_int_equal(VC_OUTCOME_UNKNOWN, ends[i].outcome);
    }
    fixture_await(&features_seen.cancelled, HELD);
    assert_int_equal(HELD, counters_of(f->server_runtime).calls_cancelled);
    assert_int_equal(0, atomic_load(&other.ends));
    features_gate_open();
    fixture_await(&other.ends, 1);
    assert_status(VC_OK, other.status);
    vc_canceller_free(canceller);
}

static void
a_call_with_a_cancelled_canceller_does_not_begin(void **state)
{
    struct fixture *f = *state;
    Features__Order order = features_order(1, "late");
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_canceller *canceller;
    Features__Report *report;

    assert_status(VC_OK, vc_canceller_new(&canceller));
    opts.canceller = canceller;
    assert_status(VC_OK,
                  features_work_once(f->channel, &order, &opts, &report));
    vc_message_free(report);

    vc_cancel(canceller);

    assert_status(VC_CANCELLED,
                  features_work_once(f->channel, &order, &opts, &report));
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    assert_int_equal(1, atomic_load(&features_seen.begun));
    vc_canceller_free(canceller);
}

/* --- metadata and details ---------------------------------------------- */

/* Sends all received metadata back as trailing metadata, and their count as
 * details. */
static enum vc_status
reflect(struct vc_call *call, const Features__Order *order,
        Features__Report *report, void *arg)
{
    const struct vc_metadata *came;
    enum vc_status status = VC_OK;
    uint8_t count;
    size_t n;

    (void)order;
    (void)report;
    (void)arg;
    came = vc_call_metadata(call, &n);
    for (size_t i = 0; i < n && status == VC_OK; i++)
        status = vc_call_add_trailing(call, came[i].key, came[i].value,
                                      came[i].length);
    count = (uint8_t)n;
    if (status == VC_OK)
        status = vc_call_details(call, &count, sizeof count);
    return status == VC_OK ? vc_call_fail(call, VC_ABORTED, "reflected")
                           : status;
}

static void
add_reflect(struct vc_server *server)
{
    static const struct features_work_methods methods = {.once = reflect};

    assert_status(VC_OK, features_work_add(server, &methods, NULL));
}

static void
assert_metadata(const struct vc_metadata *expected,
                const struct vc_metadata *actual)
{
    assert_string_equal(expected->key, actual->key);
    assert_int_equal(expected->length, actual->length);
    assert_memory_equal(expected->value, actual->value, expected->length);
}

static void
metadata_and_details_come_as_they_went(void **state)
{
    static const struct vc_metadata sent[] = {
        {"color", "red", 3}, {"raw-bin", "\0\xff\n", 3}, {"color", "blue", 4}};
    Features__Order order = features_order(1, "metadata");
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct vc_result result = VC_RESULT_INIT;
    Features__Report *report;
    struct fixture f;

    (void)state;
    fixture_add = add_reflect;
    features_start(&f, NULL, NULL);
    opts.metadata = sent;
    opts.n_metadata = 3;
    opts.result = &result;

    assert_status(VC_ABORTED,
                  features_work_once(f.channel, &order, &opts, &report));

    assert_string_equal("reflected", result.message);
    assert_int_equal(VC_OUTCOME_EXECUTED, result.outcome);
    assert_int_equal(3, result.n_trailing);
    for (unsigned i = 0; i < 3; i++)
        assert_metadata(&sent[i], &result.trailing[i]);
    assert_int_equal(1, result.details_length);
    assert_int_equal(3, *(const uint8_t *)result.details);
    vc_result_clear(&result);
    features_stop(&f);
}

/* --- the error text of a handler ----------------------------------------- */

#define TEXT_MAX 1024u

static enum vc_status
call_fail(struct fixture *f, char *text)
{
    Suite__FailRequest request = SUITE__FAIL_REQUEST__INIT;
    Suite__Empty *reply = NULL;

    request.status = VC_ABORTED;
    request.text = text;
    return suite_probe_fail(f->channel, &request, NULL, &reply);
}

/* The first TEXT_MAX bytes end with "end"; a longer text continues after
 * them. */
static char *
long_text(char *text, size_t size)
{
    memset(text, 'x', size - 1);
    text[size - 1] = '\0';
    memcpy(text + TEXT_MAX - 3, "end", 3);
    return text;
}

static void
a_text_of_1024_bytes_arrives_whole(void **state)
{
    struct fixture *f = *state;
    char text[TEXT_MAX + 1];

    assert_status(VC_ABORTED, call_fail(f, long_text(text, sizeof text)));

    assert_string_equal(text, vc_error());
}

static void
a_longer_text_is_cut(void **state)
{
    struct fixture *f = *state;
    char text[2 * TEXT_MAX];

    assert_status(VC_ABORTED, call_fail(f, long_text(text, sizeof text)));

    text[TEXT_MAX] = '\0';
    assert_string_equal(text, vc_error());
}

static void
a_long_text_is_cut_between_characters(void **state)
{
    struct fixture *f = *state;
    char text[2 * TEXT_MAX + 2] = "x";

    for (unsigned i = 0; i < TEXT_MAX; i++)
        memcpy(text + 1 + 2 * i, "\xc3\xa4", 3);

    assert_status(VC_ABORTED, call_fail(f, text));

    assert_int_equal(TEXT_MAX - 1, strlen(vc_error()));
}

/* --- what a handler can query about its call ----------------------------- */

static struct {
    char service[32], method[32], peer[160];
    uint32_t left_ms;
    atomic_uint turns; /* of handler and caller: orders them for the thread
                        * sanitizer */
} asked;

static enum vc_status
ask(struct vc_call *call, const Suite__Empty *request, Suite__Empty *reply,
    void *arg)
{
    (void)request;
    (void)reply;
    (void)arg;
    atomic_fetch_add(&asked.turns, 1);
    snprintf(asked.service, sizeof asked.service, "%s", vc_call_service(call));
    snprintf(asked.method, sizeof asked.method, "%s", vc_call_method(call));
    snprintf(asked.peer, sizeof asked.peer, "%s", vc_call_peer(call));
    asked.left_ms = vc_call_time_left_ms(call);
    atomic_fetch_add(&asked.turns, 1);
    return VC_OK;
}

static void
add_asking(struct vc_server *server)
{
    static const struct suite_absent_methods methods = {.nothing = ask};

    features_add(server, "first");
    assert_status(VC_OK, suite_absent_add(server, &methods, NULL));
}

static void
call_that_is_asked(struct fixture *f, uint32_t timeout_ms)
{
    const Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__Empty *reply;

    atomic_fetch_add(&asked.turns, 1);
    assert_status(VC_OK, suite_absent_nothing(
                             f->channel, &request,
                             VC_CALL_OPTS(.timeout_ms = timeout_ms), &reply));
    atomic_fetch_add(&asked.turns, 1);
    vc_message_free(reply);
}

static bool
begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Expects "tcp://ADDRESS:PORT" with the client's port, or "shm:" and "inproc:"
 * with the process; at vc:// any of them. */
static void
assert_peer(const char *peer)
{
    const char *scheme = fixture_scheme(), *port = strrchr(peer, ':') + 1;

    if (fixture_is_inproc())
        assert_string_equal(peer, "inproc:this process");
    else if (strcmp(scheme, "shm") == 0)
        assert_true(begins(peer, "shm:process "));
    else if (strcmp(scheme, "vc") == 0)
        assert_true(begins(peer, "shm:process ") || begins(peer, "tcp://") ||
                    begins(peer, "rdma://"));
    else
        assert_true(begins(peer, scheme) && begins(strchr(peer, ':'), "://") &&
                    atoi(port) > 0);
}

static void
a_handler_is_told_what_was_called_from_where_and_for_how_long(void **state)
{
    struct fixture f;

    (void)state;
    fixture_add = add_asking;
    features_start(&f, NULL, NULL);

    call_that_is_asked(&f, 60000);

    assert_string_equal(asked.service, "suite.Absent");
    assert_string_equal(asked.method, "Nothing");
    assert_peer(asked.peer);
    assert_in_range(asked.left_ms, 1, 60000);

    call_that_is_asked(&f, VC_NO_DEADLINE);
    assert_int_equal(asked.left_ms, VC_NO_DEADLINE);
    features_stop(&f);
}

#define T(name)                                                                \
    cmocka_unit_test_setup_teardown(name, features_setup, features_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_hedge_answers_before_an_attempt_that_is_slow),
        T(a_method_with_side_effects_has_no_hedge),
        T(an_idempotent_method_that_failed_is_tried_again),
        T(a_method_that_may_run_once_is_not_tried_again),
        T(a_server_puts_the_next_attempt_off),
        T(a_server_forbids_the_next_attempt),
        T(a_one_way_call_returns_while_its_handler_runs),
        T(the_callback_of_a_one_way_call_runs_once_the_server_has_answered),
        T(a_canceller_ends_all_its_calls_and_no_others),
        T(a_call_with_a_cancelled_canceller_does_not_begin),
        cmocka_unit_test(metadata_and_details_come_as_they_went),
        T(a_text_of_1024_bytes_arrives_whole),
        T(a_longer_text_is_cut),
        T(a_long_text_is_cut_between_characters),
        cmocka_unit_test(
            a_handler_is_told_what_was_called_from_where_and_for_how_long),
    };

    return fixture_main(tests);
}
