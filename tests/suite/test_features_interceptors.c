/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Interceptors of a channel and of a server: what they see of a call, what they
 * add to it, and which calls they refuse. */
#include "tests/suite/feature.h"

#include <stdio.h>
#include <string.h>

#include <verbcall/interceptor.h>

#define TIMEOUT_MS 20000u

/* The events of one end in order, as "a+ b+ ": + start, > request, < reply, -
 * finish. The events of one end never run concurrently. */
struct diary {
    char text[128];
};

struct eye {
    char name;
    struct diary *diary;
    enum vc_status refuses; /* VC_OK: refuses no call */
    const char *adds;       /* a value of "added", or NULL */
    uint64_t deadline_us;
    bool has_call;
    unsigned n_metadata;
    enum vc_status status; /* of the finish */
    enum vc_outcome outcome;
    char text[256];
    unsigned n_trailing; /* of the finish's result */
    atomic_uint finished;
};

static struct diary here, there; /* of the client, of the server */
static struct eye a, b, s;       /* interceptors: a and b of the client, s of
                                  * the server */

static void
note(struct eye *e, char what)
{
    size_t n = strlen(e->diary->text);

    snprintf(e->diary->text + n, sizeof e->diary->text - n, "%c%c ", e->name,
             what);
}

static enum vc_status
eye_start(struct vc_interception *call, void **state, void *arg)
{
    struct vc_call *on_server = vc_interception_call(call);
    struct eye *e = arg;
    size_t n;

    *state = e;
    note(e, '+');
    if (strcmp(vc_interception_service(call), "features.Work") != 0 ||
        strcmp(vc_interception_method(call), "Once") != 0)
        return VC_DATA_LOSS;
    e->deadline_us = vc_interception_deadline_us(call);
    e->has_call = on_server != NULL;
    vc_interception_metadata(call, &n);
    e->n_metadata = (unsigned)n;
    if (e->refuses != VC_OK)
        return vc_interception_fail(call, e->refuses, "refused by %c", e->name);
    if (e->adds == NULL)
        return VC_OK;
    return e->has_call
               ? vc_call_add_trailing(on_server, "added", e->adds, 1)
               : vc_interception_add_metadata(call, "added", e->adds, 1);
}

static void
eye_message(struct vc_interception *call, enum vc_message_kind kind,
            const ProtobufCMessage *message, void **state, void *arg)
{
    const Features__Report *report = (const void *)message;
    const Features__Order *order = (const void *)message;
    bool right = kind == VC_MESSAGE_REQUEST
                     ? message->descriptor == &features__order__descriptor &&
                           order->tag == 7
                     : message->descriptor == &features__report__descriptor &&
                           report->tag == 7;

    (void)call;
    note(arg, !right || *state != arg      ? '?'
              : kind == VC_MESSAGE_REQUEST ? '>'
                                           : '<');
}

static void
eye_finish(struct vc_interception *call, const struct vc_interception_end *end,
           void **state, void *arg)
{
    struct eye *e = arg;

    (void)call;
    note(e, *state == e ? '-' : '?');
    e->status = end->status;
    e->outcome = end->outcome;
    snprintf(e->text, sizeof e->text, "%s", end->text);
    if (end->result != NULL)
        e->n_trailing = (unsigned)end->result->n_trailing;
    fixture_tell(&e->finished);
}

static struct vc_interceptor
interceptor(struct eye *e)
{
    struct vc_interceptor table = VC_INTERCEPTOR_INIT;

    table.start = eye_start;
    table.message = eye_message;
    table.finish = eye_finish;
    table.arg = e;
    return table;
}

static void
add_watched(struct vc_server *server)
{
    const struct vc_interceptor table = interceptor(&s);

    features_add(server, "first");
    assert_status(VC_OK, vc_server_intercept(server, &table));
}

static int
setup(void **state)
{
    static struct fixture f;
    struct vc_interceptor table;

    memset(&here, 0, sizeof here);
    memset(&there, 0, sizeof there);
    a = (struct eye){.name = 'a', .diary = &here};
    b = (struct eye){.name = 'b', .diary = &here};
    s = (struct eye){.name = 's', .diary = &there};
    fixture_add = add_watched;
    features_start(&f, NULL, NULL);
    table = interceptor(&a);
    assert_status(VC_OK, vc_channel_intercept(f.channel, &table));
    table = interceptor(&b);
    assert_status(VC_OK, vc_channel_intercept(f.channel, &table));
    *state = &f;
    return 0;
}

static int
teardown(void **state)
{
    features_stop(*state);
    return 0;
}

static enum vc_status
call(struct fixture *f, struct vc_result *result)
{
    Features__Order order = features_order(7, "watched");
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Features__Report *report;
    enum vc_status status;

    opts.timeout_ms = TIMEOUT_MS;
    opts.result = result;
    status = features_work_once(f->channel, &order, &opts, &report);
    if (status == VC_OK)
        vc_message_free(report);
    return status;
}

static void
both_ends_see_a_call_from_its_start_to_its_finish(void **state)
{
    struct fixture *f = *state;

    assert_status(VC_OK, call(f, NULL));

    fixture_await(&s.finished, 1); /* the server may finish after the client got
                                    * the reply */
    assert_string_equal("a+ b+ a> b> b< a< b- a- ", here.text);
    assert_string_equal("s+ s> s< s- ", there.text);
    assert_status(VC_OK, a.status);
    assert_status(VC_OK, s.status);
    assert_int_equal(VC_OUTCOME_EXECUTED, a.outcome);
    assert_false(a.has_call);
    assert_true(s.has_call);
    assert_in_range(a.deadline_us, 1, TIMEOUT_MS * 1000);
    assert_in_range(s.deadline_us, 1, a.deadline_us);
    assert_int_equal(1, atomic_load(&features_seen.begun));
}

/* The interceptors see its start and its end, but no message. */
static void
a_request_that_is_none_is_refused_as_without_interceptors(void **state)
{
    Suite__Empty other = SUITE__EMPTY__INIT;
    const void *const requests[] = {NULL, &other};
    struct fixture *f = *state;
    void *reply;

    for (unsigned i = 0; i < 2; i++) {
        here.text[0] = '\0';
        assert_status(VC_INVALID_ARGUMENT,
                      vc_channel_call(f->channel, &features_work_service, 0,
                                      requests[i], NULL, &reply));
        assert_non_null(strstr(vc_error(), i == 0 ? "is NULL" : "is of type"));
        assert_string_equal("a+ b+ b- a- ", here.text);
        assert_status(VC_INVALID_ARGUMENT, a.status);
    }
}

static void
an_interceptor_adds_metadata_that_the_other_end_sees(void **state)
{
    struct fixture *f = *state;
    struct vc_result result = VC_RESULT_INIT;

    a.adds = "1";
    s.adds = "2";

    assert_status(VC_OK, call(f, &result));

    fixture_await(&s.finished, 1);
    assert_int_equal(0, a.n_metadata);
    assert_int_equal(1, b.n_metadata);
    assert_int_equal(1, s.n_metadata);
    assert_int_equal(1, result.n_trailing);
    assert_string_equal("added", result.trailing[0].key);
    assert_memory_equal("2", result.trailing[0].value, 1);
    assert_int_equal(1, a.n_trailing);
    vc_result_clear(&result);
}

static void
a_call_that_a_client_refuses_never_leaves_it(void **state)
{
    struct fixture *f = *state;

    b.refuses = VC_UNAUTHENTICATED;

    assert_status(VC_UNAUTHENTICATED, call(f, NULL));

    assert_string_equal("refused by b", vc_error());
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    assert_string_equal("a+ b+ b- a- ", here.text);
    assert_status(VC_UNAUTHENTICATED, a.status);
    assert_string_equal("refused by b", a.text);
    b.refuses = VC_OK;
    assert_status(VC_OK, call(f, NULL));
    fixture_await(&s.finished, 1);
    assert_string_equal("s+ s> s< s- ", there.text); /* of the second call
                                                      * only */
}

static void
a_call_that_a_server_refuses_does_not_reach_its_handler(void **state)
{
    struct fixture *f = *state;

    s.refuses = VC_PERMISSION_DENIED;

    assert_status(VC_PERMISSION_DENIED, call(f, NULL));

    assert_string_equal("refused by s", vc_error());
    assert_int_equal(VC_OUTCOME_NOT_EXECUTED, vc_error_outcome());
    assert_string_equal("a+ b+ a> b> b- a- ", here.text);
    fixture_await(&s.finished, 1);
    assert_string_equal("s+ s- ", there.text);
    assert_status(VC_PERMISSION_DENIED, s.status);
    assert_int_equal(0, atomic_load(&features_seen.begun));
}

static void
an_interceptor_is_too_late_after_the_first_call(void **state)
{
    struct fixture *f = *state;
    const struct vc_interceptor table = interceptor(&a);

    assert_status(VC_OK, call(f, NULL));

    assert_status(VC_FAILED_PRECONDITION,
                  vc_channel_intercept(f->channel, &table));
    assert_status(VC_FAILED_PRECONDITION,
                  vc_server_intercept(f->server, &table));
}

/* --- a trace ------------------------------------------------------------- */

#define TRACE "00-4bf92f3577b34da6-01"

static struct vc_channel *onward; /* the channel by which the handler calls */
static atomic_uint traced;        /* calls received by the server with TRACE */
static atomic_uint parents_late;  /* parents seen outside of start() */

/* An interceptor of the channel by which handlers call: passes the trace on. */
static enum vc_status
trace_pass(struct vc_interception *call, void **state, void *arg)
{
    const struct vc_call *parent = vc_interception_parent(call);
    const void *trace = NULL;
    size_t length;

    (void)state;
    (void)arg;
    if (parent != NULL)
        trace = vc_call_metadata_find(parent, "trace", &length);
    return trace == NULL
               ? VC_OK
               : vc_interception_add_metadata(call, "trace", trace, length);
}

static void
trace_end(struct vc_interception *call, const struct vc_interception_end *end,
          void **state, void *arg)
{
    (void)end;
    (void)state;
    (void)arg;
    if (vc_interception_parent(call) != NULL)
        atomic_fetch_add(&parents_late, 1);
}

/* An interceptor of the server: counts calls with the trace. */
static enum vc_status
trace_note(struct vc_interception *call, void **state, void *arg)
{
    const struct vc_call *on_server = vc_interception_call(call);
    size_t length = 0;
    const void *trace = vc_call_metadata_find(on_server, "trace", &length);

    (void)state;
    (void)arg;
    if (vc_interception_parent(call) != NULL)
        atomic_fetch_add(&parents_late, 1);
    if (length == strlen(TRACE) && memcmp(trace, TRACE, length) == 0)
        atomic_fetch_add(&traced, 1);
    return VC_OK;
}

/* Makes three calls, one of each kind: synchronous, asynchronous, stream. */
static enum vc_status
call_on(struct vc_call *call, const Suite__Empty *request, Suite__Empty *reply,
        void *arg)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    struct suite_streams_up_client_stream *stream;
    struct features_end end = {.ends = 0};
    Features__Order order = features_order(7, "on");
    Features__Report *report;
    enum vc_status status;

    (void)request;
    (void)reply;
    (void)arg;
    opts.parent = call;
    status = features_work_once(onward, &order, &opts, &report);
    if (status != VC_OK)
        return status;
    vc_message_free(report);
    status = features_work_once_async(onward, &order, &opts, features_done,
                                      &end, NULL);
    if (status != VC_OK)
        return status;
    fixture_await(&end.ends, 1);
    status = suite_streams_up(onward, &opts, &stream);
    if (status != VC_OK)
        return status;
    status = suite_streams_up_finish(stream, NULL);
    suite_streams_up_close(stream);
    return status;
}

static void
add_calling_on(struct vc_server *server)
{
    static const struct suite_absent_methods methods = {.nothing = call_on};

    features_add(server, "first");
    assert_status(VC_OK, suite_absent_add(server, &methods, NULL));
    assert_status(VC_OK, vc_server_intercept(
                             server, VC_INTERCEPTOR(.start = trace_note)));
}

static void
a_trace_is_passed_on_with_the_calls_of_a_handler(void **state)
{
    const struct vc_metadata trace = {"trace", TRACE, strlen(TRACE)};
    const Suite__Empty request = SUITE__EMPTY__INIT;
    Suite__Empty *reply;
    struct fixture f;

    (void)state;
    fixture_add = add_calling_on;
    features_start(&f, NULL, NULL);
    assert_status(VC_OK, vc_runtime_start(f.runtime));
    assert_status(VC_OK, fixture_open_alone(f.runtime, f.target, &onward));
    assert_status(VC_OK, vc_channel_intercept(
                             onward, VC_INTERCEPTOR(.start = trace_pass,
                                                    .finish = trace_end)));

    assert_status(VC_OK, suite_absent_nothing(
                             f.channel, &request,
                             VC_CALL_OPTS(.metadata = &trace, .n_metadata = 1),
                             &reply));

    vc_message_free(reply);
    assert_int_equal(1 + 3, atomic_load(&traced));
    assert_int_equal(0, atomic_load(&parents_late));
    assert_status(VC_OK, vc_channel_close(onward));
    features_stop(&f);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        T(both_ends_see_a_call_from_its_start_to_its_finish),
        T(a_request_that_is_none_is_refused_as_without_interceptors),
        T(an_interceptor_adds_metadata_that_the_other_end_sees),
        T(a_call_that_a_client_refuses_never_leaves_it),
        T(a_call_that_a_server_refuses_does_not_reach_its_handler),
        T(an_interceptor_is_too_late_after_the_first_call),
        cmocka_unit_test(a_trace_is_passed_on_with_the_calls_of_a_handler),
    };

    return fixture_main(tests);
}
