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
    atomic_ullong ended_at;
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
    atomic_store(&seen.ended_at, fake_now_us());
    sim_tell(&seen.ended);
    return VC_OK;
}

/* --- callers ----------------------------------------------------------- */

/* A call on a thread of its own. */
struct caller {
    struct vc_channel *channel;
    struct vc_canceller *canceller;
    unsigned tag;
    size_t size;
    pthread_t thread;
    enum vc_status status;
    enum vc_outcome outcome;
    uint64_t ended_at;
};

static void *
caller_main(void *arg)
{
    struct caller *c = arg;
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;

    opts.timeout_ms = VC_NO_DEADLINE;
    opts.canceller = c->canceller;
    c->status = sim_echo_opts(c->channel, c->size, c->tag, &opts, &c->outcome);
    c->ended_at = fake_now_us();
    return NULL;
}

static void
caller_start_long(struct caller *c, struct vc_channel *channel, unsigned tag,
                  size_t size)
{
    struct vc_canceller *canceller;

    assert_int_equal(vc_canceller_new(&canceller), VC_OK);
    *c = (struct caller){
        .channel = channel, .tag = tag, .canceller = canceller, .size = size};
    assert_int_equal(pthread_create(&c->thread, NULL, caller_main, c), 0);
}

static void
caller_start(struct caller *c, struct vc_channel *channel, unsigned tag)
{
    caller_start_long(c, channel, tag, 64);
}

static void
caller_join(struct caller *c)
{
    pthread_join(c->thread, NULL);
    vc_canceller_free(c->canceller);
}

/* It returns soon, cancelled. */
static void
caller_cancel(struct caller *c, enum vc_outcome outcome)
{
    uint64_t now = fake_now_us();

    vc_cancel(c->canceller);
    caller_join(c);
    assert_int_equal(c->status, VC_CANCELLED);
    assert_int_equal(c->outcome, outcome);
    assert_in_range(c->ended_at - now, 0, 10 * MS);
}

static void
play_quota(void (*act)(struct scene *s), size_t quota)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene s = {.opts = VC_CHANNEL_OPTS_INIT, .act = act};

        memset(&seen, 0, sizeof seen);
        s.server.handle = handle;
        s.opts.quota = quota;
        scene_run(&s, seed);
    }
}

static void
play(void (*act)(struct scene *s))
{
    play_quota(act, 0);
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
    caller_join(&c);
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

/* --- cancelled by the program ------------------------------------------- */

static void
act_waits_for_a_link(struct scene *s)
{
    struct vc_channel *channel;
    struct caller c;

    assert_int_equal(
        vc_channel_open(s->runtime, "rdma://10.9.0.77:1", NULL, &channel),
        VC_OK);
    caller_start(&c, channel, ECHOES);
    fake_sleep_us(50 * MS);
    caller_cancel(&c, VC_OUTCOME_NOT_EXECUTED);
    vc_channel_close(channel);
}

static void
a_call_that_waits_for_a_link_is_cancelled(void **state)
{
    (void)state;
    play(act_waits_for_a_link);
}

static void
act_waits_for_a_slot(struct scene *s)
{
    struct caller first, second;

    caller_start(&first, s->channel, IS_TOLD);
    assert_true(sim_await(&seen.begun, PATIENCE));
    caller_start(&second, s->channel, ECHOES);
    while (scene_client(s).calls_waiting == 0)
        fake_sleep_us(MS);
    caller_cancel(&second, VC_OUTCOME_NOT_EXECUTED);
    caller_cancel(&first, VC_OUTCOME_UNKNOWN);
    scene_call(s, 64, ECHOES);
    assert_int_equal(atomic_load(&sim_ran[ECHOES]), 1);
}

static void
a_call_that_waits_for_a_slot_is_cancelled(void **state)
{
    (void)state;
    play_quota(act_waits_for_a_slot, 1);
}

/* A server that stands still gives no credits: what is long stays half on its
 * way, and what comes behind it in the queue. */
static void
act_waits_for_credits(struct scene *s)
{
    struct caller half, queued;

    scene_call(s, 64, ECHOES);
    fake_process_freeze(s->server.process);
    caller_start_long(&half, s->channel, IS_TOLD, 1000000);
    while (scene_client(s).stalls_credits == 0)
        fake_sleep_us(MS);
    caller_start(&queued, s->channel, ASKS);
    while (scene_client(s).calls_started < 3)
        fake_sleep_us(MS);
    fake_sleep_us(MS);
    caller_cancel(&queued, VC_OUTCOME_NOT_EXECUTED);
    caller_cancel(&half, VC_OUTCOME_UNKNOWN);
    fake_process_thaw(s->server.process);
    do /* the rest of it goes while calls advance the client */
        scene_call(s, 64, ECHOES);
    while (scene_server(s).requests_arriving > 0);
    assert_int_equal(atomic_load(&sim_ran[ASKS]), 0);
    assert_int_equal(atomic_load(&sim_ran[IS_TOLD]), 0);
}

static void
what_has_not_come_whole_when_it_is_cancelled_does_not_run(void **state)
{
    (void)state;
    play(act_waits_for_credits);
}

static void
act_runs(struct scene *s, unsigned tag)
{
    struct caller c;
    uint64_t now;

    caller_start(&c, s->channel, tag);
    assert_true(sim_await(&seen.begun, PATIENCE));
    now = fake_now_us();
    caller_cancel(&c, VC_OUTCOME_UNKNOWN);
    assert_true(sim_await(&seen.ended, PATIENCE));
    assert_in_range(seen.ended_at - now, 0, 10 * MS);
    scene_call(s, 64, ECHOES);
    assert_int_equal(scene_server(s).calls_cancelled, 1);
    assert_int_equal(scene_client(s).calls_given_up, 1);
}

static void
act_is_told(struct scene *s)
{
    act_runs(s, IS_TOLD);
}

static void
act_asks_long(struct scene *s)
{
    act_runs(s, ASKS);
}

static void
the_handler_of_a_cancelled_call_is_told(void **state)
{
    (void)state;
    play(act_is_told);
    play(act_asks_long);
}

/* The cancelling meets the call anywhere on its way. */
static void
act_races(struct scene *s)
{
    unsigned ends[VC_UNAUTHENTICATED + 1] = {0};

    for (unsigned i = 0; i < 60; i++) {
        unsigned tag = TAGS + i;
        struct caller c;

        caller_start_long(&c, s->channel, tag, i % 2 * 30000);
        fake_sleep_us(i);
        vc_cancel(c.canceller);
        caller_join(&c);
        ends[c.status]++;
        if (c.status == VC_OK || c.outcome == VC_OUTCOME_EXECUTED)
            assert_int_equal(atomic_load(&sim_ran[tag]), 1);
    }
    scene_call(s, 64, ECHOES);
    for (unsigned i = 0; i < 60; i++)
        assert_in_range(atomic_load(&sim_ran[TAGS + i]), 0, 1);
    assert_int_equal(ends[VC_OK] + ends[VC_CANCELLED], 60);
    assert_true(ends[VC_OK] > 0 && ends[VC_CANCELLED] > 0);
}

static void
a_call_may_be_cancelled_at_any_moment(void **state)
{
    (void)state;
    play(act_races);
}

static void
act_afterwards(struct scene *s)
{
    struct vc_call_opts opts = VC_CALL_OPTS_INIT;
    enum vc_outcome outcome;

    assert_int_equal(vc_canceller_new(&opts.canceller), VC_OK);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(sim_echo_opts(s->channel, 64, ECHOES, &opts, NULL),
                         VC_OK);
    vc_cancel(opts.canceller);
    vc_cancel(opts.canceller);
    assert_int_equal(sim_echo_opts(s->channel, 64, ASKS, &opts, &outcome),
                     VC_CANCELLED);
    assert_int_equal(outcome, VC_OUTCOME_NOT_EXECUTED);
    assert_int_equal(atomic_load(&sim_ran[ASKS]), 0);
    vc_canceller_free(opts.canceller);
    vc_canceller_free(NULL);
}

static void
a_canceller_ends_nothing_that_is_over_and_all_that_comes_later(void **state)
{
    (void)state;
    play(act_afterwards);
}

static void
act_many(struct scene *s)
{
    struct caller c[10];
    struct vc_canceller *canceller;

    assert_int_equal(vc_canceller_new(&canceller), VC_OK);
    for (unsigned i = 0; i < 10; i++) {
        c[i] = (struct caller){.channel = s->channel,
                               .tag = i == 0 ? IS_TOLD : ASKS,
                               .canceller = canceller};
        pthread_create(&c[i].thread, NULL, caller_main, &c[i]);
    }
    while (atomic_load(&sim_ran[IS_TOLD]) + atomic_load(&sim_ran[ASKS]) < 10)
        fake_sleep_us(MS);
    vc_cancel(canceller);
    vc_canceller_free(canceller);
    for (unsigned i = 0; i < 10; i++) {
        pthread_join(c[i].thread, NULL);
        assert_int_equal(c[i].status, VC_CANCELLED);
    }
    scene_call(s, 64, ECHOES);
}

static void
one_canceller_ends_many_calls(void **state)
{
    (void)state;
    play(act_many);
}

/* --- links that are lost ------------------------------------------------ */

static void
act_lost_before_the_cancel(struct scene *s)
{
    struct caller c;
    uint64_t now;

    caller_start(&c, s->channel, IS_TOLD);
    assert_true(sim_await(&seen.begun, PATIENCE));
    now = fake_now_us();
    fake_port_set(s->server.host, false);
    caller_cancel(&c, VC_OUTCOME_UNKNOWN);
    fake_sleep_us(100 * MS);
    fake_port_set(s->server.host, true);
    /* Whoever calls next sees to it that there is a link. */
    scene_call(s, 64, ECHOES);
    assert_true(sim_await(&seen.ended, PATIENCE));
    assert_in_range(seen.ended_at - now, 0, 5 * S);
    assert_int_equal(atomic_load(&sim_ran[IS_TOLD]), 1);
}

static void
act_lost_for_good(struct scene *s)
{
    struct caller c;

    scene_call(s, 64, ECHOES);
    caller_start(&c, s->channel, IS_TOLD);
    assert_true(sim_await(&seen.begun, PATIENCE));
    fake_rule("SEND", 1, FAKE_FLUSH, 0);
    caller_cancel(&c, VC_OUTCOME_UNKNOWN);
    scene_call(s, 64, ECHOES);
    assert_true(sim_await(&seen.ended, PATIENCE));
    assert_int_equal(scene_client(s).links_lost, 1);
    assert_int_equal(atomic_load(&sim_ran[IS_TOLD]), 1);
}

static void
a_cancel_that_was_lost_comes_by_the_next_link(void **state)
{
    (void)state;
    play(act_lost_before_the_cancel);
    play(act_lost_for_good);
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
        cmocka_unit_test(a_call_that_waits_for_a_link_is_cancelled),
        cmocka_unit_test(a_call_that_waits_for_a_slot_is_cancelled),
        cmocka_unit_test(
            what_has_not_come_whole_when_it_is_cancelled_does_not_run),
        cmocka_unit_test(the_handler_of_a_cancelled_call_is_told),
        cmocka_unit_test(a_call_may_be_cancelled_at_any_moment),
        cmocka_unit_test(
            a_canceller_ends_nothing_that_is_over_and_all_that_comes_later),
        cmocka_unit_test(one_canceller_ends_many_calls),
        cmocka_unit_test(a_cancel_that_was_lost_comes_by_the_next_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
