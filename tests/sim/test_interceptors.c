/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Interceptors of both sides around calls between two processes. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/scene.h"

#define MS       1000u /* us */
#define PATIENCE UINT64_C(100000000)

/* --- eyes: interceptors that write a diary ------------------------------- */

/* There is one call at a time, so both sides write into one diary. */
static char diary[1024];

struct eye {
    char name[3];
    enum vc_status refuses;
    const char *text;
    unsigned sleep_us; /* of its start */
    uint64_t deadline_us;
    bool has_call;
    struct vc_interception_end end;
    char end_text[256];
};

static struct eye here[2], there[2]; /* on the client and on the server */

static void
note(const char *who, const char *what)
{
    size_t n;

    scene_sync();
    n = strlen(diary);
    snprintf(diary + n, sizeof diary - n, "%s%s ", who, what);
    scene_sync();
}

static enum vc_status
eye_start(struct vc_interception *call, void **state, void *arg)
{
    struct eye *e = arg;

    *state = e;
    note(e->name, "+");
    assert_string_equal(vc_interception_service(call), "suite.Probe");
    assert_string_equal(vc_interception_method(call), "Echo");
    e->deadline_us = vc_interception_deadline_us(call);
    e->has_call = vc_interception_call(call) != NULL;
    scene_sync();
    if (e->sleep_us > 0)
        fake_sleep_us(e->sleep_us);
    if (e->text != NULL)
        return vc_interception_fail(call, e->refuses, "%s", e->text);
    return e->refuses;
}

static void
eye_message(struct vc_interception *call, enum vc_message_kind kind,
            const ProtobufCMessage *message, void **state, void *arg)
{
    const Suite__EchoRequest *request = (const void *)message;
    const Suite__EchoReply *reply = (const void *)message;
    struct eye *e = arg;

    (void)call;
    assert_ptr_equal(*state, e);
    if (kind == VC_MESSAGE_REQUEST) {
        assert_ptr_equal(message->descriptor, &suite__echo_request__descriptor);
        assert_int_equal(request->tag, 7);
        note(e->name, ">");
    } else {
        assert_ptr_equal(message->descriptor, &suite__echo_reply__descriptor);
        assert_int_equal(reply->tag, 7);
        note(e->name, "<");
    }
}

/* Also makes a call that fails. Its error must not be taken for the call's. */
static void
eye_finish(struct vc_interception *call, const struct vc_interception_end *end,
           void **state, void *arg)
{
    struct vc_channel *channel;
    struct eye *e = arg;

    (void)call;
    assert_ptr_equal(*state, e);
    note(e->name, "-");
    e->end = *end;
    snprintf(e->end_text, sizeof e->end_text, "%s", end->text);
    scene_sync();
    assert_int_equal(vc_channel_open(NULL, "no target", NULL, &channel),
                     VC_INVALID_ARGUMENT);
}

static struct vc_interceptor
eye_table(struct eye *e)
{
    struct vc_interceptor table = VC_INTERCEPTOR_INIT;

    table.start = eye_start;
    table.message = eye_message;
    table.finish = eye_finish;
    table.arg = e;
    return table;
}

static void
note_handler(struct sim_server *s)
{
    (void)s;
    note("", "handler");
}

static enum vc_status
watch_server(struct vc_server *server, struct sim_server *s)
{
    s->inside = note_handler;
    for (unsigned k = 0; k < 2; k++) {
        const struct vc_interceptor table = eye_table(&there[k]);

        assert_int_equal(vc_server_intercept(server, &table), VC_OK);
    }
    return VC_OK;
}

static void
watch_client(struct scene *s)
{
    for (unsigned k = 0; k < 2; k++) {
        const struct vc_interceptor table = eye_table(&here[k]);

        assert_int_equal(vc_channel_intercept(s->channel, &table), VC_OK);
    }
}

/* The same with eyes on both sides. */
static void
play(void (*act)(struct scene *s), unsigned handler_us)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        diary[0] = '\0';
        memset(here, 0, sizeof here);
        memset(there, 0, sizeof there);
        memcpy(here[0].name, "c1", 2);
        memcpy(here[1].name, "c2", 2);
        memcpy(there[0].name, "s1", 2);
        memcpy(there[1].name, "s2", 2);
        s.server.add = watch_server;
        s.server.sleep_us = handler_us;
        scene_run(&s, seed);
    }
}

static enum vc_status
echo(struct vc_channel *channel, size_t size, unsigned tag, unsigned ms,
     enum vc_outcome *outcome)
{
    enum vc_status status;

    scene_sync();
    status = sim_echo(channel, size, tag, ms, outcome);
    scene_sync();
    return status;
}

/* --- asynchronous calls ------------------------------------------------- */

static void
queues_one(struct scene *s)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    struct vc_completions *queue;
    struct vc_completion end;

    watch_client(s);
    request.tag = 7;
    assert_int_equal(vc_completions_new(s->runtime, &queue), VC_OK);
    scene_sync();
    assert_int_equal(vc_channel_call_queued(s->channel, &suite_probe_service, 0,
                                            &request, NULL, queue, s, NULL),
                     VC_OK);
    assert_int_equal(vc_completions_next(queue, 5000, &end), VC_OK);
    scene_sync();
    assert_int_equal(end.status, VC_OK);
    vc_message_free(end.reply);
    assert_string_equal(diary, "c1+ c2+ c1> c2> s1+ s2+ s1> s2> handler "
                               "s2< s1< s2- s1- c2< c1< c2- c1- ");

    /* A request that cannot be packed is no message. */
    diary[0] = '\0';
    request.payload.len = 1;
    assert_int_equal(vc_channel_call_queued(s->channel, &suite_probe_service, 0,
                                            &request, NULL, queue, s, NULL),
                     VC_INVALID_ARGUMENT);
    assert_string_equal(diary, "c1+ c2+ c2- c1- ");
    request.payload.len = 0;

    diary[0] = '\0';
    here[1].refuses = VC_PERMISSION_DENIED;
    here[1].text = "no";
    assert_int_equal(vc_channel_call_queued(s->channel, &suite_probe_service, 0,
                                            &request, NULL, queue, s, NULL),
                     VC_PERMISSION_DENIED);
    assert_string_equal(diary, "c1+ c2+ c2- c1- ");
    vc_completions_free(queue);
}

static void
an_asynchronous_call_is_seen_as_any_other(void **state)
{
    (void)state;
    play(queues_one, 0);
}

/* --- order ------------------------------------------------------------- */

static void
calls_once(struct scene *s)
{
    watch_client(s);
    assert_int_equal(echo(s->channel, 64, 7, 5000, NULL), VC_OK);
    assert_string_equal(diary, "c1+ c2+ c1> c2> s1+ s2+ s1> s2> handler "
                               "s2< s1< s2- s1- c2< c1< c2- c1- ");
    assert_int_equal(here[0].end.status, VC_OK);
    assert_int_equal(here[0].end.outcome, VC_OUTCOME_EXECUTED);
    assert_string_equal(here[0].end_text, "");
    assert_int_equal(there[0].end.status, VC_OK);
    assert_in_range(there[1].end.us, 2 * MS, 3 * MS);
    assert_in_range(here[0].end.us, there[0].end.us, 10 * MS);
    assert_in_range(here[1].deadline_us, 4900 * MS, 5000 * MS);
    assert_in_range(there[1].deadline_us, 4900 * MS, here[1].deadline_us);
    assert_true(there[0].has_call);
    assert_false(here[0].has_call);
}

static void
the_first_added_is_the_outermost_on_both_sides(void **state)
{
    (void)state;
    play(calls_once, 2 * MS);
}

static void
calls_for_ever(struct scene *s)
{
    watch_client(s);
    assert_int_equal(echo(s->channel, 9000, 7, VC_NO_DEADLINE, NULL), VC_OK);
    assert_true(here[0].deadline_us == UINT64_MAX);
    assert_true(there[0].deadline_us == UINT64_MAX);
}

static void
a_call_without_a_deadline_has_none_in_interceptors(void **state)
{
    (void)state;
    play(calls_for_ever, 0);
}

/* --- refusals ---------------------------------------------------------- */

static void
assert_refused(struct scene *s, enum vc_status status, const char *text)
{
    enum vc_outcome outcome;

    diary[0] = '\0';
    assert_int_equal(echo(s->channel, 64, 7, 0, &outcome), status);
    assert_string_equal(vc_error(), text);
    assert_int_equal(outcome, VC_OUTCOME_NOT_EXECUTED);
    assert_int_equal(atomic_load(&sim_ran[7]), 0);
    assert_int_equal(here[0].end.status, status);
    assert_int_equal(here[0].end.outcome, VC_OUTCOME_NOT_EXECUTED);
    assert_string_equal(here[0].end_text, text);
}

static void
is_refused_here(struct scene *s)
{
    here[1].refuses = VC_UNAUTHENTICATED;
    here[1].text = "no token";
    watch_client(s);
    assert_refused(s, VC_UNAUTHENTICATED, "no token");
    assert_string_equal(diary, "c1+ c2+ c2- c1- ");

    here[0].refuses = VC_ABORTED;
    assert_refused(s, VC_ABORTED,
                   "suite.Probe.Echo: an interceptor has refused the call");
    assert_string_equal(diary, "c1+ c1- ");
}

static void
a_call_that_the_client_refuses_is_not_sent(void **state)
{
    (void)state;
    play(is_refused_here, 0);
}

static void
is_refused_there(struct scene *s)
{
    there[1].refuses = VC_PERMISSION_DENIED;
    there[1].text = "not you";
    watch_client(s);
    assert_refused(s, VC_PERMISSION_DENIED, "not you");
    assert_string_equal(diary, "c1+ c2+ c1> c2> s1+ s2+ s2- s1- c2- c1- ");
    assert_int_equal(there[0].end.outcome, VC_OUTCOME_NOT_EXECUTED);
    assert_string_equal(there[0].end_text, "not you");

    /* So long that another thread has taken over the engine. */
    there[0].refuses = VC_ABORTED;
    there[0].sleep_us = 20 * MS;
    assert_refused(s, VC_ABORTED,
                   "suite.Probe.Echo: an interceptor has refused the call");
    assert_string_equal(diary, "c1+ c2+ c1> c2> s1+ s1- c2- c1- ");

    /* The next call must not see anything of the last one. */
    there[0].refuses = there[1].refuses = VC_OK;
    diary[0] = '\0';
    assert_int_equal(echo(s->channel, 64, 7, 0, NULL), VC_OK);
    assert_non_null(strstr(diary, "handler"));
}

static void
a_call_that_the_server_refuses_does_not_run(void **state)
{
    (void)state;
    play(is_refused_there, 0);
}

/* --- other ends -------------------------------------------------------- */

static void
is_too_late(struct scene *s)
{
    enum vc_outcome outcome;

    here[0].sleep_us = 60 * MS;
    watch_client(s);
    assert_int_equal(echo(s->channel, 64, 7, 100, &outcome),
                     VC_DEADLINE_EXCEEDED);
    assert_int_equal(outcome, VC_OUTCOME_UNKNOWN);
    assert_int_equal(here[1].end.status, VC_DEADLINE_EXCEEDED);
    assert_int_equal(here[1].end.outcome, VC_OUTCOME_UNKNOWN);
    assert_string_equal(here[1].end_text, vc_error());
    assert_in_range(here[0].end.us, 100 * MS, 102 * MS);
}

static void
time_spent_in_a_start_is_the_calls(void **state)
{
    (void)state;
    play(is_too_late, 80 * MS);
}

static void
adds_one_late(struct scene *s)
{
    const struct vc_interceptor table = eye_table(&here[0]);

    assert_int_equal(echo(s->channel, 64, 7, 0, NULL), VC_OK);
    assert_int_equal(vc_channel_intercept(s->channel, &table),
                     VC_FAILED_PRECONDITION);
    diary[0] = '\0';
    assert_int_equal(echo(s->channel, 64, 7, 0, NULL), VC_OK);
    assert_null(strstr(diary, "c1"));
}

static void
after_the_first_call_it_is_too_late_for_a_channel(void **state)
{
    (void)state;
    play(adds_one_late, 0);
}

static void
listens_first(void *arg)
{
    const struct vc_interceptor table = eye_table(&there[0]);
    struct vc_runtime *runtime;
    struct vc_server *server;

    (void)arg;
    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_server_new(runtime, NULL, &server), VC_OK);
    assert_int_equal(vc_server_listen(server, "rdma://10.9.0.2:7471"), VC_OK);
    assert_int_equal(vc_server_intercept(server, &table),
                     VC_FAILED_PRECONDITION);
    vc_server_free(server);
    vc_runtime_free(runtime);
}

static void
after_listening_it_is_too_late_for_a_server(void **state)
{
    struct fake_process *p;

    (void)state;
    sim_begin(1, 0, false);
    p = fake_process_start(fake_host_new("there", "10.9.0.2"), "server",
                           listens_first, NULL);
    assert_true(fake_process_wait(p, PATIENCE));
    assert_int_equal(fake_end(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_added_is_the_outermost_on_both_sides),
        cmocka_unit_test(an_asynchronous_call_is_seen_as_any_other),
        cmocka_unit_test(a_call_without_a_deadline_has_none_in_interceptors),
        cmocka_unit_test(a_call_that_the_client_refuses_is_not_sent),
        cmocka_unit_test(a_call_that_the_server_refuses_does_not_run),
        cmocka_unit_test(time_spent_in_a_start_is_the_calls),
        cmocka_unit_test(after_the_first_call_it_is_too_late_for_a_channel),
        cmocka_unit_test(after_listening_it_is_too_late_for_a_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
