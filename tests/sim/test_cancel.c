/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls that nobody waits for any more: their callers return at once and know
 * what became of them, and their handlers are told. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/scene.h"

#define MS       UINT64_C(1000)
#define S        UINT64_C(1000000)
#define PATIENCE (100 * S)
#define SEEDS    8u

/* What a handler does, by the tag of its call. */
enum {
    ECHOES,
    IS_TOLD,     /* waits until it is told */
    ASKS,        /* asks until it is so */
    IS_NOT_TOLD, /* took its function away */
    TAGS
};

/* What handlers saw; of the world that runs. */
static struct seen {
    atomic_uint begun, told, ended;
    uint64_t ended_at;
} seen;

/* --- handlers ---------------------------------------------------------- */

static void
on_told(struct vc_call *call, void *arg)
{
    struct seen *s = arg;

    assert_true(vc_call_is_cancelled(call));
    assert_int_equal(vc_call_on_cancel(call, NULL, NULL),
                     VC_FAILED_PRECONDITION);
    assert_int_equal(atomic_load(&s->told), 0);
    sim_tell(&s->told);
}

static void
wait_told(struct vc_call *call)
{
    assert_int_equal(vc_call_on_cancel(call, on_told, &seen), VC_OK);
    sim_tell(&seen.begun);
    assert_true(sim_await(&seen.told, PATIENCE));
    assert_int_equal(vc_call_on_cancel(call, NULL, NULL), VC_OK);
    assert_true(vc_call_is_cancelled(call));
}

static void
ask(struct vc_call *call)
{
    assert_false(vc_call_is_cancelled(call));
    sim_tell(&seen.begun);
    while (!vc_call_is_cancelled(call))
        fake_sleep_us(MS);
}

static void
take_away(struct vc_call *call)
{
    assert_int_equal(vc_call_on_cancel(call, on_told, &seen), VC_OK);
    assert_int_equal(vc_call_on_cancel(call, NULL, NULL), VC_OK);
    sim_tell(&seen.begun);
    fake_sleep_us(300 * MS);
    assert_true(vc_call_is_cancelled(call));
}

static enum vc_status
handle(struct sim_server *s, struct vc_call *call,
       const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)s;
    reply->tag = request->tag;
    reply->payload = request->payload;
    if (request->tag == IS_TOLD)
        wait_told(call);
    else if (request->tag == ASKS)
        ask(call);
    else if (request->tag == IS_NOT_TOLD)
        take_away(call);
    else
        return VC_OK;
    seen.ended_at = fake_now_us();
    sim_tell(&seen.ended);
    return VC_OK;
}

/* --- callers ----------------------------------------------------------- */

/* A call on a thread of its own. */
struct caller {
    struct vc_channel *channel;
    unsigned tag;
    uint32_t ms;
    pthread_t thread;
    enum vc_status status;
    enum vc_outcome outcome;
};

static void *
caller_main(void *arg)
{
    struct caller *c = arg;

    c->status = sim_echo(c->channel, 64, c->tag, c->ms, &c->outcome);
    return NULL;
}

static void
caller_start(struct caller *c, struct vc_channel *channel, unsigned tag)
{
    *c = (struct caller){.channel = channel, .tag = tag, .ms = VC_NO_DEADLINE};
    assert_int_equal(pthread_create(&c->thread, NULL, caller_main, c), 0);
}

static void
play(void (*act)(struct scene *s))
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        memset(&seen, 0, sizeof seen);
        s.server.handle = handle;
        scene_run(&s, seed);
    }
}

/* --- deadlines --------------------------------------------------------- */

static void
act_deadline(struct scene *s, unsigned tag)
{
    uint64_t begun = fake_now_us();
    enum vc_outcome outcome;

    assert_int_equal(sim_echo(s->channel, 64, tag, 100, &outcome),
                     VC_DEADLINE_EXCEEDED);
    assert_int_equal(outcome, VC_OUTCOME_UNKNOWN);
    assert_true(sim_await(&seen.ended, PATIENCE));
    if (tag != IS_NOT_TOLD)
        assert_in_range(seen.ended_at - begun, 90 * MS, 110 * MS);
    scene_call(s, 64, ECHOES);
    /* Who asks may know before anybody tells. */
    if (tag != ASKS)
        assert_int_equal(scene_server(s).calls_cancelled, 1);
}

static void
act_told_of_the_deadline(struct scene *s)
{
    act_deadline(s, IS_TOLD);
}

static void
a_handler_is_told_when_the_deadline_passes(void **state)
{
    (void)state;
    play(act_told_of_the_deadline);
}

static void
act_asks(struct scene *s)
{
    act_deadline(s, ASKS);
}

static void
a_handler_that_asks_learns_of_the_deadline(void **state)
{
    (void)state;
    play(act_asks);
}

static void
act_taken_away(struct scene *s)
{
    act_deadline(s, IS_NOT_TOLD);
    assert_int_equal(atomic_load(&seen.told), 0);
}

static void
a_function_that_was_taken_away_is_not_called(void **state)
{
    (void)state;
    play(act_taken_away);
}

/* --- clients that go --------------------------------------------------- */

static void
act_closed(struct scene *s)
{
    struct vc_channel *channel;
    struct caller c;

    scene_call(s, 64, ECHOES);
    assert_int_equal(
        vc_channel_open(s->runtime, s->server.target, &s->opts, &channel),
        VC_OK);
    caller_start(&c, channel, IS_TOLD);
    assert_true(sim_await(&seen.begun, PATIENCE));
    vc_channel_close(channel);
    pthread_join(c.thread, NULL);
    assert_int_equal(c.status, VC_CANCELLED);
    assert_true(sim_await(&seen.ended, PATIENCE));
    scene_call(s, 64, ECHOES);
}

static void
handlers_of_a_closed_channel_are_told(void **state)
{
    (void)state;
    play(act_closed);
}

static void
act_server_closes(struct scene *s)
{
    struct caller c;

    caller_start(&c, s->channel, IS_TOLD);
    assert_true(sim_await(&seen.begun, PATIENCE));
    sim_server_close(&s->server);
    assert_true(sim_await(&seen.ended, PATIENCE));
    pthread_join(c.thread, NULL);
    assert_true(c.status == VC_UNAVAILABLE || c.status == VC_CANCELLED);
}

static void
handlers_of_a_server_that_closes_are_told(void **state)
{
    (void)state;
    play(act_server_closes);
}

static void
lonely_main(void *arg)
{
    struct sim_server *s = arg;
    struct vc_runtime *runtime;
    struct vc_channel *channel;

    assert_int_equal(sim_runtime(&runtime, 1), VC_OK);
    assert_int_equal(vc_channel_open(runtime, s->target, NULL, &channel),
                     VC_OK);
    sim_echo(channel, 64, IS_TOLD, VC_NO_DEADLINE, NULL);
}

static void
handlers_of_a_client_that_died_are_told_when_it_cannot_come_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_server s = {.handle = handle};
        struct fake_process *p;
        uint64_t died;

        memset(&seen, 0, sizeof seen);
        sim_begin(seed, 0, true);
        sim_target("10.9.0.2", s.target);
        sim_server_start(&s, fake_host_new("there", "10.9.0.2"), 1);
        assert_true(sim_server_await(&s));
        p = fake_process_start(fake_host_new("here", "10.9.0.3"), "client",
                               lonely_main, &s);
        assert_true(sim_await(&seen.begun, PATIENCE));
        died = fake_now_us();
        fake_process_kill(p);
        assert_true(sim_await(&seen.ended, PATIENCE));
        assert_in_range(seen.ended_at - died, 9 * S, 15 * S);
        assert_true(sim_server_stop(&s));
        assert_int_equal(fake_end(), 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_is_told_when_the_deadline_passes),
        cmocka_unit_test(a_handler_that_asks_learns_of_the_deadline),
        cmocka_unit_test(a_function_that_was_taken_away_is_not_called),
        cmocka_unit_test(handlers_of_a_closed_channel_are_told),
        cmocka_unit_test(handlers_of_a_server_that_closes_are_told),
        cmocka_unit_test(
            handlers_of_a_client_that_died_are_told_when_it_cannot_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
