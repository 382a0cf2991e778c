/* SPDX-FileCopyrightText: 2026 Verbcall authors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Handlers are notified when no caller waits for their replies any more. */
#include <malloc.h>
#include <pthread.h>
#include <string.h>

#include "tests/sim/waiting.h"

static void
play(void (*act)(struct scene *s))
{
    waiting_play(act, 0);
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
    assert_true(sim_await(&waiting_seen.ended, PATIENCE));
    if (tag != IS_NOT_TOLD)
        assert_in_range(waiting_seen.ended_at - begun, 90 * MS, 110 * MS);
    scene_call(s, 64, ECHOES);
    /* A handler that polls may see it before it is notified. */
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
    assert_int_equal(atomic_load(&waiting_seen.told), 0);
}

static void
a_function_that_was_taken_away_is_not_called(void **state)
{
    (void)state;
    play(act_taken_away);
}

/* --- clients that leave ------------------------------------------------ */

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
    assert_true(sim_await(&waiting_seen.begun, PATIENCE));
    vc_channel_close(channel);
    caller_join(&c);
    assert_int_equal(c.status, VC_CANCELLED);
    assert_true(sim_await(&waiting_seen.ended, PATIENCE));
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
    assert_true(sim_await(&waiting_seen.begun, PATIENCE));
    sim_server_close(&s->server);
    assert_true(sim_await(&waiting_seen.ended, PATIENCE));
    caller_join(&c);
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
        struct sim_server s = {.handle = waiting_handle};
        struct fake_process *p;
        uint64_t died;

        memset(&waiting_seen, 0, sizeof waiting_seen);
        sim_begin(seed, 0, true);
        sim_target("10.9.0.2", s.target);
        sim_server_start(&s, fake_host_new("there", "10.9.0.2"), 1);
        assert_true(sim_server_await(&s));
        p = fake_process_start(fake_host_new("here", "10.9.0.3"), "client",
                               lonely_main, &s);
        assert_true(sim_await(&waiting_seen.begun, PATIENCE));
        died = fake_now_us();
        fake_process_kill(p);
        assert_true(sim_await(&waiting_seen.ended, PATIENCE));
        assert_in_range(waiting_seen.ended_at - died, 9 * S, 15 * S);
        assert_true(sim_server_stop(&s));
        assert_int_equal(fake_end(), 0);
    }
}

/* --- calls that end as soon as they are cancelled ------------------------ */

#define CALLS 100u

/* A thread of the server calls vc_call_on_cancel() at about the time at which
 * the call is cancelled. */
static struct {
    pthread_t thread;
    struct vc_call *calls[CALLS];
    atomic_uint given[CALLS];
    atomic_uint ended;
} asker;

static void
ignore(struct vc_call *call, void *arg)
{
    (void)call;
    (void)arg;
}

static void
end(struct vc_call *call, void *arg)
{
    (void)arg;
    vc_call_end(call, VC_CANCELLED);
    atomic_fetch_add(&asker.ended, 1);
}

static void *
asker_main(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < CALLS; i++) {
        assert_true(sim_await(&asker.given[i], PATIENCE));
        fake_sleep_us(vc_call_deadline_us(asker.calls[i]) + i % 20 * 50);
        assert_int_equal(vc_call_on_cancel(asker.calls[i], end, NULL), VC_OK);
    }
    return NULL;
}

static void
asker_begin(struct sim_server *s)
{
    (void)s;
    pthread_create(&asker.thread, NULL, asker_main, NULL);
}

static void
asker_end(struct sim_server *s)
{
    (void)s;
    pthread_join(asker.thread, NULL);
}

/* This sets the timer for the deadline before the asker comes. */
static enum vc_status
give_to_asker(struct sim_server *s, struct vc_call *call,
              const Suite__EchoRequest *request, Suite__EchoReply *reply)
{
    unsigned i = (unsigned)request->tag;

    (void)s;
    (void)reply;
    assert_int_equal(vc_call_on_cancel(call, ignore, NULL), VC_OK);
    assert_int_equal(vc_call_on_cancel(call, NULL, NULL), VC_OK);
    asker.calls[i] = call;
    sim_tell(&asker.given[i]);
    return vc_call_later(call);
}

static void
act_ended_at_once(struct scene *s)
{
    for (unsigned i = 0; i < CALLS; i++)
        assert_int_equal(sim_echo(s->channel, 64, i, 20, NULL),
                         VC_DEADLINE_EXCEEDED);
}

/* Makes the use of freed memory fail without a sanitizer, too. */
static void
spoil_freed_memory(bool spoil)
{
#ifdef M_PERTURB
    mallopt(M_PERTURB, spoil ? 0xa5 : 0);
#else
    (void)spoil;
#endif
}

static void
a_call_may_be_ended_by_what_is_told_while_that_is_being_set(void **state)
{
    (void)state;
    spoil_freed_memory(true);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT,
                          .switch_every = 2,
                          .act = act_ended_at_once};

        memset(&asker, 0, sizeof asker);
        s.server.handle = give_to_asker;
        s.server.begin = asker_begin;
        s.server.end = asker_end;
        scene_run(&s, seed);
        assert_int_equal(atomic_load(&asker.ended), CALLS);
    }
    spoil_freed_memory(false);
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
        cmocka_unit_test(
            a_call_may_be_ended_by_what_is_told_while_that_is_being_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
