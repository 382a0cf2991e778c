/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Interceptors that add and read metadata: a token that the client's adds and
 * the server's requires, and what both add about the reply. */
#include <string.h>

#include "tests/sim/scene.h"

#define TOKEN "x-token"

/* What the interceptors must do, and what they have seen. */
static struct {
    const char *token; /* NULL: adds none */
    size_t n_many;     /* further entries of 100 bytes */
    size_t last;       /* length of one more entry; 0: none */
    bool starts_badly; /* tries what is not allowed */

    enum vc_status added[8];
    size_t n_here, n_there; /* entries of the request */
    char trailing[64], details[64];
    bool had_result;
} seen;

static enum vc_status
add_text(struct vc_interception *call, const char *key, const char *value)
{
    return vc_interception_add_metadata(call, key, value, strlen(value));
}

static void
add_badly(struct vc_interception *call)
{
    seen.added[0] = add_text(call, "Upper", "x");
    seen.added[1] = add_text(call, "grpc-own", "x");
    seen.added[2] = add_text(call, "tail", "x ");
    seen.added[3] = vc_interception_add_metadata(call, "any-bin", "\0\n", 2);
}

static enum vc_status
here_start(struct vc_interception *call, void **state, void *arg)
{
    char hundred[101];

    (void)state;
    (void)arg;
    memset(hundred, 'x', 100);
    hundred[100] = '\0';
    if (seen.starts_badly)
        add_badly(call);
    if (seen.token != NULL)
        assert_int_equal(add_text(call, TOKEN, seen.token), VC_OK);
    for (size_t i = 0; i < seen.n_many; i++)
        seen.added[0] = add_text(call, "many", hundred);
    if (seen.last > 0) {
        seen.added[1] =
            vc_interception_add_metadata(call, "last", hundred, seen.last);
        seen.added[2] = vc_interception_add_metadata(call, "more", "", 0);
    }
    return VC_OK;
}

/* A second interceptor, after the first. */
static enum vc_status
here_look(struct vc_interception *call, void **state, void *arg)
{
    (void)state;
    (void)arg;
    vc_interception_metadata(call, &seen.n_here);
    return VC_OK;
}

static void
here_finish(struct vc_interception *call, const struct vc_interception_end *end,
            void **state, void *arg)
{
    (void)state;
    (void)arg;
    assert_int_equal(add_text(call, "late", "x"), VC_FAILED_PRECONDITION);
    assert_non_null(end->result);
    assert_int_equal(end->result->status, end->status);
    assert_string_equal(end->result->message, end->text);
    if (end->result->n_trailing > 0)
        memcpy(seen.trailing, end->result->trailing[0].value,
               end->result->trailing[0].length);
    if (end->result->details != NULL)
        memcpy(seen.details, end->result->details, end->result->details_length);
}

static enum vc_status
there_start(struct vc_interception *call, void **state, void *arg)
{
    struct vc_call *c = vc_interception_call(call);
    const char *token = vc_call_metadata_find(c, TOKEN, NULL);

    (void)state;
    (void)arg;
    scene_sync();
    vc_interception_metadata(call, &seen.n_there);
    scene_sync();
    assert_int_equal(add_text(call, "wrong-side", "x"), VC_FAILED_PRECONDITION);
    if (token != NULL && strcmp(token, "sesame") == 0)
        return VC_OK;
    vc_call_details(c, "try sesame", 10);
    return vc_interception_fail(call, VC_UNAUTHENTICATED, "no good token");
}

static void
there_finish(struct vc_interception *call,
             const struct vc_interception_end *end, void **state, void *arg)
{
    const char *word = end->status == VC_OK ? "good" : "bad";

    (void)state;
    (void)arg;
    scene_sync();
    seen.had_result = end->result != NULL;
    scene_sync();
    assert_int_equal(vc_call_add_trailing(vc_interception_call(call), "x-end",
                                          word, strlen(word)),
                     VC_OK);
}

static enum vc_status
guard_server(struct vc_server *server, struct sim_server *s)
{
    struct vc_interceptor table = VC_INTERCEPTOR_INIT;

    (void)s;
    table.start = there_start;
    table.finish = there_finish;
    assert_int_equal(vc_server_intercept(server, &table), VC_OK);
    return VC_OK;
}

static void
equip_client(struct scene *s)
{
    struct vc_interceptor table = VC_INTERCEPTOR_INIT,
                          look = VC_INTERCEPTOR_INIT;

    table.start = here_start;
    table.finish = here_finish;
    look.start = here_look;
    assert_int_equal(vc_channel_intercept(s->channel, &table), VC_OK);
    assert_int_equal(vc_channel_intercept(s->channel, &look), VC_OK);
}

static void
play(void (*act)(struct scene *s))
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        memset(&seen, 0, sizeof seen);
        s.server.add = guard_server;
        scene_run(&s, seed);
    }
}

/* Makes a call with n entries of its own, and a result or NULL. */
static enum vc_status
call_with(struct scene *s, size_t n, struct vc_result *result)
{
    static const struct vc_metadata own[] = {{"a", "1", 1}, {"b", "2", 1}};
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;
    Suite__EchoReply *reply;
    enum vc_status status;

    opts.metadata = own;
    opts.n_metadata = n;
    opts.result = result;
    scene_sync();
    status = suite_probe_echo(s->channel, &request, &opts, &reply);
    scene_sync();
    if (status == VC_OK)
        vc_message_free(reply);
    return status;
}

/* --- tests ------------------------------------------------------------- */

static void
calls_with_a_token(struct scene *s)
{
    struct vc_result result = VC_RESULT_INIT;

    equip_client(s);
    seen.token = "sesame";
    assert_int_equal(call_with(s, 2, NULL), VC_OK);
    assert_int_equal(seen.n_here, 3);
    assert_int_equal(seen.n_there, 3);
    assert_string_equal(seen.trailing, "good");
    assert_false(seen.had_result);

    assert_int_equal(call_with(s, 0, &result), VC_OK);
    assert_int_equal(seen.n_there, 1);
    assert_int_equal(result.n_trailing, 1);
    assert_string_equal(result.trailing[0].key, "x-end");
    vc_result_clear(&result);
}

static void
what_a_client_adds_the_server_sees_and_the_other_way(void **state)
{
    (void)state;
    play(calls_with_a_token);
}

static void
calls_without_a_token(struct scene *s)
{
    struct vc_result result = VC_RESULT_INIT;

    equip_client(s);
    assert_int_equal(call_with(s, 1, &result), VC_UNAUTHENTICATED);
    assert_string_equal(result.message, "no good token");
    assert_int_equal(result.outcome, VC_OUTCOME_NOT_EXECUTED);
    assert_int_equal(result.n_trailing, 1);
    assert_memory_equal(result.details, "try sesame", 10);
    assert_string_equal(seen.details, "try sesame");
    assert_string_equal(seen.trailing, "bad");
    vc_result_clear(&result);
}

static void
a_refusal_of_the_server_brings_its_metadata_and_details(void **state)
{
    (void)state;
    play(calls_without_a_token);
}

static void
adds_what_may_not_be(struct scene *s)
{
    equip_client(s);
    seen.token = "sesame";
    seen.starts_badly = true;
    assert_int_equal(call_with(s, 0, NULL), VC_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(seen.added[i], VC_INVALID_ARGUMENT);
    assert_int_equal(seen.added[3], VC_OK);
    assert_int_equal(seen.n_there, 2);
}

static void
what_may_not_be_metadata_is_not_added(void **state)
{
    (void)state;
    play(adds_what_may_not_be);
}

static void
adds_too_much(struct scene *s)
{
    equip_client(s);
    seen.token = "sesame";
    seen.n_many = VC_METADATA_MAX / 100;
    assert_int_equal(call_with(s, 0, NULL), VC_OK);
    assert_int_equal(seen.added[0], VC_RESOURCE_EXHAUSTED);
    /* The token takes 16 bytes, each of the other entries 107. */
    assert_int_equal(seen.n_there, 1 + (VC_METADATA_MAX - 16) / 107);
}

static void
adds_all_that_may_be(struct scene *s)
{
    size_t n = (VC_METADATA_MAX - 16) / 107;

    equip_client(s);
    seen.token = "sesame";
    seen.n_many = n;
    seen.last = VC_METADATA_MAX - 16 - n * 107 - 7;
    assert_int_equal(call_with(s, 0, NULL), VC_OK);
    assert_int_equal(seen.added[0], VC_OK);
    assert_int_equal(seen.added[1], VC_OK);
    assert_int_equal(seen.added[2], VC_RESOURCE_EXHAUSTED);
    assert_int_equal(seen.n_there, 1 + n + 1);
}

static void
what_is_added_may_take_all_of_the_limit(void **state)
{
    (void)state;
    play(adds_all_that_may_be);
}

static void
what_is_added_is_limited(void **state)
{
    (void)state;
    play(adds_too_much);
}

static enum vc_status
say_no(struct vc_interception *call, void **state, void *arg)
{
    (void)state;
    (void)arg;
    return vc_interception_fail(call, VC_ABORTED, "not today");
}

static void
is_refused_here(struct scene *s)
{
    struct vc_interceptor table = VC_INTERCEPTOR_INIT;
    struct vc_result result = VC_RESULT_INIT;

    equip_client(s);
    table.start = say_no;
    assert_int_equal(vc_channel_intercept(s->channel, &table), VC_OK);
    seen.token = "sesame";
    assert_int_equal(call_with(s, 2, &result), VC_ABORTED);
    assert_int_equal(result.status, VC_ABORTED);
    assert_int_equal(result.outcome, VC_OUTCOME_NOT_EXECUTED);
    assert_int_equal(result.attempts, 0);
    assert_string_equal(result.message, "not today");
    vc_result_clear(&result);
}

static void
a_refusal_of_the_client_fills_the_callers_result(void **state)
{
    (void)state;
    play(is_refused_here);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_client_adds_the_server_sees_and_the_other_way),
        cmocka_unit_test(
            a_refusal_of_the_server_brings_its_metadata_and_details),
        cmocka_unit_test(what_may_not_be_metadata_is_not_added),
        cmocka_unit_test(what_is_added_is_limited),
        cmocka_unit_test(what_is_added_may_take_all_of_the_limit),
        cmocka_unit_test(a_refusal_of_the_client_fills_the_callers_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
