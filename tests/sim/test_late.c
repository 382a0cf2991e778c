/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Handlers that return before their calls have ended. Another thread ends these
 * calls, whatever has happened to their clients meanwhile. */
#include <pthread.h>
#include <string.h>

#include "tests/sim/caller.h"
#include "tests/sim/later.h"
#include "tests/sim/scene.h"

#define MS       UINT64_C(1000)
#define PATIENCE UINT64_C(100000000) /* us */
#define SEEDS    sim_few(8u)
#define MANY     300u

/* What a handler does, by the tag of its call; other tags echo. */
enum {
    ECHOES,
    WAITS,       /* leaves the call to the test: seen.call */
    ENDS_FIRST,  /* the call ends before the handler returns */
    ENDS_TOLD,   /* the call ends when it is cancelled */
    LATER_FAILS, /* a thread ends it, with an error text */
    LATER        /* a thread ends it; higher tags as well */
};

/* What the handlers saw; of the current world. */
static struct seen {
    atomic_uint begun, ended;
    struct vc_call *call;
    struct later later;
} seen;

static void
end_told(struct vc_call *call, void *arg)
{
    (void)arg;
    vc_call_end(call, VC_CANCELLED);
    sim_tell(&seen.ended);
}

static enum vc_status
handle(struct sim_server *s, struct vc_call *call,
       const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    (void)s;
    reply->tag = request->tag;
    reply->payload = request->payload;
    switch (request->tag) {
    case ECHOES:
        return VC_OK;
    case WAITS:
        seen.call = call;
        atomic_store(&seen.later.hold, 1);
        sim_tell(&seen.begun);
        return later_take(&seen.later, call);
    case ENDS_FIRST:
        vc_call_end(call, VC_OK);
        fake_sleep_us(3 * MS);
        return vc_call_later(call);
    case ENDS_TOLD:
        assert_int_equal(vc_call_on_cancel(call, end_told, NULL), VC_OK);
        sim_tell(&seen.begun);
        return vc_call_later(call);
    case LATER_FAILS:
        seen.later.status = vc_call_fail(call, VC_ABORTED, "not %s", "now");
        return later_take(&seen.later, call);
    default:
        return later_take(&seen.later, call);
    }
}

static void
play(void (*act)(struct scene *s))
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        memset(&seen, 0, sizeof seen);
        s.server.handle = handle;
        later_serve(&seen.later, &s.server, 0);
        scene_run(&s, seed);
    }
}

/* --- callers ----------------------------------------------------------- */

static void
caller_start(struct caller *c, struct vc_channel *channel, unsigned tag,
             size_t size)
{
    *c = (struct caller){.channel = channel, .tag = tag, .size = size};
    caller_begin(c);
}

/* Starts a call that waits until the test ends it. */
static void
caller_wait(struct caller *c, struct vc_channel *channel, size_t size)
{
    caller_start(c, channel, WAITS, size);
    assert_true(sim_await(&seen.begun, PATIENCE));
    fake_sleep_us(5 * MS);
}

/* --- normal operation --------------------------------------------------- */

static void
act_later(struct scene *s)
{
    seen.later.us = 5 * MS;
    scene_call(s, 64, LATER);
    scene_call(s, 100000, LATER + 1);
    scene_call(s, 64, ENDS_FIRST);
    assert_int_equal(sim_echo(s->channel, 64, LATER_FAILS, 0, NULL),
                     VC_ABORTED);
    assert_string_equal(vc_error(), "not now");
    assert_int_equal(vc_error_outcome(), VC_OUTCOME_EXECUTED);
    assert_int_equal(scene_server(s).handlers_running, 0);
}

static void
a_call_is_answered_by_another_thread(void **state)
{
    (void)state;
    play(act_later);
}

static void *
many_main(void *arg)
{
    struct caller *c = arg;

    for (unsigned i = 0; i < MANY / 10; i++)
        scene_call(&(struct scene){.channel = c->channel}, 64,
                   LATER + 1 + c->tag * MANY + i);
    return NULL;
}

static void
act_many(struct scene *s)
{
    struct caller c[10];

    for (unsigned i = 0; i < 10; i++) {
        c[i] = (struct caller){.channel = s->channel, .tag = i};
        pthread_create(&c[i].thread, NULL, many_main, &c[i]);
    }
    for (unsigned i = 0; i < 10; i++)
        pthread_join(c[i].thread, NULL);
    assert_int_equal(scene_server(s).handlers_started, MANY);
}

static void
many_calls_are(void **state)
{
    (void)state;
    play(act_many);
}

/* Calls that wait need no threads. */
static void
act_no_threads(struct scene *s)
{
    struct caller c[MANY];

    seen.later.us = 50 * MS;
    for (unsigned i = 0; i < MANY; i++)
        caller_start(&c[i], s->channel, LATER + i, 64);
    while (scene_server(s).handlers_running < 200)
        fake_sleep_us(MS);
    scene_call(s, 64, ECHOES);
    seen.later.us = 0;
    for (unsigned i = 0; i < MANY; i++) {
        pthread_join(c[i].thread, NULL);
        assert_int_equal(c[i].status, VC_OK);
    }
}

static void
calls_that_wait_keep_nobody_from_running(void **state)
{
    (void)state;
    play(act_no_threads);
}

/* --- lost clients ------------------------------------------------------- */

static void
act_lost(struct scene *s)
{
    struct caller c;

    scene_call(s, 64, ECHOES);
    caller_wait(&c, s->channel, 30000);
    fake_rule("SEND", 1, FAKE_FLUSH, 0);
    scene_call(s, 64, ECHOES);
    sim_tell(&seen.later.go);
    pthread_join(c.thread, NULL);
    assert_int_equal(c.status, VC_OK);
    assert_int_equal(atomic_load(&sim_ran[WAITS]), 1);
    /* The call was sent again. It arrived whole before the reply was ready, or
     * after. */
    assert_int_equal(
        scene_server(s).calls_joined + scene_server(s).calls_answered_again, 1);
}

static void
act_lost_meanwhile(struct scene *s)
{
    struct caller c;

    caller_wait(&c, s->channel, 30000);
    fake_port_set(s->server.host, false);
    fake_sleep_us(300 * MS);
    sim_tell(&seen.later.go);
    fake_sleep_us(300 * MS);
    fake_port_set(s->server.host, true);
    pthread_join(c.thread, NULL);
    assert_true(c.status == VC_OK || c.status == VC_UNAVAILABLE);
    assert_int_equal(atomic_load(&sim_ran[WAITS]), 1);
}

static void
the_reply_goes_by_whatever_link_there_is(void **state)
{
    (void)state;
    play(act_lost);
    play(act_lost_meanwhile);
}

static void
act_closed(struct scene *s)
{
    struct vc_channel *channel;
    struct caller c;

    assert_int_equal(
        vc_channel_open(s->runtime, s->server.target, &s->opts, &channel),
        VC_OK);
    scene_call(s, 64, ECHOES);
    caller_wait(&c, channel, 30000);
    vc_channel_close(channel);
    pthread_join(c.thread, NULL);
    assert_int_equal(c.status, VC_CANCELLED);
    fake_sleep_us(5 * MS);
    assert_true(vc_call_is_cancelled(seen.call));
    sim_tell(&seen.later.go);
    scene_call(s, 64, ECHOES);
}

static void
act_deadline(struct scene *s)
{
    assert_int_equal(sim_echo(s->channel, 64, WAITS, 20, NULL),
                     VC_DEADLINE_EXCEEDED);
    assert_true(sim_await(&seen.begun, PATIENCE));
    fake_sleep_us(20 * MS);
    assert_true(vc_call_is_cancelled(seen.call));
    sim_tell(&seen.later.go);
    scene_call(s, 64, ECHOES);
    scene_call(s, 64, ECHOES);
}

static void
act_told(struct scene *s)
{
    assert_int_equal(sim_echo(s->channel, 64, ENDS_TOLD, 20, NULL),
                     VC_DEADLINE_EXCEEDED);
    assert_true(sim_await(&seen.ended, PATIENCE));
    scene_call(s, 64, ECHOES);
    assert_int_equal(scene_server(s).handlers_running, 0);
}

static void
a_call_that_nobody_waits_for_is_ended_all_the_same(void **state)
{
    (void)state;
    play(act_closed);
    play(act_deadline);
    play(act_told);
}

/* --- servers that close -------------------------------------------------- */

static void
act_server_closes(struct scene *s)
{
    struct caller c;

    caller_wait(&c, s->channel, 64);
    sim_server_close(&s->server);
    while (!vc_call_is_cancelled(seen.call))
        fake_sleep_us(MS);
    pthread_join(c.thread, NULL);
    fake_sleep_us(100 * MS);
    assert_non_null(atomic_load(&s->server.runtime));
    sim_tell(&seen.later.go);
}

static void
act_server_closes_told(struct scene *s)
{
    struct caller c;

    caller_start(&c, s->channel, ENDS_TOLD, 64);
    assert_true(sim_await(&seen.begun, PATIENCE));
    sim_server_close(&s->server);
    assert_true(sim_await(&seen.ended, PATIENCE));
    pthread_join(c.thread, NULL);
}

static void
a_server_that_closes_waits_for_it(void **state)
{
    (void)state;
    play(act_server_closes);
    play(act_server_closes_told);
}

/* The server is freed while the thread that has ended its last call is still in
 * vc_call_end(). */
static void
act_ends_and_closes(struct scene *s)
{
    struct caller c;

    seen.later.us = 1 + (unsigned)fake_steps() % 7;
    caller_start(&c, s->channel, LATER, 64);
    while (atomic_load(&sim_ran[LATER]) == 0)
        fake_sleep_us(1);
    sim_server_close(&s->server);
    pthread_join(c.thread, NULL);
}

static void
a_server_may_close_the_moment_its_last_call_ends(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10; i++)
        play(act_ends_and_closes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_answered_by_another_thread),
        cmocka_unit_test(many_calls_are),
        cmocka_unit_test(calls_that_wait_keep_nobody_from_running),
        cmocka_unit_test(the_reply_goes_by_whatever_link_there_is),
        cmocka_unit_test(a_call_that_nobody_waits_for_is_ended_all_the_same),
        cmocka_unit_test(a_server_that_closes_waits_for_it),
        cmocka_unit_test(a_server_may_close_the_moment_its_last_call_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
