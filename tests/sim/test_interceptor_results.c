/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Interceptors see at a call's end what came with the reply, whatever way the
 * caller waits, and whether or not the program asks for a result. */
#include <string.h>

#include "tests/sim/scene.h"

#define MS       UINT64_C(1000)
#define PATIENCE (100000 * MS)

/* What the handler does, by the tag of its call. */
enum {
    ECHOES,
    FAILS,
    IS_SLOW, /* at the first attempt */
};

/* What the interceptor does and saw; of the current world. */
static struct {
    enum vc_status refuses;
    unsigned finishes;
    enum vc_status status;
    unsigned attempts;
    char answered; /* the attempt whose reply arrived, or 0 */
    char details[8];
} seen;

static struct vc_service service;
static struct vc_method methods[16];

/* --- the server --------------------------------------------------------- */

static enum vc_status
handle(struct sim_server *s, struct vc_call *call,
       const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    unsigned attempt = vc_call_attempt(call);

    (void)s;
    reply->tag = request->tag;
    assert_int_equal(
        vc_call_add_trailing(call, "attempt", &"0123456789"[attempt], 1),
        VC_OK);
    if (request->tag == IS_SLOW && attempt == 1)
        fake_sleep_us(100 * MS);
    if (request->tag != FAILS)
        return VC_OK;
    assert_int_equal(vc_call_details(call, "why", 3), VC_OK);
    return vc_call_fail(call, VC_NOT_FOUND, "not here");
}

/* --- the interceptor ---------------------------------------------------- */

static enum vc_status
on_start(struct vc_interception *call, void **state, void *arg)
{
    (void)call;
    (void)state;
    (void)arg;
    return seen.refuses;
}

static void
on_finish(struct vc_interception *call, const struct vc_interception_end *end,
          void **state, void *arg)
{
    const struct vc_result *r = end->result;

    (void)call;
    (void)state;
    (void)arg;
    seen.finishes++;
    assert_non_null(r);
    assert_int_equal(r->status, end->status);
    assert_int_equal(r->outcome, end->outcome);
    assert_string_equal(r->message, end->text);
    seen.status = r->status;
    seen.attempts = r->attempts;
    seen.answered = 0;
    if (r->n_trailing > 0)
        seen.answered = *(const char *)r->trailing[0].value;
    memset(seen.details, 0, sizeof seen.details);
    if (r->details != NULL)
        memcpy(seen.details, r->details, r->details_length);
}

static void
assert_seen(enum vc_status status, unsigned attempts, char answered)
{
    assert_int_equal(seen.finishes, 1);
    assert_int_equal(seen.status, status);
    assert_int_equal(seen.attempts, attempts);
    assert_int_equal(seen.answered, answered);
    seen.finishes = 0;
}

/* --- the client --------------------------------------------------------- */

typedef enum vc_status call_in_a_way(struct scene *s,
                                     const Suite__EchoRequest *request,
                                     const struct vc_call_opts *opts);

static enum vc_status
wait_for(struct scene *s, const Suite__EchoRequest *request,
         const struct vc_call_opts *opts)
{
    void *reply = NULL;
    enum vc_status status =
        vc_channel_call(s->channel, &service, 0, request, opts, &reply);

    if (status == VC_OK)
        vc_message_free(reply);
    return status;
}

struct told {
    atomic_uint done;
    enum vc_status status;
};

static void
on_done(enum vc_status status, void *reply, void *arg)
{
    struct told *t = arg;

    vc_message_free(reply);
    t->status = status;
    sim_tell(&t->done);
}

static enum vc_status
be_told(struct scene *s, const Suite__EchoRequest *request,
        const struct vc_call_opts *opts)
{
    struct told t = {.done = 0};
    enum vc_status status = vc_channel_call_async(
        s->channel, &service, 0, request, opts, on_done, &t, NULL);

    if (status != VC_OK)
        return status;
    assert_true(sim_await(&t.done, PATIENCE));
    return t.status;
}

static enum vc_status
take_from_queue(struct scene *s, const Suite__EchoRequest *request,
                const struct vc_call_opts *opts)
{
    struct vc_completions *queue;
    struct vc_completion end;
    enum vc_status status;

    assert_int_equal(vc_completions_new(s->runtime, &queue), VC_OK);
    status = vc_channel_call_queued(s->channel, &service, 0, request, opts,
                                    queue, NULL, NULL);
    if (status == VC_OK) {
        assert_int_equal(vc_completions_next(queue, 10000, &end), VC_OK);
        vc_message_free(end.reply);
        status = end.status;
    }
    vc_completions_free(queue);
    return status;
}

static call_in_a_way *way;

static enum vc_status
call(struct scene *s, unsigned tag, const struct vc_call_opts *opts)
{
    Suite__EchoRequest request = SUITE__ECHO_REQUEST__INIT;

    request.tag = tag;
    return way(s, &request, opts);
}

static void (*to_act)(struct scene *s);

static void
act_with_interceptor(struct scene *s)
{
    struct vc_interceptor table = VC_INTERCEPTOR_INIT;

    table.start = on_start;
    table.finish = on_finish;
    assert_int_equal(vc_channel_intercept(s->channel, &table), VC_OK);
    assert_int_equal(vc_runtime_start(s->runtime), VC_OK);
    to_act(s);
}

static void
play(void (*act)(struct scene *s), uint32_t flags)
{
    static call_in_a_way *const ways[] = {wait_for, be_told, take_from_queue};

    sim_service(&service, methods, flags);
    to_act = act;
    for (unsigned i = 0; i < 6; i++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT,
                          .act = act_with_interceptor};

        memset(&seen, 0, sizeof seen);
        way = ways[i % 3];
        s.server.handle = handle;
        scene_run(&s, 1 + i / 3);
    }
}

/* --- tests -------------------------------------------------------------- */

static void
ends_well_and_badly(struct scene *s)
{
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(call(s, ECHOES, &opts), VC_OK);
        assert_seen(VC_OK, 1, '1');
        assert_int_equal(call(s, FAILS, &opts), VC_NOT_FOUND);
        assert_seen(VC_NOT_FOUND, 1, '1');
        assert_string_equal(seen.details, "why");
        opts.result = &result;
    }
    assert_string_equal(result.message, "not here");
    assert_int_equal(result.n_trailing, 1);
    vc_result_clear(&result);
}

static void
a_finish_has_what_came_with_the_reply(void **state)
{
    (void)state;
    play(ends_well_and_badly, 0);
}

static void
is_late(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.timeout_ms = 20;
    assert_int_equal(call(s, IS_SLOW, &opts), VC_DEADLINE_EXCEEDED);
    assert_seen(VC_DEADLINE_EXCEEDED, 1, 0);
}

static void
a_call_without_a_reply_has_a_result_too(void **state)
{
    (void)state;
    play(is_late, 0);
}

static void
cannot_begin(struct scene *s)
{
    const struct vc_metadata bad = {"Upper", "x", 1};
    struct vc_result result = VC_RESULT_INIT;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.metadata = &bad;
    for (unsigned i = 0; i < 2; i++) {
        opts.n_metadata = 1;
        assert_int_equal(call(s, ECHOES, &opts), VC_INVALID_ARGUMENT);
        assert_seen(VC_INVALID_ARGUMENT, 0, 0);
        opts.n_metadata = 0;
        seen.refuses = VC_ABORTED;
        assert_int_equal(call(s, ECHOES, &opts), VC_ABORTED);
        assert_seen(VC_ABORTED, 0, 0);
        seen.refuses = VC_OK;
        opts.result = &result;
    }
    assert_int_equal(result.status, VC_ABORTED);
    vc_result_clear(&result);
}

static void
a_call_that_could_not_be_made_or_was_refused_has_one(void **state)
{
    (void)state;
    play(cannot_begin, 0);
}

static void
is_hedged(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.hedge_ms = 20;
    assert_int_equal(call(s, IS_SLOW, &opts), VC_OK);
    assert_seen(VC_OK, 2, '2');
}

static void
a_hedged_call_has_that_of_the_attempt_that_won(void **state)
{
    (void)state;
    play(is_hedged, VC_METHOD_NO_SIDE_EFFECTS);
}

/* The blocking caller of a one-way call waits only until the call is sent. */
static void
goes_one_way(struct scene *s)
{
    assert_int_equal(call(s, ECHOES, NULL), VC_OK);
    assert_seen(VC_OK, 1, way == wait_for ? 0 : '1');
}

static void
a_one_way_call_has_one(void **state)
{
    (void)state;
    play(goes_one_way, VC_METHOD_ONE_WAY);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finish_has_what_came_with_the_reply),
        cmocka_unit_test(a_call_without_a_reply_has_a_result_too),
        cmocka_unit_test(a_call_that_could_not_be_made_or_was_refused_has_one),
        cmocka_unit_test(a_hedged_call_has_that_of_the_attempt_that_won),
        cmocka_unit_test(a_one_way_call_has_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
