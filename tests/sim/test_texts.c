/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each call that fails has an error text. The text is that of its handler, or
 * that of the call which the handler made and whose status it returns, or one
 * that names the method. The server calls itself. */
#include <string.h>

#include "tests/sim/scene.h"

#define SEEDS sim_few(8u)

/* What a handler does, by the tag of its call. */
enum {
    ECHOES,
    FAILS,      /* with a text */
    NO_TEXT,    /* NOT_FOUND */
    EMPTY_TEXT, /* NOT_FOUND */
    NO_STATUS,
    PASSES_ON,       /* the status of a call of FAILS */
    PASSES_ON_LATER, /* the same, after a successful call */
    HAS_OWN_TEXT,    /* with the status of a call of FAILS */
    RETURNS_OTHER,   /* another status */
    RECOVERS,        /* succeeds although a call of FAILS failed */
    LATER_NO_TEXT,   /* vc_call_later(), and NOT_FOUND */
    LATER_PASSES_ON, /* the status of an asynchronous call of FAILS */
};

#define ORDER      "there is no order 7"
#define ECHO_ENDED "suite.Probe.Echo: the handler ended with "
#define BARE       ECHO_ENDED "NOT_FOUND and no text"

/* --- the server ------------------------------------------------------------ */

static void
on_inner_done(enum vc_status status, Suite__EchoReply *reply, void *arg)
{
    vc_message_free(reply);
    vc_call_end(arg, status);
}

static enum vc_status
end_later(struct sim_server *s, struct vc_call *call, uint64_t tag)
{
    Suite__EchoRequest inner = SUITE__ECHO_REQUEST__INIT;

    inner.tag = FAILS;
    if (tag == LATER_NO_TEXT)
        vc_call_end(call, VC_NOT_FOUND);
    else
        assert_int_equal(suite_probe_echo_async(s->self, &inner, NULL,
                                                on_inner_done, call, NULL),
                         VC_OK);
    return vc_call_later(call);
}

static enum vc_status
pass_on(struct sim_server *s, struct vc_call *call, uint64_t tag)
{
    enum vc_status status = sim_echo(s->self, 64, FAILS, 0, NULL);

    assert_int_equal(status, VC_NOT_FOUND);
    if (tag == PASSES_ON_LATER)
        assert_int_equal(sim_echo(s->self, 64, ECHOES, 0, NULL), VC_OK);
    if (tag == HAS_OWN_TEXT)
        return vc_call_fail(call, status, "the order is unknown");
    if (tag == RETURNS_OTHER)
        return VC_ABORTED;
    return tag == RECOVERS ? VC_OK : status;
}

static enum vc_status
handle(struct sim_server *s, struct vc_call *call,
       const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    reply->tag = request->tag;
    reply->payload = request->payload;
    switch (request->tag) {
    case ECHOES:
        return VC_OK;
    case FAILS:
        return vc_call_fail(call, VC_NOT_FOUND, ORDER);
    case NO_TEXT:
        return VC_NOT_FOUND;
    case EMPTY_TEXT:
        return vc_call_fail(call, VC_NOT_FOUND, "%s", "");
    case NO_STATUS:
        return (enum vc_status)99;
    case LATER_NO_TEXT:
    case LATER_PASSES_ON:
        return end_later(s, call, request->tag);
    default:
        return pass_on(s, call, request->tag);
    }
}

/* --- what interceptors see --------------------------------------------------- */

static char seen[256]; /* the server's text of the last call */

static void
on_finish(struct vc_interception *i, const struct vc_interception_end *end,
          void **state, void *arg)
{
    (void)i;
    (void)state;
    (void)arg;
    scene_sync();
    strncpy(seen, end->text, sizeof seen - 1);
    scene_sync();
}

static enum vc_status
intercept(struct vc_server *server, struct sim_server *s)
{
    struct vc_interceptor interceptor = VC_INTERCEPTOR_INIT;

    (void)s;
    interceptor.finish = on_finish;
    return vc_server_intercept(server, &interceptor);
}

/* --- the client -------------------------------------------------------------- */

static void
play(void (*act)(struct scene *s),
     enum vc_status (*add)(struct vc_server *server, struct sim_server *s))
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        s.server.handle = handle;
        s.server.calls_itself = true;
        s.server.add = add;
        scene_run(&s, seed);
    }
}

static void
expect(struct scene *s, unsigned tag, enum vc_status status, const char *text)
{
    enum vc_status got = sim_echo(s->channel, 64, tag, 0, NULL);

    if (got != status || strcmp(vc_error(), text) != 0)
        fail_msg("it is %s: %s; expected %s: %s", vc_status_name(got),
                 vc_error(), vc_status_name(status), text);
    assert_int_equal(vc_error_outcome(), VC_OUTCOME_EXECUTED);
}

static void
act_no_text(struct scene *s)
{
    expect(s, NO_TEXT, VC_NOT_FOUND, BARE);
    expect(s, EMPTY_TEXT, VC_NOT_FOUND, BARE);
    expect(s, LATER_NO_TEXT, VC_NOT_FOUND, BARE);
    expect(s, NO_STATUS, VC_UNKNOWN, ECHO_ENDED "99, which is no status");
}

static void
a_handler_without_a_text_is_named(void **state)
{
    (void)state;
    play(act_no_text, NULL);
}

static void
act_passed_on(struct scene *s)
{
    expect(s, PASSES_ON, VC_NOT_FOUND, ORDER);
    expect(s, PASSES_ON_LATER, VC_NOT_FOUND, ORDER);
    expect(s, LATER_PASSES_ON, VC_NOT_FOUND, ORDER);
}

static void
a_handler_that_returns_the_status_of_its_call_passes_on_the_text(void **state)
{
    (void)state;
    play(act_passed_on, NULL);
}

static void
act_own(struct scene *s)
{
    expect(s, HAS_OWN_TEXT, VC_NOT_FOUND, "the order is unknown");
    expect(s, RETURNS_OTHER, VC_ABORTED, ECHO_ENDED "ABORTED and no text");
}

static void
the_text_of_another_status_is_not_passed_on(void **state)
{
    (void)state;
    play(act_own, NULL);
}

/* The handlers run on one thread. Its last error is that of the earlier
 * handler. */
static void
act_former(struct scene *s)
{
    scene_call(s, 64, RECOVERS);
    expect(s, NO_TEXT, VC_NOT_FOUND, BARE);
}

static void
the_text_of_a_former_handlers_call_is_not_passed_on(void **state)
{
    (void)state;
    play(act_former, NULL);
}

static void
act_seen(struct scene *s)
{
    expect(s, NO_TEXT, VC_NOT_FOUND, BARE);
    scene_sync();
    assert_string_equal(seen, BARE);
    scene_sync();
    expect(s, PASSES_ON, VC_NOT_FOUND, ORDER);
    scene_sync();
    assert_string_equal(seen, ORDER);
}

static void
interceptors_of_the_server_see_the_text(void **state)
{
    (void)state;
    play(act_seen, intercept);
}

/* --- what the library says ------------------------------------------------- */

static void
begins(enum vc_status expected, enum vc_status status, const char *text)
{
    if (status != expected || strncmp(vc_error(), text, strlen(text)) != 0)
        fail_msg("%s: %s: it is no %s: %s", vc_status_name(status), vc_error(),
                 vc_status_name(expected), text);
}

static enum vc_status
call(struct vc_channel *channel, const struct vc_service *service,
     unsigned method)
{
    Suite__Empty request = SUITE__EMPTY__INIT;
    void *reply;

    return vc_channel_call(channel, service, method, &request, NULL, &reply);
}

static void
act_refused(struct scene *s)
{
    const struct vc_metadata bad = {"Key", "value", 5};
    const struct vc_call_opts *opts =
        VC_CALL_OPTS(.metadata = &bad, .n_metadata = 1);

    begins(VC_UNIMPLEMENTED, call(s->channel, &suite_absent_service, 0),
           "suite.Absent.Nothing: ");
    begins(VC_INVALID_ARGUMENT, call(s->channel, &suite_absent_service, 1),
           "suite.Absent has 1 method: the method number 1 is out of range");
    begins(VC_UNIMPLEMENTED,
           call(s->channel, &suite_probe_service, SUITE_PROBE_MISSING),
           "suite.Probe.Missing: the server has no handler");
    begins(VC_INVALID_ARGUMENT,
           sim_echo_opts(s->channel, 64, ECHOES, opts, NULL),
           "suite.Probe.Echo: metadata[0]: ");
    sim_echo(s->channel, 64, ECHOES, 0, NULL);
    fake_port_set(s->server.host, false);
    begins(VC_DEADLINE_EXCEEDED, sim_echo(s->channel, 64, ECHOES, 50, NULL),
           "suite.Probe.Echo: no answer within 50 ms from "
           "rdma://10.9.0.2:7471");
    fake_port_set(s->server.host, true);
}

static void
a_call_that_is_refused_or_lost_is_named(void **state)
{
    (void)state;
    play(act_refused, NULL);
}

static void
act_nobody(struct scene *s)
{
    struct vc_channel *channel;

    assert_int_equal(
        vc_channel_open(s->runtime, "rdma://10.9.0.2:7472", NULL, &channel),
        VC_OK);
    begins(VC_UNAVAILABLE, sim_echo(channel, 64, ECHOES, 0, NULL),
           "suite.Probe.Echo: nothing listens at 10.9.0.2:7472: ");
    vc_channel_close(channel);
}

static void
a_call_that_finds_no_server_is_named(void **state)
{
    (void)state;
    play(act_nobody, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_without_a_text_is_named),
        cmocka_unit_test(
            a_handler_that_returns_the_status_of_its_call_passes_on_the_text),
        cmocka_unit_test(the_text_of_another_status_is_not_passed_on),
        cmocka_unit_test(the_text_of_a_former_handlers_call_is_not_passed_on),
        cmocka_unit_test(interceptors_of_the_server_see_the_text),
        cmocka_unit_test(a_call_that_is_refused_or_lost_is_named),
        cmocka_unit_test(a_call_that_finds_no_server_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
